"""Every page opens; bad input gets one message in place and stays where it was typed."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import pages._model
from engine.decoding.records import ConstraintSource, RunSpec, Sampler
from engine.errors import ConstraintError
from engine.grammar.sources import compile_source
from engine.shipped import shipped_names, shipped_trace
from pages import _link
from pages._constraints import compiled, said
from pages._session import never
from tests.app.conftest import APP, PageModel, field_of, notices, opened, sent, typed, wait_for

PAGES = sorted(f"pages/{path.name}" for path in (Path(APP).parent / "pages").glob("[!_]*.py"))
BOOLEAN = ConstraintSource(
    "json_schema", '{"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}'
)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("page", PAGES)
def test_opens_without_a_model(page: str) -> None:
    at = opened()
    at.switch_page(page).run()
    assert not at.exception


@pytest.mark.usefixtures("no_model")
def test_shows_a_recorded_trace_at_an_interesting_step() -> None:
    at = opened()
    visit = at.session_state["visit"]
    assert visit.run.recorded == shipped_names()[0]
    assert visit.step.argmax_masked
    assert sent(at, "strip")[0]["current"] == visit.position
    assert sent(at, "automaton")[0]["states"]
    assert "no such file or folder" in notices(at)
    assert at.button(key="start").disabled


@pytest.mark.usefixtures("no_model")
def test_a_recorded_trace_replays_without_a_model() -> None:
    at = opened()
    at.button(key="first").click().run()
    assert sent(at, "strip")[0]["current"] == 0
    at.button(key="step").click().run()
    at.button(key="next_sampled").click().run()
    step = at.session_state["visit"].step
    assert step.index >= 2
    assert step.kind == "sampled"
    at.button(key="last").click().run()
    assert at.button(key="step").disabled
    assert not at.exception


BAD = [
    pytest.param("json_schema", '{"type": "object",\n  "properties": }', ["line 2", "column"], id="invalid JSON"),
    pytest.param(
        "json_schema", r'{"properties": {"a": {"pattern": "(a)\\1"}}}', ["/properties/a"], id="unsupported keyword"
    ),
    pytest.param("json_schema", '{"type": "string", "minLength": 3, "maxLength": 2}', [""], id="unsatisfiable"),
    pytest.param("json_schema", '{"minimum": NaN}', ["NaN is not a JSON value."], id="NaN"),
    pytest.param("regex", "(a|b", ["offset 0"], id="broken regex"),
    pytest.param("json_schema", "[" * 5_000_000, ["5.0 MB", "limit"], id="5 MB"),
    pytest.param("json_schema", " ", ["no constraint yet"], id="empty"),
]


@pytest.mark.usefixtures("fake_model")
@pytest.mark.parametrize(("kind", "text", "said"), BAD)
def test_bad_constraint_is_told_in_place(kind: str, text: str, said: list[str]) -> None:
    at = opened()
    at.segmented_control(key="kind").set_value(kind).run()
    typed(at, kind, text)
    assert not at.exception
    field = field_of(at, kind)
    message = " ".join(f"{problem['place']} {problem['message']}" for problem in field["problems"])
    assert message
    assert all(part in message for part in said), message
    assert field["text"] == text
    assert at.button(key="start").disabled
    at.text_area(key="prompt").set_value("still here").run()
    assert field_of(at, kind)["text"] == text


@pytest.mark.usefixtures("fake_model")
@pytest.mark.parametrize(
    ("prompt", "said"),
    [("  ", "The prompt is empty"), ("word " * 2000, "tokens"), ("x" * 200_000, "are the limit")],
    ids=["empty", "longer than the context", "enormous"],
)
def test_bad_prompt_is_told_in_place(prompt: str, said: str) -> None:
    at = opened()
    at.text_area(key="prompt").set_value(prompt).run()
    assert not at.exception
    assert said in notices(at)
    assert at.text_area(key="prompt").value == prompt
    assert at.button(key="start").disabled


def test_a_place_that_the_message_names_is_not_said_again() -> None:
    error = compiled(ConstraintSource("lark", 'start: "a" b'))
    assert isinstance(error, ConstraintError)
    assert said(error).lower().count("line 1, column 12") == 1


@pytest.mark.usefixtures("fake_model")
def test_a_run_too_long_for_a_link_is_not_put_into_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server refuses a longer address, so that a reload would show nothing."""
    at = opened()
    at.button(key="start").click().run()
    assert _link.PARAMETER in at.query_params
    monkeypatch.setattr(_link, "MAX_PACKED", 100)
    at.button(key="start").click().run()
    assert _link.PARAMETER not in at.query_params
    assert not at.exception


@pytest.mark.usefixtures("fake_model")
def test_hostile_text_is_sent_as_data_only() -> None:
    at = opened()
    hostile = '{"[x](http://example.invalid)<img src=x onerror=alert(1)>": '
    typed(at, "json_schema", hostile)
    markup = "".join(str(element.value) for kind in ("markdown", "caption", "html") for element in at.get(kind))
    assert "onerror" not in markup


@pytest.mark.usefixtures("fake_model")
def test_runs_to_a_valid_end_and_branches() -> None:
    at = opened(run=_link.pack(RunSpec("Say something.", BOOLEAN, max_tokens=60), 0))
    visit = at.session_state["visit"]
    assert visit.run.trace.spec.constraint == BOOLEAN
    for _ in range(5):
        at.button(key="step").click().run()
    assert visit.position == 5
    at.button(key="back").click().run()
    assert sent(at, "strip")[0]["current"] == 4
    at.button(key="to_end").click().run()
    wait_for(lambda: not visit.worker or not visit.worker.busy)
    at.run()
    assert visit.run.trace.finish in ("complete", "limit")
    assert not at.exception


@pytest.mark.usefixtures("fake_model")
def test_a_run_is_cancelled(fake_model: PageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    extend = fake_model.extend
    monkeypatch.setattr(fake_model, "extend", lambda *given, **more: (time.sleep(0.05), extend(*given, **more))[1])
    at = opened(run=_link.pack(RunSpec("Say something.", None, max_tokens=500), 0))
    visit = at.session_state["visit"]
    monkeypatch.setattr(
        fake_model, "_logits", lambda ids: [0.0] * 65 + [9.0] + [0.0] * (fake_model.vocabulary.size - 66)
    )
    at.button(key="to_end").click().run()
    assert visit.busy
    at.button(key="cancel").click().run()
    wait_for(lambda: not visit.worker or not visit.worker.busy)
    at.run()
    assert visit.run.trace.finish == "cancelled"
    assert 0 < len(visit.run.trace.steps) < 500


@pytest.fixture
def running(fake_model: PageModel, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """A page whose worker extends a run of up to 60 tokens, slowly."""
    extend = fake_model.extend
    monkeypatch.setattr(fake_model, "extend", lambda *given, **more: (time.sleep(0.05), extend(*given, **more))[1])
    at = opened(run=_link.pack(RunSpec("Say something.", BOOLEAN, max_tokens=60), 0))
    at.button(key="to_end").click().run()
    assert at.session_state["visit"].busy
    return at


def test_keys_pressed_during_a_run_do_not_disturb_it(running: AppTest) -> None:
    visit = running.session_state["visit"]
    worker = visit.worker
    visit.forward()
    visit.forward_until(never)
    visit.goto(0)
    assert visit.worker is worker
    wait_for(lambda: not worker.busy)
    running.run()
    trace = visit.run.trace
    assert not visit.problem
    assert trace.finish in ("complete", "limit")
    assert compile_source(BOOLEAN).check(trace.text.decode()).kind == (
        "accepted" if trace.finish == "complete" else "incomplete"
    )


@pytest.mark.usefixtures("fake_model")
def test_a_run_to_the_end_follows_a_shorter_one_whatever_came_first() -> None:
    visit = opened(run=_link.pack(RunSpec("Say something.", BOOLEAN, max_tokens=60), 0)).session_state["visit"]
    visit.forward_until(lambda step: step.index == 2)
    visit.forward_until(never)
    visit.worker.wait()
    assert len(visit.run.follower.trace.steps) == 3
    assert visit.settle()
    visit.worker.wait()
    assert visit.settle()
    assert not visit.busy
    assert visit.run.trace.finish in ("complete", "limit")


def test_a_run_that_waits_for_others_says_how_many(
    running: AppTest, fake_model: PageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(fake_model, "before", lambda thread: (asked.append(thread), 7)[1])
    (progress,) = running.run().get("progress")
    assert progress.proto.text.endswith(" of at most 60 tokens, 7 before you")
    assert asked[0] not in (0, threading.get_ident())


def test_nothing_follows_a_run_that_was_cancelled(running: AppTest) -> None:
    visit = running.session_state["visit"]
    visit.forward_until(never)
    visit.stop()
    assert not visit.busy
    assert visit.run.trace.finish == "cancelled"


def test_another_run_stops_the_one_under_way(running: AppTest) -> None:
    visit = running.session_state["visit"]
    first, worker = visit.run, visit.worker
    name = next(iter(shipped_names()))
    visit.show_recorded(name, shipped_trace(name))
    assert not worker.busy
    assert not visit.busy
    assert visit.run.recorded == name
    assert first.trace.finish == "cancelled"
    visit.show(first.number)
    visit.forward()
    assert len(first.trace.steps) == len(first.follower.trace.steps)
    assert visit.run is first


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    "parameter", ["1.!!!", "9.abc", "", "1." + "A" * 200_000], ids=["noise", "version", "empty", "long"]
)
def test_a_damaged_link_says_so(parameter: str) -> None:
    at = opened(run=parameter)
    assert not at.exception
    assert "link" in notices(at)
    assert at.session_state["visit"].run is not None


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (RunSpec("Hi.", None, max_tokens=50_000), "max_tokens is 50000; this page takes 1 to 2048"),
        (RunSpec("Hi.", None, sampler=Sampler(50.0)), "temperature is 50; this page takes 0 to 2"),
        (RunSpec("Hi.", None, sampler=Sampler(1.0, 10_000, 0.5, 1)), "top_k is 10000"),
        (RunSpec("Hi.", None, sampler=Sampler(1.0, 1, 0.001, 1)), "top_p is 0.001"),
        (RunSpec("Hi.", None, sampler=Sampler(1.0, 1, 0.5, 2**53 - 1)), "seed is 9007199254740991"),
        (RunSpec("Hi.", ConstraintSource("gbnf", 'root ::= "a"')), "gbnf"),
    ],
    ids=["tokens", "temperature", "top_k", "top_p", "seed", "kind"],
)
def test_a_link_beyond_the_fields_says_so(spec: RunSpec, said: str) -> None:
    at = opened(run=_link.pack(spec, 0))
    assert not at.exception
    assert said in notices(at)
    assert at.session_state["visit"].run is not None


@pytest.mark.usefixtures("fake_model")
def test_a_trace_of_another_vocabulary_offers_no_branches() -> None:
    at = opened()
    visit = at.session_state["visit"]
    assert visit.run.recorded
    assert not sent(at, "walk")[0]["takes"]
    visit.take(0, 65, pages._model.loading().model, lambda spec: None)
    assert "another model" in visit.problem
