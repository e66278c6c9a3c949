"""What people reported of other engines (the numbered rows of the field notes, section 3), as regressions of this one.

Rows 17, 23 and 27 are about forced tokens and dummy prefixes: the decoder's and the vocabulary's tests have those.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine import ConstraintError, compile_gbnf, compile_json_schema, compile_regex
from engine.masking import Masker
from engine.vocabulary import Vocabulary

Options = dict[str, Any]
ANY: Options = {"key_order": "any", "whitespace": "any", "spelling": "any"}


def accepts(schema: Any, text: str, **options: Any) -> bool:
    return compile_json_schema(schema, **options).check(text).kind == "accepted"


def masker_of(schema: Any, *tokens: str, **options: Any) -> Masker:
    """A masker over the one-byte tokens (their byte + 1), some longer ones (from 257 on) and the end token 0."""
    spelled = [b"<end>", *(bytes([byte]) for byte in range(256)), *(token.encode() for token in tokens)]
    return Masker(compile_json_schema(schema, **options), Vocabulary.from_tokens(spelled, end_ids=[0]))


def state_after(masker: Masker, text: str) -> int:
    state = masker.constraint.advance(masker.constraint.start, text.encode())
    assert state is not None, text
    return state


def test_row_1_an_alternation_stays_inside_the_quotes() -> None:
    schema = {"type": "string", "pattern": "cat|dog"}
    assert accepts(schema, '"cat"')
    assert accepts(schema, '"hotdogs"')
    assert not accepts(schema, '"cat')
    assert not accepts(schema, 'dog"')


def test_row_2_bounds_and_multiples_hold() -> None:
    assert not accepts({"type": "integer", "minimum": 18}, "17")
    assert accepts({"type": "integer", "minimum": 18}, "18")
    assert not accepts({"multipleOf": 5}, "7")
    assert accepts({"multipleOf": 5}, "35")


def test_row_3_all_of_is_no_concatenation() -> None:
    schema = {"allOf": [{"type": "string", "minLength": 2}, {"type": "string", "maxLength": 3}]}
    assert accepts(schema, '"ab"')
    assert not accepts(schema, '"ab""c"')
    assert not accepts(schema, '"abcd"')


def test_row_5_names_are_escaped() -> None:
    schema = {"type": "object", "properties": {'a"b': {"type": "integer"}}, "additionalProperties": False}
    assert accepts(schema, '{"a\\"b":1}')
    assert not accepts(schema, '{"a"b":1}')


def test_row_6_a_pattern_leaves_the_length_in_force() -> None:
    schema = {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3}
    assert accepts(schema, '"abc"')
    assert not accepts(schema, '"abcd"')


def test_row_7_required_without_properties() -> None:
    schema = {"type": "object", "required": ["a"]}
    assert not accepts(schema, "{}")
    assert accepts(schema, '{"a":1}')


def test_row_9_ranges_of_decimals() -> None:
    bounded = {"type": "number", "minimum": -4, "maximum": 4}
    positive = {"type": "number", "exclusiveMinimum": 0}
    assert accepts(bounded, "-0.5")
    assert not accepts(bounded, "4.00000000000000000001")
    assert accepts(positive, "0.1")
    assert accepts(positive, "0.00000001")
    assert accepts(positive, "1e-9", spelling="any")
    assert not accepts(positive, "0.0")


def test_row_11_control_characters_are_escaped() -> None:
    schema = {"properties": {"text": {"type": "string"}}}
    assert not accepts(schema, '{"text":"\t"}')
    assert not accepts(schema, '{"text":"\x1f"}')
    assert accepts(schema, '{"text":"\\t"}')


def test_row_13_ranges_beyond_eight_bits() -> None:
    constraint = compile_gbnf("root ::= [а-я]+")
    assert constraint.check("привет").kind == "accepted"
    assert constraint.check("0>").kind == "rejected"


def test_row_14_an_emoji_byte_by_byte() -> None:
    constraint = compile_regex("[😀-🙏]+")
    state: int | None = constraint.start
    for byte in "😨".encode():
        assert state is not None
        state = constraint.advance(state, bytes([byte]))
    assert state is not None
    assert constraint.is_accepting(state)
    inside = constraint.advance(constraint.start, "😨".encode()[:2])
    assert inside is not None
    readable = [byte for byte in range(256) if constraint.advance(inside, bytes([byte])) is not None]
    assert readable
    assert all(0x80 <= byte <= 0xBF for byte in readable)


def test_row_16_what_the_mask_offers_can_be_consumed() -> None:
    masker = masker_of(
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, '":"', '": "', '":'
    )
    state = state_after(masker, '{"a')
    assert [token_id in masker.mask(state) for token_id in (257, 258, 259)] == [True, True, True]
    assert all(masker.advance(state, token_id) is not None for token_id in masker.mask(state).ids().tolist())


@pytest.mark.parametrize(("pattern", "text"), [("a", "a"), ("[1]{1,3}", "1"), ("[1]{1,3}", "111")])
def test_row_19_an_end_token_that_is_offered_can_be_taken(pattern: str, text: str) -> None:
    tokens = [b"<end>", *(bytes([byte]) for byte in range(256))]
    masker = Masker(compile_regex(pattern), Vocabulary.from_tokens(tokens, end_ids=[0]))
    state = state_after(masker, text)
    assert 0 in masker.mask(state)
    assert masker.advance(state, 0) == state


def test_row_21_no_end_token_inside_a_string() -> None:
    constraint = compile_json_schema({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
    tokens = [b"<end>", b"<eom>", *(bytes([byte]) for byte in range(256))]
    masker = Masker(constraint, Vocabulary.from_tokens(tokens, end_ids=[0, 1]))
    assert not {0, 1} & set(masker.mask(state_after(masker, '{"a":"x')).ids().tolist())
    assert {0, 1} <= set(masker.mask(state_after(masker, '{"a":"x"}')).ids().tolist())


@pytest.mark.parametrize("whitespace", ["compact", "spaced", "any"])
def test_row_25_white_space_ends(whitespace: str) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    assert not accepts(schema, '{"text":' + " " * 1000 + '""}', whitespace=whitespace)
    assert accepts(schema, '{"text":' + " " * 64 + '""}', whitespace=whitespace) == (whitespace == "any")


def test_row_26_no_white_space_means_none_is_needed() -> None:
    for whitespace in ("compact", "spaced"):
        masker = masker_of({"type": "object", "properties": {"location": {"type": "string"}}}, whitespace=whitespace)
        assert 1 + ord('"') in masker.mask(state_after(masker, '{"location":'))
        assert masker.constraint.check('{"location":"x"}').kind == "accepted"


def test_row_29_names_come_in_declared_order() -> None:
    schema = {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "answer": {"type": "string"}},
        "required": ["answer", "reason"],
        "additionalProperties": False,
    }
    assert accepts(schema, '{"reason": "", "answer": ""}')
    assert not accepts(schema, '{"answer": "", "reason": ""}')
    assert compile_json_schema(schema).shortest(compile_json_schema(schema).start) == b'{"reason":"","answer":""}'


def test_row_30_escapes_of_classes_are_expanded() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string", "pattern": "^\\d+$"}}}
    assert accepts(schema, '{"id":"12"}')
    assert not accepts(schema, '{"id":"d"}')


def test_row_32_an_escape_that_says_nothing_is_read_not_skipped() -> None:
    schema = {"type": "string", "pattern": "^hello there indeed\\!$"}
    assert accepts(schema, '"hello there indeed!"')
    assert not accepts(schema, '"anything else"')


def test_row_33_no_leading_zeros() -> None:
    schema = {"type": "integer", "minimum": 3}
    assert not accepts(schema, "01", **ANY)
    assert not accepts(schema, "03", **ANY)
    assert accepts(schema, "3", **ANY)


@pytest.mark.parametrize("schema", [{"maxLength": 100, "minLength": 60}, {"pattern": "^[ab]*a[ab]{13}$"}])
def test_row_35_counters_cost_what_is_visited(schema: dict[str, Any]) -> None:
    constraint = compile_json_schema({"type": "string", **schema})
    text = '"' + "ab" * 40 + '"'
    assert constraint.check(text).kind == "accepted"
    assert len(constraint.automaton) < 100


def test_row_37_a_format_is_written_as_json() -> None:
    schema = {"type": "string", "format": "email"}
    assert not accepts(schema, '""a"@b.co"')
    assert accepts(schema, '"\\"a\\"@b.co"')
    assert accepts(schema, '"a@b.co"')


def test_row_38_a_lookahead_holds() -> None:
    schema = {"type": "string", "pattern": "^(?=.*[0-9])[a-z0-9]+$"}
    assert not accepts(schema, '"ab"')
    assert accepts(schema, '"a1b"')


def test_row_40_ambiguity_does_not_grow() -> None:
    constraint = compile_regex(r"(?:(?!</think><deadbeef>)[\s\S])*")
    assert constraint.check("</think>" * 200).kind == "accepted"
    assert constraint.check("</think><deadbeef>").kind == "rejected"
    assert len(constraint.automaton) < 50


@pytest.mark.parametrize(
    ("pattern", "text", "following"),
    [(r"[0-9]+(\.[0-9]+)?", "1", "."), ("(ab)*", "", "a"), ("[a-z]+( [a-z]+)*", "a", " ")],
)
def test_row_41_an_accepting_state_has_ways_on(pattern: str, text: str, following: str) -> None:
    tokens = [b"<end>", *(bytes([byte]) for byte in range(256))]
    masker = Masker(compile_regex(pattern), Vocabulary.from_tokens(tokens, end_ids=[0]))
    mask = masker.mask(state_after(masker, text))
    assert 0 in mask
    assert 1 + ord(following) in mask


def test_errors_name_the_place() -> None:
    """Beside the rows: by number of threads, people complain of errors that name none."""
    schema = {"properties": {"id": {"pattern": "(a)\\1"}}}
    with pytest.raises(ConstraintError) as caught:
        compile_json_schema(json.dumps(schema))
    assert caught.value.pointer == "/properties/id/pattern"
    assert "/properties/id/pattern" in str(caught.value)
