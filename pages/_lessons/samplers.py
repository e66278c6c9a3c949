"""Every sampler behind the same mask: a step's logits, what is drawn from them, what leaks past a finite penalty."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from engine.decoding.observe import token_bytes
from engine.decoding.records import RunSpec, Sampler, Step, Trace
from engine.decoding.sampler import Bools, Distributions, Floats, distributions, draw
from engine.grammar.sources import compile_source
from pages._debug_work import Progress
from pages._lessons.fields import Value
from pages._lessons.live import cost, live_run, masker_of
from pages._lessons.room import shared
from pages._session import resumed, speaks
from visualizations.charts import bars, curve
from visualizations.tokens import candidate_text, percent, token_text

if TYPE_CHECKING:  # torch comes with it
    from engine.model.model import Model

DRAWS = 400
SEED = 7  # with it the recorded step draws what greedy takes, which the exercise is to change
PENALTIES = (5.0, 10.0, 20.0)
HOT = 5.0  # a temperature
SHOWN = 5  # favourites, and as many allowed ones
KINDS = ("Greedy", "Temperature", "Top-k", "Top-p", "Min-p")


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


def place_at(trace: Trace, step: Step, model: Model | None, key: str) -> Place:
    """The step's logits: all of them from the model where it speaks the trace's vocabulary, else the recorded ones."""
    if model is not None and speaks(trace, model):

        def work(progress: Progress) -> Distributions:
            progress.say("Reading the step again", 0.5)
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


def logits_table(place: Place, key: str, masked: bool) -> None:
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


def shares_bars(place: Place, sampler: Sampler, key: str) -> None:
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


def sampling(trace: Trace, step: Step, place: Place, model: Model | None, key: str) -> dict[str, Value]:
    left, right = st.columns([2, 3], gap="medium")
    with left:
        kind = st.segmented_control("Sampler", KINDS, default="Temperature", required=True, key=f"{key}_kind")
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
        shares_bars(place, sampler, f"{key}_shares")
        if not place.whole:
            st.caption(f"From the record: only its {len(place.logits)} best known tokens take part.")
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


def leaks(place: Place, key: str) -> dict[str, Value]:
    """What masked tokens get if a number is subtracted from their logits instead of making them minus infinity."""
    heats = [0.5 + 0.25 * n for n in range(39)]
    series = {f"−{penalty:g}": [_leak(place, penalty, heat) for heat in heats] for penalty in PENALTIES}
    series["−∞"] = [_leak(place, math.inf, heat) for heat in heats]
    left, right = st.columns([3, 2], gap="medium")
    penalty = PENALTIES[-1]
    at = _leak(place, penalty, HOT)
    with left:
        marks = [(HOT, at, percent(at))]
        curve(
            heats, series, key=f"{key}_curve", y_form=".0%", marks=marks, x_title="temperature", y_title="masked tokens"
        )
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
