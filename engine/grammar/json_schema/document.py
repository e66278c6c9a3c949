"""The parts of a schema document: subschemas with their pointers, references resolved, every keyword met.

`Document.at(pointer)` is the subschema there; `reachable` walks all that take part in validation, so that a keyword
that cannot be enforced is refused when the constraint is compiled, wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from engine.constraint import Unenforced
from engine.errors import ConstraintError
from engine.grammar.json_schema import keywords
from engine.grammar.json_schema.formats import FORMATS
from engine.grammar.json_schema.options import Options
from engine.grammar.json_schema.source import escape, unescape

DIALECTS = {
    "json-schema.org/draft/2020-12/schema": "2020-12",
    "json-schema.org/draft/2019-09/schema": "2019-09",
    "json-schema.org/draft-07/schema": "draft-07",
    "json-schema.org/draft-06/schema": "draft-06",
    "json-schema.org/draft-04/schema": "draft-04",
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


OLD_DRAFTS = ("draft-07", "draft-06", "draft-04")
"""Drafts in which nothing beside a `$ref` counts."""


class Document:
    """All subschemas of one schema document.

    Raises `ConstraintError` with pointer and keyword for what is malformed, unsupported or outside the document; with
    `on_unsupported="report"` unsupported keywords are listed in `unenforced` instead and left out. Validation begins at
    the pointer `start`; the rest is there to be referred to. `said`: all keywords that take part.
    """

    def __init__(self, root: Any, options: Options, start: str = "") -> None:
        self.value = root
        self.options = options
        self.draft = self._draft(root)
        self.unenforced: list[Unenforced] = []
        self._known = keywords.KNOWN[self.draft]
        self._is_old = self.draft in OLD_DRAFTS
        self._made: dict[str, Subschema] = {}
        self._raw: dict[str, Any] = {}
        self._targets: dict[tuple[str, str], Subschema] = {}
        self.root = self.at(start)
        self.reachable = list(self._walk())
        values = (schema.value for schema in self.reachable if isinstance(schema.value, dict))
        self.said: frozenset[str] = frozenset().union(*values)

    def at(self, pointer: str) -> Subschema:
        """The subschema at a pointer into the document, keywords that its draft does not know left out."""
        return self._made.get(pointer) or self._make(pointer, self._lookup(pointer))

    def _make(self, pointer: str, raw: Any) -> Subschema:
        value = {k: v for k, v in raw.items() if k in self._known} if isinstance(raw, dict) else raw
        self._raw[pointer] = raw
        self._made[pointer] = made = Subschema(pointer, value)
        return made

    def child(self, parent: Subschema, *path: str | int) -> Subschema:
        """The subschema at a path below another."""
        pointer = parent.pointer
        for part in path:
            pointer += f"/{part}" if isinstance(part, int) else f"/{escape(part)}"
        known = self._made.get(pointer)
        if known is not None:
            return known
        raw = self._raw[parent.pointer]
        for part in path:
            raw = raw[part]
        return self._make(pointer, _schema(raw, pointer))

    def children(self, parent: Subschema, keyword: str) -> list[Subschema]:
        """The subschemas in the list of a keyword."""
        return [self.child(parent, keyword, index) for index in range(len(parent.get(keyword)))]

    def target(self, schema: Subschema, keyword: str = "$ref") -> Subschema:
        """What the `$ref` or `$dynamicRef` of a subschema refers to."""
        key = schema.pointer, keyword
        if key not in self._targets:
            self._targets[key] = self.at(self._resolve(schema.pointer, schema.get(keyword), keyword))
        return self._targets[key]

    def ignores_siblings(self, schema: Subschema) -> bool:
        """Whether the subschema is a `$ref` beside which nothing counts."""
        return self._is_old and schema.has("$ref")

    def enforces_format(self, name: str) -> bool:
        """Whether a format is enforced; names that nobody registered are annotations."""
        return self.options.formats == "enforce" and name in FORMATS

    def _draft(self, root: Any) -> str:
        named = root.get("$schema") if isinstance(root, dict) else None
        if named is None:
            return "2020-12"
        address = named.rstrip("#").removeprefix("https://").removeprefix("http://") if isinstance(named, str) else ""
        if address not in DIALECTS:
            raise ConstraintError(
                f"The dialect {named!r} is not supported; use draft 2020-12 or draft-07.",
                pointer="/$schema",
                keyword="$schema",
            )
        return DIALECTS[address]

    @cached_property
    def _index(self) -> _Index:
        """Made for the first reference."""
        return _Index.of(self.value, self.draft)

    def _resolve(self, pointer: str, reference: str, keyword: str) -> str:
        found = self._resolve_static(pointer, reference, keyword)
        anchor = reference.rpartition("#")[2]
        if keyword == "$dynamicRef" and len(places := self._index.dynamic.get(anchor, [])) > 1 and found in places:
            raise ConstraintError(
                f"The $dynamicRef at {pointer} depends on how it is reached: {anchor!r} stands in several schemas.",
                pointer=f"{pointer}/$dynamicRef",
                keyword="$dynamicRef",
            )
        return found

    def _resolve_static(self, pointer: str, reference: str, keyword: str) -> str:
        address, fragment = urldefrag(urljoin(self._index.bases.get(pointer, ""), reference))
        fragment = unquote(fragment)
        resource = self._index.resources.get(address)
        if resource is None and address in ("", self._index.bases[""]):
            resource = ""
        found = None if resource is None else resource + fragment
        if resource is None or (fragment and not fragment.startswith("/")):
            found = self._index.anchors.get(f"{address}#{fragment}")
        if found is None:
            outside = address not in ("", *self._index.resources)
            why = "it is outside this document, and nothing is fetched" if outside else "there is no such place"
            raise self._lost(pointer, reference, why, keyword)
        try:
            self._lookup(found)
        except LookupError:
            raise self._lost(pointer, reference, "there is no such place", keyword) from None
        return found

    def _lost(self, pointer: str, reference: str, why: str, keyword: str) -> ConstraintError:
        place = f"{pointer}/{keyword}"
        return ConstraintError(
            f"The reference {reference!r} at {place} leads nowhere: {why}.", pointer=place, keyword=keyword
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
        return _schema(value, pointer)

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
        """The subschemas below one; checks its keywords."""
        raw = self._raw[schema.pointer]
        if isinstance(raw, bool):
            return []
        names = ("$ref",) if self.ignores_siblings(schema) else raw
        children: list[Subschema] = []
        for keyword in names:
            refusable = keyword in keywords.REFUSABLE
            reason = keywords.refusal(keyword, raw[keyword], self.draft, self.options) if refusable else ""
            if reason and self.options.on_unsupported == "report":
                self._leave_out(schema, keyword, reason)
            elif reason:
                place = f"{schema.pointer}/{escape(keyword)}"
                raise ConstraintError(f"{keyword!r} at {place}: {reason}.", pointer=place, keyword=keyword)
            elif keyword in self._known:
                keywords.check(schema.pointer, keyword, raw[keyword], self.draft)
                if keyword in keywords.REFERENCES:
                    children.append(self.target(schema, keyword))
                elif keyword in keywords.WITH_SUBSCHEMAS:
                    children += self._below(schema, keyword, raw[keyword])
                if keyword == "format" and not self.enforces_format(raw[keyword]):
                    why = "formats are annotations here" if raw[keyword] in FORMATS else "nobody registered this format"
                    self.unenforced.append(Unenforced(schema.pointer, keyword, why))
            elif keyword not in keywords.ANNOTATIONS:
                why = f"{self.draft} does not know it, so it is an annotation"
                self.unenforced.append(Unenforced(schema.pointer, keyword, why))
        return children

    def _leave_out(self, schema: Subschema, keyword: str, reason: str) -> None:
        self.unenforced.append(Unenforced(schema.pointer, keyword, reason))
        if isinstance(schema.value, dict):
            schema.value.pop(keyword, None)

    def _below(self, schema: Subschema, keyword: str, value: Any) -> list[Subschema]:
        if isinstance(value, list):
            return [self.child(schema, keyword, index) for index in range(len(value))]
        if keyword in keywords.NAMED:
            return [self.child(schema, keyword, name) for name, part in value.items() if not isinstance(part, list)]
        return [self.child(schema, keyword)]


def _schema(value: Any, pointer: str) -> Any:
    """The value, if it is one of a schema."""
    if not isinstance(value, (bool, dict)):
        raise ConstraintError("A schema must be an object, true or false.", pointer=pointer)
    return value


def _absent(name: str) -> Any:
    raise LookupError(name)


@dataclass(frozen=True, slots=True)
class _Index:
    """Where references lead: the base address of every part, and the places of `$id`, `$anchor`, `$dynamicAnchor`."""

    bases: dict[str, str]
    resources: dict[str, str]
    anchors: dict[str, str]
    dynamic: dict[str, list[str]]

    @classmethod
    def of(cls, root: Any, draft: str) -> _Index:
        """The index of a document."""
        bases: dict[str, str] = {}
        resources: dict[str, str] = {}
        anchors: dict[str, str] = {}
        dynamic: dict[str, list[str]] = {}
        pending: list[tuple[Any, str, str]] = [(root, "", "")]
        identifier_keyword = "id" if draft == "draft-04" else "$id"
        while pending:
            part, place, base = pending.pop()
            if isinstance(part, dict):
                hidden = draft in OLD_DRAFTS and "$ref" in part
                identifier = None if hidden else part.get(identifier_keyword)
                if isinstance(identifier, str):
                    address, fragment = urldefrag(urljoin(base, identifier))
                    if fragment:
                        anchors.setdefault(f"{address}#{fragment}", place)
                    if address:
                        base = address
                        resources.setdefault(address, place)
                for keyword in ("$anchor", "$dynamicAnchor"):
                    anchor = part.get(keyword)
                    if isinstance(anchor, str) and draft in ("2020-12", "2019-09"):
                        anchors.setdefault(f"{base}#{anchor}", place)
                        if keyword == "$dynamicAnchor":
                            dynamic.setdefault(anchor, []).append(place)
                # Constants are data: an $id inside one identifies nothing.
                pending += [(v, f"{place}/{escape(k)}", base) for k, v in part.items() if k not in ("const", "enum")]
            elif isinstance(part, list):
                pending += [(v, f"{place}/{i}", base) for i, v in enumerate(part)]
            bases[place] = base
        return cls(bases, resources, anchors, dynamic)
