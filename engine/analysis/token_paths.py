"""How probable a text is under a model, token path by token path.

A text has many tokenisations and the model gives each a probability of its own; that of the text is their sum. Most of
it lies on the canonical one, and how much does not is what is lost by looking at that one alone (Vieira et al.,
2506.07956; Chatzi et al., 2506.06446). Where the tokenisations are few, all are read. Where they are many, the most
probable are searched for, and their sum is a lower bound.

The search partitions the paths as Lawler (1972) does for the k shortest: a path that was read knows what every token
costs that leaves it, so the most promising departures from paths read so far are taken next, a beam of them at a time,
each completed by the tail of the path it left. No path is met twice, and without a limit all of them are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import accumulate
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engine.analysis.tokenisations import Lattice, boundaries, spell

if TYPE_CHECKING:
    from engine.model.model import Model

EXACT_UP_TO = 256
"""Tokenisations that are all read; of more, the most probable are searched for."""

BEAM = 16
"""Paths that are read together."""

ROUNDS = 8
"""Beams that are read where not all paths are."""

TOKENS_AT_ONCE = 256
"""Tokens whose logits are held at the same time."""


@dataclass(frozen=True, slots=True)
class TokenPath:
    """A tokenisation with its log-probabilities (natural logarithms) under the model, after the prompt.

    `tokens`: the bytes of each token; `logprobs`: of each token; `end`: of the end of the text after it (the sum over
    all end tokens), None where the text is only a beginning.
    """

    ids: tuple[int, ...]
    tokens: tuple[bytes, ...]
    logprobs: tuple[float, ...]
    end: float | None

    @property
    def total(self) -> float:
        """The log-probability of the path."""
        return math.fsum(self.logprobs) + (self.end or 0.0)


@dataclass(frozen=True, slots=True)
class TokenPaths:
    """The tokenisations of a text after a prompt, and what the model gives them.

    `count`: how many there are; `paths`: those that were read, the most probable first; `canonical`: the tokenizer's
    own, None where it does not give the text back; `taken`: the one asked for. `paths_read`, `tokens_read` (with the
    prompt's) and `seconds` are what it cost.
    """

    text: bytes
    count: int
    paths: tuple[TokenPath, ...]
    canonical: TokenPath | None
    taken: TokenPath | None
    paths_read: int
    tokens_read: int
    seconds: float = field(compare=False)

    @property
    def exact(self) -> bool:
        """Whether `paths` are all tokenisations: then `total` is exact, else a lower bound."""
        return len(self.paths) == self.count

    @property
    def total(self) -> float:
        """The log-probability of the text as the sum over `paths`."""
        return _log_sum(np.array([path.total for path in self.paths]))

    @property
    def canonical_share(self) -> float | None:
        """The canonical path's part of the total (an upper bound where not `exact`), None where there is none."""
        if self.canonical is None or self.total == -math.inf:
            return None
        return math.exp(self.canonical.total - self.total)


def token_paths(
    model: Model,
    prompt: Sequence[int],
    text: bytes,
    taken: Sequence[int] | None = None,
    *,
    whole: bool = True,
    exact_up_to: int = EXACT_UP_TO,
    beam: int = BEAM,
    rounds: int = ROUNDS,
) -> TokenPaths:
    """The tokenisations of a text that follows the prompt's ids, with their log-probabilities.

    `taken`: ids of one tokenisation that is to be among them. `whole`: whether the text ends there, so that every path
    includes the end token; without it, a path is only a beginning (and what begins with the text but ends a token
    beyond it is not counted). Up to `exact_up_to` tokenisations are all read, of more about `beam` * `rounds`.
    Raises ValueError for an empty prompt, for `taken` of another text, and where a path does not fit in the context.
    """
    started = perf_counter()
    if taken is not None and spell(model.vocabulary, taken) != text:
        raise ValueError("The path taken does not spell the text.")
    reader = _Reader(model, prompt, Lattice(model.vocabulary, text), whole)
    canonical = model.canonical.encode(text)
    everything = reader.lattice.count <= exact_up_to
    found = {path.ids: path for path in _search(reader, canonical, beam, None if everything else rounds)}
    if taken is not None and tuple(taken) not in found:
        found[tuple(taken)] = reader.read([tuple(taken)])[0].path
    return TokenPaths(
        text=text,
        count=reader.lattice.count,
        paths=tuple(sorted(found.values(), key=lambda path: (-path.total, path.ids))),
        canonical=None if canonical is None else found[canonical],
        taken=None if taken is None else found[tuple(taken)],
        paths_read=reader.paths_read,
        tokens_read=reader.tokens_read,
        seconds=perf_counter() - started,
    )


@dataclass(frozen=True, slots=True)
class _Read:
    """A path that was read, and the departures from it: `leaving[index]` are (end, id, log-probability) of every token
    that may stand at its token `index` instead."""

    path: TokenPath
    leaving: tuple[tuple[tuple[int, int, float], ...], ...]


def _search(reader: _Reader, canonical: tuple[int, ...] | None, beam: int, rounds: int | None) -> Iterator[TokenPath]:
    """Paths from the canonical one on, the most promising first; all of them if `rounds` is None."""
    lattice = reader.lattice
    if not lattice.count:
        return
    first = lattice.fewest(0, {len(lattice.text)})[0] if canonical is None else canonical
    open_: list[tuple[float, int, tuple[int, ...], int]] = [(0.0, 0, first, 0)]  # how promising, age, path, left at
    age = 0
    while open_ and rounds != 0:
        taken = [heappop(open_) for _ in range(min(beam, len(open_)))]
        rounds = None if rounds is None else rounds - 1
        for read, (_, _, _, left_at) in zip(reader.read([entry[2] for entry in taken]), taken, strict=True):
            yield read.path
            for estimate, ids, index in _departures(reader, read, left_at):
                age += 1
                heappush(open_, (-estimate, age, ids, index + 1))


def _departures(reader: _Reader, read: _Read, first: int) -> Iterator[tuple[float, tuple[int, ...], int]]:
    """The paths that leave one at its token `first` or later, with an estimate of their log-probability.

    Earlier departures belong to the path that it left itself.
    """
    path = read.path
    spent = [0.0, *accumulate(path.logprobs)]
    places = boundaries(reader.vocabulary, path.ids)
    for index in range(first, len(path.ids)):
        for end, token_id, logprob in read.leaving[index]:
            between, back = reader.lattice.fewest(end, places.keys())
            tail = path.ids[places[back] :]
            rest = math.fsum(path.logprobs[places[back] :])
            yield spent[index] + logprob + rest, (*path.ids[:index], token_id, *between, *tail), index


class _Reader:
    """The model after a prompt, reading paths through a lattice and counting what that costs."""

    def __init__(self, model: Model, prompt: Sequence[int], lattice: Lattice, whole: bool) -> None:
        if not prompt:
            raise ValueError("A prompt of at least one token is needed: the model predicts from what it has read.")
        self.lattice = lattice
        self.vocabulary = model.vocabulary
        self.paths_read = 0
        self.tokens_read = len(prompt)
        self._model = model
        self._whole = whole
        self._cache = model.new_cache()
        self._after_prompt = model.extend(self._cache, prompt, keep=1)[-1]

    def read(self, paths: Sequence[tuple[int, ...]]) -> list[_Read]:
        found: list[_Read] = []
        for batch in _batches(paths):
            rows = [path if self._whole else path[:-1] for path in batch]
            self.paths_read += len(rows)
            self.tokens_read += sum(map(len, rows))
            logits = self._model.read_many(self._cache, rows)
            found += [self._judge(path, after) for path, after in zip(batch, logits, strict=True)]
        return found

    def _judge(self, path: tuple[int, ...], after: NDArray[np.float32]) -> _Read:
        """`after`: the logits after each token of the path."""
        logprobs: list[float] = []
        leaving = []
        start = 0
        for index, token_id in enumerate(path):
            logits = (after[index - 1] if index else self._after_prompt).astype(np.float64)
            normaliser = _log_sum(logits)
            logprobs.append(float(logits[token_id] - normaliser))
            others = [edge for edge in self.lattice.edges[start] if edge[1] != token_id]
            leaving.append(tuple((end, other, float(logits[other] - normaliser)) for end, other in others))
            start += len(self.vocabulary.tokens[token_id])
        tokens = tuple(self.vocabulary.tokens[token_id] for token_id in path)
        end = self._end(after[-1] if path else self._after_prompt) if self._whole else None
        return _Read(TokenPath(path, tokens, tuple(logprobs), end), tuple(leaving))

    def _end(self, after: NDArray[np.float32]) -> float:
        logits = after.astype(np.float64)
        return _log_sum(logits[sorted(self.vocabulary.end_ids)]) - _log_sum(logits)


def _batches(paths: Sequence[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    batch: list[tuple[int, ...]] = []
    for path in paths:
        if batch and sum(map(len, batch)) + len(path) > TOKENS_AT_ONCE:
            yield batch
            batch = []
        batch.append(path)
    if batch:
        yield batch


def _log_sum(values: NDArray[np.float64]) -> float:
    most = values.max(initial=-math.inf)
    return float(most + np.log(np.exp(values - most).sum())) if np.isfinite(most) else float(most)
