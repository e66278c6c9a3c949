"""Distances to acceptance against a search over token strings, and runs that must close in time.

The search knows nothing of forms and bounds: it takes tokens with `Masker.advance`, one by one, breadth first.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import Budget, ConstraintError, compile_json_schema, compile_regex
from engine.masking import Masker, Place
from engine.masking.distance import FAR, CloseInTime, Distance, Distances
from engine.vocabulary import Vocabulary
from tests.unit.random_schemas import schemas

BUDGET = Budget(seconds=5, terms=400_000, states=40_000)
BYTES = [bytes([byte]) for byte in range(256) if byte != 0xF1]
STRADDLING = b'{" ":" ": ", "," } "} ] ["]} {"a": {"a":1 a" ab ":[ "] true} null, "a","b" aaaa bb 00 {}} ""]'.split()
JSON = Vocabulary.from_tokens(
    [b"<end>", b"<end too>", b"<control>", *BYTES, *STRADDLING], end_ids=[0, 1], special_ids=[2]
)
PIECES = st.lists(st.text("abc", min_size=2, max_size=4).map(str.encode), max_size=8, unique=True)


def vocabulary_of(*tokens: bytes) -> Vocabulary:
    return Vocabulary.from_tokens([b"<end>", *BYTES, *tokens], end_ids=[0])


def searched(masker: Masker, start: int) -> int:
    """The fewest tokens to acceptance, the end token included."""
    layer, seen, tokens = [start], {start}, 1
    while not any(masker.automaton.is_accepting(state) for state in layer):
        reached = {masker.advance(state, token_id) for state in layer for token_id in masker.mask(state).ids().tolist()}
        layer = [state for state in reached if state is not None and state not in seen]
        seen.update(layer)
        tokens += 1
    return tokens


def reached(masker: Masker, most: int) -> list[int]:
    """Some states that tokens lead to from the start."""
    states = [masker.constraint.start]
    for state in states:
        for token_id in masker.mask(state).ids().tolist():
            after = masker.advance(state, token_id)
            if after is not None and after not in states and len(states) < most:
                states.append(after)
    return states


def run(masker: Masker, limit: int, random: Random, start: int | None = None) -> list[int]:
    """Token ids of a random run that keeps to the narrowed mask, the end token included; it must end accepted."""
    closing = CloseInTime(masker)
    begin = masker.constraint.start if start is None else start
    state, tokens = begin, list[int]()
    for remaining in range(limit, 0, -1):
        allowed = masker.mask(state).to_bool()
        place = Place(begin, 0, tuple(tokens), state, remaining)
        narrowed = closing.narrow(allowed, place)
        assert not (narrowed & ~allowed).any()
        assert narrowed.any(), "a run that could close is never stuck"
        ids = np.flatnonzero(narrowed).tolist()
        going_on = [token_id for token_id in ids if token_id not in masker.vocabulary.end_ids]
        tokens.append(random.choice(going_on if going_on and random.random() < 0.9 else ids))
        if tokens[-1] in masker.vocabulary.end_ids:
            return tokens
        after = masker.advance(state, tokens[-1])
        assert after is not None
        state = after
    raise AssertionError("the run met its limit")


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(
    PIECES, st.sampled_from(["(ab|c){2,5}a", "a{3}b*|c{7}", "[abc]*abcabc", "a?b?c?", "(a|bb|ccc){4}", "ab{2,9}(ca)?"])
)
def test_exact_distances_are_those_of_a_search(pieces: list[bytes], pattern: str) -> None:
    masker = Masker(compile_regex(pattern), Vocabulary.from_tokens([b"<end>", b"a", b"b", b"c", *pieces], end_ids=[0]))
    distances = Distances.of(masker)
    for state in reached(masker, 12):
        assert distances.tokens_to_acceptance(state) == Distance(searched(masker, state), exact=True)
        bounds = distances.after(state)
        assert bounds.exact
        for token_id in range(masker.vocabulary.size):
            after = masker.advance(state, token_id)
            if token_id in masker.vocabulary.end_ids:
                assert bounds.tokens[token_id] == (0 if after is not None else FAR)
            else:
                assert bounds.tokens[token_id] == (FAR if after is None else searched(masker, after))


SCHEMAS: dict[str, Any] = {
    "recursion": {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"a": {"type": "string", "maxLength": 9}, "b": {"$ref": "#/$defs/node"}},
                "required": ["a"],
                "additionalProperties": False,
            }
        },
    },
    "nested lists": {"$ref": "#/$defs/list", "$defs": {"list": {"type": "array", "items": {"$ref": "#/$defs/list"}}}},
    "a long string": {"type": "object", "properties": {"a": {"type": "string", "minLength": 50}}, "required": ["a"]},
    "bounds far apart": {"type": "array", "items": {"type": "string", "minLength": 7, "maxLength": 40}, "minItems": 2},
    "undeclared keys": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    "many undeclared keys": {"type": "object", "minProperties": 3, "additionalProperties": {"type": "boolean"}},
    "names of a pattern": {
        "type": "object",
        "patternProperties": {"^(a|b|ab|aaaaaaaa)$": True},
        "additionalProperties": False,
        "minProperties": 3,
    },
    "unique strings": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 3},
    "unique choices": {"enum": [["a"], ["b"]]},
    "unique words": {
        "type": "array",
        "items": {"enum": ["a", "b", "a much longer word", None]},
        "uniqueItems": True,
        "minItems": 3,
    },
    "contains": {"type": "array", "contains": {"type": "null"}, "minContains": 2, "uniqueItems": False},
    "choices": {"enum": ["a", "ab", "aaaa", 12, 1200, None, {"a": [True]}]},
    "exclusive": {"oneOf": [{"type": "string", "minLength": 3}, {"type": "array", "minItems": 4}, {"const": "abab"}]},
}


@pytest.mark.parametrize("objects", ["open", "closed"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_every_run_closes_in_time(name: str, objects: Any) -> None:
    masker = Masker(compile_json_schema(SCHEMAS[name], objects=objects), JSON)
    least = CloseInTime(masker).distance(masker.constraint.start).tokens
    for seed, limit in enumerate([least, least, least + 1, least + 2, least + 5, least + 20]):
        tokens = run(masker, limit, Random(seed))
        assert len(tokens) <= limit
        text = b"".join(masker.vocabulary.tokens[token_id] for token_id in tokens)
        assert masker.constraint.check(text).kind == "accepted"


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(schemas(depth=2), st.integers(0, 2**32))
def test_runs_of_random_schemas_close_in_time(schema: Any, seed: int) -> None:
    random = Random(seed)
    try:
        masker = Masker(compile_json_schema(schema, budget=BUDGET), JSON)
        least = CloseInTime(masker).distance(masker.constraint.start)
        for more in (0, 1, 4):
            run(masker, least.tokens + more, random)
        if least.tokens <= 4:
            assert searched(masker, masker.constraint.start) in range(least.tokens * least.exact, least.tokens + 1)
    except ConstraintError:  # too large, or a part that no text had come to before
        return


def test_the_shortest_text_of_a_long_string_takes_few_tokens() -> None:
    # {"a":"  and "} are tokens of their own, between them 50 bytes: six runs of eight spaces and one of two.
    vocabulary = vocabulary_of(b'{"a":"', b'"}', b" " * 8, b" " * 2, b"0" * 3)
    masker = Masker(compile_json_schema(SCHEMAS["a long string"], objects="closed"), vocabulary)
    distances = Distances.of(masker)
    assert distances.tokens_to_acceptance(masker.constraint.start).tokens == 1 + 6 + 1 + 1 + 1
    state = masker.constraint.advance(masker.constraint.start, b'{"a":"')
    assert state is not None
    assert (
        distances.after(state).tokens[vocabulary.tokens.index(b"0" * 3)] == 5 + 3 + 1 + 1 + 1
    )  # 47 is 5 * 8 + 3 * 2 + 1


def test_a_bound_is_labelled_and_one_token_is_seen_at_once() -> None:
    # The shortest texts are {} and the like, two tokens; the token ":" is a text of its own.
    distances = Distances.of(Masker(compile_json_schema({"exclusiveMaximum": -2}), vocabulary_of(b'":"')))
    assert distances.tokens_to_acceptance(distances.automaton.start) == Distance(2, exact=True)
    # Ten items of three bytes in brackets and with commas; with a token for two of them it is fewer than that.
    schema = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 10}
    start = Distances.of(Masker(compile_json_schema(schema), vocabulary_of(b'"a",', b'"a","a",')))
    assert not start.tokens_to_acceptance(start.automaton.start).exact


def test_a_limit_below_the_smallest_leaves_nothing() -> None:
    masker = Masker(compile_regex("a{5}"), vocabulary_of(b"aa"))
    closing, start = CloseInTime(masker), masker.constraint.start
    assert closing.distance(start) == Distance(4, exact=True)
    allowed = masker.mask(start).to_bool()
    assert not closing.narrow(allowed, Place(start, 0, (), start, 3)).any()
    assert np.flatnonzero(closing.narrow(allowed, Place(start, 0, (), start, 4))).tolist() == [
        masker.vocabulary.tokens.index(b"a"),
        masker.vocabulary.tokens.index(b"aa"),
    ]
    assert closing.narrow(allowed, Place(start, 0, (), start, 5)) is allowed


def test_the_end_token_counts() -> None:
    masker = Masker(compile_regex("a*"), vocabulary_of())
    closing, start = CloseInTime(masker), masker.constraint.start
    allowed = masker.mask(start).to_bool()
    assert np.flatnonzero(closing.narrow(allowed, Place(start, 0, (), start, 1))).tolist() == [0]
    assert not closing.narrow(allowed, Place(start, 0, (), start, 0)).any()


def test_a_healed_run_closes_in_time() -> None:
    constraint = compile_json_schema(SCHEMAS["bounds far apart"])
    masker = Masker(constraint, JSON)
    with constraint.automaton.lock:
        arena = constraint.automaton.arena
        begun = arena.seq(arena.literal(b'{"a'), constraint.automaton.root)
        start = constraint.automaton._number(begun)
    least = CloseInTime(masker).distance(start).tokens
    for more in range(4):
        run(masker, least + more, Random(more), start)


@pytest.mark.parametrize("name", ["bounds far apart", "a long string", "many undeclared keys", "unique strings"])
def test_what_was_asked_before_does_not_matter(name: str) -> None:
    masker = Masker(compile_json_schema(SCHEMAS[name]), JSON)
    least = CloseInTime(masker).distance(masker.constraint.start).tokens
    tokens = run(masker, least + 3, Random(1))
    narrowed = list(masks_along(masker, tokens, least + 3))
    # Another process: states are visited backwards, after other runs, and nothing is remembered for long.
    other = Masker(compile_json_schema(SCHEMAS[name]), JSON)
    for seed in range(2, 4):
        run(other, least + 4, Random(seed))
    Distances.of(other)._kept = 1
    assert [mask.tolist() for mask in masks_along(other, tokens, least + 3, backwards=True)] == [
        mask.tolist() for mask in narrowed
    ]


def masks_along(masker: Masker, tokens: list[int], limit: int, backwards: bool = False) -> list[Any]:
    """The narrowed masks of a run, asked from its start or from its end."""
    closing, start = CloseInTime(masker), masker.constraint.start
    states = [start]
    for token_id in tokens[:-1]:
        after = masker.advance(states[-1], token_id)
        assert after is not None
        states.append(after)
    masks = {}
    for index in reversed(range(len(states))) if backwards else range(len(states)):
        place = Place(start, 0, tuple(tokens[:index]), states[index], limit - index)
        masks[index] = closing.narrow(masker.mask(states[index]).to_bool(), place)
    return [masks[index] for index in range(len(states))]


def test_distances_along_a_run_fall_to_one() -> None:
    masker = Masker(compile_json_schema({"enum": ["aaaa", "bb"]}), JSON)
    states = [masker.constraint.start]
    for byte in b'"bb"':
        states.append(masker.automaton.step(states[-1], byte))
    assert Distances.of(masker).along(states) == [Distance(tokens, exact=True) for tokens in (4, 3, 3, 2, 1)]
