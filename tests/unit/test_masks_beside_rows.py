"""Masks against two other ways to the same: rows of mask states, as distances walk them, and the definition.

Masks are a union over lexemes; `TargetWalk` reads every token through the deterministic automaton instead. The
vocabularies straddle everything, lack bytes or hold none but a few, as SentencePiece without byte fallback does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine import compile_choices, compile_gbnf, compile_json_schema, compile_regex
from engine.constraint import Constraint
from engine.errors import BudgetError
from engine.grammar.free_text import after_delimiter
from engine.masking import Masker, union
from engine.masking.openings import Openings
from engine.masking.targets import TargetWalk
from engine.vocabulary import Vocabulary
from tests.unit.test_mask_properties import TOKENS, VOCABULARY

Made = Callable[[], Constraint]

FEW = b'{}[]":, 0123456789truefalsn-.e\\a'
STEPS = 6


def vocabulary_of(one_byte: bytes, *more: bytes) -> Vocabulary:
    longer = [token for token in TOKENS if len(token) > 1]
    singles = [bytes([byte]) for byte in one_byte]
    return Vocabulary.from_tokens([b"<end>", *singles, *longer, *more, b"a", b'": 1, '], end_ids=[0])


VOCABULARIES = {
    "bytes but one": VOCABULARY,
    "few bytes": vocabulary_of(FEW),
    "characters": vocabulary_of(FEW + b"bcdefghijklmnop", "é".encode(), "😀".encode(), "▁a".encode(), b" b", b"bcd"),
}

OBJECT = {
    "type": "object",
    "properties": {"a": {"type": "string", "maxLength": 3}, "é": {"enum": [1, "a", None]}, "b": {"$ref": "#"}},
    "patternProperties": {"^a+b": {"type": "integer"}},
    "required": ["a"],
}
ARRAY = {"type": "array", "items": {"enum": [1, 2, 12, "a", "ab"]}, "uniqueItems": True, "minItems": 2}
STRINGS = {"anyOf": [{"type": "string", "pattern": "^(ab|a)*b?$"}, {"type": "string", "minLength": 2}, {"const": 'a"'}]}
UNIQUE = {"type": "array", "uniqueItems": True}
TEMPERED = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^((?!ab).)*$"}}, "required": ["a"]}
RECURSIVE = 'root ::= [a-c ]* tail\ntail ::= "{" root "}" tail | "1" | "ab"? (" " tail)?\n'
AMBIGUOUS = 'root ::= r0 r1\nr0 ::= ("a" | "ab" | r1)* "b"?\nr1 ::= "b" r0 | "é" | "\\"" [^"]* "\\""\n'

CONSTRAINTS: dict[str, Made] = {
    "object": lambda: compile_json_schema(OBJECT),
    "object, any": lambda: compile_json_schema(OBJECT, key_order="any", whitespace="any", spelling="any"),
    "object, closed": lambda: compile_json_schema(OBJECT, whitespace="compact", objects="closed"),
    "any value": lambda: compile_json_schema(True, whitespace="any"),
    "unique items": lambda: compile_json_schema(ARRAY),
    "unique lists of what is unique": lambda: compile_json_schema({**UNIQUE, "items": UNIQUE}, whitespace="compact"),
    "strings": lambda: compile_json_schema(STRINGS, spelling="any"),
    "regex": lambda: compile_regex(r'(ab|a.|é{2}|[^a]\d)*("|\w{3,40})?'),
    "look-aheads in repetitions": lambda: compile_regex(r"(?:(?!1)\d(?:a|bc|(?=a).)|(?:(?!ab)\w)+\"){2,40}"),
    "a tempered pattern": lambda: compile_json_schema(TEMPERED),
    "recursive": lambda: compile_gbnf(RECURSIVE),
    "ambiguous": lambda: compile_gbnf(AMBIGUOUS),
    "choices": lambda: compile_choices(["a", "ab", "abc", "é", "1", "12", "true", ""]),
    "free text before": lambda: after_delimiter(compile_json_schema(ARRAY), '"a', free_after=True),
}


def by_rows(constraint: Constraint, vocabulary: Vocabulary, state: int) -> NDArray[np.bool_]:
    """Whether each token that is not an end token is allowed, from the states after all tokens."""
    automaton = constraint.automaton
    targets = TargetWalk(automaton, vocabulary).targets(automaton.mask_state(state, vocabulary.longest))
    allowed: NDArray[np.bool_] = np.array(
        [False, *(automaton.spellable(target, vocabulary.one_byte) for target in targets.states)]
    )[targets.groups]
    for node in targets.uncertain:
        for token_id in vocabulary.trie.subtree_ids(node):
            allowed[token_id] = by_definition(constraint, vocabulary, state, token_id)
    return allowed


def by_definition(constraint: Constraint, vocabulary: Vocabulary, state: int, token_id: int) -> bool:
    after = constraint.automaton.advance(state, vocabulary.tokens[token_id])
    return after is not None and constraint.automaton.spellable(after, vocabulary.one_byte)


def assert_equal_ways(masker: Masker, state: int, other: Constraint, there: int) -> None:
    """`other`: the same source compiled again, so that nothing remembered is shared."""
    vocabulary = masker.vocabulary
    allowed = masker.mask(state).to_bool()
    rows = by_rows(other, vocabulary, there)
    for token_id, token in enumerate(vocabulary.tokens):
        if token:
            expected = by_definition(other, vocabulary, there, token_id)
            assert rows[token_id] == expected, token
            assert allowed[token_id] == expected, (token, other.describe(there))
    assert all(allowed[end] == other.is_accepting(there) for end in vocabulary.end_ids)


def assert_runs_agree(made: Made, vocabulary: Vocabulary, prefix: bytes, seed: int) -> None:
    masker, other = Masker(made(), vocabulary), made()
    state, there = masker.constraint.after_prefix(prefix), other.after_prefix(prefix)
    random = Random(seed)
    for _ in range(STEPS):
        assert_equal_ways(masker, state, other, there)
        ids = [token_id for token_id in masker.mask(state).ids().tolist() if vocabulary.tokens[token_id]]
        if not ids:
            return
        token_id = random.choice([one for one in ids if len(vocabulary.tokens[one]) > 1] or ids)
        after, after_too = masker.advance(state, token_id), other.advance(there, vocabulary.tokens[token_id])
        assert after is not None
        assert after_too is not None
        state, there = after, after_too


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("case", CONSTRAINTS)
def test_masks_are_what_rows_say(case: str, vocabulary: str) -> None:
    for seed in range(2):
        assert_runs_agree(CONSTRAINTS[case], VOCABULARIES[vocabulary], b"", seed)


@pytest.mark.parametrize("prefix", [b"a", b'{"', b"ab 1", "x é".encode()[:-1]])
def test_masks_of_healed_runs(prefix: bytes) -> None:
    for case in ("object", "regex", "recursive"):
        assert_runs_agree(CONSTRAINTS[case], VOCABULARY, prefix, 3)


def test_a_lexeme_that_ends_in_thousands_of_places() -> None:
    letters = b"abcdefghijklmnopqrst"
    tokens = [
        bytes([one, two, three]) + end for one in letters for two in letters for three in letters for end in (b"", b"1")
    ]
    vocabulary = vocabulary_of(letters + b"1B", *tokens)
    constraint = compile_gbnf('root ::= [a-z ]* tail\ntail ::= "B" tail | "1"\n')
    mask = Masker(constraint, vocabulary).mask(constraint.start)
    assert mask.count > 16_000
    for token_id in range(1, vocabulary.size, 97):
        assert (token_id in mask) == by_definition(constraint, vocabulary, constraint.start, token_id)


def test_alternatives_by_the_thousand() -> None:
    values = [f"value {number}" for number in range(1000)]
    constraint = compile_json_schema({"enum": values}, spelling="any")
    vocabulary = vocabulary_of(bytes(range(0x20, 0x7F)), b'"value 1', b"ue 99", b"\\u0076al", b"00", b'01"', b'1"')
    masker = Masker(constraint, vocabulary)
    allowed = {}
    for text in ['"', '"val', '"value 1']:
        state = constraint.advance(constraint.start, text.encode())
        assert state is not None
        mask = masker.mask(state)
        allowed[text] = {vocabulary.tokens[token_id] for token_id in mask.ids().tolist()}
    assert {b"v", b"\\", b"\\u0076al", b"\\u00"} <= allowed['"']
    assert {b"u", b"ue 99", b"\\"} <= allowed['"val'] <= {b"u", b"ue 99", b"\\", b"\\u00"}
    assert {b"0", b"9", b'"', b"00", b'01"', b'1"', b"\\"} <= allowed['"value 1']


def test_many_rules_over_many_classes_go_by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a union they would be walked one by one; masks are the same either way."""
    letters = "abcdefghijklmnop"
    rules = [f'r{n} ::= [a-{letter}{n}]* t{n}\nt{n} ::= "{letter}" | [A-Z] t{n}\n' for n, letter in enumerate(letters)]
    source = f"root ::= {' | '.join(f'r{n}' for n in range(len(rules)))}\n{''.join(rules)}"
    tokens = [(one + two + three).encode() for one in letters for two in letters for three in "abzAZ"]
    vocabulary = vocabulary_of(letters.encode() + b"ABYZ", *tokens)
    by_union, crowded = (Masker(compile_gbnf(source), vocabulary) for _ in range(2))
    texts = (b"", b"a", b"mZ")
    masks = [mask_after(by_union, text) for text in texts]
    monkeypatch.setattr(union, "MOST_MET", 1)
    assert [mask_after(crowded, text) for text in texts] == masks
    assert len(crowded.automaton) > len(by_union.automaton)  # rows have made states


@pytest.mark.parametrize(("owner", "name"), [(Openings, "of"), (union, "first_bytes")])
@pytest.mark.parametrize("case", CONSTRAINTS)
def test_what_a_budget_broke_off_is_taken_up_again(
    case: str, owner: object, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = getattr(owner, name)
    for most in range(4):
        masker, other = Masker(CONSTRAINTS[case](), VOCABULARY), CONSTRAINTS[case]()
        left = iter(range(most))

        def broken_off(*given: Any, left: Iterator[int] = left) -> Any:
            if next(left, None) is None:
                raise BudgetError("No time left.")
            return whole(*given)

        with monkeypatch.context() as patched, suppress(BudgetError):
            patched.setattr(owner, name, broken_off)
            masker.mask(masker.constraint.start)
        assert_equal_ways(masker, masker.constraint.start, other, other.start)


def test_a_thousand_optional_parts() -> None:
    words = [one + two for one in "abcdefgh" for two in "ijklmnop"]
    optional = " ".join(f'"{word}"?' for word in words * 16)
    constraint = compile_gbnf(f'root ::= x {optional}\nx ::= "z" x | "q"?\n')
    tokens = [b"<end>", *(bytes([byte]) for byte in range(256)), b"ai", b"zz", b"ia", b"zq"]
    vocabulary = Vocabulary.from_tokens(tokens, end_ids=[0])
    mask = Masker(constraint, vocabulary).mask(constraint.start)
    allowed = {vocabulary.tokens[token_id] for token_id in mask.ids().tolist()}
    assert allowed == {b"", *(bytes([letter]) for letter in b"abcdefghqz"), b"ai", b"zz", b"zq"}


def mask_after(masker: Masker, text: bytes) -> list[int]:
    state = masker.constraint.advance(masker.constraint.start, text)
    assert state is not None
    return masker.mask(state).ids().tolist()


def test_a_vocabulary_without_a_token() -> None:
    vocabulary = Vocabulary.from_tokens([b"<end>", b""], end_ids=[0])
    constraint = compile_regex("a?")
    assert Masker(constraint, vocabulary).mask(constraint.start).ids().tolist() == [0]
