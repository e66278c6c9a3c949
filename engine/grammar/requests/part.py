"""A part of a request: its value with its place, and errors that name the place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from engine.budget import Budget
from engine.errors import ConstraintError
from engine.grammar.json_schema import source
from engine.grammar.json_schema.source import escape

NAMES = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}


@dataclass(frozen=True, slots=True)
class Part:
    """A JSON value within a request, at a JSON Pointer. A member that is null counts as absent.

    The methods raise `ConstraintError` with the pointer of what is not as it should be.
    """

    value: Any
    pointer: str = ""

    def get(self, *names: str) -> Part | None:
        """The part below, one name after the other; None where it is absent."""
        part = self
        for name in names:
            value = part.value.get(name) if isinstance(part.value, dict) else None
            if value is None:
                return None
            part = Part(value, f"{part.pointer}/{escape(name)}")
        return part

    def need(self, name: str) -> Part:
        """A member that must be there."""
        found = self.object().get(name)
        if found is None:
            raise self.error(f"lacks {name!r}", name)
        return found

    def object(self) -> Part:
        """This part, which must be an object."""
        return self._kind(dict)

    def text(self) -> str:
        """The value, which must be a string."""
        return str(self._kind(str).value)

    def items(self) -> tuple[Part, ...]:
        """The items of the value, which must be a list."""
        return tuple(Part(item, f"{self.pointer}/{index}") for index, item in enumerate(self._kind(list).value))

    def texts(self) -> tuple[str, ...]:
        """The items of a list of strings."""
        return tuple(item.text() for item in self.items())

    def flag(self) -> bool:
        """The value, which must be true or false."""
        return bool(self._kind(bool).value)

    def parsed(self, budget: Budget) -> Part:
        """This part; JSON text is read, and its parts have pointers as if it stood there unquoted."""
        if not isinstance(self.value, str):
            return self
        try:
            return replace(self, value=source.parse(self.value, budget))
        except ConstraintError as error:
            raise inside(self, error) from None

    def schema(self, budget: Budget) -> Part:
        """A JSON Schema: an object, a bool, or JSON text of one."""
        found = self.parsed(budget)
        if not isinstance(found.value, (dict, bool)):
            raise self.error("must be a JSON Schema: an object, true or false")
        return found

    def error(self, message: str, keyword: str = "") -> ConstraintError:
        """An error about this part. The message goes on after its pointer."""
        return ConstraintError(f"{self.pointer or 'The request'} {message}.", pointer=self.pointer, keyword=keyword)

    def _kind(self, kind: type) -> Part:
        if not isinstance(self.value, kind):
            raise self.error(f"must be {NAMES[kind]}, not {NAMES.get(type(self.value), 'a number')}")
        return self


def inside(part: Part, error: ConstraintError) -> ConstraintError:
    """An error within a text that stands in a request, as an error of the request."""
    return type(error)(
        f"{part.pointer}: {error}", pointer=part.pointer, keyword=error.keyword, unsatisfiable=error.unsatisfiable
    )
