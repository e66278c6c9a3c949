"""Values that may go on for ever: strings, arrays and objects without a bound."""

from __future__ import annotations

from collections.abc import Iterator

from engine.analysis.lint.subject import Position, Subject, constants
from engine.automaton.arena import Arena
from engine.automaton.terms import Alt, And, Call, Capture, Not, Repeat, Seq, Tag, Term
from engine.findings import Finding
from engine.grammar.json_schema.branch import Branch
from engine.grammar.json_schema.clauses import (
    ALL_KINDS,
    NUMBERS,
    Format,
    ItemCount,
    Kinds,
    Length,
    MemberCount,
    Members,
    Names,
    Pattern,
    Unique,
    limits,
)
from engine.grammar.json_schema.scalars import number_facts

WORDS = frozenset(("null", "true", "false"))
MOST_DIFFERENT = 200
"""Numbers among which unique items may be, for their array to count as bounded by them."""

RUNS_ON = "A model that repeats itself writes on until max_tokens, and what is cut there is no JSON."


def bounds_findings(subject: Subject) -> Iterator[Finding]:
    """Strings, arrays and objects that have no bound, each where its type or its keywords stand."""
    for position in subject.positions:
        for branch in position.branches:
            if constants(branch) is None:
                yield from _of_branch(subject, position, branch)


def _of_branch(subject: Subject, position: Position, branch: Branch) -> Iterator[Finding]:
    if branch.kinds == ALL_KINDS and not branch.clauses:
        message = "Any JSON value may stand here, of any size and depth. Say at least its type."
        yield Finding(position.pointer, "warning", "type", message, RUNS_ON)
        return
    pointer = _type_pointer(position, branch)
    if "string" in branch.kinds and not _has_bounded_string(subject, branch):
        yield Finding(pointer, "warning", "maxLength", _about_string(branch), RUNS_ON)
    if "array" in branch.kinds and not _has_bounded_array(subject, branch):
        message = "The array may have any number of items. Add maxItems."
        yield Finding(pointer, "warning", "maxItems", message, RUNS_ON)
    if "object" in branch.kinds and not _has_bounded_object(subject, branch):
        yield _about_object(subject, branch, pointer)


def _type_pointer(position: Position, branch: Branch) -> str:
    """Where the type of the values of a branch stands, or else the position: there a bound is missing."""
    typed = (clause.origin for clause in branch.all(Kinds) if clause.origin.keyword == "type")
    return next((origin.pointer for origin in typed), position.pointer)


def _about_string(branch: Branch) -> str:
    if any(clause.positive for clause in branch.all(Pattern)):
        return "It matches texts of any length. Anchor it with ^ and $ and bound its repetitions, or add maxLength."
    if any(clause.positive for clause in branch.all(Format)):
        return "The format has texts of any length. Add maxLength."
    return "The string may be of any length. Add maxLength, a bounded pattern, or an enum."


def _about_object(subject: Subject, branch: Branch, pointer: str) -> Finding:
    why = "A model may add members that nobody asked for, and go on adding them until max_tokens."
    if any(branch.all(Members)) and any(not asked for _, asked in subject.undeclared(branch)):
        message = "Members that are not declared may follow, with any value. Add additionalProperties: false."
    elif any(branch.all(Members)):
        message = "The object may have any number of members. Add maxProperties."
    else:
        message = "The object may have any members. Declare properties, and add additionalProperties: false."
    return Finding(pointer, "info", "additionalProperties", message, why)


def _has_bounded_string(subject: Subject, branch: Branch) -> bool:
    if limits(branch.all(Length))[1] is not None:
        return True
    return is_finite(subject.arena, subject.strings(branch))


def _has_bounded_array(subject: Subject, branch: Branch) -> bool:
    if limits(branch.all(ItemCount))[1] is not None:
        return True
    *_, (_, rest) = subject.items(branch)
    if not subject.is_alive(rest):
        return True
    unique = any(clause.positive for clause in branch.all(Unique))
    return unique and all(_has_few(subject, part) for part in subject.values.branches.of(rest))


def _has_few(subject: Subject, branch: Branch) -> bool:
    """Whether a branch plainly has so few values that unique items run out of them."""
    if constants(branch) is not None or branch.kinds <= WORDS:
        return True
    facts = number_facts(branch)
    return branch.kinds <= NUMBERS and subject.values.numbers.count_up_to(facts, MOST_DIFFERENT) is not None


def _has_bounded_object(subject: Subject, branch: Branch) -> bool:
    if limits(branch.all(MemberCount))[1] is not None:
        return True
    names = tuple(demand for clause in branch.all(Names) for demand in clause.asked)
    if names and is_finite(subject.arena, subject.values.string_body(names)):
        return True
    return not any(subject.is_alive(asked) for _, asked in subject.undeclared(branch))


def is_finite(arena: Arena, term: Term, above: frozenset[Term] = frozenset()) -> bool:
    """Whether a term has finitely many texts, judged by its structure: False may be said of an intersection wrongly."""
    if isinstance(term, Seq):
        return is_finite(arena, term.head, above) and is_finite(arena, term.tail, above)
    if isinstance(term, Alt):
        return all(is_finite(arena, member, above) for member in term.members)
    if isinstance(term, And):
        return any(is_finite(arena, member, above) for member in term.members)
    if isinstance(term, Repeat):
        return term.high is not None and is_finite(arena, term.body, above)
    if isinstance(term, Tag):
        return is_finite(arena, term.body, above)
    if isinstance(term, Call):
        return term not in above and is_finite(arena, arena.body(term), above | {term})
    return not isinstance(term, (Not, Capture))
