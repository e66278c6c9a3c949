"""What the panels of one step are sent: the verdict on any token, the distributions, what is asked for on demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from streamlit.testing.v1 import AppTest

from engine.decoding.records import ConstraintSource, Healed, RunSpec, Sampler, Trace
from engine.once import Once
from engine.shipped import shipped_trace
from pages import _link
from pages._lookup import matches
from pages._seen import Seen, notes
from pages._step import _picked, _shared
from tests.app.conftest import MERGED, VOCABULARY, notices, opened, sent, wait_for
from visualizations.distributions import columns_of
from visualizations.walk import either

AGE = '{"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}'
SOURCE = ConstraintSource("json_schema", AGE, (("objects", "closed"), ("whitespace", "spaced")))
START = [b'{"', b"age", b'":']


def token(data: bytes) -> int:
    return VOCABULARY.tokens.index(data)


CHOICES = tuple((at, token(data)) for at, data in enumerate(START))
SPEC = RunSpec("Say something.", SOURCE, choices=CHOICES, max_tokens=40)


def at_step(spec: RunSpec, index: int) -> AppTest:
    """The app with a live run of `spec` at a step."""
    at = opened(run=_link.pack(spec, 0))
    for _ in range(index):
        at.button(key="step").click().run()
    assert at.session_state["visit"].position == index
    assert not at.exception
    return at


def looked(at: AppTest, token_id: int | None = None) -> dict[str, Any]:
    """What the walk shows, after that token is selected."""
    if token_id is not None:
        at.session_state["visit"].token = token_id
        at.run()
    assert not at.exception
    (data,) = sent(at, "walk")
    return data


def until(at: AppTest, happened: Callable[[], bool]) -> None:
    """Draw the page again until something was answered."""
    wait_for(lambda: not at.run().exception and happened())


@pytest.mark.usefixtures("fake_model")
def test_why_a_quote_is_masked_where_an_integer_is_due() -> None:
    at = at_step(SPEC, 3)
    data = looked(at, token(b' "'))
    assert data["verdict"] == "masked"
    assert data["owners"] == ["/properties/age (type)"]
    assert [hop["byte"] for hop in data["hops"]] == ["20", "22"]
    assert [hop["dies"] for hop in data["hops"]] == [False, True]
    assert data["hops"][1]["expected"] == "'-' or [0-9]"
    assert {near["text"] for near in data["nearest"]} <= {"␣", *"-0123456789"}
    assert sent(at, "distributions")[0]["selected"] == token(b' "')
    (row,) = [row for row in sent(at, "distributions")[0]["rows"] if row["id"] == token(b' "')]
    assert not row["allowed"]
    assert row["renormalised"] == 0


@pytest.mark.usefixtures("fake_model")
def test_an_allowed_token_can_be_taken() -> None:
    data = looked(at_step(SPEC, 3), token(b"7"))
    assert data["verdict"] == "allowed"
    assert data["takes"] or data["taken"]
    assert not data["owners"]
    assert data["hops"][-1]["after"]


@pytest.mark.usefixtures("fake_model")
def test_the_end_and_a_step_that_follows_show_the_favourite_again() -> None:
    at = at_step(SPEC, 2)
    data = looked(at, VOCABULARY.size - 1)
    assert data["text"] == "⟨end⟩"
    assert "not complete yet" in data["sentence"]
    at.button(key="step").click().run()
    step = at.session_state["visit"].step
    assert looked(at)["id"] == (step.argmax_id if step.argmax_masked else step.token_id)


@pytest.mark.usefixtures("fake_model")
def test_any_token_is_looked_up() -> None:
    at = at_step(SPEC, 3)
    at.text_input(key="search").set_value('"').run()
    (data,) = sent(at, "lookup")
    shown = {row["text"]: row for row in data["rows"]}
    assert set(shown) == {'"', '{"', '":', '",', '␣"', '"}'}
    assert not any(row["allowed"] for row in data["rows"])
    assert "/properties/age (type) wants '␣', '-' or [0-9]" in shown['"']["why"]
    assert {row["text"]: row["allowed"] for row in data["often"]}["-"]
    assert data["often"][-1]["text"] == "⟨end⟩"
    at.text_input(key="search").set_value("nothing like it").run()
    assert sent(at, "lookup")[0]["rows"] == []


@pytest.mark.usefixtures("fake_model")
def test_who_took_the_masked_mass_adds_up() -> None:
    at = at_step(SPEC, 3)
    (data,) = sent(at, "shares")
    assert sum(row["share"] for row in data["rows"]) == pytest.approx(1)
    assert data["known"] == ""
    assert data["figures"][0]["label"] == "Allowed mass Z"


@pytest.mark.usefixtures("fake_model")
def test_earlier_steps_have_the_recorded_favourites_until_the_rest_is_asked_for() -> None:
    at = at_step(replace(SPEC, sampler=Sampler(0.7, top_k=5, seed=3)), 3)
    at.button(key="to_end").click().run()
    wait_for(lambda: not at.session_state["visit"].worker or not at.session_state["visit"].worker.busy)
    at.run()
    at.session_state["visit"].goto(4)
    at.run()
    labels = [column["label"] for column in sent(at, "distributions")[0]["columns"]]
    assert labels[3:] == ["After top-k 5"]
    at.button(key="whole_ask").click().run()
    until(at, lambda: len(sent(at, "distributions")[0]["columns"]) == 5)
    labels = [column["label"] for column in sent(at, "distributions")[0]["columns"]]
    assert labels[3:] == ["Temperature 0.7", "After top-k 5"]
    rows = sent(at, "distributions")[0]["rows"]
    rest = sent(at, "distributions")[0]["rest"]
    for name in ("raw", "renormalised", "tempered", "sampling"):
        assert sum(row[name] for row in rows) + rest[name] == pytest.approx(1, abs=1e-6)


@pytest.mark.usefixtures("fake_model")
def test_the_free_continuation_is_asked_for() -> None:
    at = at_step(SPEC, 3)
    assert not sent(at, "freely")
    at.button(key="freely_ask").click().run()
    until(at, lambda: bool(sent(at, "freely")))
    (data,) = sent(at, "freely")
    assert 1 <= len(data["chips"]) <= 10
    assert data["said"]


@pytest.mark.usefixtures("fake_model")
def test_a_policy_takes_away_what_the_mask_allows() -> None:
    at = at_step(RunSpec("Say something.", SOURCE, policy="aligned", max_tokens=20), 0)
    data = looked(at, token(b'{"'))
    assert data["verdict"] == "narrowed"
    assert "the policy aligned" in data["sentence"]
    assert "takes away" in notices(at)


@pytest.mark.usefixtures("fake_model")
def test_a_free_run_masks_nothing_but_special_tokens() -> None:
    at = at_step(RunSpec("Say something.", None, max_tokens=10), 1)
    data = looked(at, token(b'{"'))
    assert (data["verdict"], data["hops"]) == ("allowed", [])
    assert not sent(at, "shares")[0]["rows"]


@pytest.mark.usefixtures("fake_model")
def test_both_cuts_of_the_text_are_drawn() -> None:
    at = at_step(replace(SPEC, choices=((0, token(b"{")), (1, token(b'"')), (2, token(b"age"))), max_tokens=3), 2)
    (data,) = sent(at, "cuts")
    assert [span["differs"] for span in data["spans"]] == [True, False]
    assert data["differences"][0]["written"] == '{ "'
    assert data["differences"][0]["canonical"] == '{"'
    assert data["differences"][0]["canonical_log"] == "not read yet"
    at.button(key="canonical_ask").click().run()
    until(at, lambda: "ln p" in sent(at, "cuts")[0]["differences"][0]["canonical_log"])


@pytest.mark.usefixtures("no_model")
def test_a_recorded_run_is_looked_into_without_a_model() -> None:
    at = opened()
    visit = at.session_state["visit"]
    data = looked(at)
    assert data["id"] == visit.step.argmax_id
    assert data["verdict"] == "masked"
    assert data["hops"][-1]["dies"]
    assert data["owners"]
    assert not sent(at, "lookup")
    other = next(c for c in visit.step.candidates if c.allowed)
    assert looked(at, other.token_id)["verdict"] == "allowed"
    assert looked(at, 49_000)["id"] == visit.step.argmax_id  # nothing is known of it


@pytest.mark.usefixtures("fake_model")
def test_a_trace_of_another_vocabulary_is_looked_into_by_its_records() -> None:
    at = opened()
    assert not sent(at, "lookup")
    assert looked(at)["verdict"] == "masked"
    assert not looked(at)["takes"]


@pytest.mark.usefixtures("fake_model")
@pytest.mark.parametrize(
    "forged",
    [
        lambda trace: replace(trace, healed=Healed((), b'{"x', ())),
        lambda trace: replace(trace, steps=(replace(trace.steps[0], end=True), *trace.steps[1:])),
    ],
)
def test_a_file_does_not_change_what_others_see(forged: Callable[[Trace], Trace]) -> None:
    at = at_step(replace(SPEC, prompt=f"A secret. {id(forged)}"), 3)
    run = at.session_state["visit"].run
    honest = run.trace
    run.trace = forged(honest)
    assert looked(at, token(b' "')).get("hops") == []
    run.trace = honest
    assert looked(at, token(b' "'))["owners"] == ["/properties/age (type)"]


@pytest.mark.parametrize(
    "value",
    [None, 3, {}, {"step": 1}, {"step": "1", "token": 2}, {"step": True, "token": 1}, {"step": 1.0, "token": 2}],
)
def test_what_a_browser_sends_is_checked(value: Any) -> None:
    assert _picked(value) is None


def test_what_a_browser_sends_is_taken() -> None:
    assert _picked({"step": 3, "token": 7}) == (3, 7)


def test_matches_begin_with_the_text_first_and_are_short() -> None:
    assert [VOCABULARY.tokens[i] for i in matches(VOCABULARY, '"')][:3] == [b'"', b'":', b'",']
    assert [VOCABULARY.tokens[i] for i in matches(VOCABULARY, "␣")] == [b" ", b' "']
    assert matches(VOCABULARY, "<end>") == [VOCABULARY.size - 1]
    assert matches(VOCABULARY, "\ud800") == matches(VOCABULARY, "?")
    assert token(MERGED[0]) in matches(VOCABULARY, "{")


def trace() -> Trace:
    return shipped_trace("Person record")


def test_a_step_says_what_shaped_it() -> None:
    plain = trace().steps[3]
    assert notes(trace(), plain) == ""
    healed = replace(plain, kind="healed", owed=b" x")
    assert "␣x" in notes(trace(), healed)
    closing = replace(trace(), spec=replace(trace().spec, close_in_time=True, policy="canonical"))
    shaped = replace(plain, kind="jumped", narrowed=1_234, fallback=True, to_end=7)
    said = notes(closing, shaped)
    for part in ("Jumped", "The policy canonical or the token limit", "1,234", "put aside", "at most 7 tokens"):
        assert part in said
    assert "at most" not in notes(closing, replace(shaped, to_end_exact=True))


@pytest.mark.parametrize(
    ("sampler", "known", "labels"),
    [
        (Sampler(), True, []),
        (Sampler(1.0), True, []),
        (Sampler(0.5), False, ["Temperature 0.5"]),
        (Sampler(1.0, top_k=4, min_p=0.1), True, ["After top-k 4, min-p 0.1"]),
        (Sampler(0.5, top_p=0.9), False, ["After top-p 0.9"]),
        (Sampler(0.5, top_p=0.9), True, ["Temperature 0.5", "After top-p 0.9"]),
    ],
)
def test_columns_are_those_the_sampler_makes_a_difference_for(sampler: Sampler, known: bool, labels: list[str]) -> None:
    assert [label for _, label in columns_of(sampler, known)][3:] == labels


def test_lists_of_what_was_expected_read_as_a_sentence() -> None:
    assert either(("'-'",)) == "'-'"
    assert either(("'-'", "[0-9]")) == "'-' or [0-9]"
    assert either(tuple("abcdefghij")) == "a, b, c, d, e, f, g, h …"


def test_what_was_found_with_the_whole_distribution_stays_when_it_is_forgotten() -> None:
    kept: Once[tuple[bool, str], str] = Once(4)
    at_hand, forgotten = (cast(Seen, SimpleNamespace(whole=whole)) for whole in ("all", None))
    assert _shared(kept, forgotten, "a step", lambda: "of the favourites") == "of the favourites"
    assert _shared(kept, at_hand, "a step", lambda: "of all") == "of all"
    assert _shared(kept, forgotten, "a step", lambda: "made again") == "of all"
    assert _shared(kept, at_hand, "another", lambda: "of all") == "of all"
    assert _shared(kept, forgotten, "a third", lambda: "of the favourites") == "of the favourites"
