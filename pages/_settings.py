"""The sidebar: what to run.

Every field keeps what was typed for the whole session, right or wrong; errors stand under the field.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from engine.budget import Budget
from engine.decoding.records import ConstraintSource, Healing, RunSpec, Sampler
from engine.errors import ConstraintError
from engine.examples import EXAMPLES
from engine.grammar.free_text import LONGEST_DELIMITER
from pages._constraints import compiled, located, masked, said
from visualizations.editor import Language, Problem, edited, editor, problem_of
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
LANGUAGES: dict[str, Language] = {"json_schema": "json", "regex": "regex", "lark": "lark"}
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
    "min_p": (0.0, 1.0),
}
POLICIES = {
    "bridging": "Any token that keeps the output completable",
    "aligned": "No token across a boundary between two terminals (a string, a number, a mark): the classic mistake",
    "canonical": "No token that leaves the tokenizer's own way to write the text",
}
JUMPS = {"off": "Off", "safe": "Safe", "naive": "Naive"}
HEALING: dict[Healing, str] = {0: "Off", "auto": "As far as needed", 1: "1 token"}
HEALING |= {n: f"{n} tokens" for n in range(2, 9)}
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
    "min_p": 0.0,
    "after": "",
    "free_after": False,
    "policy": "bridging",
    "healing": 0,
    "jump_forward": "off",
    "close_in_time": False,
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
    values |= asdict(spec.sampler)
    values |= {name: getattr(spec, name) for name in ("policy", "healing", "jump_forward", "close_in_time")}
    if spec.constraint is None:
        values["kind"] = "none"
    else:
        values |= {"kind": spec.constraint.kind, spec.constraint.kind: spec.constraint.text}
        values |= {"after": spec.constraint.after, "free_after": spec.constraint.free_after}
        values |= {
            name: value for name, value in spec.constraint.options if name in OPTIONS and value in OPTIONS[name][1]
        }
    for name, value in values.items():
        st.session_state[name] = value
        if name in LANGUAGES:  # what was typed for another kind stays in its field
            st.session_state[f"{name}_loads"] = st.session_state.get(f"{name}_loads", -1) + 1


def current() -> RunSpec:
    """The spec the fields hold now. What a browser may send beyond a field's bounds is cut to them."""
    state = st.session_state
    sampler = Sampler(
        temperature=_within("temperature"),
        top_k=int(_within("top_k")),
        top_p=_within("top_p"),
        seed=int(_within("seed")),
        min_p=_within("min_p"),
    )
    return RunSpec(
        prompt=state["prompt"],
        constraint=_source(),
        chat_template=bool(state["chat_template"]),
        sampler=sampler,
        max_tokens=int(_within("max_tokens")),
        policy=state["policy"],
        healing=state["healing"],
        jump_forward=state["jump_forward"],
        close_in_time=bool(state["close_in_time"]),
    )


def beyond(spec: RunSpec) -> str:
    """Why the fields cannot hold `spec`, "" if they can."""
    if spec.constraint is not None and spec.constraint.kind not in KINDS:
        return f"its constraint is of the kind {spec.constraint.kind}, which this page has no field for."
    if spec.healing not in HEALING:
        return f"healing is {spec.healing}; this page takes up to 8 tokens."
    for name, value in (asdict(spec.sampler) | {"max_tokens": spec.max_tokens}).items():
        low, high = BOUNDS[name]
        if not low <= value <= high:
            return f"{name} is {value:.16g}; this page takes {low:.16g} to {high:.16g}."
    return ""


def problem(spec: RunSpec, model: Model | None) -> str:
    """Why `spec` can't be run, "" if it can (as far as can be told without decoding)."""
    wrong = constraint_problem(spec.constraint, model)
    return prompt_problem(spec, model) or (wrong.message if wrong else "")


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


def constraint_problem(source: ConstraintSource | None, model: Model | None) -> Problem | None:
    """What is wrong with the constraint and where, None if nothing is."""
    if source is None:
        return None
    size, limit = len(source.text.encode(errors="replace")), Budget().source_bytes
    if size > limit:
        return Problem(
            f"This text has {size / 1e6:.1f} MB; {limit / 1e6:.0f} MB are the limit. Keep the part that matters."
        )
    if not source.text.strip():
        return Problem("There is no constraint yet. Paste one, pick an example, or choose None for a free run.")
    found = compiled(source) if model is None else masked(source, model.vocabulary)
    if not isinstance(found, ConstraintError):
        return None
    return replace(problem_of(found, located(source)), message=said(found))


def sidebar(model: Model | None, on_example: Any, on_start: Any) -> None:
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
        none = model is not None and not model.has_chat_template
        st.checkbox(
            "Chat template",
            key="chat_template",
            disabled=none,
            help="This model has no chat template: it reads the prompt as it stands." if none else None,
            persist_state="session",
        )
        with st.popover("As the model reads it", type="tertiary", disabled=model is None):
            if model is not None and len(spec.prompt) <= MAX_PROMPT:
                st.code(model.prompt_text(spec.prompt, spec.chat_template), language=None, wrap_lines=True)
    _constraint_fields(model)
    _sampler_fields()
    _decoder_fields()
    st.button(
        "Start run",
        type="primary",
        icon=":material/play_arrow:",
        width="stretch",
        key="start",
        on_click=on_start,
        disabled=model is None or bool(problem(spec, model)),
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
    problem = constraint_problem(_source(), model)
    editor(
        st.session_state[kind],
        key=_field(kind),
        label=LABELS[kind],
        language=LANGUAGES[kind],
        version=st.session_state[f"{kind}_loads"],
        errors=[problem] if problem else [],
        height=HEIGHTS[kind],
    )
    if kind == "json_schema":
        with st.expander("Schema options"):
            for name, (title, choices, text) in OPTIONS.items():
                st.segmented_control(title, choices, key=name, required=True, help=text, persist_state="session")
    with st.expander("Free text first"):
        st.text_input(
            "Constraint holds after",
            key="after",
            max_chars=LONGEST_DELIMITER // 4,
            placeholder="for example </think> or Answer:",
            help="The model writes freely up to the first of these, then the constraint holds. Empty: from the start.",
            persist_state="session",
        )
        st.checkbox(
            "Free text again after it",
            key="free_after",
            disabled=not st.session_state["after"],
            persist_state="session",
        )


def _sampler_fields() -> None:
    with st.expander("Sampler and length"):
        st.slider(
            "Temperature (0 is greedy)", *BOUNDS["temperature"], step=0.05, key="temperature", persist_state="session"
        )
        with st.container(horizontal=True):
            st.number_input("Top-k (0: off)", *BOUNDS["top_k"], key="top_k", persist_state="session")
            st.number_input("Top-p", *BOUNDS["top_p"], step=0.05, key="top_p", persist_state="session")
            st.number_input("Min-p", *BOUNDS["min_p"], step=0.05, key="min_p", persist_state="session")
        with st.container(horizontal=True):
            st.number_input("Seed", *BOUNDS["seed"], key="seed", persist_state="session")
            st.number_input("Token limit", *BOUNDS["max_tokens"], key="max_tokens", persist_state="session")


def _decoder_fields() -> None:
    with st.expander("Decoder"):
        st.segmented_control(
            "Mask policy", list(POLICIES), key="policy", required=True, width="stretch", persist_state="session"
        )
        st.caption(POLICIES[st.session_state["policy"]])
        st.segmented_control(
            "Jump-forward",
            list(JUMPS),
            format_func=JUMPS.get,
            key="jump_forward",
            required=True,
            width="stretch",
            help="Write what the constraint forces without asking the model. Safe keeps back a token that could go on; "
            "naive doesn't, and may change the answer.",
            persist_state="session",
        )
        st.selectbox(
            "Token healing",
            list(HEALING),
            format_func=HEALING.get,
            key="healing",
            help="Take back the prompt's last tokens and decode their bytes again, so that a token may reach beyond "
            "the prompt. Best seen without the chat template.",
            persist_state="session",
        )
        st.checkbox(
            "Close in time",
            key="close_in_time",
            help="Only tokens after which the output can still be completed within the token limit.",
            persist_state="session",
        )


def _source() -> ConstraintSource | None:
    state = st.session_state
    kind: Literal["json_schema", "regex", "lark", "none"] = state["kind"]
    if kind == "none":
        return None
    options = tuple((name, state[name]) for name in OPTIONS) if kind == "json_schema" else ()
    text = edited(state[kind], key=_field(kind), version=state[f"{kind}_loads"]).text
    return ConstraintSource(kind, text, options, state["after"], bool(state["free_after"] and state["after"]))


def _field(kind: str) -> str:
    return f"{kind}_editor"


def _within(name: str) -> float:
    """The field's value, cut to its bounds."""
    value, (low, high) = st.session_state[name], BOUNDS[name]
    return low if value is None else min(high, max(low, value))
