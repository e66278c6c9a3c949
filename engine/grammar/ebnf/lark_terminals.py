"""Terminals of a Lark grammar: strings, ranges and regexes, and what is composed of them, as regex trees.

A terminal becomes one regex, so that a look-around in one of its pieces sees the pieces beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from engine.errors import BudgetError, ConstraintError
from engine.grammar.charset import CharSet
from engine.grammar.ebnf.rules import Node, Pattern, Ref, Repetition, Series, Source, Text, children, refs, unknown
from engine.grammar.ebnf.terms import components
from engine.grammar.regex import ast
from engine.grammar.regex.python import parse_python

LARGEST = 20_000
"""Nodes of a terminal with all it is composed of."""

ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "\\": "\\", '"': '"', "'": "'", "/": "/"}

NOT_A_QUANTIFIER = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
LAZY = re.compile(r"[*+?}]\?")


def is_terminal(name: str) -> bool:
    """Whether a name is that of a terminal: upper case."""
    return name.lstrip("_")[0].isupper()


def unquoted(source: Source, quoted: str, offset: int) -> str:
    """The text of a string literal that stands at `offset`, quotes included."""

    def character(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        at = offset + 1 + found.start()
        if code is None and found[4] in ESCAPES:
            return ESCAPES[found[4]]
        if code is None:
            raise source.error(at, f"unknown escape \\{found[4]}: write {found[4]} alone, or \\\\ for a backslash.")
        if int(code, 16) > 0x10FFFF or 0xD800 <= int(code, 16) <= 0xDFFF:
            raise source.error(at, f"{found[0]} is no character.")
        return chr(int(code, 16))

    return ESCAPE.sub(character, quoted[1:-1])


def any_case(text: str) -> ast.Node:
    """A text in upper or lower case."""
    return ast.Concat(tuple(_any_case(character) for character in text))


@cache
def _any_case(character: str) -> ast.Node:
    return parse_python(f"(?i:{re.escape(character)})")


def regex(source: Source, pattern: str, flags: str, offset: int) -> ast.Node:
    """A regex whose first character stands at `offset`."""
    if "l" in flags:
        raise source.error(offset + len(pattern) + 1, "the flag l depends on the machine: leave it out.")
    prefix = "".join(sorted(set(flags) - {"u"}))
    prefix = f"(?{prefix}:" if prefix else ""
    end = "\n)" if "x" in flags else ")" if prefix else ""  # a comment may end the pattern
    try:
        return parse_python(prefix + pattern + end, source.clock.check)
    except BudgetError as error:
        raise source.over_budget(offset, str(error)) from error
    except ConstraintError as error:
        at = int(error.pointer) - len(prefix) if error.pointer.isdigit() else 0
        raise source.error(offset + min(max(at, 0), len(pattern)), re.sub(r" at offset \d+", "", str(error))) from error


def is_lazy(pattern: str) -> bool:
    """Whether a regex holds a lazy quantifier."""
    return bool(LAZY.search(NOT_A_QUANTIFIER.sub("x", pattern)))


def has_conditions(node: ast.Node) -> bool:
    """Whether a regex asks about what stands around."""
    return any(isinstance(part, (ast.Start, ast.End, ast.Look)) for part in ast.walk(node))


class Terminals:
    """The terminals of one grammar by name. All are composed when this is made, so that errors come early."""

    def __init__(
        self, source: Source, bodies: Mapping[str, Node], defined: Mapping[str, int], known: Mapping[str, ast.Node]
    ) -> None:
        self._source = source
        self._sizes: dict[int, int] = {}
        self.regexes = dict(known)
        graph = {name: [ref.name for ref in refs(body) if ref.name in bodies] for name, body in bodies.items()}
        for cycle in components(graph):
            name = cycle[0]
            if len(cycle) > 1 or name in graph[name]:
                way = " -> ".join([*cycle, name])
                message = f"the terminal {name} is made of itself ({way}): make it a rule, in lower case."
                raise source.error(defined[name], message)
            self.regexes[name] = self.regex(bodies[name], defined[name])

    def regex(self, body: Node, offset: int) -> ast.Node:
        """The regex of a body that stands at an offset."""
        node = self._composed(body)
        if self._size(node) > LARGEST:
            message = f"this terminal is made of more than {LARGEST:,} parts: make it smaller."
            raise self._source.over_budget(offset, message)
        return node

    def _composed(self, body: Node) -> ast.Node:
        if isinstance(body, Text):
            return ast.Concat(tuple(_character(character) for character in body.data))
        if isinstance(body, Pattern):
            return body.regex
        if isinstance(body, Ref):
            if body.name not in self.regexes:
                rule = f"a terminal cannot be made of the rule {body.name!r}: make it a rule too, in lower case."
                message = unknown(body.name, self.regexes) if is_terminal(body.name) else rule
                raise self._source.error(body.offset, message)
            return self.regexes[body.name]
        if isinstance(body, Repetition):
            return ast.Repeat(self._composed(body.body), body.low, body.high)
        parts = tuple(self._composed(part) for part in children(body))
        return ast.Concat(parts) if isinstance(body, Series) else ast.Alternate(parts)

    def _size(self, node: ast.Node) -> int:
        """Nodes of the regex spelled out. Pieces that terminals share are counted each time, but measured once."""
        if id(node) not in self._sizes:
            self._sizes[id(node)] = 1 + sum(self._size(child) for child in ast.children(node))
        return self._sizes[id(node)]


@cache
def _character(character: str) -> ast.Node:
    return ast.Chars(CharSet.of(character))
