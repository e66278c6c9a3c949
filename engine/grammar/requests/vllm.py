"""vLLM: `structured_outputs`, and `guided_*` of versions before 0.12."""

from __future__ import annotations

from engine.budget import Budget
from engine.findings import Finding
from engine.grammar.requests.found import Choices, Found, GrammarText, Regex, any_object, of_schema
from engine.grammar.requests.part import Part
from engine.grammar.requests.structural_tag import of_tag

KINDS = ("json", "regex", "choice", "grammar", "json_object", "structural_tag")
LEGACY = ("guided_json", "guided_regex", "guided_choice", "guided_grammar")
NOTE = "Findings are for xgrammar; vLLM's 'auto' may choose another engine, from one request to the next."


def find(body: Part, budget: Budget) -> Found | None:
    """The constraint of a request to vLLM, also where the OpenAI client carries it in `extra_body`."""
    for place in (body, body.get("extra_body"), body.get("sampling_params")):
        given = place.get("structured_outputs") if place else None
        if given:
            return _structured(given, budget)
        named = [part for name in LEGACY if place and (part := place.get(name))]
        if named:
            return _legacy(named, budget)
    return None


def _structured(given: Part, budget: Budget) -> Found:
    named = [part for name in KINDS if (part := given.get(name))]
    if len(named) != 1:
        raise given.error(f"must have exactly one of {', '.join(KINDS)}")
    spaces = given.get("whitespace_pattern")
    findings = []
    if spaces:
        why = "Where white space may stand is decided by the option `whitespace`."
        findings.append(Finding(spaces.pointer, "info", "", "whitespace_pattern is not part of the constraint.", why))
    return _of_kind(named[0].pointer.rpartition("/")[2], named[0], findings, budget)


def _legacy(named: list[Part], budget: Budget) -> Found:
    part = named[0]
    if len(named) > 1:
        raise named[1].error(f"stands beside {part.pointer}: vLLM takes one constraint")
    name = part.pointer.rpartition("/")[2]
    kind = name.removeprefix("guided_")
    message = f"vLLM 0.12 and later do not read {name}; they read structured_outputs.{kind}."
    old = Finding(part.pointer, "warning", name, message, "The answer may not be constrained at all.")
    return _of_kind(kind, part, [old], budget)


def _of_kind(kind: str, part: Part, findings: list[Finding], budget: Budget) -> Found:
    if kind == "json":
        return of_schema("vllm", part.schema(budget), *findings, notes=(NOTE,))
    if kind == "json_object":
        if not part.flag():
            raise part.error("must be true, or left out")
        return Found("vllm", part.pointer, any_object(part.pointer), tuple(findings))
    if kind == "grammar":
        wanted = GrammarText(part, "gbnf" if "::=" in part.text() else "lark")
        return Found("vllm", part.pointer, wanted, tuple(findings))
    if kind == "structural_tag":
        return of_tag("vllm", part, budget, *findings)
    return Found("vllm", part.pointer, Regex(part) if kind == "regex" else Choices(part), tuple(findings))
