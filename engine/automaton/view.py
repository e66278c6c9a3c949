"""What there is to see of a constraint after a text, as records: see explore.py, which makes them."""

from __future__ import annotations

from dataclasses import dataclass

from engine.automaton.picture import DrawnGraph
from engine.errors import Origin


@dataclass(frozen=True, slots=True)
class RuleName:
    """A rule that has a picture of its own. `terminal`: made of bytes alone."""

    number: int
    name: str
    terminal: bool


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A rule entered and not left. `state`: where it stands, or goes on once the next one is done.

    `passing`: nothing but the next one is read in it so far.
    """

    rule: int
    name: str
    state: int
    passing: bool


@dataclass(frozen=True, slots=True)
class Passed:
    """Where a text stood: the state, and how many rules deep."""

    state: int
    depth: int


@dataclass(frozen=True, slots=True)
class FoundState:
    """A state as a table lists it. `rule`: the rule it belongs to, if any; `visits`: how often the text passed it."""

    id: int
    label: str
    origin: Origin | None
    rule: str
    accepting: bool
    ways: int
    visits: int


@dataclass(frozen=True, slots=True)
class StateTable:
    """The first states that a query finds, how many it finds, and of how many."""

    rows: tuple[FoundState, ...]
    found: int
    known: int


@dataclass(frozen=True, slots=True)
class View:
    """What there is to see of a constraint after a text.

    `passed`: before the first byte and after each. `owner`: the part of the source that speaks in the `current` state;
    `owned`: how many known states each part owns, by pointer; `known`: how many are known at all, `complete`: there are
    no others. `rules` and `frames` (outermost first) are empty unless the constraint is recursive; then `graph` is of
    the rule `rule`, and `readings` says in how many ways the text can be read, of which one is followed.
    """

    graph: DrawnGraph
    current: int
    owner: Origin | None
    passed: tuple[Passed, ...]
    owned: dict[str, int]
    known: int
    complete: bool
    rules: tuple[RuleName, ...] = ()
    frames: tuple[StackFrame, ...] = ()
    rule: int | None = None
    readings: int = 1
