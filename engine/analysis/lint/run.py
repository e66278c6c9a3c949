"""`lint`: all findings about one schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from engine.analysis.lint.alternatives import overlap_findings
from engine.analysis.lint.bounds import bounds_findings
from engine.analysis.lint.declining import declining_findings
from engine.analysis.lint.enums import enum_findings
from engine.analysis.lint.keywords import ignored_findings, provider_findings
from engine.analysis.lint.numbers import number_findings
from engine.analysis.lint.order import order_findings
from engine.analysis.lint.parts import dead_parts, part_findings
from engine.analysis.lint.states import share_findings, white_space_findings
from engine.analysis.lint.subject import LONGEST, Subject
from engine.budget import Budget
from engine.errors import BudgetError, ConstraintError
from engine.findings import Finding
from engine.grammar.json_schema.compile import DEFAULT_BUDGET, compile_json_schema

if TYPE_CHECKING:
    from engine.vocabulary.vocabulary import Vocabulary

Family = Callable[[Subject], Iterator[Finding]]

FAMILIES: tuple[Family, ...] = (
    ignored_findings,
    order_findings,
    declining_findings,
    bounds_findings,
    number_findings,
    part_findings,
    overlap_findings,
    white_space_findings,
    share_findings,
)


def lint(
    schema: dict[str, Any] | bool | str,
    *,
    vocabulary: Vocabulary | None = None,
    providers: Sequence[str] = (),
    budget: Budget = DEFAULT_BUDGET,
    **options: Any,
) -> tuple[Finding, ...]:
    """What is risky in a schema although it compiles, ordered by pointer.

    `options` are those of `compile_json_schema`, and what is said holds for them. `vocabulary`: also how enum values
    split into tokens. `providers`: also what each of these does not enforce (names of `requests.providers.PROVIDERS`;
    `ConstraintError` for another). A schema that does not compile yields that error as its only finding.
    Takes at most about `LONGEST` seconds longer than compiling.
    """
    try:
        subject = Subject(compile_json_schema(schema, budget=budget, **options))
    except ConstraintError as error:
        return (_as_finding(error),)
    found: list[Finding] = []
    for family in (*FAMILIES, lambda subject: enum_findings(subject, vocabulary)):
        found += _once(_guarded(subject, family))
    found += provider_findings(subject, providers)
    found += map(_as_late_finding, _real(subject.failures, subject.is_late))
    if subject.is_late:
        message = f"The schema is large: the lint stopped after {LONGEST:g} s, and there may be more to say."
        found.append(Finding(subject.source.at, "info", "", message))
    return tuple(sorted(dict.fromkeys(found), key=lambda finding: (finding.pointer, finding.keyword, finding.message)))


def unsatisfiable_parts(
    schema: dict[str, Any] | bool | str, *, budget: Budget = DEFAULT_BUDGET, **options: Any
) -> tuple[str, ...]:
    """Pointers of the parts that no value satisfies where they stand: members, items, branches of anyOf and oneOf.

    Raises `ConstraintError` as compiling does, for a schema that nothing satisfies as a whole too.
    """
    return tuple(sorted(dead_parts(Subject(compile_json_schema(schema, budget=budget, **options)))))


def _guarded(subject: Subject, family: Family) -> Iterator[Finding]:
    """The findings of a family, up to where a schema of unusual size stops it."""
    try:
        yield from family(subject)
    except (ConstraintError, RecursionError):
        return


def _once(findings: Iterable[Finding]) -> Iterable[Finding]:
    """One finding of each sort at each place: a place can be met in several branches."""
    return {(finding.pointer, finding.keyword, finding.why): finding for finding in reversed(list(findings))}.values()


def _real(failures: Sequence[ConstraintError], is_late: bool) -> list[ConstraintError]:
    """Without those that only say that the lint's own time was over."""
    return [error for error in failures if error.pointer or not (is_late and isinstance(error, BudgetError))]


def _as_finding(error: ConstraintError) -> Finding:
    why = "Nothing can be written under a constraint that does not compile."
    return Finding(error.pointer, "error", error.keyword, str(error), why)


def _as_late_finding(error: ConstraintError) -> Finding:
    why = "The schema compiles, but a run fails when its text comes to this part."
    return Finding(error.pointer, "error", error.keyword, str(error), why)
