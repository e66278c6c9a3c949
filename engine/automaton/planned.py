"""Shortest texts as values to compute with: known, too long to spell out, or none.

A long text refers to the texts of its parts and is spelled when it is asked for: what remains after each byte of it has
a text as well, and all of these share their parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LONGEST_TEXT = 20_000_000
"""Bytes beyond which a text is not spelled out."""

SHORT = 64
"""Bytes up to which a text is spelled at once."""


PIECE = 4096
"""Bytes up to which a repeated text is spelled to be compared: neither many small pieces nor one of everything."""


class Long:
    """A text of more than `SHORT` bytes, or a draft: its parts one after the other, `count` times.

    `is_draft`: whether something captured in it may be what an earlier captured text rules out. Two are equal if both
    are drafts or neither is, and they spell the same bytes.
    """

    __slots__ = ("_length", "count", "is_draft", "parts")

    def __init__(self, parts: tuple[bytes | Long, ...], count: int, is_draft: bool) -> None:
        self.parts = parts
        self.count = count
        self.is_draft = is_draft
        self._length = sum(map(len, parts)) * count

    def __len__(self) -> int:
        return self._length

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Long)
            and (self._length, self.is_draft) == (other._length, other.is_draft)
            and _difference(self, other) == (b"", b"")
        )

    __hash__ = None  # type: ignore[assignment]


class Endless:
    """Stands for a text of more than `LONGEST_TEXT` bytes."""

    def __len__(self) -> int:
        return LONGEST_TEXT + 1


ENDLESS = Endless()

Text = bytes | Long | Endless | None
"""A shortest text of a language, None if the language is empty."""


def joined(one: Text, other: Text) -> Text:
    """One after the other; short ones that meet become one piece, the rest of the other is shared."""
    if one is None or other is None:
        return None
    if isinstance(one, Endless) or isinstance(other, Endless) or len(one) + len(other) > LONGEST_TEXT:
        return ENDLESS
    has_draft = is_draft(one) or is_draft(other)
    if not len(one) or not len(other):
        whole = one if len(one) else other
        return drafted(whole) if has_draft else whole
    first, *rest = other.parts if isinstance(other, Long) and other.count == 1 else (other,)
    if not (isinstance(one, bytes) and isinstance(first, bytes) and len(one) + len(first) <= SHORT):
        return Long((one, other), 1, has_draft)
    return Long((one + first, *rest), 1, has_draft) if rest or has_draft else one + first


def times(text: Text, count: int) -> Text:
    """The same text so many times."""
    if text is None or isinstance(text, Endless):
        return text
    if len(text) * count > LONGEST_TEXT:
        return ENDLESS
    if isinstance(text, Long) or len(text) * count > SHORT:
        return Long((text,), count, is_draft(text))
    return text * count


def drafted(text: Text) -> Text:
    """The text as a draft."""
    if isinstance(text, Long):
        return Long(text.parts, text.count, True)
    return Long((text,), 1, True) if isinstance(text, bytes) else text


def is_draft(text: Text) -> bool:
    """Whether something captured in the text may be what an earlier captured text rules out."""
    return isinstance(text, Long) and text.is_draft


def length(text: Text) -> int:
    """In bytes, 0 for none."""
    return 0 if text is None else len(text)


def spelled(text: bytes | Long) -> bytes:
    """The bytes of a text."""
    if isinstance(text, bytes):
        return text
    found = bytearray()
    pending: list[bytes | Long] = [text]
    while pending:
        part = pending.pop()
        if isinstance(part, bytes):
            found += part
        elif part.count > 1:  # each makes a text at least twice as long: few stand in each other
            found += b"".join(map(spelled, part.parts)) * part.count
        else:
            pending += part.parts[::-1]
    return bytes(found)


def first_byte(text: bytes | Long) -> bytes:
    """The first byte of a text, nothing if it has none."""
    while isinstance(text, Long):
        text = text.parts[0]
    return text[:1]


def preferred(texts: Iterable[Text]) -> Text:
    """The shortest that there is, of equally short ones the same wherever they come from; None if there is none."""
    known = [text for text in texts if text is not None]
    best = min(known, key=len, default=None)
    for text in known:
        if len(text) == length(best) and _precedes(text, best):
            best = text
    return best


def _precedes(one: Text, other: Text) -> bool:
    """Whether the first of two equally long texts has the lesser bytes, or the same and is the only one not a draft."""
    if isinstance(one, Endless) or isinstance(other, Endless) or one is None or other is None:
        return False
    piece, counterpart = _difference(one, other)
    return (piece, is_draft(one)) < (counterpart, is_draft(other))


def _difference(one: bytes | Long, other: bytes | Long) -> tuple[bytes, bytes]:
    """Where two equally long texts first differ: as many bytes of each, none if they nowhere do.

    They are looked at from the front, piece by piece, and what both have in the same place is not looked into.
    """
    left: list[bytes | memoryview | Long] = [one]  # what remains of each, the next last
    right: list[bytes | memoryview | Long] = [other]
    while left:
        piece, counterpart = left.pop(), right.pop()
        if piece is counterpart:
            continue
        if isinstance(piece, Long) and not (isinstance(counterpart, Long) and len(counterpart) > len(piece)):
            left += _opened(piece)
            right.append(counterpart)
        elif isinstance(counterpart, Long):
            left.append(piece)
            right += _opened(counterpart)
        elif not isinstance(piece, Long):
            size = min(len(piece), len(counterpart))
            if piece[:size] != counterpart[:size]:
                return bytes(piece[:size]), bytes(counterpart[:size])
            if len(piece) > size:
                left.append(memoryview(piece)[size:])
            if len(counterpart) > size:
                right.append(memoryview(counterpart)[size:])
    return b"", b""


def _opened(text: Long) -> Sequence[bytes | Long]:
    """The parts of a text, the last first."""
    if text.count == 1:
        return text.parts[::-1]
    if len(text) <= PIECE:
        return (spelled(text),)
    half = Long(text.parts, text.count // 2, text.is_draft)
    return (*text.parts[::-1], half, half) if text.count % 2 else (half, half)
