"""How far a run is from an end, step by step: what its token limit must leave room for."""

from __future__ import annotations

from engine.decoding.records import Trace
from engine.masking import Masker
from engine.masking.distance import Distance, Distances


def distances_along(trace: Trace, masker: Masker) -> list[Distance]:
    """The distance to acceptance before each step of a run, and after its last one unless that was the end token.

    Before step i the limit leaves `max_tokens - i` tokens; a larger distance, if exact, says that the run will be cut
    off. Raises ValueError if the masks do not allow the run's tokens, BudgetError as `Distances` does.
    """
    state = masker.constraint.after_prefix(trace.healed.prefix) if trace.healed else masker.constraint.start
    states = [state]
    for step in trace.steps:
        if step.end:
            break
        after = masker.advance(states[-1], step.token_id)
        if after is None:
            raise ValueError(f"The constraint does not allow the token of step {step.index}.")
        states.append(after)
    return Distances.of(masker).along(states)
