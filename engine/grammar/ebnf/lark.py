"""`compile_lark`: grammars in the EBNF of Lark.

The language is that of all texts of which *some* division into terminals parses. Lark's own lexers settle for one
division (the longest match, in order of priority) and so reject some of these texts. A terminal stands for every text
that its regex matches in full; look-around, anchors and \\b see the terminal's own text only. What `%ignore` names may
stand between any two terminals, at the start and at the end. Aliases, priorities and the marks `?` and `!` shape trees
and choose between divisions: they do not change the language.
"""

from __future__ import annotations

import re
import time
from functools import cache
from pathlib import Path

from engine.budget import Budget
from engine.constraint import Constraint
from engine.grammar.charset import CharSet
from engine.grammar.ebnf.compile import compile_rules
from engine.grammar.ebnf.lark_terminals import (
    Terminals,
    any_case,
    has_conditions,
    is_lazy,
    is_terminal,
    regex,
    unquoted,
)
from engine.grammar.ebnf.rules import (
    Body,
    Choice,
    Grammar,
    Node,
    Pattern,
    Ref,
    Repetition,
    Series,
    Source,
    Text,
    unknown,
)
from engine.grammar.ebnf.terms import IGNORED
from engine.grammar.regex import ast

DEFAULT_BUDGET = Budget()
COMMON = Path(__file__).with_name("grammars") / "common.lark"

BLANK = re.compile(r"(?:[ \t\f]|\\[ \t]*\r?\n|(?://|#)[^\r\n]*)*")
BLANK_AND_LINES = re.compile(r"(?:[ \t\f\r\n]|\\[ \t]*\r?\n|(?://|#)[^\r\n]*)*")
NAME = re.compile(r"_*[A-Za-z][A-Za-z0-9_]*")
DEFINITION = re.compile(r"[?!]{0,2}(_*[A-Za-z][A-Za-z0-9_]*)[ \t]*(?:\.[ \t]*-?[0-9]+)?[ \t]*:")
DIRECTIVE = re.compile(r"%([a-z_]*)")
TEMPLATE_DEFINITION = re.compile(r"[?!]{0,2}_*[a-z][a-z0-9_]*\{")
STRING = re.compile(r'("(?:\\.|[^"\\\n])*")(i?)')
RANGE = re.compile(r'[ \t]*\.\.[ \t]*("(?:\\.|[^"\\\n])*")')
REGEX = re.compile(r"/(?!/)((?:\\.|[^/\\])*)/([imslux]*)", re.DOTALL)
TIMES = re.compile(r"~[ \t]*([0-9]{1,18})(?:[ \t]*\.\.[ \t]*([0-9]{1,18}))?")
ALIAS = re.compile(r"->[ \t]*_*[a-z][a-z0-9_]*")
IMPORT = re.compile(r"[ \t]*(\.?[a-zA-Z_][\w.]*)[ \t]*(?:->[ \t]*(\w+)|\(([\w\s,]*)\))?")

OPERATORS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
BRACKETS = {"(": ")", "[": "]"}

TEMPLATE = "templates are not supported: write the rule out for each use."
LAZY = (
    "a lazy quantifier: Lark's lexer stops at the first match, here every text counts that the regex matches in full."
)
CONDITIONS = "look-around, anchors and \\b see the text of their terminal only."


def compile_lark(grammar: str, *, start: str = "start", budget: Budget = DEFAULT_BUDGET) -> Constraint:
    """The constraint whose texts are those of the rule `start`, as UTF-8 (see the module for what that means).

    Raises `ConstraintError` with "line L, column C" for what cannot be read, for templates, imports other than
    `%import common.X`, `%declare`, `%override` and `%extend`, for undefined names, for terminals that match the empty
    text, and for a grammar without texts; `BudgetError` for one beyond the budget.
    """
    started = time.monotonic()
    source = Source("grammar", grammar, budget)
    parser = _Parser(source)
    parser.read()
    try:
        rules = parser.grammar(start)
    except RecursionError as error:
        raise source.over_budget(0, "the grammar is nested too deeply: use fewer groups in groups.") from error
    return compile_rules(rules, started)


@cache
def common_terminals() -> dict[str, ast.Node]:
    """The terminals that `%import common.X` knows."""
    parser = _Parser(Source("grammar", COMMON.read_text("utf-8"), DEFAULT_BUDGET))
    parser.read()
    return parser.terminals().regexes


class _Parser:
    """Reads a grammar from its start to its end."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._text = source.text
        self._at = 0
        self._bodies: dict[str, Node] = {}
        self._defined: dict[str, int] = {}
        self._imported: dict[str, ast.Node] = {}
        self._ignored: list[tuple[Node, int]] = []
        self._notes: dict[str, None] = {}

    def read(self) -> None:
        """Read all statements."""
        self._skip(BLANK_AND_LINES)
        while self._at < len(self._text):
            if self._text[self._at] == "%":
                self._directive()
            else:
                self._definition()
            self._skip(BLANK_AND_LINES)

    def terminals(self) -> Terminals:
        """The terminals that were read or imported."""
        bodies = {name: body for name, body in self._bodies.items() if is_terminal(name)}
        return Terminals(self._source, bodies, self._defined, self._imported)

    def grammar(self, start: str) -> Grammar:
        """The rules that were read, with their terminals in place."""
        terminals = self.terminals()
        bodies = {
            name: self._with_terminals(body, terminals) for name, body in self._bodies.items() if not is_terminal(name)
        }
        if start not in bodies:
            advice = f"define {start}: ... , or name another start."
            raise self._source.error(0, f"there is no rule {start!r}, where every text begins: {advice}")
        ignored = tuple(self._ignorable(body, offset, terminals) for body, offset in self._ignored)
        return Grammar("lark", self._source, start, bodies, self._defined, ignored, tuple(self._notes))

    # Statements.

    def _definition(self) -> None:
        start = self._at
        found = DEFINITION.match(self._text, start)
        if not found:
            template = TEMPLATE_DEFINITION.match(self._text, start)
            expected = f"expected a rule or a terminal, such as `name: ...`, found {self._found()}."
            raise self._source.error(start, TEMPLATE if template else expected)
        name = found[1]
        if not name.isupper() and not name.islower():
            message = f"{name!r} is neither a rule (lower case) nor a terminal (upper case): change its letters."
            raise self._source.error(start, message)
        self._define(name, start)
        self._at = found.end()
        self._bodies[name] = self._body()

    def _define(self, name: str, offset: int) -> None:
        if name in self._defined:
            message = f"{name!r} is defined at {self._source.place(self._defined[name])} already: rename one of them."
            raise self._source.error(offset, message)
        self._defined[name] = offset

    def _directive(self) -> None:
        start = self._at
        found = DIRECTIVE.match(self._text, start)
        assert found, "called at a %"
        self._at = found.end()
        if found[1] == "ignore":
            self._skip(BLANK)
            body_start = self._at
            self._ignored.append((self._body(), body_start))
        elif found[1] == "import":
            self._import(start)
        else:
            raise self._source.error(start, f"%{found[1]} is not supported: %ignore and %import common.X are.")

    def _import(self, start: int) -> None:
        found = IMPORT.match(self._text, self._at)
        module, _, last = found[1].rpartition(".") if found else ("", "", "")
        several = found[3] is not None if found else False
        if not found or (found[1] if several else module) != "common":
            message = "only the library `common` can be imported, such as %import common.WS: write the others out."
            raise self._source.error(start, message)
        names = re.findall(r"\w+", found[3]) if several else [last]
        for name in names:
            if name not in common_terminals():
                raise self._source.error(start, unknown(name, common_terminals()))
            self._define(found[2] or name, start)
            self._imported[found[2] or name] = common_terminals()[name]
        self._at = found.end()

    # Bodies.

    def _body(self) -> Node:
        body = Body(self._source, self._at)
        while True:
            self._source.check_time(self._at)
            self._skip(BLANK_AND_LINES if body.bracket else BLANK)
            symbol = self._text[self._at : self._at + 1]
            if symbol in ("", "\r", "\n"):
                if not self._goes_on():
                    return body.finish()
            elif symbol == "|":
                self._at += 1
                body.option()
            elif symbol in BRACKETS:
                body.open(symbol, self._at)
                self._at += 1
            elif body.bracket and symbol == BRACKETS[body.bracket]:
                self._close(body)
            else:
                self._item(symbol, body)

    def _goes_on(self) -> bool:
        """At the end of a line: whether the next one goes on with `|`."""
        end = self._at
        self._skip(BLANK_AND_LINES)
        if self._text.startswith("|", self._at):
            return True
        self._at = end
        return False

    def _close(self, body: Body) -> None:
        optional = body.bracket == "["
        body.close()
        if optional:
            body.repeat(0, 1, self._at)
        self._at += 1

    def _item(self, symbol: str, body: Body) -> None:
        start = self._at
        if symbol in OPERATORS:
            self._at += 1
            body.repeat(*OPERATORS[symbol], start)
        elif found := TIMES.match(self._text, start):
            self._at = found.end()
            body.repeat(int(found[1]), int(found[2] or found[1]), start)
        elif found := ALIAS.match(self._text, start):
            self._at = found.end()
        elif found := STRING.match(self._text, start):
            self._at = found.end()
            body.add(self._string(found))
        elif found := REGEX.match(self._text, start):
            self._at = found.end()
            body.add(self._regex(found))
        elif found := NAME.match(self._text, start):
            self._at = found.end()
            if self._text.startswith("{", self._at):
                raise self._source.error(start, TEMPLATE)
            body.add(Ref(found[0], start))
        else:
            raise self._source.error(start, f"expected a text, a regex, a name or a group, found {self._found()}.")

    def _string(self, found: re.Match[str]) -> Node:
        start = found.start()
        text = unquoted(self._source, found[1], start)
        if until := RANGE.match(self._text, self._at):
            self._at = until.end()
            last = unquoted(self._source, until[1], until.start(1))
            if len(text) != 1 or len(last) != 1 or last < text or found[2]:
                message = 'a range needs one character on each side, the lower one first, such as "a".."z".'
                raise self._source.error(start, message)
            return Pattern(ast.Chars(CharSet.from_ranges([(ord(text), ord(last))])), start)
        if not text:
            raise self._source.error(start, "an empty text is no terminal: leave the alternative empty instead.")
        return Pattern(any_case(text), start, label=found[0]) if found[2] else Text(text)

    def _regex(self, found: re.Match[str]) -> Node:
        if "\n" in found[1] and "x" not in found[2]:
            message = "this regex is not closed on its line: close it, or give it the flag x to write it on several."
            raise self._source.error(found.start(), message)
        node = regex(self._source, found[1], found[2], found.start(1))
        notes = (LAZY,) * is_lazy(found[1]) + (CONDITIONS,) * has_conditions(node)
        for note in notes:
            self._notes[f"{self._source.place(found.start())}: {note}"] = None
        return Pattern(node, found.start(), label=found[0])

    # Terminals in the bodies of rules.

    def _with_terminals(self, node: Node, terminals: Terminals) -> Node:
        self._source.check_time(0)
        if isinstance(node, Ref):
            return self._terminal(node, terminals) if is_terminal(node.name) else node
        if isinstance(node, Series):
            return Series(tuple(self._with_terminals(part, terminals) for part in node.parts))
        if isinstance(node, Choice):
            return Choice(tuple(self._with_terminals(option, terminals) for option in node.options))
        if isinstance(node, Repetition):
            return Repetition(self._with_terminals(node.body, terminals), node.low, node.high)
        return node

    def _terminal(self, ref: Ref, terminals: Terminals) -> Pattern:
        """A terminal that is referred to by name. One that is a fixed text is called by its text."""
        node = terminals.regex(ref, ref.offset)
        label = "" if isinstance(self._bodies.get(ref.name), Text) else f"<{ref.name}>"
        return Pattern(node, self._defined[ref.name], ref.name, label)

    def _ignorable(self, body: Node, offset: int, terminals: Terminals) -> Pattern:
        label = f"<{body.name}>" if isinstance(body, Ref) else "<ignored>"
        return Pattern(terminals.regex(body, offset), offset, IGNORED, label)

    def _skip(self, space: re.Pattern[str]) -> None:
        found = space.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _found(self) -> str:
        if self._text.startswith('"', self._at):
            return 'a `"` that is never closed on its line'
        if self._text.startswith("/", self._at):
            return "a `/` that is never closed"
        return repr(self._text[self._at]) if self._at < len(self._text) else "the end"
