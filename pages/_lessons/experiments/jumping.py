"""Jump-forward: forced bytes without forward passes, the unsafe last token, and why even the careful way may differ."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import streamlit as st

from engine.analysis.forced import forced_along, longer_tokens
from engine.analysis.rejoined import last_together, parted, rejoined
from engine.decoding.decoder import Decoder
from engine.decoding.jump import forced_bytes
from engine.decoding.records import ConstraintSource, JumpForward, RunSpec, Step, Trace
from engine.decoding.spec import run_id
from engine.errors import ConstraintError
from engine.examples import EXAMPLES, OPTIONS, example
from engine.grammar.regex.compile import compile_regex
from engine.grammar.sources import compile_source
from pages._constraints import compiled
from pages._debug_work import Progress
from pages._lessons.fields import Fields, Value
from pages._lessons.live import cost, masker_of, the_model
from pages._lessons.reader import Lesson
from pages._lessons.recorded import made, recorded_run, recorded_values
from pages._lessons.room import shared
from pages._lessons.steps import door, favourites
from visualizations.charts import bars
from visualizations.lesson_automata import tokens
from visualizations.notice import notice
from visualizations.tokens import candidate_text, token_strip, visible
from visualizations.underlined import underlined

if TYPE_CHECKING:  # torch comes with it
    from engine.model.model import Model

FIELDS = {
    "bytes": "bytes of the order that was written with jumps",
    "forced": "how many of them are forced",
    "forced_share": "their share",
    "plain_passes": "forward passes of the plain run of the order",
    "safe_passes": "forward passes of the run with safe jumps",
    "naive_passes": "forward passes of the run with naive jumps",
    "safe_tokens": "tokens of the run with safe jumps, the end token included",
    "safe_jumped": "how many of them were jumped",
    "plain_order": "the order as the plain run wrote it",
    "safe_order": "the order as the run with safe jumps wrote it",
    "plain_price": "the price of the plain run, nats",
    "safe_price": "the price of the run with safe jumps, nats",
    "plain_cut": "how the plain run wrote the first key",
    "safe_cut": "how the run with safe jumps wrote it",
    "address": "the pattern of the address",
    "address_forced": "the bytes that are forced at its beginning",
    "address_plain": "the address as the plain run wrote it",
    "address_safe": "the address as the run with safe jumps wrote it",
    "address_naive": "the address as the run with naive jumps wrote it",
    "address_last": "the last token of the forced bytes",
    "address_longer": "the tokens that go on from it and fit the pattern",
    "address_first": "the model's favourite among the allowed tokens before that token",
    "address_first_share": "the share of the allowed mass that it has",
    "address_after": "the favourite after that token",
    "address_after_share": "the share of the allowed mass that it has",
    "parted_at": "the byte at which the plain and the safe run of Answer first part, counted from one",
    "together": "the last bytes that both had written",
    "plain_next": "what the plain run wrote next",
    "safe_next": "what the run with safe jumps wrote next",
    "plain_begin": "the first tokens of the plain run, where the other has another cut",
    "safe_begin": "the first tokens of the safe run there",
    "examples": "examples of Step-through that are greedy and have a constraint",
    "examples_differ": "how many of them write another text with safe jumps",
    "seconds_plain": "seconds that the forward passes of the plain run took on this machine",
    "seconds_safe": "seconds that those of the run with safe jumps took",
    "seconds_saved": "seconds that jumping saved in that run",
    "exercise": "the pattern of the exercise",
    "exercise_start": "the first letter of each of its words",
}


def _order() -> ConstraintSource:
    properties = {
        "document": {"const": "purchase order"},
        "version": {"const": "1.0"},
        "customer": {"type": "string", "maxLength": 20},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 99},
        "currency": {"const": "EUR"},
    }
    schema = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
    return ConstraintSource("json_schema", json.dumps(schema, indent=2), OPTIONS)


HOW: Mapping[JumpForward, str] = {"off": "a pass for each token", "safe": "safe jumps", "naive": "naive jumps"}
ADDRESS = r"https?://www\.python\.org"
CASES = {
    "order": RunSpec("Order two pizzas for Anna as JSON.", _order(), max_tokens=80),
    "address": RunSpec("Give the address of the Python website.", ConstraintSource("regex", ADDRESS), max_tokens=24),
    "answer": example("Answer first").spec(),
}
LABELS = {"order": "an order form", "address": "an address", "answer": "answer first"}
RUNS: Mapping[str, RunSpec] = {
    f"{name}-{how}": replace(spec, jump_forward=how) for name, spec in CASES.items() for how in HOW
}
EXERCISE = "unit: (metre|metric|metropolis)"


def computed(model: Model, traces: Mapping[str, Trace]) -> Any:
    """The tokens that go on from the last forced one of the address; how many examples differ with safe jumps."""
    constraint = compile_regex(ADDRESS)
    forced, _ = forced_bytes(constraint, constraint.start, 99)
    last = (model.canonical.encode(forced) or ())[-1]
    longer = longer_tokens(constraint, model.vocabulary, constraint.start, model.vocabulary.tokens[last])
    greedy = [one.spec() for one in EXAMPLES if one.constraint is not None and one.sampler.temperature == 0]
    pairs = [(made(model, spec), made(model, replace(spec, jump_forward="safe"))) for spec in greedy]
    return {
        "last": longer.last.decode("latin-1"),
        "longer": [token.decode("latin-1") for token in longer.tokens],
        "examples": len(pairs),
        "differ": sum(one.text != other.text for one, other in pairs),
    }


@lru_cache(maxsize=1)
def facts() -> Fields:
    """All of it but the times, from the recorded runs."""
    values = recorded_values("jumping")
    return {
        **_of_order(_recorded("order")),
        **_of_address(_recorded("address"), values),
        **_of_answer(_recorded("answer")),
        "examples": values["examples"],
        "examples_differ": values["differ"],
        "exercise": EXERCISE,
        "exercise_start": EXERCISE[EXERCISE.index("(") + 1],
    }


def opening(lesson: Lesson, key: str) -> None:
    """The order as it is written token by token."""
    plain = _recorded("order")["off"]
    st.markdown("The order form, written token by token; what its schema forces is underlined:")
    st.code(underlined(plain.text, _forced(plain)), language=None)
    token_strip(plain, 0, key=key, on_step=lambda: None)


def experiment(lesson: Lesson, key: str) -> Fields:
    """Runs with and without jumps; the last forced token; where the careful way parts from the plain one."""
    model = the_model()
    st.markdown("#### Forced bytes")
    own = _own(model, f"{key}_own")
    _runs(own, f"{key}_runs")
    fields: dict[str, Value] = {**facts(), **_times(model, f"{key}_times")}
    st.markdown("#### The last token is not safe")
    _last_token(f"{key}_last")
    st.markdown("#### Careful, and still another text")
    _parting(f"{key}_parting")
    return fields


def check(fields: Fields, given: str) -> str:
    """The exercise: the bytes that the pattern forces at its beginning."""
    constraint = compile_regex(EXERCISE)
    forced, after = forced_bytes(constraint, constraint.start, 99)
    said = given.strip().encode(errors="replace")
    if said == forced:
        return ""
    if forced.startswith(said):
        return "These are forced, and so is what comes next." if said else "Type the bytes."
    if said.startswith(forced):
        ways = " or ".join(
            repr(chr(byte)) for byte in range(256) if constraint.advance(after, bytes([byte])) is not None
        )
        return f"Too many: after {len(forced)} bytes either {ways} may come."
    return f"At byte {(parted(said, forced) or 0) + 1} the pattern wants another one."


def _recorded(name: str) -> dict[JumpForward, Trace]:
    return {how: recorded_run("jumping", f"{name}-{how}") for how in HOW}


def _own(model: Model | None, key: str) -> dict[JumpForward, Trace] | None:
    """The three runs of a prompt and a schema of the reader's own."""
    with st.expander("A schema of your own", key=f"{key}_open"):
        default = CASES["order"]
        assert default.constraint is not None
        prompt = st.text_input("Prompt", default.prompt, key=f"{key}_prompt", max_chars=500)
        text = st.text_area("JSON Schema", default.constraint.text, key=f"{key}_schema", height=220, max_chars=4000)
        source = replace(default.constraint, text=text)
        constraint = compiled(source)
        if isinstance(constraint, ConstraintError):
            notice(str(constraint), key=f"{key}_problem")
            return None
        try:
            shortest = constraint.shortest(constraint.start)
        except ConstraintError as error:
            notice(str(error), key=f"{key}_problem")
            return None
        st.markdown("A shortest text of it, forced bytes underlined:")
        st.code(underlined(shortest, forced_along(constraint, shortest)), language=None)
        spec = replace(default, prompt=prompt, constraint=source)
        if model is None or not prompt.strip():
            return None
        return _all_ways(model, spec, "Run it in all three ways", f"{key}_run")


def _all_ways(model: Model, spec: RunSpec, label: str, key: str) -> dict[JumpForward, Trace] | None:
    def work(progress: Progress) -> dict[JumpForward, Trace] | None:
        masker = masker_of(spec, model)
        found: dict[JumpForward, Trace] = {}
        for number, how in enumerate(HOW):
            run = Decoder(model, replace(spec, jump_forward=how), masker.constraint if masker else None, masker)
            for step in run.run(progress.stopped):
                progress.say(f"{HOW[how]}: token {step.index + 1}", (number + step.index / spec.max_tokens) / len(HOW))
            if progress.stopped():
                return None
            found[how] = run.trace
        return found

    said = f"Three runs. {cost(3 * spec.max_tokens)}"
    return shared(("jumping", model.name, run_id(spec)), label, said, work, key=key)


def _runs(own: dict[JumpForward, Trace] | None, key: str) -> None:
    left, right = st.columns(2)
    with left:
        labels = {"own": "your own", **LABELS} if own else LABELS
        name = st.segmented_control(
            "Text",
            list(labels),
            format_func=labels.__getitem__,
            default="own" if own else "order",
            key=f"{key}_{'own' if own else 'name'}",
            required=True,
        )
    with right:
        how = st.segmented_control(
            "Written with", list(HOW), format_func=HOW.__getitem__, default="safe", key=f"{key}_how", required=True
        )
    traces = own if own and name == "own" else _recorded(name)
    trace = traces[how]
    forced = _forced(trace)
    st.code(underlined(trace.text, forced), language=None)
    st.caption(
        f"Underlined: {sum(forced)} of {len(trace.text)} bytes are forced, whatever the model thinks. "
        f"Below, the tokens of this run; those with a mark of their own were written without a pass."
    )
    position = _picked(trace, key)
    token_strip(trace, position, key=f"{key}_strip", on_step=_picks(trace, key))
    passes = {HOW[one]: other.passes for one, other in traces.items()}
    tokens_ = [len(other.steps) for other in traces.values()]
    series = {"forward passes": list(passes.values()), "tokens": tokens_}
    bars(list(passes), series, key=f"{key}_passes", title="of the whole run", form=",.0f")
    live = "Live" if own and name == "own" else "Recorded"
    st.caption(f"{live} run {trace.run_id}, {trace.model}.")
    door(trace.spec, position, "This run in Step-through", key=f"{key}_door")


def _picked(trace: Trace, key: str) -> int:
    first = next((step.index for step in trace.steps if step.kind == "jumped"), 0)
    picked: int = st.session_state.get(f"{key}_{trace.run_id}_at", first)
    return min(picked, len(trace.steps) - 1)


def _picks(trace: Trace, key: str) -> Any:
    def pick() -> None:
        picked = st.session_state[f"{key}_strip"].step
        if isinstance(picked, int) and not isinstance(picked, bool) and 0 <= picked < len(trace.steps):
            st.session_state[f"{key}_{trace.run_id}_at"] = picked

    return pick


def _forced(trace: Trace) -> tuple[bool, ...]:
    assert trace.spec.constraint is not None
    constraint = compiled(trace.spec.constraint)
    return () if isinstance(constraint, ConstraintError) else forced_along(constraint, trace.text)


def _times(model: Model | None, key: str) -> dict[str, Value]:
    """What the order's runs take on this machine, measured when asked for."""
    if model is None:
        return {}
    found = _all_ways(model, CASES["order"], "Measure the time of the order form on this machine", key)
    if found is None:
        return {}
    seconds = {how: sum(step.seconds.get("forward", 0.0) for step in trace.steps) for how, trace in found.items()}
    names = [HOW[how] for how in found]
    bars(names, {"forward passes": list(seconds.values())}, key=f"{key}_bars", title="seconds", form=".2f")
    saved = found["safe"].seconds_saved
    st.caption(f"Saved by safe jumps: {saved:.2f} s of forward passes, each jumped token counted as one pass less.")
    return {"seconds_plain": seconds["off"], "seconds_safe": seconds["safe"], "seconds_saved": saved}


def _last_token(key: str) -> None:
    traces, values = _recorded("address"), recorded_values("jumping")
    st.code(ADDRESS, language=None)
    longer = [token.encode("latin-1") for token in values["longer"]]
    last = visible(values["last"].encode("latin-1"))
    tokens(longer, len(longer), key=f"{key}_longer", heading=f"Forced: {last}. Tokens that go on from it and fit")
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Safe**: the model is asked before the last forced token")
        _bars_of(traces["safe"].steps[_first_asked(traces["safe"])], f"{key}_safe")
        st.code(traces["safe"].text.decode(), language=None)
    with right:
        st.markdown("**Naive**: the model is asked after it")
        _bars_of(traces["naive"].steps[_first_asked(traces["naive"])], f"{key}_naive")
        st.code(traces["naive"].text.decode(), language=None)
    st.markdown("**No jumps**: the run that asks at every token")
    st.code(traces["off"].text.decode(), language=None)
    st.caption(f"Recorded, {traces['off'].model}.")


def _bars_of(step: Step, key: str) -> None:
    shown = [candidate for candidate in favourites(step.candidates) if candidate.allowed]
    series = {"after the mask": [candidate.renormalised for candidate in shown]}
    bars([candidate_text(c) for c in shown], series, key=key, form=".1%", largest=1.0)


def _first_asked(trace: Trace) -> int:
    return next(step.index for step in trace.steps if step.kind == "sampled")


def _parting(key: str) -> None:
    traces = _recorded("answer")
    plain, safe = traces["off"], traces["safe"]
    one, other = last_together(plain, safe)
    for name, trace, index in (("A pass for each token", plain, one), ("Safe jumps", safe, other)):
        st.markdown(f"**{name}**")
        token_strip(trace, index, key=f"{key}_{trace.spec.jump_forward}", on_step=lambda: None)
    st.markdown("Up to here both wrote the same bytes, cut otherwise at their beginning. The model's favourites next:")
    raws = [{c.token_id: c for c in step.candidates} for step in (plain.steps[one], safe.steps[other])]
    best = [c for known in raws for c in sorted(known.values(), key=lambda c: c.rank)[:4]]
    shown = list({c.token_id: c for c in best}.values())
    values = [[known[c.token_id].raw if c.token_id in known else None for c in shown] for known in raws]
    names = ("a pass for each token", "safe jumps")
    bars([candidate_text(c) for c in shown], dict(zip(names, values, strict=True)), key=f"{key}_bars", form=".1%")


def _of_order(traces: Mapping[JumpForward, Trace]) -> dict[str, Value]:
    plain, safe = traces["off"], traces["safe"]
    forced = forced_along(compile_source(CASES["order"].constraint), safe.text)  # type: ignore[arg-type]
    key = b'"document"'
    return {
        "bytes": len(safe.text),
        "forced": sum(forced),
        "forced_share": sum(forced) / len(safe.text),
        "plain_passes": plain.passes,
        "safe_passes": safe.passes,
        "naive_passes": traces["naive"].passes,
        "safe_tokens": len(safe.steps),
        "safe_jumped": sum(step.kind == "jumped" for step in safe.steps),
        "plain_order": plain.text.decode(errors="replace"),
        "safe_order": safe.text.decode(errors="replace"),
        "plain_price": plain.cost,
        "safe_price": safe.cost,
        "plain_cut": _cut(plain, 1 + len(key)),
        "safe_cut": _cut(safe, 1 + len(key)),
    }


def _cut(trace: Trace, length: int) -> str:
    """The first tokens that spell at least so many bytes."""
    return "|".join(visible(step.token) for step in trace.steps if step.offset < length)


def _of_address(traces: Mapping[JumpForward, Trace], values: Any) -> dict[str, Value]:
    constraint = compile_regex(ADDRESS)
    first, after = (traces[how].steps[_first_asked(traces[how])] for how in ("safe", "naive"))
    return {
        "address": ADDRESS,
        "address_forced": forced_bytes(constraint, constraint.start, 99)[0].decode(),
        "address_plain": traces["off"].text.decode(),
        "address_safe": traces["safe"].text.decode(),
        "address_naive": traces["naive"].text.decode(),
        "address_last": values["last"],
        "address_longer": " ".join(values["longer"]),
        "address_first": visible(first.token),
        "address_first_share": first.renormalised,
        "address_after": visible(after.token),
        "address_after_share": after.renormalised,
    }


def _of_answer(traces: Mapping[JumpForward, Trace]) -> dict[str, Value]:
    plain, safe = traces["off"], traces["safe"]
    one, other = last_together(plain, safe)
    fields: dict[str, Value] = {
        "together": visible(plain.text_before(one)),
        "plain_next": visible(plain.steps[one].token),
        "safe_next": visible(safe.steps[other].token),
    }
    if (at := parted(plain.text, safe.text)) is not None:
        fields["parted_at"] = at + 1
    if (met := rejoined(plain, safe)) is not None:
        fields["plain_begin"] = "|".join(visible(step.token) for step in plain.steps[: met[0]])
        fields["safe_begin"] = "|".join(visible(step.token) for step in safe.steps[: met[1]])
    return fields
