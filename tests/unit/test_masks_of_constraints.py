"""Masks of real constraints over a small vocabulary that crosses every boundary of JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import compile_json_schema, compile_regex
from engine.constraint import Constraint
from engine.errors import ConstraintError
from engine.masking import Masker
from engine.vocabulary import Vocabulary
from engine.vocabulary.small import small_vocabulary

SPANNING = [
    '{"',
    '":',
    '": ',
    '",',
    '", "',
    '"}',
    '":"',
    '":1',
    "12",
    "0.",
    ".5",
    "e1",
    "true",
    "null",
    "},{",
    "]]",
    '""',
]
SPANNING += [
    "ab",
    'a"b',
    "abc",
    "aaaa",
    "é",
    "😀",
    " ",
    "  ",
    "\n",
    '\\"',
    "\\n",
    "\\u00",
    "-1",
    "1,",
    '"a',
    '"a":',
    "[[",
    "[]",
]
BYTES = [bytes([byte]) for byte in range(256) if byte != 0xF1]
TOKENS = [b"<end>", b"<special>", *BYTES, *(token.encode() for token in SPANNING), b"\xf0\x9f", b"\xc3", b"ab"]
VOCABULARY = Vocabulary.from_tokens(TOKENS, end_ids=[0], special_ids=[1])

scalars: st.SearchStrategy[Any] = st.sampled_from(
    [
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "null"},
        {"type": "string"},
        {"type": "string", "maxLength": 3},
        {"type": "string", "minLength": 2, "maxLength": 40},
        {"type": "string", "pattern": "^[a-c]+$"},
        {"enum": ["a", "ab", 1, None, {"a": [1]}]},
        {"const": 'a"b'},
        True,
    ]
)


def compound(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.sampled_from(["a", "ab", "é", 'a"'])
    properties = st.dictionaries(names, inner, max_size=3)
    return st.one_of(
        st.builds(
            lambda declared, closed: {
                "type": "object",
                "properties": declared,
                "required": list(declared)[::2],
                **({"additionalProperties": False} if closed else {}),
            },
            properties,
            st.booleans(),
        ),
        st.builds(lambda items, most: {"type": "array", "items": items, "maxItems": most}, inner, st.integers(0, 3)),
        st.builds(lambda one, other: {"anyOf": [one, other]}, inner, inner),
    )


schemas = st.recursive(scalars, compound, max_leaves=4)
options = st.fixed_dictionaries(
    {
        "key_order": st.sampled_from(["schema", "any"]),
        "whitespace": st.sampled_from(["compact", "spaced", "any"]),
        "spelling": st.sampled_from(["plain", "any"]),
        "objects": st.sampled_from(["open", "closed"]),
    }
)


def assert_mask_is_what_can_be_consumed(masker: Masker, state: int) -> None:
    automaton, mask = masker.automaton, masker.mask(state)
    assert mask.count, "every state has a way on"
    assert (0 in mask) == automaton.is_accepting(state)
    assert 1 not in mask
    allowed = mask.to_bool()
    for token_id, token in enumerate(VOCABULARY.tokens[2:], 2):
        after = automaton.advance(state, token)
        expected = after is not None and automaton.spellable(after, VOCABULARY.one_byte)
        assert allowed[token_id] == expected, (token, masker.constraint.describe(state))
        assert (masker.advance(state, token_id) is not None) == expected


def walk(constraint: Constraint, data: st.DataObject, steps: int) -> None:
    """Follow allowed tokens from the start, comparing every mask on the way with the definition."""
    masker = Masker(constraint, VOCABULARY)
    state = constraint.start
    for _ in range(steps):
        assert_mask_is_what_can_be_consumed(masker, state)
        ids = masker.mask(state).ids().tolist()
        longer = [token_id for token_id in ids if len(VOCABULARY.tokens[token_id]) > 1]
        token_id = data.draw(st.sampled_from(longer) | st.sampled_from(ids) if longer else st.sampled_from(ids))
        if token_id == 0:
            return
        after = masker.advance(state, token_id)
        assert after is not None
        state = after


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(schemas, options, st.data())
def test_masks_of_schemas(schema: Any, chosen: dict[str, str], data: st.DataObject) -> None:
    try:
        constraint = compile_json_schema(schema, **chosen)  # type: ignore[arg-type]
    except ConstraintError as error:
        assert error.unsatisfiable, json.dumps(schema)  # noqa: PT017 - most schemas compile
        return
    walk(constraint, data, 8)


@settings(deadline=None, max_examples=20)
@given(st.data())
@pytest.mark.parametrize("pattern", [r"(a|ab|abc)*\d", r"[😀-🙏é]{2,}", r"\w+@\w+", r".*", r"[^a]{3}(true|null)?"])
def test_masks_of_regexes(pattern: str, data: st.DataObject) -> None:
    walk(compile_regex(pattern), data, 6)


def test_a_token_that_closes_one_undeclared_key_and_another() -> None:
    """What such a token may spell depends on a key it begins in, which the mask state has forgotten."""
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    tokens = [*TOKENS, b'b":1,"a', b'b":1,"ab"', b'":1,"ab":2}', b'":1,"b":2}']
    vocabulary = Vocabulary.from_tokens(tokens, end_ids=[0], special_ids=[1])
    constraint = compile_json_schema(schema, whitespace="compact")
    masker = Masker(constraint, vocabulary)
    for prefix in ('{"', '{"a', '{"ab', '{"b', '{"x":1,"a', '{"ab":1,"'):
        state = constraint.advance(constraint.start, prefix.encode())
        assert state is not None
        for token_id in range(len(TOKENS), len(tokens)):
            accepted = constraint.advance(state, tokens[token_id]) is not None
            assert (token_id in masker.mask(state)) == accepted, (prefix, tokens[token_id])


def after_masks(constraint: Constraint, text: str) -> int:
    """The state after a text, each mask on the way made before the next byte is read."""
    masker, state = Masker(constraint, small_vocabulary()), constraint.start
    for byte in text.encode():
        masker.mask(state)
        after = constraint.advance(state, bytes([byte]))
        assert after is not None, text
        state = after
    return state


def test_what_remains_is_told_in_the_order_of_the_source_after_masks() -> None:
    kinds = [{"properties": {"t": {"const": name}}, "required": ["t"], "type": "object"} for name in ("one", "two")]
    constraint = compile_json_schema({"anyOf": kinds}, objects="closed")
    said = constraint.describe(after_masks(constraint, '{"t":"'))
    assert said.index("one") < said.index("two")


@pytest.mark.parametrize("key_order", ["schema", "any"])
def test_declared_names_are_told_before_another_name(key_order: str) -> None:
    properties = {"name": {"type": "string"}, "age": {"type": "integer"}}
    constraint = compile_json_schema({"type": "object", "properties": properties}, key_order=key_order)  # type: ignore[arg-type]
    state = after_masks(constraint, '{"')
    assert [origin.pointer for origin in constraint.origins(state)] == ["/properties/name", "/properties/age", ""]
    said = constraint.describe(state)
    assert said.index('"name"') < said.index('"age"') < said.index("<another name>")


THREE = ["a", "n", "an"]


@pytest.mark.parametrize("whitespace", ["compact", "spaced", "any"])
@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"items": {"enum": ["a", "n"]}}, '["a'),
        ({"items": {"enum": ["a", "n"]}}, '["a","n'),
        ({"items": {"enum": ["a", "n"]}, "minItems": 2}, '["a'),
        ({"items": {"enum": THREE}, "minItems": 3}, '["n","a'),
        ({"items": {"enum": THREE}, "minItems": 3}, '["an","a","n'),
        ({"items": {"enum": THREE}, "maxItems": 2, "contains": {"const": "an"}}, '["a","a'),
        ({"items": {"enum": THREE}, "maxItems": 2, "contains": {"const": "an"}}, '["a","'),
    ],
)
def test_what_may_follow_the_last_unique_item_in_its_own_token(schema: Any, text: str, whitespace: str) -> None:
    constraint = compile_json_schema({"type": "array", "uniqueItems": True, **schema}, whitespace=whitespace)  # type: ignore[arg-type]
    masker, state = Masker(constraint, small_vocabulary()), after_masks(constraint, text)
    mask, ids = masker.mask(state), range(masker.vocabulary.size - 1)
    assert [i in mask for i in ids] == [masker.advance(state, i) is not None for i in ids]


@pytest.mark.parametrize("text", ["[[[[", "[[],[[]],[[", "[[[],[[]]],["])
def test_masks_of_a_list_of_lists_without_equal_items(text: str) -> None:
    node = {"type": "array", "uniqueItems": True, "items": {"$ref": "#/$defs/node"}}
    constraint = compile_json_schema({"$ref": "#/$defs/node", "$defs": {"node": node}}, whitespace="compact")
    assert_mask_is_what_can_be_consumed(Masker(constraint, VOCABULARY), after_masks(constraint, text))
    assert constraint.advance(constraint.start, b"[[],[[]],[]") is None
