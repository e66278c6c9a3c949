"""Mask policies on the bundled model's vocabulary and on real runs."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from engine import Masker, compile_json_schema, compile_regex
from engine.constraint import Constraint
from engine.decoding.decoder import Decoder
from engine.decoding.records import ConstraintSource, Policy, RunSpec
from engine.examples import example
from engine.masking import Place
from engine.masking.canonical_policy import CanonicalOnly
from engine.masking.terminals import Aligned
from engine.model.model import Model

pytestmark = pytest.mark.model

SCHEMA = (
    '{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"]}'
)
BRACE_QUOTE, QUOTE_COMMA, SPACE_QUOTE, QUOTE_COLON = 39428, 1002, 476, 1799
TERMINAL = re.compile(rb'[{}\[\],:]|"(?:[^"\\]|\\.)*(?:"|$)|[-0-9][-+.eE0-9]*|[a-z]+|[ \t\r\n]+')


@pytest.fixture(scope="module")
def masker(model: Model) -> Masker:
    spelled = [model.vocabulary.tokens[i] for i in (BRACE_QUOTE, QUOTE_COMMA, SPACE_QUOTE, QUOTE_COLON)]
    assert spelled == [b'{"', b'",', b' "', b'":']
    return Masker(compile_json_schema(SCHEMA), model.vocabulary)


def place_after(constraint: Constraint, ids: tuple[int, ...], text: bytes) -> Place:
    state = constraint.advance(constraint.start, text)
    assert state is not None
    return Place(constraint.start, 0, ids, state, remaining=100)


def ids_of(model: Model, text: bytes) -> tuple[int, ...]:
    ids = model.canonical.encode(text)
    assert ids is not None
    return ids


def test_aligned_forbids_the_tokens_that_cross(model: Model, masker: Masker) -> None:
    policy = Aligned(masker)

    def kept(text: bytes) -> set[int]:
        place = place_after(masker.constraint, ids_of(model, text), text)
        return set(policy.narrow(masker.mask(place.state).to_bool(), place).nonzero()[0].tolist())

    (brace,), (quote,) = ids_of(model, b"{"), ids_of(model, b'"')
    assert kept(b"") == {brace}
    assert BRACE_QUOTE in masker.mask(masker.constraint.start)
    inside = kept(b'{"name": "Ada')
    assert quote in inside
    assert not inside & {QUOTE_COMMA, QUOTE_COLON}
    assert SPACE_QUOTE in inside  # a space, and the end of the string
    assert SPACE_QUOTE not in kept(b'{"name":')


def test_canonical_keeps_the_canonical_path(model: Model, masker: Masker) -> None:
    policy = CanonicalOnly(masker, model.canonical)
    text = '{"name": "Ada Lovelace é😀", "age": 36}'.encode()
    ids = ids_of(model, text)
    for position, token_id in enumerate(ids):
        before = b"".join(model.vocabulary.tokens[i] for i in ids[:position])
        place = place_after(masker.constraint, ids[:position], before)
        assert policy.narrow(masker.mask(place.state).to_bool(), place)[token_id]
    assert 0 < policy.work.encodings < len(ids) * model.vocabulary.size / 3
    assert policy.work.seconds > 0


@pytest.mark.parametrize("text", ["x = f(a)", "the  quick brown fo", '{"a": [1, 2, {"b": "don\'t'])
def test_canonical_by_windows_and_joins_is_canonical_by_whole_texts(model: Model, text: str) -> None:
    constraint = compile_regex("(?s:.*)")
    masker = Masker(constraint, model.vocabulary)
    place = place_after(constraint, ids_of(model, text.encode()), text.encode())
    allowed = masker.mask(place.state).to_bool()
    kept = CanonicalOnly(masker, model.canonical).narrow(allowed, place)
    for token_id in np.flatnonzero(allowed)[::29].tolist():
        token = model.vocabulary.tokens[token_id]
        if token.decode(errors="ignore").encode() == token and token and not token[-1:].isspace():
            own = model.canonical.encode(text.encode() + token)
            assert kept[token_id] == (own == (*place.tokens, token_id)), token


def test_canonical_forbids_what_the_tokenizer_would_join(model: Model, masker: Masker) -> None:
    policy = CanonicalOnly(masker, model.canonical)
    n, a = (ids_of(model, token)[0] for token in (b"n", b"a"))
    place = place_after(masker.constraint, (BRACE_QUOTE, n), b'{"n')
    allowed = masker.mask(place.state).to_bool()
    assert allowed[a]
    assert not policy.narrow(allowed, place)[a]  # `na` is one token


def test_canonical_looks_at_what_the_constraint_demands_next(model: Model, masker: Masker) -> None:
    policy = CanonicalOnly(masker, model.canonical)
    (quote,) = ids_of(model, b'"')
    before = (BRACE_QUOTE, *ids_of(model, b"name"))
    place = place_after(masker.constraint, before, b'{"name')
    kept = policy.narrow(masker.mask(place.state).to_bool(), place)
    assert kept[QUOTE_COLON]
    assert not kept[quote]  # now `:` would follow, which the tokenizer joins
    place = place_after(masker.constraint, (*before, quote), b'{"name"')
    assert not policy.narrow(masker.mask(place.state).to_bool(), place).any()


def test_canonical_goes_on_after_a_token_off_the_path(model: Model, masker: Masker) -> None:
    policy = CanonicalOnly(masker, model.canonical)
    brace, quote, name = (ids_of(model, token)[0] for token in (b"{", b'"', b"name"))
    place = place_after(masker.constraint, (brace, quote), b'{"')
    assert policy.narrow(masker.mask(place.state).to_bool(), place)[name]
    place = place_after(masker.constraint, (brace, quote, name, quote), b'{"name"')
    assert not policy.narrow(masker.mask(place.state).to_bool(), place).any()
    colon = ids_of(model, b":")[0]
    place = place_after(masker.constraint, (brace, quote, name, quote, colon), b'{"name":')
    assert policy.narrow(masker.mask(place.state).to_bool(), place)[SPACE_QUOTE]


CLOSED = (
    '{"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}, '
    '"kind": {"const": "person of interest"}, "n": {"type": "integer"}}, '
    '"required": ["name", "kind", "n"], "additionalProperties": false}'
)


@pytest.mark.parametrize("options", [(), (("whitespace", "any"),)])
def test_a_run_with_forced_words_stays_on_the_canonical_path(
    model: Model, options: tuple[tuple[str, str], ...]
) -> None:
    source = ConstraintSource("json_schema", CLOSED, options)
    spec = RunSpec("Describe Ann, 31, as JSON", source, max_tokens=40, policy="canonical")
    run = Decoder(model, spec)
    steps = list(run.run())
    assert run.finish == "complete"
    assert not any(step.fallback for step in steps)
    ids = tuple(step.token_id for step in steps if not step.end)
    assert model.canonical.encode(b"".join(step.token for step in steps if not step.end)) == ids


@pytest.mark.parametrize("policy", ["aligned", "canonical"])
def test_runs_keep_to_their_policy(model: Model, policy: Policy) -> None:
    run = Decoder(model, replace(example("Person record").spec(), policy=policy, max_tokens=25))
    list(run.run())
    tokens = [step.token if not step.end else b"" for step in run.trace.steps]
    text = b"".join(tokens)
    put_aside = any(step.fallback for step in run.trace.steps)
    assert not put_aside
    if policy == "canonical":
        assert model.canonical.encode(text) == tuple(step.token_id for step in run.trace.steps if not step.end)
        return
    spans = [match.span() for match in TERMINAL.finditer(text)]
    offset = 0
    for token in tokens:
        assert not token or any(start <= offset and offset + len(token) <= end for start, end in spans)
        offset += len(token)
