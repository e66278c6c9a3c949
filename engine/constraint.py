"""A compiled constraint: the one thing that pages, masks and decoders hold.

Made by the `compile_*` functions of `engine`; joins the automaton with its source and speaks about both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from engine.automaton import explain
from engine.automaton.automaton import Automaton
from engine.automaton.repair import Repair, repair
from engine.errors import BudgetError, Origin

if TYPE_CHECKING:
    from engine.grammar.json_schema.relation import SchemaSource
from engine.findings import Finding

CLOSING = frozenset(("'\"'", "']'", "'}'"))
"""How `explain.expected` words the marks that end a string, an array and an object."""


@dataclass(frozen=True, slots=True)
class Unenforced:
    """A keyword that the constraint does not enforce, with the reason."""

    pointer: str
    keyword: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """What was compiled: `seconds` it took, `terms` made by then, and what the caller should know.

    `not_enforced`: keywords left out because the caller allowed that. `notes`: restrictions of the language options, in
    words. `unsatisfiable`: pointers of parts of a JSON Schema that no value satisfies, decided when first asked for.
    Of a provider request also: whose it is, the pointer at which the constraint was found, and what that provider would
    refuse or do differently.
    """

    kind: str
    seconds: float
    terms: int
    not_enforced: tuple[Unenforced, ...] = ()
    notes: tuple[str, ...] = ()
    provider: str = ""
    found_at: str = ""
    findings: tuple[Finding, ...] = ()
    find_unsatisfiable: Callable[[], tuple[str, ...]] = field(default=tuple, repr=False, compare=False)

    @property
    def unsatisfiable(self) -> tuple[str, ...]:
        """Pointers of the parts that no value satisfies by themselves. Raises `ConstraintError` where not decided."""
        return self.find_unsatisfiable()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a constraint says of a text.

    `kind`: "accepted"; "incomplete", a proper beginning of an accepted text; or "rejected". `offset`: the byte at which
    the text leaves the language (its length if it does not), also as `line` and `column`, from 1, in characters.
    `expected`: what may stand there, in words. `origins`: the parts of the source that speak there. `completion`: a
    shortest text that completes what was read up to there, empty if that is too long to write. `limit`: the upper bound
    of a JSON Schema that is reached there, in words.
    """

    kind: Literal["accepted", "incomplete", "rejected"]
    offset: int
    line: int
    column: int
    expected: tuple[str, ...]
    origins: tuple[Origin, ...]
    completion: bytes
    limit: str = ""

    def __str__(self) -> str:
        if self.kind == "accepted":
            return "accepted"
        place = f"; inside {', '.join(map(str, self.origins))}" if self.origins else ""
        where = f"byte {self.offset} (line {self.line}, column {self.column})"
        reached = f", {self.limit}" if self.limit else ""
        return f"{self.kind} at {where}: expected one of: {', '.join(self.expected)}{place}{reached}"


@dataclass(frozen=True, eq=False)
class Constraint:
    """An automaton with its source. States are integers of this process.

    `schema`: a JSON Schema's source, for questions about the schema itself. Methods that visit new states raise
    `BudgetError` when the constraint's budget is used up.
    """

    kind: Literal["json_schema", "regex", "choices", "gbnf", "lark", "structural_tag", "text", "bytes", "delimited"]
    automaton: Automaton
    report: Report = field(repr=False)
    schema: SchemaSource | None = field(default=None, repr=False)

    @property
    def start(self) -> int:
        """The state before the first byte."""
        return self.automaton.start

    def check(self, text: str | bytes) -> Verdict:
        """Read a whole text."""
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        with self.automaton.lock, self.automaton.arena.clock.running():
            state = self.start
            for offset, byte in enumerate(data):
                following = self.automaton.step(state, byte)
                if following < 0:
                    return self._verdict("rejected", data, offset, state)
                state = following
            kind: Literal["accepted", "incomplete"] = "accepted" if self.is_accepting(state) else "incomplete"
            return self._verdict(kind, data, len(data), state)

    def repair(self, text: str | bytes) -> Repair | None:
        """The smallest change found by which a rejected text goes on where it leaves the language."""
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        with self.automaton.lock:
            state = self.start
            for offset, byte in enumerate(data):
                following = self.automaton.step(state, byte)
                if following < 0:
                    return repair(self.automaton, state, data[offset:])
                state = following
            return None

    def advance(self, state: int, data: bytes) -> int | None:
        """The state after some bytes, None where they cannot be read."""
        with self.automaton.lock:
            return self.automaton.advance(state, data)

    def after_prefix(self, prefix: bytes) -> int:
        """A state like the start in which `prefix` must be spelled first: where a healed run begins."""
        with self.automaton.lock:
            return self.automaton.prefixed(self.start, prefix)

    def is_accepting(self, state: int) -> bool:
        """Whether a text may end here."""
        return self.automaton.is_accepting(state)

    def describe(self, state: int) -> str:
        """What remains to be read, in words."""
        return explain.describe(self.automaton.term(state))

    def origins(self, state: int) -> tuple[Origin, ...]:
        """The parts of the source whose bytes may be read next."""
        with self.automaton.lock, self.automaton.at_work(state):
            return explain.origins(self.automaton.arena, self.automaton.term(state))

    def expected(self, state: int) -> tuple[str, ...]:
        """What may come next, in words."""
        with self.automaton.lock:
            return explain.expected(self.automaton.moves(state), self.is_accepting(state))

    def moves(self, state: int) -> list[tuple[int, int]]:
        """Disjoint byte sets (256-bit integers) with the state each leads to."""
        with self.automaton.lock:
            return self.automaton.moves(state)

    def shortest(self, state: int) -> bytes:
        """A shortest text that is accepted from here."""
        with self.automaton.lock:
            return self.automaton.shortest(state)

    @cached_property
    def alphabet(self) -> frozenset[int]:
        """Bytes that texts of the language may use (an upper bound)."""
        with self.automaton.lock, self.automaton.at_work(self.start):
            return self.automaton.alphabet()

    def _verdict(
        self, kind: Literal["accepted", "incomplete", "rejected"], data: bytes, offset: int, state: int
    ) -> Verdict:
        before = data[:offset].decode("utf-8", "replace")
        origins = self.origins(state)
        expected = self.expected(state)
        return Verdict(
            kind,
            offset,
            line=before.count("\n") + 1,
            column=len(before) - before.rfind("\n"),
            expected=expected,
            origins=origins,
            completion=self._completion(state),
            limit=self._limit_reached(state, origins, expected) if kind == "rejected" else "",
        )

    def _completion(self, state: int) -> bytes:
        try:
            return self.shortest(state)
        except BudgetError:
            return b""

    def _limit_reached(self, state: int, origins: tuple[Origin, ...], expected: tuple[str, ...]) -> str:
        """Which upper bound of a JSON Schema leaves nothing but the end of a string, array or object here."""
        if self.schema is None or not CLOSING.issuperset(expected):
            return ""
        after = self.automaton.step(state, expected[0].encode()[-2])
        if set(self.origins(after)) & set(origins):
            return ""  # the mark opens a value, it does not close one
        for origin in origins:
            value = self.schema.keyword(origin)
            if origin.keyword in ("maxLength", "maxItems", "maxProperties") and value is not None:
                return f"{origin.keyword} {value} reached"
        return ""
