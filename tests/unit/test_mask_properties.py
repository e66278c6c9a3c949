"""Masks and states against their definitions, over small vocabularies whose tokens straddle every boundary.

A token's bit is set exactly where its bytes can be read from the run's own state, whatever the mask state forgot:
names of undeclared members, unique items, far counters. The expectations of the hand-made cases are arithmetic.
"""

from __future__ import annotations

import os
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import Budget, ConstraintError, compile_json_schema
from engine.constraint import Constraint
from engine.masking import Masker
from engine.vocabulary import Vocabulary
from tests.unit.random_schemas import schemas

EXAMPLES = int(os.environ.get("MASKSCOPE_EXAMPLES", "30"))
BUDGET = Budget(seconds=5, terms=300_000, states=20_000)
MISSING = 0xF1
"""A byte without a token of its own, as the bundled model's vocabulary lacks some."""

OPTIONS = [
    dict(zip(("key_order", "whitespace", "spelling", "objects"), chosen, strict=True))
    for chosen in product(("schema", "any"), ("compact", "spaced", "any"), ("plain", "any"), ("open", "closed"))
]
STRADDLING = (
    '{" ": ", } "} ] [[ ]] [] }, }] ], {} "" a" ab" "a" "a": "b": a":1 a":1,"b b":1,"a":2 ":1,"c":2,"a ":0} null, '
)
STRADDLING += (
    'true,false 1,1 1,2 2,12] 0,0] 1]] [1,1] 12 1. .5 e1 0e 1.0, \\" \\\\ \\n \\u00 \\u0061 aaaa ba é éé 😀 "é": -1 -0'
)
TOKENS = [token.encode() for token in STRADDLING.split(" ")] + [
    b'", "',
    b', "a": 1',
    b'": 1, "b": 2}',
    b"1, 2]",
    b" \n",
]
TOKENS += [b"\xc3", b"\xf0\x9f", b"\x98\x80a", b"\xf1\x80", b'\xa9"', b'"\xe2\x82']
BYTES = [bytes([byte]) for byte in range(256) if byte != MISSING]
VOCABULARY = Vocabulary.from_tokens(
    [b"<end>", b"<end too>", b"<control>", *BYTES, *TOKENS], end_ids=[0, 1], special_ids=[2]
)


def vocabulary_of(*tokens: bytes) -> Vocabulary:
    return Vocabulary.from_tokens([b"<end>", *(bytes([byte]) for byte in range(256)), *tokens], end_ids=[0])


def state_after(constraint: Constraint, text: str) -> int:
    state = constraint.advance(constraint.start, text.encode())
    assert state is not None, text
    return state


def assert_mask_is_exact(masker: Masker, state: int) -> None:
    constraint, vocabulary = masker.constraint, masker.vocabulary
    mask = masker.mask(state)
    allowed = mask.to_bool()
    assert mask.count == allowed.sum()
    for token_id, token in enumerate(vocabulary.tokens):
        if token_id in vocabulary.end_ids:
            expected = constraint.is_accepting(state)
        elif not token:
            expected = False
        else:
            after = constraint.advance(state, token)
            expected = after is not None and constraint.automaton.spellable(after, vocabulary.one_byte)
        assert allowed[token_id] == expected, (token, constraint.describe(state))
        assert (masker.advance(state, token_id) is not None) == expected


def assert_can_be_completed(constraint: Constraint, state: int) -> None:
    end = constraint.advance(state, constraint.shortest(state))
    assert end is not None
    assert constraint.is_accepting(end)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="MASKSCOPE_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
@given(schemas(depth=2), st.sampled_from(OPTIONS), st.integers(0, 2**32))
def test_masks_and_states_of_random_schemas(schema: Any, options: dict[str, str], seed: int) -> None:
    random = Random(seed)
    try:
        constraint = compile_json_schema(schema, **options, budget=BUDGET)  # type: ignore[arg-type]
        masker = Masker(constraint, VOCABULARY)
    except ConstraintError:
        return
    state, text = constraint.start, b""
    try:
        for _ in range(6):
            assert_mask_is_exact(masker, state)
            assert_can_be_completed(constraint, state)
            ids = masker.mask(state).ids().tolist()
            token_id = random.choice([i for i in ids if len(VOCABULARY.tokens[i]) > 1] or ids)
            if token_id in VOCABULARY.end_ids:
                break
            text += VOCABULARY.tokens[token_id]
            following = masker.advance(state, token_id)
            assert following is not None
            state = following
    except ConstraintError:  # of a part that no text had come to before
        return
    assert constraint.advance(constraint.start, text) == state, "step by step is all at once"
    assert (constraint.check(text).kind == "accepted") == constraint.is_accepting(state)


TWO_KEYS = [
    b'b":1,"a',
    b'b":1, "ab"',
    b'":1,"ab":2}',
    b'":1, "b":2}',
    b'":1,"c":2,"a',
    b'1, "a":',
    b', "a":1',
    b'":1,"b":2,"b"',
]
KEY_PREFIXES = ['{"', '{"a', '{"ab', '{"b', '{"x":1,"a', '{"ab":1,"', '{"a":1,"b":', '{"b":1']
TWO_ITEMS = [b"1,1", b"1, 1", b",2", b", 2,2", b"1,2,1]", b"1,2,3]", b"2]", b"1,2", b"[1,1]", b"2,12"]
ITEM_PREFIXES = ["[", "[1", "[1,", "[2,1", "[1,2", "[12,2"]
FORGETTING: dict[str, tuple[Any, list[bytes], list[str]]] = {
    "undeclared keys": ({"type": "object", "additionalProperties": {"type": "integer"}}, TWO_KEYS, KEY_PREFIXES),
    "pattern keys": (
        {"type": "object", "patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 1}}},
        TWO_KEYS,
        KEY_PREFIXES,
    ),
    "counted keys": (
        {"type": "object", "propertyNames": {"enum": ["a", "b", "ab"]}, "minProperties": 2, "maxProperties": 2},
        TWO_KEYS,
        KEY_PREFIXES[:4],
    ),
    "unique items": ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, TWO_ITEMS, ITEM_PREFIXES),
    "unique values of an enum": (
        {"type": "array", "items": {"enum": [1, 2, 12]}, "uniqueItems": True, "minItems": 3},
        TWO_ITEMS,
        ITEM_PREFIXES,
    ),
    "an item twice": (
        {"type": "array", "items": {"enum": [1, 2, 12]}, "not": {"uniqueItems": True}},
        TWO_ITEMS,
        ITEM_PREFIXES,
    ),
}


@pytest.mark.parametrize("options", [o for o in OPTIONS if o["objects"] == "open"], ids=lambda o: "-".join(o.values()))
@pytest.mark.parametrize("case", FORGETTING)
def test_tokens_that_close_two_names_or_items(case: str, options: dict[str, str]) -> None:
    schema, tokens, prefixes = FORGETTING[case]
    constraint = compile_json_schema(schema, **options)  # type: ignore[arg-type]
    masker = Masker(constraint, vocabulary_of(*tokens))
    checked = 0
    for prefix in prefixes:
        state = constraint.advance(constraint.start, prefix.encode())
        if state is not None:
            assert_mask_is_exact(masker, state)
            assert_can_be_completed(constraint, state)
            checked += 1
    assert checked >= len(prefixes) - 2


def test_two_keys_in_one_token_by_hand() -> None:
    constraint = compile_json_schema(
        {"type": "object", "additionalProperties": {"type": "integer"}}, whitespace="spaced"
    )
    tokens = [b'":1, "b":2}', b'":1,"a":2}', b'":1,"c']
    masker = Masker(constraint, vocabulary_of(*tokens))
    allowed = {
        prefix: [257 + i in masker.mask(state_after(constraint, prefix)) for i in range(3)]
        for prefix in ['{"a', '{"b', '{"c']
    }
    assert allowed == {'{"a': [True, False, True], '{"b': [False, True, True], '{"c': [True, True, True]}
    assert 259 in masker.mask(state_after(constraint, '{"c":1,"a')), "a longer name can still follow"


LENGTHS = range(1, 7)


@pytest.mark.parametrize("most", [0, 3, 6, 7, 8, 50])
@pytest.mark.parametrize("pattern", [None, "^a*$"])
def test_counters_near_and_far_from_their_bounds(most: int, pattern: str | None) -> None:
    schema = {"type": "string", "maxLength": most, **({"pattern": pattern} if pattern else {})}
    constraint = compile_json_schema(schema)
    tokens = [b"a" * length for length in LENGTHS] + [b"a" * length + b'"' for length in LENGTHS]
    masker = Masker(constraint, vocabulary_of(*tokens))
    for written in range(most + 1):
        mask = masker.mask(state_after(constraint, '"' + "a" * written))
        fits = [length <= most - written for length in LENGTHS]
        assert [257 + place in mask for place in range(len(tokens))] == fits + fits, written


@pytest.mark.parametrize("least", [1, 6, 7, 8, 50])
def test_counters_below_their_lower_bounds(least: int) -> None:
    constraint = compile_json_schema({"type": "string", "minLength": least})
    masker = Masker(constraint, vocabulary_of(*(b"a" * length + b'"' for length in LENGTHS)))
    for written in range(least + 2):
        mask = masker.mask(state_after(constraint, '"' + "a" * written))
        assert [257 + place in mask for place in range(6)] == [written + n >= least for n in LENGTHS], written


@pytest.mark.parametrize("most", [1, 2, 3, 9])
def test_counted_items_in_one_token(most: int) -> None:
    constraint = compile_json_schema({"type": "array", "items": {"const": 1}, "maxItems": most}, whitespace="compact")
    masker = Masker(
        constraint, vocabulary_of(*(b"1," * count for count in LENGTHS), *(b"1," * n + b"1]" for n in LENGTHS))
    )
    for written in range(most):
        mask = masker.mask(state_after(constraint, "[" + "1," * written))
        room = most - written
        assert [257 + place in mask for place in range(6)] == [count < room for count in LENGTHS]
        assert [263 + place in mask for place in range(6)] == [count + 1 <= room for count in LENGTHS]


def test_a_length_beside_a_pattern_leaves_no_trap() -> None:
    """(ab)+ of at most 7 characters: after 6 nothing can be written but the end."""
    constraint = compile_json_schema({"type": "string", "pattern": "^(ab)+$", "maxLength": 7})
    masker = Masker(constraint, vocabulary_of(b"ab", b"aba", b'ab"', b"abab"))
    allowed = [
        token
        for i, token in enumerate([b"ab", b"aba", b'ab"', b"abab"], 257)
        if i in masker.mask(state_after(constraint, '"abab'))
    ]
    assert allowed == [b"ab", b'ab"']
    assert masker.mask(state_after(constraint, '"ababab')).ids().tolist() == [1 + ord('"')]


def test_recursion_in_one_token() -> None:
    schema = {"type": "array", "items": {"$ref": "#"}, "maxItems": 2}
    constraint = compile_json_schema(schema, whitespace="compact")
    tokens = [b"[[[", b"]]", b"],[", b"[],[]]", b"[],[],[]"]
    masker = Masker(constraint, vocabulary_of(*tokens))
    masks = {prefix: masker.mask(state_after(constraint, prefix)) for prefix in ("[", "[[", "[[]")}
    assert {prefix: [257 + i in mask for i in range(5)] for prefix, mask in masks.items()} == {
        "[": [True, False, False, True, False],
        "[[": [True, True, True, True, False],
        "[[]": [False, False, False, False, False],
    }


def test_every_end_token_waits_for_the_end() -> None:
    constraint = compile_json_schema({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
    masker = Masker(constraint, VOCABULARY)
    assert [i in masker.mask(state_after(constraint, '{"a":"x')) for i in (0, 1, 2)] == [False, False, False]
    assert [i in masker.mask(state_after(constraint, '{"a":"x"}')) for i in (0, 1, 2)] == [True, True, False]


@pytest.mark.parametrize("whitespace", ["compact", "spaced", "any"])
def test_no_comma_behind_the_last_member_that_fits(whitespace: Any) -> None:
    constraint = compile_json_schema({"type": "object", "maxProperties": 1}, whitespace=whitespace)
    masker = Masker(constraint, vocabulary_of(b'e":1,', b'e":1', b'e":1}'))
    mask = masker.mask(state_after(constraint, '{"na'))
    assert [257 + place in mask for place in range(3)] == [False, True, True]


@pytest.mark.parametrize("key_order", ["schema", "any"])
@pytest.mark.parametrize("names", [{"enum": ["abc"]}, {"enum": ["abc", "ab"]}])
def test_no_name_begins_where_there_are_too_few(key_order: Any, names: Any) -> None:
    """What reads `},{"` at once passes the place where an object is known to end nowhere."""
    lost = {"type": "object", "propertyNames": names, "minProperties": len(names["enum"]) + 1}
    schema = {"type": "array", "uniqueItems": True, "prefixItems": [{"type": "object"}], "items": lost}
    constraint = compile_json_schema(schema, whitespace="compact", key_order=key_order)
    masker = Masker(constraint, vocabulary_of(b"},{", b'},{"', b'},{"abc":0,"', b"}]"))
    state = state_after(constraint, '[{"a":1')
    assert [257 + place in masker.mask(state) for place in range(4)] == [False, False, False, True]
    assert [masker.advance(state, 257 + place) is None for place in range(4)] == [True, True, True, False]


@pytest.mark.parametrize(
    "rule", [{"contains": {"type": "integer"}, "minContains": 2}, {"contains": {"type": "integer"}, "minItems": 3}]
)
def test_an_item_that_leaves_too_few_does_not_begin(rule: dict[str, Any]) -> None:
    """Of at most three items some must be integers: which, is decided before all texts are known."""
    constraint = compile_json_schema(
        {"type": "array", "maxItems": 3, "uniqueItems": True, **rule}, whitespace="compact"
    )
    masker = Masker(constraint, vocabulary_of(b',"', b",[", b",1", b'"x","', b'",1,"', b'",1,1', b'","'))
    for text in ("[", '["x', '["x"', '["x",', '["x",1', '["x","', "[1,2", '[1,"x"', '[1,"x","', "[[1]"):
        state = constraint.advance(constraint.start, text.encode())
        if state is not None:
            assert_mask_is_exact(masker, state)
            assert_can_be_completed(constraint, state)


def test_a_string_does_not_begin_where_integers_must_come() -> None:
    schema = {"type": "array", "uniqueItems": True, "maxItems": 3, "contains": {"type": "integer"}, "minContains": 2}
    constraint = compile_json_schema(schema, whitespace="compact")
    masker = Masker(constraint, vocabulary_of(b',"', b",1"))
    assert [257 + place in masker.mask(state_after(constraint, '["x"')) for place in range(2)] == [False, True]


WAITING: list[tuple[list[Any], Any, dict[str, list[bool]]]] = [
    # The second item may not be what the third must be, for only a fourth can be the null that is waited for.
    ([True, True, {"const": "a"}], {"const": None}, {'["c",': [False, True, True], '["a",': [False, False, True]}),
    # Or the second is the null itself, and nothing more need come.
    ([True, {"enum": ["a", "b", None]}, {"const": "a"}], {"const": None}, {'["b",': [False, False, True]}),
    (
        [{"enum": ["a", "b"]}, {"const": "a"}],
        {"const": None},
        {"[": [False, True, False], '["b",': [True, False, False]},
    ),
]


@pytest.mark.parametrize(("first", "wanted", "allowed"), WAITING)
def test_what_later_items_need_is_left_to_them(first: list[Any], wanted: Any, allowed: dict[str, list[bool]]) -> None:
    schema = {"type": "array", "uniqueItems": True, "prefixItems": first, "contains": wanted}
    constraint = compile_json_schema(schema, whitespace="compact")
    masker = Masker(constraint, vocabulary_of(b'"a"', b'"b"', b"null"))
    for text, expected in allowed.items():
        state = state_after(constraint, text)
        assert [257 + place in masker.mask(state) for place in range(3)] == expected, text
        assert_mask_is_exact(masker, state)
        assert_can_be_completed(constraint, state)
