"""The `optional/format` part of JSON Schema's test suite, for every format that is enforced: no verdict may differ."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pytest

from engine.automaton.arena import Arena
from engine.automaton.automaton import Automaton
from engine.budget import Budget
from engine.grammar.json_schema.formats import FORMATS, NOTES, format_term
from engine.grammar.json_schema.strings import JsonText

CORPORA = Path(os.environ.get("MASKSCOPE_CORPORA", Path(__file__).parents[3] / "shared" / "corpora"))
DRAFTS = [CORPORA / "jsts" / "tests" / draft / "optional" / "format" for draft in ("draft2020-12", "draft7")]

if not DRAFTS[0].exists():
    if os.environ.get("CI"):
        raise FileNotFoundError(f"{DRAFTS[0]}: the corpora must be there in CI")
    pytest.skip(f"no corpora at {CORPORA} (set MASKSCOPE_CORPORA)", allow_module_level=True)


def string_tests(name: str) -> list[dict[str, Any]]:
    """What both drafts say about strings of a format."""
    files = [draft / f"{name}.json" for draft in DRAFTS if (draft / f"{name}.json").exists()]
    groups = [group for file in files for group in json.loads(file.read_text())]
    return [test for group in groups for test in group["tests"] if isinstance(test["data"], str)]


def is_left_out(name: str, test: dict[str, Any]) -> bool:
    """Punycode labels are not offered as hostnames; the format's note says so."""
    return name == "hostname" and "xn--" in test["data"].lower()


@cache
def automaton_of(name: str, spelling: Literal["plain", "any"]) -> Automaton:
    arena = Arena(Budget())
    text = JsonText(arena, spelling)
    return Automaton(arena, text.quoted(format_term(name, arena, text.one_of)))


def accepts(name: str, spelling: Literal["plain", "any"], instance: str) -> bool:
    automaton = automaton_of(name, spelling)
    state = automaton.advance(automaton.start, json.dumps(instance, ensure_ascii=False).encode())
    return state is not None and automaton.is_accepting(state)


@pytest.mark.parametrize("spelling", ["plain", "any"])
@pytest.mark.parametrize("name", FORMATS)
def test_verdicts_are_those_of_the_suite(name: str, spelling: Literal["plain", "any"]) -> None:
    tests = [test for test in string_tests(name) if not is_left_out(name, test)]
    assert {test["valid"] for test in tests} == {True, False}
    assert [test for test in tests if accepts(name, spelling, test["data"]) != test["valid"]] == []


def test_what_is_left_out_is_never_accepted() -> None:
    left_out = [test for test in string_tests("hostname") if is_left_out("hostname", test)]
    assert "xn--" in NOTES["hostname"]
    assert not any(accepts("hostname", "plain", test["data"]) for test in left_out)
    assert {test["description"] for test in left_out if test["valid"]} == {
        "a valid host name (example.test in Hangul)",
        "Exceptions that are PVALID, left-to-right chars",
        "Exceptions that are PVALID, right-to-left chars",
        "MIDDLE DOT with surrounding 'l's",
        "Greek KERAIA followed by Greek",
        "Hebrew GERESH preceded by Hebrew",
        "Hebrew GERSHAYIM preceded by Hebrew",
        "KATAKANA MIDDLE DOT with Hiragana",
        "KATAKANA MIDDLE DOT with Katakana",
        "KATAKANA MIDDLE DOT with Han",
        "Arabic-Indic digits not mixed with Extended Arabic-Indic digits",
        "Extended Arabic-Indic digits not mixed with Arabic-Indic digits",
        "ZERO WIDTH JOINER preceded by Virama",
        "ZERO WIDTH NON-JOINER preceded by Virama",
        "ZERO WIDTH NON-JOINER not preceded by Virama but matches regexp",
    }
