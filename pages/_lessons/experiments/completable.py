"""Completable, not correct: what a validator allows, what an automaton allows, and how dead states are found."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import streamlit as st

from engine.analysis.dead import Both, both
from engine.analysis.prefixes import prefixes
from engine.budget import Budget
from engine.constraint import Constraint
from engine.decoding.records import ConstraintSource, RunSpec
from engine.errors import BudgetError, ConstraintError
from engine.examples import PERSON_PROMPT
from engine.grammar.json_schema.compile import compile_json_schema
from engine.grammar.regex.compile import compile_regex
from engine.masking import Masker
from engine.masking.ladder import Validator, WorkCancelled
from engine.vocabulary import Vocabulary
from engine.vocabulary.small import small_vocabulary
from pages._debug_work import Progress
from pages._lessons.fields import Fields, Value
from pages._lessons.live import live_run, the_model
from pages._lessons.reader import Lesson
from pages._lessons.room import shared
from visualizations.charts import bars
from visualizations.lesson_automata import backwards, duration, tokens, typed, typed_text
from visualizations.notice import notice
from visualizations.tokens import visible

FIELDS = {
    "begun": "a text that is no JSON yet",
    "begun_kind": "what the automaton says of it",
    "begun_completion": "a shortest text that completes it",
    "broken": "a text that uses only JSON's characters and is lost",
    "broken_kind": "what the automaton says of it",
    "broken_at": "the byte at which it is lost, counted from one",
    "broken_expected": "what could stand there",
    "size": "tokens of the small vocabulary",
    "validator_first": "tokens of it that a validator allows as the first one",
    "mask_first": "tokens of it that the mask allows as the first one",
    "whole": "the text that is written token by token",
    "whole_bytes": "its bytes",
    "validator_ever": "places of it, the end left out, at which a validator allows any token",
    "integer_validator": "tokens that a validator allows first where an integer is asked for",
    "integer_mask": "tokens that the mask allows first where an integer is asked for",
    "minus_validator": "whether the validator lets the minus of a negative integer through",
    "minus_mask": "whether the mask does",
    "pattern": "the pattern of the two demands",
    "most": "the most characters of the two demands",
    "states": "states of the two demands together",
    "dead": "how many of them are dead",
    "rounds": "steps backwards until no live state is added",
    "dead_text": "a shortest text that leads to a dead state",
    "exercise_pattern": "the pattern of the exercise",
    "exercise_most": "the most characters of the exercise",
    "model_size": "tokens of the model's vocabulary",
    "model_validator_first": "tokens of the model that a validator allows as the first one",
    "model_mask_first": "tokens of the model that the mask allows as the first one",
    "model_validator_ever": "places of it, the end left out, at which a validator allows any token of the model",
    "written": "what the model wrote under the automaton's mask",
}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12}},
    "required": ["name"],
    "additionalProperties": False,
}
BEGUN, BROKEN, WHOLE = '{"nam', '{"name":}', '{"name":"Ada"}'
EXAMPLES = {text: text for text in (BEGUN, BROKEN, WHOLE, '{"name":"Ada', '{"name":"Ada"},', '{"age"', "[")}
PATTERN, MOST = "(ab|cde)+", 5
EXERCISE_PATTERN, EXERCISE_MOST = "(abc)+", 8
SMALL_BUDGET = Budget(states=5_000, terms=100_000, seconds=2.0, depth=40, source_bytes=10_000)
TRY = 1.5e-5  # seconds in which plain Python tries a token of the vocabulary on a short text, about


@lru_cache(maxsize=1)
def facts() -> Fields:
    """Verdicts on the texts of the lesson, masks on the small vocabulary, the dead states of the default."""
    constraint, integer = _constraint(), compile_json_schema({"type": "integer"})
    vocabulary = small_vocabulary()
    begun, broken = constraint.check(BEGUN), constraint.check(BROKEN)
    counted = _small_counts()
    numbers, masked = Validator(integer, vocabulary).mask(b"").allowed, Masker(integer, vocabulary).mask(integer.start)
    found = both(compile_regex(PATTERN), _at_most(MOST))
    return {
        "begun": BEGUN,
        "begun_kind": begun.kind,
        "begun_completion": BEGUN + begun.completion.decode(),
        "broken": BROKEN,
        "broken_kind": broken.kind,
        "broken_at": broken.offset + 1,
        "broken_expected": " or ".join(broken.expected),
        "size": vocabulary.size,
        "validator_first": counted[0].valid,
        "mask_first": counted[0].completable,
        "whole": WHOLE,
        "whole_bytes": len(WHOLE),
        "validator_ever": sum(count.valid > 0 for count in counted[:-1]),
        "integer_validator": int(numbers.sum()),
        "integer_mask": masked.count,
        "minus_validator": "allowed" if numbers[ord("-")] else "masked",
        "minus_mask": "allowed" if ord("-") in masked else "masked",
        "exercise_pattern": EXERCISE_PATTERN,
        "exercise_most": EXERCISE_MOST,
        **_of_dead(PATTERN, MOST, found),
    }


def opening(lesson: Lesson, key: str) -> None:
    """A text to type, and what a validator says of its beginnings and what the automaton does."""
    _typing(key)


def experiment(lesson: Lesson, key: str) -> Fields:
    """A text judged byte by byte; two masks side by side; states found alive backwards."""
    st.markdown("#### A text, byte by byte")
    text = _typing(f"{key}_type")
    st.markdown("#### The two masks behind it")
    fields: dict[str, Value] = _masks(text, f"{key}_masks")
    st.markdown("#### Dead states, found backwards")
    return fields | _dead(f"{key}_dead")


def check(fields: Fields, given: str) -> str:
    """The exercise: a text that the pattern can still complete, that is short enough, and that is dead."""
    if not given:
        return "Type a text."
    pattern = compile_regex(EXERCISE_PATTERN).check(given)
    if pattern.kind == "rejected":
        return f"The pattern itself does not begin like this: it is lost at byte {pattern.offset + 1}."
    if len(given) > EXERCISE_MOST:
        return f"This has {len(given)} characters: too long already, so nobody needs an automaton to see it."
    together = compile_json_schema({"type": "string", "pattern": f"^{EXERCISE_PATTERN}$", "maxLength": EXERCISE_MOST})
    verdict = together.check(f'"{given}')
    if verdict.kind != "rejected":
        return f"This is alive: {given + verdict.completion[:-1].decode()!r} completes it."
    return ""


@lru_cache(maxsize=1)
def _constraint() -> Constraint:
    return compile_json_schema(SCHEMA, whitespace="compact")


@lru_cache(maxsize=1)
def _small_masker() -> Masker:
    return Masker(_constraint(), small_vocabulary())


def _at_most(characters: int) -> Constraint:
    return compile_regex(f".{{0,{characters}}}", budget=SMALL_BUDGET)


def _typing(key: str) -> str:
    field = f"{key}_text"
    text = typed_text(BEGUN, key=field)
    constraint = _constraint()
    read = prefixes(constraint, text.encode(errors="replace"))
    longest = SCHEMA["properties"]["name"]["maxLength"]
    heading = f'Wanted: an object with a "name" of at most {longest} characters. Type, and watch every byte'
    typed(text, read, _verdict(constraint, text), EXAMPLES, key=field, heading=heading)
    return text


def _verdict(constraint: Constraint, text: str) -> str:
    found = constraint.check(text.encode(errors="replace"))
    if found.kind == "accepted":
        return "Valid: the text may end here, so the end token is allowed."
    if found.kind == "incomplete":
        whole = visible(text.encode(errors="replace") + found.completion)
        return f"Not valid yet, but it can still become valid: {whole} is a shortest way. A mask must allow this."
    place = f"Lost at byte {found.offset + 1}: expected there {' or '.join(found.expected)}."
    return f"{place} Whatever follows, no valid text begins like this. A mask must not allow this."


@dataclass(frozen=True, slots=True)
class Count:
    """Tokens that are allowed after a beginning: those after which it is valid, those after which it can become so."""

    text: bytes
    valid: int
    completable: int


def _counts(vocabulary: Vocabulary, progress: Progress | None = None) -> tuple[Count, ...]:
    """For every beginning of the whole text. Ends early where `progress` is stopped."""
    constraint = compile_json_schema(SCHEMA, whitespace="compact")
    stopped = progress.stopped if progress else lambda: False
    validator, masker = Validator(constraint, vocabulary, cancelled=stopped), Masker(constraint, vocabulary)
    found = []
    data = WHOLE.encode()
    for length in range(len(data) + 1):
        if progress is not None:
            progress.say(f"{length} of {len(data)} beginnings, {vocabulary.size:,} tokens each", length / len(data))
        state = constraint.advance(constraint.start, data[:length])
        assert state is not None
        try:
            valid = int(validator.mask(data[:length]).allowed.sum())
        except WorkCancelled:
            break
        found.append(Count(data[:length], valid, masker.mask(state).count))
    return tuple(found)


@lru_cache(maxsize=1)
def _small_counts() -> tuple[Count, ...]:
    return _counts(small_vocabulary())


def _masks(text: str, key: str) -> dict[str, Value]:
    constraint, vocabulary, masker = _constraint(), small_vocabulary(), _small_masker()
    data = text.encode(errors="replace")
    verdict = constraint.check(data)
    written = data[: verdict.offset]
    state = constraint.advance(constraint.start, written)
    assert state is not None
    validator = Validator(constraint, vocabulary).mask(written).allowed
    mask = masker.mask(state).to_bool()
    after = f"after {visible(written)}" if written else "at the start"
    st.caption(
        f"Which tokens may come {after}? Here of a small vocabulary made by hand: {vocabulary.size} tokens, "
        "every byte and some merges."
    )
    left, right = st.columns(2, gap="medium")
    for column, name, allowed in ((left, "The validator allows", validator), (right, "The mask allows", mask)):
        with column:
            ids = sorted(allowed.nonzero()[0].tolist(), key=lambda i: -len(vocabulary.tokens[i]))
            shown = [vocabulary.tokens[i] for i in ids]
            heading = f"{name} {len(ids)} of {vocabulary.size}"
            tokens(shown, len(ids), key=f"{key}_{name.split()[1]}", heading=heading)
    return _with_model(key)


def _with_model(key: str) -> dict[str, Value]:
    """The counts along the whole text: on the small vocabulary at once, on the model's when asked for."""
    model = the_model()
    counts, whose = _small_counts(), "the small vocabulary"
    fields: dict[str, Value] = {}
    if model is not None:
        vocabulary = model.vocabulary
        fields["model_size"] = vocabulary.size
        checks = vocabulary.size * (len(WHOLE) + 1)
        said = f"The validator tries every token at every place: {checks:,} texts, about {duration(checks * TRY)}."

        def work(progress: Progress) -> tuple[Count, ...]:
            return _counts(vocabulary, progress)

        label = f"Count with the model's {vocabulary.size:,} tokens"
        found = shared(("completable", vocabulary.digest), label, said, work, key=f"{key}_count")
        if found:
            counts, whose = found, f"the model's {vocabulary.size:,} tokens"
            fields["model_validator_first"] = found[0].valid
            fields["model_mask_first"] = found[0].completable
            fields["model_validator_ever"] = sum(count.valid > 0 for count in found[:-1])
    st.markdown("Tokens allowed at each place of one whole text, on a scale that ends at a hundred:")
    series = {
        "the validator": [count.valid for count in counts],
        "the mask": [min(100, count.completable) for count in counts],
    }
    names = [visible(count.text[-12:]) or "(the start)" for count in counts]
    bars(
        names,
        series,
        key=f"{key}_bars",
        title=f"tokens of {whose}, at most 100 shown",
        form=",.0f",
        largest=100,
        height=560,
    )
    if model is not None:
        source = ConstraintSource("json_schema", json.dumps(SCHEMA), (("whitespace", "compact"),))
        trace = live_run(RunSpec(PERSON_PROMPT, source, max_tokens=24), model, "Let the model write", key=f"{key}_run")
        if trace is not None:
            fields["written"] = trace.text.decode(errors="replace")
            left, right = st.columns(2, gap="medium")
            left.markdown("Under the validator's mask the model writes")
            left.code("(nothing: no first token is allowed)", language=None)
            right.markdown("Under the automaton's mask it writes")
            right.code(visible(trace.text), language=None)
    return fields


def _dead(key: str) -> dict[str, Value]:
    left, right = st.columns([1, 2], gap="medium")
    with left:
        pattern = st.text_input("The whole text matches", PATTERN, key=f"{key}_pattern", max_chars=40)
        most = st.slider("and has at most so many characters", 1, 9, MOST, key=f"{key}_most")
    try:
        found = both(compile_regex(pattern, budget=SMALL_BUDGET), _at_most(most))
    except (ConstraintError, BudgetError) as error:
        with right:
            notice(str(error), key=f"{key}_problem", kind="warning")
        return {}
    with left:
        # one step more than there are: the last says that nothing was added, and so what is dead
        rounds = st.slider("Steps backwards", 0, found.rounds + 1, found.rounds + 1, key=f"{key}_{found.rounds}_rounds")
        alive = sum(s.to_end is not None and s.to_end <= rounds for s in found.states)
        st.caption(f"{alive} of {len(found.states)} states found alive.")
    with right:
        backwards(found, rounds, key=f"{key}_picture")
    return _of_dead(pattern, most, found)


def _of_dead(pattern: str, most: int, found: Both) -> dict[str, Value]:
    dead = found.dead
    return {
        "pattern": pattern,
        "most": most,
        "states": len(found.states),
        "dead": len(dead),
        "rounds": found.rounds,
        "dead_text": found.states[dead[0]].text.decode(errors="replace") if dead else "none",
    }
