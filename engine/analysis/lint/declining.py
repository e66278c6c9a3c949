"""Required members in which a model cannot say that it does not know."""

from __future__ import annotations

from collections.abc import Iterator

from engine.analysis.lint.subject import Field, Subject, constants
from engine.findings import Finding
from engine.grammar.json_schema.branch import Branch
from engine.grammar.json_schema.clauses import NUMBERS, Conjunction
from engine.grammar.json_schema.strings import spelled

NOTHING = (b"null", b'""', b"[]", b"{}")
"""Values that say nothing."""

# fmt: off
WORDS = frozenset((
    "", "?", "cannot tell", "can't tell", "don't know", "missing", "n/a", "na", "neither", "no answer", "none",
    "none of the above", "not applicable", "not available", "not found", "not given", "not specified", "null",
    "other", "others", "unclear", "undefined", "undetermined", "unknown", "unspecified", "unsure",
))
# fmt: on
"""Constants that say so, lower case, `_` and `-` as spaces (so a dash alone is nothing)."""

WHY = "Where the prompt does not tell, the mask still makes the model write a value, so it makes one up."


def declining_findings(subject: Subject) -> Iterator[Finding]:
    """Required members that admit no null, nothing empty and no word for "unknown", in any branch that names them."""
    for position in subject.positions:
        by_name: dict[str, list[Field]] = {}
        for branch in position.branches:
            if "object" in branch.kinds and constants(branch) is None:
                for field in subject.fields(branch):
                    by_name.setdefault(field.name, []).append(field)
        for name, fields in by_name.items():
            advice = [_advice(subject, field) if field.required else "" for field in fields]
            if all(advice):
                message = f"{name!r} is required and leaves no way to decline. {advice[0]}"
                yield Finding(fields[0].pointer, "info", "required", message, WHY)


def _advice(subject: Subject, field: Field) -> str:
    """What to change, "" if the member can be declined, is fixed, or is an object or impossible."""
    branches = subject.values.branches.of(field.asked)
    kinds = frozenset(kind for branch in branches for kind in branch.kinds)
    if kinds <= {"object"} or any(subject.accepts(field.asked, text) for text in NOTHING):
        return ""
    listed = {value for branch in branches for value in constants(branch) or ()}
    if _only_listed(branches) and (len(listed) < 2 or _has_word(subject, field.asked, listed)):
        return ""
    if not subject.is_alive(field.asked):
        return ""
    if _only_listed(branches) and all(named == "string" for named, _ in listed):
        return 'Add a value such as "unknown" to it, or allow null.'
    if kinds <= {"string"}:
        return "Allow null or an empty string."
    if kinds <= {"array"}:
        return "Allow an empty array or null."
    what = "number" if kinds <= NUMBERS else "boolean" if kinds <= {"true", "false"} else "value"
    return f"Allow null beside the {what}, or leave the name out of required."


def _only_listed(branches: list[Branch]) -> bool:
    return all(constants(branch) is not None for branch in branches)


def _has_word(subject: Subject, asked: Conjunction, listed: set[tuple[str, object]]) -> bool:
    words = [value for named, value in listed if named == "string" and isinstance(value, str)]
    declining = [word for word in words if " ".join(word.lower().replace("_", " ").replace("-", " ").split()) in WORDS]
    return any(subject.accepts(asked, b'"' + spelled(word) + b'"') for word in declining)
