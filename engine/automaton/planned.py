"""Shortest texts as values to compute with: known, too long to spell out, or none."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_TEXT = 20_000_000
"""Bytes beyond which a text is not spelled out."""


class Draft(bytes):
    """A text in which something captured may be what an earlier captured text rules out."""


class Endless:
    """Stands for a text of more than `LONGEST_TEXT` bytes."""

    def __len__(self) -> int:
        return LONGEST_TEXT + 1


ENDLESS = Endless()

Text = bytes | Endless | None
"""A shortest text of a language, None if the language is empty."""


def joined(texts: Sequence[Text]) -> Text:
    """One after the other."""
    if None in texts:
        return None
    if sum(map(length, texts)) > LONGEST_TEXT:
        return ENDLESS
    kind = Draft if any(isinstance(text, Draft) for text in texts) else bytes
    return kind(b"".join(text for text in texts if isinstance(text, bytes)))


def times(text: Text, count: int) -> Text:
    """The same text so many times."""
    if not isinstance(text, bytes):
        return text
    return type(text)(text * count) if len(text) * count <= LONGEST_TEXT else ENDLESS


def length(text: Text) -> int:
    """In bytes, 0 for none."""
    return 0 if text is None else len(text)


def preference(text: bytes | Endless) -> tuple[int, bytes, bool]:
    """Sorts the shorter first, of equally short ones the same wherever they come from."""
    return (len(text), b"", False) if isinstance(text, Endless) else (len(text), text, isinstance(text, Draft))
