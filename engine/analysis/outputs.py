"""What a free answer looks like when JSON was asked for: the JSON, and what stands around it.

A parser that is given the whole answer fails at the first word of politeness. So what surrounds the JSON is told apart:
a code fence, a preamble, what trails after it, an apology instead of it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

_FENCE = re.compile(r"```[ \t]*[\w+-]*[ \t]*\r?\n?(.*?)(?:```|\Z)", re.DOTALL)
_APOLOGY = re.compile(
    r"\b(?:sorry|apologi[sz]e|apologies|unable to|as an ai"
    r"|(?:can(?:no|')?t|could not|couldn't) (?:help|assist|answer|provide|do))\b",
    re.IGNORECASE,
)
_BEGINNINGS = re.compile(r"[{\[]")


@dataclass(frozen=True, slots=True)
class Shape:
    """An answer taken apart.

    `parses`: the whole answer, white space around it aside, is one JSON text; `fenced`: it has a code fence; `preamble`
    and `trailing`: words before and after the JSON (or before the fence and after it); `apology`: it says sorry, or
    that it can't. `inside`: the JSON object or array found in it, "" if there is none; `value`: what that, or the whole
    answer, stands for.
    """

    parses: bool
    fenced: bool
    preamble: str
    trailing: str
    apology: bool
    inside: str
    value: Any = None


def shape(text: str) -> Shape:
    """Take an answer apart."""
    whole = _parsed(text.strip())
    fence = _FENCE.search(text)
    start, end, inside = _found(text, fence)
    if fence is not None and start is not None and fence.start() <= start and end <= fence.end():
        start, end = fence.span()  # the marks of its own fence are no words around it
    value = whole[0] if whole else (_parsed(inside) or (None,))[0]
    return Shape(
        parses=whole is not None,
        fenced=fence is not None,
        preamble="" if whole else text[:start].strip(),
        trailing="" if whole or start is None else text[end:].strip(),
        apology=bool(_APOLOGY.search(text)) and whole is None,
        inside=text.strip() if whole else inside,
        value=value,
    )


def _found(text: str, fence: re.Match[str] | None) -> tuple[int | None, int, str]:
    """Where the JSON stands: in the fence if there is any in it, else where an object or array first does."""
    if fence is not None and _parsed(fence[1].strip()) is not None:
        return fence.start(1), fence.end(1), fence[1].strip()
    for begin in _BEGINNINGS.finditer(text):
        try:
            _, end = _DECODER.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            continue
        return begin.start(), end, text[begin.start() : end]
    return (None, len(text), "") if fence is None else (fence.start(), fence.end(), "")


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON.")


_DECODER = json.JSONDecoder(parse_constant=_refused)


def _parsed(text: str) -> tuple[Any] | None:
    """The value of a JSON text, in a tuple since null is a value too; None if it is none."""
    try:
        return (json.loads(text, parse_constant=_refused),)
    except (ValueError, RecursionError):
        return None
