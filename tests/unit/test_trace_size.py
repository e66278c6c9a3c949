"""A trace is a summary: 300 steps are at most 3 MB in memory and 1 MB as a file, also where the model wants little of
what the mask allows, so that a step keeps both its favourites and the allowed ones."""

from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from engine.decoding.decoder import Decoder
from engine.decoding.records import ConstraintSource, RunSpec, Sampler, Trace
from engine.decoding.trace import load_trace, save_trace
from engine.vocabulary import Vocabulary
from tests.unit.fake_model import FakeModel
from tests.unit.tiny_dfa import TinyDfa, constraint_of

STEPS = 300
LETTERS = [bytes([a, b, c]) for a in b"abcdefghij" for b in b"abcdefghij" for c in b"abcdefghijklmnopqrst"]
TOKENS = [b"<end>", b"z", *LETTERS]
VOCABULARY = Vocabulary.from_tokens(TOKENS, end_ids=[0], special_ids=[])


def in_memory(value: object, met: set[int], apart: frozenset[int]) -> int:
    """Bytes of a value and all it holds, each object once; those `apart` belong to somebody else."""
    if id(value) in met or id(value) in apart:
        return 0
    met.add(id(value))
    size = sys.getsizeof(value)
    if is_dataclass(value):
        return size + sum(in_memory(getattr(value, field.name), met, apart) for field in fields(value))
    if isinstance(value, dict):
        return size + sum(in_memory(part, met, apart) for pair in value.items() for part in pair)
    if isinstance(value, (tuple, list)):
        return size + sum(in_memory(part, met, apart) for part in value)
    return size


def noise(ids: tuple[int, ...]) -> np.ndarray:
    """Logits that tell tokens apart, and never the z that would end the run."""
    logits = np.random.default_rng(ids).normal(size=VOCABULARY.size) * 3
    logits[1] = -1000.0
    return logits


def run(allowed: bytes) -> Trace:
    """300 steps in which tokens of `allowed` letters may be taken, and the model's logits are noise."""
    loop = TinyDfa({0: {**dict.fromkeys(allowed, 0), ord("z"): 1}, 1: {}}, frozenset([1]))
    spec = RunSpec("one", ConstraintSource("regex", "."), sampler=Sampler(1.0, seed=1), max_tokens=STEPS)
    decoder = Decoder(FakeModel(VOCABULARY, noise), spec, constraint_of(loop))
    assert len(list(decoder.run())) == STEPS
    return decoder.trace


@pytest.mark.parametrize(("allowed", "candidates"), [(b"abcdefghijklmnopqrst", 24), (b"acegi", 48)])
def test_a_trace_of_300_steps(allowed: bytes, candidates: int) -> None:
    trace = run(allowed)
    kept = np.mean([len(step.candidates) for step in trace.steps])
    assert candidates - 4 <= kept <= candidates + 1
    packed = save_trace(trace)
    assert len(packed) <= 1e6
    assert in_memory(trace, set(), frozenset(map(id, VOCABULARY.tokens))) <= 3e6
    assert in_memory(load_trace(packed), set(), frozenset()) <= 3e6
