"""What the rules for numbers share: who owns a number, what a state keeps of its digits, the way to a shortest text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

from engine.automaton.arena import Arena
from engine.automaton.terms import Captured, Term
from engine.errors import Origin
from engine.grammar.json_schema.numbers.digits import Digits
from engine.grammar.json_schema.numbers.multiples import Modulus
from engine.grammar.json_schema.numbers.spans import Decades


class Owner(NamedTuple):
    """Who speaks in a number, and what the number is called, such as `<integer>`."""

    origin: Origin | None
    label: str

    def of(self, arena: Arena, term: Term) -> Term:
        """The term, owned."""
        return term if self.origin is None else arena.tag(self.origin, term, self.label)


class Phase(StrEnum):
    """How far a number is written. POINT: a digit must follow. FRACTION: at least one does already."""

    START = "start"
    WHOLE = "whole"
    POINT = "point"
    FRACTION = "fraction"


@dataclass(frozen=True, slots=True)
class Prefix:
    """What matters of the digits so far: which sets of numbers they leave, and remainders for every modulus."""

    phase: Phase
    decades: Decades
    remainders: tuple[int, ...]

    @property
    def after_point(self) -> bool:
        """Whether the point is written."""
        return self.phase in (Phase.POINT, Phase.FRACTION)


State = TypeVar("State", bound=Prefix)


class NumberRule(ABC, Generic[State]):
    """A rule for unsigned numbers whose states are prefixes; only prefixes that can be completed are ever reached."""

    sure = False

    def __init__(self, name: str, alphabet: bytes, digits: Digits, owner: Owner, moduli: tuple[Modulus, ...]) -> None:
        self.name = name
        self.alphabet = alphabet
        self.digits = digits
        self.owner = owner
        self.moduli = moduli
        self._shortest: dict[State, str | None] = {}

    @abstractmethod
    def nullable(self, args: State) -> bool:
        """Whether a number may end here."""

    @abstractmethod
    def body(self, arena: Arena, args: State) -> Term:
        """What may come next."""

    @abstractmethod
    def _found(self, args: State) -> str | None:
        """A shortest text from here, None if there is none."""

    def core(self, arena: Arena, args: State) -> Term:
        """A shortest text."""
        text = self._text(args)
        return arena.empty if text is None else arena.literal(text.encode())

    def after(self, arena: Arena, args: State, text: Captured) -> Term:
        """Numbers capture nothing."""
        raise NotImplementedError

    def parts(self, arena: Arena, args: State) -> Iterable[Term]:
        """Every byte of a number."""
        return (arena.literal(self.alphabet),)

    def forget(self, args: State) -> State:
        """Nothing to forget."""
        return args

    def words(self, args: State) -> str:
        """The number as a reader knows it."""
        return self.owner.label if args.phase is Phase.START else f"rest of {self.owner.label}"

    def _text(self, args: State) -> str | None:
        if args not in self._shortest:
            self._shortest[args] = self._found(args)
        return self._shortest[args]
