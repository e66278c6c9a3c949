"""Reads a lesson: one Markdown file with a small declaration at its top. See lessons/README.md for the format.

A file that is wrong gives a LessonError that names the file, the line and what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

import yaml

from engine.examples import EXAMPLES
from engine.shipped import shipped_names
from pages._lessons.declaration import LessonError, Part
from pages._lessons.fields import FIELD, TERM, bad_format
from pages._lessons.progress import MOST_LESSONS

SECTIONS = ("Question", "Prediction", "Experiment", "Seen", "Rule", "Exercise", "Teacher")
PredictionKind = Literal["choice", "token", "number"]
CheckKind = Literal["choice", "number", "text", "constraint", "own"]
Input = Literal["text", "number", "none"]
Language = Literal["regex", "json_schema"]
_NAME = re.compile(r"(\d\d)-([a-z0-9-]+)\.md")
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Asked:
    """A prediction or an exercise. `options`: texts, or the name of a field that lists them (one a line).

    `answer`: the name of a computed field, or the answer itself. `tolerance`: how far a number may be off.
    `accepts` and `rejects`: texts a constraint that the reader writes in `language` must take or refuse. `input`: what
    an exercise of kind own asks for.
    """

    kind: PredictionKind | CheckKind
    options: tuple[str, ...] = ()
    answer: str = ""
    unit: str = ""
    tolerance: float = 0.0
    accepts: tuple[str, ...] = ()
    rejects: tuple[str, ...] = ()
    language: Language = "regex"
    input: Input = "none"


@dataclass(frozen=True, slots=True)
class Link:
    """A door to Step-through: an example's run at a step, which is a number or the name of a field."""

    text: str
    example: str
    step: str = "0"


@dataclass(frozen=True, slots=True)
class Start:
    """Where an experiment begins: a recorded run and a step of it."""

    example: str
    step: int


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson as its file says. `number` orders the lessons, `slug` is its address; `sections` by heading.

    `allowed_digits`: texts with digits that may stand in the lesson as they are, with the reason.
    """

    path: Path
    number: int
    slug: str
    title: str
    minutes: int
    experiment: str
    prediction: Asked
    exercise: Asked
    sections: Mapping[str, str]
    hints: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    start: Start | None = None
    allowed_digits: Mapping[str, str] = field(default_factory=dict)

    def text(self, section: str) -> str:
        """The text under a heading, "" if it has none."""
        return self.sections.get(section, "")

    def texts(self) -> Iterator[str]:
        """Every text of the lesson that a page shows."""
        yield self.title
        yield from self.sections.values()
        yield from (*self.prediction.options, *self.exercise.options, *self.hints)
        yield from (link.text for link in self.links)


FieldsOf = Callable[[str], Mapping[str, str] | None]
"""The fields of an experiment: name -> what it is; None if there is no such experiment."""


def read_lesson(path: Path, fields_of: FieldsOf, glossary: Mapping[str, str]) -> Lesson:
    """The lesson in `path`. Raises LessonError."""
    return _Reader(path, _text_of(path), fields_of, glossary).lesson()


def _text_of(path: Path) -> str:
    """The file's text, without the mark that some editors put before it. Raises LessonError."""
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise LessonError(path, line, "this is not UTF-8; save the file with that encoding.") from error


def lesson_paths(folder: Path) -> list[Path]:
    """The lesson files of a folder in their order."""
    return sorted(path for path in folder.glob("*.md") if _NAME.fullmatch(path.name))


def slug_of(path: Path) -> str:
    """A lesson's address: its file's name without the number."""
    found = _NAME.fullmatch(path.name)
    return found[2] if found else path.stem


def read_glossary(path: Path) -> dict[str, str]:
    """Terms and their definitions, from paragraphs `**term**: definition`. Raises LessonError."""
    entries: dict[str, str] = {}
    line = 1
    for block in re.split(r"(\n\s*\n)", _text_of(path)):
        if block.strip() and not block.lstrip().startswith("#"):
            found = re.fullmatch(r"\*\*([^*]+)\*\*:\s+(.+)", block.strip(), re.DOTALL)
            if found is None:
                raise LessonError(path, line, "a term is written as `**term**: its definition`.")
            if found[1] in entries:
                raise LessonError(path, line, f"the term {found[1]!r} is explained twice.")
            entries[found[1]] = " ".join(found[2].split())
        line += block.count("\n")
    return entries


def undeclared_digits(lesson: Lesson) -> list[str]:
    """The places of a lesson's texts where a digit stands that is neither computed nor declared."""
    found = []
    for text in lesson.texts():
        bare = TERM.sub("", FIELD.sub("", text))
        for allowed in sorted(lesson.allowed_digits, key=len, reverse=True):
            bare = bare.replace(allowed, "")
        found += [" ".join(line.split()) for line in bare.splitlines() if _DIGIT.search(line)]
    return found


class _Reader:
    """One file on its way to a Lesson; `line` numbers count from one."""

    def __init__(self, path: Path, text: str, fields_of: FieldsOf, glossary: Mapping[str, str]) -> None:
        self._path, self._lines = path, text.splitlines()
        self._fields_of, self._glossary = fields_of, glossary
        self._steps: list[tuple[int, str]] = []  # lines and steps of links

    def lesson(self) -> Lesson:
        named = _NAME.fullmatch(self._path.name)
        if named is None:
            raise self._error(1, "a lesson's file is named like 06-renormalisation.md: two digits, a dash, words.")
        if not 1 <= int(named[1]) <= MOST_LESSONS:
            raise self._error(1, f"a lesson's number is from 01 to {MOST_LESSONS}.")
        top = self._declaration()
        made = Lesson(
            path=self._path,
            number=int(named[1]),
            slug=named[2],
            title=top.text("title"),
            minutes=top.whole("minutes", 1, 60),
            experiment=top.text("experiment"),
            prediction=self._asked(top.part("prediction"), get_args(PredictionKind)),
            exercise=self._asked(top.part("exercise"), get_args(CheckKind)),
            sections={},
            hints=top.texts("hints"),
            links=tuple(self._link(part) for part in top.parts("links")),
            start=self._start(top.part("start")) if top.has("start") else None,
            allowed_digits=top.mapping("allowed_digits"),
        )
        top.nothing_else()
        made = replace(made, sections=self._sections())
        self._check_names(made, top)
        return made

    def _error(self, line: int, said: str) -> LessonError:
        return LessonError(self._path, line, said)

    def _declaration(self) -> Part:
        if not self._lines or self._lines[0].strip() != "---":
            raise self._error(1, "a lesson begins with a line `---`, its declaration, and `---` again.")
        end = next((n for n, line in enumerate(self._lines[1:], 1) if line.strip() == "---"), None)
        if end is None:
            raise self._error(1, "the declaration has no end: a second line `---` is missing.")
        self._body = end + 1
        try:
            node = yaml.compose("\n".join(self._lines[1:end]), Loader=yaml.SafeLoader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            said = getattr(error, "problem", None) or "this is not readable"
            raise self._error(2 + (mark.line if mark else 0), f"the declaration is not valid YAML: {said}.") from error
        if not isinstance(node, yaml.MappingNode):
            raise self._error(2, "the declaration must be lines such as `title: Renormalisation`.")
        return Part(self._path, node, "the declaration")

    def _sections(self) -> dict[str, str]:
        found: dict[str, list[str]] = {}
        here: list[str] | None = None
        fenced = False
        for number, line in enumerate(self._lines[self._body :], self._body + 1):
            fenced ^= line.lstrip().startswith("```")
            if not fenced and line.startswith("# "):
                name = line[2:].strip()
                if name not in SECTIONS:
                    raise self._error(number, f"there is no section {name!r}; the sections are {', '.join(SECTIONS)}.")
                if name in found:
                    raise self._error(number, f"the section {name} stands here a second time.")
                here = found.setdefault(name, [])
            elif here is None:
                if line.strip():
                    raise self._error(number, "text before the first heading; begin with `# Question`.")
            else:
                here.append(line)
        if missing := [name for name in SECTIONS if not "".join(found.get(name, [])).strip()]:
            raise self._error(len(self._lines), f"the section `# {missing[0]}` is missing or empty.")
        return {name: "\n".join(lines).strip() for name, lines in found.items()}

    def _asked(self, part: Part, kinds: tuple[str, ...]) -> Asked:
        kind = part.one_of("kind", kinds)
        asked = Asked(
            kind=kind,  # type: ignore[arg-type]
            options=part.texts("options"),
            answer=part.text("answer", ""),
            unit=part.text("unit", ""),
            tolerance=part.number("tolerance", 0.0),
            accepts=part.texts("accepts"),
            rejects=part.texts("rejects"),
            language=part.one_of("language", get_args(Language), "regex"),  # type: ignore[arg-type]
            input=part.one_of("input", get_args(Input), "none"),  # type: ignore[arg-type]
        )
        part.nothing_else()
        if kind in ("choice", "token") and not asked.options:
            raise part.error(f"{part.name} of kind {kind} needs `options`.")
        if kind in ("choice", "token", "number", "text") and not asked.answer:
            raise part.error(f"{part.name} of kind {kind} needs an `answer`.")
        if kind == "constraint" and not (asked.accepts and asked.rejects):
            raise part.error(f"{part.name} of kind constraint needs texts that it `accepts` and that it `rejects`.")
        return asked

    def _link(self, part: Part) -> Link:
        """A door; its step may be the name of a field, which is looked up when all else is known."""
        names = tuple(example.name for example in EXAMPLES)
        link = Link(part.text("text"), part.one_of("example", names), part.text("step", "0"))
        part.nothing_else()
        self._steps.append((part.line_of("step"), link.step))
        return link

    def _start(self, part: Part) -> Start:
        start = Start(part.one_of("example", tuple(shipped_names())), part.whole("step", 0, 10_000))
        part.nothing_else()
        return start

    def _check_answer(self, asked: Asked, line: int, known: Mapping[str, str]) -> None:
        """An answer that nothing can be equal to would make a question without one."""
        if asked.answer in known or any(option in known for option in asked.options):
            return
        if asked.kind == "number" and not _NUMBER.fullmatch(asked.answer):
            raise self._error(line, f"`answer` is a number or a field of the experiment, not {asked.answer!r:.40}.")
        if asked.kind in ("choice", "token") and asked.answer not in asked.options:
            raise self._error(line, f"`answer` must be one of the `options`, not {asked.answer!r:.40}.")

    def _check_names(self, lesson: Lesson, top: Part) -> None:
        known = self._fields_of(lesson.experiment)
        if known is None:
            raise self._error(top.line_of("experiment"), f"there is no experiment {lesson.experiment!r}.")
        self._check_answer(lesson.prediction, top.line_of("prediction"), known)
        self._check_answer(lesson.exercise, top.line_of("exercise"), known)
        for number, step in self._steps:
            if not step.isdecimal() and step not in known:
                raise self._error(number, f"`step` is a number or a field of {lesson.experiment}, not {step!r:.40}.")
        for number, line in enumerate(self._lines, 1):
            for found in FIELD.finditer(line):
                if found[1] not in known:
                    said = f"the experiment {lesson.experiment} computes no {found[1]!r}; it has {', '.join(known)}."
                    raise self._error(number, said)
                if bad_format((found[2] or "").strip()):
                    raise self._error(
                        number, f"{found[2]!r} is no format; write percent, or one such as .2f or a comma."
                    )
            for found in TERM.finditer(line):
                if found[1].strip() not in self._glossary:
                    raise self._error(number, f"the glossary has no term {found[1].strip()!r}; add it to glossary.md.")
