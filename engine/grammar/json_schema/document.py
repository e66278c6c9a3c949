"""The parts of a schema document: subschemas with their pointers, references resolved, every keyword met.

`Document.at(pointer)` is the subschema there; `reachable` walks all that take part in validation, so that a keyword that
cannot be enforced is refused when the constraint is compiled, wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from engine.constraint import Unenforced
from engine.errors import ConstraintError
from engine.grammar.json_schema import keywords
from engine.grammar.json_schema.source import escape, unescape

DIALECTS = {
    "https://json-schema.org/draft/2020-12/schema": "2020-12",
    "http://json-schema.org/draft-07/schema": "draft-07",
}


@dataclass(frozen=True, slots=True, eq=False)
class Subschema:
    """One schema of the document: `value` is a bool or a dict, `pointer` its place. Compared by identity."""

    pointer: str
    value: bool | dict[str, Any]

    def get(self, keyword: str, default: Any = None) -> Any:
        """The value of a keyword."""
        return default if isinstance(self.value, bool) else self.value.get(keyword, default)

    def has(self, keyword: str) -> bool:
        """Whether a keyword is present."""
        return not isinstance(self.value, bool) and keyword in self.value


class Document:
    """All subschemas of one schema document.

    Raises `ConstraintError` with pointer and keyword for what is malformed, unsupported or outside the document, unless
    `report_unsupported`: then unsupported keywords are listed in `unenforced`. Validation begins `at` a pointer; the rest
    is there to be referred to.
    """

    def __init__(self, root: Any, report_unsupported: bool = False, at: str = "") -> None:
        self.value = root
        self.draft = self._draft(root)
        self.unenforced: list[Unenforced] = []
        self._report = report_unsupported
        self._made: dict[str, Subschema] = {}
        self._bases: dict[str, str] = {}
        self._resources: dict[str, str] = {}
        self._anchors: dict[str, str] = {}
        self._index(root, "", "")
        self.root = self.at(at)
        self.reachable = list(self._walk())

    def at(self, pointer: str) -> Subschema:
        """The subschema at a pointer into the document."""
        if pointer not in self._made:
            self._made[pointer] = Subschema(pointer, self._lookup(pointer))
        return self._made[pointer]

    def child(self, parent: Subschema, *path: str | int) -> Subschema:
        """The subschema at a path below another."""
        return self.at(parent.pointer + "".join(f"/{escape(str(part))}" for part in path))

    def constant(self, pointer: str, value: Any) -> Subschema:
        """The subschema that only `value`, a part of an enum or const at `pointer`, satisfies."""
        key = f"{pointer} const"
        if key not in self._made:
            self._made[key] = Subschema(pointer, {"const": value})
        return self._made[key]

    def never(self, pointer: str) -> Subschema:
        """The false schema, standing for the absence of more members or items at `pointer`."""
        key = f"{pointer} false"
        if key not in self._made:
            self._made[key] = Subschema(pointer, False)
        return self._made[key]

    def target(self, schema: Subschema) -> Subschema:
        """What the `$ref` of a subschema refers to."""
        return self.at(self._resolve(schema.pointer, schema.get("$ref")))

    def _draft(self, root: Any) -> str:
        named = root.get("$schema") if isinstance(root, dict) else None
        if named is None:
            return "2020-12"
        draft = DIALECTS.get(named.rstrip("#")) if isinstance(named, str) else None
        if draft is None:
            raise ConstraintError(
                f"The dialect {named!r} is not supported. Use draft 2020-12 or draft-07.", pointer="", keyword="$schema"
            )
        return draft

    def _index(self, value: Any, pointer: str, base: str) -> None:
        """Note the base address of every part and where `$id` and `$anchor` lead."""
        pending = [(value, pointer, base)]
        while pending:
            part, place, base = pending.pop()
            if isinstance(part, dict):
                identifier = part.get("$id")
                if isinstance(identifier, str):
                    address, fragment = urldefrag(urljoin(base, identifier))
                    if fragment and self.draft == "draft-07":
                        self._anchors.setdefault(f"{address}#{fragment}", place)
                    if address:
                        base = address
                        self._resources.setdefault(address, place)
                anchor = part.get("$anchor")
                if isinstance(anchor, str):
                    self._anchors.setdefault(f"{base}#{anchor}", place)
                # Constants are data: an $id inside one identifies nothing.
                data = ("const", "enum", "default", "examples")
                pending += [(v, f"{place}/{escape(k)}", base) for k, v in part.items() if k not in data]
            elif isinstance(part, list):
                pending += [(v, f"{place}/{i}", base) for i, v in enumerate(part)]
            self._bases[place] = base

    def _resolve(self, pointer: str, reference: Any) -> str:
        address, fragment = urldefrag(urljoin(self._bases.get(pointer, ""), reference))
        fragment = unquote(fragment)
        resource = self._resources.get(address)
        if resource is None and address in ("", self._bases[""]):
            resource = ""
        found = None if resource is None else resource + fragment
        if resource is None or (fragment and not fragment.startswith("/")):
            found = self._anchors.get(f"{address}#{fragment}")
        if found is None:
            outside = address not in ("", *self._resources)
            why = "it is outside this document, and nothing is fetched" if outside else "there is no such place"
            raise self._lost(pointer, reference, why)
        try:
            self._lookup(found)
        except LookupError:
            raise self._lost(pointer, reference, "there is no such place") from None
        return found

    def _lost(self, pointer: str, reference: str, why: str) -> ConstraintError:
        place = f"{pointer}/$ref"
        return ConstraintError(
            f"The reference {reference!r} at {place} leads nowhere: {why}.", pointer=place, keyword="$ref"
        )

    def _lookup(self, pointer: str) -> Any:
        value = self.value
        for token in pointer.split("/")[1:]:
            name = unescape(token)
            if isinstance(value, list) and not name.isdecimal():
                raise LookupError(pointer)
            value = (
                value[int(name)]
                if isinstance(value, list)
                else value[name]
                if isinstance(value, dict)
                else _absent(name)
            )
        if not isinstance(value, (bool, dict)):
            raise ConstraintError("A schema must be an object, true or false.", pointer=pointer)
        return value

    def _walk(self) -> Iterator[Subschema]:
        """Every subschema that takes part in validation, its keywords checked."""
        seen = {self.root}
        pending = [self.root]
        while pending:
            schema = pending.pop()
            yield schema
            for child in self._children(schema):
                if child not in seen:
                    seen.add(child)
                    pending.append(child)

    def _children(self, schema: Subschema) -> list[Subschema]:
        if isinstance(schema.value, bool):
            return []
        if self.draft == "draft-07" and "$ref" in schema.value:
            keywords.check(schema.pointer, "$ref", schema.value["$ref"], self.draft)
            return [self.target(schema)]
        children: list[Subschema] = []
        for keyword, value in schema.value.items():
            reason = keywords.unsupported(keyword, self.draft)
            if reason and self._report:
                self.unenforced.append(Unenforced(schema.pointer, keyword, reason))
            elif reason:
                place = f"{schema.pointer}/{escape(keyword)}"
                raise ConstraintError(f"{keyword!r} at {place}: {reason}.", pointer=place, keyword=keyword)
            else:
                keywords.check(schema.pointer, keyword, value, self.draft)
                children += self._below(schema, keyword, value)
        return children

    def _below(self, schema: Subschema, keyword: str, value: Any) -> list[Subschema]:
        if keyword == "$ref":
            return [self.target(schema)]
        kind = keywords.holds(keyword, value)
        if kind == "schema":
            return [self.child(schema, keyword)]
        if kind == "list":
            return [self.child(schema, keyword, index) for index in range(len(value))]
        if kind == "names":
            return [self.child(schema, keyword, name) for name in value]
        return []


def _absent(name: str) -> Any:
    raise LookupError(name)
