"""Regexes of outlines-core's own tests and benchmarks: what they say passes and fails, and what `re` says."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from engine.grammar.regex.compile import compile_regex

CORPORA = Path(os.environ.get("MASKSCOPE_CORPORA", Path(__file__).parents[3] / "shared" / "corpora"))


def load(name: str) -> list[dict[str, Any]]:
    path = CORPORA / name
    if not path.exists():
        if os.environ.get("CI"):
            raise FileNotFoundError(f"{path}: the corpora must be there in CI")
        pytest.skip(f"no corpora at {CORPORA} (set MASKSCOPE_CORPORA)", allow_module_level=True)
    return json.loads(path.read_text())  # type: ignore[no-any-return]


CASES = [case for case in load("outlines_core_cases.json") if case.get("regex") is not None]
BENCHMARKS = load("outlines_core_bench_regexes.json")


def id_of(case: dict[str, Any]) -> str:
    return str(case["name"])


@pytest.mark.parametrize("case", CASES, ids=id_of)
def test_verdicts(case: dict[str, Any]) -> None:
    """`re` is the judge of both kinds: a failing text may fail for a reason that is not in the regex."""
    constraint = compile_regex(case["regex"])
    compiled = re.compile(case["regex"])
    for text in [*case["pass"], *case["fail"]]:
        assert (constraint.check(text).kind == "accepted") == bool(compiled.fullmatch(text)), text
    assert not case["python_re_agrees"] or all(constraint.check(text).kind == "accepted" for text in case["pass"])


@pytest.mark.parametrize("case", BENCHMARKS, ids=id_of)
def test_benchmark_regexes_compile_and_are_live(case: dict[str, Any]) -> None:
    constraint = compile_regex(case["regex"])
    assert re.fullmatch(case["regex"], constraint.shortest(constraint.start).decode())


def test_most_cases_are_there() -> None:
    assert len(CASES) > 50
    assert len(BENCHMARKS) > 5
