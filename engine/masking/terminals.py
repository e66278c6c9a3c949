"""The policy `aligned`: a token may not cross a boundary between terminals of the grammar.

The classic mistake of constrained decoding, made on purpose: a model writes `{"` as one token, and a decoder whose
lexer and tokens must line up forbids it. What that costs (Beurer-Kellner, Fischer and Vechev 2024, arXiv 2403.06988)
can be watched on a real run.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engine.automaton.automaton import DEAD
from engine.automaton.leaves import Leaves, Terminals
from engine.errors import Origin
from engine.grammar.free_text import FREE
from engine.masking import json_terminals
from engine.masking.json_terminals import BETWEEN
from engine.masking.masker import Masker
from engine.masking.place import Place

if TYPE_CHECKING:
    from engine.constraint import Constraint

Bools = NDArray[np.bool_]

SCHEMAS = frozenset(("json_schema", "schema"))
"""Members of a structural tag that hold a JSON Schema."""

PLACES = 64
"""Positions of runs that are remembered; others are read again from where the run began."""


@dataclass(frozen=True, slots=True)
class _Position:
    """Where a text stands: bytes of the healed prefix to come, leaves of the term, and the JSON lexer once in JSON."""

    owed: int
    leaves: Leaves
    lexer: int | None


class Aligned:
    """Only tokens all of whose bytes belong to one terminal; they may begin and end anywhere in it.

    In JSON a terminal is a punctuation mark, a string with its quotes, a number, a literal, a run of white space; in
    any other grammar a literal run or a class with its repetition (`engine.automaton.leaves`). Free text up to a
    delimiter and with it is one terminal, as is a healed prefix. What is left is always part of the mask, and holds
    every one-byte token of the mask.
    """

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._vocabulary = masker.vocabulary
        self._automaton = masker.automaton
        self._terminals = Terminals(masker.automaton)
        self._all_json = masker.constraint.kind == "json_schema"
        self._is_json = _judge(masker.constraint)
        self._ends = np.zeros(self._vocabulary.size, dtype=np.bool_)
        self._ends[list(self._vocabulary.end_ids)] = True
        self._lengths = np.fromiter(map(len, self._vocabulary.tokens), np.int32, self._vocabulary.size)
        self._places: OrderedDict[tuple[int, int, tuple[int, ...]], _Position] = OrderedDict()

    def narrow(self, allowed: Bools, place: Place) -> Bools:
        """Those of the `allowed` tokens, bool (size,), that stay within a terminal, and the end tokens."""
        with self._automaton.lock:
            position = self._position(place.start, place.owed, place.tokens)
            return allowed & (self._within(position) | self._ends)

    def stays(self, token_id: int, place: Place) -> bool:
        """What `narrow` says of one token."""
        with self._automaton.lock:
            position = self._position(place.start, place.owed, place.tokens)
            return bool(self._ends[token_id] or self._within(position)[token_id])

    def _within(self, position: _Position) -> Bools:
        if position.owed:
            return self._lengths <= position.owed
        if position.lexer is None:
            return self._within_leaves(position.leaves)
        within: Bools = json_terminals.within_terminal(self._vocabulary)[position.lexer]
        others = frozenset(leaf for leaf in position.leaves if not self._is_json(leaf.owner))
        return within | self._within_leaves(others) if others else within

    def _within_leaves(self, leaves: Leaves) -> Bools:
        state = self._terminals.union(leaves, self._vocabulary.one_byte)
        return np.zeros_like(self._ends) if state == DEAD else self._masker.mask(state).to_bool()

    def _position(self, start: int, owed: int, tokens: tuple[int, ...]) -> _Position:
        """The position after some tokens: read on from the longest beginning that is remembered."""
        known = len(tokens)
        while known and (start, owed, tokens[:known]) not in self._places:
            known -= 1
        position = self._places.get((start, owed, tokens[:known])) or self._begin(start, owed)
        for token_id in tokens[known:]:
            for byte in self._vocabulary.tokens[token_id]:
                position = self._read(position, byte)
        self._places[start, owed, tokens] = position
        self._places.move_to_end((start, owed, tokens))
        if len(self._places) > PLACES:
            self._places.popitem(last=False)
        return position

    def _begin(self, start: int, owed: int) -> _Position:
        leaves: Leaves = frozenset() if self._all_json else self._terminals.starts(self._automaton.term(start))
        return _Position(owed, leaves, BETWEEN if not owed and self._in_json(leaves) else None)

    def _read(self, position: _Position, byte: int) -> _Position:
        leaves = position.leaves if self._all_json else self._terminals.after(position.leaves, byte)
        owed = max(0, position.owed - 1)
        if owed or not self._in_json(leaves):
            return _Position(owed, leaves, None)
        if position.lexer is None:
            return _Position(0, leaves, BETWEEN)
        return _Position(0, leaves, json_terminals.read(position.lexer, bytes([byte])))

    def _in_json(self, leaves: Leaves) -> bool:
        """Whether JSON may come next."""
        return self._all_json or any(self._is_json(leaf.owner) for leaf in leaves)


def _judge(constraint: Constraint) -> Callable[[Origin | None], bool]:
    """Who in a constraint speaks JSON."""
    if constraint.kind == "structural_tag":
        return lambda owner: owner is not None and not SCHEMAS.isdisjoint(owner.pointer.split("/"))
    if constraint.report.kind == "json_schema":
        return lambda owner: owner != FREE
    return lambda owner: False
