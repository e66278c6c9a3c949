"""Exact and masked distributions over a finite language: by hand, by brute force, and estimated from masked runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import compile_choices, compile_regex
from engine.analysis.conditional import Conditional, Over, conditional
from engine.analysis.importance import importance
from engine.analysis.language import LanguageError
from engine.constraint import Constraint
from engine.decoding.decoder import Decoder
from engine.decoding.errors import DecodingError
from engine.decoding.records import ConstraintSource, RunSpec, Sampler
from engine.masking import Masker
from engine.vocabulary import Vocabulary
from tests.unit.fake_model import FakeCache, FakeModel, Logits

END, STOP, A, B, AB, C, ABA, BC = range(8)
TOKENS = [b"<end>", b"<stop>", b"a", b"b", b"ab", b"c", b"aba", b"bc"]
VOCABULARY = Vocabulary.from_tokens(TOKENS, end_ids=[END, STOP])
PROMPT = "one"
NEVER = -80.0
"""A logit whose probability is of no consequence, 1e-35."""


class LongestFirst:
    """A tokenizer that takes the longest token that fits, and does not know the character "c"."""

    def encode_many(self, texts: Iterable[bytes]) -> list[tuple[int, ...] | None]:
        return [None if b"c" in text else longest_first(text) for text in texts]


class ForkedCache(FakeCache):
    def fork(self, length: int) -> ForkedCache:
        return ForkedCache(self.ids[:length])


class TreeModel(FakeModel):
    canonical = LongestFirst()

    def new_cache(self) -> ForkedCache:
        return ForkedCache()


def longest_first(text: bytes) -> tuple[int, ...]:
    ids: tuple[int, ...] = ()
    while text:
        best = max((i for i in range(2, 8) if text.startswith(TOKENS[i])), key=lambda i: len(TOKENS[i]))
        ids, text = (*ids, best), text[len(TOKENS[best]) :]
    return ids


def found(constraint: Constraint, over: Over = "all", logits: Logits | None = None) -> Conditional:
    model = TreeModel(VOCABULARY, logits)
    result = conditional(model, PROMPT, Masker(constraint, VOCABULARY), over=over, chat_template=False)
    assert result is not None
    return result


def from_table(table: dict[tuple[int, ...], dict[int, float]]) -> Logits:
    """Logits that give these probabilities after the prompt and these tokens; what is left goes to "c"."""

    def logits(ids: tuple[int, ...]) -> np.ndarray:
        row = np.full(len(TOKENS), NEVER)
        given_here = table.get(ids[1:], {})
        for token_id, probability in {C: 1 - sum(given_here.values()), **given_here}.items():
            row[token_id] = math.log(probability) if probability > 0 else NEVER
        return row

    return logits


BY_HAND = from_table(
    {
        (): {A: 0.4, B: 0.1, AB: 0.1, END: 0.1},
        (A,): {B: 0.5, A: 0.1, END: 0.1},
        (A, B): {END: 0.3, STOP: 0.2},
        (B,): {END: 0.2},
        (AB,): {END: 0.8},
    }
)


def test_all_tokenisations_by_hand() -> None:
    """P(ab) = 0.4 * 0.5 * (0.3 + 0.2) + 0.1 * 0.8 = 0.18, P(b) = 0.1 * 0.2 = 0.02; the first mask keeps 0.6."""
    result = found(compile_choices(["ab", "b"]), logits=BY_HAND)
    ab, b = result.texts
    assert (ab.text, ab.paths, b.text, b.paths) == (b"ab", 2, b"b", 1)
    assert [ab.log_raw, b.log_raw] == pytest.approx([math.log(0.18), math.log(0.02)])
    assert [ab.exact, b.exact] == pytest.approx([0.9, 0.1])
    assert [ab.masked, b.masked] == pytest.approx([5 / 6, 1 / 6])
    assert result.log_mass == pytest.approx(math.log(0.2))
    assert result.total_variation == pytest.approx(0.9 - 5 / 6)
    assert result.kl_masked_exact == pytest.approx(5 / 6 * math.log(5 / 5.4) + 1 / 6 * math.log(1 / 0.6))
    assert result.kl_exact_masked == pytest.approx(0.9 * math.log(5.4 / 5) + 0.1 * math.log(0.6))


def test_canonical_paths_by_hand() -> None:
    """P(ab) = 0.1 * 0.8 on the token "ab" alone, P(b) = 0.02; both begin with 0.1, so the mask knows no difference."""
    result = found(compile_choices(["ab", "b"]), "canonical", BY_HAND)
    assert {text.text: text.paths for text in result.texts} == {b"ab": 1, b"b": 1}
    assert [text.exact for text in result.texts] == pytest.approx([0.8, 0.2])
    assert [text.masked for text in result.texts] == pytest.approx([0.5, 0.5])
    assert result.log_mass == pytest.approx(math.log(0.1))


def test_a_liked_beginning_keeps_its_mass() -> None:
    """The trap: "a" is liked and "aa" is not, yet the mask lets nothing else follow. P(aa) = 0.8 * 0.001 * 0.5."""
    table = {(): {A: 0.8, B: 0.1}, (A,): {A: 0.001}, (A, A): {END: 0.5}, (B,): {END: 0.5}}
    result = found(compile_choices(["aa", "b"]), logits=from_table(table))
    exact = {text.text: text.exact for text in result.texts}
    masked = {text.text: text.masked for text in result.texts}
    assert exact[b"aa"] == pytest.approx(0.0004 / 0.0504)
    assert masked[b"aa"] == pytest.approx(8 / 9)
    assert result.total_variation == pytest.approx(8 / 9 - 0.0004 / 0.0504)


@pytest.mark.parametrize("over", ["all", "canonical"])
def test_a_grammar_that_agrees_with_the_model_changes_nothing(over: Over) -> None:
    """All mass is on the language at every step (on the canonical paths, to compare both), so Z is one."""
    table = {(): {AB: 0.3, B: 0.7}, (AB,): {END: 1.0}, (B,): {B: 0.25, END: 0.75}, (B, B): {END: 0.6, STOP: 0.4}}
    result = found(compile_choices(["ab", "b", "bb"]), over, from_table(table))
    assert {text.text: text.exact for text in result.texts} == pytest.approx({b"ab": 0.3, b"b": 0.525, b"bb": 0.175})
    assert [text.masked for text in result.texts] == pytest.approx([text.exact for text in result.texts])
    assert result.log_mass == pytest.approx(0, abs=1e-12)
    assert [result.kl_masked_exact, result.kl_exact_masked, result.total_variation] == pytest.approx([0] * 3, abs=1e-12)
    runs = importance(result, 50)
    assert runs.running[-1].effective == pytest.approx(50)
    assert runs.shares == pytest.approx(runs.counted)


CHOICES = st.sets(st.text("abc", max_size=6), min_size=1, max_size=8)


@settings(deadline=None)
@given(CHOICES, st.integers(0, 1000), st.sampled_from(["all", "canonical"]))
def test_equals_brute_force(choices: set[str], seed: int, over: Over) -> None:
    texts = {text.encode() for text in choices}
    if over == "canonical" and not (texts := {text for text in texts if b"c" not in text}):
        return
    paths = {text: list(tokenisations(text)) if over == "all" else [longest_first(text)] for text in texts}
    model = seeded(seed)
    log_raw = {text: math.log(sum(raw(model, path) for path in paths[text])) for text in texts}
    every = [path for text in texts for path in paths[text]]
    masked = {text: sum(renormalised(model, path, every) for path in paths[text]) for text in texts}
    result = found(compile_choices(sorted(choices)), over, model)
    within = {text.text: text for text in result.texts if text.paths}
    assert {text: weighed.paths for text, weighed in within.items()} == {text: len(paths[text]) for text in texts}
    assert {text: weighed.log_raw for text, weighed in within.items()} == pytest.approx(log_raw)
    assert {text: weighed.masked for text, weighed in within.items()} == pytest.approx(masked)
    total = sum(map(math.exp, log_raw.values()))
    exact = {text: math.exp(log_raw[text]) / total for text in texts}
    assert {text: weighed.exact for text, weighed in within.items()} == pytest.approx(exact)
    assert sum(weighed.exact for weighed in result.texts) == pytest.approx(1)
    assert sum(weighed.masked for weighed in result.texts) == pytest.approx(1)


def tokenisations(text: bytes) -> Iterator[tuple[int, ...]]:
    if not text:
        yield ()
    for token_id in range(2, 8):
        if text.startswith(TOKENS[token_id]):
            yield from ((token_id, *rest) for rest in tokenisations(text[len(TOKENS[token_id]) :]))


def seeded(seed: int) -> Logits:
    return lambda ids: np.random.default_rng((seed, *ids)).normal(size=len(TOKENS)).astype(np.float32) * 2


def shares(model: Logits, tokens: tuple[int, ...]) -> np.ndarray:
    weights = np.exp(model((prompt_id(), *tokens)).astype(np.float64))
    return weights / weights.sum()


def prompt_id() -> int:
    (token_id,) = FakeModel(VOCABULARY).encode(PROMPT, chat_template=False)
    return token_id


def raw(model: Logits, path: tuple[int, ...]) -> float:
    steps = [shares(model, path[:i])[path[i]] for i in range(len(path))]
    return math.prod(steps) * float(shares(model, path)[[END, STOP]].sum())


def renormalised(model: Logits, path: tuple[int, ...], every: list[tuple[int, ...]]) -> float:
    """The probability of a masked run: at each step, what may follow is what some path goes on with."""
    probability = 1.0
    for i in range(len(path) + 1):
        allowed = {other[i] for other in every if other[:i] == path[:i] and len(other) > i}
        allowed |= {END, STOP} if path[:i] in every else set()
        here = shares(model, path[:i])
        taken = {path[i]} if i < len(path) else {END, STOP}
        probability *= here[sorted(taken)].sum() / here[sorted(allowed)].sum()
    return probability


def test_each_beginning_is_read_once() -> None:
    """2^6 texts, a token a character, have 127 beginnings; the prompt is one token."""
    digits = Vocabulary.from_tokens([b"<end>", b"<stop>", b"0", b"1"], end_ids=[END])
    model = TreeModel(digits)
    told: list[tuple[int, int]] = []
    result = conditional(
        model,
        PROMPT,
        Masker(compile_regex("[01]{6}"), digits),
        chat_template=False,
        progress=lambda *count: told.append(count),
    )
    assert result is not None
    assert told == [(done, 127) for done in range(1, 128)]
    assert len({prefix.tokens for prefix in result.tree}) == len(result.tree) == 127
    assert model.computed == 127


def test_estimates_are_those_of_decoder_runs() -> None:
    source = ConstraintSource("regex", "a?b?(ab|c){1,3}")
    constraint = compile_regex(source.text)
    masker, model = Masker(constraint, VOCABULARY), TreeModel(VOCABULARY, seeded(5))
    result = found(constraint, logits=seeded(5))
    for number, run in enumerate(importance(result, 40, seed=100).runs):
        spec = RunSpec(PROMPT, source, False, Sampler(temperature=1.0, seed=100 + number), max_tokens=20)
        decoder = Decoder(model, spec, constraint, masker)
        list(decoder.run())
        assert tuple(step.token_id for step in decoder.trace.steps) == run.tokens
        assert decoder.trace.text == run.text
        assert -decoder.trace.cost == pytest.approx(run.log_weight)


def test_weights_are_what_the_estimate_needs() -> None:
    """By hand: "ab" has the weight 0.6 * 1 * 0.5 or 0.6 * 0.8, "b" 0.6 * 0.2, whatever is drawn."""
    result = found(compile_choices(["ab", "b"]), logits=BY_HAND)
    drawn = importance(result, 200, seed=1)
    weights = {run.tokens[:-1]: run.log_weight for run in drawn.runs}
    expected = {(A, B): math.log(0.6 * 0.5 * 0.5), (AB,): math.log(0.6 * 0.8), (B,): math.log(0.6 * 0.2)}
    assert weights == pytest.approx(expected)
    total = sum(math.exp(run.log_weight) for run in drawn.runs)
    of_ab = sum(math.exp(run.log_weight) for run in drawn.runs if run.text == b"ab")
    assert drawn.shares == pytest.approx([of_ab / total, 1 - of_ab / total])
    assert drawn.counted == pytest.approx([sum(run.text == b"ab" for run in drawn.runs) / 200, drawn.counted[1]])
    squares = sum(math.exp(2 * run.log_weight) for run in drawn.runs)
    assert drawn.running[-1].effective == pytest.approx(total**2 / squares)
    assert drawn.running[0].effective == pytest.approx(1)


@pytest.mark.parametrize("model", [12, 31])
def test_weighted_runs_converge_and_counted_ones_do_not(model: int) -> None:
    result = found(compile_choices(["aa", "ab", "b", "ba"]), logits=seeded(model))
    drawn = importance(result, 4000, seed=7)
    assert result.total_variation > 0.4
    last = drawn.running[-1]
    assert last.total_variation < 0.04
    assert last.kl < 0.01
    assert last.counted_total_variation == pytest.approx(result.total_variation, abs=0.03)
    assert last.counted_kl == pytest.approx(result.kl_masked_exact, abs=0.05)
    assert importance(result, 4000, seed=7) == drawn
    assert importance(result, 100, seed=9).running[-1] == importance(result, 4000, seed=9).running[99]


def test_extreme_logits_stay_finite() -> None:
    """Probabilities of e^-2000 are zero as floats; divergences and weights are still numbers."""
    result = found(compile_choices(["aa", "b"]), logits=lambda ids: np.array([0, -9, 900, -900, -900, 2000, 0, 0.0]))
    assert sum(text.exact for text in result.texts) == pytest.approx(1)
    assert math.isfinite(result.kl_masked_exact)
    assert importance(result, 20).running[-1].effective == pytest.approx(20)


def test_texts_without_a_path_have_no_probability() -> None:
    """After "ba" only the token "bc" leads on; a mask allows what can be finished byte by byte."""
    no_b = Vocabulary.from_tokens([b"<end>", b"", b"a", b"ba", b"bc"], end_ids=[0])
    result = conditional(TreeModel(no_b), PROMPT, Masker(compile_choices(["a", "babc"]), no_b), chat_template=False)
    assert result is not None
    assert [(text.text, text.paths, text.exact, text.masked) for text in result.texts] == [
        (b"a", 1, 1.0, 1.0),
        (b"babc", 0, 0.0, 0.0),
    ]
    with pytest.raises(LanguageError, match="No text of the constraint has a canonical tokenisation"):
        found(compile_choices(["c", "ac"]), "canonical")


def test_too_much_is_refused_before_the_model_reads() -> None:
    model = TreeModel(VOCABULARY, context=8)
    with pytest.raises(LanguageError, match="has 81 texts; 80 are the limit"):
        conditional(model, PROMPT, Masker(compile_regex("[abc]{4}"), VOCABULARY), most_texts=80)
    with pytest.raises(LanguageError, match="infinitely many texts"):
        conditional(model, PROMPT, Masker(compile_regex("a*b"), VOCABULARY))
    with pytest.raises(LanguageError, match="more than 50 different beginnings"):
        conditional(model, PROMPT, Masker(compile_regex("[ab]{5}"), VOCABULARY), most_prefixes=50)
    with pytest.raises(LanguageError, match="more than 3 different beginnings"):
        conditional(model, PROMPT, Masker(compile_regex("[ab]{5}"), VOCABULARY), most_prefixes=3, over="canonical")
    with pytest.raises(DecodingError, match="take 9 tokens; the model reads at most 8"):
        conditional(model, "one two three", Masker(compile_regex("a{6}"), VOCABULARY), chat_template=False)
    assert model.computed == 0


def test_cancelled() -> None:
    model = TreeModel(VOCABULARY)
    masker = Masker(compile_regex("[ab]{3}"), VOCABULARY)
    assert conditional(model, PROMPT, masker, chat_template=False, cancelled=lambda: model.computed > 3) is None


def test_broken_logits_name_the_place() -> None:
    with pytest.raises(DecodingError, match="After b'a': the model's logits are not finite numbers"):
        found(compile_choices(["ab"]), logits=lambda ids: np.full(8, np.nan if ids[1:] == (A,) else 0.0))


def test_estimates_need_a_run() -> None:
    with pytest.raises(ValueError, match="At least one run"):
        importance(found(compile_choices(["a"])), 0)
