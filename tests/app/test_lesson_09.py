"""Jump-forward: opened, its runs looked through, its exercise failed and solved; with a model and without."""

from __future__ import annotations

import pytest

from pages._lessons.experiments import jumping
from pages._lessons.recorded import recorded_run
from tests.app.conftest import PageModel, lesson, notices, sent, wait_for
from visualizations.underlined import WIDE, underlined

SLUG = "jump-forward"


def test_what_is_recorded_is_what_the_lesson_says() -> None:
    facts = jumping.facts()
    assert facts["address_plain"] == facts["address_safe"] == "https://www.python.org"
    assert facts["address_naive"] == "http://www.python.org"
    assert facts["address_forced"] == facts["address_last"] == "http"
    assert int(facts["naive_passes"]) < int(facts["safe_passes"]) < int(facts["plain_passes"]) / 2
    assert float(facts["safe_price"]) < float(facts["plain_price"])
    assert facts["safe_order"] != facts["plain_order"]
    assert 0 < int(facts["examples_differ"]) < int(facts["examples"])


@pytest.mark.parametrize("name", jumping.CASES)
def test_jumped_tokens_are_forced(name: str) -> None:
    for how in ("safe", "naive"):
        trace = recorded_run("jumping", f"{name}-{how}")
        forced = jumping._forced(trace)
        jumped = [step for step in trace.steps if step.kind == "jumped"]
        assert jumped
        assert all(all(forced[step.offset : step.offset + len(step.token)]) for step in jumped)


def test_forced_bytes_are_underlined() -> None:
    shown = underlined("aé b".encode(), (True, True, True, False, False)).splitlines()
    assert shown == ["aé␣b", "▔▔"]
    wide = underlined(b"x" * (WIDE + 1), (True,) * (WIDE + 1)).splitlines()
    assert [len(line) for line in wide] == [WIDE, WIDE, 1, 1]


def test_opened(no_model: None) -> None:
    at = lesson(SLUG)
    assert not at.exception
    strip = sent(at, "strip")[0]
    assert any(chip["kind"] == "jumped" for chip in strip["tokens"])
    seen = " ".join(block.value for block in at.markdown)
    assert "On this machine" not in seen  # nothing was measured yet
    assert f"part at byte {jumping.facts()['parted_at']}" in seen


@pytest.mark.parametrize("name", jumping.CASES)
def test_every_text_in_every_way(no_model: None, name: str) -> None:
    at = lesson(SLUG)
    at.segmented_control(key=f"{SLUG}_runs_name").set_value(name).run()
    for how in jumping.HOW:
        at.segmented_control(key=f"{SLUG}_runs_how").set_value(how).run()
        assert not at.exception


def test_a_schema_of_ones_own_needs_no_model(no_model: None) -> None:
    at = lesson(SLUG)
    at.text_area(key=f"{SLUG}_own_schema").set_value('{"const": "abc"}').run()
    assert any(code.value == '"abc"\n▔▔▔▔▔' for code in at.code)
    at.text_area(key=f"{SLUG}_own_schema").set_value('{"const": ').run()
    assert not at.exception
    assert notices(at)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("unit: me", "and so is what comes next"),
        ("unit: metre", "Too many"),
        ("unit metr", "At byte 5"),
        ("unit: metr", "✓ Right."),
    ],
)
def test_the_exercise(no_model: None, given: str, said: str) -> None:
    at = lesson(SLUG)
    at.text_input(key=f"{SLUG}_exercise_given").set_value(given).run()
    at.button(key=f"{SLUG}_exercise_check").click().run()
    assert said in notices(at)


def test_the_times_of_this_machine(fake_model: PageModel) -> None:
    at = lesson(SLUG)
    at.button(key=f"{SLUG}_times_ask").click().run()
    wait_for(lambda: (at.run(), f"{SLUG}_times_cancel" not in [b.key for b in at.button])[1])
    assert not at.exception
    assert any("On this machine" in block.value for block in at.markdown)


def test_runs_of_ones_own(fake_model: PageModel) -> None:
    at = lesson(SLUG)
    at.text_area(key=f"{SLUG}_own_schema").set_value('{"enum": ["name", "nap"]}').run()
    at.button(key=f"{SLUG}_own_run_ask").click().run()
    wait_for(lambda: (at.run(), f"{SLUG}_own_run_cancel" not in [b.key for b in at.button])[1])
    assert not at.exception
    assert any("Live run" in caption.value for caption in at.caption)
