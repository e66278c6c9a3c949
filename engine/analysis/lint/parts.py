"""Parts of a schema that no value satisfies where they stand."""

from __future__ import annotations

from collections.abc import Iterator

from engine.analysis.lint.alternatives import Alternatives
from engine.analysis.lint.subject import Subject
from engine.findings import Finding
from engine.grammar.json_schema.blame import unsatisfiable
from engine.grammar.json_schema.clauses import Conjunction, Demand
from engine.grammar.json_schema.conjunction import conjunction
from engine.grammar.json_schema.document import Subschema


def part_findings(subject: Subject) -> Iterator[Finding]:
    """One for each part that can never be written, with the keywords that contradict each other."""
    for pointer, asked in dead_parts(subject).items():
        if subject.document.at(pointer).value is False:
            message = "No value satisfies false: this can never be written."
            yield Finding(pointer, "info", "", message, "That is right if it is meant to be forbidden.")
        elif not asked:
            message = "This branch is never written: each of its values satisfies another branch too. Use anyOf."
            yield Finding(pointer, "warning", "oneOf", message, "oneOf asks for exactly one branch.")
        else:
            error = unsatisfiable(subject.values, asked)
            reason = str(error).removeprefix("Unsatisfiable: ")
            message = f"No value satisfies this part, so it is never written: {reason}"
            why = "The schema still compiles, because a text can do without this part."
            yield Finding(pointer, "warning", error.keyword, message, why)


def dead_parts(subject: Subject) -> dict[str, Conjunction]:
    """By pointer: each member, item or branch of an anyOf or oneOf that no value satisfies, with what is asked of it.

    What is impossible beside one branch and possible beside another is no dead part. Of parts that contradict each
    other only the first is named. Nothing is asked of a branch of oneOf that fails only because it is not the only one.
    """
    alive: set[Demand] = {demand for position in subject.positions for demand in position.asked}
    dead: list[tuple[Subschema | None, Conjunction]] = [(_blamed(asked, alive), asked) for _, asked in subject.dead]
    for choice in Alternatives(subject).choices():
        for option in choice.options:
            alone = conjunction(*choice.context, option)
            asked = conjunction(*choice.asked, option)
            if subject.decide(alone) is False:
                dead.append((option, alone))
            elif choice.keyword == "oneOf" and subject.decide(asked) is False:
                dead.append((option, ()))
            else:
                alive.add(option)
    found: dict[str, Conjunction] = {}
    for part, asked in dead:
        if part is not None and part not in alive:
            found.setdefault(part.pointer, asked)
    return found


def _blamed(asked: Conjunction, alive: set[Demand]) -> Subschema | None:
    """The first subschema that is satisfied nowhere; one that is not merely false, if there is one.

    A false that closes an object or an array is no part of it.
    """
    parts = [demand for demand in asked if isinstance(demand, Subschema) and demand not in alive]
    named = (part for part in parts if part.pointer.split("/")[-2:-1] in (["properties"], ["prefixItems"], ["items"]))
    return next((part for part in parts if part.value is not False), next(named, None))
