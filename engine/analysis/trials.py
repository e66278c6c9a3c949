"""The same question asked many times, and what came of each time: counted, not told.

A trial is a pure function of its arguments, its seed among them, so a series can be cancelled, gone on with and shared.
An answer is judged by what it is asked for: that it is JSON, that it satisfies the schema, that it says what is known
to be true. The three are different things, and only the first two can be enforced.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from engine.analysis.intervals import Proportion, wilson
from engine.analysis.outputs import shape
from engine.constraint import Constraint
from engine.decoding.records import FinishReason
from engine.grammar.json_schema.compile import compile_json_schema

Cancelled = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one way of asking gave: the text that a program receives, and what it took.

    `tokens`: written by the model, in all its calls, end tokens included; `passes`: forward passes; `draft`: what was
    written freely before, where there were two calls; `finish`: why the last call ended.
    """

    text: str
    tokens: int
    passes: int
    seconds: float
    calls: int = 1
    draft: str = ""
    finish: FinishReason | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """`parses`: the whole text is JSON; `satisfies`: and has the form wanted; `agrees`: and says what is known to be
    so, None where nothing is known."""

    parses: bool
    satisfies: bool
    agrees: bool | None


@dataclass(frozen=True, slots=True)
class Trial:
    """One question to be asked once. `group`: the way of asking; `most`: forward passes at the most."""

    group: str
    question: str
    seed: int
    most: int
    ask: Callable[[Cancelled], Answer]
    judge: Callable[[str], Verdict]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a trial."""

    group: str
    question: str
    seed: int
    answer: Answer
    verdict: Verdict


class Wanted:
    """What an answer should be: a JSON text that satisfies `schema`, as the specification reads it (keys in any order,
    any white space and spelling), and holds the members of `known`, where those are known.

    Raises ConstraintError as compile_json_schema does.
    """

    def __init__(self, schema: str, known: Mapping[str, Any] | None = None) -> None:
        self.constraint: Constraint = compile_json_schema(schema, key_order="any", whitespace="any", spelling="any")
        self.known = known

    def judge(self, text: str) -> Verdict:
        """What to say of an answer; white space around it is left aside."""
        found = shape(text)
        satisfies = found.parses and self.constraint.check(text.strip()).kind == "accepted"
        return Verdict(found.parses, satisfies, self._agrees(found.value) if found.parses else self._nothing())

    def _agrees(self, value: Any) -> bool | None:
        if self.known is None:
            return None
        if not isinstance(value, dict):
            return False
        return all(name in value and _same(value[name], known) for name, known in self.known.items())

    def _nothing(self) -> bool | None:
        return None if self.known is None else False


def performed(trials: Iterable[Trial], cancelled: Cancelled = lambda: False) -> Iterator[Outcome]:
    """The outcomes, one by one. A trial during which it is cancelled counts as not made."""
    for trial in trials:
        if cancelled():
            return
        answer = trial.ask(cancelled)
        if cancelled():
            return
        yield Outcome(trial.group, trial.question, trial.seed, answer, trial.judge(answer.text))


def counted(outcomes: Iterable[Outcome], holds: Callable[[Outcome], bool]) -> Proportion:
    """How many of the outcomes it holds for, with Wilson's interval at 95 %."""
    found = [holds(outcome) for outcome in outcomes]
    return wilson(sum(found), len(found))


def dumped(outcomes: Iterable[Outcome]) -> list[dict[str, Any]]:
    """Outcomes as JSON has them."""
    return [asdict(outcome) for outcome in outcomes]


def loaded(rows: Iterable[Mapping[str, Any]]) -> tuple[Outcome, ...]:
    """The outcomes that `dumped` gave."""
    return tuple(
        Outcome(**{**row, "answer": Answer(**row["answer"]), "verdict": Verdict(**row["verdict"])}) for row in rows
    )


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON values: true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
