"""What every JSON Schema has in common, made ready once per vocabulary: white space and strings.

The rows of these lexemes are known, and so are the splits of strings (engine/masking/splits.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Literal
from weakref import WeakKeyDictionary

from engine.automaton.arena import Arena
from engine.automaton.liveness import PLEASANT, Liveness
from engine.automaton.terms import Term
from engine.budget import Budget
from engine.grammar.json_schema.layout import Layout
from engine.grammar.json_schema.options import Options
from engine.grammar.json_schema.strings import JsonText
from engine.masking.lexemes import Lexemes
from engine.masking.scratch import Pool
from engine.masking.splits import Splits
from engine.masking.ways_on import Ways, ways_on
from engine.vocabulary import Vocabulary

MOST_COUNTED = 128
"""Characters up to which bounds of a string are made ready. Hardly a vocabulary has longer tokens, and each constraint
fills for itself what a walk along one of them comes to."""


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """`endless`: the states of strings without a bound. `ways_on`: see there. `pool`: buffers for walks over the
    vocabulary."""

    lexemes: Lexemes
    splits: Splits
    endless: frozenset[int]
    ways_on: Ways
    pool: Pool


_LOCK = Lock()
_PREPARED: WeakKeyDictionary[Vocabulary, Prepared] = WeakKeyDictionary()


def prepared(vocabulary: Vocabulary) -> Prepared:
    """The lexemes of JSON over a vocabulary; made when first asked for."""
    with _LOCK:
        if vocabulary not in _PREPARED:
            _PREPARED[vocabulary] = _prepare(vocabulary)
        return _PREPARED[vocabulary]


def _prepare(vocabulary: Vocabulary) -> Prepared:
    arena = Arena(Budget())
    one_byte = sorted(vocabulary.one_byte, key=PLEASANT.index)
    lexemes = Lexemes(arena, Liveness(arena), Liveness(arena, one_byte))
    form = arena.mask_form(vocabulary.longest)
    spaces = []
    for whitespace in ("spaced", "any"):
        layout = Layout.of(arena, Options(whitespace=whitespace))
        spaces.append(arena.to_form(layout.after_comma, form))
        lexemes.close(spaces[-1])
    strings = [string for spelling in ("plain", "any") for string in _strings(arena, spelling, vocabulary.longest)]
    for string in strings:
        lexemes.close(string)
    lexemes.trim()
    states = [lexemes.number(string) for string in strings]
    endless = frozenset(states[:: len(states) // 2])
    splits = Splits(vocabulary)
    for state in (*states, *map(lexemes.number, spaces)):
        splits.add(lexemes, state)
    trie = vocabulary.trie
    return Prepared(lexemes, splits, endless, ways_on(trie), Pool(len(trie), vocabulary.longest))


def _strings(arena: Arena, spelling: Literal["plain", "any"], longest: int) -> list[Term]:
    """What may remain of a string: any number of characters, at most or at least as many as tokens tell apart, if these
    are no more than `MOST_COUNTED`."""
    character = JsonText(arena, spelling).character
    quote = arena.literal(b'"')
    far = min(longest, MOST_COUNTED) + 1
    counts: list[tuple[int, int | None]] = [(0, None), *((0, most) for most in range(1, far + 1)), (1, far)]
    counts += [(least, None) for least in range(1, far + 1)]
    return [arena.seq(arena.repeat(character, least, most), quote) for least, most in counts]
