"""Many texts under one source: a table of what became of each."""

from __future__ import annotations

import csv
import io
import json
import time
from dataclasses import dataclass, field

import streamlit as st

from engine.analysis.replay import options_needed
from engine.decoding.records import ConstraintSource
from engine.errors import ConstraintError
from pages._constraints import compiled
from pages._debug_replay import Looking, bytes_of, reading_source, said_options
from pages._debug_report import key_of
from pages._debug_work import LONG, Progress, Question, follow
from visualizations.notice import notice
from visualizations.tokens import visible

MOST_BYTES = 4_000_000
MOST_TEXTS = 2_000
MOST_TEXT = 100_000  # bytes of one of many texts
SECONDS = 60.0  # for all of them
SHOWN = 120  # characters of a text in the table


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one text; `number` is its line."""

    number: int
    verdict: str
    byte: int | None
    line: int | None
    column: int | None
    expected: str
    rule: str
    option: str
    text: str


@dataclass
class Texts:
    """The texts a visitor uploaded, and what became of them."""

    name: str = ""
    lines: tuple[tuple[int, str], ...] = ()
    problem: str = ""
    rows: Question[list[Row]] = field(default_factory=lambda: Question(LONG))


def lines_of(data: bytes) -> tuple[tuple[int, str], ...]:
    """The texts of a JSON Lines file with their line numbers.

    A line that is a JSON string stands for the text it spells, every other line for itself, whether it is JSON or not:
    what fails in production often isn't. Empty lines are left out. Raises ValueError with a message.
    """
    if len(data) > MOST_BYTES:
        raise ValueError(f"The file has {len(data) / 1e6:.1f} MB; {MOST_BYTES / 1e6:.0f} MB are the limit.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"The file is not UTF-8: byte {error.start:,} is {data[error.start]:#04x}.") from None
    lines = tuple((n, _text(line)) for n, line in enumerate(text.split("\n"), 1) if line.strip())
    if len(lines) > MOST_TEXTS:
        raise ValueError(f"The file has {len(lines):,} texts; {MOST_TEXTS:,} are the limit.")
    if not lines:
        raise ValueError("The file is empty: it has no line with a text.")
    return lines


def _text(line: str) -> str:
    line = line.removesuffix("\r")
    if line.lstrip().startswith('"'):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return line
        if isinstance(value, str):
            return value
    return line


def rows_of(source: ConstraintSource, lines: tuple[tuple[int, str], ...], progress: Progress) -> list[Row]:
    """What becomes of each text under `source`, as many as the time allows."""
    rows, until = list[Row](), time.monotonic() + SECONDS
    for number, text in lines:
        if progress.stopped() or time.monotonic() > until:
            break
        rows.append(_row(source, number, text))
        progress.say(f"{len(rows):,} of {len(lines):,} texts", len(rows) / len(lines))
    return rows


def _row(source: ConstraintSource, number: int, text: str) -> Row:
    constraint, data = compiled(source), bytes_of(text)
    start = visible(text[:SHOWN]) + ("…" if len(text) > SHOWN else "")
    if isinstance(constraint, ConstraintError) or len(data) > MOST_TEXT:
        said = f"longer than {MOST_TEXT:,} bytes" if len(data) > MOST_TEXT else "the source doesn't compile"
        return Row(number, f"not read: {said}", None, None, None, "", "", "", start)
    try:
        verdict = constraint.check(data)
        needed = options_needed(source, data, compiled) if verdict.kind == "rejected" else None
    except ConstraintError as error:
        return Row(number, f"not read: {error}", None, None, None, "", "", "", start)
    if verdict.kind == "accepted":
        return Row(number, "accepted", None, None, None, "", "", "", start)
    rules = ", ".join(map(str, verdict.origins[:3]))
    return Row(
        number,
        verdict.kind,
        verdict.offset,
        verdict.line,
        verdict.column,
        " ".join(verdict.expected) + (f" ({verdict.limit})" if verdict.limit else ""),
        rules,
        f"accepted with {said_options(needed)}" if needed else "",
        start,
    )


def as_csv(rows: list[Row]) -> str:
    """The table as CSV. A cell that a spreadsheet would take for a formula begins with an apostrophe."""
    written = io.StringIO()
    writer = csv.writer(written)
    names = ("line of file", "verdict", "byte", "line", "column", "expected", "rule", "option", "text")
    writer.writerow(names)
    for row in rows:
        cells = (row.number, row.verdict, row.byte, row.line, row.column, row.expected, row.rule, row.option, row.text)
        writer.writerow(["" if cell is None else _harmless(str(cell)) for cell in cells])
    return written.getvalue()


def _harmless(cell: str) -> str:
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


def panel(texts: Texts, source: ConstraintSource | None, looking: Looking) -> None:
    """The upload, the table, and the way from a row to its replay."""
    st.file_uploader(
        "JSON Lines: one text a line",
        type=["jsonl", "ndjson", "txt", "json"],
        key="debug_lines",
        max_upload_size=MOST_BYTES // 1_000_000,
        on_change=lambda: _uploaded(texts),
        help="A line that is a JSON string stands for the text it spells; any other line stands for itself.",
    )
    st.caption(
        f"A line that is a JSON string stands for the text it spells, any other line for itself. Up to {MOST_TEXTS:,} "
        f"texts. They are read as chosen under “Replay a text”."
    )
    notice(texts.problem, key="debug_lines_problem")
    if not texts.lines:
        return
    if source is None:
        notice("The texts wait for a source that compiles.", key="debug_lines_wait", kind="info")
        return
    read = reading_source(source)
    rows = texts.rows.ask((key_of(read), texts.lines), lambda progress: rows_of(read, texts.lines, progress))
    if texts.rows.problem:
        notice(texts.rows.problem, key="debug_rows_problem")
    if rows is None:
        follow([texts.rows], key="debug_rows_follow")  # type: ignore[list-item]
        st.button("Cancel", key="debug_rows_cancel", on_click=texts.rows.cancel)
        return
    _table(texts, rows, looking)


def _uploaded(texts: Texts) -> None:
    file = st.session_state["debug_lines"]
    if file is None:
        texts.lines, texts.problem = (), ""
        return
    try:
        texts.name, texts.lines, texts.problem = file.name, lines_of(file.getvalue()), ""
    except ValueError as error:
        texts.lines, texts.problem = (), str(error)


def _table(texts: Texts, rows: list[Row], looking: Looking) -> None:
    counts = {kind: sum(row.verdict == kind for row in rows) for kind in ("accepted", "incomplete", "rejected")}
    other = len(rows) - sum(counts.values())
    words = ", ".join(f"{count:,} {kind}" for kind, count in counts.items()) + (
        f", {other:,} not read" if other else ""
    )
    st.text(f"{len(rows):,} of {len(texts.lines):,} texts: {words}.")

    def pick() -> None:
        selected = st.session_state["debug_rows"].selection.rows
        if selected and 0 <= selected[0] < len(rows):
            number = rows[selected[0]].number
            looking.load(next(text for line, text in texts.lines if line == number))
            st.session_state["debug_view"] = "Replay a text"

    st.dataframe(
        {
            "line": [row.number for row in rows],
            "verdict": [row.verdict for row in rows],
            "byte": [row.byte for row in rows],
            "expected": [row.expected for row in rows],
            "rule": [row.rule for row in rows],
            "option": [row.option for row in rows],
            "text": [row.text for row in rows],
        },
        key="debug_rows",
        hide_index=True,
        on_select=pick,
        selection_mode="single-row",
        height=min(420, 40 + 35 * len(rows)),
    )
    st.caption("Pick a row to replay its text.")
    st.download_button(
        "Table as CSV", as_csv(rows), "replayed.csv", "text/csv", icon=":material/download:", on_click="ignore"
    )
