"""The members of an object: in declared or any order, required ones, undeclared ones, no name twice.

`MembersRule` is what remains of an object after some of its members. Its arguments are a `Progress`: the declared
members written or passed, the undeclared names written, how many there are, and which existential demands are met.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from engine.automaton.arena import Arena
from engine.automaton.liveness import Liveness
from engine.automaton.terms import UNKNOWN, Call, Captured, Hole, Repeat, Term, members_of
from engine.automaton.texts import texts
from engine.errors import Origin
from engine.grammar.json_schema.glance import is_ascii
from engine.grammar.json_schema.layout import Layout
from engine.grammar.json_schema.strings import JsonText, spelled, unspelled

Keys = dict[tuple[str, str, str], tuple[Term, ...]]
"""The terms of names with their colons, part by part; by name and owner."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member with a known name.

    `values[s]`: its value if it is to meet the demands `s`; s empty: as it is. `late`: required but not declared, so it
    comes among the undeclared ones.
    """

    name: str
    values: dict[frozenset[int], Term]
    origin: Origin
    required: bool
    late: bool


@dataclass(frozen=True, slots=True)
class Extra:
    """Undeclared members: `names` (without quotes), their `value`, and the demands that they meet."""

    names: Term
    value: Term
    meets: frozenset[int]
    origin: Origin


@dataclass(frozen=True, slots=True)
class ObjectPlan:
    """All about the members of an object. `low` to `high` members; `demands` existential demands must be met."""

    members: tuple[Member, ...]
    extras: tuple[Extra, ...]
    low: int
    high: int | None
    demands: int
    origin: Origin
    any_order: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an object is written.

    `done`: bit i is set if member i was written or passed; `used`: undeclared names; `count`: members written, where
    that matters; `met`: demands that are met.
    """

    done: int = 0
    used: frozenset[bytes | Hole] = frozenset()
    started: bool = False
    count: int = 0
    met: frozenset[int] = frozenset()

    def __hash__(self) -> int:
        """Of all sets of the first so many members Python would make 61 different hashes."""
        return hash((self.done.bit_length(), self.done, self.used, self.started, self.count, self.met))


@dataclass(frozen=True, slots=True)
class Naming:
    """The name of an undeclared member is being written."""

    before: Progress
    extra: int


class MembersRule:
    """The rest of an object, from after `{` or after a member's value, up to and with `}`."""

    def __init__(self, text: JsonText, layout: Layout, plan: ObjectPlan, liveness: Liveness, keys: Keys) -> None:
        """`keys` are shared by the rules of one document."""
        self.name = f"members of {plan.origin.pointer or 'the root'}"
        self.text = text
        self.layout = layout
        self.plan = plan
        self.liveness = liveness
        self._named = frozenset(spelled(member.name) for member in plan.members)
        # Sets of members: those that come in declared order, and those that are required.
        self._declared = sum(1 << index for index, member in enumerate(plan.members) if not member.late)
        self._required = sum(1 << index for index, member in enumerate(plan.members) if member.required)
        self._is_counted = plan.low > 0 or plan.high is not None
        self._names: dict[tuple[int, frozenset[bytes | Hole]], Term] = {}
        self._members: dict[int, tuple[Term, ...]] = {}
        self._keys = keys

    def nullable(self, args: Progress) -> bool:
        """An object always ends with `}`."""
        return False

    def body(self, arena: Arena, args: Progress) -> Term:
        """The next member, or the end."""
        if self._is_overfull(args) or self._lacks_names(arena, args):
            return arena.empty
        following = [part for index in self._candidates(args) for part in self._member(arena, args, index)]
        following += self._undeclared(arena, args)
        next_one = arena.alt(following)
        comma = arena.seq(arena.literal(b","), self.layout.after_comma)
        if UNKNOWN in args.used:
            # Which names are free after one that was not remembered depends on what it was, the comma itself as well:
            # nothing stands between the two.
            is_full = self.plan.high is not None and args.count >= self.plan.high
            comma, next_one = arena.literal(b","), arena.empty if is_full else arena.uncertain
            if not self._may_end(args):
                return next_one
        if args.started:
            next_one = arena.seq(self._tagged(arena, comma), next_one)
        options = [next_one]
        if self._may_end(args):
            options.append(self._tagged(arena, arena.literal(b"}")))
        return arena.seq(self._tagged(arena, self.layout.space), arena.alt(options))

    def core(self, arena: Arena, args: Progress) -> Term:
        """As few members as must still come, in one of the orders that are allowed."""
        if self._is_overfull(args):
            return arena.empty
        if self._is_short(args) or len(args.met) < self.plan.demands:
            return self._ending(arena, args, self._left(args))
        return self._plainly(arena, args)

    def after(self, arena: Arena, args: Naming, text: Captured) -> Term:
        """After the name of an undeclared member and its quotation mark: its value, then the rest."""
        before, extra = args.before, self.plan.extras[args.extra]
        used = before.used
        if text is UNKNOWN:
            used = used | {UNKNOWN}
        elif isinstance(text, bytes):
            used = used | {spelled(unspelled(text.removesuffix(b'"')))}
        rest = arena.call(self, self._more(before, self._late(before), used, extra.meets))
        return arena.concat([*self._colon(arena, extra.origin), extra.value, rest])

    def parts(self, arena: Arena, args: Progress) -> Iterable[Term]:
        """Everything an object is made of."""
        yield from (self.layout.space, self.layout.after_comma, self.layout.after_colon, arena.literal(b'{},:"'))
        for member in self.plan.members:
            yield self.text.literal(member.name)
            yield from member.values.values()
        for extra in self.plan.extras:
            yield from (extra.names, extra.value)

    def forget(self, args: Progress | Naming) -> Progress | Naming:
        """The undeclared names written so far do not show in a picture."""
        if isinstance(args, Naming):
            return Naming(replace(args.before, used=frozenset()), args.extra)
        return replace(args, used=frozenset())

    def words(self, args: Progress) -> str:
        """The members that may come, shortly."""
        names = [f'"{self.plan.members[index].name}"' for index in self._left(args)]
        shown = ", ".join(names[:3] + (["…"] if len(names) > 3 or self.plan.extras else []))
        return f"{', ' if args.started and shown else ''}{shown} }}"

    @cached_property
    def sure(self) -> bool:
        """Whether the required members can be written wherever the object stands, and nothing else is needed."""
        plan = self.plan
        if plan.demands or plan.low or plan.high is not None:
            return False
        required = [member for member in plan.members if member.required]
        values = [member.values[frozenset()] for member in required] + [extra.value for extra in plan.extras]
        return is_ascii(m.name for m in required) and all(isinstance(v, Call) and v.rule.sure for v in values)

    def _left(self, args: Progress) -> list[int]:
        return members_of(~args.done & (1 << len(self.plan.members)) - 1)

    def _owed(self, args: Progress) -> list[int]:
        return members_of(self._required & ~args.done)

    def _room(self, args: Progress) -> int | None:
        """How many members may come that are not required; None: any number."""
        return None if self.plan.high is None else self.plan.high - args.count - len(self._owed(args))

    def _is_overfull(self, args: Progress) -> bool:
        """Whether more members must come than may."""
        room = self._room(args)
        return room is not None and room < 0

    @cached_property
    def _names_may_lack(self) -> bool:
        """Whether there may be fewer names for undeclared members than are needed."""
        return self.plan.demands > 0 or not any(map(self._has_names, range(len(self.plan.extras))))

    def _has_names(self, extra: int) -> bool:
        """Whether an undeclared member of a kind has names enough for all members that must come."""
        names, low = self.plan.extras[extra].names, self.plan.low
        if isinstance(names, Repeat) and names.high is None:
            return True
        return sum(1 for _ in texts(self.liveness, self._free(self.liveness.arena, extra, frozenset()), low)) == low

    def _lacks_names(self, arena: Arena, args: Progress) -> bool:
        """Whether too few names are left: not seen while one is being written, so it must be told before."""
        is_owing = self._is_short(args) or len(args.met) < self.plan.demands
        if not (is_owing and self.plan.extras and self._names_may_lack):
            return False
        return not self.liveness.alive(arena.call(self, args))

    def _may_end(self, args: Progress) -> bool:
        fits = not self._is_counted or args.count >= self.plan.low
        return fits and not self._owed(args) and len(args.met) == self.plan.demands

    def _candidates(self, args: Progress) -> list[int]:
        """Members that may come next: in declared order none may pass a required one."""
        room = self._room(args)
        candidates = []
        for index in self._left(args):
            member = self.plan.members[index]
            if member.required or room is None or room > 0:
                candidates.append(index)
            if member.required and not member.late and not self.plan.any_order:
                # The late ones stand last: all of them are behind this one.
                break
        return candidates

    def _undeclared(self, arena: Arena, args: Progress) -> Iterator[Term]:
        room = self._room(args)
        waiting = not self.plan.any_order and any(self._declared >> index & 1 for index in self._owed(args))
        if waiting or (room is not None and room <= 0):
            return
        quote = self._tagged(arena, arena.literal(b'"'))
        for index, extra in enumerate(self.plan.extras):
            if not extra.meets & args.met:
                name = arena.capture(self, Naming(args, index), self._names_left(arena, index, args.used))
                yield arena.seq(quote, name)

    def _more(self, args: Progress, done: int, used: frozenset[bytes | Hole], meets: frozenset[int]) -> Progress:
        """One more member is written."""
        count = args.count
        if self._is_counted:
            # Without an upper bound only whether the lower one is reached matters.
            count = count + 1 if self.plan.high is not None else min(count + 1, self.plan.low)
        return Progress(done, used, True, count, args.met | meets if meets else args.met)

    def _late(self, args: Progress) -> int:
        """Once an undeclared name is written, the declared ones have been passed."""
        return args.done if self.plan.any_order else args.done | self._declared

    def _following(self, args: Progress, index: int, meets: frozenset[int]) -> Progress:
        done = args.done | 1 << index
        if not self.plan.any_order:
            done |= self._declared if self.plan.members[index].late else (1 << index) - 1
        return self._more(args, done, args.used, meets)

    def _member(self, arena: Arena, args: Progress, index: int) -> tuple[Term, ...]:
        """A member and all that may follow it, for each kind of its values; mostly the same whatever came before."""
        varies = self.plan.any_order or self._is_counted or self.plan.members[index].late or args.used or args.met
        found = self._members.get(index) if not varies else None
        if found is None:
            found = tuple(self._with_rest(arena, args, index))
            if not varies:
                self._members[index] = found
        return found

    def _with_rest(self, arena: Arena, args: Progress, index: int) -> Iterator[Term]:
        member = self.plan.members[index]
        for meets, value in member.values.items():
            if not meets & args.met:
                rest = arena.call(self, self._following(args, index, meets))
                yield arena.concat([*self._key(arena, member), value, rest])

    def _key(self, arena: Arena, member: Member) -> tuple[Term, ...]:
        """A member's name and colon, in every spelling, part by part; made once."""
        key = member.name, member.origin.pointer, member.origin.keyword
        known = self._keys.get(key)
        if known is None:
            name = self.text.name(member.name, member.origin)
            known = self._keys[key] = (*name, *self._colon(arena, member.origin))
        return known

    def _colon(self, arena: Arena, origin: Origin) -> tuple[Term, ...]:
        colon = self.layout.space, arena.literal(b":"), self.layout.after_colon
        return tuple(arena.tag(origin, part) for part in colon)

    def _names_left(self, arena: Arena, extra: int, used: frozenset[bytes | Hole]) -> Term:
        """An undeclared name that is not used yet, with its closing quotation mark."""
        key = (extra, used)
        if key not in self._names:
            plan = self.plan.extras[extra]
            name = arena.seq(self._free(arena, extra, used), arena.literal(b'"'))
            self._names[key] = arena.tag(plan.origin, name, "<another name>")
        return self._names[key]

    def _free(self, arena: Arena, extra: int, used: frozenset[bytes | Hole]) -> Term:
        taken = self._named | {name for name in used if isinstance(name, bytes)}
        forbidden = self.text.literals(unspelled(name) for name in taken)
        return arena.both([self.plan.extras[extra].names, arena.complement(forbidden)])

    def _tagged(self, arena: Arena, term: Term) -> Term:
        return arena.tag(self.plan.origin, term)

    def _ending(self, arena: Arena, args: Progress, left: list[int]) -> Term:
        """The rest of the object with members of `left` in this order, then undeclared ones, as few as possible."""
        stages: list[dict[Progress, None]] = [{args: None}]
        for index in left:
            arena.check_time()
            stages.append(dict.fromkeys(after for before in stages[-1] for _, after in self._ways(before, index)))
        extras = sorted(range(len(self.plan.extras)), key=lambda extra: not self.plan.extras[extra].meets)
        terms = {before: self._filled(arena, before, extras) for before in stages.pop()}
        for index in reversed(left):
            name = spelled(self.plan.members[index].name)
            terms = {
                before: arena.alt(
                    terms[after] if value is None else _written(arena, before, name, value, terms[after])
                    for value, after in self._ways(before, index)
                )
                for before in stages.pop()
            }
        return terms[args]

    def _ways(self, args: Progress, index: int) -> Iterator[tuple[Term | None, Progress]]:
        """To pass a member over (None), or the values that it may have; with what is written then."""
        member = self.plan.members[index]
        if not member.required:
            yield None, replace(args, done=args.done | 1 << index)
        room = self._room(args)
        if member.required or room is None or room > 0:
            for meets, value in member.values.items():
                if not meets & args.met and (member.required or meets or self._is_short(args)):
                    yield value, self._following(args, index, meets)

    def _plainly(self, arena: Arena, args: Progress) -> Term:
        """The required members that are left and the end, where there are enough and all demands are met."""
        owed = [self.plan.members[index] for index in self._owed(args)]
        term = arena.literal(b"}")
        for place, member in reversed(list(enumerate(owed))):
            before = args if place == 0 else replace(args, started=True)
            term = _written(arena, before, spelled(member.name), member.values[frozenset()], term)
        return term

    def _is_short(self, args: Progress) -> bool:
        return self._is_counted and args.count < self.plan.low

    def _filled(self, arena: Arena, args: Progress, extras: list[int]) -> Term:
        """Undeclared members of these kinds until the object may end, with names that are not used.

        Those that meet demands come first. They try as many names as there are demands: one of them is left to them.
        """
        if self._may_end(args):
            return arena.literal(b"}")
        if not extras or self._room(args) == 0:
            return arena.empty
        extra = self.plan.extras[extras[0]]
        options = [self._filled(arena, args, extras[1:])]
        if extra.meets & args.met or not (self._is_short(args) or extra.meets):
            return options[0]
        following = self._more(args, args.done, args.used, extra.meets)
        tried = self.plan.demands if extra.meets else 1
        for name in texts(self.liveness, self._free(arena, extras[0], args.used), tried):
            used = args.used | {spelled(unspelled(name))}
            rest = self._filled(arena, replace(following, used=used), extras)
            options.append(_written(arena, args, name, extra.value, rest))
        return arena.alt(options)


def _written(arena: Arena, args: Progress, name: bytes, value: Term, rest: Term) -> Term:
    """A member in its shortest spelling, with the rest."""
    key = (b"," if args.started else b"") + b'"' + name + b'":'
    return arena.seq(arena.literal(key), arena.seq(value, rest))


def subsets(items: Sequence[int]) -> list[frozenset[int]]:
    """All subsets, the empty one first."""
    return [frozenset(chosen) for size in range(len(items) + 1) for chosen in combinations(items, size)]
