"""The parts of a source as a reader knows them: which property a state belongs to, and the schema as an outline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.automaton.explore import DrawnGraph
from engine.decoding.records import Step
from engine.errors import Origin

_FEWEST = 2
"""States that are worth a box of their own."""


@dataclass(slots=True)
class Group:
    """States of one property, and the properties inside it. `pointer` "" is what belongs to none."""

    pointer: str
    number: int = 0
    states: list[int] = field(default_factory=list)
    inner: list[Group] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the source: `states` known of it, `visits` of a run's steps, `lost` the -ln Z of those in nats."""

    pointer: str
    name: str
    depth: int
    states: int
    visits: int
    lost: float
    here: bool


def property_of(pointer: str) -> str:
    """The pointer of the innermost property around a part of a JSON Schema, "" if there is none."""
    head, found, tail = pointer.rpartition("/properties/")
    return f"{head}{found}{tail.partition('/')[0]}" if found else ""


def grouped(graph: DrawnGraph) -> list[Group]:
    """The states of a picture by property, properties within properties; first those that belong to none."""
    by_pointer: dict[str, list[int]] = {}
    for state in graph.states:
        pointer = property_of(state.origin.pointer) if state.origin else ""
        by_pointer.setdefault(pointer, []).append(state.id)
    kept = [p for p in by_pointer if p and _size(p, by_pointer) >= _FEWEST]
    groups = {pointer: Group(pointer, number) for number, pointer in enumerate(["", *sorted(kept)])}
    for pointer, members in by_pointer.items():
        groups[_nearest(pointer, groups)].states += members
    for pointer in sorted(kept):
        groups[_nearest(pointer.rpartition("/properties/")[0], groups)].inner.append(groups[pointer])
    return [groups[""]]


def outline(
    known: Mapping[str, tuple[int, int]],
    owned: Mapping[str, int],
    steps: Sequence[Step],
    here: Iterable[Origin],
) -> list[Segment]:
    """The parts of a source in its order. `known`: where they stand; `owned`: states by pointer; `steps`: of a run.

    Of a JSON Schema the parts are its properties; of a grammar its rules; of a regex the pieces that own states.
    """
    is_schema = any(pointer.startswith("/") for pointer in known) or "" in known
    place = property_of if is_schema else str
    parts: dict[str, None] = {pointer: None for pointer in known if not is_schema or place(pointer) == pointer}
    if not parts:
        parts = dict.fromkeys(sorted(owned, key=_offset))
    states: dict[str, int] = {}
    for pointer, count in owned.items():
        states[place(pointer)] = states.get(place(pointer), 0) + count
    visits: dict[str, int] = {}
    lost: dict[str, float] = {}
    for step in steps:
        part = place(step.origins[0].pointer) if step.origins else ""
        visits[part] = visits.get(part, 0) + 1
        lost[part] = lost.get(part, 0.0) + step.cost
    current = {place(origin.pointer) for origin in here}
    return [
        Segment(p, _name(p, is_schema), _depth(p), states.get(p, 0), visits.get(p, 0), lost.get(p, 0.0), p in current)
        for p in dict.fromkeys([*parts, *states, *visits])
    ]


def _size(pointer: str, by_pointer: Mapping[str, list[int]]) -> int:
    return sum(len(members) for p, members in by_pointer.items() if p == pointer or p.startswith(f"{pointer}/"))


def _nearest(pointer: str, groups: Mapping[str, Group]) -> str:
    while pointer not in groups:
        pointer = property_of(pointer.rpartition("/properties/")[0])
    return pointer


def _name(pointer: str, is_schema: bool) -> str:
    if not is_schema:
        return pointer
    return pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~") if pointer else "the root"


def _depth(pointer: str) -> int:
    return max(0, pointer.count("/properties/") - 1)


def _offset(pointer: str) -> tuple[int, str]:
    first = pointer.partition("-")[0]
    return (int(first) if first.isdigit() else 0, pointer)
