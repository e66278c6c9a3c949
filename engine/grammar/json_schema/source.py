"""The schema as its author wrote it: JSON text to values, with the place of every part.

Numbers become int or Decimal, so that no bound or constant loses a digit.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in the stubs
from typing import Any

from engine.budget import Budget
from engine.errors import BudgetError, ConstraintError

WHITE_SPACE = re.compile(r"[ \t\n\r]*")


def parse(text: str, budget: Budget) -> Any:
    """The value of a JSON text.

    Raises `ConstraintError` with "line L, column C" for broken JSON, with a JSON Pointer for a name that occurs twice
    in an object, and `BudgetError` for a text beyond the budget.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > budget.source_bytes:
        raise BudgetError(f"The schema has {size:,} bytes; {budget.source_bytes:,} are allowed.")
    repeated: list[int] = []

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            repeated.append(len(pairs))
        return found

    try:
        value = json.loads(text, parse_float=Decimal, parse_constant=_refuse_constant, object_pairs_hook=members)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ConstraintError(f"Not valid JSON at {place}: {error.msg}.", pointer=place) from None
    except ConstraintError:  # NaN and its like
        raise
    except ValueError as error:  # an integer of more digits than Python converts
        raise BudgetError(f"A number of the schema is too long: {error}.") from None
    except RecursionError:
        raise _too_deep(budget) from None
    if repeated:
        spans(text)  # finds where
    if text.count("{") + text.count("[") >= budget.depth and _is_deeper(value, budget.depth):
        return from_python(value, budget)  # finds where
    return value


def from_python(value: Any, budget: Budget) -> Any:
    """A schema given as Python values (dict, list, str, bool, None, int, float, Decimal), in the form of `parse`.

    Raises `ConstraintError` with the pointer of a part that is no JSON value, `BudgetError` for one nested too deeply.
    """
    return _converted(value, "", budget.depth, budget)


def _is_deeper(value: Any, depth: int) -> bool:
    """Whether parts of a JSON value are nested deeper than so many levels."""
    level = [value]
    for _ in range(depth):
        level = [
            part
            for value in level
            if isinstance(value, (dict, list))
            for part in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return False
    return True


def _converted(value: Any, pointer: str, depth: int, budget: Budget) -> Any:
    if depth == 0:
        raise _too_deep(budget, pointer)
    if isinstance(value, dict):
        for name in value:
            if not isinstance(name, str):
                raise ConstraintError(f"Names in a schema must be strings, not {name!r}.", pointer=pointer)
        return {k: _converted(v, f"{pointer}/{escape(k)}", depth - 1, budget) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_converted(item, f"{pointer}/{index}", depth - 1, budget) for index, item in enumerate(value)]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return Decimal(repr(value))
    if isinstance(value, Decimal) and value.is_finite():
        return value
    raise ConstraintError(f"{value!r} is not a JSON value.", pointer=pointer)


def _too_deep(budget: Budget, pointer: str = "") -> BudgetError:
    return BudgetError(f"The schema is nested deeper than {budget.depth} levels.", pointer=pointer)


def escape(name: str) -> str:
    """One reference token of a JSON Pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1") if "~" in name or "/" in name else name


def unescape(token: str) -> str:
    """The name that a reference token stands for."""
    return token.replace("~1", "/").replace("~0", "~")


def spans(text: str) -> dict[str, tuple[int, int]]:
    """Where each part of a valid JSON text stands, members with their name: pointer to (start, end) in code points.

    Raises `ConstraintError` for a name that occurs twice in one object.
    """
    found: dict[str, tuple[int, int]] = {}
    _scan_value(text, _skip(text, 0), "", None, found)
    return found


def _scan_value(text: str, position: int, pointer: str, start: int | None, found: dict[str, tuple[int, int]]) -> int:
    begin = position if start is None else start
    opener = text[position]
    if opener in "{[":
        found[pointer] = (begin, begin)  # parts come in the order of the text; the end is filled in below
        end = (_scan_object if opener == "{" else _scan_array)(text, position, pointer, found)
    elif opener == '"':
        _, end = scanstring(text, position + 1)
    else:
        match = re.compile(r"[^\s,\]}]+").match(text, position)
        assert match is not None
        end = match.end()
    found[pointer] = (begin, end)
    return end


def _scan_object(text: str, position: int, pointer: str, found: dict[str, tuple[int, int]]) -> int:
    position = _skip(text, position + 1)
    while text[position] != "}":
        start = position
        name, position = scanstring(text, position + 1)
        child = f"{pointer}/{escape(name)}"
        if child in found:
            raise ConstraintError(f"The name {name!r} occurs twice in one object.", pointer=child)
        position = _skip(text, _skip(text, position) + 1)
        position = _skip(text, _scan_value(text, position, child, start, found))
        if text[position] == ",":
            position = _skip(text, position + 1)
    return position + 1


def _scan_array(text: str, position: int, pointer: str, found: dict[str, tuple[int, int]]) -> int:
    position = _skip(text, position + 1)
    index = 0
    while text[position] != "]":
        position = _skip(text, _scan_value(text, position, f"{pointer}/{index}", None, found))
        index += 1
        if text[position] == ",":
            position = _skip(text, position + 1)
    return position + 1


def _skip(text: str, position: int) -> int:
    match = WHITE_SPACE.match(text, position)
    assert match is not None
    return match.end()


def _refuse_constant(name: str) -> Any:
    raise ConstraintError(f"{name} is not a JSON value.")
