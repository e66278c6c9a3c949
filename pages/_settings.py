"""The sidebar: what to run.

Every field keeps what was typed for the whole session, right or wrong; errors stand under the field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from engine.budget import Budget
from engine.decoding.records import ConstraintSource, RunSpec, Sampler
from engine.errors import ConstraintError
from engine.examples import EXAMPLES
from pages._constraints import compiled, masked, said
from visualizations.notice import notice

if TYPE_CHECKING:  # torch comes with it
    from engine.model.model import Model

MAX_PROMPT = 100_000  # characters; longer ones are refused before they are tokenised
KINDS = {"json_schema": "Schema", "regex": "Regex", "lark": "Lark", "none": "None"}
LABELS = {
    "json_schema": "Schema",
    "regex": "Pattern (Python dialect, matches the whole output)",
    "lark": "Grammar (a subset of Lark's EBNF)",
}
HEIGHTS = {"json_schema": 220, "regex": 88, "lark": 220}
OPTIONS = {
    "key_order": (
        "Key order",
        ["schema", "any"],
        "`schema`: keys in the order the schema declares them; `any`: in any order",
    ),
    "whitespace": (
        "White space",
        ["compact", "spaced", "any"],
        "`compact`: none; `spaced`: an optional space after `,` and `:`; `any`: JSON white space",
    ),
    "spelling": (
        "Spelling",
        ["plain", "any"],
        "`plain`: minimal escapes, plain decimals; `any`: every escape, `1.0` for 1, exponents",
    ),
    "objects": (
        "Undeclared keys",
        ["open", "closed"],
        "Where `additionalProperties` is absent. `open`: allowed, as the specification says; `closed`: not",
    ),
}
BOUNDS: dict[str, tuple[float, float]] = {
    "temperature": (0.0, 2.0),
    "top_k": (0, 1000),
    "top_p": (0.01, 1.0),
    "seed": (0, 2**31 - 1),
    "max_tokens": (1, 2048),
}
DEFAULTS: dict[str, Any] = {
    "prompt": "",
    "chat_template": True,
    "kind": "json_schema",
    "json_schema": "",
    "regex": "",
    "lark": "",
    "key_order": "schema",
    "whitespace": "spaced",
    "spelling": "plain",
    "objects": "closed",
    "temperature": 0.0,
    "top_k": 0,
    "top_p": 1.0,
    "seed": 0,
    "max_tokens": 128,
}


def begin() -> None:
    """Give every field a value once per session."""
    if "prompt" not in st.session_state:
        fill(EXAMPLES[0].spec())
        st.session_state["example"] = EXAMPLES[0].name


def fill(spec: RunSpec) -> None:
    """Put a spec into the fields; those it says nothing about keep what they have."""
    values = dict(DEFAULTS) if "prompt" not in st.session_state else {}
    values |= {"prompt": spec.prompt, "chat_template": spec.chat_template, "max_tokens": spec.max_tokens}
    sampler = spec.sampler
    values |= {"temperature": sampler.temperature, "top_k": sampler.top_k, "top_p": sampler.top_p, "seed": sampler.seed}
    if spec.constraint is None:
        values["kind"] = "none"
    else:
        values |= {"kind": spec.constraint.kind, spec.constraint.kind: spec.constraint.text}
        values |= {
            name: value for name, value in spec.constraint.options if name in OPTIONS and value in OPTIONS[name][1]
        }
    for name, value in values.items():
        st.session_state[name] = value


def current() -> RunSpec:
    """The spec the fields hold now. What a browser may send beyond a field's bounds is cut to them."""
    state = st.session_state
    sampler = Sampler(
        temperature=_within("temperature"),
        top_k=int(_within("top_k")),
        top_p=_within("top_p"),
        seed=int(_within("seed")),
    )
    return RunSpec(
        prompt=state["prompt"],
        constraint=_source(),
        chat_template=bool(state["chat_template"]),
        sampler=sampler,
        max_tokens=int(_within("max_tokens")),
    )


def beyond(spec: RunSpec) -> str:
    """Why the fields cannot hold `spec`, "" if they can."""
    if spec.constraint is not None and spec.constraint.kind not in KINDS:
        return f"its constraint is of the kind {spec.constraint.kind}, which this page has no field for."
    sampler = spec.sampler
    given = {"temperature": sampler.temperature, "top_k": sampler.top_k, "top_p": sampler.top_p, "seed": sampler.seed}
    for name, value in (given | {"max_tokens": spec.max_tokens}).items():
        low, high = BOUNDS[name]
        if not low <= value <= high:
            return f"{name} is {value:.16g}; this page takes {low:.16g} to {high:.16g}."
    return ""


def problem(spec: RunSpec, model: Model | None) -> str:
    """Why `spec` can't be run, "" if it can (as far as can be told without decoding)."""
    return prompt_problem(spec, model) or constraint_problem(spec.constraint, model)


def prompt_problem(spec: RunSpec, model: Model | None) -> str:
    """What is wrong with the prompt, "" if nothing is."""
    if not spec.prompt.strip():
        return "The prompt is empty. Write what the model should answer."
    if len(spec.prompt) > MAX_PROMPT:
        return f"The prompt has {len(spec.prompt):,} characters; {MAX_PROMPT:,} are the limit. Shorten it."
    if model is not None:
        length = len(model.encode(spec.prompt, spec.chat_template))
        if length >= model.context:
            return (
                f"The prompt has {length:,} tokens; the model reads {model.context:,}, its answer included. Shorten it."
            )
    return ""


def constraint_problem(source: ConstraintSource | None, model: Model | None) -> str:
    """What is wrong with the constraint, "" if nothing is."""
    if source is None:
        return ""
    size, limit = len(source.text.encode(errors="replace")), Budget().source_bytes
    if size > limit:
        return f"This text has {size / 1e6:.1f} MB; {limit / 1e6:.0f} MB are the limit. Keep the part that matters."
    if not source.text.strip():
        return "There is no constraint yet. Paste one, pick an example, or choose None for a free run."
    found = compiled(source) if model is None else masked(source, model.vocabulary)
    return said(found) if isinstance(found, ConstraintError) else ""


def sidebar(model: Model | None, on_example: Any, on_start: Any, busy: bool) -> None:
    """Draws the fields. `on_example` and `on_start` are called when an example is picked and a run is asked for."""
    names = [example.name for example in EXAMPLES]
    st.selectbox("Example", names, key="example", on_change=on_example, persist_state="session")
    picked = next((example for example in EXAMPLES if example.name == st.session_state["example"]), None)
    if picked is not None:
        st.caption(picked.reason)
    st.text_area("Prompt", key="prompt", height=88, persist_state="session")
    spec = current()
    notice(prompt_problem(spec, model), key="prompt_problem")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.checkbox("Chat template", key="chat_template", persist_state="session")
        with st.popover("As the model reads it", type="tertiary", disabled=model is None):
            if model is not None and len(spec.prompt) <= MAX_PROMPT:
                st.code(model.prompt_text(spec.prompt, spec.chat_template), language=None, wrap_lines=True)
    _constraint_fields(model)
    _sampler_fields()
    st.button(
        "Start run",
        type="primary",
        icon=":material/play_arrow:",
        width="stretch",
        key="start",
        on_click=on_start,
        disabled=model is None or busy or bool(problem(spec, model)),
        help="Available as soon as the model is loaded" if model is None else None,
    )


def _constraint_fields(model: Model | None) -> None:
    st.segmented_control(
        "Constraint",
        list(KINDS),
        format_func=KINDS.get,
        key="kind",
        required=True,
        width="stretch",
        persist_state="session",
    )
    kind = st.session_state["kind"]
    if kind == "none":
        st.caption("A free run, to compare with: every token is allowed.")
        return
    st.text_area(LABELS[kind], key=kind, height=HEIGHTS[kind], persist_state="session")
    notice(constraint_problem(_source(), model), key="constraint_problem")
    if kind == "json_schema":
        with st.expander("Schema options"):
            for name, (title, choices, text) in OPTIONS.items():
                st.segmented_control(title, choices, key=name, required=True, help=text, persist_state="session")


def _sampler_fields() -> None:
    with st.expander("Sampler and length"):
        st.slider(
            "Temperature (0 is greedy)", *BOUNDS["temperature"], step=0.05, key="temperature", persist_state="session"
        )
        with st.container(horizontal=True):
            st.number_input("Top-k (0: off)", *BOUNDS["top_k"], key="top_k", persist_state="session")
            st.number_input("Top-p", *BOUNDS["top_p"], step=0.05, key="top_p", persist_state="session")
        with st.container(horizontal=True):
            st.number_input("Seed", *BOUNDS["seed"], key="seed", persist_state="session")
            st.number_input("Token limit", *BOUNDS["max_tokens"], key="max_tokens", persist_state="session")


def _source() -> ConstraintSource | None:
    state = st.session_state
    kind: Literal["json_schema", "regex", "lark", "none"] = state["kind"]
    if kind == "none":
        return None
    options = tuple((name, state[name]) for name in OPTIONS) if kind == "json_schema" else ()
    return ConstraintSource(kind, state[kind], options)


def _within(name: str) -> float:
    """The field's value, cut to its bounds."""
    value, (low, high) = st.session_state[name], BOUNDS[name]
    return low if value is None else min(high, max(low, value))
