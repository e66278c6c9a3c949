"""The token paths of a finite language as a tree: every distinct beginning of a path stands in it once.

A text of n bytes has up to 2^(n-1) tokenisations, which share their beginnings. The tree is found on the masks alone;
the model then reads it, many paths at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engine.analysis.language import LanguageError
from engine.masking import Masker
from engine.vocabulary import Vocabulary

if TYPE_CHECKING:
    from engine.model.model import Model

END = -1
"""Where an end token leads."""

AT_ONCE = 32
"""Prefixes that the model reads in one pass; those deepest in the tree first, so that few caches are held."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A beginning of token paths.

    `tokens`: what it consists of; `text`: what they spell; `ids`: the tokens that may follow, ascending, end tokens
    included; `after`: the place in the tree that each of them leads to, `END` for an end token.
    """

    tokens: tuple[int, ...]
    text: bytes
    ids: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def children(self) -> tuple[int, ...]:
        """The places of the prefixes that are one token longer."""
        return tuple(place for place in self.after if place != END)


Tree = tuple[Prefix, ...]
"""The empty prefix first, every prefix before those that continue it."""


def bridging_tree(masker: Masker, most: int) -> Tree:
    """All token paths that the masks allow, of a constraint with finitely many texts.

    Raises LanguageError if they have more than `most` beginnings.
    """
    vocabulary, ends = masker.vocabulary, masker.vocabulary.end_ids
    tree: list[Prefix] = []
    reached: list[tuple[tuple[int, ...], int]] = [((), masker.constraint.start)]
    while len(tree) < len(reached):
        tokens, state = reached[len(tree)]
        ids = masker.mask(state).ids().tolist()
        after = []
        for token_id in ids:
            following = masker.advance(state, token_id)
            assert following is not None, "a mask allows what the automaton can read"
            after.append(END if token_id in ends else len(reached))
            if token_id not in ends:
                reached.append(((*tokens, token_id), following))
        if len(reached) > most:
            raise LanguageError(_too_many(most))
        tree.append(Prefix(tokens, _spelled(vocabulary, tokens), tuple(ids), tuple(after)))
    return tuple(tree)


def path_tree(paths: Iterable[Sequence[int]], vocabulary: Vocabulary, most: int) -> Tree:
    """The tree of given token paths, each of which ends with an end token.

    Raises LanguageError if they have more than `most` beginnings.
    """
    places: dict[tuple[int, ...], int] = {(): 0}
    following: list[dict[int, int]] = [{}]
    for path in sorted(paths, key=len):
        for length in range(1, len(path) + 1):
            tokens = tuple(path[:length])
            if tokens not in places:
                places[tokens] = len(places)
                following.append({})
                following[places[tokens[:-1]]][tokens[-1]] = places[tokens]
        following[places[tuple(path)]].update(dict.fromkeys(vocabulary.end_ids, END))
        if len(places) > most:
            raise LanguageError(_too_many(most))
    tree = []
    for tokens, place in places.items():
        ids = sorted(following[place])
        after = tuple(following[place][token_id] for token_id in ids)
        tree.append(Prefix(tokens, _spelled(vocabulary, tokens), tuple(ids), after))
    return tuple(tree)


def allowed_path(masker: Masker, path: Sequence[int]) -> bool:
    """Whether the masks allow a path from the start, to an accepting state."""
    state: int | None = masker.constraint.start
    for token_id in path:
        state = None if state is None else masker.advance(state, token_id)
    return state is not None and masker.constraint.is_accepting(state)


def read_tree(model: Model, prompt: Sequence[int], tree: Tree) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """The place of every prefix, once each, with the logits (n,) after the prompt and its tokens."""
    cache = model.new_cache()
    yield 0, model.extend(cache, prompt, keep=1)[-1]
    pending = [(cache, child) for child in tree[0].children]
    while pending:
        batch = pending[-AT_ONCE:]
        del pending[-AT_ONCE:]
        caches = [before.fork(before.length) for before, _ in batch]
        found = model.extend_each(caches, [tree[place].tokens[-1:] for _, place in batch])
        for (_, place), cache, logits in zip(batch, caches, found, strict=True):
            pending += [(cache, child) for child in tree[place].children]
            yield place, logits


def _spelled(vocabulary: Vocabulary, tokens: Iterable[int]) -> bytes:
    return b"".join(vocabulary.tokens[token_id] for token_id in tokens)


def _too_many(most: int) -> str:
    return (
        f"The tokenisations of the texts have more than {most:,} different beginnings. Weigh the canonical "
        "tokenisations alone, or allow fewer or shorter texts."
    )
