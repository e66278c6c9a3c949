"""Why nothing satisfies a schema: the deepest place to point at."""

from __future__ import annotations

from engine.errors import ConstraintError
from engine.grammar.json_schema.branch import Branch
from engine.grammar.json_schema.clauses import (
    Bound,
    Clause,
    Conjunction,
    Constants,
    Contains,
    ItemCount,
    Items,
    Kinds,
    Length,
    MemberCount,
    Members,
    Required,
    limits,
)
from engine.grammar.json_schema.conjunction import conjunction
from engine.grammar.json_schema.document import Subschema
from engine.grammar.json_schema.values import Values


def unsatisfiable(values: Values, asked: Conjunction) -> ConstraintError:
    """The error for a conjunction that no value satisfies, naming the keywords that contradict each other."""
    return _Blame(values).of(asked, "")


class _Blame:
    def __init__(self, values: Values) -> None:
        self.values = values
        self.visiting: set[Conjunction] = set()

    def of(self, asked: Conjunction, place: str) -> ConstraintError:
        """The reason for a conjunction known to be empty."""
        for demand in asked:
            if isinstance(demand, Subschema) and demand.value is False:
                return _error(f"{demand.pointer or 'the root'} is false: no value satisfies it", demand.pointer)
        pointer = next((demand.pointer for demand in asked if isinstance(demand, Subschema)), place)
        if asked in self.visiting:
            return _error(f"the recursion at {pointer or 'the root'} has no way to end", pointer, "$ref")
        self.visiting.add(asked)
        branches = self.values.branches.of(asked)
        for branch in branches:
            reason = self._branch(branch)
            if reason is not None:
                return reason
        return self._no_branch(asked, pointer)

    def _no_branch(self, asked: Conjunction, pointer: str) -> ConstraintError:
        """No alternative is left: types that contradict each other, or keywords that leave none."""
        typed = [d for d in self._subschemas(asked) if d.has("type")]
        if len(typed) > 1:
            places = [f"{schema.pointer}/type" for schema in typed]
            return _error(f"{' and '.join(places)} leave no type", places[0], "type")
        for schema in self._subschemas(asked):
            for keyword in ("not", "oneOf", "anyOf", "enum", "$ref"):
                if schema.has(keyword):
                    at = f"{schema.pointer}/{keyword}"
                    leads_back = keyword == "$ref" and self.values.document.target(schema) in self._subschemas(asked)
                    why = "only leads back to itself" if leads_back else "leaves no value"
                    return _error(f"{at} {why}", at, keyword)
        return _error(f"no value satisfies {pointer or 'the root'}", pointer)

    def _subschemas(self, asked: Conjunction) -> list[Subschema]:
        """The subschemas of a conjunction and those that they refer to or list in allOf."""
        document = self.values.document
        found: dict[Subschema, None] = {}
        pending = [demand for demand in asked if isinstance(demand, Subschema)]
        while pending:
            schema = pending.pop(0)
            if schema in found:
                continue
            found[schema] = None
            if schema.has("$ref"):
                pending.append(document.target(schema))
            if schema.has("allOf"):
                pending += document.children(schema, "allOf")
        return list(found)

    def _branch(self, branch: Branch) -> ConstraintError | None:
        constants: list[Clause] = [clause for clause in branch.all(Constants) if clause.positive]
        if constants:
            others = [clause for clause in branch.clauses if isinstance(clause, (Length, Bound, Kinds))]
            return _conflict([*constants, *others], "no listed value satisfies the other keywords")
        crossed = [
            (_pair(branch, Length), "string"),
            (_pair(branch, ItemCount), "array"),
            (_pair(branch, MemberCount), "object"),
            (_bounds(branch), "integer"),
        ]
        for pair, kind in crossed:
            if pair and kind in branch.kinds:
                return _conflict(pair, "nothing lies between them")
        return self._items(branch) or self._members(branch) or self._rest(branch)

    def _items(self, branch: Branch) -> ConstraintError | None:
        low, _ = limits(branch.all(ItemCount))
        if "array" not in branch.kinds:
            return None
        for clause in branch.clauses:
            if isinstance(clause, Items):
                parts = [*clause.first[:low], *([clause.rest] if clause.rest and low > len(clause.first) else [])]
                for asked in parts:
                    if not self._alive(asked):
                        return self.of(asked, clause.origin.pointer)
            if isinstance(clause, Contains) and clause.low > 0 and not self._alive(clause.asked):
                return self.of(clause.asked, clause.origin.pointer)
        return None

    def _members(self, branch: Branch) -> ConstraintError | None:
        if "object" not in branch.kinds:
            return None
        members = branch.all(Members)
        for required in branch.all(Required):
            for name in required.names:
                said = [
                    demand
                    for clause in members
                    for asked in [dict(clause.named).get(name, clause.rest)]
                    for demand in asked or ()
                ]
                if self._alive(conjunction(*said)):
                    continue
                forbidding = [d for d in said if isinstance(d, Subschema) and d.value is False]
                if forbidding:
                    at = f"{required.origin.pointer}/required"
                    return _error(f"{at} asks for {name!r}, which {forbidding[0].pointer} forbids", at, "required")
                return self.of(conjunction(*said), required.origin.pointer)
        return None

    def _rest(self, branch: Branch) -> ConstraintError | None:
        """No single pair to blame: all that is said about the types that are left."""
        spoken: list[Clause] = [clause for clause in branch.clauses if not isinstance(clause, Kinds)]
        return _conflict(spoken, "nothing satisfies them together") if spoken else None

    def _alive(self, asked: Conjunction) -> bool:
        return self.values.liveness.alive(self.values.of(asked, ""))


def _pair(branch: Branch, kind: type[Length] | type[ItemCount] | type[MemberCount]) -> list[Clause]:
    """The clauses with the greatest lower and the least upper bound, if those cross."""
    counts: list[Length | ItemCount | MemberCount] = [*branch.all(kind)]
    low, high = limits(counts)
    if high is None or low <= high:
        return []
    return [next(c for c in counts if c.low == low), next(c for c in counts if c.high == high)]


def _bounds(branch: Branch) -> list[Clause]:
    lows = [clause for clause in branch.all(Bound) if clause.lower]
    highs = [clause for clause in branch.all(Bound) if not clause.lower]
    if not lows or not highs:
        return []
    low, high = max(lows, key=lambda clause: clause.value), min(highs, key=lambda clause: clause.value)
    exclusive = low.exclusive or high.exclusive
    return [low, high] if low.value > high.value or (low.value == high.value and exclusive) else []


def _conflict(clauses: list[Clause], why: str) -> ConstraintError:
    places = list(dict.fromkeys(f"{clause.origin.pointer}/{clause.origin.keyword}" for clause in clauses))
    return _error(f"{' and '.join(places)}: {why}", places[0], clauses[0].origin.keyword)


def _error(message: str, pointer: str, keyword: str = "") -> ConstraintError:
    return ConstraintError(f"Unsatisfiable: {message}.", pointer=pointer, keyword=keyword, unsatisfiable=True)
