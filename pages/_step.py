"""Inside one step: why a token may be taken or not, the distributions, the model's own wish, the cut into tokens.

One token is selected (`Visit.token`), and every panel here follows it. Everything comes from the trace where it can, so
that recorded runs are looked into like live ones; what needs the model again is asked for with a button, unless the
logits are still at hand.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from engine.analysis.attribution import Paid, who_pays
from engine.analysis.inside import entropies, free_continuation, state_before, tempered
from engine.analysis.retokenised import (
    Retokenised,
    bridging_steps,
    log_probabilities,
    recorded_log_probabilities,
    retokenised,
)
from engine.constraint import Constraint
from engine.decoding.records import Candidate, ConstraintSource, Step, Trace
from engine.decoding.sampler import Distributions
from engine.errors import ConstraintError, Origin
from engine.grammar.free_text import any_bytes
from engine.masking import Masker
from engine.masking.terminals import Aligned
from engine.once import Once
from pages._asked import Question, asked
from pages._constraints import HEAVIEST, compiled, masked, said
from pages._lookup import look_up
from pages._seen import Seen, notes
from pages._session import Masks, Visit, resumed, speaks
from visualizations.distributions import distributions_table, masked_mass
from visualizations.notice import notice
from visualizations.tokenisation import freely, tokenisation
from visualizations.walk import Looked, token_walk

if TYPE_CHECKING:  # torch comes with it
    from engine.model.model import Model

AHEAD = 10  # tokens that the model writes freely
RETOKENISED = 600  # tokens of a run whose cut is compared
MasksOf = Callable[["Model"], Masks]
Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")

_free: Once[str, Masker] = Once(4)
"""The masks of runs without a constraint, by the vocabulary's digest."""

_whole_question: Once[str, Question] = Once(24)
"""About the whole distribution of a step, by what the model has read; an answer takes about 1.6 MB."""

_question: Once[tuple[str, str], Question] = Once(256)
"""Any other about what a model has read."""

About = tuple[str, int, bytes, int, tuple[Candidate, ...]]
"""What was read, and what is recorded of what came next: a file may say anything."""

_paid: Once[tuple[bool, About], tuple[Paid, ...]] = Once(500)
"""Who pays at a step, by whether all of the distribution was at hand."""

_looked: Once[tuple[bool, tuple[About, int]], Looked] = Once(500)
"""Why a token may be taken at a step, or may not; by the same."""

_cut: Once[tuple[str, str], Retokenised | None] = Once(64)
_bridges: Once[str, frozenset[int]] = Once(64)
_aligned: Once[Masker, Aligned] = Once(32, lambda masker, _: masker.held_bytes, HEAVIEST)


def inside_step(visit: Visit, trace: Trace, step: Step, model: Model | None, masks: MasksOf) -> tuple[Origin, ...]:
    """Draw what is inside a step, in the column it is called in.

    Gives the parts of the source that mask the selected token, to be marked in its text; () where it is allowed.
    Some parts stand in a container that is always there, for the reason that `viewer` gives.
    """
    model = model if model is not None and speaks(trace, model) and _within(step, model) else None
    try:
        seen = _seen(visit, trace, step, model)
        token_id = selected(visit, seen)
        look = partial(seen.look, token_id)
        looked = _shared(_looked, seen, (_about(seen), token_id), look) if model else look()
        with st.container():
            notice(notes(trace, step), key="step_notes", kind="info")
        with st.container():
            look_up(seen, token_id, _selects(visit, seen, "found"))
        token_walk(
            looked,
            step=step.index,
            takes=model is not None and not visit.busy,
            key="walk",
            on_select=_selects(visit, seen, "walk"),
            on_take=_takes(visit, model, masks, "walk"),
        )
        _distributions(visit, seen, token_id)
        with st.container():
            _masked_mass(seen, model, masks)
        with st.container():
            _free_continuation(seen, model)
    except ConstraintError as error:  # a budget is used up
        notice(said(error), key="inside_problem")
        return ()
    ruled = trace.spec.constraint is not None and looked.verdict == "masked" and looked.why is not None
    return looked.why.origins if ruled and looked.why is not None else ()


def _within(step: Step, model: Model) -> bool:
    """All ids of a step that may come from a file are ids of the model."""
    ids = (step.argmax_id, *(candidate.token_id for candidate in step.candidates))
    return all(token_id < model.vocabulary.size for token_id in ids)


def selected(visit: Visit, seen: Seen) -> int:
    """The token looked at: the visitor's, else the model's favourite where it is masked, else the one taken."""
    if visit.token is not None and seen.knows(visit.token):
        return visit.token
    return seen.step.argmax_id if seen.step.argmax_masked else seen.step.token_id


def _seen(visit: Visit, trace: Trace, step: Step, model: Model | None) -> Seen:
    masker, constraint = masker_of(trace.spec.constraint, model), None
    if masker is not None:
        constraint = masker.constraint
    elif trace.spec.constraint is not None and isinstance(found := compiled(trace.spec.constraint), Constraint):
        constraint = found
    state = None if constraint is None else state_before(constraint, trace, step.index)
    if state is None:
        constraint = masker = None
    vocabulary = None if model is None else model.vocabulary
    return Seen(trace, step, constraint, state, masker, vocabulary, _whole(visit, trace, step))


def read_so_far(trace: Trace, index: int) -> str:
    """A digest of the run's spec and of all the model has read before step `index`: what visitors may share goes by it.

    A trace from a file may hold other tokens than its spec leads to, or say that others were healed or spell nothing,
    so the run's id is not enough.
    """
    ids = [i for i, _ in trace.prompt_tokens] + [-1] + [step.token_id for step in trace.steps[:index]]
    silent = [step.index for step in trace.steps[:index] if step.end]
    prefix = trace.healed.prefix if trace.healed else b""
    return hashlib.blake2b(f"{trace.run_id} {ids} {silent} {prefix!r}".encode()).hexdigest()


def _about(seen: Seen) -> About:
    """What visitors may share of what a model says of a step."""
    step = seen.step
    read = read_so_far(seen.trace, step.index)
    return read, step.token_id, step.owed, step.narrowed, step.candidates


def _shared(kept: Once[tuple[bool, Key], Found], seen: Seen, about: Key, make: Callable[[], Found]) -> Found:
    """What visitors share about a step: found with the whole distribution if it is, or was, at hand."""
    found = kept.held((True, about)) if seen.whole is None else None
    return found if found is not None else kept.get((seen.whole is not None, about), make)


def masker_of(source: ConstraintSource | None, model: Model | None) -> Masker | None:
    """The masks of a run, one without a constraint included; None without a model, or where it does not compile."""
    if model is None:
        return None
    vocabulary = model.vocabulary
    if source is None:
        return _free.get(vocabulary.digest, lambda: Masker(any_bytes(), vocabulary))
    found = masked(source, vocabulary)
    return found if isinstance(found, Masker) else None


def _whole(visit: Visit, trace: Trace, step: Step) -> Distributions | None:
    """The distributions over the whole vocabulary, if they cost no forward pass."""
    about, run = _whole_question.get(read_so_far(trace, step.index), Question), visit.run
    latest = step.index == len(trace.steps) - 1
    if about.found is None and latest and not visit.busy and run is not None and run.follower is not None:
        about.found = run.follower.at_hand(step.index)
    found: Distributions | None = about.found
    return found


def _selects(visit: Visit, seen: Seen, key: str) -> Callable[[], None]:
    """What a click on a token in the component `key` does."""

    def select() -> None:
        picked = _picked(st.session_state[key].select)
        if picked is not None and picked[0] == seen.step.index and seen.knows(picked[1]):
            visit.token = picked[1]

    return select


def _takes(visit: Visit, model: Model | None, masks: MasksOf, key: str) -> Callable[[], None]:
    """What "Take it here" in the component `key` does."""

    def take() -> None:
        picked = _picked(st.session_state[key].take)
        if picked is not None and model is not None:
            visit.take(*picked, model, masks(model))

    return take


def _picked(value: Any) -> tuple[int, int] | None:
    """Step and token id that a browser sent; None if it is anything else."""
    if not isinstance(value, dict):
        return None
    index, token_id = value.get("step"), value.get("token")
    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in (index, token_id))
    return (index, token_id) if whole else None  # type: ignore[return-value]


def _distributions(visit: Visit, seen: Seen, token_id: int) -> None:
    sampler, whole = seen.trace.spec.sampler, seen.whole
    looked_at = seen.candidate(token_id)
    others = [c for c in seen.step.candidates if c.token_id != token_id]
    shown = others if looked_at is None else [*others, looked_at]
    warm = tempered(whole, sampler) if whole is not None and sampler.temperature else None
    distributions_table(
        seen.step,
        shown,
        sampler=sampler,
        tempered=None if warm is None else {c.token_id: float(warm[c.token_id]) for c in shown},
        narrowed={c.token_id for c in shown if seen.step.narrowed and seen.verdict(c.token_id) == "narrowed"},
        vocabulary_size=seen.trace.vocabulary_size,
        selected=token_id,
        key="distribution",
        on_select=_selects(visit, seen, "distribution"),
    )


def _masked_mass(seen: Seen, model: Model | None, masks: MasksOf) -> None:
    step, trace = seen.step, seen.trace
    paid: tuple[Paid, ...] = ()
    known = 1.0
    if seen.masker is not None and seen.state is not None and step.cost > 0:
        paid = _shared(_paid, seen, _about(seen), partial(who_pays, seen.masker, seen.state, *seen.masses))
        known = sum(part.mass for part in paid) / max(1e-12, 1.0 - step.z)
    names = {token_id: seen.text(token_id) for part in paid for token_id, _ in part.wanted}
    found = entropies(step, trace.spec.sampler, seen.whole)
    masked_mass(step, found, paid, names, known=known, key="mass")
    if seen.whole is not None or model is None:
        return

    def answer(stop: Callable[[], bool]) -> Distributions:
        return resumed(trace, step.index, model, masks(model)).distributions_at(step.index)

    asked(
        _whole_question.get(read_so_far(trace, step.index), Question),
        answer,
        lambda found: None,
        label="Whole distribution",
        hint="Reads prompt and output once more: the probability of every token, not of the favourites alone.",
        possible=True,
        key="whole",
    )


def _free_continuation(seen: Seen, model: Model | None) -> None:
    masker, state, trace, step = seen.masker, seen.state, seen.trace, seen.step
    if model is None or masker is None or state is None:
        return

    def answer(stop: Callable[[], bool]) -> Any:
        read = [i for i, _ in trace.prompt_tokens] + [made.token_id for made in trace.steps[: step.index]]
        return free_continuation(model, read, AHEAD, masker, state, stop) if not stop() else None

    asked(
        _question.get(("freely", read_so_far(trace, step.index)), Question),
        answer,
        lambda wishes: freely(wishes, constrained=trace.spec.constraint is not None, key="freely"),
        label="What would it write without the mask?",
        hint=f"The model's own next {AHEAD} tokens from here, one forward pass each.",
        possible=True,
        key="freely",
    )


def written_tokens(visit: Visit, trace: Trace, step: Step, model: Model | None) -> None:
    """Draw the run's cut of its text beside the tokenizer's own. For the width of the page."""
    if model is None or not speaks(trace, model):
        st.caption("Comparing with the tokenizer's own cut of the text needs the model.")
        return
    if visit.busy:
        st.caption("The tokenizer's own cut of the text is drawn when the run stands still.")
        return
    if len(trace.steps) > RETOKENISED:
        st.caption(f"The cut of the first {RETOKENISED:,} tokens is compared.")
    steps = trace.steps[:RETOKENISED]
    read = read_so_far(trace, len(steps))
    cut = _cut.get((model.vocabulary.digest, read), lambda: retokenised(model.canonical, model.vocabulary, steps))
    if cut is None:
        st.caption("The tokenizer does not give this text back, so it has no cut of its own.")
        return
    try:
        bridges = _bridges.get(read, lambda: _bridging(trace, masker_of(trace.spec.constraint, model)))
    except ConstraintError as error:
        notice(said(error), key="bridges_problem")
        bridges = frozenset()
    about = _question.get(("canonical", read_so_far(trace, cut.steps)), Question)

    def go() -> None:
        index = st.session_state["cuts"].step
        if not visit.busy and isinstance(index, int) and not isinstance(index, bool):
            visit.goto(index)

    tokenisation(
        cut,
        model.vocabulary,
        bridging=bridges,
        written=recorded_log_probabilities(steps),
        canonical=about.found,
        current=step.index,
        key="cuts",
        on_step=go,
    )
    if cut.differing and about.found is None:
        asked(
            about,
            lambda stop: _canonical(model, trace, cut, stop),
            lambda found: None,
            label="Probability of the tokenizer's own cut",
            hint="Reads the prompt and the text once more, cut as the tokenizer cuts it.",
            possible=True,
            key="canonical",
        )


def _canonical(model: Model, trace: Trace, cut: Retokenised, stop: Callable[[], bool]) -> tuple[float, ...] | None:
    return log_probabilities(model, [i for i, _ in trace.prompt_tokens], cut.canonical, stop)


def _bridging(trace: Trace, masker: Masker | None) -> frozenset[int]:
    if masker is None or trace.spec.constraint is None:
        return frozenset()
    return bridging_steps(masker, _aligned.get(masker, lambda: Aligned(masker)), trace)
