"""Traces and specs as files: what is saved comes back, and nothing broken gets through."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoding import trace as trace_module
from engine.decoding.decoder import Decoder
from engine.decoding.errors import SpecError, TraceError
from engine.decoding.records import ConstraintSource, RunSpec, Sampler, Trace
from engine.decoding.spec import MAX_SEED, run_id, spec_from_dict, spec_to_dict
from engine.decoding.trace import load_trace, save_trace
from engine.vocabulary import Vocabulary
from tests.unit.fake_model import FakeModel
from tests.unit.tiny_dfa import constraint_of, word_dfa

TOKENS = [b"<end>", b"<special>", b"a", b"b", "é".encode(), b"\xc3", b"\xa9"]
VOCABULARY = Vocabulary.from_tokens(TOKENS, end_ids=[0], special_ids=[1])

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
sources = st.builds(
    ConstraintSource,
    kind=st.sampled_from(["json_schema", "regex"]),
    text=texts,
    options=st.dictionaries(texts, texts, max_size=3).map(lambda options: tuple(options.items())),
    after=texts,
    free_after=st.booleans(),
)
samplers = st.builds(
    Sampler,
    temperature=st.floats(0, 100),
    top_k=st.integers(0, 1000),
    top_p=st.floats(0, 1, exclude_min=True),
    seed=st.integers(0, MAX_SEED),
    min_p=st.floats(0, 1),
)
choices = st.dictionaries(st.integers(0, 1000), st.integers(0, 50_000), max_size=4)
specs = st.builds(
    RunSpec,
    prompt=texts,
    constraint=st.none() | sources,
    chat_template=st.booleans(),
    sampler=samplers,
    max_tokens=st.integers(1, 10_000),
    choices=choices.map(lambda taken: tuple(sorted(taken.items()))),
    model=texts,
    policy=st.sampled_from(["bridging", "aligned", "canonical"]),
    healing=st.integers(0, 100) | st.just("auto"),
    jump_forward=st.sampled_from(["off", "safe", "naive"]),
    close_in_time=st.booleans(),
)


@pytest.fixture(scope="module")
def trace() -> Trace:
    spec = RunSpec("héllo wörld", ConstraintSource("regex", "aé|bé"), sampler=Sampler(temperature=1.0), max_tokens=9)
    run = Decoder(FakeModel(VOCABULARY), spec, constraint_of(word_dfa("aé".encode(), "bé".encode())))
    list(run.run())
    assert run.finish == "complete"
    return run.trace


def repacked(trace: Trace, **changes: Any) -> bytes:
    value = json.loads(gzip.decompress(save_trace(trace)))
    return gzip.compress(json.dumps(value | changes).encode())


def test_a_trace_comes_back(trace: Trace) -> None:
    loaded = load_trace(save_trace(trace))
    assert loaded == trace
    assert [step.seconds for step in loaded.steps] == [step.seconds for step in trace.steps]
    assert loaded.text == trace.text


def test_unfinished_and_free_traces_come_back() -> None:
    for constraint in (None, ConstraintSource("regex", "ab")):
        run = Decoder(FakeModel(VOCABULARY), RunSpec("x", constraint, max_tokens=3), constraint_of(word_dfa(b"ab")))
        assert load_trace(save_trace(run.trace)) == run.trace
        run.step()
        assert load_trace(save_trace(run.trace)) == run.trace


def test_the_same_trace_gives_the_same_bytes(trace: Trace) -> None:
    assert save_trace(trace) == save_trace(load_trace(save_trace(trace)))


def test_every_cut_and_every_flipped_byte_is_noticed(trace: Trace) -> None:
    data = save_trace(trace)
    for end in range(0, len(data), 7):
        with pytest.raises(TraceError):
            load_trace(data[:end])
    for place in range(10, len(data), 5):  # the first ten bytes are gzip's own header
        with pytest.raises(TraceError):
            load_trace(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])


def test_other_files_and_versions_are_refused(trace: Trace) -> None:
    with pytest.raises(TraceError, match="not a Maskscope trace"):
        load_trace(b"hello")
    with pytest.raises(TraceError, match="not a Maskscope trace"):
        load_trace(gzip.compress(b"[1]"))
    with pytest.raises(TraceError, match="not JSON"):
        load_trace(gzip.compress(b"[" * 100_000))
    with pytest.raises(TraceError, match="version 1; this Maskscope reads 2"):
        load_trace(repacked(trace, version=1))
    with pytest.raises(TraceError, match="something follows"):
        load_trace(save_trace(trace) + b"x")


def test_bombs_are_refused(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_module, "MAX_UNPACKED", 10_000)
    with pytest.raises(TraceError, match="unpacks to more"):
        load_trace(gzip.compress(b" " * 20_000))
    monkeypatch.setattr(trace_module, "MAX_PACKED", 10)
    with pytest.raises(TraceError, match="larger than"):
        load_trace(save_trace(trace))


@pytest.mark.parametrize(
    "changes",
    [
        {"steps": 3},
        {"steps": [{}]},
        {"steps": [[]]},
        {"finish": "bored"},
        {"finish": []},
        {"model": None},
        {"vocabulary_size": -1},
        {"vocabulary_size": 10**300},
        {"prompt_tokens": [[1]]},
        {"prompt_tokens": [[1, "\u0100"]]},
        {"missing": "\ud800"},
        {"run_id": "000000000000"},
        {"spec": {}},
    ],
)
def test_wrong_values_are_damage(trace: Trace, changes: dict[str, Any]) -> None:
    with pytest.raises(TraceError, match="damaged"):
        load_trace(repacked(trace, **changes))


@pytest.mark.parametrize(
    "field", ["index", "token", "kind", "end", "origins", "candidates", "z", "seconds", "top2_gap"]
)
def test_wrong_values_in_a_step_are_damage(trace: Trace, field: str) -> None:
    steps = json.loads(gzip.decompress(save_trace(trace)))["steps"]
    steps[1][field] = {"x": "y"}
    with pytest.raises(TraceError, match="damaged"):
        load_trace(repacked(trace, steps=steps))
    del steps[1][field]
    with pytest.raises(TraceError, match=f"'{field}' is missing"):
        load_trace(repacked(trace, steps=steps))


@given(specs)
def test_a_spec_comes_back(spec: RunSpec) -> None:
    value = json.loads(json.dumps(spec_to_dict(spec)))
    assert spec_from_dict(value) == spec
    assert run_id(spec_from_dict(value)) == run_id(spec)


REGEX = {"kind": "regex", "text": "", "options": {}, "after": "", "free_after": False}
SAMPLER = {"temperature": 1, "top_k": 0, "top_p": 1, "seed": 0, "min_p": 0}


def test_run_ids_differ_where_specs_do() -> None:
    spec = RunSpec("x")
    assert run_id(spec) == run_id(RunSpec("x", sampler=Sampler(temperature=0)))
    others = [
        replace(spec, prompt="y"),
        replace(spec, sampler=Sampler(seed=1)),
        replace(spec, choices=((0, 1),)),
        replace(spec, constraint=ConstraintSource("regex", "")),
        replace(spec, constraint=ConstraintSource("regex", "", after="</think>")),
        replace(spec, policy="aligned"),
        replace(spec, healing=1),
        replace(spec, jump_forward="safe"),
        replace(spec, close_in_time=True),
    ]
    assert len({run_id(other) for other in [spec, *others]}) == 10


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("prompt", 3, "prompt"),
        ("prompt", "\ud800", "surrogate"),
        ("constraint", REGEX | {"kind": "exec"}, "kind"),
        ("constraint", {"kind": "regex", "text": "", "after": "", "free_after": False}, "lacks options"),
        ("constraint", REGEX | {"options": []}, "options"),
        ("constraint", REGEX | {"after": 1}, "constraint.after"),
        ("constraint", REGEX | {"free_after": "yes"}, "constraint.free_after"),
        ("constraint", [], "object"),
        ("chat_template", 1, "chat_template"),
        ("sampler", SAMPLER | {"temperature": -1}, "temperature"),
        ("sampler", SAMPLER | {"top_p": 0}, "top_p"),
        ("sampler", SAMPLER | {"top_p": float("nan")}, "top_p"),
        ("sampler", SAMPLER | {"top_k": True}, "top_k"),
        ("sampler", SAMPLER | {"seed": 2**53}, "seed"),
        ("sampler", SAMPLER | {"min_p": 1.5}, "min_p"),
        ("max_tokens", 0, "max_tokens"),
        ("max_tokens", 10**9, "max_tokens"),
        ("policy", "strict", "policy"),
        ("healing", -1, "healing"),
        ("healing", "always", "healing"),
        ("jump_forward", True, "jump_forward"),
        ("close_in_time", 1, "close_in_time"),
        ("choices", [[0]], "pair"),
        ("choices", [[1, 2], [0, 2]], "order"),
        ("choices", [[0, 2], [0, 3]], "order"),
        ("more", 1, "unknown field 'more'"),
    ],
)
def test_wrong_specs_name_the_field(field: str, value: Any, said: str) -> None:
    fields = json.loads(json.dumps(spec_to_dict(RunSpec("x")))) | {field: value}
    with pytest.raises(SpecError, match=said):
        spec_from_dict(fields)
    with pytest.raises(SpecError, match="must be an object"):
        spec_from_dict([])
