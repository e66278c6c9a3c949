"""Schemas and texts made to hurt: each is answered, or refused within its budget with the place to blame. None hangs.

`ANSWERED` must compile and judge; `REFUSED` must raise `ConstraintError` with that pointer, at the latest where the
text comes to the place; `EITHER` may do either, as machines differ, but in time and never otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from engine import Budget, ConstraintError, compile_json_schema, compile_regex
from engine.constraint import Constraint
from engine.errors import BudgetError

ANY: dict[str, Any] = {"key_order": "any", "whitespace": "any", "spelling": "any"}
SECONDS = 1.0
BUDGET = Budget(seconds=SECONDS)
PATIENCE = 20.0
"""Seconds for everything done with one monster, on a machine that is busy."""

Schema = Any
Verdicts = dict[str, bool]


@contextmanager
def in_time() -> Iterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started < PATIENCE


def nested(depth: int, around: Callable[[Schema], Schema], inside: Schema) -> Schema:
    for _ in range(depth):
        inside = around(inside)
    return inside


def object_of(name: str, value: Schema) -> Schema:
    return {"type": "object", "properties": {name: value}, "required": [name]}


def chain(length: int, link: Callable[[Schema], Schema], end: Schema) -> Schema:
    """Definitions of which each refers to the next one."""
    defs = {f"d{i}": link({"$ref": f"#/$defs/d{i + 1}"}) for i in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{length}": end}}


def branches(count: int, branch: Callable[[int], Schema]) -> list[Schema]:
    return [branch(index) for index in range(count)]


def discriminated(index: int) -> Schema:
    return {
        "type": "object",
        "properties": {"t": {"const": f"kind {index}"}, "v": {"type": "integer"}},
        "required": ["t", "v"],
    }


def wide(count: int, required: bool) -> Schema:
    names = [f"property{index}" for index in range(count)]
    properties = {name: {"type": "string", "description": "x" * 60} for name in names}
    return {"type": "object", "properties": properties, **({"required": names} if required else {})}


STRINGS = [f"value {index}" for index in range(5000)]
LONG = 10_000_000

ANSWERED: dict[str, tuple[Schema, Verdicts]] = {
    "exponential pattern": (
        {"type": "string", "pattern": "^[ab]*a[ab]{30}$"},
        {'"' + "a" * 40 + '"': True, '"b"': False},
    ),
    "nested counters": (
        {"type": "string", "pattern": "^((a{1,50}){1,50}){1,50}$"},
        {'"' + "a" * 400 + '"': True, '"' + "a" * 400 + 'b"': False},
    ),
    "lookaheads": (
        {"type": "string", "pattern": "^" + "".join(f"(?=.*{c})" for c in "abcdefgh") + ".{8,}$"},
        {'"abcdefgh"': True, '"abcdefgg"': False},
    ),
    "enum of 5,000": (
        {"properties": {"a": {"enum": STRINGS}}},
        {'{"a":"value 4999"}': True, '{"a":"value 5000"}': False},
    ),
    "not in an enum of 5,000": ({"not": {"enum": list(range(5000))}}, {"4999": False, "5000": True, "-1.5": True}),
    "maxLength": ({"type": "string", "maxLength": LONG}, {'"abc"': True}),
    "minLength": ({"type": "string", "minLength": LONG}, {'"abc"': False}),
    "minLength beyond memory": ({"type": "string", "minLength": 10**18}, {'"abc"': False}),
    "minItems beyond memory": ({"type": "array", "minItems": 10**18}, {"[]": False}),
    "maxLength and pattern": (
        {"type": "string", "maxLength": LONG, "pattern": "^[a-z]+$"},
        {'"abc"': True, '"A"': False},
    ),
    "maxLength and search": ({"type": "string", "maxLength": LONG, "pattern": "ab"}, {'"xaby"': True, '"xay"': False}),
    "100 levels of objects": (
        nested(100, lambda inner: object_of("a", inner), {"type": "integer"}),
        {'{"a":' * 100 + "1" + "}" * 100: True, '{"a":' * 99 + "1" + "}" * 99: False},
    ),
    "200 levels of arrays": (
        nested(200, lambda inner: {"type": "array", "items": inner, "minItems": 1}, {"type": "integer"}),
        {"[" * 200 + "1" + "]" * 200: True, "[" * 199 + "1" + "]" * 199: False},
    ),
    "80 nots": (nested(80, lambda inner: {"not": inner}, {"type": "integer"}), {"1": True, '"a"': False}),
    "80 nots of members": (
        nested(80, lambda inner: {"not": {"properties": {"a": inner}}}, {"type": "integer"}),
        {'"a"': False},
    ),
    "80 ifs": (
        nested(
            80,
            lambda inner: {"if": inner, "then": {"type": "integer"}, "else": {"type": "string"}},
            {"type": "integer"},
        ),
        {"1": True, "null": False},
    ),
    "anyOf of 1,000": (
        {"anyOf": branches(1000, discriminated)},
        {'{"t":"kind 999","v":1}': True, '{"t":"kind","v":1}': False},
    ),
    "oneOf of 1,000 constants": ({"oneOf": branches(1000, lambda i: {"const": i})}, {"999": True, "1000": False}),
    "oneOf of 1,000 kinds": (
        {"oneOf": branches(1000, discriminated)},
        {'{"t":"kind 9","v":1}': True, '{"t":"kind 9"}': False},
    ),
    "a megabyte": (wide(10_000, required=False), {"[]": False}),
    "references in a row": (chain(5000, lambda inner: object_of("a", inner), {"type": "integer"}), {'{"a":1}': False}),
    "200 references at once": (
        {
            "allOf": branches(200, lambda i: {"$ref": f"#/$defs/d{i}"}),
            "$defs": {f"d{i}": {"properties": {f"p{i}": {"type": "integer"}}} for i in range(200)},
        },
        {'{"p7":1}': True, '{"p7":"a"}': False},
    ),
    "2^20 ways down": (
        chain(20, lambda inner: {"allOf": [inner, inner]}, {"type": "integer"}),
        {"1": True, '"a"': False},
    ),
    "2^20 values": (
        chain(20, lambda inner: {"type": "array", "prefixItems": [inner, inner], "minItems": 2}, {"type": "integer"}),
        {"[1,2]": False},
    ),
    "unique values of 5,000": (
        {"type": "array", "items": {"enum": STRINGS}, "uniqueItems": True},
        {'["value 1","value 2"]': True, '["value 1","value 1"]': False},
    ),
    "unique items without end": (
        {"type": "array", "maxItems": 10**18, "uniqueItems": True},
        {"[1,2]": True, "[1,1]": False},
    ),
    "100 unique items": ({"type": "array", "uniqueItems": True, "minItems": 100}, {"[1]": False}),
    "minItems": ({"type": "array", "minItems": 1_000_000}, {"[1]": False}),
    "maxProperties": ({"type": "object", "maxProperties": 1_000_000}, {'{"a":1}': True}),
    "minContains": ({"type": "array", "contains": {"type": "integer"}, "minContains": 3000}, {"[1]": False}),
    "10 contains": (
        {"allOf": branches(10, lambda i: {"contains": {"const": i}})},
        {"[0,1,2,3,4,5,6,7,8,9]": True, "[1]": False},
    ),
    "conditions on one kind each": (
        {"allOf": branches(20, lambda i: {"if": object_of("t", {"const": i}), "then": {"required": [f"a{i}"]}})},
        {'{"t":1}': False, '{"t":1,"a1":0}': True, '{"t":99}': True},
    ),
    "tiny multiples": ('{"multipleOf": 1e-300}', {"0.1": True, "1e-300": True, "1e-301": False}),
    "the greatest float": ({"maximum": 1e308}, {"1e307": True, "1e309": False}),
    "beyond floats": ('{"maximum": 1e400}', {"1e307": True, "9e399": True, "1e401": False}),
    "multiples of a large prime": ({"multipleOf": 1_000_000_007}, {"1000000007": True, "1000000008": False}),
}

REFUSED: dict[str, tuple[Schema, str, str]] = {
    "300 levels": (
        nested(300, lambda inner: object_of("a", inner), {"type": "integer"}),
        "/properties/a" * 127 + "/properties",
        "",
    ),
    "no base case": (
        {
            "$ref": "#/$defs/a",
            "$defs": {"a": object_of("b", {"$ref": "#/$defs/b"}), "b": object_of("a", {"$ref": "#/$defs/a"})},
        },
        "/$defs/a/properties/b",
        "",
    ),
    "references to each other": (chain(1, lambda inner: inner, {"$ref": "#/$defs/d0"}), "/$ref", ""),
    "2^20 alternatives": (
        chain(20, lambda inner: {"anyOf": [inner, inner, {"minLength": 1}]}, {"type": "integer"}),
        "/$defs/d",
        "",
    ),
    "anyOf in allOf": (
        {
            "properties": {
                "a": {"allOf": branches(20, lambda i: {"anyOf": [{"required": [f"{i}"]}, {"required": [f"_{i}"]}]})}
            }
        },
        "/properties/a",
        '{"a":{}}',
    ),
    "12 patterns": (
        {"properties": {"a": {"patternProperties": {c: {"minimum": 1} for c in "abcdefghijkl"}}}},
        "/properties/a",
        '{"a":{"a":1}}',
    ),
    "a million unique items": ({"items": {"uniqueItems": True, "minItems": 1_000_000}}, "/items/uniqueItems", "[[1]]"),
    "100,000 to contain": ({"items": {"contains": {"const": 1}, "minContains": 100_000}}, "/items", "[[1]]"),
    "a million members": ({"items": {"minProperties": 1_000_000}}, "/items", '[{"a":1}]'),
    "a long constant": ('{"items": {"const": 1e999999999}}', "/items", "[1]"),
    "a long multiple": ('{"items": {"multipleOf": 1e-999999999}}', "/items", "[1]"),
    "a long constant and multiples": ('{"items": {"enum": [1e99999999], "multipleOf": 3}}', "/items", "[1]"),
    "a long length": ('{"items": {"minLength": 1e999999999}}', "/items/minLength", ""),
}

EITHER: dict[str, tuple[Schema, list[str]]] = {
    "minLength and pattern": ({"minLength": LONG, "pattern": "^[a-z]+$"}, ['"abc"']),
    "minLength and no pattern": ({"minLength": LONG, "not": {"pattern": "a"}}, ['"abc"']),
    "counters and a length": ({"pattern": "^[ab]*a[ab]{30}$", "maxLength": 100}, ['"' + "ab" * 40 + '"']),
    "200 nots": (nested(200, lambda inner: {"not": inner}, {"type": "integer"}), ["1"]),
    "oneOf of 1,000 that overlap": ({"oneOf": branches(1000, lambda i: {"type": "integer", "minimum": i})}, ["0", "1"]),
    "not oneOf": ({"not": {"oneOf": branches(1000, discriminated)}}, ['{"t":1}']),
    "references": (chain(5000, lambda inner: inner, {"type": "integer"}), ["1"]),
    "10 patterns": ({"patternProperties": {c: {"minimum": i} for i, c in enumerate("abcdefghij")}}, ['{"abc":9}']),
    "12 dependencies": ({"dependentRequired": {f"a{i}": [f"b{i}"] for i in range(12)}}, ['{"a1":1}']),
    "16 contains": ({"allOf": branches(16, lambda i: {"contains": object_of(f"a{i}", {"const": i})})}, ["[1]"]),
    "50 of 100 members": (
        {"properties": {f"p{i}": True for i in range(100)}, "minProperties": 50, "additionalProperties": False},
        ["{}"],
    ),
    "members among 10,000": (wide(10_000, required=False), ["{}", '{"property9999":"a"}']),
    "10,000 required members": (wide(10_000, required=True), ["{}"]),
    "conditions on 100 kinds": (
        {"allOf": branches(100, lambda i: {"if": object_of("t", {"const": i}), "then": {"required": [f"a{i}"]}})},
        ['{"t":1}'],
    ),
}


def judged(constraint: Constraint, text: str) -> bool:
    return constraint.check(text).kind == "accepted"


@pytest.mark.parametrize("name", ANSWERED)
def test_answered(name: str) -> None:
    schema, verdicts = ANSWERED[name]
    with in_time():
        constraint = compile_json_schema(schema, **ANY)
        assert {text: judged(constraint, text) for text in verdicts} == verdicts


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_its_place(name: str) -> None:
    schema, pointer, text = REFUSED[name]
    with in_time(), pytest.raises(ConstraintError) as caught:
        compile_json_schema(schema, **ANY).check(text)
    assert caught.value.pointer.startswith(pointer)
    assert isinstance(caught.value, BudgetError) or caught.value.keyword or caught.value.unsatisfiable


@pytest.mark.parametrize("name", EITHER)
def test_answered_or_over_budget(name: str) -> None:
    schema, texts = EITHER[name]
    with in_time():
        try:
            constraint = compile_json_schema(schema, budget=BUDGET, **ANY)
            for text in texts:
                constraint.check(text)
        except BudgetError:
            return


def test_a_budget_that_ends_names_the_place() -> None:
    """Not only compiling is limited: what is visited first when a text is read, too."""
    crossing = {"minLength": LONG, "pattern": "^[a-z]+$"}
    with in_time(), pytest.raises(BudgetError) as caught:
        compile_json_schema({"properties": {"a": {"items": crossing}}}, budget=BUDGET).check('{"a":["b')
    assert caught.value.pointer == "/properties/a/items"
    assert caught.value.keyword in ("pattern", "minLength")
    assert "/properties/a/items" in str(caught.value)


def test_terms_and_states_are_limited() -> None:
    small = Budget(terms=400)
    with pytest.raises(BudgetError, match="400 terms") as caught:
        compile_json_schema({"properties": {"a": {"format": "uri"}}}, budget=small, **ANY).check('{"a":"http://a')
    assert caught.value.pointer == "/properties/a"
    few = Budget(states=20)
    with pytest.raises(BudgetError, match="20 states"):
        compile_json_schema({"properties": {"a": {"maxLength": 50}}}, budget=few).check('{"a":"' + "b" * 30)


DEEP = 5000


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("[" * DEEP + "]" * DEEP, "accepted"),
        ('{"a":' * DEEP + "1" + "}" * DEEP, "accepted"),
        ("[" * DEEP + "}", "rejected"),
        ("[" * DEEP, "incomplete"),
        ('"' + "a" * 1_000_000 + '"', "accepted"),
        ("[" + ",".join(["12345678"] * 100_000) + "]", "accepted"),
        ("1" * 10_000, "accepted"),
        ("1" * 10_000 + "e", "incomplete"),
        ("[" + ",".join(f'{{"k{i}":{i}}}' for i in range(3000)) + "]", "accepted"),
    ],
    ids=[
        "arrays",
        "objects",
        "deep and wrong",
        "deep and open",
        "string",
        "items",
        "digits",
        "digits and e",
        "objects in a row",
    ],
)
def test_large_texts(text: str, verdict: str) -> None:
    with in_time():
        assert compile_json_schema(True, **ANY).check(text).kind == verdict


def test_large_numbers_against_bounds_and_multiples() -> None:
    digits = "1" * 10_000
    with in_time():
        assert judged(compile_json_schema({"type": "integer"}), digits)
        assert not judged(compile_json_schema({"maximum": 10**15}), digits)
        # 10,000 ones: their sum is 10,000, which is 1 more than a multiple of 9.
        assert not judged(compile_json_schema({"multipleOf": 9}), digits)
        assert judged(compile_json_schema({"multipleOf": 9}), digits[1:] + "0")


@pytest.mark.parametrize("number", ["1e99999999", "1" * 5000, "-1e-99999999"])
def test_numbers_too_long_to_compare(number: str) -> None:
    """Unique items are compared by value: writing such a number out would take the memory of the machine."""
    with in_time(), pytest.raises(BudgetError):
        compile_json_schema({"uniqueItems": True}, **ANY).check(f"[{number}]")


@pytest.mark.parametrize(
    ("pattern", "text", "accepted"),
    [
        ("[ab]*a[ab]{30}", "ab" * 16 + "a", True),
        ("[ab]*a[ab]{30}", "b" * 40, False),
        ("((a{1,50}){1,50}){1,50}", "a" * 400, True),
        ("((a|b){1,50}(a|c){1,50}){1,50}", "a" * 200, True),
        ("(a?){30}a{30}", "a" * 30, True),
        ("(a*)*b", "a" * 5000, False),
        ("(a|aa)+$", "a" * 5000, True),
        ("|".join(f"w{i}" for i in range(1000)), "w999", True),
    ],
)
def test_regexes(pattern: str, text: str, accepted: bool) -> None:
    with in_time():
        assert judged(compile_regex(pattern), text) == accepted


@pytest.mark.parametrize("pattern", ["a" * 20_000, "(" * 500 + "a" + ")" * 500, "(?=" * 100 + "a" + ")" * 100])
def test_long_and_deep_regexes(pattern: str) -> None:
    with in_time():
        try:
            compile_regex(pattern).check("a")
        except ConstraintError:
            return
