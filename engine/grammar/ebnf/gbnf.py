"""`compile_gbnf`: grammars in the notation of llama.cpp.

Read as llama.cpp's own parser does, with two additions that the report names where they occur: names may hold an
underscore, and a rule may go on with `|` on its next line, as xgrammar and SGLang allow. What llama.cpp refuses to keep
its own work small is accepted: left recursion and long repetitions. What it takes though it can only be a slip is
refused: a rule defined twice (it keeps the last), an empty class, a range that ends before it begins. A `<token>` asks
for a vocabulary, which a constraint does not have: refused too.
"""

from __future__ import annotations

import re
import time

from engine.budget import Budget
from engine.constraint import Constraint
from engine.grammar.charset import ALL, LAST, SURROGATES, CharSet
from engine.grammar.ebnf.compile import compile_rules
from engine.grammar.ebnf.rules import Body, Grammar, Node, Pattern, Ref, Series, Source, Text
from engine.grammar.regex.ast import Chars

DEFAULT_BUDGET = Budget()

NAME = re.compile(r"[A-Za-z0-9_-]+")
SPACE = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
SPACE_AND_LINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
NUMBER = re.compile(r"[0-9]{1,18}")
PLAIN = re.compile(r'[^"\\]+')
HEXADECIMAL = re.compile(r"x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}")

ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-"}
SHORTHANDS = {"d": "[0-9]", "w": "[a-zA-Z0-9_]", "s": r"[ \t\n\r]"}
TIMES: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def compile_gbnf(grammar: str, *, budget: Budget = DEFAULT_BUDGET) -> Constraint:
    """The constraint whose texts are those of the rule `root`, as UTF-8.

    Raises `ConstraintError` with "line L, column C" for what cannot be read, for undefined rules and for a grammar
    without texts; `BudgetError` for one beyond the budget.
    """
    started = time.monotonic()
    return compile_rules(_Parser(Source("grammar", grammar, budget)).grammar(), started)


class _Parser:
    """Reads a grammar from its start to its end."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._text = source.text
        self._at = 0
        self._bodies: dict[str, Node] = {}
        self._defined: dict[str, int] = {}
        self._additions: dict[str, None] = {}

    def grammar(self) -> Grammar:
        """The whole grammar."""
        self._skip(SPACE_AND_LINES)
        while self._at < len(self._text):
            self._rule()
        if "root" not in self._bodies:
            raise self._source.error(0, "there is no rule 'root', where every text begins: add `root ::= ...`.")
        notes = tuple(f"llama.cpp would refuse {what}." for what in self._additions)
        return Grammar("gbnf", self._source, "root", self._bodies, self._defined, notes=notes)

    def _rule(self) -> None:
        start = self._at
        name = self._name()
        self._skip(SPACE)
        if not self._take("::="):
            raise self._source.error(self._at, f"expected `::=` after the rule name {name!r}.")
        if name in self._bodies:
            before = self._source.place(self._defined[name])
            raise self._source.error(start, f"rule {name!r} is defined at {before} already: rename one, or join them.")
        self._skip(SPACE_AND_LINES)
        self._defined[name] = start
        self._bodies[name] = self._body()

    def _name(self) -> str:
        found = NAME.match(self._text, self._at)
        if not found:
            raise self._source.error(self._at, f"expected a rule name, found {self._found()}.")
        if "_" in found[0]:
            self._additions[f"the underscore in the rule name {found[0]!r}"] = None
        self._at = found.end()
        return found[0]

    def _body(self) -> Node:
        body = Body(self._source, self._at)
        while self._at < len(self._text):
            self._source.check_time(self._at)
            symbol = self._text[self._at]
            if symbol in "\r\n":
                if not self._goes_on():
                    break
            elif symbol == "|":
                self._at += 1
                self._skip(SPACE_AND_LINES)
                body.option()
            elif symbol == "(":
                body.open(symbol, self._at)
                self._at += 1
                self._skip(SPACE_AND_LINES)
            else:
                self._item(symbol, body)
                self._skip(self._space(body))
        return body.finish()

    def _space(self, body: Body) -> re.Pattern[str]:
        """Lines matter outside groups only."""
        return SPACE_AND_LINES if body.bracket else SPACE

    def _goes_on(self) -> bool:
        """At the end of a line: skip to the next rule, or to the `|` with which this one goes on."""
        self._skip(SPACE_AND_LINES)
        if not self._text.startswith("|", self._at):
            return False
        self._additions[f"the line break before `|` at {self._source.place(self._at)}"] = None
        return True

    def _item(self, symbol: str, body: Body) -> None:
        start = self._at
        if symbol == '"':
            body.add(self._string())
        elif symbol == "[":
            body.add(self._class())
        elif symbol == ".":
            self._at += 1
            body.add(Pattern(Chars(ALL), start))
        elif symbol in TIMES:
            self._at += 1
            body.repeat(*TIMES[symbol], start)
        elif symbol == "{":
            body.repeat(*self._bounds(self._space(body)), start)
        elif symbol == ")" and body.bracket:
            self._at += 1
            body.close()
        elif NAME.match(symbol):
            body.add(Ref(self._name(), start))
        elif symbol in "<!":
            message = "a token reference depends on a vocabulary, which a grammar here has none of: write its text."
            raise self._source.error(start, message)
        else:
            raise self._source.error(start, f"expected a text, a class, a rule or a group, found {self._found()}.")

    def _string(self) -> Node:
        start = self._at
        self._at += 1
        pieces = []
        while not self._take('"'):
            self._source.check_time(start)
            if plain := PLAIN.match(self._text, self._at):
                pieces.append(plain[0])
                self._at = plain.end()
            else:
                pieces.append(chr(self._character(start)))
        text = "".join(pieces)
        if any(SURROGATES[0] <= ord(character) <= SURROGATES[1] for character in text):
            message = "this text holds half of a surrogate pair, which UTF-8 cannot spell: write \\U and 8 digits."
            raise self._source.error(start, message)
        return Text(text) if text else Series(())

    def _class(self) -> Node:
        start = self._at
        self._at += 1
        negated = self._take("^")
        ranges = []
        while not self._take("]"):
            self._source.check_time(start)
            begin = self._at
            low = high = self._character(start)
            if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
                self._at += 1
                high = self._character(start)
            if high < low:
                raise self._source.error(begin, f"the range ends before it begins: write {chr(high)}-{chr(low)}.")
            ranges.append((low, high))
        members = CharSet.from_ranges(ranges)
        if negated and ranges:
            members = ~members
        if not members:
            raise self._source.error(start, "this class has no characters: put some between the brackets.")
        return Pattern(Chars(members), start)

    def _character(self, start: int) -> int:
        """One character of the text or class that begins at `start`, as a code point."""
        if self._at >= len(self._text):
            raise self._source.error(start, f"{self._text[start]} is never closed: add the closing one.")
        begin = self._at
        self._at += 1
        if self._text[begin] != "\\":
            return ord(self._text[begin])
        escape = self._text[self._at : self._at + 1]
        if escape in ESCAPES and escape:
            self._at += 1
            return ord(ESCAPES[escape])
        found = HEXADECIMAL.match(self._text, self._at)
        if not found:
            raise self._source.error(begin, _unknown_escape(escape))
        self._at = found.end()
        code = int(found[0][1:], 16)
        if code > LAST:
            raise self._source.error(begin, f"there is no character {code:X}: the last one is {LAST:X}.")
        return code

    def _bounds(self, space: re.Pattern[str]) -> tuple[int, int | None]:
        """`{m}`, `{m,}` or `{m,n}`."""
        self._at += 1
        self._skip(space)
        low = self._number()
        if low is None:
            raise self._source.error(self._at, "expected a lower bound, such as the 0 of {0,5}.")
        self._skip(space)
        high: int | None = low
        if self._take(","):
            self._skip(space)
            high = self._number()
            self._skip(space)
        if not self._take("}"):
            raise self._source.error(self._at, f"expected `,` or `}}` in a repetition, found {self._found()}.")
        return low, high

    def _number(self) -> int | None:
        found = NUMBER.match(self._text, self._at)
        if not found:
            return None
        self._at = found.end()
        return int(found[0])

    def _skip(self, space: re.Pattern[str]) -> None:
        found = space.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _take(self, text: str) -> bool:
        taken = self._text.startswith(text, self._at)
        self._at += len(text) if taken else 0
        return taken

    def _found(self) -> str:
        return repr(self._text[self._at]) if self._at < len(self._text) else "the end"


def _unknown_escape(escape: str) -> str:
    known = r"known are \\, \", \[, \], \-, \t, \r, \n, \xHH, \uHHHH and \UHHHHHHHH"
    if escape in SHORTHANDS:
        return f"\\{escape} is a regex shorthand that GBNF does not have: write {SHORTHANDS[escape]}."
    advice = f"write {escape} alone" if escape and escape not in "xuU" and not escape.isalnum() else "correct it"
    return f"unknown escape \\{escape}: {advice} ({known})."
