"""Boolean structure: what a value must satisfy, as alternatives of plain conjunctions.

A value is asked to satisfy a conjunction of subschemas. `$ref`, `allOf` and `anyOf` are resolved here, so that each
`Branch` is a list of subschemas of which only the keywords that speak about the value itself are left to look at.
"""

from __future__ import annotations

from engine.errors import BudgetError
from engine.grammar.json_schema.document import Document, Subschema

Conjunction = tuple[Subschema, ...]
"""Subschemas that a value must satisfy together, in the order in which their author declared them, each once."""

Branch = tuple[Subschema, ...]
"""Subschemas whose own keywords (without `$ref`, `allOf`, `anyOf`) a value must satisfy."""

MOST_BRANCHES = 20_000
"""Alternatives of one conjunction beyond which the schema is refused: each costs memory when a value begins."""


def conjunction(*schemas: Subschema) -> Conjunction:
    """The schemas, each once; `true` and `{}` ask nothing and are left out."""
    return tuple(schema for schema in dict.fromkeys(schemas) if schema.value is not True and schema.value != {})


class Branches:
    """Expands conjunctions of one document; each subschema is expanded once."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._expanded: dict[Subschema, list[Branch]] = {}
        self._cuts = 0

    def of(self, schemas: Conjunction) -> list[Branch]:
        """All branches of a conjunction; a value satisfies it if it satisfies all of some branch.

        Raises `BudgetError` naming the subschema at which the number of branches passes `MOST_BRANCHES`.
        """
        branches: list[Branch] = [()]
        for schema in schemas:
            branches = _product(branches, self._expand(schema, ()), schema)
        return list(dict.fromkeys(branches))

    def _expand(self, schema: Subschema, above: tuple[Subschema, ...]) -> list[Branch]:
        if schema in self._expanded:
            return self._expanded[schema]
        if schema in above:
            # A schema that asks for itself at the same place is satisfied by nothing that way (least fixpoint).
            self._cuts += 1
            return []
        cuts_before = self._cuts
        branches = self._alternatives(schema, (*above, schema))
        if not above or self._cuts == cuts_before:  # what was cut holds only below the schema that cut it
            self._expanded[schema] = branches
        return branches

    def _alternatives(self, schema: Subschema, above: tuple[Subschema, ...]) -> list[Branch]:
        if schema.value is True:
            return [()]
        if schema.value is False:
            return []
        if self.document.draft == "draft-07" and schema.has("$ref"):
            return self._expand(self.document.target(schema), above)
        branches: list[Branch] = [()]
        own_placed = False
        for keyword in _in_walk_order(schema):
            if keyword == "$ref":
                branches = _product(branches, self._expand(self.document.target(schema), above), schema)
            elif keyword == "allOf":
                for index in range(len(schema.get("allOf"))):
                    part = self.document.child(schema, "allOf", index)
                    branches = _product(branches, self._expand(part, above), schema)
            elif keyword == "anyOf":
                parts = [self.document.child(schema, "anyOf", index) for index in range(len(schema.get("anyOf")))]
                union = [branch for part in parts for branch in self._expand(part, above)]
                branches = _product(branches, union, schema)
            elif not own_placed:
                own_placed = True
                branches = _product(branches, [(schema,)], schema)
        return branches


def _in_walk_order(schema: Subschema) -> list[str]:
    """Keywords as written, properties deciding the place of the schema's own ones, and allOf before anyOf."""
    written = list(schema.value) if isinstance(schema.value, dict) else []
    own = (
        "properties"
        if "properties" in written
        else next((k for k in written if k not in ("$ref", "allOf", "anyOf")), "")
    )
    order = [keyword for keyword in written if keyword in ("$ref", "allOf", "anyOf", own)]
    if "allOf" in order and "anyOf" in order and order.index("anyOf") < order.index("allOf"):
        order.remove("allOf")
        order.insert(order.index("anyOf"), "allOf")
    return order


def _product(left: list[Branch], right: list[Branch], schema: Subschema) -> list[Branch]:
    if len(left) * len(right) > MOST_BRANCHES:
        raise BudgetError(
            f"The alternatives at {schema.pointer or 'the root'} multiply to more than {MOST_BRANCHES:,}.",
            pointer=schema.pointer,
            keyword="anyOf",
        )
    return [tuple(dict.fromkeys((*one, *other))) for one in left for other in right]
