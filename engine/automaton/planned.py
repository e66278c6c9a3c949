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


class Draft(bytes):
    """A text in which something captured may be what an earlier captured text rules out."""


class Long:
    """A text of more than `SHORT` bytes: its parts one after the other, `count` times; `is_draft` as in `Draft`.

    Two are equal if they are made of equal parts.
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
            and (self._length, self.count, self.is_draft) == (other._length, other.count, other.is_draft)
            and self.parts == other.parts
        )

    __hash__ = None  # type: ignore[assignment]


class Endless:
    """Stands for a text of more than `LONGEST_TEXT` bytes."""

    def __len__(self) -> int:
        return LONGEST_TEXT + 1


ENDLESS = Endless()

Text = bytes | Long | Endless | None
"""A shortest text of a language, None if the language is empty."""


def joined(texts: Sequence[Text]) -> Text:
    """One after the other."""
    if None in texts:
        return None
    size = sum(map(length, texts))
    if size > LONGEST_TEXT:
        return ENDLESS
    parts = [text for text in texts if isinstance(text, (bytes, Long))]
    has_draft = any(map(is_draft, parts))
    if size > SHORT:
        return Long(tuple(filter(len, parts)), 1, has_draft)
    whole = b"".join(part for part in parts if isinstance(part, bytes))
    return Draft(whole) if has_draft else whole


def times(text: Text, count: int) -> Text:
    """The same text so many times."""
    if text is None or isinstance(text, Endless):
        return text
    if len(text) * count > LONGEST_TEXT:
        return ENDLESS
    if isinstance(text, Long) or len(text) * count > SHORT:
        return Long((text,), count, is_draft(text))
    return type(text)(text * count)


def drafted(text: Text) -> Text:
    """The text as a draft."""
    if isinstance(text, Long):
        return Long(text.parts, text.count, True)
    return Draft(text) if isinstance(text, bytes) else text


def is_draft(text: Text) -> bool:
    """Whether something captured in the text may be what an earlier captured text rules out."""
    return text.is_draft if isinstance(text, Long) else isinstance(text, Draft)


def length(text: Text) -> int:
    """In bytes, 0 for none."""
    return 0 if text is None else len(text)


def spelled(text: bytes | Long) -> bytes:
    """The bytes of a text."""
    if isinstance(text, bytes):
        return bytes(text)
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
    least = min(map(len, known), default=0)
    shortest = [text for text in known if len(text) == least]
    if len(shortest) < 2 or isinstance(shortest[0], Endless):
        return shortest[0] if shortest else None
    spellable = [text for text in shortest if not isinstance(text, Endless)]
    return min(spellable, key=lambda text: (spelled(text), is_draft(text)))
