"""Schema debugger: what it recognises, its report, replayed texts, tables of texts, other vocabularies."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import threading
import time

import pytest
from streamlit.testing.v1 import AppTest

import pages._debug_replay
import pages._debug_report
from engine.decoding.records import ConstraintSource
from engine.examples import example
from engine.findings import Finding
from engine.grammar.sources import compile_source
from engine.masking import Masker
from pages._debug_replay import rules_of
from pages._debug_source import FAILING, SAMPLES, detect
from pages._debug_texts import MOST_BYTES, MOST_TEXTS, Row, as_csv, lines_of, rows_of
from pages._debug_vocabulary import Upload
from pages._debug_work import Progress, Question
from tests.app.conftest import notices, opened, sent, wait_for
from tests.unit.test_replay import tokenizer_json
from visualizations.findings import Group, selected_finding

AGE = json.dumps({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]})


def debugger() -> AppTest:
    at = opened()
    at.switch_page("pages/schema_debugger.py").run()
    return settled(at)


def settled(at: AppTest) -> AppTest:
    """The page once nothing is under way."""
    visit = at.session_state["debug"]
    for _ in range(20):
        at.run()
        questions = (visit.report, visit.looking.outcome, visit.looking.masks, visit.tokenizer, visit.texts.rows)
        if not any(question.busy for question in questions):
            return at.run()
        time.sleep(0.1)
    raise AssertionError("it never settled")


def given(at: AppTest, source: str, text: str | None = None) -> AppTest:
    """The page with another source, and another text."""
    visit = at.session_state["debug"]
    visit.text, visit.version = source, visit.version + 1
    if text is not None:
        visit.looking.load(text)
    return settled(at)


def editors(at: AppTest) -> dict[str, dict]:
    return {data["key"]: data for data in sent(at, "editor")}


REQUEST = {
    "model": "m",
    "messages": [],
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "integer"}}},
}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (AGE, "json_schema"),
        ('{"type": "string", "format": "date"}', "json_schema"),
        ('{"broken": ', "json_schema"),
        ("true", "json_schema"),
        (json.dumps(REQUEST), "request"),
        ('{"guided_regex": "a+"}', "request"),
        ('{"model": "llama", "prompt": "x", "format": {"type": "object"}}', "request"),
        ('root ::= "a" | "b"', "gbnf"),
        ('start: "a" b\nb: "c"', "lark"),
        ("?start: sum\n", "lark"),
        ("[a-z]+@[a-z]+", "regex"),
        ("level: (info|warn)", "regex"),
        ("", "regex"),
        *((s.source.text, s.source.kind) for s in SAMPLES),
    ],
)
def test_recognises_what_was_pasted(text: str, kind: str) -> None:
    assert detect(text)[0] == kind


@pytest.mark.usefixtures("no_model")
def test_opens_with_a_failure_and_whose_rule_it_broke() -> None:
    at = debugger()
    assert not at.exception
    at_byte = FAILING.encode().index(b'"3"')
    (place,) = sent(at, "replay_place")
    assert place["illegal"]
    assert (place["offset"], place["byte"]) == (at_byte, '"')
    assert place["line"] == 7
    assert next(rule["name"] for rule in place["rules"]) == "/properties/items/items/properties/quantity"
    assert place["repair"]["inserted"] == "1"
    marks = editors(at)["debug_source"]["marks"]
    source = editors(at)["debug_source"]["text"]
    assert any(source[m["start"] :].startswith('"quantity"') for m in marks if m["kind"] == "speaks")
    (error,) = [m for m in editors(at)["debug_text"]["marks"] if m["kind"] == "error"]
    assert error["start"] == at_byte
    assert not sent(at, "replay_tokens")  # there is no vocabulary yet, and everything else works


@pytest.mark.usefixtures("fake_model")
def test_tokens_with_what_the_mask_allowed() -> None:
    at = given(debugger(), AGE, '{"age": "4"}')
    (tokens,) = sent(at, "replay_tokens")
    assert [chip["text"] for chip in tokens["chips"]][:3] == ['{"', "age", '":']
    assert [chip["fate"] for chip in tokens["chips"]][:5] == ["allowed", "allowed", "allowed", "masked", "unread"]
    assert tokens["current"] == 3
    assert tokens["chips"][3]["count"] == 15  # four kinds of white space, a minus sign, ten digits
    (place,) = sent(at, "replay_place")
    assert place["token"]["name"] == '␣"'
    assert {near["name"] for near in place["token"]["allowed"]} >= {"␣"}


@pytest.mark.usefixtures("fake_model")
def test_a_constraint_compiled_again_since_the_text_was_read_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    at = given(debugger(), AGE, '{"age": "4"}')
    before = sent(at, "replay_place")
    monkeypatch.setattr(pages._debug_replay, "masked", lambda source, tokens: Masker(compile_source(source), tokens))
    at.run()
    assert not at.exception
    assert sent(at, "replay_place") == before


@pytest.mark.usefixtures("no_model")
def test_a_repair_is_applied_and_the_text_goes_on() -> None:
    at = debugger()
    visit = at.session_state["debug"]
    visit.looking.load(FAILING.replace('"3"', "3"))
    settled(at)
    assert "Accepted" in notices(at)
    assert 'key_order="any"' in notices(at)  # status stands before customer
    assert not sent(at, "replay_place")[0]["illegal"]


@pytest.mark.usefixtures("no_model")
def test_a_text_that_fails_only_by_an_option_says_which() -> None:
    at = given(debugger(), AGE, '{ "age": 1.0 }')
    assert 'that needs whitespace="any" and spelling="any"' in notices(at)
    at.segmented_control(key="debug_read_spelling").set_value("plain").run()
    settled(at)
    assert 'It fails only by an option: accepted with spelling="any".' in notices(at)


@pytest.mark.usefixtures("no_model")
def test_a_text_that_ends_too_early() -> None:
    at = given(debugger(), AGE, '{"age": 1')
    assert "Incomplete" in notices(at)
    assert sent(at, "replay_place")[0]["completion"] == "}"


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('{"properties": {"a": {"pattern": "(a)\\\\1"}}}', "/properties/a"),
        ('{"type": "string", "minLength": 3, "maxLength": 2}', "minLength"),
        ('{"type": }', "line 1"),
        ("(a|b", "0"),
        ('root ::= "a" nothing', "nothing"),
        ("   ", "nothing here yet"),
    ],
)
def test_what_cannot_be_compiled_is_told_and_stays(source: str, said: str) -> None:
    at = given(debugger(), source, "x")
    assert not at.exception
    assert said in notices(at)
    assert editors(at)["debug_source"]["text"] == source
    assert not sent(at, "replay_place")


@pytest.mark.usefixtures("no_model")
def test_too_much_is_refused_in_words() -> None:
    at = given(debugger(), AGE, "x" * 250_000)
    assert "250,000 bytes" in notices(at)
    at = given(at, "[" * 2_500_000)
    assert "2.5 MB" in notices(at)
    assert not at.exception


@pytest.mark.usefixtures("no_model")
def test_the_report_names_places_and_a_click_selects_one() -> None:
    at = given(debugger(), json.dumps({"type": "object", "properties": {"a": {"type": "string"}}, "x-mine": 1}))
    at.session_state["debug_view"] = "Report"
    at.run()
    groups = sent(at, "findings")[0]["groups"]
    rows = [row for group in groups for row in group["rows"]]
    assert any(row["place"] == "/properties/a" and row["keyword"] == "maxLength" for row in rows)
    at.session_state["debug"].select("/properties/a")
    at.run()
    field = editors(at)["debug_source"]
    (mark,) = [m for m in field["marks"] if m["kind"] == "selected"]
    assert field["text"][mark["start"] : mark["end"]] == '"a": {"type": "string"}'


@pytest.mark.usefixtures("no_model")
def test_a_request_is_reported_as_its_provider_reads_it() -> None:
    at = given(debugger(), json.dumps(REQUEST), "12")
    assert "request to OpenAI" in notices(at)
    assert "/response_format/json_schema/schema" in notices(at)
    assert "Accepted" in notices(at)


@pytest.mark.usefixtures("no_model")
def test_hostile_text_is_sent_as_data_only() -> None:
    hostile = "[x](http://example.invalid)<img src=x onerror=alert(1)>"
    schema = json.dumps({"type": "object", "properties": {hostile: {"type": "string"}}, "required": [hostile]})
    at = given(debugger(), schema, json.dumps({hostile: 1}))
    assert not at.exception
    for tab in ("Replay a text", "Report", "Many texts"):
        at.session_state["debug_view"] = tab
        at.run()
        markup = "".join(str(element.value) for kind in ("markdown", "caption", "html") for element in at.get(kind))
        assert "onerror" not in markup


@pytest.mark.usefixtures("no_model")
def test_an_example_keeps_a_text_of_the_visitors_own() -> None:
    at = debugger()
    at.selectbox(key="debug_example").set_value("Person record").run()
    settled(at)
    assert editors(at)["debug_source"]["text"] == example("Person record").constraint.text
    assert editors(at)["debug_text"]["text"] == ""
    at.session_state["debug"].looking.load("my own")
    settled(at)
    at.selectbox(key="debug_example").set_value(SAMPLES[0].name).run()
    settled(at)
    assert editors(at)["debug_text"]["text"] == "my own"


@pytest.mark.usefixtures("fake_model")
def test_an_uploaded_tokenizer_takes_the_place_of_the_models() -> None:
    at = given(debugger(), "(ab)+", "abc")
    data = tokenizer_json()
    at.session_state["debug_upload"] = Upload("mine.json", data, hashlib.sha256(data).hexdigest())
    settled(at)
    (tokens,) = sent(at, "replay_tokens")
    assert [(chip["text"], chip["id"], chip["count"]) for chip in tokens["chips"]] == [("ab", 256, 2), ("c", 99, 3)]
    assert any("258 tokens" in text.value for text in at.text)
    at.session_state["debug_upload"] = Upload("bad.json", b"{}", "bad")
    settled(at)
    assert "bad.json can't be used" in notices(at)
    assert not at.exception


def test_lines_are_texts_as_they_stand_or_as_a_string_spells_them() -> None:
    data = b'{"a": 1}\n"{\\"a\\": 2}"\n\n[1,\r\n"broken\n'
    assert lines_of(data) == ((1, '{"a": 1}'), (2, '{"a": 2}'), (4, "[1,"), (5, '"broken'))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"x" * (MOST_BYTES + 1), "4.0 MB"),
        (b"1\n" * (MOST_TEXTS + 1), "2,001 texts"),
        (b"\xff\xfe", "not UTF-8"),
        (b" \n\n", "The file is empty"),
    ],
)
def test_too_many_lines_are_refused_in_words(data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        lines_of(data)


def test_a_table_of_texts() -> None:
    lines = ((1, '{"age":1}'), (2, '{"age":'), (3, '{"age":"1"}'), (4, '{"age":\n1}'), (5, "x" * 200_000))
    rows = rows_of(ConstraintSource("json_schema", AGE), lines, Progress(lambda: False))
    assert [row.verdict for row in rows[:4]] == ["accepted", "incomplete", "rejected", "rejected"]
    assert [row.byte for row in rows] == [None, 7, 7, 7, None]
    assert rows[2].rule == "/properties/age, /properties/age (type)"
    assert rows[3].option == 'accepted with whitespace="any"'
    assert rows[4].verdict.startswith("not read")
    assert rows_of(ConstraintSource("json_schema", AGE), lines, Progress(lambda: True)) == []


def test_csv_holds_no_formula() -> None:
    rows = [
        Row(1, "rejected", 0, 1, 1, '"', "the root", "", '=HYPERLINK("x")'),
        Row(2, "ok", None, None, None, *[""] * 4),
    ]
    header, first, second = csv.reader(io.StringIO(as_csv(rows)))
    assert header[:3] == ["line of file", "verdict", "byte"]
    assert first[-1] == '\'=HYPERLINK("x")'
    assert second[2] == ""


@pytest.mark.usefixtures("no_model")
def test_the_table_is_drawn_and_downloads() -> None:
    at = given(debugger(), AGE)
    at.session_state["debug"].texts.lines = ((1, '{"age":1}'), (2, "nothing"))
    at.session_state["debug_view"] = "Many texts"
    settled(at)
    assert any("2 of 2 texts: 1 accepted, 0 incomplete, 1 rejected" in text.value for text in at.text)
    assert list(at.dataframe[0].value["verdict"]) == ["accepted", "rejected"]


@pytest.mark.usefixtures("no_model")
def test_a_monster_holds_up_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    other, at = debugger(), debugger()
    go_on, examined = threading.Event(), pages._debug_report.compiled

    def slow(source: ConstraintSource) -> object:
        if source.text == "monster":
            go_on.wait(20)
        return examined(source)

    monkeypatch.setattr(pages._debug_report, "compiled", slow)
    visit = at.session_state["debug"]
    visit.text, visit.version = "monster", visit.version + 1
    started = time.monotonic()
    at.run()
    assert visit.report.busy
    given(other, AGE, '{"age": 1}')
    assert "Accepted" in notices(other)
    assert time.monotonic() - started < 10
    go_on.set()
    settled(at)
    assert "Compiled" in notices(at)


def test_a_question_asked_anew_forgets_the_old_one() -> None:
    question: Question[str] = Question()
    go_on = threading.Event()

    def slow(progress: Progress) -> str:
        go_on.wait(10)
        return "old"

    assert question.ask("a", slow, patience=0) is None
    assert question.busy
    assert question.ask("b", lambda progress: "new", patience=5) == "new"
    go_on.set()
    wait_for(lambda: threading.active_count() < 50)
    assert question.ask("b", slow) == "new"


def test_what_a_browser_says_was_clicked_is_checked() -> None:
    groups = [Group("a", [Finding("/x", "info", "", "m")]), Group("empty", []), Group("none", [], "nothing")]
    assert selected_finding({"group": 0, "row": 0}, groups).pointer == "/x"
    for said in (None, 3, {}, {"group": 1, "row": 0}, {"group": 0, "row": 1}, {"group": "0", "row": 0}, {"group": -1}):
        assert selected_finding(said, groups) is None


def test_rules_say_what_the_source_says() -> None:
    from engine.errors import Origin
    from engine.grammar.locate import locate

    source = ConstraintSource("json_schema", '{"properties": {"age": {\n  "type": "integer"}}}')
    (rule,) = rules_of((Origin("/properties/age", "type"),), locate(source))
    assert (rule.name, rule.text) == ("/properties/age (type)", '"type": "integer"')
