"""JSON Schema constraints: each keyword and option by hand, and what is refused where."""

from __future__ import annotations

from typing import Any

import pytest

from engine.budget import Budget
from engine.errors import BudgetError, ConstraintError
from engine.grammar.json_schema.compile import compile_json_schema

CLOSED: dict[str, Any] = {"type": "object", "additionalProperties": False}
PERSON = {
    **CLOSED,
    "properties": {"name": {"type": "string", "maxLength": 3}, "age": {"type": "integer"}},
    "required": ["age"],
}
AGE_AND_MORE = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["b"]}
TREE = {
    "$defs": {
        "node": {
            **CLOSED,
            "properties": {
                "v": {"type": "integer"},
                "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 2},
            },
            "required": ["v"],
        }
    },
    "$ref": "#/$defs/node",
}

CASES: list[tuple[Any, list[str], list[str]]] = [
    (PERSON, ['{"name": "ab", "age": 3}', '{"age":1}', '{"name":"é😀x","age": -10}'], ["{}", '{"age":01', '{"age":1,']),
    (PERSON, [], ['{"name":"abcd"', '{"age": 1, "name"']),
    # Undeclared members stand last; no name comes twice; a required name may be undeclared.
    (AGE_AND_MORE, ['{"b":1}', '{"a":1,"b":{"x":[1,{"y":null}]}}', '{"zz":1,"b":2,"c":3}'], ['{"a":1}', '{"a":"x"']),
    (AGE_AND_MORE, ['{"b":1,"ab":2}'], ['{"zz":1,"zz"', '{"zz":1,"b":2,"zz"', '{"b":1,"a":']),
    (TREE, ['{"v":1,"kids":[{"v":2,"kids":[{"v":3}]},{"v":4}]}', '{"v":1,"kids":[]}'], ['{"v":1,"kids":[{"kids']),
    (TREE, [], ['{"v":1,"kids":[{"v":2},{"v":2},']),
    ({"const": {"x": [1, 2.50, True]}}, ['{"x": [1, 2.5, true]}'], ['{"x":[1,3', '{"x":[1,2.5,1']),
    ({"enum": [1, 1.0, 100, {"a": 1}]}, ["1", "100", '{"a":1}'], ["2", '{"a":2']),
    ({"enum": ["a", "ab", 'q"é']}, ['"a"', '"ab"', '"q\\"é"'], ['"abc', '"q"']),
    (True, ['{"a":[1,{"b":"c","d":{}}],"e":1.5}', "[]", '"x"', "-0", "null"], ['{"a":1,"a"', "[1,]", "01", "nul "]),
    ({"type": "string", "minLength": 1, "maxLength": 2}, ['"a"', '"😀😀"', '"\\n"'], ['""', '"abc', '"\t"', '"\\/"']),
    ({"type": "string", "pattern": "cat|dog"}, ['"cat"', '"hotdogs"'], ["dog", '"cow"']),
    ({"type": "string", "pattern": "^[a-z]+$", "maxLength": 3}, ['"abc"'], ['"abcd', '"A', '""']),
    ({"type": "string", "pattern": "^(?=.*[0-9])[a-z0-9]+$"}, ['"a1"', '"1"'], ['"ab"', '""']),
    ({"type": "integer", "minimum": 18, "multipleOf": 5}, ["20", "100"], ["17", "15 ", "-20", "20.0", "020"]),
    ({"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}, ["0.1", "0.000000001", "0.50"], ["0 ", "0.51", "-0.1"]),
    ({"type": "number", "multipleOf": 0.01}, ["0.01", "19.99", "0.070"], ["0.075"]),
    ({"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "null"}}, ["[null]"], ["[]", "[null, null,"]),
    ({"prefixItems": [{"type": "integer"}], "items": False}, ["[1]", "[]", "3"], ["[true", "[1,"]),
    ({"contains": {"const": 1}, "maxContains": 1}, ["[1]", "[2, 1, 3]"], ["[2]", "[1, 1]"]),
    ({"type": "array", "uniqueItems": True}, ["[1, 2]", '[{"a":1,"b":2}, {"a":2}]'], ["[1, 1]", '[{"a":1}, {"a":1}']),
    ({"uniqueItems": True, "items": {"enum": [1, 2]}}, ["[2, 1]"], ["[1, 1", "[1, 2,"]),
    ({"patternProperties": {"^n": {"type": "null"}}}, ['{"n":null,"x":1}'], ['{"no":1']),
    ({"propertyNames": {"maxLength": 2}}, ['{"ab":1}'], ['{"abc']),
    ({"minProperties": 1, "maxProperties": 2, "type": "object"}, ['{"a":1}'], ["{}", '{"a":1,"b":2,']),
    ({"type": "object", "dependentRequired": {"a": ["b"]}}, ['{"b":1}', '{"a":1,"b":2}'], ['{"a":1}']),
    ({"dependentSchemas": {"a": {"required": ["b"]}}, "type": "object"}, ['{"c":1}'], ['{"a":1}']),
    ({"allOf": [{"type": "string", "minLength": 2}, {"maxLength": 3}]}, ['"ab"'], ['"a"', '"ab""c"', '"abcd']),
    ({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}], "type": "integer"}, ["2", "3"], ["6", "1"]),
    ({"not": {"type": ["string", "object"]}}, ["1", "[]", "null"], ['"', "{"]),
    ({"if": {"type": "string"}, "then": {"maxLength": 1}, "else": {"const": 5}}, ['"a"', "5"], ['"ab', "6"]),
    (
        {"allOf": [{"properties": {"a": {"type": "null"}}}], "unevaluatedProperties": False, "type": "object"},
        ['{"a":null}', "{}"],
        ['{"b', '{"a":1'],
    ),
    ({"type": "string", "format": "date"}, ['"2024-02-29"'], ['"2023-02-29"', '"2024-1']),
    ({"type": "object", "properties": {'a"b': {"type": "integer"}}, "required": ['a"b']}, ['{"a\\"b":1}'], ['{"a"b"']),
]


@pytest.mark.parametrize(("schema", "accepted", "rejected"), CASES)
def test_texts(schema: Any, accepted: list[str], rejected: list[str]) -> None:
    constraint = compile_json_schema(schema)
    for text in accepted:
        assert constraint.check(text).kind == "accepted", (text, str(constraint.check(text)))
    for text in rejected:
        # What is no JSON value is rejected; a value that breaks the schema may only wait for more of it.
        assert constraint.check(text).kind != "accepted", text


@pytest.mark.parametrize(
    ("options", "accepted", "refused"),
    [
        ({"whitespace": "compact"}, ['{"a":1,"b":2}'], ['{"a": 1', '{"a":1, ', "{ "]),
        ({"whitespace": "spaced"}, ['{"a": 1, "b":2}'], ['{"a":  1', "{ ", '{"a" ']),
        ({"whitespace": "any"}, [' {\n "a" :\t1 ,\r"b": 2 } '], ['{"a":' + " " * 65]),
        ({"key_order": "schema"}, ['{"a":1,"b":2}'], ['{"b":2,"a"']),
        ({"key_order": "any"}, ['{"b":2,"a":1}', '{"a":1,"b":2}'], ['{"b":2,"b"']),
        ({"spelling": "plain"}, ['{"a":10,"b":2}'], ['{"\\u0061"', '{"a":1e', '{"a":1.0']),
        ({"spelling": "any"}, ['{"\\u0061":1e1,"b":2.0}', '{"a":1.5e+17,"b":20E0}'], ['{"a":1.5,', '{"a":1e-1,']),
        ({"objects": "closed"}, ['{"a":1,"b":2}'], ['{"a":1,"b":2,']),
        ({"objects": "open"}, ['{"a":1,"b":2,"c":[]}'], ['{"a":1,"b":2,"a"']),
    ],
)
def test_options(options: dict[str, Any], accepted: list[str], refused: list[str]) -> None:
    integer = {"type": "integer"}
    schema = {"type": "object", "properties": {"a": integer, "b": integer}, "required": ["a", "b"]}
    constraint = compile_json_schema(schema, **options)
    for text in accepted:
        assert constraint.check(text).kind == "accepted", (text, str(constraint.check(text)))
    for text in refused:
        assert constraint.check(text).kind == "rejected", text


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        ({"properties": {"a": {"type": "strin"}}}, "/properties/a/type", "type"),
        ({"items": {"minLength": -1}}, "/items/minLength", "minLength"),
        ({"$ref": "#/nowhere"}, "/$ref", "$ref"),
        ({"properties": {"a": {"$ref": "https://example.org/x"}}}, "/properties/a/$ref", "$ref"),
        ({"properties": {"a": {"pattern": "(a"}}}, "/properties/a/pattern", "pattern"),
        ({"properties": {"a": {"pattern": "(a)\\1"}}}, "/properties/a/pattern", "pattern"),
        ({"items": {"format": "idn-email"}}, "/items/format", "format"),
        ({"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "#"}, "/$recursiveRef", None),
        ('{"a": 1, "a": 2}', "/a", ""),
        ('{"type": ', "line 1, column 10", ""),
    ],
)
def test_refused_with_its_pointer(schema: Any, pointer: str, keyword: str | None) -> None:
    with pytest.raises(ConstraintError) as caught:
        compile_json_schema(schema)
    assert caught.value.pointer == pointer
    assert not caught.value.unsatisfiable
    if keyword is not None:
        assert caught.value.keyword == keyword


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        (False, []),
        ({"type": "string", "minLength": 5, "maxLength": 3}, ["/minLength", "/maxLength"]),
        ({"type": "integer", "minimum": 5, "maximum": 3}, ["/minimum", "/maximum"]),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, ["/allOf/0/type", "/allOf/1/type"]),
        ({"$ref": "#"}, ["/$ref"]),
        ({**CLOSED, "required": ["q"]}, ["/required", "/additionalProperties"]),
        ({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}, ["/properties/a"]),
        ({"const": 5, "type": "string"}, ["/const", "/type"]),
        ({"enum": []}, ["/enum"]),
        ({"type": "array", "minItems": 3, "uniqueItems": True, "items": {"enum": [1, 2]}}, ["/"]),
        ({"type": "object", "minProperties": 3, "propertyNames": {"enum": ["a", "b"]}}, ["/"]),
        ({"type": "array", "maxItems": 1, "contains": {"type": "null"}, "minContains": 2}, ["/"]),
    ],
)
def test_unsatisfiable_with_what_contradicts(schema: Any, named: list[str]) -> None:
    with pytest.raises(ConstraintError) as caught:
        compile_json_schema(schema)
    assert caught.value.unsatisfiable
    assert all(pointer in str(caught.value) for pointer in named), str(caught.value)


def test_an_unsatisfiable_part_is_reported() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": 2, "maxLength": 1}, "b": {}}}
    constraint = compile_json_schema(schema)
    assert constraint.report.unsatisfiable == ("/properties/a",)
    assert constraint.check('{"b":1}').kind == "accepted"
    assert constraint.check('{"a"').kind == "rejected"


def test_what_takes_too_deep_a_look_is_said_to_be_undecided() -> None:
    pairs = {"type": "array", "items": {"$ref": "#/$defs/pairs"}, "minItems": 2, "uniqueItems": True}
    constraint = compile_json_schema({"properties": {"a": {"$ref": "#/$defs/pairs"}}, "$defs": {"pairs": pairs}})
    with pytest.raises(BudgetError, match="nested too deeply"):
        _ = constraint.report.unsatisfiable


def test_what_is_left_out_is_reported() -> None:
    schema = {"properties": {"a": {"format": "idn-email"}, "b": {"format": "shoe-size"}}, "maxLenght": 3}
    left_out = compile_json_schema(schema, on_unsupported="report").report.not_enforced
    found = {(item.pointer, item.keyword) for item in left_out}
    assert found == {("/properties/a", "format"), ("/properties/b", "format"), ("", "maxLenght")}


def test_verdicts_say_where_and_why() -> None:
    constraint = compile_json_schema(PERSON)
    verdict = constraint.check('{"name": "abc",\n')
    assert (verdict.kind, verdict.offset, verdict.line, verdict.column) == ("rejected", 15, 1, 16)
    verdict = constraint.check('{"name": "abcd"')
    assert verdict.expected == ("'\"'",)
    assert [(origin.pointer, origin.keyword) for origin in verdict.origins] == [("/properties/name", "maxLength")]
    assert verdict.limit == "maxLength 3 reached"
    assert verdict.completion == b'","age":0}'
    repair = constraint.repair('{"nmae": "a", "age": 1}')
    assert repair is not None
    assert (repair.removed, repair.inserted) == (b"ma", b"am")


def test_budgets() -> None:
    with pytest.raises(BudgetError):
        compile_json_schema('{"title": "' + "x" * 5_000_000 + '"}')
    with pytest.raises(BudgetError) as caught:
        compile_json_schema("[" * 10_000 + "]" * 10_000)
    assert "nested" in str(caught.value)
    deep: Any = {"type": "string"}
    for _ in range(100):
        deep = {"type": "object", "properties": {"a": deep}, "required": ["a"]}
    text = '{"a":' * 100 + '"x"' + "}" * 100
    assert compile_json_schema(deep).check(text).kind == "accepted"
    with pytest.raises(BudgetError):
        compile_json_schema(deep, budget=Budget(depth=50))


@pytest.mark.parametrize("spelling", ["plain", "any"])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer"},
        {"type": "number"},
        {"multipleOf": 0.01, "type": "number"},
        {"minimum": 1, "type": "integer"},
    ],
)
def test_a_number_is_json(schema: Any, spelling: Any) -> None:
    constraint = compile_json_schema(schema, spelling=spelling)
    for text in (
        "2.",
        "10.",
        "1.e5",
        "1e",
        "1e+",
        "-",
        "01",
        "+1",
        ".5",
        "-.5",
        "1.5.",
        "0x1",
        "1_0",
        "NaN",
        "Infinity",
    ):
        assert constraint.check(text).kind != "accepted", text
