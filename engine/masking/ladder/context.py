"""How much of a mask is known without the stack.

Where a constraint nests, a state is a stack of frames (frames.py), and there is no end of stacks. Yet most tokens do
not care: inside a string, a token without a quotation mark is allowed and one with a raw line break is not, whatever is
open around it. XGrammar (Dong et al. 2024, 2411.15100, section 3.1) calls them context-independent, decides them once
for every place in the grammar, and leaves only the others, under 1 %, to be tried while generating.

Here the state is the frame on top, the *head*, and below it some stack that can be completed. What stacks of a
constraint can go on with is known as a language (follow.py), not which of them it is.

- A token is *accepted* if the head can read all of its bytes and still be completed: it is allowed for every stack.
- It is *rejected* if the head cannot read it even with all that may follow behind it: it is allowed for none.
- Otherwise it *needs the stack*: the head may have ended inside the token, and what is left of it is a matter of the
  stack. An end token needs it where the head may end.

A regex and a list of choices have no rules and so no stack: their one frame decides everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from engine.automaton import explain
from engine.automaton.automaton import Automaton
from engine.automaton.terms import Term
from engine.constraint import Constraint
from engine.masking.ladder.follow import AFTER_A_VALUE, follow
from engine.masking.ladder.frames import frames
from engine.masking.ladder.trie import PlainTrie
from engine.masking.ladder.work import Spelling
from engine.vocabulary import Vocabulary


class Fate(IntEnum):
    """What the frame on top says of a token, whatever the stack."""

    REJECTED = 0
    ACCEPTED = 1
    NEEDS_STACK = 2


@dataclass(frozen=True, slots=True, eq=False)
class Fates:
    """The fate of every token after a text. `of`: int8 (size,), values of `Fate`.

    `frames`: what remains of each open frame, in words, the one on top first.
    """

    of: NDArray[np.int8]
    frames: tuple[str, ...]

    def count(self, fate: Fate) -> int:
        """How many tokens share a fate."""
        return int((self.of == fate).sum())

    @property
    def share(self) -> float:
        """The part of the vocabulary that is decided without the stack, 0 to 1."""
        return 1.0 - self.count(Fate.NEEDS_STACK) / len(self.of)


class ContextIndependence:
    """Decides the tokens of a vocabulary on the frame on top alone.

    That is two trie walks, without and with what may follow behind the frame: some tenths of a second where most tokens
    live.
    """

    def __init__(self, constraint: Constraint, vocabulary: Vocabulary) -> None:
        self._constraint = constraint
        self._vocabulary = vocabulary
        self._nodes = PlainTrie(vocabulary)
        self._follow = follow(constraint)

    def after(self, text: bytes) -> Fates:
        """The fates of all tokens after a text. Raises ValueError if it leaves the language."""
        arena = self._constraint.automaton.arena
        with self._constraint.automaton.lock:
            opened = self._frames(text)
            accepted = self._allowed(opened[0])
            for_some = self._allowed(arena.seq(opened[0], self._follow))
        if self._follow is not arena.epsilon:
            accepted[list(self._vocabulary.end_ids)] = False  # the text may only end where the stack may
        fates = np.where(accepted, Fate.ACCEPTED, np.where(for_some, Fate.NEEDS_STACK, Fate.REJECTED))
        return Fates(fates.astype(np.int8), tuple(map(explain.describe, opened)))

    def _frames(self, text: bytes) -> list[Term]:
        """The open frames. In a JSON Schema a part of a string may be a rule as well; frames are whole values."""
        opened = list(frames(self._constraint, text))
        arena = self._constraint.automaton.arena
        if self._constraint.kind == "json_schema":
            while len(opened) > 1 and any(members & ~AFTER_A_VALUE for members, _ in arena.moves(opened[1])):
                opened[:2] = [arena.seq(opened[0], opened[1])]
        return opened

    def _allowed(self, term: Term) -> NDArray[np.bool_]:
        automaton = Automaton(self._constraint.automaton.arena, term)
        return self._nodes.allowed(automaton, automaton.start, Spelling(automaton, self._vocabulary))[0]
