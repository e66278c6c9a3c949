"""Why a token may be taken or not: the verdict in a sentence, its bytes walked through the automaton, its neighbours.

The walk is a table, a row a byte: what remains before it and who speaks there. It ends at the byte that cannot be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engine.analysis.inside import Hop
from engine.errors import Origin
from engine.masking.masker import Explanation
from visualizations.component import Callback, register
from visualizations.tokens import percent, prose, token_text, visible

_walk = register("walk")

Verdict = Literal["allowed", "masked", "narrowed"]
"""narrowed: the mask lets the token through, and the policy or the token limit takes it away."""

OWNERS = 3
EXPECTED = 8


@dataclass(frozen=True, slots=True)
class Near:
    """An allowed token beside the one looked at; `raw` is None where the model's probability is not known."""

    token_id: int
    text: str
    raw: float | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """A token of the vocabulary as it is at one step. `raw`, `rank`: the model's, None where they are not known.

    `taken`: it was taken there. `why` is None in a run without a constraint.
    """

    token_id: int
    text: str
    verdict: Verdict
    why: Explanation | None
    hops: tuple[Hop, ...] = ()
    nearest: tuple[Near, ...] = ()
    raw: float | None = None
    rank: int | None = None
    taken: bool = False
    narrowed_by: str = ""


def token_walk(looked: Looked, *, step: int, takes: bool, key: str, on_select: Callback, on_take: Callback) -> None:
    """Draws it. A click on a neighbour calls `on_select`, one on "Take it here" `on_take`; both have step and token in
    the component's `.select` and `.take`."""
    data = {
        "step": step,
        "id": looked.token_id,
        "text": looked.text,
        "verdict": looked.verdict,
        "taken": looked.taken,
        "share": _share(looked),
        "sentence": sentence(looked),
        "owners": owners(looked.why.origins) if looked.why and looked.verdict == "masked" else [],
        "hops": [_hop(hop) for hop in looked.hops],
        "nearest": [
            {"id": near.token_id, "text": near.text, "share": "" if near.raw is None else percent(near.raw)}
            for near in looked.nearest
        ],
        "takes": takes and looked.verdict == "allowed" and not looked.taken,
    }
    _walk(key=key, data=data, on_select_change=on_select, on_take_change=on_take)


def sentence(looked: Looked) -> str:
    """The verdict in words."""
    why = looked.why
    if looked.verdict == "narrowed":
        return f"The mask lets it through, but {looked.narrowed_by or 'the policy'} takes it away at this step."
    if why is None:
        return "No constraint: every token is allowed." if looked.verdict == "allowed" else "A special token."
    said = why.reason[0].upper() + why.reason[1:] + "."
    if looked.verdict == "allowed" or not why.expected:
        return said
    if not why.token:
        return f"{said} Expected here: {either(why.expected)}."
    place = "here" if why.offset == 0 else f"after {visible(why.token[: why.offset])}"
    return f"{said} Expected {place}: {either(why.expected)}."


def either(words: Sequence[str]) -> str:
    """`a, b or c`; a long list is cut."""
    shown = [prose(word) for word in words[:EXPECTED]]
    if len(words) > EXPECTED:
        return ", ".join(shown) + " …"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def owners(origins: Sequence[Origin]) -> list[str]:
    """The parts that speak, each place once and by its keywords where it has any."""
    exact = {origin.pointer for origin in origins if origin.keyword}
    shown = [origin for origin in origins if origin.keyword or origin.pointer not in exact]
    return [prose(str(origin)) for origin in shown[:OWNERS]]


def _share(looked: Looked) -> str:
    if looked.raw is None:
        return f"id {looked.token_id:,}"
    rank = "" if looked.rank is None else f", rank {looked.rank + 1:,}"
    return f"id {looked.token_id:,} · model gave it {percent(looked.raw)}{rank}"


def _hop(hop: Hop) -> dict[str, Any]:
    return {
        "byte": f"{hop.byte:02X}",
        "text": token_text(bytes([hop.byte]), 0),
        "before": prose(hop.before),
        "who": owners(hop.origins)[:1],
        "dies": hop.after is None,
        "expected": either(hop.expected) if hop.expected else "nothing",
        "after": prose(hop.after) if hop.after is not None else "",
    }
