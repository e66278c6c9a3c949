"""Where the schema fights the model, and two versions of it: the parts of the debugger's page."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

import pages._model
from engine.analysis.fights import Fight, Fights, SampledRun, Wanted
from engine.decoding.records import ConstraintSource, RunSpec, Trace
from engine.examples import example
from engine.grammar.locate import locate_json
from engine.masking.distance import Distance
from engine.model.model import Model
from tests.app.conftest import PageModel, notices, sent, wait_for
from visualizations.budget import budget_words, first_short
from visualizations.heat import heat_marks, part_at, selected_part

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"name": {"enum": ["a", "b"]}, "age": {"type": "boolean"}},
        "required": ["name", "age"],
        "additionalProperties": False,
    },
    indent=2,
)


def page(part: str, kind: str, text: str) -> None:
    """The part of the page alone. AppTest runs the source of this function, so it imports for itself."""
    from importlib import import_module

    from engine.decoding.records import ConstraintSource
    from pages._model import loading

    loading()
    getattr(import_module(f"pages._debug_{part}"), part)(ConstraintSource(kind, text))


def opened(part: str, text: str = SCHEMA, kind: str = "json_schema") -> AppTest:
    at = AppTest.from_function(page, default_timeout=60, kwargs={"part": part, "kind": kind, "text": text})
    at.run()
    wait_for(lambda: not pages._model.loading().busy)
    return at.run()


def finished(at: AppTest, name: str, seconds: float = 60) -> AppTest:
    state = at.session_state[name]
    worker = state.worker if name == "fights" else state.runs.worker
    wait_for(lambda: not worker.busy, seconds)
    return at.run()


@pytest.mark.usefixtures("fake_model")
def test_runs_are_sampled_and_ranked() -> None:
    at = opened("fights")
    at.slider(key="fights_samples").set_value(2).run()
    at.button(key="fights_start").click().run()
    finished(at, "fights")
    assert not at.exception
    (table,) = sent(at, "fights")
    shares = [row["share"] for row in table["rows"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)
    assert table["rows"][0]["selected"]
    assert "costs most" in notices(at)
    assert "What to try" in notices(at)
    heat = [mark for mark in sent(at, "editor")[0]["marks"] if mark["kind"] == "heat"]
    assert max(mark["value"] for mark in heat) == 1
    assert {SCHEMA[mark["start"] : mark["end"]] for mark in heat} <= {"{", '"name": {', '"age": {'}


@pytest.mark.usefixtures("fake_model")
@pytest.mark.parametrize(
    ("kind", "text", "hot"),
    [
        ("regex", "(19|20)[0-9]{2}", {"19", "20", "[0-9]{2}", "[0-9]"}),
        ("lark", 'start: "a" word\nword: /[0-9]+/\n', {'start: "a" word', "word: /[0-9]+/"}),
    ],
)
def test_other_kinds_have_parts_too(kind: str, text: str, hot: set[str]) -> None:
    at = opened("fights", text, kind)
    at.slider(key="fights_samples").set_value(1).run()
    at.button(key="fights_start").click().run()
    finished(at, "fights")
    assert not at.exception
    marks = [mark for mark in sent(at, "editor")[0]["marks"] if mark["kind"] == "heat"]
    assert marks
    assert {text[mark["start"] : mark["end"]] for mark in marks} <= hot


@pytest.mark.usefixtures("fake_model")
def test_the_same_question_is_answered_at_once_for_everybody() -> None:
    first = opened("fights")
    first.slider(key="fights_samples").set_value(1).run()
    first.button(key="fights_start").click().run()
    found = finished(first, "fights").session_state["fights"].found
    second = opened("fights")
    assert not sent(second, "fights")
    second.slider(key="fights_samples").set_value(1).run()
    assert second.session_state["fights"].found is found
    assert sent(second, "fights")


def test_runs_can_be_cancelled(fake_model: PageModel) -> None:
    slow = fake_model.extend

    def extend(cache: object, ids: object, keep: int, waiting: object = None) -> object:
        pages._model.threading.Event().wait(0.05)
        return slow(cache, ids, keep)

    fake_model.extend = extend
    at = opened("fights")
    at.button(key="fights_start").click().run()
    at.button(key="fights_cancel").click().run()
    finished(at, "fights")
    assert not at.exception
    assert not at.button(key="fights_start").disabled
    found = at.session_state["fights"].found
    assert found is None or len(found.runs) < found.asked or found.runs[-1].finish is None


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("part", ["fights", "versions"])
def test_without_a_model_it_says_so(part: str) -> None:
    at = opened(part)
    assert not at.exception
    assert any("needs a model" in caption.value for caption in at.caption)
    assert at.button(key={"fights": "fights_start", "versions": "versions_run"}[part]).disabled


@pytest.mark.usefixtures("fake_model")
def test_two_versions_are_told_apart() -> None:
    at = opened("versions")
    assert "the same" in notices(at)
    at.session_state["versions_text, its text"].text = SCHEMA.replace('"b"', '"c"')
    at.run()
    wait_for(lambda: not at.session_state["versions"].relation.busy)
    at.run()
    assert "some only by the first, some only by the second" in notices(at)
    witnesses = [json.loads(block.value)["name"] for block in at.code]
    assert witnesses == ["b", "c", "a"]
    at.button(key="versions_run").click().run()
    finished(at, "versions")
    assert not at.exception
    assert len(sent(at, "strip")) == len(sent(at, "budget")) == 2
    assert "nats" in notices(at)


@pytest.mark.usefixtures("fake_model")
def test_a_broken_second_version_is_told_in_place() -> None:
    at = opened("versions")
    at.session_state["versions_text, its text"].text = '{"type": "objekt"}'
    at.run()
    assert not at.exception
    assert sent(at, "editor")[0]["problems"]


FOUGHT = Fights(
    parts=(
        Fight("/properties/name", "enum", 4, 0.2, 6.0, 0.75, (Wanted(0, b"<b>x</b>", "", 0.5, 3.0),), ()),
        Fight("", "properties", 2, 0.5, 2.0, 0.25, (), ()),
        Fight(None, "", 0, 1.0, 0.0, 0.0, (), ()),
    ),
    runs=(SampledRun(0, b"{}", 8, 8.0, "complete"),),
    asked=1,
)


def test_heat_stands_at_the_beginning_of_each_part() -> None:
    located = locate_json(SCHEMA)
    marks = heat_marks(FOUGHT, located)
    assert [(SCHEMA[m.start : m.end], m.value, m.label) for m in marks] == [
        ('"name": {', 1.0, "75 %"),
        ("{", pytest.approx(1 / 3), "25 %"),
    ]
    flat = locate_json(json.dumps(json.loads(SCHEMA)))
    assert [flat.text[m.start : m.end] for m in heat_marks(FOUGHT, flat)] == [
        '"name": {"enum": ["a", "b"]}',
        '{"type": "object", "properties": {',
    ]
    assert part_at(FOUGHT, located, SCHEMA.index('"enum"')) == "/properties/name"
    assert part_at(FOUGHT, located, 0) == ""


@pytest.mark.parametrize("picked", [None, -1, 3, True, "0", {"row": 0}])
def test_a_browser_may_send_anything(picked: object) -> None:
    assert selected_part(picked, FOUGHT) is None
    assert selected_part(1, FOUGHT) is FOUGHT.parts[1]


def test_a_limit_that_truncates_is_told() -> None:
    spec = RunSpec("Hi.", ConstraintSource("json_schema", "{}"), max_tokens=8)
    trace = Trace(spec, "", "", 1, (), ())
    short, enough = [Distance(14, exact=True)], [Distance(3, exact=True), Distance(7, exact=True)]
    assert first_short(trace, short) == 0
    words = budget_words(trace, short)
    assert "cannot be completed: that takes 14 tokens, 8 remain" in words
    assert "Raise the limit to 14 or more" in words
    assert "close in time" in words
    assert "may cut" in budget_words(trace, [Distance(14, exact=False)])
    assert first_short(trace, enough) is None
    assert "least at step 1, with 0 tokens to spare" in budget_words(trace, enough)


@pytest.mark.model
def test_a_newcomer_finds_the_dearest_field(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the bundled model and an example: one click, and the page names the field and what the model wanted."""
    monkeypatch.setattr(pages._model, "load_model", lambda progress: model)
    shown = example("Against the model's wish")
    at = opened("fights", shown.constraint.text)
    assert at.text_area(key="fights_prompt").value == shown.prompt
    at.slider(key="fights_samples").set_value(2).run()
    at.button(key="fights_start").click().run()
    finished(at, "fights", 120)
    assert not at.exception
    rows = sent(at, "fights")[0]["rows"]
    assert rows[0]["place"] == "/properties/sentiment"
    assert rows[0]["share"] > 0.5
    assert notices(at).startswith("/properties/sentiment")
    text = shown.constraint.text
    hottest = max(sent(at, "editor")[0]["marks"], key=lambda mark: mark["value"])
    assert text[hottest["start"] : hottest["end"]] == '"sentiment": {'
