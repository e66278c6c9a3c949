"""The masks of a constraint inside `generate` of Hugging Face transformers.

    processor = ConstrainedLogitsProcessor(constraint, tokenizer, model.generation_config.eos_token_id)
    model.generate(**inputs, logits_processor=[processor])

`generate` hands over the ids of all rows at every step and moves rows about as it likes: beams are reordered and
duplicated, prompts are padded on the left, finished rows go on with padding. So nothing is kept by row: the automaton's
state follows from the ids that a row has behind its prompt.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import LogitsProcessor

from engine.constraint import Constraint
from engine.decoding.errors import DecodingError
from engine.masking import Masker
from engine.vocabulary import Vocabulary

AFTER_THE_END = -1e30
"""The score of the one token that a finished row may take. `generate` pads such a row whatever its scores, but beam
search counts them: finite, so that every row has a continuation and no masked token fills up the beams; and so low that
a beam which goes on behind its end never counts."""

NORMALISED = 1e-3
"""How far from 0 the logarithm of a sum of float32 probabilities may be."""

_Key = tuple[int, tuple[int, ...]]
"""Which of the constraints, and the ids behind the prompt."""


class ConstrainedLogitsProcessor(LogitsProcessor):  # type: ignore[misc]
    """A logits processor that lets `generate` write only what a constraint accepts.

    It sets the scores of masked tokens to -inf and leaves all others as they are: greedy search, sampling, beam search
    and assisted decoding work as without it. End tokens are allowed exactly where the text is complete.

    `constraint`: one for all prompts, or one for each prompt of the batch. `tokenizer`: the model's tokenizer, or a
    `Vocabulary` made from it. `eos_token_id`: all ids at which `generate` stops
    (`model.generation_config.eos_token_id`); None means the tokenizer's own.

    One processor follows one `generate` call, whose prompts are what its first call brings; `reset` it before another.
    Raises ConstraintError where the vocabulary cannot spell any text of a constraint, ValueError where it has no end
    token or `constraint` is empty.
    """

    def __init__(
        self,
        constraint: Constraint | Sequence[Constraint],
        tokenizer: Any,
        eos_token_id: int | Iterable[int] | None = None,
    ) -> None:
        self._constraints = [constraint] if isinstance(constraint, Constraint) else list(constraint)
        if not self._constraints:
            raise ValueError("There is no constraint. Give one, or one for each prompt.")
        self._use(_vocabulary(tokenizer, eos_token_id))
        self.reset()

    def reset(self) -> None:
        """Forget the prompts: the next call begins another `generate`."""
        self._prompts: torch.Tensor | None = None
        self._longest = 0
        self._states: dict[_Key, int | None] = {}

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores, float (rows, logits), with those of masked tokens at -inf; `input_ids`: int64 (rows, tokens).

        Raises DecodingError, naming row and step, where a row took a masked token, and where its scores are not numbers
        or give no allowed token a chance; ValueError where the rows do not continue what earlier calls brought.
        """
        if self._prompts is None:
            self._begin(input_ids, scores.shape[-1])
        rows = self._written(input_ids)
        states = self._read(rows, scores)
        allowed = np.stack([self._allowed(row, state, scores.shape[-1]) for row, state in enumerate(states)])
        masked = scores.masked_fill(~torch.from_numpy(allowed).to(scores.device), -math.inf)
        finished = [row for row, state in enumerate(states) if state is None]
        masked[finished, min(self._vocabulary.end_ids)] = AFTER_THE_END
        self._check(scores, masked, states, len(rows[0]))
        return masked

    def _use(self, vocabulary: Vocabulary) -> None:
        if not vocabulary.end_ids:
            raise ValueError("No token ends a text. Name it: eos_token_id=model.generation_config.eos_token_id.")
        self._vocabulary = vocabulary
        maskers = {constraint: Masker(constraint, vocabulary) for constraint in self._constraints}
        self._maskers = [maskers[constraint] for constraint in self._constraints]

    def _begin(self, input_ids: torch.Tensor, logits: int) -> None:
        """Take what there is as the prompts, and the number of logits as that of the tokens there are."""
        if len(input_ids) % len(self._maskers):
            raise ValueError(
                f"There are {len(self._maskers)} constraints for {len(input_ids)} rows. Give one for each prompt."
            )
        if logits < self._vocabulary.size:
            self._use(_cut(self._vocabulary, logits))
        self._prompts, self._longest = input_ids.clone(), input_ids.shape[1]

    def _written(self, input_ids: torch.Tensor) -> list[tuple[int, ...]]:
        """The ids behind the prompt of each row, which grows by one in a call (assisted decoding takes some back)."""
        assert self._prompts is not None
        rows, start = self._prompts.shape
        grown = len(input_ids) == rows and start <= input_ids.shape[1] <= self._longest + 1
        if not grown or not torch.equal(input_ids[:, :start], self._prompts):
            raise ValueError(
                "This processor has followed another generate call. Make one for each call, or reset() it in between."
            )
        self._longest = max(self._longest, input_ids.shape[1])
        return [tuple(ids) for ids in input_ids[:, start:].tolist()]

    def _read(self, rows: list[tuple[int, ...]], scores: torch.Tensor) -> list[int | None]:
        """The state of each row, None behind an end token."""
        keys = [(self._which(row), ids) for row, ids in enumerate(rows)]
        states: dict[_Key, int | None] = {}
        for row, key in enumerate(keys):
            if key not in states:
                states[key] = self._state(row, *key, scores[row])
        self._states = states
        return [states[key] for key in keys]

    def _state(self, row: int, which: int, ids: tuple[int, ...], scores: torch.Tensor) -> int | None:
        """From the row that this one continues, where the call before had it; from the start where not."""
        masker = self._maskers[which]
        lengths = (len(ids), max(len(ids) - 1, 0))
        read = next((length for length in lengths if (which, ids[:length]) in self._states), 0)
        state = self._states.get((which, ids[:read]), masker.constraint.start)
        for step in range(read, len(ids)):
            if state is None:
                return None
            after = masker.advance(state, ids[step])
            if after is None and not _are_log_probabilities(scores):
                raise DecodingError(_forbidden(masker, state, ids[step], row, step))
            state = None if ids[step] in self._vocabulary.end_ids else after
        return state

    def _which(self, row: int) -> int:
        """Rows of one prompt (its beams, the sequences it is asked for) stand together."""
        assert self._prompts is not None
        return row * len(self._maskers) // len(self._prompts)

    def _allowed(self, row: int, state: int | None, logits: int) -> NDArray[np.bool_]:
        """The tokens that a row may take, bool (logits,)."""
        allowed = np.zeros(logits, dtype=np.bool_)
        if state is not None:
            allowed[: self._vocabulary.size] = self._maskers[self._which(row)].mask(state).to_bool()
        return allowed

    def _check(self, scores: torch.Tensor, masked: torch.Tensor, states: list[int | None], step: int) -> None:
        tops: list[list[float]] = torch.stack((scores.amax(-1), masked.amax(-1)), dim=1).tolist()
        for row, (state, (top, allowed)) in enumerate(zip(states, tops, strict=True)):
            if state is None:
                continue
            if not math.isfinite(top):  # the maximum is NaN if any value is
                raise DecodingError(f"Row {row}, step {step}: the model's scores are not finite numbers.")
            if allowed == -math.inf:
                where = _where(self._maskers[self._which(row)], state)
                raise DecodingError(f"Row {row}, step {step}: every allowed token has the probability zero. {where}")


def _vocabulary(tokenizer: Any, eos_token_id: int | Iterable[int] | None) -> Vocabulary:
    """The tokens, of which exactly those end a text at which `generate` stops."""
    given = [eos_token_id] if isinstance(eos_token_id, int) else () if eos_token_id is None else eos_token_id
    ends = {int(token_id) for token_id in given}
    found = tokenizer if isinstance(tokenizer, Vocabulary) else Vocabulary.from_tokenizer(tokenizer, ends)
    if eos_token_id is None or ends == found.end_ids:
        return found
    if outside := [token_id for token_id in ends if not 0 <= token_id < found.size]:
        raise ValueError(f"eos_token_id {min(outside)} is no token of the tokenizer; it has {found.size}.")
    return Vocabulary.from_tokens(found.tokens, ends, found.special_ids | found.end_ids, found.names)


def _cut(vocabulary: Vocabulary, size: int) -> Vocabulary:
    """The tokens that have a logit."""
    within = frozenset(range(size))
    tokens, names = vocabulary.tokens[:size], {key: name for key, name in vocabulary.names.items() if key < size}
    return Vocabulary.from_tokens(tokens, within & vocabulary.end_ids, within & vocabulary.special_ids, names)


def _are_log_probabilities(scores: torch.Tensor) -> bool:
    """Whether this is a beam, whose scores are normalised. Beam search that samples fills up its beams with masked
    tokens where fewer are allowed; such a beam's probability is zero and stays zero, so it may end in any way."""
    return abs(float(scores.logsumexp(-1))) < NORMALISED


def _forbidden(masker: Masker, state: int, token_id: int, row: int, step: int) -> str:
    if token_id < masker.vocabulary.size:
        taken = f"token {token_id} ({masker.vocabulary.name(token_id)!r}): {masker.explain(state, token_id).reason}"
    else:
        taken = f"token {token_id}, which the tokenizer does not have"
    return (
        f"Row {row}, step {step}: generate took {taken}. {_where(masker, state)} "
        "Something besides this processor decides what is taken: another logits processor, or a forced token."
    )


def _where(masker: Masker, state: int) -> str:
    origins = ", ".join(map(str, masker.constraint.origins(state)))
    return f"What remains is {masker.constraint.describe(state)}" + (f", by {origins}." if origins else ".")
