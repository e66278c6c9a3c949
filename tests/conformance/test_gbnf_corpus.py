"""llama.cpp's own grammars and cases: what its parser reads, and what its tests say passes and fails."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from engine import ConstraintError, compile_gbnf

CORPORA = Path(os.environ.get("MASKSCOPE_CORPORA", Path(__file__).parents[3] / "shared" / "corpora"))

if not CORPORA.exists():
    if os.environ.get("CI"):
        raise FileNotFoundError(f"{CORPORA}: the corpora must be there in CI")
    pytest.skip(f"no corpora at {CORPORA} (set MASKSCOPE_CORPORA)", allow_module_level=True)


def load(name: str) -> list[dict[str, Any]]:
    return json.loads((CORPORA / name).read_text())  # type: ignore[no-any-return]


GRAMMARS = sorted((CORPORA / "gbnf").glob("*.gbnf"))
CASES = load("gbnf_cases.json")
GOLDEN = [case for case in load("gbnf_schema_golden.json") if case["status"] == "SUCCESS"]

GIVEN = [case for case in CASES if "grammar" in case]
READABLE = [case for case in GIVEN if not case.get("must_not_parse")]
BROKEN = [case for case in GIVEN if case.get("must_not_parse")]

# llama.cpp refuses these to keep its own work small; their languages are well defined.
REFUSED_FOR_SIZE = ("left recursion", "llama.cpp repetition-limit policy")

# Refers to tokens by their number in a vocabulary, which a constraint does not have.
NEEDS_VOCABULARY = "parser-ok-14"

# For each grammar a text of its language, and one that leaves it.
SAMPLES = {
    "arithmetic.gbnf": ("(a1+3)*(b/2)= 5\n1=2\n", "1+=2\n"),
    "c.gbnf": ("int f(int x){int a = ( 1+2 )*3+g(x, 4);if(a<b){return 1;}//done\n}", "int f(int x){return;}"),
    "chess.gbnf": ("1. e4 e5\n2. Nf3 Nc6\n3. O-O exd4+\n", "1. e4 e9\n"),
    "english.gbnf": ("The quick brown fox, it's said.", "  "),
    "japanese.gbnf": ("これは 日本語です。", "これはjp"),
    "json.gbnf": ('{"a": [1, -0.5e+3, "\\u00e9\\n"], "b": {"c": null}}', '{"a": 01}'),
    "json_arr.gbnf": ('[\n"x",\n{"a": true}]', "[1]"),
    "list.gbnf": ("- one\n- two, three\n", "- one\r\n"),
}


def id_of(case: dict[str, Any]) -> str:
    return str(case["name"])


def name_of(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("path", GRAMMARS, ids=name_of)
def test_grammars_compile_and_judge_their_samples(path: Path) -> None:
    constraint = compile_gbnf(path.read_text("utf-8"))
    accepted, rejected = SAMPLES[path.name]
    assert constraint.check(accepted).kind == "accepted"
    assert constraint.check(rejected).kind == "rejected"
    assert constraint.check(constraint.shortest(constraint.start)).kind == "accepted"


@pytest.mark.parametrize("case", READABLE, ids=id_of)
def test_verdicts(case: dict[str, Any]) -> None:
    if case["name"] == NEEDS_VOCABULARY:
        with pytest.raises(ConstraintError, match="vocabulary"):
            compile_gbnf(case["grammar"])
        return
    constraint = compile_gbnf(case["grammar"])
    for text in case["pass"]:
        assert constraint.check(text).kind == "accepted", text
    for text in case["fail"]:
        assert constraint.check(text).kind != "accepted", text


@pytest.mark.parametrize("case", BROKEN, ids=id_of)
def test_broken_grammars_are_refused_with_a_position(case: dict[str, Any]) -> None:
    if case["why"].startswith(REFUSED_FOR_SIZE):
        compile_gbnf(case["grammar"])
        return
    with pytest.raises(ConstraintError) as raised:
        compile_gbnf(case["grammar"])
    assert raised.value.pointer.startswith("line ")


@pytest.mark.parametrize("case", GOLDEN, ids=id_of)
def test_grammars_that_llama_cpp_makes_of_schemas(case: dict[str, Any]) -> None:
    """Each compiles; where the cases hold the same schema, its texts are judged as llama.cpp's grammar judges them."""
    constraint = compile_gbnf(case["gbnf"])
    for same in (other for other in CASES if other.get("schema") == case["schema"]):
        for text in same["pass"]:
            assert constraint.check(text).kind == "accepted", text
        for text in same["fail"]:
            assert constraint.check(text).kind != "accepted", text


def test_all_cases_are_there() -> None:
    assert {path.name for path in GRAMMARS} == set(SAMPLES)
    assert (len(READABLE), len(BROKEN), len(GOLDEN)) == (27, 9, 73)
