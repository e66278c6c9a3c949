"""`keyword_findings`: what a provider or engine would refuse, ignore or approximate in a schema.

The table is rules.py; limits on a schema as a whole are here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any
from urllib.parse import unquote

from engine.errors import ConstraintError
from engine.findings import Finding
from engine.grammar.json_schema.source import escape, unescape
from engine.grammar.requests import conditions, rules
from engine.grammar.requests.rules import EFFECTS, Effect, Rule


@dataclass(frozen=True, slots=True)
class Provider:
    """Who enforces a schema. `label`: its name in a sentence; `closes`: objects admit no undeclared members there."""

    label: str
    rules: Sequence[Rule]
    closes: bool = False


PROVIDERS = {
    "openai": Provider("OpenAI's strict mode", rules.OPENAI),
    "anthropic": Provider("Anthropic's strict mode", rules.ANTHROPIC),
    "vllm": Provider("vLLM's xgrammar", rules.XGRAMMAR, closes=True),
    "sglang": Provider("SGLang's xgrammar", rules.XGRAMMAR, closes=True),
    "ollama": Provider("Ollama's llama.cpp", rules.LLAMA_CPP, closes=True),
    "llama.cpp": Provider("llama.cpp", rules.LLAMA_CPP, closes=True),
    "xgrammar": Provider("xgrammar", rules.XGRAMMAR, closes=True),
    "llguidance": Provider("llguidance", rules.LLGUIDANCE),
    "outlines": Provider("outlines-core", rules.OUTLINES, closes=True),
    "lm-format-enforcer": Provider("lm-format-enforcer", rules.LM_FORMAT_ENFORCER, closes=True),
}
"""Providers and engines by name."""

OF_A_SCHEMA = (
    "additionalProperties",
    "additionalItems",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
)
OF_A_LIST = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
OF_A_MAP = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")

MOST_PROPERTIES = 5_000
MOST_LEVELS = 10
MOST_ENUM_VALUES = 1_000


def keyword_findings(provider: str, schema: Any, at_pointer: str = "") -> list[Finding]:
    """What a provider does with a schema that stands at a pointer, other than enforcing it as the specification says.

    `provider` is a name in `PROVIDERS`, else `ConstraintError`; `schema` a dict, bool or anything else that JSON writes
    (parts that are no schema are passed over). In the order of the document, whole-schema remarks last.
    """
    if provider not in PROVIDERS:
        raise ConstraintError(f"There is nothing known about {provider!r}. Choose from: {', '.join(PROVIDERS)}.")
    known = PROVIDERS[provider]
    found = [
        _finding(known.label, rule, part, pointer)
        for pointer, part in subschemas(schema, at_pointer)
        for rule in known.rules
        if _applies(rule, part)
    ]
    return found + WHOLE.get(provider, _nothing)(known.label, schema, at_pointer)


def subschemas(schema: Any, pointer: str = "") -> Iterator[tuple[str, bool | dict[str, Any]]]:
    """Every schema within a schema with its pointer, in the order of the document.

    Booleans where they only open or close a list of members or items are not counted.
    """
    pending: list[tuple[str, Any, bool]] = [(pointer, schema, True)]
    while pending:
        place, part, counts = pending.pop()
        if isinstance(part, bool) and counts:
            yield place, part
        if isinstance(part, dict):
            yield place, part
            pending += reversed(list(_children(place, part)))


def _children(pointer: str, schema: dict[str, Any]) -> Iterator[tuple[str, Any, bool]]:
    for keyword, value in schema.items():
        place = f"{pointer}/{escape(keyword)}"
        if keyword in OF_A_LIST and isinstance(value, list):
            yield from ((f"{place}/{index}", part, True) for index, part in enumerate(value))
        elif keyword in OF_A_MAP and isinstance(value, dict):
            yield from ((f"{place}/{escape(name)}", part, True) for name, part in value.items())
        elif keyword in OF_A_SCHEMA or keyword.startswith("unevaluated"):
            yield place, value, False


def _applies(rule: Rule, part: bool | dict[str, Any]) -> bool:
    if isinstance(part, bool):
        return rule.keyword == str(part).lower()
    return rule.keyword not in ("true", "false") and rule.applies(part)


def _finding(label: str, rule: Rule, part: bool | dict[str, Any], pointer: str) -> Finding:
    place = f"{pointer}/{escape(rule.keyword)}" if isinstance(part, dict) and rule.keyword in part else pointer
    return _said(rule.effect, place, rule.keyword, f"{label} {rule.does}.")


def _said(effect: Effect, pointer: str, keyword: str, message: str) -> Finding:
    severity, why = EFFECTS[effect]
    return Finding(pointer, severity, keyword, message, why)


def _nothing(label: str, schema: Any, pointer: str) -> list[Finding]:
    return []


def _openai(label: str, schema: Any, pointer: str) -> list[Finding]:
    """An object at the root, every property required, and the limits on size."""
    found = []
    root = schema if isinstance(schema, dict) else {}
    if "anyOf" in root:
        found.append(_said("refuses", f"{pointer}/anyOf", "anyOf", f"{label} does not take anyOf at the root."))
    elif root.get("type") != "object":
        found.append(_said("refuses", pointer, "type", f"{label} asks for an object at the root."))
    properties = values = 0
    for place, part in subschemas(schema, pointer):
        declared = part.get("properties") if isinstance(part, dict) else None
        if isinstance(part, dict) and isinstance(part.get("enum"), list):
            values += len(part["enum"])
        if isinstance(part, dict) and isinstance(declared, dict):
            properties += len(declared)
            found += _all_required(label, part, declared, place)
    levels = _levels(schema)
    for number, most, what in (
        (properties, MOST_PROPERTIES, "properties"),
        (values, MOST_ENUM_VALUES, "enum values"),
        (levels, MOST_LEVELS, "levels of nesting"),
    ):
        if number > most:
            found.append(_said("refuses", pointer, "", f"{label} takes {most:,} {what} at most; these are {number:,}."))
    return found


def _all_required(label: str, part: dict[str, Any], declared: dict[str, Any], place: str) -> list[Finding]:
    required = part.get("required")
    optional = [name for name in declared if not isinstance(required, list) or name not in required]
    if not optional:
        return []
    where = f"{place}/required" if "required" in part else place
    names = ", ".join(map(repr, optional[:5])) + (", ..." if len(optional) > 5 else "")
    return [_said("refuses", where, "required", f"{label} asks for every property to be required; not yet: {names}.")]


def _levels(schema: Any) -> int:
    """How deeply objects stand within objects, references not followed."""
    deepest = 0
    levels = {"": 0}
    for pointer, part in subschemas(schema):
        above = pointer
        while above not in levels:
            above = above.rpartition("/")[0]
        levels[pointer] = levels[above] + (isinstance(part, dict) and conditions.is_object(part))
        deepest = max(deepest, levels[pointer])
    return deepest


def _anthropic(label: str, schema: Any, pointer: str) -> list[Finding]:
    return _recursive("refuses", f"{label} does not take recursive schemas.", schema, pointer)


def _outlines(label: str, schema: Any, pointer: str) -> list[Finding]:
    return _recursive("narrows", f"{label} follows recursive references three levels deep.", schema, pointer)


def _recursive(effect: Effect, message: str, schema: Any, pointer: str) -> list[Finding]:
    """A finding at a reference that closes a circle, if there is one."""
    targets = dict(_local_references(schema))
    among = set(targets.values())
    within: dict[str, dict[str, str]] = {target: {} for target in among}
    for place, target in targets.items():
        for above in _above(place):
            if above in among:
                within[above][target] = place
    try:
        TopologicalSorter({target: leads.keys() for target, leads in within.items()}).prepare()
    except CycleError as error:
        later, earlier = error.args[1][:2]  # each node of the circle is referred to by the next
        return [_said(effect, f"{pointer}{within[earlier][later]}/$ref", "$ref", message)]
    return []


def _local_references(schema: Any) -> Iterator[tuple[str, str]]:
    """Places of references with the places they lead to."""
    for place, part in subschemas(schema):
        reference = part.get("$ref") if isinstance(part, dict) else None
        if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
            yield place, "/".join(escape(unescape(token)) for token in unquote(reference[1:]).split("/"))


def _above(place: str) -> Iterator[str]:
    """The place itself and all that it stands in."""
    yield place
    while place:
        place = place.rpartition("/")[0]
        yield place


WHOLE = {"openai": _openai, "anthropic": _anthropic, "outlines": _outlines}
"""Remarks on a schema as a whole."""
