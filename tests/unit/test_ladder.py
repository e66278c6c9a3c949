"""The cost ladder: every method gives the Masker's mask, and the work it counts is the work there is."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine import BudgetError, compile_choices, compile_gbnf, compile_json_schema, compile_lark, compile_regex
from engine.automaton.automaton import Automaton
from engine.constraint import Constraint
from engine.grammar.ebnf.grammars import LARK_EXAMPLES
from engine.grammar.free_text import after_delimiter
from engine.masking import Masker
from engine.masking.ladder import (
    ContextIndependence,
    Fate,
    Fates,
    Index,
    Lazy,
    Method,
    Naive,
    TrieWalk,
    Validator,
    WorkCancelled,
    frames,
)
from engine.vocabulary import Vocabulary

METHODS: dict[str, Callable[[Constraint, Vocabulary], Method]] = {
    "naive": Naive,
    "index": Index,
    "trie": TrieWalk,
    "lazy": Lazy,
}
STRADDLING = '{" "a": "b": ": ", "} }] ]] ], },{ [[ 1,2 12 1] a" ab" \\" aa 1. .5 (a a) +b *( )+ )) x; SELECT a=1'
BYTES = [bytes([byte]) for byte in range(256) if byte not in (0xF1, ord("q"))]
VOCABULARY = Vocabulary.from_tokens(
    [
        b"<end>",
        b"<also>",
        b"<control>",
        *BYTES,
        *(token.encode() for token in STRADDLING.split()),
        b"1, 2",
        b"\xc3",
        b"\xa9a",
    ],
    end_ids=[0, 1],
    special_ids=[2],
)
LISTS = {
    "$ref": "#/$defs/list",
    "$defs": {
        "list": {
            "type": "array",
            "items": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/list"}]},
            "maxItems": 3,
        }
    },
}
FAMILY = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 9}, "child": {"$ref": "#"}},
    "required": ["name"],
    "additionalProperties": False,
}
OPEN = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"format": "time", "type": "string"}}}
UNIQUE = {"type": "array", "items": {"type": "array", "uniqueItems": True, "items": {"type": "integer"}}}
GRAMMARS = {example.name: example.text for example in LARK_EXAMPLES}

REGULAR: dict[str, Callable[[], Constraint]] = {
    "alternatives": lambda: compile_regex(r"(a|ab)(c|12)?"),
    "bytes without a token": lambda: compile_regex(r"a(q|b)*"),
    "characters": lambda: compile_regex(r"[é😀a]{0,2}"),
    "choices": lambda: compile_choices(["a", "ab", "b: "]),
    "enum": lambda: compile_json_schema({"enum": ["a", 'a"b', 12]}),
}
NESTED: dict[str, Callable[[], Constraint]] = {
    "lists": lambda: compile_json_schema(LISTS),
    "family": lambda: compile_json_schema(FAMILY),
    "open": lambda: compile_json_schema(OPEN, whitespace="any", key_order="any"),
    "unique": lambda: compile_json_schema(UNIQUE, whitespace="compact"),
    "anything": lambda: compile_json_schema(True, spelling="any"),
    "arithmetic": lambda: compile_lark(GRAMMARS["arithmetic"]),
    "sql": lambda: compile_lark(GRAMMARS["sql_select"]),
    "log": lambda: compile_lark(GRAMMARS["key_value"]),
    "brackets": lambda: compile_gbnf('root ::= "a" root? "b" | "[" (root ",")* "]"'),
    "delimited": lambda: after_delimiter(compile_json_schema(LISTS), "a=", free_after=True),
}


def walks(constraint: Constraint, random: Random, tokens: int = 8) -> list[bytes]:
    """The texts of a random run, one after each token; tokens that spell more are taken more often."""
    masker, state, text, texts = Masker(constraint, VOCABULARY), constraint.start, b"", [b""]
    for _ in range(tokens):
        ids = [int(i) for i in masker.mask(state).ids() if i not in VOCABULARY.end_ids]
        if not ids:
            break
        token_id = max(random.choices(ids, k=3), key=lambda i: len(VOCABULARY.tokens[i]))
        after = masker.advance(state, token_id)
        assert after is not None
        state, text = after, text + VOCABULARY.tokens[token_id]
        texts.append(text)
    return texts


def spelled(chosen: NDArray[np.bool_]) -> set[bytes]:
    return {VOCABULARY.tokens[token_id] for token_id in np.flatnonzero(chosen)} - {b""}


def mask_of(constraint: Constraint, text: bytes) -> NDArray[np.bool_]:
    state = constraint.advance(constraint.start, text)
    assert state is not None
    return Masker(constraint, VOCABULARY).mask(state).to_bool()


# The same mask by every method.


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", REGULAR)
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1000))
def test_every_method_gives_the_maskers_mask(method: str, name: str, seed: int) -> None:
    constraint = REGULAR[name]()
    asked = METHODS[method](constraint, VOCABULARY)
    for text in walks(constraint, Random(seed)):
        assert (asked.mask(text).allowed == mask_of(constraint, text)).all(), text


@pytest.mark.parametrize("method", sorted(METHODS.keys() - {"index"}))
@pytest.mark.parametrize("name", NESTED)
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1000))
def test_with_a_stack_too(method: str, name: str, seed: int) -> None:
    constraint = NESTED[name]()
    asked = METHODS[method](constraint, VOCABULARY)
    for text in walks(constraint, Random(seed)):
        assert (asked.mask(text).allowed == mask_of(constraint, text)).all(), text


@pytest.mark.parametrize("method", [*METHODS, "validator"])
def test_a_text_outside_the_language(method: str) -> None:
    asked = (METHODS | {"validator": Validator})[method](compile_regex("ab"), VOCABULARY)
    with pytest.raises(ValueError, match="leaves the language"):
        asked.mask(b"b")


# The work, counted by hand. The texts are "ab" and "abb".

FIVE = Vocabulary.from_tokens([b"<end>", b"a", b"ab", b"b", b"ba"], end_ids=[0])


def work_of(method: Method, text: bytes) -> tuple[list[int], int, int]:
    answer = method.mask(text)
    return np.flatnonzero(answer.allowed).tolist(), answer.work.checks, answer.work.bytes_read


def test_naive_reads_the_text_again_for_every_token() -> None:
    naive = Naive(compile_regex("ab{1,2}"), FIVE)
    assert work_of(naive, b"") == ([1, 2], 5, 0 + 1 + 2 + 1 + 1)
    # after "a": the end reads a; aa dies at its second byte, so does aab; ab is read; aba dies at its third
    assert work_of(naive, b"a") == ([3], 5, 1 + 2 + 2 + 2 + 3)
    assert work_of(naive, b"ab") == ([0, 3], 5, 2 + 3 + 3 + 3 + 4)
    assert naive.preparation.checks == naive.mask(b"").work.memory_bytes == 0


def test_the_trie_reads_a_shared_beginning_once_and_dismisses_subtrees() -> None:
    trie = TrieWalk(compile_regex("ab{1,2}"), FIVE)
    assert work_of(trie, b"") == ([1, 2], 3, 3)  # a, ab, b; ba falls with b
    assert work_of(trie, b"a") == ([3], 3, 3)  # a, with ab; b, ba
    assert work_of(trie, b"ab") == ([0, 3], 3, 3)
    # 5 nodes with the root (1 byte, depth and skip of 4 bytes each), 6 starts and 4 ids of 4 bytes
    assert trie.mask(b"").work.memory_bytes == trie.preparation.memory_bytes == 5 * 9 + 6 * 4 + 4 * 4


def test_the_index_tries_every_token_in_every_state_beforehand() -> None:
    index = Index(compile_regex("ab{1,2}"), FIVE)
    assert index.states == 4  # before a, after a, ab and abb
    assert index.preparation.checks == 4 * 4
    # a, ab, b, ba from each: 1+2+1+1, 1+1+1+2, 1+1+1+2, 1+1+1+1
    assert index.preparation.bytes_read == 5 + 5 + 5 + 4
    assert index.preparation.memory_bytes == 4 * 1  # five bits fit in a byte
    assert work_of(index, b"") == ([1, 2], 0, 0)
    assert work_of(index, b"ab") == ([0, 3], 0, 0)
    assert work_of(index, b"abb") == ([0], 0, 0)


def test_lazy_does_the_tries_work_once() -> None:
    lazy = Lazy(compile_regex("ab{1,2}"), FIVE)
    before = lazy.preparation.memory_bytes
    assert work_of(lazy, b"") == ([1, 2], 3, 3)
    assert work_of(lazy, b"") == ([1, 2], 0, 0)
    assert lazy.mask(b"").work.memory_bytes == before + 200 + 4  # an entry, and five bits in a word
    assert work_of(lazy, b"ab") == ([0, 3], 3, 3)


def test_lazy_shares_the_masks_of_far_counters() -> None:
    lazy = Lazy(compile_regex("[ab]{0,1000}"), FIVE)
    assert lazy.mask(b"").work.checks == 4
    used = lazy.mask(b"a").work
    assert (used.checks, used.bytes_read) == (0, 0)


@pytest.mark.parametrize("name", NESTED)
def test_lazy_counts_what_the_trie_walk_counts(name: str) -> None:
    constraint = NESTED[name]()
    trie = TrieWalk(constraint, VOCABULARY)
    for text in walks(constraint, Random(3)):
        work, again = Lazy(constraint, VOCABULARY).mask(text).work, trie.mask(text).work
        assert (work.checks, work.bytes_read) == (again.checks, again.bytes_read), text


def test_a_sample_of_tokens() -> None:
    naive = Naive(compile_regex("ab{1,2}"), FIVE, tokens=[2, 3])
    assert work_of(naive, b"") == ([2], 2, 2 + 1)


# What is too much, and what is stopped.


def test_the_index_refuses_a_constraint_without_end() -> None:
    with pytest.raises(BudgetError, match="more than 50 states"):
        Index(compile_json_schema(LISTS), FIVE, most_states=50)


def test_the_index_refuses_one_state_too_many() -> None:
    assert Index(compile_regex("a{9}"), FIVE, most_states=10).states == 10
    with pytest.raises(BudgetError, match="more than 9 states"):
        Index(compile_regex("a{9}"), FIVE, most_states=9)


@pytest.mark.parametrize("asked", [1, 3])
def test_cancelling(asked: int) -> None:
    vocabulary = Vocabulary.from_tokens([b"<end>", b"a", *(b"a%d" % number for number in range(5000))], end_ids=[0])
    questions = 0

    def cancelled() -> bool:
        nonlocal questions
        questions += 1
        return questions == asked

    with pytest.raises(WorkCancelled):
        Naive(compile_regex("a*"), vocabulary, cancelled=cancelled).mask(b"aa")
    assert questions == asked
    questions = 0
    with pytest.raises(WorkCancelled):
        Index(compile_regex("a*"), vocabulary, cancelled=cancelled)


# Valid already is not the question.


def test_a_validator_lets_nothing_begin() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    constraint = compile_json_schema(schema)
    validator, naive = Validator(constraint, VOCABULARY), Naive(constraint, VOCABULARY)
    assert not validator.mask(b"").allowed.any()
    assert naive.mask(b"").allowed.any()
    text = b'{"a": 1'
    assert spelled(validator.mask(text).allowed) == {b"}"}
    assert {b"}", b"0", b"12", b","} <= spelled(naive.mask(text).allowed)


@pytest.mark.parametrize("text", [b"", b'{"name"', b'{"name": "a"', b'{"name": "a"}'])
def test_a_validator_allows_what_is_accepted(text: bytes) -> None:
    constraint = compile_json_schema(FAMILY)
    allowed = Validator(constraint, VOCABULARY).mask(text).allowed
    for token_id, token in enumerate(VOCABULARY.tokens):
        is_end = token_id in VOCABULARY.end_ids
        expected = (bool(token) or is_end) and constraint.check(text + token).kind == "accepted"
        assert allowed[token_id] == expected, token


# Frames, and what needs them.


@pytest.mark.parametrize(
    ("schema", "text", "depth"),
    [
        (LISTS, "", 1),
        (LISTS, "[", 1),
        (LISTS, "[1", 2),  # the number, the list
        (LISTS, "[1, ", 1),
        (LISTS, "[1, [2, [3", 4),
        (LISTS, "[1, [2, [3]", 2),
        (LISTS, "[1, [2, [3]]", 1),
        (LISTS, "[[[]]]", 1),  # nothing is left
        (FAMILY, '{"na', 1),
        (FAMILY, '{"name": "a', 2),
        (FAMILY, '{"name": "a"', 1),
        (FAMILY, '{"name": "a", "child": {"na', 2),
        (FAMILY, '{"name": "a", "child": {"name": "b', 3),
        (True, '{"x": [1, {"y": [[tru', 6),
    ],
)
def test_one_frame_for_each_open_value(schema: Any, text: str, depth: int) -> None:
    assert len(frames(compile_json_schema(schema), text.encode())) == depth


@pytest.mark.parametrize("name", [*REGULAR, *NESTED])
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1000))
def test_the_frames_in_a_row_are_the_state(name: str, seed: int) -> None:
    constraint = (REGULAR | NESTED)[name]()
    masker = Masker(constraint, VOCABULARY)
    arena = constraint.automaton.arena
    for text in walks(constraint, Random(seed)):
        state = constraint.advance(constraint.start, text)
        whole = Automaton(arena, arena.concat(frames(constraint, text)))
        nodes = TrieWalk(Constraint(constraint.kind, whole, constraint.report), VOCABULARY)
        assert (nodes.mask(b"").allowed == masker.mask(state).to_bool()).all(), text


def test_frames_of_a_text_outside_the_language() -> None:
    with pytest.raises(ValueError, match="leaves the language"):
        frames(compile_json_schema(LISTS), b"[1}")


def decided(fates: Fates, fate: Fate) -> set[bytes]:
    return spelled(fates.of == fate)


@pytest.mark.parametrize("name", [*REGULAR, *NESTED])
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1000))
def test_a_fate_without_the_stack_is_the_fate(name: str, seed: int) -> None:
    constraint = (REGULAR | NESTED)[name]()
    context = ContextIndependence(constraint, VOCABULARY)
    for text in walks(constraint, Random(seed)):
        fates, allowed = context.after(text), mask_of(constraint, text)
        assert allowed[fates.of == Fate.ACCEPTED].all(), text
        assert not allowed[fates.of == Fate.REJECTED].any(), text
        assert sum(map(fates.count, Fate)) == VOCABULARY.size
        assert fates.share == 1 - fates.count(Fate.NEEDS_STACK) / VOCABULARY.size


def test_inside_a_string_only_what_goes_beyond_the_quote_needs_the_stack() -> None:
    context = ContextIndependence(compile_json_schema(FAMILY), VOCABULARY)
    fates = context.after(b'{"name": "a", "child": {"name": "b')
    assert decided(fates, Fate.NEEDS_STACK) == {b'",', b'"}'}
    assert {b'"', b'a"', b'{"', b"aa", b"}]", b"1, 2", b'\\"'} <= decided(fates, Fate.ACCEPTED)
    # A colon or another string right behind a value is no JSON, whatever the stack.
    assert {b"\n", b'":', b'"a":'} <= decided(fates, Fate.REJECTED)


def test_whether_a_bracket_fits_is_known_to_the_stack_alone() -> None:
    constraint = compile_json_schema(LISTS)
    context = ContextIndependence(constraint, VOCABULARY)
    double = VOCABULARY.tokens.index(b"]]")
    shallow, deep = context.after(b"[1"), context.after(b"[0, [1")
    assert (shallow.of == deep.of).all(), "the frame on top is the same"
    assert shallow.of[double] == Fate.NEEDS_STACK
    assert not mask_of(constraint, b"[1")[double]
    assert mask_of(constraint, b"[0, [1")[double]
    # The list on top: its own bracket is its own matter, the next one is not.
    assert context.after(b"[0, [1]").of[VOCABULARY.tokens.index(b"]")] == Fate.ACCEPTED
    assert context.after(b"[0, [1]").of[double] == Fate.NEEDS_STACK
    assert context.after(b"[0, [1]").of[0] == Fate.REJECTED
    assert context.after(b"[0, [1]]").of[0] == Fate.NEEDS_STACK, "as far as the text goes it could stand in a list"


@pytest.mark.parametrize("name", sorted(REGULAR.keys() - {"enum"}))
def test_without_rules_there_is_no_stack(name: str) -> None:
    constraint = REGULAR[name]()
    context = ContextIndependence(constraint, VOCABULARY)
    for text in walks(constraint, Random(1)):
        fates = context.after(text)
        assert fates.share == 1
        assert ((fates.of == Fate.ACCEPTED) == mask_of(constraint, text)).all()


def test_what_stands_behind_a_call_is_what_may_follow() -> None:
    context = ContextIndependence(compile_gbnf('root ::= "(" item ")"\nitem ::= [a-z]+ | "(" item ")"'), VOCABULARY)
    fates = context.after(b"(a")
    assert {b")", b"))"} <= decided(fates, Fate.NEEDS_STACK)
    assert b")+" in decided(fates, Fate.REJECTED), "nothing in the grammar puts a plus behind a bracket"
    assert b"a" in decided(fates, Fate.ACCEPTED)


def test_frames_in_words() -> None:
    fates = ContextIndependence(compile_json_schema(FAMILY), VOCABULARY).after(b'{"name": "a", "child": {"name": "b')
    assert fates.frames == ("rest of <string>", ', "child" }', " }")
