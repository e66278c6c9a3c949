"""Whether a prediction or an answer is right: compared with what was computed, or tried on the automaton."""

from __future__ import annotations

from dataclasses import dataclass

from engine.decoding.records import ConstraintSource
from engine.errors import ConstraintError
from engine.grammar.sources import compile_source
from pages._lessons.fields import FIELD, Fields, filled, names, shown
from pages._lessons.reader import Asked
from visualizations.tokens import prose

Given = str | float | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """`right` None: it can't be said yet. `said`: plain text, a reader's own words may be in it."""

    right: bool | None
    said: str


def options_of(asked: Asked, fields: Fields) -> list[str]:
    """The options as Markdown, fields filled in; one that is the name of a field stands for the field's lines."""
    made: list[str] = []
    for option in asked.options:
        if option in fields and isinstance(fields[option], str):
            made += [shown(line) for line in str(fields[option]).splitlines()]
        elif all(name in fields for name in names(option)):
            made.append(filled(option, fields))
    return made


def answer_of(asked: Asked, fields: Fields) -> str | float | None:
    """The right answer; None while it is not computed."""
    if asked.answer in fields:
        return fields[asked.answer]
    if any(name not in fields for name in names(asked.answer)):
        return None
    if asked.kind == "number":
        try:
            return float(asked.answer)
        except ValueError:
            return None
    return filled(asked.answer, fields) if FIELD.search(asked.answer) else asked.answer


def judged(asked: Asked, given: Given, fields: Fields) -> Verdict:
    """What an answer is worth."""
    if given is None or given == "":
        return Verdict(None, "Nothing is answered yet.")
    if asked.kind == "constraint":
        return _tried(asked, str(given))
    answer = answer_of(asked, fields)
    if answer is None:
        return Verdict(None, "The answer comes out of the experiment, which has not run yet.")
    if asked.kind == "number":
        off = abs(float(given) - float(answer))
        if off <= asked.tolerance + 1e-9:
            return Verdict(True, f"Right: {_number(answer)}{asked.unit and ' ' + asked.unit}.")
        return Verdict(False, "Too large." if float(given) > float(answer) else "Too small.")
    if asked.kind == "text":
        return _verdict(_plain(str(given)) == _plain(str(answer)))
    return _verdict(given in (answer, shown(answer)))


def revealed(asked: Asked, given: Given, fields: Fields) -> tuple[bool | None, str]:
    """Whether a prediction came true, and what did happen, as Markdown."""
    answer = answer_of(asked, fields)
    if answer is None:
        return None, ""
    right = judged(asked, given, fields).right
    unit = asked.unit and f" {asked.unit}"
    said = answer if isinstance(answer, str) and asked.answer not in fields else None
    return right, f"{_number(answer) if not isinstance(answer, str) else said or shown(answer)}{unit}"


def _number(value: str | float) -> str:
    return f"{float(value):,.4g}" if not isinstance(value, int) else f"{value:,}"


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _verdict(right: bool) -> Verdict:
    return Verdict(right, "Right." if right else "Not this one.")


def _tried(asked: Asked, source: str) -> Verdict:
    """A constraint of the reader's own, against the texts it must take and refuse."""
    try:
        constraint = compile_source(ConstraintSource(asked.language, source))
        for text in asked.accepts:
            if constraint.check(text).kind != "accepted":
                return Verdict(False, f"It should accept {prose(text)!r} and does not.")
        for text in asked.rejects:
            if constraint.check(text).kind == "accepted":
                return Verdict(False, f"It should not accept {prose(text)!r} and does.")
    except ConstraintError as error:
        return Verdict(False, f"This does not compile: {error}")
    return Verdict(
        True, f"Right: it accepts all {len(asked.accepts)} texts and refuses the other {len(asked.rejects)}."
    )
