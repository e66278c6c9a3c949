"""The text of a constraint with the parts marked that speak at a step, and those that masked the model's wish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.errors import Origin
from engine.grammar.locate import Span
from visualizations.editor import Edited, Highlight, Language, editor


def schema_text(
    text: str, speaking: Sequence[Span], masking: Sequence[Span], *, key: str, language: Language = "json"
) -> Edited:
    """`speaking`: spans of the parts whose bytes can come next; `masking`: of those that mask the token looked at.

    A click on a part is in `.clicked`.
    """
    marks = [Highlight(*span, "speaks") for span in speaking] + [Highlight(*span, "masks") for span in masking]
    return editor(text, key=key, label="Constraint", language=language, highlights=marks, height=300, readonly=True)


def spans_of(origins: Sequence[Origin], known: Mapping[str, Span]) -> list[Span]:
    """Where the origins stand in the text; the nearest enclosing part that is known where one isn't."""
    found = (_nearest(origin.pointer, known) for origin in origins)
    return [span for span in dict.fromkeys(found) if span is not None]


def _nearest(pointer: str, known: Mapping[str, Span]) -> Span | None:
    if pointer in known:
        return known[pointer]
    if not pointer.startswith("/"):
        start, dash, end = pointer.partition("-")
        return (int(start), int(end)) if dash and start.isdigit() and end.isdigit() else known.get("")
    return _nearest(pointer.rpartition("/")[0], known)
