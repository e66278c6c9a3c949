"""Where white space may stand in a JSON text."""

from __future__ import annotations

from dataclasses import dataclass

from engine.automaton.arena import Arena
from engine.automaton.terms import Term, byte_set
from engine.grammar.json_schema.options import Options


@dataclass(frozen=True, slots=True)
class Layout:
    """`space`: wherever JSON allows white space; `after_comma` and `after_colon` in place of it there."""

    space: Term
    after_comma: Term
    after_colon: Term

    @classmethod
    def of(cls, arena: Arena, options: Options) -> Layout:
        """The layout that the options ask for."""
        if options.whitespace == "any":
            space = arena.repeat(arena.bytes(byte_set(b" \t\n\r")), 0, options.max_whitespace)
            return cls(space, space, space)
        gap = arena.repeat(arena.literal(b" "), 0, 1) if options.whitespace == "spaced" else arena.epsilon
        return cls(arena.epsilon, gap, gap)
