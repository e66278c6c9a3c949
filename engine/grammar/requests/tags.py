"""From structural tags to terms, as xgrammar defines them.

Free text ends where a trigger or the end of the tag around it first occurs; what then follows is not free. Read are the
formats of text that do not depend on a vocabulary; the others are refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from engine.automaton.arena import Arena
from engine.automaton.automaton import Automaton
from engine.automaton.terms import Term
from engine.budget import Budget
from engine.constraint import Constraint, Report
from engine.errors import BudgetError, ConstraintError, Origin
from engine.grammar.charset import utf8
from engine.grammar.free_text import free_text
from engine.grammar.json_schema.conjunction import conjunction
from engine.grammar.json_schema.document import Document
from engine.grammar.json_schema.options import Options
from engine.grammar.json_schema.values import Values
from engine.grammar.regex.lower import lower
from engine.grammar.regex.python import parse_python
from engine.grammar.requests import schemas
from engine.grammar.requests.part import Part, inside
from engine.grammar.requests.structural_tag import schemas_of

ALL_SCHEMAS = "/"
"""Where the alternative of all schemas stands in their document: no member of a request has an empty name."""

Ends = tuple[bytes, ...]
"""Texts of which one must follow, () if nothing does."""


def compile_tags(tag: Part, options: Options, budget: Budget) -> Constraint:
    """The constraint of a structural tag: `{"format": ...}`, or `structures` with `triggers` as before xgrammar 0.1.25.

    Raises `ConstraintError` with the pointer of what is malformed or depends on a vocabulary.
    """
    started = time.monotonic()
    arena = Arena(budget)
    arena.clock.start()
    with arena.lifetime:
        try:
            terms = _Terms(tag, arena, options, budget)
            automaton = Automaton(arena, terms.whole())
        except RecursionError as error:
            raise BudgetError("The structural tag is nested too deeply.", pointer=tag.pointer) from error
        if automaton.start < 0:
            raise ConstraintError("Unsatisfiable: no text has these tags.", pointer=tag.pointer, unsatisfiable=True)
    arena.clock.stop()
    unenforced = tuple(terms.document.unenforced) if terms.document else ()
    report = Report("structural_tag", time.monotonic() - started, len(arena), not_enforced=unenforced)
    return Constraint("structural_tag", automaton, report)


class _Terms:
    """The terms of one structural tag."""

    def __init__(self, tag: Part, arena: Arena, options: Options, budget: Budget) -> None:
        self.tag = tag
        self.arena = arena
        self.budget = budget
        self.document: Document | None = None
        found = list(schemas_of(tag, budget))
        if found:
            laid_out = schemas.document(found)
            schemas.put(laid_out, ALL_SCHEMAS, schemas.any_of([schema.pointer for schema in found]))
            try:
                self.document = Document(laid_out, options, ALL_SCHEMAS)
            except ConstraintError as error:
                raise schemas.at_request(found[0], error) from None
            self.values = Values(self.document, options, arena)

    def whole(self) -> Term:
        """The texts of the tag."""
        structures = self.tag.get("structures")
        if structures is None:
            return self._format(self.tag.need("format"), ())
        return self._triggered(self.tag, structures.items(), self._legacy, ())

    def _format(self, part: Part, ends: Ends) -> Term:
        """A format with what must follow it."""
        kind = part.need("type")
        build = FORMATS.get(kind.value) if isinstance(kind.value, str) else None
        if build is None:
            why = "formats of tokens depend on a vocabulary, and grammars cannot be enforced inside tags"
            raise kind.error(f"must be one of {', '.join(FORMATS)}: {why}")
        known, method = build
        for name in part.value:
            if name not in ("type", *known) and part.value[name]:
                raise Part(part.value[name], f"{part.pointer}/{name}").error("is not supported", name)
        return method(self, part, ends)

    def _then(self, term: Term, ends: Ends) -> Term:
        return self.arena.seq(term, self.arena.words(ends)) if ends else term

    def _literal(self, part: Part) -> Term:
        return self.arena.tag(Origin(part.pointer), self.arena.literal(part.text().encode()))

    def _constant(self, part: Part, ends: Ends) -> Term:
        return self._then(self._literal(part.need("value")), ends)

    def _json(self, part: Part, ends: Ends) -> Term:
        style = part.get("style")
        if style and style.value != "json":
            raise style.error("must be 'json'; other styles are not supported")
        return self._then(self._value(part.need("json_schema")), ends)

    def _value(self, schema: Part) -> Term:
        assert self.document is not None, "every schema is in the document"
        space = self.values.layout.space
        value = self.values.of(conjunction(self.document.at(schema.pointer)), schema.pointer)
        return self.arena.concat([space, value, space])

    def _regex(self, part: Part, ends: Ends) -> Term:
        pattern = part.need("pattern")
        try:
            node = parse_python(pattern.text(), self.arena.check_time)
            term = lower(node, self.arena, partial(utf8, self.arena), search=False)
        except ConstraintError as error:
            raise inside(pattern, error) from None
        return self._then(self.arena.tag(Origin(pattern.pointer), term), ends)

    def _any_text(self, part: Part, ends: Ends) -> Term:
        excluded = _words(part.get("excludes"))
        return self._free(part, (*ends, *excluded), ends)

    def _sequence(self, part: Part, ends: Ends) -> Term:
        *before, last = self._elements(part)
        return self.arena.concat([*(self._format(element, ()) for element in before), self._format(last, ends)])

    def _or(self, part: Part, ends: Ends) -> Term:
        return self.arena.alt(self._format(element, ends) for element in self._elements(part))

    def _elements(self, part: Part) -> tuple[Part, ...]:
        elements = part.need("elements")
        if not elements.items():
            raise elements.error("must not be empty")
        return elements.items()

    def _repeated(self, part: Part, ends: Ends) -> Term:
        bounds = TIMES.get(part.need("type").text()) or (_count(part.need("min")), _count(part.need("max")))
        low, high = bounds[0] or 0, bounds[1]
        if high is not None and high < low:
            raise part.need("max").error(f"must not be less than min, {low}")
        return self._then(self.arena.repeat(self._format(part.need("content"), ()), low, high), ends)

    def _tag(self, part: Part, ends: Ends) -> Term:
        return self._then(self.arena.seq(self._literal(part.need("begin")), self._from_content(part)), ends)

    def _from_content(self, part: Part) -> Term:
        """What stands in a tag, and its end."""
        end = part.need("end")
        texts = end.texts() if isinstance(end.value, list) else (end.text(),)
        if "" in texts and len(texts) > 1:
            raise end.error("must not mix an empty text with others")
        return self._format(part.need("content"), tuple(text.encode() for text in texts if text))

    def _legacy(self, part: Part) -> Term:
        end = self._literal(part.need("end"))
        return self.arena.seq(self._value(part.need("schema")), end)

    def _separated(self, part: Part, ends: Ends) -> Term:
        tag = self.arena.alt(self._tag(tag, ()) for tag in part.need("tags").items())
        more = self.arena.seq(self._literal(part.need("separator")), tag)
        several = tag if _is_set(part, "stop_after_first") else self.arena.seq(tag, self.arena.star(more))
        return self._then(several if _is_set(part, "at_least_one") else self.arena.repeat(several, 0, 1), ends)

    def _triggered_tags(self, part: Part, ends: Ends) -> Term:
        return self._triggered(part, part.need("tags").items(), self._from_content, ends)

    def _triggered(self, part: Part, tags: tuple[Part, ...], content: Callable[[Part], Term], ends: Ends) -> Term:
        """Free text up to a trigger, the rest of one of its tags, and so on."""
        arena = self.arena
        triggers = _words(part.need("triggers"))
        stops = (*triggers, *ends, *_words(part.get("excludes")))
        rests: dict[bytes, list[Term]] = {trigger: [] for trigger in triggers}
        wholes = []
        for tag in tags:
            begin = tag.need("begin")
            trigger = next((trigger for trigger in triggers if begin.text().encode().startswith(trigger)), None)
            if trigger is None:
                raise begin.error("begins with none of the triggers")
            inner = content(tag)
            rest = arena.literal(begin.text().encode()[len(trigger) :])
            rests[trigger].append(arena.seq(arena.tag(Origin(begin.pointer), rest), inner))
            wholes.append(arena.seq(self._literal(begin), inner))
        once = arena.alt(
            arena.seq(self._free(part, stops, (trigger,)), arena.alt(options)) for trigger, options in rests.items()
        )
        tail = self._free(part, stops, ends)
        closed = arena.words(ends) if ends else arena.epsilon
        if _is_set(part, "at_least_one"):
            after = closed if _is_set(part, "stop_after_first") else arena.seq(arena.star(once), tail)
            return arena.seq(arena.alt(wholes), after)
        if _is_set(part, "stop_after_first"):
            return arena.alt([tail, arena.seq(once, closed)])
        return arena.seq(arena.star(once), tail)

    def _free(self, part: Part, stops: Ends, last: Ends) -> Term:
        return self.arena.tag(Origin(part.pointer), free_text(self.arena, stops, last), "<text>")


def _words(part: Part | None) -> Ends:
    """Texts that are looked for, none of them empty."""
    texts = part.texts() if part else ()
    if part and "" in texts:
        raise part.error("must not contain an empty text")
    return tuple(text.encode() for text in texts)


def _is_set(part: Part, name: str) -> bool:
    flag = part.get(name)
    return flag is not None and flag.flag()


def _count(part: Part) -> int | None:
    """A number of times; -1 is without bound."""
    if not isinstance(part.value, int) or isinstance(part.value, bool) or part.value < -1:
        raise part.error("must be a whole number, or -1 for no bound")
    return None if part.value == -1 else part.value


TIMES: dict[str, tuple[int, int | None]] = {"optional": (0, 1), "plus": (1, None), "star": (0, None)}
FLAGS = ("at_least_one", "stop_after_first")

FORMATS: dict[str, tuple[tuple[str, ...], Callable[[_Terms, Part, Ends], Term]]] = {
    "const_string": (("value",), _Terms._constant),
    "json_schema": (("json_schema", "style"), _Terms._json),
    "any_text": (("excludes",), _Terms._any_text),
    "regex": (("pattern",), _Terms._regex),
    "sequence": (("elements",), _Terms._sequence),
    "or": (("elements",), _Terms._or),
    "tag": (("begin", "content", "end"), _Terms._tag),
    "triggered_tags": (("triggers", "tags", "excludes", *FLAGS), _Terms._triggered_tags),
    "tags_with_separator": (("tags", "separator", *FLAGS), _Terms._separated),
    "optional": (("content",), _Terms._repeated),
    "plus": (("content",), _Terms._repeated),
    "star": (("content",), _Terms._repeated),
    "repeat": (("min", "max", "content"), _Terms._repeated),
}
"""The members that each format may have, and how it is read."""
