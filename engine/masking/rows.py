"""Masks from the rows of the deterministic automaton: the way out where a union has too many parts.

Alternatives that begin alike in hundreds of ways would be walked one by one as a union; a row of the automaton takes
them together.
"""

from __future__ import annotations

import numpy as np

from engine.automaton.automaton import Automaton
from engine.automaton.terms import Term
from engine.masking.targets import TargetWalk
from engine.masking.token_mask import Bits, packed
from engine.vocabulary import Vocabulary


class Rows:
    """Masks of one constraint's terms over a vocabulary. Hold the automaton's lock."""

    def __init__(self, automaton: Automaton, vocabulary: Vocabulary) -> None:
        self._automaton = automaton
        self._vocabulary = vocabulary
        self._walk = TargetWalk(automaton, vocabulary)

    @property
    def held_bytes(self) -> int:
        """Nothing but what the automaton holds."""
        return 0

    def of(self, term: Term) -> tuple[Bits, tuple[int, ...]]:
        """The tokens that can be read from a term in mask form, and trie nodes; what is in their subtrees depends on
        texts captured before."""
        targets = self._walk.targets(self._automaton.state_of(term))
        spellable = [self._automaton.spellable(target, self._vocabulary.one_byte) for target in targets.states]
        return packed(np.array([False, *spellable])[targets.groups]), targets.uncertain
