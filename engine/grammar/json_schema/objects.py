"""Objects: members in declared or any order, required ones, undeclared ones, no name twice.

`Members` is the rule for what remains of an object after some of its members. Its arguments are the declared members
already written or passed (`done`, a bit set) and the undeclared names already written, so that neither comes twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.automaton.arena import Arena
from engine.automaton.terms import UNKNOWN, Captured, Hole, Term
from engine.errors import Origin
from engine.grammar.json_schema.layout import Layout
from engine.grammar.json_schema.strings import JsonText, spelled, unspelled


@dataclass(frozen=True, slots=True)
class Member:
    """A member with a known name. `late`: required but not declared, so it comes among the undeclared ones."""

    name: str
    value: Term
    origin: Origin
    required: bool
    late: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an object is written. `done`: bit i is set if member i was written or passed. `used`: undeclared names."""

    done: int = 0
    used: frozenset[bytes | Hole] = frozenset()
    started: bool = False


class Members:
    """The rule for the rest of an object, from after `{` or after a member's value, up to and with `}`."""

    def __init__(
        self,
        text: JsonText,
        layout: Layout,
        members: tuple[Member, ...],
        extra: Term | None,
        origin: Origin,
        any_order: bool,
    ) -> None:
        """`extra`: the value of undeclared members, None where there may be none."""
        self.name = f"members of {origin.pointer or 'the root'}"
        self.text = text
        self.layout = layout
        self.members = members
        self.extra = extra
        self.origin = origin
        self.any_order = any_order
        self._named = frozenset(spelled(member.name) for member in members)
        self._names: dict[frozenset[bytes | Hole], Term] = {}

    def nullable(self, args: Progress) -> bool:
        """An object always ends with `}`."""
        return False

    def body(self, arena: Arena, args: Progress) -> Term:
        """The next member, or the end."""
        following = [self._member(arena, args, index) for index in self._candidates(args)]
        if self.extra is not None and self._extras_may_come(args):
            quote = self._tagged(arena, arena.literal(b'"'))
            following.append(arena.seq(quote, arena.capture(self, args, self._names_left(arena, args.used))))
        next_one = arena.alt(following)
        if args.started:
            comma = self._tagged(arena, arena.seq(arena.literal(b","), self.layout.after_comma))
            next_one = arena.seq(comma, next_one)
        options = [next_one]
        if not self._owed(args):
            options.append(self._tagged(arena, arena.literal(b"}")))
        return arena.seq(self._tagged(arena, self.layout.space), arena.alt(options))

    def core(self, arena: Arena, args: Progress) -> Term:
        """Only the required members that are left, then the end."""
        parts = []
        started = args.started
        for index in self._owed(args):
            if started:
                parts.append(arena.literal(b","))
            parts += [self._key(arena, self.members[index]), self.members[index].value]
            started = True
        return arena.concat([*parts, arena.literal(b"}")])

    def after(self, arena: Arena, args: Progress, text: Captured) -> Term:
        """After the name of an undeclared member and its quotation mark: its value, then the rest."""
        assert self.extra is not None
        used = args.used
        if text is UNKNOWN:
            if UNKNOWN in used:  # two unknown names might be the same
                return arena.uncertain
            used = used | {UNKNOWN}
        elif isinstance(text, bytes):
            used = used | {spelled(unspelled(text.removesuffix(b'"')))}
        late = self._declared_mask() if not self.any_order else 0
        rest = arena.call(self, Progress(args.done | late, used, True))
        return arena.concat([self._colon(arena, self.origin), self.extra, rest])

    def parts(self, arena: Arena, args: Progress) -> Iterable[Term]:
        """Everything an object is made of."""
        yield from (self.layout.space, self.layout.after_comma, self.layout.after_colon, arena.literal(b'{},:"'))
        for member in self.members:
            yield self.text.literal(member.name)
            yield member.value
        if self.extra is not None:
            yield self.text.character
            yield self.extra

    def forget(self, args: Progress) -> Progress:
        """The undeclared names written so far do not show in a picture."""
        return Progress(args.done, frozenset(), args.started)

    def words(self, args: Progress) -> str:
        """The members that may come, shortly."""
        names = [f'"{member.name}"' for index, member in enumerate(self.members) if index in self._left(args)]
        shown = ", ".join(names[:3] + (["…"] if len(names) > 3 or self.extra is not None else []))
        return f"{', ' if args.started and shown else ''}{shown} }}"

    def _left(self, args: Progress) -> list[int]:
        return [index for index in range(len(self.members)) if not args.done >> index & 1]

    def _owed(self, args: Progress) -> list[int]:
        return [index for index in self._left(args) if self.members[index].required]

    def _candidates(self, args: Progress) -> list[int]:
        """Members that may come next: in declared order none may pass a required one."""
        if self.any_order:
            return self._left(args)
        candidates = []
        for index in self._left(args):
            if self.members[index].late:
                candidates.append(index)
                continue
            candidates.append(index)
            if self.members[index].required:
                break
        return candidates

    def _extras_may_come(self, args: Progress) -> bool:
        return self.any_order or not any(not self.members[index].late for index in self._owed(args))

    def _declared_mask(self) -> int:
        return sum(1 << index for index, member in enumerate(self.members) if not member.late)

    def _member(self, arena: Arena, args: Progress, index: int) -> Term:
        member = self.members[index]
        done = args.done | 1 << index
        if not self.any_order:
            # In declared order, earlier members have been passed; the late ones come in any order.
            done |= self._declared_mask() if member.late else (1 << index) - 1
        rest = arena.call(self, Progress(done, args.used, True))
        return arena.concat([self._key(arena, member), member.value, rest])

    def _key(self, arena: Arena, member: Member) -> Term:
        name = arena.tag(member.origin, self.text.quoted(self.text.literal(member.name)), f'"{member.name}"')
        return arena.seq(name, self._colon(arena, member.origin))

    def _colon(self, arena: Arena, origin: Origin) -> Term:
        colon = arena.concat([self.layout.space, arena.literal(b":"), self.layout.after_colon])
        return arena.tag(origin, colon)

    def _names_left(self, arena: Arena, used: frozenset[bytes | Hole]) -> Term:
        """The rest of an undeclared name that is not used yet, with its closing quotation mark."""
        if used not in self._names:
            taken = self._named | {name for name in used if isinstance(name, bytes)}
            forbidden = self.text.literals(unspelled(name) for name in taken)
            body = arena.both([arena.star(self.text.character), arena.complement(forbidden)])
            name = arena.seq(body, arena.literal(b'"'))
            self._names[used] = arena.tag(Origin(self.origin.pointer, "additionalProperties"), name, "<another name>")
        return self._names[used]

    def _tagged(self, arena: Arena, term: Term) -> Term:
        return arena.tag(self.origin, term)
