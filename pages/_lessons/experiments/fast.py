"""Making it fast: the same mask by four methods, what is known without the stack, and masks behind forward passes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from engine.analysis.explosion import index_bytes
from engine.constraint import Constraint
from engine.decoding.records import ConstraintSource, RunSpec, Trace
from engine.examples import FAMILY, PERSON_PROMPT
from engine.grammar.ebnf.grammars import LARK_EXAMPLES
from engine.grammar.ebnf.lark import compile_lark
from engine.grammar.json_schema.compile import compile_json_schema
from engine.masking.ladder import (
    Answer,
    ContextIndependence,
    Fate,
    Index,
    Lazy,
    Method,
    Naive,
    TrieWalk,
    WorkCancelled,
)
from engine.vocabulary import Vocabulary
from engine.vocabulary.small import small_vocabulary
from pages._debug_work import Progress
from pages._lessons.fields import Fields, Value
from pages._lessons.live import live_run, the_model
from pages._lessons.reader import Lesson
from pages._lessons.room import shared
from visualizations.charts import bars, curve
from visualizations.lesson_automata import Rung, duration, ladder, tokens
from visualizations.notice import notice
from visualizations.tokens import visible

if TYPE_CHECKING:  # torch comes with it
    from engine.model.model import Model

FIELDS = {
    "tokens": "tokens of a large model's vocabulary",
    "steps": "steps of a long run",
    "checks": "tokens tried in that run if each is tried at each step",
    "small_size": "tokens of the small vocabulary",
    "share_string": "the part of it that is decided without the stack inside a string",
    "share_string_percent": "the same in percent",
    "share_sql": "the part of it that is decided without the stack in a column's name in SQL",
    "model_share_string": "the first of these two for the model's tokens",
    "model_share_sql": "the second of these two for the model's tokens",
    "place": "the text after which the mask was found",
    "size": "tokens of the vocabulary that was measured",
    "allowed": "tokens allowed there",
    "naive_ms": "the time of the naive mask, in milliseconds",
    "naive_run_s": "that time for all steps of a long run, in seconds",
    "naive_bytes": "bytes that it read",
    "trie_ms": "the time of the trie walk, in milliseconds",
    "trie_bytes": "bytes that it read",
    "trie_percent": "its bytes as a part of the naive ones",
    "lazy_ms": "the time of the compiled trie walk, in milliseconds",
    "again_us": "the time of a remembered mask, in microseconds",
    "index_s": "what building the index took, in seconds",
    "index_states": "states in it",
    "faster": "how many times faster the remembered mask is than the naive one",
    "equal": "methods that gave the same mask",
    "forward_ms": "the median time of a forward pass of the run, in milliseconds",
    "mask_ms": "the median time of a mask of the run, in milliseconds",
    "longest_ms": "its longest mask, in milliseconds",
    "one_after_other_s": "forward passes and masks of the run one after the other, in seconds",
    "side_by_side_s": "the same side by side, in seconds",
    "hidden": "steps of the run at which the mask would have been ready first",
    "run_steps": "its steps",
    "exercise_states": "states of the index in the exercise",
    "exercise_tokens": "tokens of the vocabulary in the exercise",
    "exercise_megabytes": "what that index keeps, in millions of bytes",
}

LARGE, LONG = 128_000, 500  # tokens of a large model, steps of a long run
EXERCISE_STATES = 10_000
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z][a-z]{0,9}$"},
        "age": {"type": "integer"},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
TEXT, PLACE = '{"name":"Marie","age":66}', 13
TRY = 2.5e-5  # seconds in which plain Python tries a token from the start of a text, about
STEP = 3e-6  # and from a state
RUN_TOKENS = 32
SQL = "sql_select"


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a constraint at which tokens are asked for without the stack."""

    name: str
    constraint: Callable[[], Constraint]
    text: str


def _sql() -> Constraint:
    return compile_lark(next(example.text for example in LARK_EXAMPLES if example.name == SQL))


def _person() -> Constraint:
    return compile_json_schema(SCHEMA, whitespace="compact")


def _family() -> Constraint:
    return compile_json_schema(FAMILY, whitespace="compact")


STRING, COLUMN = "in a nested string", "in a column's name (SQL)"
PLACES = {
    place.name: place
    for place in (
        Place(STRING, _family, '{"name":"Anna","child":{"name":"B'),
        Place("in a number", _person, '{"name":"Marie","age":6'),
        Place("behind a value", _family, '{"name":"Anna"'),
        Place(COLUMN, _sql, "SELECT nam"),
        Place("in a table's name (SQL)", _sql, "SELECT name FROM cust"),
    )
}


@dataclass(frozen=True, slots=True)
class Known:
    """What is known at a place without the stack; `doubtful`: tokens that need it."""

    share: float
    doubtful: tuple[bytes, ...]


@lru_cache(maxsize=1)
def facts() -> Fields:
    """The arithmetic, and what the small vocabulary's tokens need the stack for."""
    shares = _small_shares()
    return {
        "tokens": LARGE,
        "steps": LONG,
        "checks": LARGE * LONG,
        "small_size": small_vocabulary().size,
        "share_string": shares[STRING].share,
        "share_string_percent": round(100 * shares[STRING].share, 1),
        "share_sql": shares[COLUMN].share,
        "exercise_states": EXERCISE_STATES,
        "exercise_tokens": LARGE,
        "exercise_megabytes": index_bytes(EXERCISE_STATES, LARGE) / 1e6,
    }


def opening(lesson: Lesson, key: str) -> None:
    """Tokens times steps."""
    _arithmetic(key, TRY)


def experiment(lesson: Lesson, key: str) -> Fields:
    """Tokens times steps; the ladder; what needs the stack; masks beside forward passes."""
    model = the_model()
    st.markdown("#### Tokens times steps")
    place = st.container()
    st.markdown("#### The same mask, four ways")
    fields, seconds = _ladder(model, f"{key}_ladder")
    with place:
        _arithmetic(f"{key}_times", seconds)
    st.markdown("#### Known without the stack")
    fields |= _stack(model, f"{key}_stack")
    st.markdown("#### Behind the forward pass")
    return fields | _hidden(model, f"{key}_hidden")


def _arithmetic(key: str, seconds: float) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        size = st.select_slider("Tokens of the vocabulary", [32_000, 49_152, LARGE, 200_000], LARGE, key=f"{key}_size")
    with right:
        steps = st.select_slider("Steps of the run", [50, 100, LONG, 2_000], LONG, key=f"{key}_steps")
    with st.container(horizontal=True):
        st.metric("Checks, one for each token and step", f"{size * steps:,}")
        st.metric(f"In plain Python, {duration(seconds)} a check", duration(size * steps * seconds))


def _ladder(model: Model | None, key: str) -> tuple[dict[str, Value], float]:
    """Draws the methods' times at one place; the fields, and the naive seconds of a check."""
    st.code(TEXT, language=None)
    length = st.slider("After how many bytes of this text", 0, len(TEXT), PLACE, key=f"{key}_length")
    text = TEXT[:length].encode()
    found, whose = _small_measured(text), f"a small vocabulary made by hand, {small_vocabulary().size} tokens"
    if model is not None:
        vocabulary = model.vocabulary
        states = found.states
        tries = vocabulary.size * states
        cost = (
            f"Tries {vocabulary.size:,} tokens from the start (about {duration(vocabulary.size * TRY)}) "
            f"and for the index {tries:,} more (about {duration(tries * STEP)})."
        )

        def work(progress: Progress) -> Measured | None:
            try:
                return measured(vocabulary, text, progress)
            except WorkCancelled:
                return None

        label = f"Measure with the model's {vocabulary.size:,} tokens"
        live = shared(("ladder", vocabulary.digest, text), label, cost, work, key=f"{key}_{length}")
        if live is not None:
            found, whose = live, f"the model's {vocabulary.size:,} tokens"
    asked = visible(text) or "the start"
    ladder(found.rungs, f"Which tokens may follow {asked}?", key=f"{key}_rungs")
    st.caption(
        f"Measured on this machine over {whose}. The first three methods are plain Python, the last two compiled. "
        "The app's own masks go further: what a string allows is worked out once for all schemas."
    )
    return _of_ladder(found, text), found.rungs[0].seconds / max(1, found.rungs[0].checks)


@dataclass(frozen=True, slots=True)
class Measured:
    """The ladder at one place: naive, index, trie, lazy, lazy again. `states`: of the index."""

    rungs: tuple[Rung, ...]
    states: int
    size: int
    allowed: int


def measured(vocabulary: Vocabulary, text: bytes, progress: Progress | None = None) -> Measured:
    """Every method's mask after `text`, each on an automaton of its own. Raises WorkCancelled where it is stopped."""
    stopped = progress.stopped if progress else lambda: False

    def say(words: str, share: float) -> None:
        if stopped():
            raise WorkCancelled
        if progress is not None:
            progress.say(words, share)

    Lazy(_person(), vocabulary).mask(b"")  # so that what is compiled or read from disk once is not measured
    say("Every token from the start of the text", 0.05)
    naive = Naive(_person(), vocabulary, cancelled=stopped)
    truth = naive.mask(text)
    say("Every token from every state", 0.3)
    index = Index(_person(), vocabulary, cancelled=stopped)
    say("The trie from one state", 0.9)
    walk, lazy = TrieWalk(_person(), vocabulary), Lazy(_person(), vocabulary)
    rows: list[tuple[str, str, Method, Answer]] = [
        ("Naive", "every token, from the start of the text", naive, truth),
        ("Index", f"looked up; {index.states} states prepared", index, index.mask(text)),
        ("Trie", "common beginnings read once", walk, walk.mask(text)),
        ("Lazy", "the trie, compiled", lazy, lazy.mask(text)),
        ("Lazy, again", "the same state: remembered", lazy, lazy.mask(text)),
    ]
    rungs = tuple(_rung(name, how, method, answer, truth) for name, how, method, answer in rows)
    return Measured(rungs, index.states, vocabulary.size, int(truth.allowed.sum()))


def _rung(name: str, how: str, method: Method, answer: Answer, truth: Answer) -> Rung:
    work, prepared = answer.work, method.preparation.seconds if isinstance(method, Index) else 0.0
    same = bool(np.array_equal(answer.allowed, truth.allowed))
    return Rung(name, how, max(work.seconds, 1e-7), work.checks, work.bytes_read, work.memory_bytes, prepared, same)


@lru_cache(maxsize=64)
def _small_measured(text: bytes) -> Measured:
    """The quickest of three: what takes a millisecond is easily held up by whatever else the machine does."""
    runs = [measured(small_vocabulary(), text) for _ in range(3)]
    rungs = tuple(min(same, key=lambda rung: rung.seconds) for same in zip(*(run.rungs for run in runs), strict=True))
    return replace(runs[0], rungs=rungs)


def _of_ladder(found: Measured, text: bytes) -> dict[str, Value]:
    naive, index, trie, lazy, again = found.rungs
    return {
        "place": text.decode(),
        "size": found.size,
        "allowed": found.allowed,
        "naive_ms": 1e3 * naive.seconds,
        "naive_run_s": LONG * naive.seconds,
        "naive_bytes": naive.bytes_read,
        "trie_ms": 1e3 * trie.seconds,
        "trie_bytes": trie.bytes_read,
        "trie_percent": trie.bytes_read / naive.bytes_read,
        "lazy_ms": 1e3 * lazy.seconds,
        "again_us": 1e6 * again.seconds,
        "index_s": index.prepared,
        "index_states": found.states,
        "faster": round(naive.seconds / again.seconds),
        "equal": sum(rung.same for rung in found.rungs),
    }


def _shares(vocabulary: Vocabulary, progress: Progress | None = None) -> dict[str, Known]:
    """What is known at each place. Ends early where `progress` is stopped."""
    found = {}
    for number, place in enumerate(PLACES.values()):
        if progress is not None:
            if progress.stopped():
                break
            progress.say(place.name, number / len(PLACES))
        fates = ContextIndependence(place.constraint(), vocabulary).after(place.text.encode())
        doubtful = (fates.of == Fate.NEEDS_STACK).nonzero()[0].tolist()
        spelled = sorted((vocabulary.tokens[token_id] for token_id in doubtful), key=lambda token: (len(token), token))
        found[place.name] = Known(fates.share, tuple(spelled))
    return found


@lru_cache(maxsize=1)
def _small_shares() -> dict[str, Known]:
    return _shares(small_vocabulary())


def _stack(model: Model | None, key: str) -> dict[str, Value]:
    found, whose = _small_shares(), "the small vocabulary"
    fields: dict[str, Value] = {}
    if model is not None:
        vocabulary = model.vocabulary
        cost = f"Two walks over {vocabulary.size:,} tokens at {len(PLACES)} places: a few seconds."
        label = "Decide the model's tokens"
        question = ("without the stack", vocabulary.digest)
        live = shared(question, label, cost, lambda progress: _shares(vocabulary, progress), key=f"{key}_model")
        if live is not None:
            found, whose = live, "the model's vocabulary"
            fields = {"model_share_string": found[STRING].share, "model_share_sql": found[COLUMN].share}
    left, right = st.columns([3, 2], gap="medium")
    with left:
        shares = [known.share for known in found.values()]
        bars(
            list(found), {whose: shares}, key=f"{key}_bars", title="decided without the stack", form=".1%", largest=1.0
        )
    with right:
        name = st.selectbox("Which tokens need the stack", list(found), key=f"{key}_place")
        place, known = PLACES[name], found[name]
        st.code(place.text, language=None)
        heading = f"{len(known.doubtful):,} of them have to be tried on the true stack"
        tokens(known.doubtful, len(known.doubtful), key=f"{key}_tokens", heading=heading)
    return fields


def _hidden(model: Model | None, key: str) -> dict[str, Value]:
    if model is None:
        notice(
            "How long a forward pass takes is not recorded, since it means nothing on another machine: this part needs "
            "the model.",
            key=f"{key}_needs",
            kind="info",
        )
        return {}
    source = ConstraintSource("json_schema", json.dumps(SCHEMA), (("whitespace", "compact"),))
    trace = live_run(RunSpec(PERSON_PROMPT, source, max_tokens=RUN_TOKENS), model, "Measure a run", key=f"{key}_run")
    if trace is None:
        return {}
    forward, masks = _times(trace)
    series = {
        "forward pass": [1_000 * seconds for seconds in forward],
        "mask": [1_000 * seconds for seconds in masks],
    }
    steps = [float(step.index) for step in trace.steps]
    curve(steps, series, key=f"{key}_curve", x_title="step", y_title="milliseconds, logarithmic", log_y=True)
    one_after_other = sum(forward) + sum(masks)
    side_by_side = sum(map(max, forward, masks))
    with st.container(horizontal=True):
        st.metric("One after the other", duration(one_after_other))
        st.metric("Side by side", duration(side_by_side))
    st.caption(
        f"Run {trace.run_id}, {trace.model}, on this machine. The app does one after the other; the second number is "
        "what the longer of the two adds up to."
    )
    return {
        "forward_ms": 1e3 * median(forward),
        "mask_ms": 1e3 * median(masks),
        "longest_ms": 1e3 * max(masks),
        "one_after_other_s": one_after_other,
        "side_by_side_s": side_by_side,
        "hidden": sum(mask < passed for passed, mask in zip(forward, masks, strict=True)),
        "run_steps": len(trace.steps),
    }


def _times(trace: Trace) -> tuple[list[float], list[float]]:
    """Seconds of each step's forward pass and mask; what is too short for the clock counts as the least it shows."""
    phases = [(step.seconds.get("forward", 0.0), step.seconds.get("mask", 0.0)) for step in trace.steps]
    return [max(forward, 1e-7) for forward, _ in phases], [max(mask, 1e-7) for _, mask in phases]
