"""Links come back as they were packed, and nothing else gets in."""

from __future__ import annotations

import base64
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.decoding.records import ConstraintSource, RunSpec, Sampler
from pages._link import LinkError, pack, unpack

TEXT = some.text(some.characters(exclude_categories=["Cs"]), max_size=200)
SPECS = some.builds(
    RunSpec,
    prompt=TEXT,
    constraint=some.none() | some.builds(ConstraintSource, some.sampled_from(["json_schema", "regex"]), TEXT),
    chat_template=some.booleans(),
    sampler=some.builds(
        Sampler, some.floats(0, 2), some.integers(0, 99), some.floats(0.01, 1), some.integers(0, 2**31)
    ),
    max_tokens=some.integers(1, 1000),
)


@given(SPECS, some.integers(0, 10_000))
def test_round_trip(spec: RunSpec, step: int) -> None:
    assert unpack(pack(spec, step)) == (spec, step)


@given(TEXT)
def test_anything_else_is_refused(parameter: str) -> None:
    for tried in (parameter, f"1.{parameter}"):
        with pytest.raises(LinkError):
            unpack(tried)


def test_cut_links_are_refused() -> None:
    parameter = pack(RunSpec("hello"), 3)
    for length in range(len(parameter)):
        with pytest.raises(LinkError):
            unpack(parameter[:length])


def test_a_bomb_is_not_unpacked() -> None:
    bomb = base64.urlsafe_b64encode(zlib.compress(b"0" * 50_000_000, 9)).decode()
    with pytest.raises(LinkError):
        unpack(f"1.{bomb}")
