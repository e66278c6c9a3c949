"""Where a schema fights the model: its text with the lost probability in it, and the parts ranked by what they cost."""

from __future__ import annotations

from typing import Any

from engine.analysis.advice import advice
from engine.analysis.fights import Fight, Fights, Moment, Wanted
from engine.grammar.locate import Located, Span
from visualizations.component import Callback, register
from visualizations.editor import Edited, Highlight, Language, editor
from visualizations.tokens import percent, prose, token_text, visible

MOST = 60  # parts that are listed
HEIGHT = 340  # px of the schema's text, at most

_ranking = register("fights")


def heat_text(
    fights: Fights, located: Located, selected: str | None, *, key: str, language: Language = "json"
) -> Edited:
    """The source, each part's share of the cost at its beginning; the part `selected` (a pointer) marked.

    A click on a part is in `.clicked`.
    """
    marks = heat_marks(fights, located)
    if selected is not None and (span := located.span(selected)) is not None:
        marks.append(Highlight(*span, "selected", f"Selected: {part_name(selected)}"))
    return editor(
        located.text,
        key=key,
        label="Share of the lost probability, part by part",
        language=language,
        highlights=marks,
        height=HEIGHT,
        readonly=True,
    )


def heat_marks(fights: Fights, located: Located) -> list[Highlight]:
    """One mark for each part that cost something, as strong as its share of the dearest part's."""
    placed = [(part, span) for part in fights.parts if part.cost > 0 and (span := _own_span(part, fights, located))]
    most = max((part.cost for part, _ in placed), default=1.0)
    return [
        Highlight(*span, "heat", f"{_cost(part, fights)}. {advice(part)}", part.cost / most, percent(part.share))
        for part, span in placed
    ]


def fights_table(fights: Fights, selected: str | None, *, key: str, on_select: Callback) -> None:
    """The parts, the dearest first. A click calls `on_select`, the row in the component's `.select`: see
    `selected_part`."""
    data = {
        "rows": [_row(part, fights, selected is not None and part.pointer == selected) for part in fights.parts[:MOST]],
        "more": max(0, len(fights.parts) - MOST),
    }
    _ranking(key=key, data=data, on_select_change=on_select)


def selected_part(picked: object, fights: Fights) -> Fight | None:
    """The part that the component says was clicked. It may say anything."""
    if not isinstance(picked, int) or isinstance(picked, bool) or not 0 <= picked < min(MOST, len(fights.parts)):
        return None
    return fights.parts[picked]


def part_at(fights: Fights, located: Located, offset: int) -> str | None:
    """The part with a row of its own that a click in the text means: the innermost around it."""
    rows = {part.pointer for part in fights.parts[:MOST]}
    around = [part for part in located.parts if part.start <= offset <= part.end and part.pointer in rows]
    return around[-1].pointer if around else None


def part_name(pointer: str | None) -> str:
    """A part as it is named in a sentence."""
    if pointer is None:
        return "mask policy or token limit"
    return prose(pointer) or "the root"


def headline(fights: Fights) -> str:
    """The dearest part, what the model wanted instead, and what to try, in three sentences."""
    if not fights.parts or fights.cost <= 0:
        return "Nothing the model wanted to write was masked."
    top = fights.parts[0]
    keyword = f" ({top.keyword})" if top.keyword else ""
    said = f"{part_name(top.pointer)}{keyword} costs most: {_cost(top, fights)}."
    if top.wanted:
        wishes = ", ".join(f"“{_text(wanted)}” ({percent(wanted.mass)})" for wanted in top.wanted)
        said += f"\nThe model would rather have written {wishes}; it cost most {_where(top)}."
    return f"{said}\nWhat to try: {advice(top)}"


def _where(part: Fight) -> str:
    before = part.moments[0].before if part.moments else b""
    return f"after “{visible(before[-24:])}”" if before else "at the very beginning"


def _own_span(part: Fight, fights: Fights, located: Located) -> Span | None:
    """The beginning of a part: its first line, up to the next part that has a cost of its own."""
    if part.pointer is None or (span := located.span(part.pointer)) is None:
        return None
    if part.pointer and not part.pointer.startswith("/") and span == located.span(""):
        return None  # free text around a constraint, white space that a grammar ignores: no place of their own
    start, end = span
    line = located.text.find("\n", start, end)
    others = (located.span(other.pointer) for other in fights.parts if other.pointer and other.cost > 0)
    inside = [other[0] for other in others if other and start < other[0] < end]
    return start, min([end, *inside, *([line] if line >= 0 else [])])


def _row(part: Fight, fights: Fights, selected: bool) -> dict[str, Any]:
    runs = max(1, len(fights.runs))
    return {
        "place": part_name(part.pointer),
        "keyword": prose(part.keyword),
        "share": part.share,
        "percent": percent(part.share),
        "cost": part.cost / runs,
        "visits": part.visits,
        "z": part.mean_z,
        "wanted": [{"text": _text(wanted), "mass": percent(wanted.mass)} for wanted in part.wanted],
        "moments": [_moment(moment, fights) for moment in part.moments if moment.cost > 0],
        "advice": advice(part) if part.cost > 0 else "",
        "selected": selected,
    }


def _moment(moment: Moment, fights: Fights) -> dict[str, Any]:
    return {
        "seed": fights.runs[moment.run].seed,
        "step": moment.step,
        "cost": moment.cost,
        "before": visible(moment.before),
        "wanted": _text(moment.wanted) if moment.wanted else "",
        "mass": percent(moment.wanted.mass) if moment.wanted else "",
    }


def _text(wanted: Wanted) -> str:
    return (
        f"⟨{visible(wanted.name)}⟩" if not wanted.token and wanted.name else token_text(wanted.token, wanted.token_id)
    )


def _cost(part: Fight, fights: Fights) -> str:
    runs = max(1, len(fights.runs))
    return f"{part.cost / runs:.1f} of {fights.cost / runs:.1f} nats a run ({percent(part.share)})"
