"""A text from somewhere else, read again under a constraint: where it leaves the language, and what a mask would have
said on the way.

What failed in production was written by another system, with other white space and another order of keys, so a text is
best read with every spelling allowed (`AS_WRITTEN`). Where it is accepted only so, `options_needed` names what a
decoder that is stricter by an option would have refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from engine.automaton.repair import Repair
from engine.constraint import Constraint, Verdict
from engine.decoding.records import ConstraintSource
from engine.errors import ConstraintError
from engine.masking.masker import Masker
from engine.vocabulary.canonical import Canonical
from engine.vocabulary.vocabulary import Vocabulary

AS_WRITTEN: Mapping[str, str] = {"key_order": "any", "whitespace": "any", "spelling": "any"}
"""The options under which a text is read as it was written."""

LOOSEST: Mapping[str, str] = {**AS_WRITTEN, "objects": "open", "formats": "annotate"}
"""Every option at the value that accepts most."""

WITH_OPTIONS = frozenset({"json_schema", "request"})
"""The kinds of sources whose language has options."""

Compile = Callable[[ConstraintSource], Constraint | ConstraintError]


@dataclass(frozen=True, slots=True)
class ReplayedToken:
    """A token of the text. `offset`: bytes of the text before it.

    `fate`: "allowed" or "masked" by the constraint where it stands; "unread", it stands behind a masked one. `end`: not
    of the text, but the end of it: allowed where the text may end.
    """

    token_id: int
    token: bytes
    offset: int
    fate: Literal["allowed", "masked", "unread"]
    end: bool = False


@dataclass(frozen=True, slots=True)
class Replay:
    """A text read under a constraint.

    `repair`: a small change by which a rejected text goes on. `tokens`: the whole text and its end, empty without a
    vocabulary. `tokenisation`: "canonical", the tokenizer's own; "longest", the longest token at every place, where the
    tokenizer's own cannot be had; "" without tokens.
    """

    text: bytes
    verdict: Verdict
    repair: Repair | None
    tokens: tuple[ReplayedToken, ...] = ()
    tokenisation: Literal["canonical", "longest", ""] = ""


def replay(constraint: Constraint, masker: Masker | None, canonical: Canonical | None, text: bytes) -> Replay:
    """Read `text` byte by byte and, with a `masker`, token by token. Raises `BudgetError`."""
    verdict = constraint.check(text)
    repair = constraint.repair(text) if verdict.kind == "rejected" else None
    if masker is None:
        return Replay(text, verdict, repair)
    ids = canonical.encode(text) if canonical is not None else None
    own: Literal["canonical", "longest"] = "longest" if ids is None else "canonical"
    tokens = _walked(masker, ids if ids is not None else longest_tokens(masker.vocabulary, text))
    return Replay(text, verdict, repair, tuple(tokens), own)


def longest_tokens(vocabulary: Vocabulary, text: bytes) -> tuple[int, ...]:
    """The longest token at every place, up to the first byte that no token spells."""
    trie, found, place = vocabulary.trie, list[int](), 0
    while place < len(text):
        node, best, length = 0, -1, 0
        for end in range(place, min(len(text), place + vocabulary.longest)):
            child = trie.child(node, text[end])
            if child is None:
                break
            node = child
            if ids := trie.ids(node):
                best, length = ids[0], end + 1 - place
        if best < 0:
            break
        found.append(best)
        place += length
    return tuple(found)


def allowed_counts(masker: Masker, replayed: Replay) -> Iterator[tuple[int, int]]:
    """How many tokens of the vocabulary the mask allows in the place of each token of a replay: (index, tokens).

    The last token that is reached comes first: what is asked for is why a text stops there. Raises `BudgetError`.
    """
    state: int | None = masker.constraint.start
    states = list[int]()
    for token in replayed.tokens:
        if state is None:
            break
        states.append(state)
        state = masker.advance(state, token.token_id) if token.fate == "allowed" and not token.end else None
    for index in reversed(range(len(states))):
        yield index, masker.mask(states[index]).count


def options_needed(source: ConstraintSource, text: bytes, compiled: Compile) -> tuple[tuple[str, str], ...] | None:
    """A smallest choice of options to loosen for `text` to be accepted: () if it is as it stands, None if none helps.

    No option can be taken out of the answer. `compiled` makes the constraint of a source, or says why there is none.
    """

    def accepts(names: tuple[str, ...]) -> bool:
        given = dict(source.options) | {name: LOOSEST[name] for name in names}
        constraint = compiled(replace(source, options=tuple(given.items())))
        return isinstance(constraint, Constraint) and constraint.check(text).kind == "accepted"

    if accepts(()):
        return ()
    given = dict(source.options)
    names = tuple(name for name in LOOSEST if given.get(name) != LOOSEST[name] and source.kind in WITH_OPTIONS)
    if not names or not accepts(names):
        return None
    single = next(((name,) for name in names if accepts((name,))), None)
    for name in names if single is None else ():
        rest = tuple(other for other in names if other != name)
        names = rest if accepts(rest) else names
    return tuple((name, LOOSEST[name]) for name in single or names)


def _walked(masker: Masker, ids: tuple[int, ...]) -> Iterator[ReplayedToken]:
    tokens, offset = masker.vocabulary.tokens, 0
    state: int | None = masker.constraint.start
    for token_id in ids:
        after = masker.advance(state, token_id) if state is not None else None
        fate: Literal["allowed", "masked", "unread"] = (
            "unread" if state is None else "masked" if after is None else "allowed"
        )
        yield ReplayedToken(token_id, tokens[token_id], offset, fate)
        offset += len(tokens[token_id])
        state = after
    if state is not None and (end := min(masker.vocabulary.end_ids, default=None)) is not None:
        fate = "allowed" if masker.constraint.is_accepting(state) else "masked"
        yield ReplayedToken(end, b"", offset, fate, end=True)
