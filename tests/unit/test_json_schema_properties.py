"""Random schemas: the automaton's language is that of the oracle, in both directions.

Always the same few examples; MASKSCOPE_EXAMPLES=5000 tries as many new ones. `pytest -s` prints how often each keyword
and each verdict occurred.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from decimal import Decimal
from random import Random
from typing import Any

import jsonschema
import jsonschema_rs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import Budget, ConstraintError, compile_json_schema
from engine.automaton.terms import members_of
from engine.constraint import Constraint
from engine.errors import BudgetError
from engine.grammar.json_schema.keywords import CHECKS
from tests.unit.random_schemas import instances, keywords_of, mutated, schemas, written

EXAMPLES = int(os.environ.get("MASKSCOPE_EXAMPLES", "70"))
BUDGET = Budget(seconds=5, terms=300_000, states=20_000)
SEEN: Counter[str] = Counter()

WALKS = [
    {"key_order": "schema", "whitespace": "compact", "spelling": "plain"},
    {"key_order": "any", "whitespace": "spaced", "spelling": "plain"},
    {"key_order": "any", "whitespace": "any", "spelling": "any"},
]


class Oracle:
    """jsonschema-rs, and jsonschema where the first one says other than expected."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.fast = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)

    def contradicts(self, value: Any, verdict: bool) -> bool:
        """Whether both say otherwise."""
        if self.fast.is_valid(value) == verdict:
            return False
        slow = jsonschema.Draft202012Validator(self.schema, format_checker=jsonschema.FormatChecker())
        try:
            agrees = slow.is_valid(value) == verdict
        except RecursionError:
            agrees = True
        SEEN["the oracles differ"] += agrees
        return not agrees


def as_floats(text: str) -> list[Any]:
    """The value of a JSON text, nothing if it has a number that floats change or that they get wrong multiples of."""

    def float_of(digits: str) -> float:
        exact = Decimal(digits)
        number = float(digits)
        if Decimal(repr(number)) != exact or (exact and not -9 < exact.adjusted() < 15):
            raise ArithmeticError(digits)
        return number

    try:
        return [json.loads(text, parse_float=float_of)]
    except ArithmeticError:
        SEEN["beyond floats"] += 1
        return []


def walk(constraint: Constraint, random: Random) -> str:
    """A random accepted text: live bytes, then a shortest end."""
    automaton = constraint.automaton
    state, text = constraint.start, b""
    for _ in range(random.choice([2, 8, 20, 40])):
        for byte in _shuffled_moves(constraint, state, random):
            following = automaton.step(state, byte)
            if following >= 0:
                state, text = following, text + bytes([byte])
                break
    text += constraint.shortest(state)
    end = constraint.advance(constraint.start, text)
    assert end is not None
    assert constraint.is_accepting(end)
    return text.decode()


def _shuffled_moves(constraint: Constraint, state: int, random: Random) -> list[int]:
    """A byte of every class that can be read next, dead ones included (numbering all would make too many states)."""
    automaton = constraint.automaton
    classes = [members_of(members) for members, _ in automaton.arena.moves(automaton.term(state))]
    random.shuffle(classes)
    return [random.choice(members) for members in classes]


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="MASKSCOPE_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
@given(schemas(), st.integers(0, 2**32))
def test_language_is_that_of_the_oracle(schema: dict[str, Any], seed: int) -> None:
    random = Random(seed)
    oracle = Oracle(schema)
    SEEN.update(keywords_of(schema))
    try:
        constraint = compile_json_schema(schema, key_order="any", whitespace="any", spelling="any", budget=BUDGET)
    except BudgetError:
        SEEN["over budget"] += 1
        return
    except ConstraintError as error:
        SEEN["unsatisfiable" if error.unsatisfiable else "refused"] += 1
        if error.unsatisfiable:
            wrong = [value for value in instances(random, 60) if oracle.contradicts(value, False)]
            assert wrong == [], f"{schema} is not unsatisfiable"
        return
    SEEN["compiled"] += 1
    try:
        accepted = [value for text in texts(schema, random) for value in as_floats(text)]
        for value in accepted:
            assert not oracle.contradicts(value, True), f"{schema} generates {value!r}"
        for value in [*instances(random, 20), *(mutated(random, v) for v in accepted for _ in range(3))]:
            verdict = constraint.check(written(value)).kind
            SEEN[verdict] += 1
            assert not oracle.contradicts(value, verdict == "accepted"), f"{schema}: {written(value)} is {verdict}"
    except ConstraintError:  # of a part that no text had come to before
        SEEN["refused late"] += 1


def texts(schema: dict[str, Any], random: Random) -> list[str]:
    """Random accepted texts, in several of the languages that the options make."""
    options = random.choice(WALKS)
    constraint = compile_json_schema(schema, **options, budget=BUDGET)  # type: ignore[arg-type]
    return [walk(constraint, random) for _ in range(5)]


def test_every_keyword_and_every_verdict_occurred() -> None:
    print(dict(SEEN.most_common()))
    keywords = set(CHECKS) - {"$dynamicRef", "additionalItems", "dependencies"}
    assert [name for name in [*keywords, "accepted", "rejected", "unsatisfiable", "compiled"] if not SEEN[name]] == []
    assert SEEN["refused"] + SEEN["refused late"] + SEEN["over budget"] < 0.1 * SEEN["compiled"]
