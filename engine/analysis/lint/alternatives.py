"""The branches of anyOf and oneOf: which overlap, and which nothing satisfies where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice

from engine.analysis.lint.subject import Subject, constants
from engine.findings import Finding
from engine.grammar.json_schema.branch import Branch
from engine.grammar.json_schema.clauses import Conjunction, Demand, Scalar
from engine.grammar.json_schema.conjunction import conjunction
from engine.grammar.json_schema.document import Subschema

MOST_CHOICES = 500
MOST_PAIRS = 20_000
MOST_DECIDED = 300
"""Pairs of branches that are looked at in one schema, and those of them that only satisfiability can tell apart."""

MOST_TOLD = 10
"""Overlapping pairs of one anyOf or oneOf after which no more are looked for."""

LONGEST_WITNESS = 60

DEEPEST = 4
"""Alternatives within alternatives that are looked at in one place."""


UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")


@dataclass(frozen=True, slots=True)
class Choice:
    """An anyOf or oneOf where it is met: its branches, all that is asked there, and the same without the keyword."""

    pointer: str
    keyword: str
    options: tuple[Subschema, ...]
    asked: Conjunction
    context: Conjunction


class Alternatives:
    """The choices of one schema."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._stripped: dict[tuple[Subschema, frozenset[str]], Subschema] = {}

    def choices(self) -> Iterator[Choice]:
        """Every choice with its surroundings, as often as it is met with others."""
        count = 0
        for position in self.subject.positions:
            asked = self._flat(position.asked)
            for choice in self._within(asked, asked, 0):
                yield choice
                count += 1
                if count >= MOST_CHOICES or self.subject.is_late:
                    return

    def _within(self, fresh: Conjunction, asked: Conjunction, depth: int) -> Iterator[Choice]:
        """The choices of the demands `fresh` where `asked` is asked, and those within their options."""
        if depth >= DEEPEST:
            return
        for schema in fresh:
            for keyword in ("anyOf", "oneOf"):
                if not isinstance(schema, Subschema) or not schema.has(keyword):
                    continue
                options = tuple(self.subject.document.children(schema, keyword))
                bare = self._bare(schema, keyword)
                context = conjunction(*(bare if demand is schema else demand for demand in asked))
                yield Choice(f"{schema.pointer}/{keyword}", keyword, options, asked, context)
                around = asked if keyword == "oneOf" else context
                for option in options:
                    inner = self._flat((option,))
                    yield from self._within(inner, conjunction(*around, *inner), depth + 1)

    def _bare(self, schema: Subschema, keyword: str) -> Subschema:
        """The schema without a choice, each of whose options is going to be asked for by itself.

        Its unevaluated* would not see what the option evaluates: it keeps an anyOf, and goes with a oneOf.
        """
        if not any(map(schema.has, UNEVALUATED)):
            return self._without(schema, frozenset((keyword,)))
        return schema if keyword == "anyOf" else self._without(schema, frozenset((keyword, *UNEVALUATED)))

    def _flat(self, asked: Conjunction) -> Conjunction:
        """The same demands with `$ref` and `allOf` resolved, so that each choice is at hand.

        Schemas with unevaluated* stay whole: what is evaluated is known only within them.
        """
        found: dict[Demand, None] = {}
        pending: list[Demand] = list(asked)
        seen: set[Demand] = set()
        document = self.subject.document
        while pending:
            demand = pending.pop(0)
            if demand in seen:
                continue
            seen.add(demand)
            if not isinstance(demand, Subschema) or any(map(demand.has, UNEVALUATED)):
                found[demand] = None
                continue
            pending += [document.target(demand, name) for name in ("$ref", "$dynamicRef") if demand.has(name)]
            if not document.ignores_siblings(demand):
                pending += document.children(demand, "allOf") if demand.has("allOf") else []
                found[self._without(demand, frozenset(("$ref", "$dynamicRef", "allOf")))] = None
        return conjunction(*found)

    def _without(self, schema: Subschema, names: frozenset[str]) -> Subschema:
        """The schema without some keywords; the same object each time."""
        if isinstance(schema.value, bool) or not names & schema.value.keys():
            return schema
        key = (schema, names)
        if key not in self._stripped:
            left = {keyword: value for keyword, value in schema.value.items() if keyword not in names}
            self._stripped[key] = Subschema(schema.pointer, left)
        return self._stripped[key]


def overlap_findings(subject: Subject) -> Iterator[Finding]:
    """Each anyOf or oneOf of which two branches have a value in common, with a shortest such value."""
    left = {"pairs": MOST_PAIRS, "decided": MOST_DECIDED}
    told: set[str] = set()
    for choice in Alternatives(subject).choices():
        if choice.pointer not in told:
            found = list(islice(_overlaps(subject, choice, left), MOST_TOLD))
            if found:
                told.add(choice.pointer)
                yield _about_overlap(choice, found)


def _overlaps(subject: Subject, choice: Choice, left: dict[str, int]) -> Iterator[tuple[int, int, bytes]]:
    """Pairs of branches that overlap, with a witness."""
    outlines = [_outline(subject, option) for option in choice.options]
    for one, other in combinations(range(len(outlines)), 2):
        left["pairs"] -= 1
        if left["pairs"] < 0 or left["decided"] <= 0 or subject.is_late:
            return
        if _are_apart(outlines[one], outlines[other]):
            continue
        left["decided"] -= 1
        both = conjunction(*choice.context, choice.options[one], choice.options[other])
        if subject.decide(both) and (witness := subject.witness(both)) is not None:
            yield one, other, witness


def _about_overlap(choice: Choice, found: list[tuple[int, int, bytes]]) -> Finding:
    one, other, witness = found[0]
    text = witness.decode(errors="backslashreplace")
    text = text if len(text) <= LONGEST_WITNESS else text[: LONGEST_WITNESS - 1] + "…"
    more = f"; {len(found)}{' or more' if len(found) == MOST_TOLD else ''} pairs overlap" if len(found) > 1 else ""
    message = f"Branches {one} and {other} both admit {text}{more}."
    if choice.keyword == "oneOf":
        message += " Such values are refused. Use anyOf, or tell the branches apart with a constant."
        why = "oneOf asks for exactly one branch: the mask rules out every text that satisfies two."
        return Finding(choice.pointer, "warning", choice.keyword, message, why)
    message += " Tell the branches apart with a constant if it matters which one was meant."
    why = "A text of both does not say which branch the model chose; whoever tries them in order takes the first."
    return Finding(choice.pointer, "info", choice.keyword, message, why)


@dataclass(frozen=True, slots=True)
class _Outline:
    """What tells a branch apart cheaply: types, listed scalars (None: any), listed scalars of required members."""

    kinds: frozenset[str]
    listed: frozenset[Scalar] | None
    members: dict[str, frozenset[Scalar]]


def _outline(subject: Subject, option: Subschema) -> list[_Outline]:
    return [_outline_of(subject, branch) for branch in subject.values.branches.of(conjunction(option))]


def _outline_of(subject: Subject, branch: Branch) -> _Outline:
    listed = constants(branch)
    members: dict[str, frozenset[Scalar]] = {}
    if branch.kinds == {"object"}:
        for field in subject.fields(branch):
            values = [constants(part) for part in subject.values.branches.of(field.asked)]
            if field.required and all(value is not None for value in values):
                members[field.name] = frozenset(scalar for value in values for scalar in value or ())
    return _Outline(branch.kinds, None if listed is None else frozenset(listed), members)


def _are_apart(one: list[_Outline], other: list[_Outline]) -> bool:
    """Whether two branches certainly have nothing in common."""
    return all(_differ(left, right) for left in one for right in other)


def _differ(one: _Outline, other: _Outline) -> bool:
    if not one.kinds & other.kinds:
        return True
    if one.listed is not None and other.listed is not None and not one.listed & other.listed:
        return True
    return any(not one.members[name] & other.members[name] for name in one.members.keys() & other.members.keys())
