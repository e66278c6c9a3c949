"""From branches to terms: the grammar of the values that a conjunction of demands admits.

`Values.of` gives the call of a `ValueRule`; its body is made when a value begins there, so a schema costs nothing where
it is not visited and recursion is a rule that calls itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from engine.automaton.arena import Arena
from engine.automaton.liveness import Liveness
from engine.automaton.terms import PRINTABLE, Captured, Term, members_of
from engine.automaton.texts import texts
from engine.errors import BudgetError, ConstraintError, Origin
from engine.grammar.json_schema.arrays import array_term, normal
from engine.grammar.json_schema.branch import Branch
from engine.grammar.json_schema.clauses import (
    NUMBERS,
    All,
    Bound,
    Clause,
    Conjunction,
    Constants,
    Format,
    Kinds,
    Length,
    Multiple,
    Pattern,
    Scalar,
    limits,
)
from engine.grammar.json_schema.conjunction import Branches, conjunction
from engine.grammar.json_schema.document import Document, Subschema
from engine.grammar.json_schema.domain import MANY, Domain
from engine.grammar.json_schema.formats import format_term
from engine.grammar.json_schema.glance import Glance
from engine.grammar.json_schema.layout import Layout
from engine.grammar.json_schema.members import Keys
from engine.grammar.json_schema.numbers.text import NumberText, check_length
from engine.grammar.json_schema.objects import object_term
from engine.grammar.json_schema.options import Options
from engine.grammar.json_schema.scalars import (
    admits,
    constants_of,
    excluded_of,
    number_facts,
    of_type,
    speaks_of_strings,
)
from engine.grammar.json_schema.simplify import Simplifier
from engine.grammar.json_schema.strings import JsonText, spelled
from engine.grammar.regex.ecma import parse_ecma
from engine.grammar.regex.lower import lower

PATTERNED = frozenset(("pattern", "patternProperties"))
"""Keywords that hold patterns."""

DEEPEST_COMPARISON = 2
"""Questions whether two schemas exclude each other that may be asked while one is being answered."""


class ValueRule:
    """A value that satisfies a conjunction, standing at `place` in the schema."""

    def __init__(self, values: Values, asked: Conjunction, place: str) -> None:
        self.values = values
        self.asked = asked
        self.place = place
        self.name = place or "the root"

    @cached_property
    def sure(self) -> bool:
        """Whether some value satisfies the conjunction at a glance."""
        if len(self.asked) > 1:
            return False
        return not self.asked or (isinstance(self.asked[0], Subschema) and self.values.glance.admits(self.asked[0]))

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
        self.glance = Glance(document, self._is_matched)
        self.arena = arena
        self.liveness = Liveness(arena)
        self.branches = Branches(document, Simplifier(self._disjoint, self.string_satisfies), arena.check_time)
        self.layout = Layout.of(arena, options)
        self.text = JsonText(arena, options.spelling)
        self.numbers = NumberText(arena, options.spelling)
        self.keys: Keys = {}
        self._rules: dict[tuple[Conjunction, str], ValueRule] = {}
        self._bodies: dict[ValueRule, Term] = {}
        self._patterns: dict[str, Term] = {}
        self._formats: dict[str, Term] = {}
        self._strings: dict[Conjunction, Term] = {}
        self._comparing: set[Conjunction] = set()
        arena.lifetime.at_end.append(self._dissolve)
        self._meet_patterns()

    def _dissolve(self) -> None:
        """Let go of all rules and of what is known of their calls: those refer to these."""
        vars(self.liveness).clear()
        vars(self).clear()

    def rule(self, asked: Conjunction, place: str) -> ValueRule:
        """The rule of a conjunction at a place; one for each pair."""
        key = (asked, place)
        known = self._rules.get(key)
        if known is None:
            known = self._rules[key] = ValueRule(self, asked, place)
        return known

    def of(self, asked: Conjunction, place: str) -> Term:
        """The term of a value that satisfies a conjunction."""
        for demand in asked:
            if isinstance(demand, Subschema) and demand.value is False:
                return self.arena.empty
        return self.arena.call(self.rule(asked, place))

    def words(self, rule: ValueRule) -> str:
        """The types that a rule admits, in words."""
        names: dict[str, None] = {}
        try:
            branches = self.branches.of(rule.asked)
        except (BudgetError, RecursionError):  # it is said where a value begins
            return "<value>"
        if len(branches) > 50:
            return f"<one of {len(branches)} alternatives>"
        for branch in branches:
            listed = [clause for clause in branch.all(Constants) if clause.positive]
            if listed:
                count = min(len(clause.values) for clause in listed)
                return f"<one of {count}>" if count > 1 and len(branches) == 1 else "<constant>"
            names.update((_TYPE_NAMES[kind], None) for kind in sorted(branch.kinds, key=list(_TYPE_NAMES).index))
        if "number" in names:
            names.pop("integer", None)
        return "<any value>" if len(names) >= 6 else f"<{' or '.join(names) or 'nothing'}>"

    def body(self, rule: ValueRule) -> Term:
        """The term of a rule's values, made once."""
        if rule not in self._bodies:
            try:
                branches = self.branches.of(rule.asked)
                self._bodies[rule] = self.arena.alt(self.branch(branch, rule.place) for branch in branches)
            except BudgetError as error:
                raise error.at(Origin(rule.place)) from None
        return self._bodies[rule]

    def branch(self, branch: Branch, place: str) -> Term:
        """The values of one branch."""
        constants = constants_of(branch)
        excluded = excluded_of(branch)
        terms = []
        for word in ("null", "true", "false"):
            allowed = constants is None or ("word", word) in constants
            if word in branch.kinds and allowed and ("word", word) not in excluded:
                origin = self.owner(branch, place, (Constants, Kinds))
                label = "" if constants is not None else "<null>" if word == "null" else "<boolean>"
                terms.append(self.arena.tag(origin, self.arena.literal(word.encode()), label))
        if branch.kinds & NUMBERS:
            terms.append(self._number(branch, place, constants))
        if "string" in branch.kinds:
            terms.append(self._string(branch, place, constants))
        if "array" in branch.kinds and constants is None:
            terms.append(array_term(self, branch, place))
        if "object" in branch.kinds and constants is None:
            terms.append(object_term(self, branch, place))
        return self.arena.alt(terms)

    def owner(self, branch: Branch, place: str, kinds: tuple[type, ...]) -> Origin:
        """Who speaks for values of a branch: the last clause of the first kind that there is, or the type."""
        for kind in (*kinds, Kinds):
            for clause in reversed(branch.clauses):
                if isinstance(clause, kind):
                    return clause.origin
        return Origin(place)

    def _number(self, branch: Branch, place: str, constants: list[Scalar] | None) -> Term:
        facts = number_facts(branch)
        if constants is not None:
            origin = self.owner(branch, place, (Constants,))
            numbers = of_type(constants, "number")
            for value in (*numbers, *facts.multiples, *facts.not_multiples):
                check_length(value, origin.pointer, origin.keyword)
            listed = [value for value in numbers if admits(facts, value)]
            exactly = [self.numbers.exactly(value, origin.pointer) for value in dict.fromkeys(listed)]
            return self.arena.tag(origin, self.arena.alt(exactly), "<number>" if len(exactly) > 1 else "")
        origin = self.owner(branch, place, (Multiple, Bound))
        label = "<integer>" if "fraction" not in branch.kinds else "<number>"
        return self.numbers.term(facts, origin, label)

    def _string(self, branch: Branch, place: str, constants: list[Scalar] | None) -> Term:
        body = self._inside_string(branch)
        if constants is None:
            origin = self.owner(branch, place, (Pattern, Format, Length))
            return self.arena.tag(origin, self.text.quoted(body), "<string>")
        strings = of_type(constants, "string")
        if speaks_of_strings(branch):
            strings = [value for value in strings if self._matches(body, spelled(value))]
        if not strings:
            return self.arena.empty
        term = self.text.quoted(self.text.literals(strings))
        return self.arena.tag(self.owner(branch, place, (Constants,)), term, "<string>" if len(strings) > 1 else "")

    def _inside_string(self, branch: Branch) -> Term:
        """The characters of the strings of a branch, constants aside."""
        arena = self.arena
        low, high = limits(branch.all(Length))
        if high is not None and low > high:
            return arena.empty
        parts: list[Term] = []
        free = (low, high) == (0, None)
        for clause in branch.clauses:
            if isinstance(clause, Pattern):
                term = self._patterns[clause.pattern]
            elif isinstance(clause, Format):
                term = self._format(clause.name)
            elif isinstance(clause, Constants) and not clause.positive:
                term = self.text.literals(of_type(clause.values, "string"))
            else:
                continue
            denied = isinstance(clause, Constants) or not clause.positive
            parts.append(arena.complement(term) if denied else term)
            free = free and denied
        if free or (low, high) != (0, None):
            parts.append(arena.repeat(self.text.character, low, high))
        return arena.both(parts)

    def string_body(self, asked: Conjunction) -> Term:
        """The characters of all strings that satisfy a conjunction; used for names."""
        if not asked:
            return self.arena.star(self.text.character)
        if asked not in self._strings:
            terms = []
            for branch in self.branches.of(asked):
                if "string" not in branch.kinds:
                    continue
                body = self._inside_string(branch)
                constants = constants_of(branch)
                if constants is not None:
                    listed = self.text.literals(of_type(constants, "string"))
                    body = self.arena.both([listed, body])
                terms.append(body)
            self._strings[asked] = self.arena.alt(terms)
        return self._strings[asked]

    def string_satisfies(self, text: str, asked: Conjunction) -> bool:
        """Whether a string satisfies a conjunction."""
        clauses = [clause for demand in asked if isinstance(demand, All) for clause in demand.clauses]
        is_listed = all(isinstance(demand, All) for demand in asked)
        if is_listed and all(isinstance(clause, (Constants, Pattern)) for clause in clauses):
            return all(self._clause_admits(clause, text) for clause in clauses)
        return self._matches(self.string_body(asked), spelled(text))

    def _clause_admits(self, clause: Clause, text: str) -> bool:
        if isinstance(clause, Constants):
            return (("string", text) in clause.values) == clause.positive
        assert isinstance(clause, Pattern)
        return self.string_matches(text, clause.pattern) == clause.positive

    def string_matches(self, text: str, pattern: str) -> bool:
        """Whether a string matches a pattern of the document."""
        return self._matches(self._patterns[pattern], spelled(text))

    def domain(self, asked: Conjunction, limit: int) -> Domain:
        """The values that satisfy a conjunction as normal JSON texts, or MANY if there are `limit` or more.

        Raises `ConstraintError` where that cannot be told.
        """
        found: set[str] = set()
        for branch in self.branches.of(asked):
            part = self._branch_domain(branch, limit)
            if part is MANY or len(found | part) >= limit:
                return MANY
            found |= part
        return frozenset(found)

    def _branch_domain(self, branch: Branch, limit: int) -> Domain:
        found: set[str] = set()
        if branch.kinds & NUMBERS and constants_of(branch) is None:
            numbers = self.numbers.count_up_to(number_facts(branch), limit)
            if numbers is None or len(numbers) >= limit:
                return MANY
            found.update(normal(str(number).encode()) for number in numbers)
            branch = Branch(branch.clauses, branch.kinds - NUMBERS)
        values = self._compact
        tried = 4 * limit + 16
        listed = 0
        for listed, text in enumerate(texts(values.liveness, values.branch(branch, ""), tried), 1):  # noqa: B007
            found.add(normal(text))
            if len(found) >= limit:
                return MANY
        if listed == tried:
            origin = self.owner(branch, "", ())
            raise ConstraintError(
                f"uniqueItems cannot be enforced at {origin}: it cannot be told whether there are {limit} values.",
                pointer=origin.pointer,
                keyword="uniqueItems",
            )
        return frozenset(found)

    @property
    def _compact(self) -> Values:
        """The same values with one text each, as far as possible."""
        if self._normal_values is None:
            plain = Options(whitespace="compact", formats=self.options.formats, objects=self.options.objects)
            self._normal_values = Values(self.document, plain, self.arena)
            self._normal_values._normal_values = self._normal_values
        return self._normal_values

    _normal_values: Values | None = None

    def _disjoint(self, asked: Conjunction) -> bool:
        """Whether no value satisfies a conjunction; may say False while that very question is being decided."""
        asked = conjunction(*asked)
        if len(self._comparing) >= DEEPEST_COMPARISON or asked in self._comparing:
            return False
        self._comparing.add(asked)
        try:
            return not self.liveness.alive(self.of(asked, ""))
        except BudgetError:  # asked while a part of the answer is being made: not known
            return False
        finally:
            self._comparing.discard(asked)

    def _format(self, name: str) -> Term:
        if name not in self._formats:
            self._formats[name] = format_term(name, self.arena, self.text.one_of)
        return self._formats[name]

    def _meet_patterns(self) -> None:
        """Every pattern of the document, so that one that cannot be enforced is refused when compiling."""
        if PATTERNED.isdisjoint(self.document.said):
            return
        for schema in self.document.reachable:
            if isinstance(schema.value, bool) or PATTERNED.isdisjoint(schema.value):
                continue
            places = dict.fromkeys(schema.get("patternProperties", {}), f"{schema.pointer}/patternProperties")
            if schema.has("pattern"):
                places[schema.get("pattern")] = f"{schema.pointer}/pattern"
            for pattern, place in places.items():
                if pattern not in self._patterns:
                    self._patterns[pattern] = self._lowered(pattern, place)

    def _is_matched(self, pattern: str) -> bool:
        """Whether printable ASCII matches a pattern, as far as its term shows."""
        return self._printable.shows(self._patterns[pattern])

    @cached_property
    def _printable(self) -> Liveness:
        return Liveness(self.arena, members_of(PRINTABLE))

    def _lowered(self, pattern: str, place: str) -> Term:
        try:
            node = parse_ecma(pattern, self.arena.check_time)
            return lower(node, self.arena, self.text.one_of, search=True, tagged=False)
        except ConstraintError as error:
            message = f"The pattern {pattern!r} at {place} cannot be used: {error}"
            raise type(error)(message, pointer=place, keyword=place.rpartition("/")[2]) from None

    def _matches(self, term: Term, data: bytes) -> bool:
        for byte in data:
            moves = self.arena.moves(term, 1 << byte)
            if not moves:
                return False
            term = moves[0][1]
        return term.nullable


_TYPE_NAMES = {
    "object": "object",
    "array": "array",
    "string": "string",
    "integer": "integer",
    "fraction": "number",
    "true": "boolean",
    "false": "boolean",
    "null": "null",
}
