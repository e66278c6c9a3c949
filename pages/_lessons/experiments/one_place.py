"""The one place to intervene: the decoding loop with a validator and a mask, and every sampler behind it as it was."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import streamlit as st

from engine.decoding.records import Sampler, Step, Trace
from engine.grammar.sources import compile_source
from engine.shipped import shipped_trace
from pages._debug_work import Progress
from pages._lessons.fields import Fields, Value
from pages._lessons.live import PASS, masker_of, recorded, step_shown, the_model
from pages._lessons.reader import Lesson
from pages._lessons.room import shared
from pages._lessons.samplers import SHOWN, Place, leaks, logits_table, place_at, sampling, shares_bars
from pages._session import worth_seeing
from visualizations.charts import bars
from visualizations.lesson_loop import BOXES, decoding_loop
from visualizations.tokens import candidate_text, token_text, visible

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
BEAMS = 4


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
    place = place_at(trace, step, model, key)
    box = _loop(trace, step, f"{key}_loop")
    _inside(box, trace, step, place, f"{key}_box")
    fields: dict[str, Value] = dict(_of_step(trace, step))
    st.markdown("#### Any sampler, behind the same mask")
    fields |= sampling(trace, step, place, model, f"{key}_sampler")
    st.markdown("#### Almost minus infinity is not minus infinity")
    fields |= leaks(place, f"{key}_leak")
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
            logits_table(place, key, masked=False)
        elif box == "mask":
            st.caption(
                "A token that leaves the automaton no way on gets −∞ instead of its logit. All others keep theirs."
            )
            logits_table(place, key, masked=True)
        elif box == "sampler":
            st.caption(
                "Softmax of what is left: e to the power of −∞ is zero, exactly. What is left sums to one again."
            )
            shares_bars(place, Sampler(temperature=1.0), f"{key}_shares")
        else:
            st.caption("One token, drawn from these shares. It is appended to the text, and the validator moves on.")
            st.code(token_text(step.token, step.token_id, step.end), language=None)


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
