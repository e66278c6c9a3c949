"""The text of a constraint with the parts marked that speak at a step, and those that masked the model's wish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from engine.errors import Origin
from visualizations.theme import register

_LIMIT = 100_000  # code points shown; a browser chokes on more, and nobody reads them
_source = register("source")

Span = tuple[int, int]


def schema_text(text: str, speaking: Sequence[Span], masking: Sequence[Span], *, key: str) -> None:
    """`speaking`: spans of the parts whose bytes can come next; `masking`: of those that masked the first choice."""
    data = {"segments": segments(text[:_LIMIT], speaking, masking), "cut": len(text) > _LIMIT}
    _source(key=key, data=data)


def spans_of(origins: Sequence[Origin], known: Mapping[str, Span]) -> list[Span]:
    """Where the origins stand in the text; the nearest enclosing part that is known where one isn't."""
    found = (_nearest(origin.pointer, known) for origin in origins)
    return [span for span in dict.fromkeys(found) if span is not None]


def segments(text: str, speaking: Sequence[Span], masking: Sequence[Span]) -> list[dict[str, str]]:
    """`text` cut where a mark begins or ends: `[{"text": ..., "mark": "" | "speaks" | "masks" | "both"}]`."""
    cuts = sorted({0, len(text), *(min(edge, len(text)) for span in (*speaking, *masking) for edge in span)})
    cut = []
    for start, end in pairwise(cuts):
        speaks, masks = _inside(start, end, speaking), _inside(start, end, masking)
        mark = "both" if speaks and masks else "speaks" if speaks else "masks" if masks else ""
        cut.append({"text": text[start:end], "mark": mark})
    return cut


def _inside(start: int, end: int, spans: Sequence[Span]) -> bool:
    return any(s <= start and end <= e for s, e in spans)


def _nearest(pointer: str, known: Mapping[str, Span]) -> Span | None:
    if pointer in known:
        return known[pointer]
    if not pointer.startswith("/"):
        start, dash, end = pointer.partition("-")
        return (int(start), int(end)) if dash and start.isdigit() and end.isdigit() else known.get("")
    return _nearest(pointer.rpartition("/")[0], known)
