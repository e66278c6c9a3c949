"""From facts to terms: the grammar of the values that a conjunction of subschemas admits.

`Values.of` gives the call of a `ValueRule`; its body is made when a value begins there, so a schema costs nothing where
it is not visited and recursion is a rule that calls itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from engine.grammar.regex.ecma import parse_ecma

from engine.automaton.arena import Arena
from engine.automaton.liveness import Liveness
from engine.automaton.terms import Captured, Term
from engine.errors import ConstraintError, Origin
from engine.grammar.json_schema import facts
from engine.grammar.json_schema.conjunction import Branch, Branches, Conjunction
from engine.grammar.json_schema.document import Document
from engine.grammar.json_schema.facts import Constant
from engine.grammar.json_schema.layout import Layout
from engine.grammar.json_schema.numbers import NumberText
from engine.grammar.json_schema.objects import Member, Members, Progress
from engine.grammar.json_schema.options import Options
from engine.grammar.json_schema.source import escape
from engine.grammar.json_schema.strings import JsonText, spelled
from engine.grammar.regex.lower import lower


class ValueRule:
    """A value that satisfies a conjunction, standing at `place` in the schema."""

    def __init__(self, values: Values, schemas: Conjunction, place: str) -> None:
        self.values = values
        self.schemas = schemas
        self.place = place
        self.name = place or "the root"

    def nullable(self, args: tuple[()]) -> bool:
        """No JSON value is the empty text."""
        return False

    def body(self, arena: Arena, args: tuple[()]) -> Term:
        """The alternatives of the conjunction."""
        return self.values.body(self)

    def core(self, arena: Arena, args: tuple[()]) -> Term:
        """The whole body: its parts are calls again."""
        return self.body(arena, args)

    def after(self, arena: Arena, args: tuple[()], text: Captured) -> Term:
        """Values capture nothing."""
        raise NotImplementedError

    def parts(self, arena: Arena, args: tuple[()]) -> Iterable[Term]:
        """The body."""
        return (self.body(arena, args),)

    def forget(self, args: tuple[()]) -> tuple[()]:
        """Nothing to forget."""
        return args

    def words(self, args: tuple[()]) -> str:
        """The types of the value, such as `<integer>`."""
        return self.values.words(self)


class Values:
    """All value rules of one document."""

    def __init__(self, document: Document, options: Options, arena: Arena) -> None:
        self.document = document
        self.options = options
        self.arena = arena
        self.branches = Branches(document)
        self.layout = Layout.of(arena, options)
        self.text = JsonText(arena, options.spelling)
        self.numbers = NumberText(arena, options.spelling)
        self._rules: dict[tuple[Conjunction, str], ValueRule] = {}
        self._bodies: dict[ValueRule, Term] = {}
        self._patterns: dict[str, Term] = {}
        self._liveness = Liveness(arena)
        self._meet_patterns()

    def rule(self, schemas: Conjunction, place: str) -> ValueRule:
        """The rule of a conjunction at a place; one for each pair."""
        key = (schemas, place)
        if key not in self._rules:
            self._rules[key] = ValueRule(self, schemas, place)
        return self._rules[key]

    def of(self, schemas: Conjunction, place: str) -> Term:
        """The term of a value that satisfies a conjunction."""
        if any(schema.value is False for schema in schemas):
            return self.arena.empty
        return self.arena.call(self.rule(schemas, place))

    def words(self, rule: ValueRule) -> str:
        """The types that a rule admits, in words."""
        kinds: dict[str, None] = {}
        for branch in self.branches.of(rule.schemas):
            listed = facts.constants(branch)
            if listed is not None:
                return f"<one of {len(listed)}>" if len(listed) > 1 else "<constant>"
            for kind in facts.types_of(branch):
                kinds["integer" if kind == "number" and facts.integers_only(branch) else kind] = None
        return "<any value>" if len(kinds) >= 6 else f"<{' or '.join(kinds) or 'nothing'}>"

    def body(self, rule: ValueRule) -> Term:
        """The term of a rule's values, made once."""
        if rule not in self._bodies:
            branches = self.branches.of(rule.schemas)
            self._bodies[rule] = self.arena.alt(self._branch(branch, rule.place) for branch in branches)
        return self._bodies[rule]

    def _branch(self, branch: Branch, place: str) -> Term:
        kinds = facts.types_of(branch)
        listed = facts.constants(branch)
        if listed is not None:
            return self._constants(branch, place, kinds, listed)
        makers = {
            "null": self._literals,
            "boolean": self._literals,
            "number": self._number,
            "string": self._string,
            "array": self._array,
            "object": self._object,
        }
        return self.arena.alt(makers[kind](branch, place, kind) for kind in kinds)

    def _literals(self, branch: Branch, place: str, kind: str) -> Term:
        words = [b"null"] if kind == "null" else [b"true", b"false"]
        return self.arena.tag(facts.owner(branch, place, "type"), self.arena.words(words), f"<{kind}>")

    def _number(self, branch: Branch, place: str, kind: str) -> Term:
        origin = facts.owner(branch, place, "type")
        if facts.integers_only(branch):
            return self.arena.tag(origin, self.numbers.integer(), "<integer>")
        return self.arena.tag(origin, self.numbers.number(), "<number>")

    def _string(self, branch: Branch, place: str, kind: str) -> Term:
        origin = facts.owner(branch, place, "pattern", "maxLength", "minLength", "type")
        return self.arena.tag(origin, self.text.quoted(self._inside_string(branch)), "<string>")

    def _inside_string(self, branch: Branch) -> Term:
        length = facts.bounds(branch, "minLength", "maxLength")
        if length.high is not None and length.low > length.high:
            return self.arena.empty
        patterns = [self._pattern(schema.get("pattern")) for schema in branch if schema.has("pattern")]
        if (length.low, length.high) != (0, None) or not patterns:
            patterns.append(self.arena.repeat(self.text.character, length.low, length.high))
        return self.arena.both(patterns)

    def _pattern(self, pattern: str) -> Term:
        return self._patterns[pattern]

    def _meet_patterns(self) -> None:
        """Every pattern of the document, so that one that cannot be enforced is refused when compiling."""
        for schema in self.document.reachable:
            if not schema.has("pattern") or schema.get("pattern") in self._patterns:
                continue
            pattern = schema.get("pattern")
            place = f"{schema.pointer}/pattern"
            try:
                term = lower(parse_ecma(pattern), self.arena, self.text.one_of, search=True, tagged=False)
            except ConstraintError as error:
                message = f"The pattern at {place} cannot be used: {error}"
                raise ConstraintError(message, pointer=place, keyword="pattern") from None
            self._patterns[pattern] = term

    def _constants(self, branch: Branch, place: str, kinds: tuple[str, ...], listed: list[Constant]) -> Term:
        admitted = [constant for constant in listed if facts.type_of(constant.value) in kinds]
        terms = [self._constant_strings(branch, [c for c in admitted if isinstance(c.value, str)])]
        for constant in admitted:
            kind = facts.type_of(constant.value)
            if kind == "number":
                terms.append(self._constant_number(branch, constant))
            elif kind in ("null", "boolean"):
                word = {None: b"null", True: b"true", False: b"false"}[constant.value]
                terms.append(self.arena.tag(constant.origin, self.arena.literal(word)))
            elif kind != "string":
                # An array or object constant is a schema with a constant for each part.
                terms.append((self._array if kind == "array" else self._object)(branch, place, kind, constant))
        return self.arena.alt(terms)

    def _constant_strings(self, branch: Branch, listed: list[Constant]) -> Term:
        if not listed:
            return self.arena.empty
        texts = [constant.value for constant in listed]
        body = self._inside_string(branch)
        if any(schema.has(keyword) for schema in branch for keyword in ("pattern", "minLength", "maxLength")):
            texts = [text for text in texts if self._matches(body, spelled(text))]
        term = self.text.quoted(self.text.literals(texts)) if texts else self.arena.empty
        return self.arena.tag(listed[0].origin, term, "<string>" if len(texts) > 1 else "")

    def _matches(self, term: Term, data: bytes) -> bool:
        for byte in data:
            moves = self.arena.moves(term, 1 << byte)
            if not moves:
                return False
            term = moves[0][1]
        return term.nullable

    def _constant_number(self, branch: Branch, constant: Constant) -> Term:
        value = Decimal(constant.value)
        if facts.integers_only(branch) and value != value.to_integral_value():
            return self.arena.empty
        return self.arena.tag(constant.origin, self.numbers.exactly(value, constant.pointer))

    def _array(self, branch: Branch, place: str, kind: str, constant: Constant | None = None) -> Term:
        arena = self.arena
        length = facts.bounds(branch, "minItems", "maxItems")
        origin = facts.owner(branch, place, "items", "maxItems", "minItems", "type")
        asked = facts.item_conjunction(self.document, branch)
        item = self.of(asked, _place_below(asked, place))
        opening, closing = (arena.tag(origin, arena.literal(mark)) for mark in (b"[", b"]"))
        space = arena.tag(origin, self.layout.space)
        comma = arena.tag(origin, arena.concat([space, arena.literal(b","), self.layout.after_comma]))
        if constant is not None:
            items = self._constant_items(constant, asked, comma)
            fits = length.low <= len(constant.value) and (length.high is None or len(constant.value) <= length.high)
            return arena.concat([opening, space, items, space, closing]) if fits else arena.empty
        if length.high is not None and length.low > length.high:
            return arena.empty
        options = []
        if length.low == 0:
            options.append(closing)
        if length.high != 0:
            most = None if length.high is None else length.high - 1
            more = arena.tag(origin, arena.repeat(arena.seq(comma, item), max(length.low - 1, 0), most))
            options.append(arena.concat([item, more, space, closing]))
        return arena.concat([opening, space, arena.alt(options)])

    def _constant_items(self, constant: Constant, asked: Conjunction, comma: Term) -> Term:
        parts: list[Term] = []
        for index, value in enumerate(constant.value):
            item = self._part(constant, f"{constant.pointer}/{index}", value, asked)
            parts += [comma, item] if parts else [item]
        return self.arena.concat(parts)

    def _part(self, constant: Constant, pointer: str, value: Any, asked: Conjunction) -> Term:
        exactly = self.document.constant(pointer, value)
        return self.of((exactly, *asked), pointer)

    def _object(self, branch: Branch, place: str, kind: str, constant: Constant | None = None) -> Term:
        arena = self.arena
        found = facts.object_facts(self.document, branch, self.options)
        origin = facts.owner(branch, place, "properties", "additionalProperties", "required", "type")
        extra = None if found.extra is None else self.of(found.extra, _place_below(found.extra, place))
        required = frozenset(found.required)
        declared = {name: (said, where) for name, said, where in found.members}
        if constant is not None:
            members, missing = self._constant_members(constant, declared, found.extra)
            extra = None
            if missing or required - constant.value.keys():
                return arena.empty
        else:
            members = [
                Member(name, self.of(said, where), Origin(where), name in required, late=where.endswith("/required"))
                for name, (said, where) in declared.items()
            ]
        rule = Members(self.text, self.layout, tuple(members), extra, origin, self.options.key_order == "any")
        opening = arena.tag(origin, arena.literal(b"{"))
        return arena.seq(opening, arena.call(rule, Progress()))

    def _constant_members(
        self, constant: Constant, declared: dict[str, tuple[Conjunction, str]], extra: Conjunction | None
    ) -> tuple[list[Member], bool]:
        """The members of an object constant, and whether one of them is forbidden."""
        members = []
        for name, value in constant.value.items():
            said = declared[name][0] if name in declared else extra
            if said is None:
                return [], True
            pointer = f"{constant.pointer}/{escape(name)}"
            members.append(Member(name, self._part(constant, pointer, value, said), constant.origin, required=True))
        return members, False


def _place_below(asked: Conjunction, place: str) -> str:
    return asked[0].pointer if asked else place  # any value, anywhere below: one place, so that recursion closes
