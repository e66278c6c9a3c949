"""Beam search: against exhaustive search, against greedy, and by its own rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import Decoder, RunSpec, Vocabulary
from engine.decoding.beam import MAX_BEAMS, BeamResult, Extension, beam_search
from engine.decoding.errors import DecodingError
from engine.decoding.records import ConstraintSource
from tests.unit.fake_model import FakeCache, FakeModel

END = 0
TOKENS = [b"", b"", b"a", b"b", b"ab", b"ba", b"aab", b"c"]


class ForkingCache(FakeCache):
    def fork(self, length: int) -> ForkingCache:
        return ForkingCache(self.ids[:length])


class BeamModel(FakeModel):
    def new_cache(self) -> ForkingCache:
        return ForkingCache()


def model(seed: int = 0, ends: Sequence[int] = (END,), context: int = 1000) -> BeamModel:
    """Logits are a hash of the seed and the text so far."""

    def logits(ids: tuple[int, ...]) -> np.ndarray:
        return np.random.default_rng((seed, *ids)).normal(size=len(TOKENS)) * 2

    return BeamModel(Vocabulary.from_tokens(TOKENS, ends, [0, 1]), logits, context)


def spec(pattern: str | None = "(a|b){1,3}", max_tokens: int = 20) -> RunSpec:
    source = None if pattern is None else ConstraintSource("regex", pattern)
    return RunSpec("hello world", source, chat_template=False, max_tokens=max_tokens)


def log_probabilities(of: BeamModel, ids: Sequence[int]) -> list[float]:
    """ln p of each token after the prompt, by the definition of the softmax."""
    prompt, found = of.encode("hello world", False), []
    for step, token_id in enumerate(ids):
        logits = of._logits((*prompt, *ids[:step])).astype(np.float32).astype(np.float64)
        found.append(logits[token_id] - math.log(np.exp(logits).sum()))
    return found


def every_text(of: BeamModel, texts: set[bytes]) -> Iterator[tuple[int, ...]]:
    """All ids, the end token included, that spell one of the texts."""
    pending: list[tuple[int, ...]] = [()]
    while pending:
        ids = pending.pop()
        written = b"".join(TOKENS[token_id] for token_id in ids)
        if written in texts:
            yield from ((*ids, end) for end in of.vocabulary.end_ids)
        spelled = [token_id for token_id, token in enumerate(of.vocabulary.tokens) if token]
        pending += [
            (*ids, token_id)
            for token_id in spelled
            if any(text.startswith(written + TOKENS[token_id]) for text in texts)
        ]


THREE = {bytes(text) for length in (1, 2, 3) for text in product(b"ab", repeat=length)}


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), penalty=st.sampled_from([0.0, 0.5, 1.0, 2.0]), ends=st.sampled_from([[0], [0, 1]]))
def test_enough_beams_find_the_best_of_all(seed: int, penalty: float, ends: list[int]) -> None:
    fake = model(seed, ends)
    ways = {ids: sum(log_probabilities(fake, ids)) / len(ids) ** penalty for ids in every_text(fake, THREE)}
    found = beam_search(fake, spec(), beams=MAX_BEAMS, length_penalty=penalty)
    best = max(ways, key=lambda ids: ways[ids])
    assert found.best is not None
    assert found.best.ids == best
    assert found.best.score == pytest.approx(ways[best])
    assert found.finish == "complete"
    for hypothesis in found.hypotheses:
        assert hypothesis.finished
        assert hypothesis.score == pytest.approx(ways[hypothesis.ids])


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), penalty=st.sampled_from([-1.0, 0.0, 1.0]), free=st.booleans())
def test_one_beam_is_greedy(seed: int, penalty: float, free: bool) -> None:
    asked = spec(None if free else "a(ba|c){0,4}b?", max_tokens=6)
    run = Decoder(model(seed), asked)
    greedy = [step.token_id for step in run.run()]
    found = beam_search(model(seed), asked, beams=1, length_penalty=penalty)
    assert found.best is not None
    assert list(found.best.ids) == greedy
    assert found.finish == run.finish
    assert found.best.finished == (run.finish == "complete")


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), beams=st.integers(1, 5), ends=st.sampled_from([[0], [0, 1]]))
def test_masked_tokens_never_appear_and_records_agree(seed: int, beams: int, ends: list[int]) -> None:
    fake = model(seed, ends)
    found = beam_search(fake, spec("(ab|ba|c){2,4}"), beams=beams)
    run = Decoder(model(seed, ends), spec("(ab|ba|c){2,4}"))
    for hypothesis in found.hypotheses:
        assert run.masker.constraint.check(hypothesis.text).kind == "accepted"
        assert hypothesis.logprobs == pytest.approx(log_probabilities(fake, hypothesis.ids))
        assert hypothesis.score == pytest.approx(hypothesis.logprob / len(hypothesis.ids))
        assert all(cost >= 0 for cost in hypothesis.costs)
        assert all(share <= 1e-12 for share in hypothesis.renormalised)
    assert len(found.hypotheses) <= beams
    assert [h.score for h in found.hypotheses] == sorted((h.score for h in found.hypotheses), reverse=True)
    walk_tree(found)


def walk_tree(found: BeamResult) -> None:
    """Every extension has a live parent, and every finished text hangs in the tree."""
    texts: list[tuple[int, ...]] = [()]
    finished: set[tuple[int, ...]] = set()
    live: tuple[Extension, ...] = ()
    for step in found.steps:
        assert len(step.live) <= found.beams
        totals = [extension.total for extension in step.extensions]
        assert totals == sorted(totals, reverse=True)
        assert step.index == 0 or all(one.total <= live[one.parent].total for one in step.extensions)
        live = step.live
        paths = [(*texts[extension.parent], extension.token_id) for extension in step.extensions]
        finished |= {path for path, one in zip(paths, step.extensions, strict=True) if one.fate == "finished"}
        texts = [path for path, one in zip(paths, step.extensions, strict=True) if one.fate == "live"]
    assert {hypothesis.ids for hypothesis in found.hypotheses if hypothesis.finished} <= finished


def test_by_hand() -> None:
    """Two texts, a and bb; b is likelier than a at first, but what follows it is not: two beams see that, one does not.

    p(a) = 0.4, p(b) = 0.6; after a the end is certain (of the allowed); after b: b with 0.5; then the end with 1.
    """
    table = {(): {2: 0.4, 3: 0.6}, (2,): {0: 0.9, 7: 0.1}, (3,): {3: 0.5, 7: 0.5}, (3, 3): {0: 1.0}}
    fake = BeamModel(Vocabulary.from_tokens(TOKENS, [END], [0, 1]))
    prompt = len(fake.encode("hello world", False))

    def logits(ids: tuple[int, ...]) -> np.ndarray:
        values = np.full(len(TOKENS), -np.inf)
        for token_id, share in table.get(ids[prompt:], {7: 1.0}).items():
            values[token_id] = math.log(share)
        return values

    fake._logits = logits
    one = beam_search(fake, spec("a|bb"), beams=1, length_penalty=0)
    assert one.best is not None
    assert (one.best.text, one.best.logprob) == (b"bb", pytest.approx(math.log(0.3)))
    two = beam_search(fake, spec("a|bb"), beams=2, length_penalty=0)
    assert [h.text for h in two.hypotheses] == [b"a", b"bb"]
    assert two.hypotheses[0].logprob == pytest.approx(math.log(0.36))
    assert two.hypotheses[0].costs == pytest.approx((0, -math.log(0.9)), abs=1e-6)
    assert two.hypotheses[0].renormalised == pytest.approx((math.log(0.4), 0), abs=1e-6)
    assert [(e.token, e.fate) for e in two.steps[1].extensions] == [(b"", "finished"), (b"b", "live")]
    assert [two.steps[0].live[e.parent].token for e in two.steps[1].extensions] == [b"a", b"b"]
    # by length: ln 0.36 / 2 = -0.51 against ln 0.3 / 3 = -0.40
    longer = beam_search(fake, spec("a|bb"), beams=2, length_penalty=1)
    assert longer.best is not None
    assert longer.best.text == b"bb"
    assert longer.best.score == pytest.approx(math.log(0.3) / 3)


def test_equal_scores_go_by_ids() -> None:
    fake = BeamModel(Vocabulary.from_tokens(TOKENS, [END], [0, 1]), lambda ids: np.zeros(len(TOKENS)))
    found = beam_search(fake, spec("[abc]"), beams=3)
    assert [h.ids for h in found.hypotheses] == [(2, END), (3, END), (7, END)]
    assert len({h.score for h in found.hypotheses}) == 1


def test_what_the_limit_cuts_short_is_kept_as_unfinished() -> None:
    found = beam_search(model(), spec("(ab){10}", max_tokens=3), beams=3)
    assert found.finish == "limit"
    assert found.hypotheses
    for hypothesis in found.hypotheses:
        assert not hypothesis.finished
        assert len(hypothesis.ids) == 3
        assert "b" in hypothesis.missing
    assert [h.score for h in found.hypotheses] == sorted((h.score for h in found.hypotheses), reverse=True)


def test_finished_texts_stand_before_unfinished_ones() -> None:
    found = beam_search(model(), spec("a(ab)*", max_tokens=4), beams=4)
    assert found.finish == "limit"
    kinds = [hypothesis.finished for hypothesis in found.hypotheses]
    assert kinds == sorted(kinds, reverse=True)
    assert set(kinds) == {True, False}


def test_the_context_ends_a_search() -> None:
    prompt = len(model().encode("hello world", False))
    found = beam_search(model(context=prompt + 2), spec("(ab){10}"), beams=2)
    assert found.finish == "context"
    assert {len(hypothesis.ids) for hypothesis in found.hypotheses} == {3}


def test_a_search_can_be_cancelled() -> None:
    asked: list[int] = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 2

    found = beam_search(model(), spec("(ab){10}"), beams=2, cancelled=cancelled)
    assert (found.finish, len(found.steps)) == ("cancelled", 2)
    assert {len(hypothesis.ids) for hypothesis in found.hypotheses} == {2}
    never_begun = beam_search(model(), spec("(ab){10}"), cancelled=lambda: True)
    assert (never_begun.finish, never_begun.hypotheses, never_begun.best) == ("cancelled", (), None)


def test_the_prompt_is_read_once_and_each_beam_once_a_step() -> None:
    fake = model()
    found = beam_search(fake, spec("(ab|ba|c){2,4}"), beams=3)
    prompt = len(fake.encode("hello world", False))
    assert fake.computed == prompt + sum(len(step.live) for step in found.steps[:-1])


def test_a_healed_prompt_is_spelled_first() -> None:
    fake = model(3)
    asked = replace(spec("b{1,3}"), healing=1)
    removed = TOKENS[fake.encode("hello world", False)[-1]]
    found = beam_search(fake, asked, beams=3)
    assert removed
    for hypothesis in found.hypotheses:
        written = b"".join(TOKENS[token_id] for token_id in hypothesis.ids)
        assert written == removed + hypothesis.text
        assert set(hypothesis.text) == {ord("b")}


def test_close_in_time_finishes_every_beam() -> None:
    found = beam_search(model(5), replace(spec("a*b", max_tokens=4), close_in_time=True), beams=3)
    assert found.hypotheses
    assert all(h.finished and len(h.ids) <= 4 for h in found.hypotheses)


@pytest.mark.parametrize("beams", [0, -1, MAX_BEAMS + 1])
def test_how_many_beams(beams: int) -> None:
    with pytest.raises(ValueError, match=f"from 1 to {MAX_BEAMS}"):
        beam_search(model(), spec(), beams=beams)


def test_tokens_by_hand_are_refused() -> None:
    with pytest.raises(DecodingError, match="by hand"):
        beam_search(model(), replace(spec(), choices=((0, 2),)))


def test_broken_logits_name_the_step_and_the_text() -> None:
    prompt = len(model().encode("hello world", False))

    def logits(ids: tuple[int, ...]) -> np.ndarray:
        return np.full(len(TOKENS), np.nan if len(ids) == prompt + 1 else 0.0)

    fake = BeamModel(Vocabulary.from_tokens(TOKENS, [END], [0, 1]), logits)
    with pytest.raises(DecodingError, match=r"Step 1, after b'a': the model's logits are not finite numbers\."):
        beam_search(fake, spec("a+"), beams=1)
