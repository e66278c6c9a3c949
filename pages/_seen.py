"""One step of a run with everything that can be known about it, and what that says about any token.

What is recorded comes from the trace; a model with the same vocabulary adds every other token; logits at hand add the
probabilities of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.analysis.inside import explain_bytes, walk
from engine.constraint import Constraint
from engine.decoding.observe import token_bytes, token_name
from engine.decoding.records import Candidate, Step, Trace
from engine.decoding.sampler import Bools, Distributions, Floats
from engine.decoding.softmax import rank_of
from engine.masking import Masker, TokenMask
from engine.masking.masker import Explanation
from engine.vocabulary import Vocabulary
from visualizations.tokens import candidate_text, token_text, visible
from visualizations.walk import Looked, Near, Verdict

NEAREST = 8


@dataclass(frozen=True, eq=False)
class Seen:
    """A step with what can be known about it.

    `constraint` and `state` (before the step): None where the trace's constraint does not compile here or refuses the
    trace. `masker` and `vocabulary`: None without a model of the same vocabulary. `whole`: the distributions over the
    whole vocabulary, None where the logits are not at hand.
    """

    trace: Trace
    step: Step
    constraint: Constraint | None
    state: int | None
    masker: Masker | None
    vocabulary: Vocabulary | None
    whole: Distributions | None

    @property
    def constrained(self) -> bool:
        """A constraint speaks here, or the end of the prompt is still to be spelled."""
        return self.trace.spec.constraint is not None or bool(self.step.owed)

    @cached_property
    def _recorded(self) -> dict[int, Candidate]:
        return {candidate.token_id: candidate for candidate in self.step.candidates}

    @cached_property
    def _mask(self) -> TokenMask | None:
        return None if self.masker is None or self.state is None else self.masker.mask(self.state)

    @cached_property
    def masses(self) -> tuple[Floats, Bools]:
        """Raw probabilities and what may be taken, over all ids; those of the recorded tokens if no more is known."""
        if self.whole is not None:
            return self.whole.raw, self.whole.allowed
        size = self.trace.vocabulary_size
        raw, allowed = np.zeros(size), np.zeros(size, dtype=np.bool_)
        for candidate in self.step.candidates:
            raw[candidate.token_id], allowed[candidate.token_id] = candidate.raw, candidate.allowed
        return raw, allowed

    def knows(self, token_id: int) -> bool:
        """Something can be said about the token."""
        return token_id in self._recorded or (self.vocabulary is not None and 0 <= token_id < self.vocabulary.size)

    def candidate(self, token_id: int) -> Candidate | None:
        """A token as it was recorded or as the whole distribution has it; None where neither knows it."""
        known = self._recorded.get(token_id)
        if known is not None or self.whole is None or self.vocabulary is None:
            return known
        return Candidate(
            token_id=token_id,
            token=token_bytes(self.vocabulary, token_id),
            rank=rank_of(self.whole.logits, token_id),
            raw=float(self.whole.raw[token_id]),
            renormalised=float(self.whole.renormalised[token_id]),
            sampling=float(self.whole.sampling[token_id]),
            allowed=bool(self.whole.allowed[token_id]),
            end=token_id in self.vocabulary.end_ids,
            name=token_name(self.vocabulary, token_id),
        )

    def lawful(self, token_id: int) -> bool:
        """The mask lets the token through, whatever policy and limit make of it."""
        if self._mask is not None:
            return token_id in self._mask
        candidate = self._recorded.get(token_id)
        if candidate is None or candidate.allowed or not self.step.narrowed or not candidate.token:
            return candidate is not None and candidate.allowed
        if self.constraint is None or self.state is None:
            return False
        return self.constraint.advance(self.state, candidate.token) is not None

    def verdict(self, token_id: int) -> Verdict:
        """What the mask, the policy and the limit make of a token."""
        if not self.lawful(token_id):
            return "masked"
        known = self._recorded.get(token_id)
        if known is not None or self.whole is None or self.vocabulary is None:
            return "allowed" if known is None or known.allowed else "narrowed"
        return "allowed" if self.whole.allowed[token_id] else "narrowed"

    def text(self, token_id: int) -> str:
        """How a token is shown."""
        if (known := self._recorded.get(token_id)) is not None:
            return candidate_text(known)
        if self.vocabulary is None:
            return token_text(b"", token_id)
        token, name = self.vocabulary.tokens[token_id], self.vocabulary.name(token_id)
        ends = token_id in self.vocabulary.end_ids
        return f"⟨{visible(name)}⟩" if not token and name and not ends else token_text(token, token_id, ends)

    def look(self, token_id: int) -> Looked:
        """Why the token may be taken at the step, or may not."""
        candidate, why = self.candidate(token_id), self.why(token_id)
        hops = () if why is None or self.constraint is None or self.state is None else (self.constraint, self.state)
        return Looked(
            token_id=token_id,
            text=self.text(token_id),
            verdict=self.verdict(token_id),
            why=why,
            hops=walk(*hops, why.token) if why is not None and hops else (),
            nearest=tuple(self._near(other) for other in self._nearest(token_id, why)),
            raw=candidate.raw if candidate else None,
            rank=candidate.rank if candidate else None,
            taken=token_id == self.step.token_id,
            narrowed_by=narrowed_by(self.trace),
        )

    def why(self, token_id: int) -> Explanation | None:
        """What the automaton says of a token; None in a run without a constraint, or where nothing is known of it."""
        if not self.constrained or self.constraint is None or self.state is None:
            return None
        if self.masker is not None:
            return self.masker.explain(self.state, token_id, self.masses[0])
        return self.why_not(token_id)

    def why_not(self, token_id: int) -> Explanation | None:
        """The same without the nearest tokens, at less cost."""
        known = self._recorded.get(token_id)
        if not self.constrained or self.constraint is None or self.state is None or not self.knows(token_id):
            return None
        token = known.token if known else token_bytes(self.vocabulary, token_id) if self.vocabulary else b""
        ends = known.end if known else self.vocabulary is not None and token_id in self.vocabulary.end_ids
        lawful = self.lawful(token_id)
        return explain_bytes(self.constraint, self.state, token_id, token, end=ends, allowed=lawful)

    def _nearest(self, token_id: int, why: Explanation | None) -> list[int]:
        if why is None:
            return []
        if self.masker is None:
            others = [c for c in self.step.candidates if c.allowed and c.token_id != token_id]
            others.sort(key=lambda c: (-_shared(c.token, why.token), c.rank))
            return [c.token_id for c in others[:NEAREST]]
        return [other for other in why.nearest if other != token_id and self.verdict(other) == "allowed"]

    def _near(self, token_id: int) -> Near:
        known = self._recorded.get(token_id)
        raw = known.raw if known is not None else None if self.whole is None else float(self.whole.raw[token_id])
        return Near(token_id, self.text(token_id), raw)


def narrowed_by(trace: Trace) -> str:
    """Who takes tokens away that the mask allows."""
    policy = "" if trace.spec.policy == "bridging" else f"the policy {trace.spec.policy}"
    limit = "the token limit" if trace.spec.close_in_time else ""
    return " or ".join(filter(None, (policy, limit))) or "the policy"


def notes(trace: Trace, step: Step) -> str:
    """What healing, jumping, the policy and the token limit made of a step, a line each; "" if they made nothing."""
    lines = []
    if step.kind == "healed" or step.owed:
        owed = f" Still to be spelled before it: {visible(step.owed)}" if step.owed else ""
        lines.append(f"Healed: this token spells the end of the prompt again.{owed}")
    if step.kind == "jumped":
        lines.append("Jumped: the constraint forces these bytes, so they were written without asking the model.")
    if step.fallback:
        lines.append(f"The policy {trace.spec.policy} would leave nothing here: it is put aside for this step.")
    if step.narrowed:
        by = narrowed_by(trace)
        lines.append(f"{by[0].upper()}{by[1:]} takes away {step.narrowed:,} of the tokens that the mask allows.")
    if step.to_end is not None:
        exact = "" if step.to_end_exact else "at most "
        left = trace.spec.max_tokens - step.index
        tokens = f"{step.to_end:,} {'token' if step.to_end == 1 else 'tokens'}"
        lines.append(f"Closing in time: {exact}{tokens} to an accepted end, {left:,} may still be taken.")
    return "\n".join(lines)


def _shared(one: bytes, other: bytes) -> int:
    """Bytes of the longest common beginning."""
    differ = (place for place, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
    return next(differ, min(len(one), len(other)))
