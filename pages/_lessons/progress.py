"""What a learner has done, lesson by lesson, and the short code that carries it to another browser.

The code is a number in Crockford's base 32 (no I, L, O, U; case and dashes do not matter) with his check symbol: two
bits for each lesson, predicted and solved, the first lesson's lowest.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_LESSONS = 40
_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_CHECK = _DIGITS + "*~$=U"
_ALIKE = str.maketrans({"I": "1", "L": "1", "O": "0", "-": None, " ": None})


class ProgressError(ValueError):
    """A code that was mistyped; the message says so."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The numbers of the lessons whose prediction was made, and of those whose exercise was solved."""

    predicted: frozenset[int] = frozenset()
    solved: frozenset[int] = frozenset()

    def with_predicted(self, lesson: int) -> Progress:
        return Progress(self.predicted | {lesson}, self.solved)

    def with_solved(self, lesson: int) -> Progress:
        return Progress(self.predicted, self.solved | {lesson})

    def joined(self, other: Progress) -> Progress:
        """What was done here or there."""
        return Progress(self.predicted | other.predicted, self.solved | other.solved)


def code_of(progress: Progress) -> str:
    """The code, in groups of four; "" where nothing is done yet."""
    bits = sum(1 << 2 * (lesson - 1) for lesson in progress.predicted)
    bits += sum(2 << 2 * (lesson - 1) for lesson in progress.solved)
    if not bits:
        return ""
    left, digits = bits, ""
    while left:
        left, digit = divmod(left, 32)
        digits = _DIGITS[digit] + digits
    digits += _CHECK[bits % 37]
    return "-".join(digits[place : place + 4] for place in range(0, len(digits), 4))


def progress_of(code: str) -> Progress:
    """What a code says. Raises ProgressError."""
    typed = code.upper().translate(_ALIKE)
    body, check = typed[:-1], typed[-1:]
    longest = -(-2 * MOST_LESSONS // 5)
    if not body or len(body) > longest or any(digit not in _DIGITS for digit in body):
        raise ProgressError("This is no progress code: it has letters and digits in groups of four.")
    bits = 0
    for digit in body:
        bits = bits * 32 + _DIGITS.index(digit)
    if _CHECK[bits % 37] != check or bits >> 2 * MOST_LESSONS:
        raise ProgressError("A character of this code is wrong. Compare it with the one you wrote down.")
    lessons = range(1, MOST_LESSONS + 1)
    return Progress(
        frozenset(n for n in lessons if bits >> 2 * (n - 1) & 1),
        frozenset(n for n in lessons if bits >> 2 * (n - 1) & 2),
    )
