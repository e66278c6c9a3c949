"""What the Schema debugger looks at: the source as it was pasted, what it is, and how it is compiled."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from engine.budget import Budget
from engine.decoding.records import ConstraintSource, SourceKind
from engine.errors import ConstraintError
from engine.examples import EXAMPLES
from engine.grammar.requests.part import Part
from engine.grammar.requests.registry import FAMILIES
from engine.grammar.sources import RULES
from visualizations.editor import Edited, Language

KINDS: dict[str, str] = {
    "auto": "Recognise it",
    "json_schema": "JSON Schema",
    "request": "Provider request",
    "regex": "Regex",
    "gbnf": "GBNF",
    "lark": "Lark",
}
LANGUAGES: dict[SourceKind, Language] = {
    "json_schema": "json",
    "request": "json",
    "regex": "regex",
    "gbnf": "gbnf",
    "lark": "lark",
}
WITH_OPTIONS = ("json_schema", "request")
OPTIONS: dict[str, tuple[str, dict[str, str], str]] = {
    "objects": (
        "Undeclared keys",
        {"": "as usual", "open": "allowed", "closed": "not allowed"},
        "Where `additionalProperties` is absent. As usual: a schema allows them, as the specification says; a request "
        "does what its provider does",
    ),
    "formats": (
        "Formats",
        {"": "enforced", "annotate": "ignored"},
        "`format` of strings: enforced where it is known, or taken as a remark",
    ),
    "on_unsupported": (
        "Keywords that can't be enforced",
        {"": "refuse the schema", "report": "leave them out"},
        "Left out, they are listed in the report as not enforced",
    ),
}
_SCHEMA_KEYS = frozenset(
    (
        "$schema",
        "$ref",
        "$defs",
        "definitions",
        "type",
        "properties",
        "items",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "allOf",
    )
)
_REQUEST_KEYS = frozenset(("messages", "model", "input", "prompt", "contents"))
_LARK_START = re.compile(r"^[?!]*start(?:\.-?\d+)?[ \t]*:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Sample:
    """An entry of the menu of examples: a source, and a text to replay under it."""

    name: str
    reason: str
    source: ConstraintSource
    text: str = ""


ORDER = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$"},
        "customer": {"type": "string", "maxLength": 40},
        "status": {"enum": ["open", "paid", "shipped"]},
        "items": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "sku": {"type": "string"},
                    "quantity": {"type": "integer", "minimum": 1},
                    "price": {"type": "number"},
                },
                "required": ["sku", "quantity", "price"],
                "additionalProperties": False,
            },
        },
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["order_id", "customer", "status", "items"],
    "additionalProperties": False,
}
FAILING = """{
  "order_id": "AB-1234",
  "status": "paid",
  "customer": "Ada Lovelace",
  "items": [
    {"sku": "P-17", "quantity": 2, "price": 9.90},
    {"sku": "P-18", "quantity": "3", "price": 4.50}
  ],
  "note": null
}"""

SAMPLES: tuple[Sample, ...] = (
    Sample(
        "A failing order",
        "An output that a validator refused: one number was written as a string.",
        ConstraintSource("json_schema", json.dumps(ORDER, indent=2)),
        FAILING,
    ),
    *(Sample(e.name, e.reason, e.constraint) for e in EXAMPLES if e.constraint is not None),
)


@dataclass(frozen=True, slots=True)
class Given:
    """`source` None: there is nothing to compile, `problem` says why. `recognised`: what it was taken for, in words."""

    text: str
    kind: SourceKind
    recognised: str
    source: ConstraintSource | None
    problem: str = ""


def detect(text: str) -> tuple[SourceKind, str]:
    """What a text is taken for, and why, in words."""
    start = text.lstrip()[:1]
    if start == "{" or text.strip() in ("true", "false"):
        body = _object(text)
        if body is not None and (family := _family(body)):
            return "request", f"a provider's request: {family}"
        return "json_schema", "a JSON Schema: an object in JSON"
    if RULES["gbnf"].search(text):
        return "gbnf", "a GBNF grammar: it has rules written name ::= ..."
    if _LARK_START.search(text):
        return "lark", "a Lark grammar: it has a rule start: ..."
    return "regex", "a regular expression: it is no JSON and has no grammar rules"


def given(edited: Edited) -> Given:
    """The source in the field, under the kind and the options chosen."""
    chosen = st.session_state["debug_kind"]
    kind, why = detect(edited.text)
    if chosen != "auto" and chosen in KINDS:
        kind, why = chosen, f"{_article(KINDS[chosen])}, as chosen"
    size, limit = len(edited.text.encode(errors="replace")), Budget().source_bytes
    if not edited.text.strip():
        return Given(edited.text, kind, why, None, "There is nothing here yet. Paste a source, or pick an example.")
    if size > limit:
        return Given(
            edited.text, kind, why, None, f"This text has {size / 1e6:.1f} MB; {limit / 1e6:.0f} MB are the limit."
        )
    return Given(edited.text, kind, why, ConstraintSource(kind, edited.text, chosen_options(kind)))


def chosen_options(kind: SourceKind) -> tuple[tuple[str, str], ...]:
    """The options that are not as usual."""
    names = tuple(OPTIONS) if kind in WITH_OPTIONS else ("dialect",) if kind == "regex" else ()
    return tuple((name, value) for name in names if (value := st.session_state.get(f"debug_{name}")))


def controls(kind: SourceKind, recognised: str, on_example: Callable[[], None]) -> None:
    """The menu of examples, what the source was recognised as, and its options."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.selectbox(
            "Example",
            [sample.name for sample in SAMPLES],
            key="debug_example",
            on_change=on_example,
            persist_state="session",
            width=240,
        )
        st.selectbox(
            "Read it as", list(KINDS), format_func=KINDS.get, key="debug_kind", persist_state="session", width=170
        )
        with st.popover("Options", icon=":material/tune:"):
            _options(kind)
    st.caption(f"Taken for {recognised}.")


def _options(kind: SourceKind) -> None:
    if kind == "regex":
        st.segmented_control(
            "Dialect",
            ["", "ecma262"],
            format_func={"": "Python", "ecma262": "ECMAScript"}.get,
            key="debug_dialect",
            required=True,
            persist_state="session",
        )
    elif kind in WITH_OPTIONS:
        for name, (title, choices, text) in OPTIONS.items():
            st.segmented_control(
                title,
                list(choices),
                format_func=choices.get,
                key=f"debug_{name}",
                required=True,
                help=text,
                persist_state="session",
            )
    else:
        st.caption("A grammar has no options.")


def _object(text: str) -> dict[str, Any] | None:
    if len(text) > Budget().source_bytes:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _family(body: dict[str, Any]) -> str:
    """The keys by which a provider's request was recognised, "" if it is none.

    A schema has keys of its own; where both are there, what only requests have decides.
    """
    if body.keys() & _SCHEMA_KEYS and not body.keys() & _REQUEST_KEYS and body.get("type") != "structural_tag":
        return ""
    for keys, find in FAMILIES.items():
        try:
            if find(Part(body), Budget()) is not None:
                return keys
        except ConstraintError:
            return keys
    return ""


def _article(name: str) -> str:
    return name if name in ("GBNF", "Lark") else f"a {name}"
