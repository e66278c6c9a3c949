"""Both cuts of a run's text, saved and read again; where two runs part and where they meet with another cut."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from engine.analysis.rejoined import last_together, parted, rejoined
from engine.analysis.two_cuts import Piece, Stretch, log_probability, stretches_from_json, stretches_to_json, two_cuts
from engine.decoding.decoder import Decoder
from engine.decoding.records import ConstraintSource, RunSpec, Trace
from tests.unit.test_jump import IDS, MODEL


def run(*names: str) -> Trace:
    """A run of `abcab` that takes these tokens by hand."""
    choices = tuple((at, IDS[name]) for at, name in enumerate(names))
    spec = RunSpec("ab", ConstraintSource("regex", "abcab"), False, max_tokens=9, choices=choices)
    decoder = Decoder(MODEL, spec)
    list(decoder.run())
    return decoder.trace


WHOLE, PIECES = run("abc", "ab"), run("a", "bc", "a", "b")


def cuts(trace: Trace) -> tuple[Stretch, ...]:
    found = two_cuts(MODEL, Decoder(MODEL, trace.spec).masker, trace)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_the_tokenizers_own_cut_does_not_differ() -> None:
    (same,) = cuts(WHOLE)
    assert not same.differs
    assert [piece.step for piece in same.written] == [0, 1]
    assert log_probability(same.written) == pytest.approx(sum(math.log(step.raw) for step in WHOLE.steps[:2]), abs=1e-5)
    assert log_probability(same.own) == pytest.approx(log_probability(same.written), abs=1e-5)


def test_another_cut_differs_stretch_by_stretch() -> None:
    first, second = cuts(PIECES)
    assert ([p.token for p in first.written], [p.token for p in first.own]) == ([b"a", b"bc"], [b"abc"])
    assert ([p.token for p in second.written], [p.token for p in second.own]) == ([b"a", b"b"], [b"ab"])
    assert [p.step for p in second.written] == [2, 3]
    assert all(piece.step is None for piece in (*first.own, *second.own))


def test_cuts_are_read_as_they_were_saved() -> None:
    odd = (Stretch((Piece(b"\xff\x00", -1.5, 0, True),), (Piece(b"\xff", None), Piece(b"\x00", 0.0))),)
    for stretches in (cuts(PIECES), odd):
        assert stretches_from_json(json.loads(json.dumps(stretches_to_json(stretches)))) == stretches


def test_a_cancelled_comparison_gives_nothing() -> None:
    assert two_cuts(MODEL, Decoder(MODEL, WHOLE.spec).masker, WHOLE, lambda: True) is None  # type: ignore[arg-type]


def test_runs_meet_again_with_another_cut() -> None:
    assert rejoined(WHOLE, PIECES) == (1, 2)  # both have written abc
    assert rejoined(PIECES, WHOLE) == (2, 1)
    assert rejoined(WHOLE, WHOLE) is None
    assert last_together(WHOLE, PIECES) == (2, 4)  # before the end token
    assert last_together(run("abc", "ab"), replace(PIECES, steps=PIECES.steps[:1])) == (0, 0)
    beginning = replace(PIECES, steps=PIECES.steps[:2])
    assert rejoined(WHOLE, beginning) is None


@pytest.mark.parametrize(
    ("one", "other", "at"), [(b"abc", b"abd", 2), (b"abc", b"abc", None), (b"ab", b"abc", 2), (b"", b"", None)]
)
def test_where_two_texts_part(one: bytes, other: bytes, at: int | None) -> None:
    assert parted(one, other) == at
