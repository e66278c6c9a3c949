"""Lessons: the reader and its messages, the texts of the shipped ones, the answers, the progress code, the handout."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages._lessons.declaration import LessonError
from pages._lessons.experiments import experiment_named, fields_of
from pages._lessons.fields import code, filled, known_part, names, with_blanks
from pages._lessons.handout import handout
from pages._lessons.judge import judged, options_of
from pages._lessons.page import FOLDER, GLOSSARY, lessons, slug_of_term
from pages._lessons.progress import MOST_LESSONS, Progress, ProgressError, code_of, progress_of
from pages._lessons.reader import (
    Asked,
    Lesson,
    lesson_paths,
    read_glossary,
    read_lesson,
    undeclared_digits,
)

PATHS = lesson_paths(FOLDER)
GOOD = """---
title: A lesson
minutes: 5
experiment: small
prediction:
  kind: number
  unit: "%"
  answer: share
  tolerance: 1
exercise:
  kind: choice
  options:
    - "yes"
    - no
  answer: no
hints:
  - Think of {{share|.0f}}.
links:
  - text: There
    example: Person record
    step: share
---

# Question
How much is [[Z|the mass]]?

# Prediction
Guess.

# Experiment
Look.

# Seen
It was {{share|.1f}}, in `code 1`.

# Rule
Always.

# Exercise
Is it?

# Teacher
Nothing.
"""


def read(tmp_path: Path, text: str, name: str = "03-a-lesson.md") -> Lesson:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_lesson(path, {"small": {"share": "the share"}}.get, {"Z": "the mass"})


def test_reads_a_lesson(tmp_path: Path) -> None:
    lesson = read(tmp_path, GOOD)
    assert (lesson.number, lesson.slug, lesson.minutes) == (3, "a-lesson", 5)
    assert lesson.exercise.options == ("yes", "no")  # not YAML's true and false
    assert lesson.exercise.answer == "no"
    assert lesson.prediction.tolerance == 1
    assert lesson.text("Seen") == "It was {{share|.1f}}, in `code 1`."


BAD = [
    ("title: A lesson\n", "", 2, "lacks `title`"),
    ("minutes: 5", "minutes: many", 3, "whole number"),
    ("experiment: small", "experiment: none", 4, "no experiment 'none'"),
    ("  kind: number", "  kind: guess", 6, "choice, token, number"),
    ("  answer: share\n", "", 6, "needs an `answer`"),
    ("  tolerance: 1", "  tolerance: -1", 9, "not negative"),
    ("  kind: choice\n", "  kind: choice\n  colour: red\n", 12, "no field 'colour'"),
    ("  - Think of {{share|.0f}}.", "  - Think: of it", 17, "quotes"),
    ("hints:", "hints: [", 17, "not valid YAML"),
    ("# Rule", "# Moral", 36, "no section 'Moral'"),
    ("# Teacher\nNothing.", "# Teacher\n", 43, "`# Teacher` is missing or empty"),
    ("{{share|.1f}}", "{{shore|.1f}}", 34, "no 'shore'; it has share"),
    ("{{share|.1f}}", "{{share|:>99}}", 34, "no format"),
    ("[[Z|the mass]]", "[[zed]]", 25, "no term 'zed'"),
    ("    example: Person record", "    example: Nobody", 20, "`example` must be one of Person record"),
    ("    step: share", "    step: last", 21, "a number or a field of small"),
    ("links:", "start:\n  example: Person record\n  step: x\nlinks:", 20, "whole number"),
    ("---\ntitle", "title", 1, "begins with a line"),
    ("  answer: share", "  answer: shore", 5, "a number or a field of the experiment"),
    ("  answer: no", "  answer: nay", 10, "one of the `options`"),
    ("minutes: 5", "minutes: &a [*a]", 3, "whole number"),
    ("minutes: 5", "minutes: 5\n[a]: 5", 4, "begins with a word"),
    ("  tolerance: 1", "  tolerance: .inf", 9, "not negative"),
    ("{{share|.1f}}", "{{share|d}}", 34, "no format"),
]


@pytest.mark.parametrize(("old", "new", "line", "said"), BAD, ids=[f"{n} {bad[3]}" for n, bad in enumerate(BAD)])
def test_a_bad_file_says_which_line(tmp_path: Path, old: str, new: str, line: int, said: str) -> None:
    assert old in GOOD
    with pytest.raises(LessonError, match=re.escape(said)) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert caught.value.line == line
    assert str(caught.value).startswith(f"03-a-lesson.md, line {line}: ")


def test_a_file_of_another_name_is_told(tmp_path: Path) -> None:
    with pytest.raises(LessonError, match="two digits, a dash, words"):
        read(tmp_path, GOOD, "lesson three.md")


def test_encodings_and_numbers_are_told(tmp_path: Path) -> None:
    path = tmp_path / "03-a-lesson.md"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert read_lesson(path, {"small": {"share": "the share"}}.get, {"Z": "the mass"}).title == "A lesson"
    path.write_bytes(GOOD.replace("Guess.", "Größe.").encode("latin-1"))
    with pytest.raises(LessonError, match="line 28: this is not UTF-8"):
        read_lesson(path, {"small": {"share": "the share"}}.get, {})
    for name in ("00-a-lesson.md", "41-a-lesson.md"):  # the progress code has no room for them
        with pytest.raises(LessonError, match="number is from"):
            read(tmp_path, GOOD, name)


def test_an_address_that_is_taken_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("03-a-lesson.md", "04-a-lesson.md", "05-glossary.md"):
        (tmp_path / name).write_text(PATHS[0].read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr("pages._lessons.page.FOLDER", tmp_path)
    found = lessons()
    assert isinstance(found[0], Lesson)
    assert [str(one).partition(", ")[0] for one in found[1:]] == ["04-a-lesson.md", "05-glossary.md"]


def test_digits_are_found_and_declared(tmp_path: Path) -> None:
    assert undeclared_digits(read(tmp_path, GOOD)) == ["It was , in `code 1`."]
    declared = GOOD.replace("hints:", 'allowed_digits:\n  "code 1": a name\nhints:')
    assert undeclared_digits(read(tmp_path, declared)) == []


def test_there_are_lessons() -> None:
    numbers = [int(path.name[:2]) for path in PATHS]
    assert numbers == sorted(set(numbers))
    assert {2, 6} <= set(numbers)


@pytest.fixture(scope="module")
def glossary() -> dict[str, str]:
    return read_glossary(GLOSSARY)


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_a_shipped_lesson(path: Path, glossary: dict[str, str]) -> None:
    """It can be read; no number of its text is typed; its doors lead somewhere; its first screen needs nothing run."""
    lesson = read_lesson(path, fields_of, glossary)
    assert undeclared_digits(lesson) == []
    assert 5 <= lesson.minutes <= 15
    module = experiment_named(lesson.experiment)
    assert module is not None
    facts = module.facts()
    assert facts.keys() <= module.FIELDS.keys()
    for section in ("Question", "Prediction"):
        assert not known_part(lesson.text(section), facts)[1], f"{section} needs what is not computed yet"
    if lesson.prediction.kind in ("choice", "token"):
        assert len(options_of(lesson.prediction, facts)) >= 2
    for asked in (lesson.prediction, lesson.exercise):
        if asked.kind in ("choice", "token"):
            fields = set(module.FIELDS)
            assert asked.answer in fields or asked.answer in asked.options or set(names(asked.answer)) <= fields


def test_terms_are_explained_once_and_have_anchors_of_their_own(glossary: dict[str, str]) -> None:
    anchors = [slug_of_term(term) for term in glossary]
    assert len(set(anchors)) == len(anchors)
    assert all(len(definition) > 20 for definition in glossary.values())


def test_fields_are_formatted_and_hostile_text_is_code() -> None:
    fields = {"share": 0.314159, "many": 64_000_000, "token": "`](http://x)<b>\n$"}
    assert filled("{{share|percent}} {{share|.2f}} {{share}} {{many}}", fields) == "31 % 0.31 0.314 64,000,000"
    assert filled("{{token}}", fields) == "`` `](http://x)<b>⏎$ ``"
    assert code("") == "`(nothing)`"
    assert known_part("{{share|.1f}}\n\n{{other}}", fields) == ("0.3", True)
    assert with_blanks("{{share|.1f}} {{other}}", fields).startswith("0.3 \\_")


ASKED = [
    (Asked("number", answer="share", tolerance=0.5), 70.4, True),
    (Asked("number", answer="share", tolerance=0.5), 71.0, False),
    (Asked("number", answer="12.5"), 12.5, True),
    (Asked("text", answer="Two  words"), "two words", True),
    (Asked("text", answer="word"), "`word`", True),
    (Asked("text", answer="word"), "other", False),
    (Asked("choice", ("a {{share|.0f}}", "b"), answer="a {{share|.0f}}"), "a 70", True),
    (Asked("choice", ("words",), answer="word"), "`tok`", True),
    (Asked("choice", ("words",), answer="word"), "`other`", False),
    (Asked("constraint", accepts=("aa",), rejects=("b", "a")), "a{2}", True),
    (Asked("constraint", accepts=("aa",), rejects=("b", "a")), "a+", False),
    (Asked("constraint", accepts=("aa",), rejects=("b", "a")), "(a", False),
    (Asked("number", answer="later"), 1.0, None),
    (Asked("number", answer="share"), None, None),
]


@pytest.mark.parametrize(("asked", "answer", "right"), ASKED)
def test_answers_are_judged(asked: Asked, answer: str | float | None, right: bool | None) -> None:
    fields = {"share": 70, "word": "tok", "words": "tok\nother"}
    if answer == "`word`":
        answer = "TOK"
    assert judged(asked, answer, fields).right is right


def test_options_may_be_the_lines_of_a_field() -> None:
    assert options_of(Asked("token", ("words", "{{share}} %")), {"words": "a\nb`"}) == ["`a`", "`` b` ``"]


LESSONS = st.frozensets(st.integers(1, MOST_LESSONS))


@given(LESSONS, LESSONS)
def test_the_code_carries_progress(predicted: frozenset[int], solved: frozenset[int]) -> None:
    progress = Progress(predicted, solved)
    written = code_of(progress)
    if not progress.predicted and not progress.solved:
        assert written == ""
        return
    assert progress_of(written) == progress
    assert progress_of(written.lower().replace("-", " ")) == progress


@given(LESSONS.filter(bool), st.data())
def test_a_mistyped_code_is_refused(solved: frozenset[int], data: st.DataObject) -> None:
    written = code_of(Progress(frozenset(), solved)).replace("-", "")
    place = data.draw(st.integers(0, len(written) - 2))
    other = data.draw(st.sampled_from([c for c in "0123456789ABCDEFGHJKMNPQRSTVWXYZ" if c != written[place]]))
    with pytest.raises(ProgressError):
        progress_of(written[:place] + other + written[place + 1 :])


@pytest.mark.parametrize("typed", ["", "-", "?", "A" * 100, "\u0661\u0662", "💥"])
def test_noise_is_no_code(typed: str) -> None:
    with pytest.raises(ProgressError):
        progress_of(typed)


def test_twelve_lessons_fit_in_a_short_code() -> None:
    every = frozenset(range(1, 13))
    assert len(code_of(Progress(every, every))) <= 8


def test_the_handout_needs_nothing_else(glossary: dict[str, str]) -> None:
    path = next(path for path in PATHS if path.name.startswith("06"))
    lesson = read_lesson(path, fields_of, glossary)
    module = experiment_named(lesson.experiment)
    assert module is not None
    page = handout(lesson, module.facts(), "localhost:8501/renormalisation")
    assert "http" not in page.replace("http-equiv", "")
    assert "<script" not in page
    assert "{{" not in page
    assert "[[" not in page
    assert "0.4" in page
    assert "70 %" not in page  # that is what is to be predicted
    assert lesson.text("Teacher")[:30] not in page
