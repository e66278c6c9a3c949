"""The stack that a state hides: what is being written, and what waits behind it.

A state is one long term, what remains of everything that is open. A pushdown automaton would keep the same as a stack
of frames, one for every rule that was begun and is not finished: in a JSON Schema every value is a rule, and so is what
remains of an object behind a member; in a grammar every rule is one, unless it is so short that it was copied to where
it is used. `frames` reads a text again and cuts the term there:

- A byte is read by the frame on top. Where the part that reads it is the call of a rule, the rule's body goes on top
  as a frame of its own, and what stood behind the call waits below. A frame that has ended is taken off.
- Where it is open who reads the byte (a frame that may end here and may also go on, alternatives that begin with the
  same byte), nothing is cut: the frames concerned go on as one.

However it is cut, the frames in a row are the term: what is said about the frame on top is true of the state.
"""

from __future__ import annotations

from engine.automaton.automaton import Automaton
from engine.automaton.terms import Alt, Call, Repeat, Seq, Term
from engine.constraint import Constraint


def frames(constraint: Constraint, text: bytes) -> tuple[Term, ...]:
    """What remains after a text, frame by frame, the one on top first. Raises ValueError if it leaves the language."""
    automaton = constraint.automaton
    with automaton.lock, automaton.arena.clock.running():
        stack = _Stack(automaton, automaton.term(constraint.start))
        for byte in text:
            stack.read(byte)
        return tuple(reversed(stack.frames))


class _Stack:
    """Frames, the one on top last; none is empty, except the last one that is left."""

    def __init__(self, automaton: Automaton, root: Term) -> None:
        self._arena = automaton.arena
        self._alive = automaton.liveness.alive
        self.frames = [root]

    def read(self, byte: int) -> None:
        """Read one byte. Raises ValueError if nothing that is open can."""
        among = 1 << byte
        part, rest = self._reader(among), self._arena.epsilon
        while (inside := self._inside(part, rest, among)) is not None:
            part, rest = inside
        ((_, after),) = self._arena.moves(part, among)
        self.frames.append(self._arena.seq(after, rest))
        while self.frames[-1] is self._arena.epsilon and len(self.frames) > 1:
            self.frames.pop()

    def _reader(self, among: int) -> Term:
        """Take the frame that reads the byte off the stack, with those above it that have ended or may yet go on."""
        top = self.frames.pop()
        while True:
            below = top.nullable and self._below_reads(among)
            if self._reads(top, among):
                if not below:
                    return top
                top = self._arena.seq(top, self.frames.pop())
            elif below:
                top = self.frames.pop()
            else:
                raise ValueError("The text leaves the language of the constraint.")

    def _below_reads(self, among: int) -> bool:
        for frame in reversed(self.frames):
            if self._reads(frame, among):
                return True
            if not frame.nullable:
                return False
        return False

    def _reads(self, term: Term, among: int) -> bool:
        return any(self._alive(after) for _, after in self._arena.moves(term, among))

    def _inside(self, part: Term, rest: Term, among: int) -> tuple[Term, Term] | None:
        """The part of `part` that reads the byte, with what comes behind it; None if that is open, or `part` is no more
        than a text. Where it is a call, what comes behind it is put on the stack."""
        arena = self._arena
        if isinstance(part, Call):
            if rest is not arena.epsilon:
                self.frames.append(rest)
            return arena.body(part), arena.epsilon
        if isinstance(part, Repeat):
            high = None if part.high is None else part.high - 1
            return part.body, arena.seq(arena.repeat(part.body, max(part.low - 1, 0), high), rest)
        if isinstance(part, Alt):
            readers = [member for member in part.members if self._reads(member, among)]
            return (readers[0], rest) if len(readers) == 1 else None
        if isinstance(part, Seq):
            reads_head = self._reads(part.head, among)
            if part.head.nullable and self._reads(part.tail, among):
                return None if reads_head else (part.tail, rest)
            return part.head, arena.seq(part.tail, rest)
        return None
