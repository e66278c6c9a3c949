"""The parts of a source as a reader knows them: which property a state belongs to, and the schema as an outline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.automaton.explore import DrawnGraph, View
from engine.decoding.records import Step
from visualizations.tokens import visible

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
    """A part of the source: `states` known of it, `visits` of a run's steps, `lost` the -ln Z of those in nats.

    `here`: the text stands in it; `entered`: it is a rule that is entered and not left.
    """

    pointer: str
    name: str
    depth: int
    states: int
    visits: int
    lost: float
    here: bool
    entered: bool = False


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
    known: Mapping[str, tuple[int, int]], view: View, steps: Sequence[Step], source_text: str = ""
) -> list[Segment]:
    """The parts of a source in its order. `known`: where they stand; `steps`: of a run, counted by part.

    Of a JSON Schema the parts are its properties; of a grammar its rules; of a regex, which has no names for them, the
    pieces of `source_text` that own states.
    """
    is_schema = "" in known
    place = property_of if is_schema else str
    parts = dict.fromkeys(p for p in known if not is_schema or not p or property_of(p) == p)
    if not known:
        parts = dict.fromkeys(sorted(view.owned, key=_offset))
    owned: Counter[str] = Counter()
    for pointer, count in view.owned.items():
        owned[place(pointer)] += count
    visits: Counter[str] = Counter()
    lost: dict[str, float] = {}
    for step in steps:
        part = place(step.origins[0].pointer) if step.origins else ""
        visits[part] += 1
        lost[part] = lost.get(part, 0.0) + step.cost
    entered = {frame.name for frame in view.frames}
    here = next((f.name for f in reversed(view.frames) if f.name in parts), None) if not is_schema else None
    if here is None and view.owner is not None:
        here = place(view.owner.pointer)
    return [
        Segment(
            part,
            _name(part, is_schema, source_text),
            _depth(part),
            owned[part],
            visits[part],
            lost.get(part, 0.0),
            part == here,
            part in entered,
        )
        for part in dict.fromkeys([*parts, *owned, *visits])
        if part in known or owned[part] or visits[part]
    ]


def _size(pointer: str, by_pointer: Mapping[str, list[int]]) -> int:
    return sum(len(members) for p, members in by_pointer.items() if p == pointer or p.startswith(f"{pointer}/"))


def _nearest(pointer: str, groups: Mapping[str, Group]) -> str:
    while pointer not in groups:
        pointer = property_of(pointer.rpartition("/properties/")[0])
    return pointer


def _name(pointer: str, is_schema: bool, source_text: str) -> str:
    if not is_schema:
        start, dash, end = pointer.partition("-")
        is_span = dash and start.isdecimal() and end.isdecimal()
        return visible(source_text[int(start) : int(end)]) or pointer if is_span else pointer
    return pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~") if pointer else "the root"


def _depth(pointer: str) -> int:
    return max(0, pointer.count("/properties/") - 1)


def _offset(pointer: str) -> tuple[int, str]:
    first = pointer.partition("-")[0]
    return (int(first) if first.isdigit() else 0, pointer)
