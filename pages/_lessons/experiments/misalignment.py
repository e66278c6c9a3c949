"""Token misalignment: tokens that cross a boundary of the grammar forbidden, and where that leads a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import streamlit as st

from engine.analysis.rejoined import rejoined
from engine.analysis.tokenisations import Lattice
from engine.analysis.two_cuts import Stretch, log_probability, stretches_from_json, stretches_to_json, two_cuts
from engine.decoding.decoder import Decoder
from engine.decoding.errors import DecodingError
from engine.decoding.records import Policy, RunSpec, Step, Trace
from engine.decoding.spec import run_id
from engine.examples import example
from pages._debug_work import Progress
from pages._lessons.fields import Fields, Value
from pages._lessons.live import cost, masker_of, the_model
from pages._lessons.reader import Lesson
from pages._lessons.recorded import recorded_run, recorded_values
from pages._lessons.room import shared
from pages._lessons.steps import door, step_bars
from visualizations.charts import bars
from visualizations.paths import paths
from visualizations.tokens import candidate_text, visible

if TYPE_CHECKING:  # torch comes with it
    from engine.model.model import Model

FIELDS = {
    "before": "what the run under the narrow mask had written when the model first wanted a forbidden token",
    "wish": "that token",
    "wish_raw": "the probability that the model gave it",
    "wish_step": "the step",
    "aligned_text": "what was written without tokens that cross a boundary",
    "aligned_price": "the price of that run, nats",
    "aligned_tokens": "its tokens, the end token left out",
    "aligned_own": "tokens of the tokenizer's own cut of the same text",
    "aligned_places": "places in which the two cuts differ",
    "aligned_log": "ln p of that run's tokens",
    "aligned_own_log": "ln p of the tokenizer's own cut of the same text",
    "aligned_times": "how many times as probable the tokenizer's own cut is",
    "bridging_text": "what was written with them",
    "bridging_price": "the price of that run, nats",
    "bridging_places": "places in which the cut of that run and the tokenizer's own differ",
    "bridging_first": "the first tokens of that run where the tokenizer has another one",
    "bridging_first_own": "the tokenizer's own there",
    "canonical_text": "what was written along the tokenizer's own cut",
    "canonical_price": "the price of that run, nats",
    "same_bytes": "bytes that both runs wrote, by different tokens",
    "joined": "the last tokens before them with crossing tokens",
    "split": "the last tokens before them without",
    "follow": "the model's favourite after those bytes with crossing tokens",
    "follow_joined": "its probability there",
    "follow_split": "its probability after the same bytes without crossing tokens",
    "gain": "the token that gains most by the other cut",
    "gain_joined": "its probability with crossing tokens",
    "gain_split": "its probability without",
    "ways_text": "the short text whose cuts are enumerated",
    "ways": "how many cuts it has",
    "ways_best": "the most probable cut",
    "ways_share": "its part of the text's probability",
    "ways_aligned": "the most probable cut without a token that crosses a boundary",
    "ways_aligned_times": "how many times less probable that one is",
    "ways_end": "the tokens with which such a cut ends",
    "ways_worst": "the least probable cut",
}

POLICIES: Mapping[Policy, str] = {
    "aligned": "none may cross",
    "bridging": "any token may cross",
    "canonical": "only the tokenizer's own cut",
}
PERSON = example("Person record").spec()
RUNS: Mapping[str, RunSpec] = {policy: replace(PERSON, policy=policy) for policy in POLICIES}
WAYS_BEFORE, WAYS_TEXT, BOUNDARY = (
    '{"name":"Marie Curie",',
    '"age":',
    5,
)  # the key ends at the boundary, the colon follows
LONGEST = 12  # characters of a text whose cuts are read
BAR = "|"


@dataclass(frozen=True, slots=True)
class Run:
    """A run with both cuts of its text; none where the tokenizer does not give the text back."""

    trace: Trace
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """A cut of a short text, the natural logarithm of its probability, and its tokens."""

    tokens: tuple[bytes, ...]
    logprob: float

    @property
    def text(self) -> str:
        return BAR.join(visible(token) for token in self.tokens)


def computed(model: Model, traces: Mapping[str, Trace]) -> Any:
    """What is recorded of the runs: both cuts of each, and the cuts of the short text."""
    cuts = {}
    for policy, trace in traces.items():
        masker = masker_of(trace.spec, model)
        assert masker is not None
        cuts[policy] = stretches_to_json(two_cuts(model, masker, trace) or ())
    ways = _ways(model, WAYS_BEFORE, WAYS_TEXT)
    return {"cuts": cuts, "ways": [[[t.decode("latin-1") for t in way.tokens], way.logprob] for way in ways]}


@lru_cache(maxsize=1)
def facts() -> Fields:
    """All of it, from the recorded runs."""
    return {**_of_runs(_recorded()), **_of_ways(WAYS_TEXT, _recorded_ways(), BOUNDARY)}


def opening(lesson: Lesson, key: str) -> None:
    """What the model wants where it first may not have it; no mask, no outcome."""
    step = _wanted_in_vain(_recorded()["aligned"].trace)
    shown = sorted(step.candidates, key=lambda c: c.rank)[:4]
    st.markdown("The model's favourites there, before any mask:")
    bars([candidate_text(c) for c in shown], {"the model": [c.raw for c in shown]}, key=key, form=".1%", largest=1.0)


def experiment(lesson: Lesson, key: str) -> Fields:
    """One prompt under three masks that accept the same texts; the cut alone; every cut of a short text."""
    model = the_model()
    st.markdown("#### One grammar, three masks")
    runs = _own_runs(model, f"{key}_own") or _recorded()
    _runs(runs, f"{key}_runs")
    st.markdown("#### The same bytes, another cut: what does the model expect next?")
    fields = _of_runs(runs)
    _same_bytes(runs, f"{key}_same")
    st.markdown("#### Every way to cut a short text")
    _every_way(model, f"{key}_ways")
    return {**fields, **_of_ways(WAYS_TEXT, _recorded_ways(), BOUNDARY)}


def check(fields: Fields, given: str) -> str:
    """The exercise: the most probable cut without a token that crosses a boundary."""
    tokens = tuple(part.encode() for part in given.replace(" ", "").split(BAR))
    if b"".join(tokens) != WAYS_TEXT.encode():
        return f"Without the bars this reads {given.replace(BAR, '')!r}, not {WAYS_TEXT!r}."
    found = next((way for way in _recorded_ways() if way.tokens == tokens), None)
    if found is None:
        return "Not all of these are tokens of the vocabulary: look at the list of the cuts."
    if not _respects(found, BOUNDARY):
        return "One of these tokens holds the end of the key and the colon: it crosses the boundary."
    best = next(way for way in _recorded_ways() if _respects(way, BOUNDARY))
    return "" if found == best else "No token crosses the boundary, but there is a more probable cut of this kind."


@lru_cache(maxsize=1)
def _recorded() -> dict[Policy, Run]:
    cuts = recorded_values("misalignment")["cuts"]
    return {policy: Run(recorded_run("misalignment", policy), stretches_from_json(cuts[policy])) for policy in POLICIES}


@lru_cache(maxsize=1)
def _recorded_ways() -> tuple[Way, ...]:
    found = recorded_values("misalignment")["ways"]
    return tuple(Way(tuple(token.encode("latin-1") for token in tokens), logprob) for tokens, logprob in found)


def _own_runs(model: Model | None, key: str) -> dict[Policy, Run] | None:
    """The three runs of a prompt of the reader's own, made when asked for."""
    with st.expander("With your own prompt", key=f"{key}_open"):
        prompt = st.text_input("Prompt", PERSON.prompt, key=f"{key}_prompt", max_chars=500)
        if model is None or not prompt.strip():
            return None
        specs = {policy: replace(spec, prompt=prompt) for policy, spec in RUNS.items()}

        def work(progress: Progress) -> dict[Policy, Run] | None:
            made: dict[Policy, Run] = {}
            for number, policy in enumerate(POLICIES):
                run = _made(model, specs[policy], lambda words, n=number: progress.say(words, n / 3), progress.stopped)  # type: ignore[misc]
                if run is None:
                    return None
                made[policy] = run
            return made

        asked = ("misalignment", model.name, *map(run_id, specs.values()))
        return shared(asked, "Run under all three masks", cost(3 * PERSON.max_tokens), work, key=key)


def _made(model: Model, spec: RunSpec, say: Callable[[str], None], stopped: Callable[[], bool]) -> Run | None:
    masker = masker_of(spec, model)
    assert masker is not None
    run = Decoder(model, spec, masker.constraint, masker)
    for step in run.run(stopped):
        say(f"{POLICIES[spec.policy]}: token {step.index + 1}")
    if stopped():
        return None
    return Run(run.trace, two_cuts(model, masker, run.trace, stopped) or ())


def _runs(runs: Mapping[Policy, Run], key: str) -> None:
    policy = st.segmented_control(
        "Tokens across a boundary of the grammar",
        list(POLICIES),
        format_func=POLICIES.__getitem__,
        default="aligned",
        key=f"{key}_policy",
        required=True,
    )
    run = runs[policy]
    trace = run.trace
    place = f"{key}_{trace.run_id}_at"

    def pick() -> None:
        picked = st.session_state[f"{key}_paths"].step
        if isinstance(picked, int) and not isinstance(picked, bool) and 0 <= picked < len(trace.steps):
            st.session_state[place] = picked

    position = min(st.session_state.get(place, _wanted_in_vain(trace).index), len(trace.steps) - 1)
    step = trace.steps[position]
    st.code(visible(trace.text), language=None)
    paths(run.stretches, names=("written", "the tokenizer's own"), current=position, key=f"{key}_paths", on_step=pick)
    if away := [str(step.index) for step in trace.steps if step.fallback]:
        st.caption(f"At step {', '.join(away)} the policy left no token, so any completable one was allowed there.")
    left, right = st.columns([3, 2], gap="medium")
    with left:
        written = visible(trace.text_before(step.index)) or "(nothing)"
        st.markdown(f"**Step {step.index}**: its favourites, after")
        st.code(written, language=None)
        step_bars(step, key=f"{key}_bars")
    with right:
        st.metric("Price of the whole run, −ln Z", f"{trace.cost:.2f} nats")
        st.metric(
            f"Step {step.index}", f"{step.cost:.2f} nats", f"Z = {step.z:.3g}", delta_color="off", delta_arrow="off"
        )
        written_log = log_probability(piece for one in run.stretches for piece in one.written)
        own_log = log_probability(piece for one in run.stretches for piece in one.own)
        st.metric("ln p of the text as written", f"{written_log:.2f}".replace("-", "−"))
        st.metric("ln p of the same text, the tokenizer's cut", f"{own_log:.2f}".replace("-", "−"))
    recorded = "Recorded" if trace == _recorded()[policy].trace else "Live"
    st.caption(f"{recorded} run {trace.run_id}, {trace.model}. Click a token of the upper row to see its step.")
    door(trace.spec, step.index, "This step in Step-through", key=f"{key}_door")


def _wanted_in_vain(trace: Trace) -> Step:
    """The first step at which the policy forbade the model's favourite, else the dearest."""
    first = next((step for step in trace.steps if step.narrowed and step.argmax_masked and step.index), None)
    return first or max(trace.steps, key=lambda step: step.cost)


def _same_bytes(runs: Mapping[Policy, Run], key: str) -> None:
    joined, split = runs["bridging"].trace, runs["aligned"].trace
    found = rejoined(joined, split)
    if found is None:
        st.caption("The two runs never wrote the same bytes by different tokens.")
        return
    one, other = joined.steps[found[0]], split.steps[found[1]]
    raws = [{c.token_id: c for c in step.candidates} for step in (one, other)]
    best = sorted(one.candidates, key=lambda c: c.rank)[:4] + sorted(other.candidates, key=lambda c: c.rank)[:3]
    shown = list({c.token_id: c for c in best}.values())
    names = [f"after … {_tail(joined, found[0])}", f"after … {_tail(split, found[1])}"]
    values = [[known[c.token_id].raw if c.token_id in known else None for c in shown] for known in raws]
    st.markdown("Both runs have written the same bytes here, and the model has read the same prompt:")
    st.code(visible(joined.text_before(one.index)), language=None)
    bars([candidate_text(c) for c in shown], dict(zip(names, values, strict=True)), key=key, form=".1%", largest=1.0)
    st.caption("The model's own probabilities, before any mask. No bar: not among the favourites that were recorded.")


def _tail(trace: Trace, index: int, count: int = 2) -> str:
    return BAR.join(visible(step.token) for step in trace.steps[max(0, index - count) : index])


def _of_runs(runs: Mapping[Policy, Run]) -> dict[str, Value]:
    aligned, bridging = runs["aligned"], runs["bridging"]
    step = _wanted_in_vain(aligned.trace)
    wish = next((c for c in step.candidates if c.token_id == step.argmax_id), None)
    fields: dict[str, Value] = {
        "before": aligned.trace.text_before(step.index).decode(errors="replace"),
        "wish": candidate_text(wish) if wish else visible(step.argmax),
        "wish_raw": wish.raw if wish else 0.0,
        "wish_step": step.index,
        "aligned_tokens": sum(len(one.written) for one in aligned.stretches),
        "aligned_own": sum(len(one.own) for one in aligned.stretches),
        "aligned_places": sum(one.differs for one in aligned.stretches),
        "bridging_places": sum(one.differs for one in bridging.stretches),
    }
    for policy, run in runs.items():
        fields[f"{policy}_text"] = run.trace.text.decode(errors="replace")
        fields[f"{policy}_price"] = run.trace.cost
    written = log_probability(piece for one in aligned.stretches for piece in one.written)
    own = log_probability(piece for one in aligned.stretches for piece in one.own)
    fields |= {"aligned_log": written, "aligned_own_log": own, "aligned_times": math.exp(min(700.0, own - written))}
    if first := next((one for one in bridging.stretches if one.differs), None):
        fields["bridging_first"] = BAR.join(visible(piece.token) for piece in first.written)
        fields["bridging_first_own"] = BAR.join(visible(piece.token) for piece in first.own)
    if found := rejoined(bridging.trace, aligned.trace):
        fields |= _of_same_bytes(bridging.trace, aligned.trace, *found)
    return fields


def _of_same_bytes(joined: Trace, split: Trace, one: int, other: int) -> dict[str, Value]:
    favourite = min(joined.steps[one].candidates, key=lambda c: c.rank)
    there = {c.token_id: c.raw for c in split.steps[other].candidates}
    fields: dict[str, Value] = {
        "same_bytes": joined.text_before(one).decode(errors="replace"),
        "joined": _tail(joined, one),
        "split": _tail(split, other),
        "follow": candidate_text(favourite),
        "follow_joined": favourite.raw,
    }
    here = {c.token_id: c for c in joined.steps[one].candidates}
    if favourite.token_id in there:
        fields["follow_split"] = there[favourite.token_id]
    if both := here.keys() & there.keys():
        gain = max(both, key=lambda token_id: there[token_id] - here[token_id].raw)
        fields |= {"gain": candidate_text(here[gain]), "gain_joined": here[gain].raw, "gain_split": there[gain]}
    return fields


def _ways(model: Model, before: str, text: str) -> tuple[Way, ...]:
    """The cuts of `text` after the person's prompt and `before`, the most probable first."""
    from engine.analysis.token_paths import token_paths

    prompt = model.encode(PERSON.prompt, PERSON.chat_template)
    written = model.canonical.encode(before.encode()) if before else ()
    if written is None:
        raise DecodingError("The tokenizer does not give the text before back.")
    found = token_paths(model, [*prompt, *written], text.encode(), whole=False)
    return tuple(Way(path.tokens, path.total) for path in found.paths)


def _respects(way: Way, boundary: int) -> bool:
    """A token ends at the boundary."""
    ends = {sum(len(token) for token in way.tokens[:count]) for count in range(len(way.tokens) + 1)}
    return boundary in ends


def _of_ways(text: str, ways: tuple[Way, ...], boundary: int) -> dict[str, Value]:
    total = sum(math.exp(way.logprob) for way in ways)
    best, aligned = ways[0], next(way for way in ways if _respects(way, boundary))
    return {
        "ways_text": text,
        "ways": len(ways),
        "ways_best": best.text,
        "ways_share": math.exp(best.logprob) / total,
        "ways_aligned": aligned.text,
        "ways_aligned_times": math.exp(best.logprob - aligned.logprob),
        "ways_end": BAR.join(visible(part.encode()) for part in (text[boundary - 1], text[boundary])),
        "ways_worst": ways[-1].text,
    }


def _every_way(model: Model | None, key: str) -> None:
    text, before, ways = WAYS_TEXT, WAYS_BEFORE, _recorded_ways()
    with st.expander("A text of your own", key=f"{key}_open"):
        own = st.text_input("Text", WAYS_TEXT, key=f"{key}_text", max_chars=LONGEST)
        own_before = st.text_input("What the model has written before", WAYS_BEFORE, key=f"{key}_before", max_chars=200)
        if model is not None and own and (own, own_before) != (text, before):
            count = Lattice(model.vocabulary, own.encode(errors="replace")).count
            said = f"{count:,} cuts. {cost(min(count, 128))}"

            def work(progress: Progress) -> tuple[Way, ...]:
                progress.say("Reading the cuts", 0.0)
                return _ways(model, own_before, own)

            found = shared(("ways", model.name, own_before, own), "Read every cut", said, work, key=key)
            if found:
                text, before, ways = own, own_before, found
    st.markdown("The text, and what stands before it:")
    st.code(f"{visible(before)}  ▸  {visible(text)}", language=None)
    shown = ways[:24]
    bars(
        [way.text for way in shown],
        {"−ln p": [-way.logprob for way in shown]},
        key=f"{key}_bars",
        title="−ln p, nats: the shorter the bar, the more probable",
        form=".1f",
    )
    if len(ways) > len(shown):
        st.caption(f"The {len(shown)} most probable of {len(ways)} cuts that were read.")
