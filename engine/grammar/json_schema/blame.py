"""Why nothing satisfies a schema: the deepest place to point at."""

from __future__ import annotations

from engine.automaton.liveness import Liveness
from engine.errors import ConstraintError
from engine.grammar.json_schema import facts
from engine.grammar.json_schema.conjunction import Branch, Conjunction
from engine.grammar.json_schema.values import Values


def unsatisfiable(values: Values, liveness: Liveness, schemas: Conjunction) -> ConstraintError:
    """The error for a conjunction that no value satisfies, naming the keywords that contradict each other."""
    return _Blame(values, liveness).of(schemas, "")


class _Blame:
    def __init__(self, values: Values, liveness: Liveness) -> None:
        self.values = values
        self.liveness = liveness
        self.visiting: set[Conjunction] = set()

    def of(self, schemas: Conjunction, place: str) -> ConstraintError:
        for schema in schemas:
            if schema.value is False:
                return _error(f"{schema.pointer or 'The root'} is false: no value satisfies it.", schema.pointer)
        if schemas in self.visiting:
            return _error(f"The recursion at {place} has no way to end.", f"{place}", "$ref")
        self.visiting.add(schemas)
        for branch in self.values.branches.of(schemas):
            reason = self._branch(branch, place)
            if reason is not None:
                return reason
        pointer = schemas[0].pointer if schemas else place
        if schemas and schemas[0].has("$ref"):
            return _error(f"The reference at {pointer}/$ref only leads back to itself.", f"{pointer}/$ref", "$ref")
        return _error(f"No value satisfies {pointer or 'the root'}.", pointer)

    def _branch(self, branch: Branch, place: str) -> ConstraintError | None:
        kinds = facts.types_of(branch)
        if not kinds:
            return _conflict(branch, "type", "no JSON type is left")
        listed = facts.constants(branch)
        if listed is not None:
            keyword = "enum" if any(schema.has("enum") for schema in branch) else "const"
            return _conflict(branch, keyword, "no listed value satisfies the other keywords")
        reasons = {"string": self._string, "array": self._array, "object": self._object}
        for kind in kinds:
            reason = reasons[kind](branch, place) if kind in reasons else None
            if reason is not None:
                return reason
        return None

    def _string(self, branch: Branch, place: str) -> ConstraintError | None:
        crossed = _crossed(branch, "minLength", "maxLength")
        if crossed is None and any(schema.has("pattern") for schema in branch):
            return _conflict(branch, "pattern", "no string matches it together with the other keywords")
        return crossed

    def _array(self, branch: Branch, place: str) -> ConstraintError | None:
        crossed = _crossed(branch, "minItems", "maxItems")
        asked = facts.item_conjunction(self.values.document, branch)
        if crossed is None and asked and facts.bounds(branch, "minItems", "maxItems").low > 0:
            return self._below(asked, asked[0].pointer)
        return crossed

    def _object(self, branch: Branch, place: str) -> ConstraintError | None:
        found = facts.object_facts(self.values.document, branch, self.values.options)
        for name, said, where in found.members:
            if name not in found.required:
                continue
            reason = self._below(said, where)
            if reason is None:
                continue
            if any(schema.value is False for schema in said):
                asking = next(schema for schema in branch if name in schema.get("required", []))
                return _error(
                    f"{asking.pointer}/required asks for {name!r}, which {said[0].pointer or 'the schema'} forbids.",
                    f"{asking.pointer}/required",
                    "required",
                )
            return reason
        return None

    def _below(self, said: Conjunction, where: str) -> ConstraintError | None:
        if self.liveness.alive(self.values.of(said, where)):
            return None
        return self.of(said, where)


def _crossed(branch: Branch, least: str, most: str) -> ConstraintError | None:
    limits = facts.bounds(branch, least, most)
    if limits.high is None or limits.low <= limits.high:
        return None
    assert limits.low_origin is not None and limits.high_origin is not None
    low, high = f"{limits.low_origin.pointer}/{least}", f"{limits.high_origin.pointer}/{most}"
    return _error(f"{low} ({limits.low}) is greater than {high} ({limits.high}).", low, least)


def _conflict(branch: Branch, keyword: str, why: str) -> ConstraintError:
    places = [f"{schema.pointer}/{keyword}" for schema in branch if schema.has(keyword)]
    where = " and ".join(places)
    return _error(f"{where}: {why}.", places[0] if places else "", keyword)


def _error(message: str, pointer: str, keyword: str = "") -> ConstraintError:
    return ConstraintError(f"Unsatisfiable: {message}", pointer=pointer, keyword=keyword, unsatisfiable=True)
