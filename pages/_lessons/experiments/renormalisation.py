"""Renormalisation: what a mask does to a distribution, what it costs, and why that is not conditioning."""

from __future__ import annotations

import math
import re
from functools import lru_cache

import streamlit as st

from engine.analysis.conditional import Conditional, conditional
from engine.analysis.importance import Importance, importance
from engine.decoding.errors import DecodingError
from engine.decoding.records import ConstraintSource, RunSpec, Sampler, Step, Trace
from engine.grammar.regex.compile import compile_regex
from engine.shipped import shipped_trace
from pages._debug_work import Progress
from pages._lessons.fields import Fields, Value
from pages._lessons.live import cost, live_run, masker_of, recorded, step_shown, the_model
from pages._lessons.reader import Lesson, Start
from pages._lessons.room import shared
from pages._lessons.steps import step_bars
from pages._session import worth_seeing
from visualizations.charts import bars, curve
from visualizations.notice import notice
from visualizations.tokens import candidate_text, percent, visible

FIELDS = {
    "sure": "the share of Sure in the example of four",
    "brace": "the share of the opening brace",
    "newline": "the share of the newline",
    "rest": "the share of everything else",
    "brace_after": "the brace's share when it alone is allowed",
    "moved": "the share of the mass that moves then",
    "moved_percent": "the same in percent",
    "price": "-ln Z of that step, nats",
    "own_z": "the allowed mass that the reader's slider and ticks make",
    "own_price": "-ln of it, nats",
    "example": "the name of the recorded run",
    "run_text": "what the recorded run wrote",
    "run_price": "its running -ln Z, nats",
    "run_steps": "its number of steps",
    "run_kept": "the product of Z over it",
    "dearest": "the index of its dearest step",
    "dearest_z": "Z there",
    "dearest_price": "-ln Z there, nats",
    "dearest_wish": "the model's first choice there",
    "dearest_taken": "the token taken there",
    "calmest": "the index of the recorded run's cheapest step",
    "calmest_z": "Z there",
    "agreeing": "the number of steps of another recorded run that cost next to nothing",
    "agreeing_of": "the number of its steps",
    "agreeing_text": "what it wrote",
    "agreeing_z": "from which Z on a step is counted among them",
    "strings": "the number of texts that the small grammar has",
    "refused": "what the small grammar does with a one after a first zero",
    "taken_in": "what it does with a one after a first one",
    "zeros_exact": "the exact conditional probability of the five zeros",
    "zeros_masked": "the probability that a masked run writes them",
    "kl": "KL of the masked distribution from the exact one, nats",
    "tv": "total variation between the two",
    "language_mass": "the probability that the model, left alone, writes a text of the small grammar",
    "weighted_tv": "total variation of the weighted estimate from the exact distribution",
    "counted_tv": "total variation of the plain counts from it",
    "runs": "the number of masked runs behind these estimates",
    "effective": "their effective sample size",
    "both_ways": "tokens that the small grammar allows in one place and masks in another",
}

NAME, CALM = "Against the model's wish", "Person record"
AGREES = 0.99
FOUR = {"Sure": 0.4, "{": 0.3, "newline": 0.1, "everything else": 0.2}
BINARY = "00000|1[01]{4}"
PROMPT = "Write a binary number of five digits."
ZEROS = b"00000"
MOST_RUNS = 1_000
PREFIXES = 40  # beginnings of tokenisations that the small grammar has with the bundled vocabulary, about


@lru_cache(maxsize=1)
def facts() -> Fields:
    """The example of four shares, and the recorded run."""
    trace = shipped_trace(NAME)
    dearest = trace.steps[worth_seeing(trace)]
    small = compile_regex(BINARY)
    return {
        "sure": FOUR["Sure"],
        "brace": FOUR["{"],
        "newline": FOUR["newline"],
        "rest": FOUR["everything else"],
        "brace_after": 1.0,
        "moved": 1 - FOUR["{"],
        "moved_percent": round(100 * (1 - FOUR["{"])),
        "price": -math.log(FOUR["{"]),
        "example": NAME,
        "strings": len([n for n in range(32) if small.check(f"{n:05b}").kind == "accepted"]),
        "refused": "masked" if small.check("01").kind == "rejected" else "allowed",
        "taken_in": "masked" if small.check("11").kind == "rejected" else "allowed",
        **_of_run(trace, dearest),
        **_of_agreement(shipped_trace(CALM)),
    }


def opening(lesson: Lesson, key: str) -> None:
    """The four shares before the mask."""
    bars(list(FOUR), {"the model": list(FOUR.values())}, key=f"{key}_four", form=".1f", largest=1.0)


def experiment(lesson: Lesson, key: str) -> Fields:
    """Four shares and a slider; the real model; the small grammar, exact beside masked."""
    st.markdown("#### One step, by hand")
    fields: dict[str, Value] = _by_hand(f"{key}_hand")
    st.markdown("#### The real model, step by step")
    fields |= _on_a_run(lesson.start, f"{key}_run")
    st.markdown(f"#### A grammar of {facts()['strings']} strings")
    return fields | _small_grammar(f"{key}_small")


def check(fields: Fields, given: str) -> str:
    """The exercise: a price of one nat."""
    price = float(fields["own_price"])
    if abs(price - 1) <= 0.03:
        return ""
    return f"The price is {price:.2f} nats now: {'allow or like more' if price > 1 else 'allow or like less'}."


def _by_hand(key: str) -> dict[str, Value]:
    left, right = st.columns([2, 3], gap="medium")
    with left:
        likes = st.slider("How much the model likes the brace", 0.01, 0.99, FOUR["{"], 0.01, key=f"{key}_likes")
        allowed = st.pills(
            "The grammar allows", list(FOUR), selection_mode="multi", default=["{"], key=f"{key}_allowed"
        )
    scale = (1 - likes) / (1 - FOUR["{"])
    shares = {name: likes if name == "{" else share * scale for name, share in FOUR.items()}
    kept = sum(shares[name] for name in allowed)
    with right:
        after = [shares[name] / kept if name in allowed and kept else 0.0 for name in shares]
        gone = [name not in allowed for name in shares]
        series = {"the model": list(shares.values()), "after the mask": after}
        bars(list(shares), series, key=f"{key}_bars", masked=gone, form=".2f", largest=1.0)
    with left:
        if kept <= 0:
            notice("Nothing is allowed: there is no distribution left. A real mask never does this.", key=f"{key}_none")
            return {}
        price = max(0.0, -math.log(min(1.0, kept)))
        with st.container(horizontal=True):
            st.metric("Z, the mass that is kept", f"{kept:.2f}")
            st.metric("Mass that moves", f"{1 - min(1.0, kept):.0%}")
            st.metric("Price, −ln Z", f"{price:.2f} nats")
    return {"own_z": kept, "own_price": price}


def _on_a_run(start: Start | None, key: str) -> dict[str, Value]:
    """The run that the lesson begins with, or the reader's own."""
    name = start.example if start else NAME
    trace = recorded(name)
    model = the_model()
    with st.expander("Run your own (the model answers with one of your words)", key=f"{key}_own"):
        prompt = st.text_input("Prompt", trace.spec.prompt, key=f"{key}_prompt", max_chars=500)
        words = st.text_input("Allowed answers, with commas between", "negative, neutral, mixed", key=f"{key}_words")
        if model is not None and (spec := _spec(prompt, words)) is not None:
            trace = live_run(spec, model, "Run", key=f"{key}_live") or trace
    live = trace.spec != recorded(name).spec
    st.caption(f"{'Live' if live else 'Recorded'} run {trace.run_id}, {trace.model}. Click a token to see its step.")
    step = step_shown(trace, key, start.step if start and not live else None)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        step_bars(step, key=f"{key}_bars")
    with right:
        st.metric(f"Step {step.index}: price, −ln Z", f"{step.cost:.2f} nats")
        st.caption(f"{percent(step.z)} of the mass was allowed.")
        names = [f"{s.index} {visible(s.token) or '⟨end⟩'}" for s in trace.steps]
        bars(names, {"price": [s.cost for s in trace.steps]}, key=f"{key}_prices", title="−ln Z, nats", form=".2f")
        st.caption(f"All steps together: {trace.cost:.2f} nats.")
    return dict(_of_run(trace, trace.steps[worth_seeing(trace)]))


def _spec(prompt: str, words: str) -> RunSpec | None:
    """A run that must answer with one of the words; None where there are none."""
    answers = [word.strip() for word in words.split(",") if word.strip()]
    if not answers or not prompt.strip():
        return None
    escaped = "|".join(map(re.escape, answers))
    return RunSpec(prompt, ConstraintSource("regex", escaped), max_tokens=24)


def _of_run(trace: Trace, dearest: Step) -> Fields:
    favourite = next((c for c in dearest.candidates if c.token_id == dearest.argmax_id), None)
    return {
        "run_text": trace.text.decode(errors="replace"),
        "run_price": trace.cost,
        "run_steps": len(trace.steps),
        "run_kept": math.exp(-trace.cost),
        "dearest": dearest.index,
        "dearest_z": dearest.z,
        "dearest_price": dearest.cost,
        "dearest_wish": candidate_text(favourite) if favourite else visible(dearest.argmax),
        "dearest_taken": visible(dearest.token) or "⟨end⟩",
        "calmest": max(trace.steps, key=lambda step: step.z).index,
        "calmest_z": max(step.z for step in trace.steps),
    }


def _of_agreement(trace: Trace) -> Fields:
    return {
        "agreeing": sum(step.z >= AGREES for step in trace.steps),
        "agreeing_of": len(trace.steps),
        "agreeing_text": trace.text.decode(errors="replace"),
        "agreeing_z": AGREES,
    }


def _small_grammar(key: str) -> dict[str, Value]:
    st.markdown("The grammar:")
    st.code(BINARY, language=None)
    prompt = st.text_input("Prompt", PROMPT, key=f"{key}_prompt", max_chars=300)
    model = the_model()
    if model is None or not prompt.strip():
        return {}
    spec = RunSpec(prompt, ConstraintSource("regex", BINARY), sampler=Sampler(temperature=1.0))

    def work(progress: Progress) -> Conditional | None:
        masker = masker_of(spec, model)
        assert masker is not None
        try:
            return conditional(
                model,
                prompt,
                masker,
                progress=lambda done, of: progress.say(f"{done} of {of} beginnings read", done / of),
                cancelled=progress.stopped,
            )
        except ValueError as error:  # too many texts or tokenisations: the message says what to do
            raise DecodingError(str(error)) from error

    said = f"Reads every beginning of the texts. {cost(PREFIXES)}"
    question = ("conditional", model.name, BINARY, prompt)
    found = shared(question, "Compute both distributions", said, work, key=key)
    return {} if found is None else _both(found, key)


def _both(found: Conditional, key: str) -> dict[str, Value]:
    texts = [one.text.decode() for one in found.texts]
    runs = st.select_slider("Masked runs", [10, 30, 100, 300, MOST_RUNS], 300, key=f"{key}_runs")
    drawn = _drawn(found, runs)
    series = {
        "exact, P(text | grammar)": [one.exact for one in found.texts],
        "masked, what runs write": [one.masked for one in found.texts],
        "masked runs, weighted": list(drawn.shares),
    }
    left, right = st.columns([3, 2], gap="medium")
    with left:
        bars(texts, series, key=f"{key}_bars", form=".1%", height=760)
    with right:
        steps = [estimate.runs for estimate in drawn.running]
        both = {
            "weighted by the product of Z": [e.total_variation for e in drawn.running],
            "counted as they come": [e.counted_total_variation for e in drawn.running],
        }
        x = "masked runs"
        curve(steps, both, key=f"{key}_tv", log_x=True, x_title=x, y_title="total variation from exact")
        kls = {
            "weighted by the product of Z": [e.kl for e in drawn.running],
            "counted as they come": [e.counted_kl for e in drawn.running],
        }
        curve(steps, kls, key=f"{key}_kl", log_x=True, x_title=x, y_title="KL from exact, nats")
    zeros = next(one for one in found.texts if one.text == ZEROS)
    last = drawn.running[-1]
    return {
        "zeros_exact": zeros.exact,
        "zeros_masked": zeros.masked,
        "kl": found.kl_masked_exact,
        "tv": found.total_variation,
        "language_mass": math.exp(found.log_mass),
        "weighted_tv": last.total_variation,
        "counted_tv": last.counted_total_variation,
        "runs": runs,
        "effective": last.effective,
        "both_ways": _both_ways(found),
    }


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs={Conditional: id})
def _drawn(found: Conditional, runs: int) -> Importance:
    return importance(found, runs, seed=1)


def _both_ways(found: Conditional) -> int:
    """Tokens that one beginning allows and another masks: no fixed number added to their logit can do both."""
    places = [set(prefix.ids) for prefix in found.tree if prefix.ids]
    return len(set.union(*places) - set.intersection(*places)) if places else 0
