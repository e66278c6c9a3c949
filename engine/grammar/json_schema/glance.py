"""Which schemas some value satisfies, as far as their keywords show at a glance.

Nearly every schema that people write does, and for the plain ones that takes no automaton: no body of theirs is made
before a value begins there. What the keywords do not show is left to `Liveness`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from decimal import Decimal
from typing import Any

from engine.grammar.json_schema.document import Document, Subschema
from engine.grammar.json_schema.keywords import TYPES

MOST_ITEMS = 100
"""Items and members that must come beyond which it does not look: there are limits on them."""

LONGEST_NUMBER = 100
"""Digits beyond which it does not look at a number: there is a limit on them."""

_NUMBERS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_SIZES = ("minItems", "minContains", "maxContains", "minProperties")
_LIMITED = frozenset((*_NUMBERS, *_SIZES, "patternProperties", "enum", "const", "uniqueItems"))
_APART = frozenset(("null", "boolean", "string", "array", "object"))
"""Types that share no value with any other."""

_OTHER_VALUES = frozenset(("anyOf", "oneOf", "allOf", "$ref", "$dynamicRef", "enum", "const", "not", "if"))
"""Keywords that are not looked at beside others."""

_UNSEEN = {
    "array": frozenset(("contains", "unevaluatedItems")),
    "object": frozenset(("propertyNames", "dependentSchemas", "unevaluatedProperties")),
}
"""By type, the keywords that say too much for a glance."""


Look = Generator[Subschema, bool | None, bool]
"""Asks whether some schemas are satisfied, each when those before do not decide, and returns whether one is."""


class Glance:
    """Looks at the schemas of one document. A value that it has in mind is spelled with printable ASCII alone.

    It shows nothing where some schema might be beyond a limit, or say what is not enforced: that is told when a body is
    made.
    """

    def __init__(self, document: Document, matched: Callable[[str], bool]) -> None:
        """`matched` says of a pattern whether printable ASCII surely matches it."""
        self._document = document
        self._matched = matched
        self._is_far = not _LIMITED.isdisjoint(document.said) and any(map(_may_be_refused, document.reachable))
        self._known: dict[Subschema, bool] = {}

    def admits(self, schema: Subschema) -> bool:
        """Whether some value surely satisfies a schema; False if that is not seen."""
        if self._is_far:
            return False
        if schema.has("type") and len(schema.value) == 1:  # type: ignore[arg-type]
            return True
        known = self._known
        looks: list[tuple[Subschema, Look]] = []
        asked, answer = schema, known.get(schema)
        while answer is None or looks:
            if answer is None:
                known[asked] = False  # what needs itself is satisfied by nothing that way
                looks.append((asked, self._look(asked)))
            try:
                asked = looks[-1][1].send(answer)
                answer = known.get(asked)
            except StopIteration as end:
                answer = known[looks.pop()[0]] = bool(end.value)
        return answer

    def _look(self, schema: Subschema) -> Look:
        value = schema.value
        if isinstance(value, bool):
            return value
        if self._document.ignores_siblings(schema):
            return bool((yield self._document.target(schema)))
        other = _OTHER_VALUES.intersection(value)
        if not other:
            return (yield from _any_way(self._needed(schema, kind) for kind in _types(schema)))
        keyword = next(iter(other))
        if len(value) > 1 and not (keyword in ("enum", "const") and len(value) == 2 and "type" in value):
            return False
        if keyword in ("enum", "const"):
            listed = [value["const"]] if keyword == "const" else value["enum"]
            return any(_is_plain(constant, _types(schema)) for constant in listed)
        if keyword == "$ref":
            return bool((yield self._document.target(schema)))
        if keyword not in ("anyOf", "oneOf", "allOf"):
            return False
        parts = self._document.children(schema, keyword)
        if keyword == "anyOf" or len(parts) == 1 or (keyword == "oneOf" and _are_apart(parts)):
            return (yield from _any_way([part] for part in parts))
        return False

    def _needed(self, schema: Subschema, kind: str) -> list[Subschema] | None:
        """Schemas of which, if each is satisfied, a value of a type can be made that satisfies this one; None if
        the keywords that speak of the type do not show that."""
        if not _UNSEEN.get(kind, frozenset()).isdisjoint(schema.value):  # type: ignore[arg-type]
            return None
        if kind == "array":
            return self._needed_items(schema)
        if kind == "object":
            return self._needed_members(schema)
        if kind == "string":
            return [] if self._admits_string(schema) else None
        return [] if kind not in ("number", "integer") or _admits_number(schema) else None

    def _admits_string(self, schema: Subschema) -> bool:
        """Whether one of pattern, format and length is all that is said, and can be met."""
        length = schema.has("minLength") or schema.has("maxLength")
        shaped = schema.has("format") and self._document.enforces_format(schema.get("format"))
        if length + shaped + schema.has("pattern") > 1:
            return False
        if schema.has("pattern"):
            return self._matched(schema.get("pattern"))
        low = schema.get("minLength", 0)
        return bool(low <= schema.get("maxLength", low))

    def _needed_items(self, schema: Subschema) -> list[Subschema] | None:
        low = int(schema.get("minItems", 0))
        if low > schema.get("maxItems", low) or (low > 1 and schema.get("uniqueItems")):
            return None
        keyword = "prefixItems" if schema.has("prefixItems") else "items"
        rest = "additionalItems" if isinstance(schema.get("items"), list) else "items"
        first = self._document.children(schema, keyword) if isinstance(schema.get(keyword), list) else []
        asked = first[:low]
        if low > len(first) and schema.has(rest):
            asked.append(self._document.child(schema, rest))
        return asked

    def _needed_members(self, schema: Subschema) -> list[Subschema] | None:
        """The required members, and no others, make an object."""
        required = dict.fromkeys(schema.get("required", ()))
        declared = schema.get("properties", {})
        if not schema.get("minProperties", 0) <= len(required) <= schema.get("maxProperties", len(required)):
            return None
        depending = {*schema.get("dependentRequired", ()), *schema.get("dependencies", ())}
        if required and (schema.has("patternProperties") or not depending.isdisjoint(required)):
            return None
        if not is_ascii(required):
            return None
        asked = [self._document.child(schema, "properties", name) for name in required if name in declared]
        if len(asked) < len(required):
            if self._document.options.objects == "closed":
                return None
            if schema.has("additionalProperties"):
                asked.append(self._document.child(schema, "additionalProperties"))
        return asked


def _any_way(ways: Iterable[list[Subschema] | None]) -> Look:
    """Whether all schemas of some way are satisfied."""
    for way in ways:
        for part in way or ():
            if not (yield part):
                break
        else:
            if way is not None:
                return True
    return False


def is_ascii(texts: Iterable[str]) -> bool:
    """Whether JSON spells all texts with printable ASCII."""
    return all(text.isascii() and "\x7f" not in text for text in texts)


def _types(schema: Subschema) -> Iterable[str]:
    named = schema.get("type", TYPES)
    return (named,) if isinstance(named, str) else named


def _are_apart(parts: list[Subschema]) -> bool:
    """Whether no value has the types of two of the schemas."""
    types = [kind for part in parts for kind in (_types(part) if part.has("type") else ("", ""))]
    return len(set(types)) == len(types) and "" not in types and sum(kind not in _APART for kind in types) <= 1


def _admits_number(schema: Subschema) -> bool:
    """Whether there is room between the bounds for a whole number, or for 0, which is a multiple of everything."""
    if _NUMBERS.isdisjoint(schema.value):  # type: ignore[arg-type]
        return True
    low = max(_bounds(schema, "minimum", "exclusiveMinimum"), default=None)
    high = min(_bounds(schema, "maximum", "exclusiveMaximum"), default=None)
    if schema.has("multipleOf"):
        return (low is None or low < 0) and (high is None or high > 0)
    return low is None or high is None or high - low >= 2


def _bounds(schema: Subschema, *keywords: str) -> list[Decimal]:
    """The bounds that some keywords set; in draft 4 one of them is a boolean."""
    found = [schema.get(keyword) for keyword in keywords]
    return [Decimal(bound) for bound in found if bound is not None and not isinstance(bound, bool)]


def _is_plain(constant: Any, types: Iterable[str]) -> bool:
    """Whether a constant has one of the types and is spelled with ASCII."""
    if isinstance(constant, str):
        return "string" in types and is_ascii((constant,))
    if constant is None or isinstance(constant, bool):
        return ("null" if constant is None else "boolean") in types
    return isinstance(constant, int) and ("integer" in types or "number" in types)


def _may_be_refused(schema: Subschema) -> bool:
    """Whether a schema might be beyond a limit, or say what is not enforced, which is told when its body is made."""
    value = schema.value
    if isinstance(value, bool) or _LIMITED.isdisjoint(value):
        return False
    if any(schema.get(size, 0) > MOST_ITEMS for size in _SIZES) or len(schema.get("patternProperties", ())) > 1:
        return True
    numbers = [value[name] for name in _NUMBERS.intersection(value)]
    constants = [*schema.get("enum", ()), *([value["const"]] if "const" in value else ())]
    if any(map(_is_long, (*numbers, *constants))):
        return True
    return "uniqueItems" in value and not {"contains", "not"}.isdisjoint(value)


def _is_long(value: Any) -> bool:
    if isinstance(value, Decimal):
        return abs(value.adjusted()) > LONGEST_NUMBER or len(value.as_tuple().digits) > LONGEST_NUMBER
    return isinstance(value, int) and abs(value) > 10**LONGEST_NUMBER
