"""The one place to intervene: the decoding loop with a validator and a mask, and every sampler behind it as it was."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from engine.decoding.observe import token_bytes
from engine.decoding.records import RunSpec, Sampler, Step, Trace
from engine.decoding.sampler import Bools, Distributions, Floats, distributions, draw
from engine.grammar.sources import compile_source
from engine.shipped import shipped_trace
from pages._debug_work import Progress
from pages._lessons.fields import Fields, Value
from pages._lessons.live import PASS, cost, live_run, masker_of, recorded, step_shown, the_model
from pages._lessons.reader import Lesson
from pages._lessons.room import shared
from pages._session import resumed, speaks, worth_seeing
from visualizations.charts import bars, curve
from visualizations.lesson_loop import BOXES, decoding_loop
from visualizations.tokens import candidate_text, percent, token_text, visible

if TYPE_CHECKING:  # torch comes with it
    from engine.decoding.beam import BeamResult
    from engine.model.model import Model

FIELDS = {
    "vocabulary": "the number of tokens of the model",
    "example": "the name of the recorded run",
    "step": "the index of the step that is walked through",
    "before": "what is written before it",
    "wish": "the model's first choice there",
    "wish_raw": "its probability",
    "wants": "what the validator wants there, in words",
    "allowed": "the number of tokens allowed there",
    "masked": "the number of tokens masked there",
    "taken": "the token taken there",
    "greedy": "the token that greedy decoding takes at the step shown",
    "sampler": "the sampler the reader has set, in words",
    "drawn": "the token that it draws with the reader's seed",
    "draws": "the number of draws that were counted",
    "masked_drawn": "how many of them took a masked token",
    "unmasked_drawn": "how many draws without the mask would have taken a masked token",
    "masked_largest": "the largest probability of a masked token, after the mask",
    "penalty": "what is subtracted from a masked logit in the curve, instead of all of it",
    "penalty_temperature": "the temperature at which the leak is read off",
    "leak": "the probability that then goes to masked tokens",
    "beams": "the number of beams",
    "beam_text": "the most probable text that the search found",
    "beam_logprob": "its log-probability under the model",
    "greedy_text": "what greedy decoding wrote",
    "greedy_logprob": "its log-probability under the model",
    "beam_kept": "texts of the search that the validator accepts",
    "beam_found": "finished texts that the search found",
}

NAME = "Against the model's wish"
DRAWS = 400
SEED = 7  # with it the recorded step draws what greedy takes, which the exercise is to change
BEAMS = 4
PENALTIES = (5.0, 10.0, 20.0)
HOT = 5.0  # a temperature
SHOWN = 5  # favourites, and as many allowed ones


@dataclass(frozen=True, eq=False)
class Place:
    """The logits of a step over `ids`, the mask over the same; `whole`: the ids are the whole vocabulary."""

    logits: Floats
    allowed: Bools
    names: Callable[[int], str]
    whole: bool

    def after(self, sampler: Sampler, masked: bool = True) -> Distributions:
        """The step's distributions with a sampler, behind the mask or without it."""
        return distributions(self.logits, self.allowed if masked else np.ones_like(self.allowed), sampler)


@lru_cache(maxsize=1)
def facts() -> Fields:
    """The recorded run and its step where the mask overruled the model."""
    trace = shipped_trace(NAME)
    step = trace.steps[worth_seeing(trace)]
    return {
        "example": NAME,
        "vocabulary": trace.vocabulary_size,
        "greedy_text": trace.text.decode(errors="replace"),
        "greedy_logprob": sum(math.log(one.raw) for one in trace.steps),
        "beams": BEAMS,
        **_of_step(trace, step),
    }


def opening(lesson: Lesson, key: str) -> None:
    """The model's favourites at the step, before anything is masked."""
    trace = recorded(NAME)
    step = trace.steps[worth_seeing(trace)]
    ranked = sorted(step.candidates, key=lambda c: c.rank)[:SHOWN]
    bars([candidate_text(c) for c in ranked], {"the model": [c.raw for c in ranked]}, key=f"{key}_raw", form=".2f")


def experiment(lesson: Lesson, key: str) -> Fields:
    """The loop on a step; the samplers behind the mask; what leaks if it is not minus infinity; beams."""
    model, trace = the_model(), recorded(NAME)
    st.markdown("#### The loop, and what this step put into each box")
    step = step_shown(trace, key)
    place = _place(trace, step, model, key)
    box = _loop(trace, step, f"{key}_loop")
    _inside(box, trace, step, place, f"{key}_box")
    fields: dict[str, Value] = dict(_of_step(trace, step))
    st.markdown("#### Any sampler, behind the same mask")
    fields |= _sampling(trace, step, place, model, f"{key}_sampler")
    st.markdown("#### Almost minus infinity is not minus infinity")
    fields |= _leaks(place, f"{key}_leak")
    st.markdown("#### Beam search over what is allowed")
    return fields | _beams(trace, model, f"{key}_beam")


def check(fields: Fields, given: str) -> str:
    """The exercise: a draw that differs from the greedy choice."""
    if fields["drawn"] != fields["greedy"]:
        return ""
    return f"The draw takes {fields['drawn']}, as greedy decoding does. Try another seed or a higher temperature."


def _of_step(trace: Trace, step: Step) -> dict[str, Value]:
    favourite = next((c for c in step.candidates if c.token_id == step.argmax_id), None)
    return {
        "step": step.index,
        "before": trace.text_before(step.index).decode(errors="replace"),
        "wish": candidate_text(favourite) if favourite else visible(step.argmax),
        "wish_raw": favourite.raw if favourite else 0.0,
        "wants": step.before,
        "allowed": step.allowed_count,
        "masked": trace.vocabulary_size - step.allowed_count,
        "taken": token_text(step.token, step.token_id, step.end),
    }


def _place(trace: Trace, step: Step, model: Model | None, key: str) -> Place:
    """The step's logits: all of them from the model where it speaks the trace's vocabulary, else the recorded ones."""
    if model is not None and speaks(trace, model):

        def work(progress: Progress) -> Distributions:
            return resumed(trace, step.index, model, lambda spec: masker_of(spec, model)).distributions_at(step.index)

        question = ("logits", model.name, trace.run_id, step.index)
        found = shared(question, "Read the step again", cost(1), work, key=f"{key}_logits", at_once=True)
        if found is not None:
            vocabulary = model.vocabulary

            def name(place: int) -> str:
                return token_text(token_bytes(vocabulary, place), place, place in vocabulary.end_ids)

            return Place(found.logits, found.allowed, name, whole=True)
    known = sorted(step.candidates, key=lambda c: c.token_id)
    logits = np.log(np.maximum([c.raw for c in known], 1e-300))
    return Place(logits, np.array([c.allowed for c in known]), lambda n: candidate_text(known[n]), whole=False)


def _loop(trace: Trace, step: Step, key: str) -> str:
    place = f"{key}_at"

    def pick() -> None:
        picked = st.session_state[key].pick
        if picked in BOXES:
            st.session_state[place] = picked

    def onward() -> None:
        at = BOXES.index(st.session_state.get(place, "mask"))
        st.session_state[place] = BOXES[(at + 1) % len(BOXES)]

    current = st.session_state.get(place, "mask")
    decoding_loop(trace, step, current, key=key, on_pick=pick)
    st.button("Next box", key=f"{key}_next", icon=":material/arrow_forward:", on_click=onward)
    return current


def _inside(box: str, trace: Trace, step: Step, place: Place, key: str) -> None:
    """What is in the box picked."""
    with st.container(border=True, key=key):
        if box == "text":
            st.caption("Everything written before this step. The model has read it, the validator too, byte by byte.")
            st.code(trace.text_before(step.index).decode(errors="replace") or "(nothing yet)", language=None)
        elif box == "validator":
            st.caption("The automaton of the constraint, in the state that the text so far leads to. It wants:")
            st.code(step.before or "(anything)", language=None, wrap_lines=True)
        elif box == "model":
            st.caption("One logit for each token of the vocabulary, and no idea of a grammar. The favourites:")
            _logits(place, key, masked=False)
        elif box == "mask":
            st.caption(
                "A token that leaves the automaton no way on gets −∞ instead of its logit. All others keep theirs."
            )
            _logits(place, key, masked=True)
        elif box == "sampler":
            st.caption(
                "Softmax of what is left: e to the power of −∞ is zero, exactly. What is left sums to one again."
            )
            _shares(place, Sampler(temperature=1.0), f"{key}_shares")
        else:
            st.caption("One token, drawn from these shares. It is appended to the text, and the validator moves on.")
            st.code(token_text(step.token, step.token_id, step.end), language=None)


def _logits(place: Place, key: str, masked: bool) -> None:
    rows = []
    for one in _shown(place):
        allowed = bool(place.allowed[one])
        logit = float(place.logits[one])
        after = f"{logit:.2f}" if allowed else "−∞"
        rows.append(
            {"token": place.names(one), "logit": f"{logit:.2f}"} | ({"after the mask": after} if masked else {})
        )
    st.dataframe(rows, hide_index=True, key=f"{key}_logits")
    if not place.whole:
        st.caption("From the record: these logits are known up to a constant, ln of the probability.")


def _shares(place: Place, sampler: Sampler, key: str) -> None:
    free, kept = place.after(sampler, masked=False), place.after(sampler)
    shown = _shown(place)
    series = {
        "without the mask": [float(free.sampling[one]) for one in shown],
        "behind the mask": [float(kept.sampling[one]) for one in shown],
    }
    gone = [not place.allowed[one] for one in shown]
    bars([place.names(one) for one in shown], series, key=key, masked=gone, form=".2f", largest=1.0)


def _shown(place: Place) -> list[int]:
    """The favourites, and the favourites among the allowed, by logit."""
    order = np.argsort(-place.logits, kind="stable")
    kept = order[place.allowed[order]][:SHOWN]
    chosen = dict.fromkeys([*order[:SHOWN].tolist(), *kept.tolist()])
    return sorted(chosen, key=lambda one: -float(place.logits[one]))


_KINDS = ("Greedy", "Temperature", "Top-k", "Top-p", "Min-p")


def _sampling(trace: Trace, step: Step, place: Place, model: Model | None, key: str) -> dict[str, Value]:
    left, right = st.columns([2, 3], gap="medium")
    with left:
        kind = st.segmented_control("Sampler", _KINDS, default="Temperature", required=True, key=f"{key}_kind")
        sampler = _set(kind or "Temperature", key)
        words = _words(sampler)
        greedy = place.names(draw(place.after(Sampler()).sampling, Sampler(), 0).token_id)
        drawn = place.names(draw(place.after(sampler).sampling, sampler, step.index).token_id)
        counted = _counted(place, sampler, (trace.run_id, step.index, place.whole, model.name if model else ""))
        with st.container(horizontal=True):
            st.metric(f"Masked tokens in {DRAWS} draws", f"{counted[0]}")
            st.metric("The same without the mask", f"{counted[1]}")
        st.text(f"Greedy takes {greedy}; this sampler and seed take {drawn}.")
    with right:
        _shares(place, sampler, f"{key}_shares")
    if model is not None:
        _to_the_end(replace(trace.spec, sampler=sampler), model, key)
    kept = place.after(sampler).sampling
    return {
        "greedy": greedy,
        "sampler": words,
        "drawn": drawn,
        "draws": DRAWS,
        "masked_drawn": counted[0],
        "unmasked_drawn": counted[1],
        "masked_largest": float(kept[~place.allowed].max(initial=0.0)),
    }


def _set(kind: str, key: str) -> Sampler:
    """The sampler with its one control, and the seed."""
    sampler = Sampler(temperature=1.0)
    if kind == "Greedy":
        return Sampler()
    if kind == "Temperature":
        sampler = replace(sampler, temperature=st.slider("Temperature", 0.1, 10.0, 1.0, 0.1, key=f"{key}_temperature"))
    elif kind == "Top-k":
        sampler = replace(sampler, top_k=st.slider("Top-k: the k largest", 1, 50, 2, key=f"{key}_top_k"))
    elif kind == "Top-p":
        sampler = replace(
            sampler, top_p=st.slider("Top-p: the fewest with this mass", 0.05, 1.0, 0.9, key=f"{key}_top_p")
        )
    else:
        said = "Min-p: at least this part of the favourite"
        sampler = replace(sampler, min_p=st.slider(said, 0.0, 1.0, 0.1, key=f"{key}_min_p"))
    return replace(sampler, seed=st.slider("Seed", 0, 50, SEED, key=f"{key}_seed"))


def _words(sampler: Sampler) -> str:
    if sampler.temperature == 0:
        return "greedy"
    cuts = {"top-k": sampler.top_k, "top-p": sampler.top_p if sampler.top_p < 1 else 0, "min-p": sampler.min_p}
    said = [f"temperature {sampler.temperature:g}", *(f"{name} {value:g}" for name, value in cuts.items() if value)]
    return ", ".join(said)


@st.cache_data(max_entries=256, show_spinner=False)
def _counted(_place: Place, sampler: Sampler, where: tuple[object, ...]) -> tuple[int, int]:
    """How many of the draws took a masked token: behind the mask, and without it. `where` names the place."""
    counts = []
    for masked in (True, False):
        shares = _place.after(sampler, masked=masked).sampling
        drawn = (draw(shares, sampler, position).token_id for position in range(DRAWS))
        counts.append(sum(not _place.allowed[one] for one in drawn))
    return counts[0], counts[1]


def _to_the_end(spec: RunSpec, model: Model, key: str) -> None:
    made = live_run(spec, model, "Run to the end with this sampler", key=f"{key}_live")
    if made is not None and spec.constraint is not None:
        verdict = compile_source(spec.constraint).check(made.text).kind
        st.text(f"Run {made.run_id}: {verdict} by the validator, −ln Z {made.cost:.2f}")
        st.code(made.text.decode(errors="replace"), language=None, wrap_lines=True)


def _leaks(place: Place, key: str) -> dict[str, Value]:
    """What masked tokens get if a number is subtracted from their logits instead of making them minus infinity."""
    heats = [0.5 + 0.25 * n for n in range(39)]
    series = {f"−{penalty:g}": [_leak(place, penalty, heat) for heat in heats] for penalty in PENALTIES}
    series["−∞"] = [_leak(place, math.inf, heat) for heat in heats]
    left, right = st.columns([3, 2], gap="medium")
    penalty = PENALTIES[-1]
    at = _leak(place, penalty, HOT)
    with left:
        titles = {"x_title": "temperature", "y_title": "probability of masked tokens"}
        marks = [(HOT, at, percent(at))]
        curve(heats, series, key=f"{key}_curve", y_form=".0%", marks=marks, **titles)
    with right:
        st.markdown(
            "A logit bias of a hosted service is such a subtraction. Heat makes every finite penalty smaller; "
            "minus infinity divided by any temperature is minus infinity."
        )
    return {"penalty": penalty, "penalty_temperature": HOT, "leak": at}


def _leak(place: Place, penalty: float, temperature: float) -> float:
    logits = np.where(place.allowed, place.logits, place.logits - penalty) / temperature
    weights = np.exp(logits - logits.max())
    return float(weights[~place.allowed].sum() / weights.sum())


def _beams(trace: Trace, model: Model | None, key: str) -> dict[str, Value]:
    greedy = {
        "text": visible(trace.text),
        "ln P": f"{float(facts()['greedy_logprob']):.2f}",
        "from": "greedy, recorded",
    }
    if model is None:
        st.dataframe([greedy], hide_index=True, key=f"{key}_greedy")
        return {}

    def work(progress: Progress) -> BeamResult:
        from engine.decoding.beam import beam_search

        progress.say("Searching", 0.3)
        return beam_search(model, trace.spec, BEAMS, cancelled=progress.stopped, masker=masker_of(trace.spec, model))

    passes = BEAMS * (len(trace.steps) + 2)
    said = f"Extends {BEAMS} texts at once: about {passes} forward passes, {passes * PASS:.0f} s on two cores."
    question = ("beams", model.name, trace.run_id, BEAMS)
    found = shared(question, f"Search with {BEAMS} beams", said, work, key=key)
    if found is None:
        return {}
    finished = [one for one in found.hypotheses if one.finished]
    rows = [
        {"text": visible(h.text), "ln P": f"{h.logprob:.2f}", "from": f"beam {n}"} for n, h in enumerate(finished, 1)
    ]
    st.dataframe([*rows, greedy], hide_index=True, key=f"{key}_texts")
    if not finished or trace.spec.constraint is None:
        return {}
    constraint = compile_source(trace.spec.constraint)
    return {
        "beam_text": finished[0].text.decode(errors="replace"),
        "beam_logprob": finished[0].logprob,
        "beam_found": len(finished),
        "beam_kept": sum(constraint.check(one.text).kind == "accepted" for one in finished),
    }
