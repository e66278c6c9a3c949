"""Boolean structure: what a value must satisfy, as alternatives of clauses.

A value is asked to satisfy a conjunction of demands: subschemas, their denials, alternatives. `$ref`, `allOf`, `anyOf`,
`oneOf`, `not`, `if` and the `dependent*` keywords are resolved here into branches (disjunctive normal form), and so are
`unevaluatedProperties` and `unevaluatedItems`: within a branch it is known which parts of the value were evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations, filterfalse
from typing import Literal

from engine.errors import BudgetError, Origin
from engine.grammar.json_schema.branch import (
    NOTHING,
    Branch,
    Evaluated,
    branch_of,
    evaluated_by,
    in_both,
    of_both,
    on_unevaluated,
    without_implied,
)
from engine.grammar.json_schema.clauses import (
    NEVER,
    All,
    Clause,
    Conjunction,
    Demand,
    Denied,
    Either,
    Members,
    Required,
    deny,
    violations,
)
from engine.grammar.json_schema.document import Document, Subschema
from engine.grammar.json_schema.reading import complex_constants, own_clauses
from engine.grammar.json_schema.rivals import Rivals
from engine.grammar.json_schema.simplify import Simplifier

MOST_BRANCHES = 20_000
"""Alternatives of one conjunction beyond which the schema is refused: each costs memory when a value begins."""

MOST_JOINED = 100_000
"""Pairs of alternatives that are joined for one document, all its conjunctions together."""

MOST_SUBSETS = 10
"""anyOf branches below an unevaluated* keyword beyond which it is refused: every subset of them is an alternative."""

Annotate = Literal["none", "some", "exact"]
"""Which parts count as evaluated matters to no one, by what is known to hold, or by exactly what holds."""


def conjunction(*demands: Demand) -> Conjunction:
    """The demands, each once; what asks nothing is left out."""
    return tuple(filterfalse(_asks_nothing, dict.fromkeys(demands)))


def _asks_nothing(demand: Demand) -> bool:
    if isinstance(demand, Subschema):
        return demand.value is True or demand.value == {}
    return isinstance(demand, Denied) and demand.schema.value is False


class Branches:
    """Expands the conjunctions of one document.

    `check_time` raises `BudgetError` when compiling has taken too long. The simplifier may say that no value satisfies
    a conjunction; then the branches of a `oneOf` need not deny each other. It may always say that it does not know.
    """

    def __init__(self, document: Document, simplifier: Simplifier, check_time: Callable[[], None]) -> None:
        self.document = document
        self.check_time = check_time
        self.simplifier = simplifier
        self._expanded: dict[tuple[Demand, Annotate], list[Branch]] = {}
        self._of: dict[Conjunction, list[Branch]] = {}
        self._cuts = 0
        self._joined = 0

    def of(self, asked: Conjunction) -> list[Branch]:
        """All branches of a conjunction; a value satisfies it if it satisfies all clauses of some branch.

        Raises `BudgetError` naming the subschema at which the number of branches passes `MOST_BRANCHES`.
        """
        if asked not in self._of:
            alone = asked[0] if len(asked) == 1 else None
            if isinstance(alone, Subschema) and not isinstance(alone.value, bool) and STEPS.isdisjoint(alone.value):
                self._of[asked] = branch_of(own_clauses(self.document, alone))
            else:
                self._of[asked] = without_implied(self._every(asked, (), "none"))
        return self._of[asked]

    def _every(self, asked: Iterable[Demand], above: tuple[Demand, ...], annotate: Annotate) -> list[Branch]:
        """All demands together; denials last, those with the fewest ways first: they settle most of the others."""
        branches = [Branch()]
        denials: list[tuple[Demand, list[Branch]]] = []
        for demand in asked:
            ways = self._expand(demand, above, annotate)
            if isinstance(demand, Denied):
                denials.append((demand, ways))
            else:
                branches = self._product(branches, ways, demand)
        for demand, ways in sorted(denials, key=lambda denial: len(denial[1])):
            branches = self._product(branches, ways, demand)
        return branches

    def _expand(self, demand: Demand, above: tuple[Demand, ...], annotate: Annotate) -> list[Branch]:
        passed: set[Demand] = set()
        while isinstance(demand, Subschema) and self._only_refers(demand):  # a chain of references may be long
            if demand in passed:
                return []
            passed.add(demand)
            demand = self.document.target(demand)
        key = (demand, annotate)
        if key in self._expanded:
            return self._expanded[key]
        if demand in above:
            # What asks for itself at the same place is satisfied by nothing that way (least fixpoint).
            self._cuts += 1
            return []
        cuts_before = self._cuts
        branches = self._alternatives(demand, (*above, demand), annotate)
        if not above or self._cuts == cuts_before:  # what was cut holds only below the demand that cut it
            self._expanded[key] = branches
        return branches

    def _only_refers(self, schema: Subschema) -> bool:
        """Whether a subschema asks for what its `$ref` refers to and for nothing else."""
        if not schema.has("$ref"):
            return False
        alone = STEPS.intersection(schema.value) == {"$ref"}  # type: ignore[arg-type]
        return self.document.ignores_siblings(schema) or (alone and not own_clauses(self.document, schema))

    def _alternatives(self, demand: Demand, above: tuple[Demand, ...], annotate: Annotate) -> list[Branch]:
        if isinstance(demand, Either):
            return [branch for option in demand.options for branch in self._every(option, above, annotate)]
        if isinstance(demand, All):
            return branch_of(demand.clauses)
        if isinstance(demand, Denied):
            return self._denied(demand.schema, above)
        if isinstance(demand.value, bool):
            return [Branch()] if demand.value else []
        return self._satisfied(demand, above, annotate)

    def _satisfied(self, schema: Subschema, above: tuple[Demand, ...], annotate: Annotate) -> list[Branch]:
        """The branches of a subschema: its keywords in the order of a walk, unevaluated* last."""
        late = [k for k in ("unevaluatedProperties", "unevaluatedItems") if schema.has(k)]
        inner: Annotate = "some" if late and annotate == "none" else annotate
        branches = [Branch()]
        for demands in self._steps(schema):
            branches = self._product(branches, self._step(demands, above, inner), schema)
        for keyword in late:
            branches = [self._with_unevaluated(schema, keyword, branch) for branch in branches]
        return branches if annotate != "none" else [Branch(branch.clauses, branch.kinds) for branch in branches]

    def _step(self, demands: Step, above: tuple[Demand, ...], annotate: Annotate) -> list[Branch]:
        """One keyword's part of a subschema."""
        if demands.own is not None:
            evaluated = evaluated_by(demands.own, self.document.draft) if annotate != "none" else NOTHING
            return branch_of(demands.own, evaluated)
        if demands.any_of and annotate != "none":
            return self._subsets(demands, above, annotate)
        return [branch for option in demands.options for branch in self._every(option, above, annotate)]

    def _subsets(self, demands: Step, above: tuple[Demand, ...], annotate: Annotate) -> list[Branch]:
        """anyOf where it matters which of its branches hold: every non-empty subset (exactly that one, if need be)."""
        if len(demands.options) > MOST_SUBSETS:
            raise BudgetError(
                f"{demands.pointer} has more than {MOST_SUBSETS} alternatives below an unevaluated* keyword.",
                pointer=demands.pointer,
                keyword="anyOf",
            )
        branches = []
        indices = range(len(demands.options))
        for size in range(1, len(demands.options) + 1):
            for chosen in combinations(indices, size):
                asked = [demand for index in chosen for demand in demands.options[index]]
                if annotate == "exact":
                    asked += [d for index in indices if index not in chosen for d in deny(demands.options[index])]
                branches += self._every(asked, above, annotate)
        return branches

    def _steps(self, schema: Subschema) -> list[Step]:
        """What a subschema demands, keyword by keyword, as alternatives of conjunctions."""
        document = self.document
        if document.ignores_siblings(schema):
            return [Step(options=((document.target(schema),),))]
        steps: list[Step] = []
        for keyword in _in_walk_order(schema):
            place = f"{schema.pointer}/{keyword}"
            if keyword in ("$ref", "$dynamicRef"):
                steps.append(Step(options=((document.target(schema, keyword),),)))
            elif keyword == "allOf":
                steps += [Step(options=((part,),)) for part in document.children(schema, keyword)]
            elif keyword == "anyOf":
                options = tuple((part,) for part in document.children(schema, keyword))
                steps.append(Step(options=options, any_of=True, pointer=place))
            elif keyword == "oneOf":
                steps.append(Step(options=self._exactly_one(schema), pointer=place))
            elif keyword == "not":
                steps.append(Step(options=((Denied(document.child(schema, keyword)),),)))
            elif keyword == "if":
                steps.append(Step(options=self._conditional(schema)))
            elif keyword in DEPENDENT:
                steps += [Step(options=options) for options in self._dependent(schema, keyword)]
            elif keyword in ("enum", "const"):
                steps.append(Step(options=complex_constants(document, schema, keyword)))
            else:
                steps.append(Step(own=own_clauses(document, schema)))
        return steps

    def _exactly_one(self, schema: Subschema) -> tuple[Conjunction, ...]:
        """One part of a oneOf and none of the others; those that cannot hold beside it need not be denied."""
        own = All(own_clauses(self.document, schema))
        rivals = Rivals(self.document, schema)
        options: list[Conjunction] = []
        for part in rivals.parts:
            self.check_time()
            others = [other for other in rivals.of(part) if not self.simplifier.disjoint((own, part, other))]
            options.append((part, *map(Denied, others)))
        return tuple(options)

    def _conditional(self, schema: Subschema) -> tuple[Conjunction, ...]:
        test = self.document.child(schema, "if")
        then = (self.document.child(schema, "then"),) if schema.has("then") else ()
        otherwise = (self.document.child(schema, "else"),) if schema.has("else") else ()
        return (test, *then), (Denied(test), *otherwise)

    def _dependent(self, schema: Subschema, keyword: str) -> Iterable[tuple[Conjunction, ...]]:
        """For each name: it is absent, or it is there and so is what depends on it."""
        origin = Origin(schema.pointer, keyword)
        for name, value in schema.get(keyword).items():
            present: Demand = All((Required(origin, (name,)),))
            absent: Demand = All((Members(origin, ((name, NEVER),)),))
            if isinstance(value, list):
                present = All((Required(origin, (name, *value)),))
                yield (absent,), (present,)
            else:
                yield (absent,), (present, self.document.child(schema, keyword, name))

    def _denied(self, schema: Subschema, above: tuple[Demand, ...]) -> list[Branch]:
        """The branches in which a value violates a subschema: one of its keywords is violated."""
        if isinstance(schema.value, bool):
            return [] if schema.value else [Branch()]
        branches: list[Branch] = []
        for step in self._steps(schema):
            if step.own is not None:
                for clause in step.own:
                    for violation in violations(clause):
                        branches += branch_of(violation)
            elif step.pointer.endswith("/oneOf"):
                branches += self._not_exactly_one(schema, above)
            else:
                branches += self._every([d for option in step.options for d in deny(option)], above, "none")
        for keyword in ("unevaluatedProperties", "unevaluatedItems"):
            if schema.has(keyword):
                branches += self._unevaluated_violated(schema, keyword, above)
        return branches

    def _not_exactly_one(self, schema: Subschema, above: tuple[Demand, ...]) -> list[Branch]:
        rivals = Rivals(self.document, schema)
        branches = self._every([Denied(part) for part in rivals.parts], above, "none")
        place = {part: index for index, part in enumerate(rivals.parts)}
        for one in rivals.parts:
            for other in rivals.of(one):
                if place[one] < place[other] and not self.simplifier.disjoint((one, other)):
                    branches += self._every((one, other), above, "none")
        return branches

    def _with_unevaluated(self, schema: Subschema, keyword: str, branch: Branch) -> Branch:
        """A branch with the demand on what it left unevaluated; after that, everything is evaluated."""
        asked = conjunction(self.document.child(schema, keyword))
        clause = on_unevaluated(Origin(schema.pointer, keyword), branch.evaluated, asked)
        done = Evaluated(every_name=True) if keyword == "unevaluatedProperties" else Evaluated(every_item=True)
        return Branch((*branch.clauses, clause), branch.kinds, branch.evaluated | done)

    def _unevaluated_violated(self, schema: Subschema, keyword: str, above: tuple[Demand, ...]) -> list[Branch]:
        """All else holds, exactly, and some unevaluated member or item violates the keyword."""
        branches = [Branch()]
        for step in self._steps(schema):
            branches = self._product(branches, self._step(step, above, "exact"), schema)
        asked = conjunction(self.document.child(schema, keyword))
        origin = Origin(schema.pointer, keyword)
        violated: list[Branch] = []
        for branch in branches:
            for violation in violations(on_unevaluated(origin, branch.evaluated, asked)):
                violated += self._product([branch], branch_of(violation), schema)
        return violated

    def _product(self, left: list[Branch], right: list[Branch], demand: Demand) -> list[Branch]:
        """Every branch of one side with every branch of the other, without those that cannot hold."""
        if len(right) == 1 and not right[0].clauses and right[0].evaluated is NOTHING:
            return left
        is_choice = len(right) > 1 and all(other.evaluated is NOTHING for other in right)
        result = []
        for one in left:
            if is_choice and any(self.simplifier.implies(one, other) for other in right):
                result.append(one)
                continue
            for other in right:
                kinds = in_both(one.kinds, other.kinds)
                clauses: tuple[Clause, ...] | None = of_both(one.clauses, other.clauses)
                if len(right) > 1 and "object" in kinds:
                    clauses = self.simplifier.join(one.clauses, other.clauses)
                    if clauses is None:
                        kinds, clauses = kinds - {"object"}, of_both(one.clauses, other.clauses)
                if kinds:
                    result.append(Branch(clauses or (), kinds, one.evaluated | other.evaluated))
            self._joined += len(right)
            self.check_time()
            if len(result) > MOST_BRANCHES or self._joined > MOST_JOINED:
                schema = demand.schema if isinstance(demand, Denied) else demand
                pointer = schema.pointer if isinstance(schema, Subschema) else ""
                message = f"The alternatives at {pointer or 'the root'} are too many; use anyOf for oneOf."
                raise BudgetError(message, pointer=pointer)
        return result


@dataclass(frozen=True, slots=True)
class Step:
    """One keyword's demand: the schema's `own` clauses, or one of several options."""

    options: tuple[Conjunction, ...] = ()
    own: tuple[Clause, ...] | None = None
    any_of: bool = False
    pointer: str = ""


DEPENDENT = ("dependentSchemas", "dependentRequired", "dependencies")
WALKED = frozenset(("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "enum", "const", *DEPENDENT))
"""Keywords that are steps of their own; all others together are one."""

STEPS = WALKED | {"unevaluatedProperties", "unevaluatedItems"}
"""Without these a subschema is its own clauses and no more."""


def _in_walk_order(schema: Subschema) -> list[str]:
    """Keywords with steps of their own as written, `properties` placing all others; allOf before anyOf."""
    written = list(schema.value) if isinstance(schema.value, dict) else []
    others = [keyword for keyword in written if keyword not in WALKED]
    own = "properties" if "properties" in others else (others[0] if others else "")
    order = [keyword for keyword in written if keyword in WALKED or keyword == own]
    later = [keyword for keyword in ("anyOf", "oneOf", "if") if keyword in order]
    if "allOf" in order and later:
        first = min(map(order.index, later))
        if first < order.index("allOf"):
            order.remove("allOf")
            order.insert(first, "allOf")
    return order
