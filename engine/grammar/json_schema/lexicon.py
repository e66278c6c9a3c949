"""What every JSON text is made of, whatever the schema: the arena that those of schemas begin with.

Characters of strings, white space and numbers are the same terms in all of them, made once per process.
"""

from __future__ import annotations

from functools import lru_cache

from engine.automaton.arena import Arena
from engine.budget import Budget
from engine.grammar.json_schema.layout import Layout
from engine.grammar.json_schema.numbers.text import NumberText
from engine.grammar.json_schema.options import Options
from engine.grammar.json_schema.strings import JsonText
from engine.grammar.regex.ast import Chars, walk
from engine.grammar.regex.ecma import parse_ecma

CLASSES = (".", r"\d", r"\w", r"\s", r"\S", "[a-z]", "[A-Z]", "[a-zA-Z]", "[a-zA-Z0-9]", "[a-z0-9]", "[a-zA-Z0-9_-]")
"""Classes of characters that patterns are made of everywhere."""


def arena_for(options: Options, budget: Budget) -> Arena:
    """A new arena that begins with the terms of all JSON texts."""
    return Arena(budget, _lexicon(options))


@lru_cache(maxsize=16)
def _lexicon(options: Options) -> Arena:
    arena = Arena(Budget())
    Layout.of(arena, options)
    text, numbers = JsonText(arena, options.spelling), NumberText(arena, options.spelling)
    for code in range(0x20, 0x7F):
        text.literal(chr(code))
    numbers.prepare()
    for name in CLASSES:
        for part in walk(parse_ecma(name)):
            if isinstance(part, Chars):
                text.one_of(part.members)
    return arena.close()
