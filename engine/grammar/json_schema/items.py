"""The items of an array: by position, counted, some of them counted by what they satisfy, unique if asked.

`ItemsRule` is what remains of an array after some of its items; `arrays.py` makes its plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from engine.automaton.arena import Arena
from engine.automaton.terms import FORGOTTEN, UNKNOWN, Captured, Hole, Term
from engine.errors import Origin
from engine.grammar.json_schema.layout import Layout


@dataclass(frozen=True, slots=True)
class Counted:
    """`low` to `high` items from index `start` on satisfy something; `number` names it to `ArrayPlan.item`."""

    low: int
    high: int | None
    start: int


@dataclass(frozen=True, slots=True)
class Item:
    """Where an item stands and what it is to do.

    `index`: its position, no more than the number of items with a schema of their own. `counts` and `excludes`: numbers
    of the `Counted` conditions that it satisfies, and that it must not. `unlike`: JSON texts that it may not equal;
    `like`: the JSON text that it equals; `again`: a later item can be equal to it.
    """

    index: int
    counts: frozenset[int] = frozenset()
    excludes: frozenset[int] = frozenset()
    unlike: frozenset[str] = frozenset()
    like: str | None = None
    again: bool = False


@dataclass(frozen=True, slots=True)
class ArrayPlan:
    """All about the items of an array.

    `item(item)`: the term of an item. `first`: items with a schema of their own. `unique`: no two items are equal;
    `repeats`: some two are. `barred(start, used, waiting)`: JSON texts that an item may not be, for then no different
    values would be left for the others, those that conditions wait for (by their numbers) among them; None if there are
    none left already. `normal(text)`: one JSON text per value.
    """

    item: Callable[[Item], Term]
    first: int
    low: int
    high: int | None
    counted: tuple[Counted, ...]
    unique: bool
    repeats: bool
    barred: Callable[[int, frozenset[str], tuple[int, ...]], frozenset[str] | None]
    normal: Callable[[bytes], str]
    origin: Origin


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an array is written.

    `index`: items written, up to the last that matters; `hits`: for each counted condition, how many items satisfied
    it. `used`: the items written, where they must differ. `twin`: the item that is to come again; `repeated`: it has.
    """

    index: int = 0
    hits: tuple[int, ...] = ()
    used: frozenset[str | Hole] = frozenset()
    twin: str | Hole | None = None
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Writing:
    """An item that must be remembered is being written."""

    after: Progress
    is_twin: bool


class ItemsRule:
    """The rest of an array, from after `[` or after an item, up to and with `]`."""

    def __init__(self, layout: Layout, plan: ArrayPlan) -> None:
        self.name = f"items of {plan.origin.pointer or 'the root'}"
        self.layout = layout
        self.plan = plan
        self.sure = plan.low == 0 and not plan.repeats and not any(wanted.low for wanted in plan.counted)
        self._last_index = max(plan.first, plan.low, plan.high or 0, *(c.start for c in plan.counted), 0) + 1

    def nullable(self, args: Progress) -> bool:
        """An array always ends with `]`."""
        return False

    def body(self, arena: Arena, args: Progress) -> Term:
        """The next item, or the end."""
        origin = self.plan.origin
        space = arena.tag(origin, self.layout.space)
        is_unsure = args.twin is UNKNOWN or UNKNOWN in args.used
        is_full = self.plan.high is not None and args.index >= self.plan.high
        options = []
        if self._may_end(args):
            options.append(arena.seq(space, arena.tag(origin, arena.literal(b"]"))))
        elif is_unsure and not is_full:
            return arena.uncertain
        if not is_full:
            if is_unsure:
                # What may follow an item that was not remembered depends on what it was, the comma itself as well:
                # nothing stands between the two.
                comma, next_one = arena.seq(self.layout.space, arena.literal(b",")), arena.uncertain
            else:
                comma = arena.concat([self.layout.space, arena.literal(b","), self.layout.after_comma])
                next_one = arena.alt(self._items(arena, args))
            options.append(arena.seq(arena.tag(origin, comma) if args.index else space, next_one))
        return arena.alt(options)

    def core(self, arena: Arena, args: Progress) -> Term:
        """The end alone if the array may end here, else the whole body. An item that is not known rules nothing out."""
        if self._may_end(args):
            return arena.literal(b"]")
        twin = FORGOTTEN if args.twin is UNKNOWN else args.twin
        return self.body(arena, replace(args, used=args.used - {UNKNOWN}, twin=twin))

    def after(self, arena: Arena, args: Writing, text: Captured) -> Term:
        """After an item that must be remembered."""
        progress = args.after
        value = self.plan.normal(text) if isinstance(text, bytes) else text
        if args.is_twin:
            return arena.call(self, replace(progress, twin=value))
        used = progress.used | {value} if isinstance(value, str) or value is UNKNOWN else progress.used
        return arena.call(self, replace(progress, used=used))

    def parts(self, arena: Arena, args: Progress) -> Iterable[Term]:
        """Everything an array is made of."""
        yield from (self.layout.space, self.layout.after_comma, arena.literal(b"[],"))
        for index in range(self.plan.first + 1):
            yield self.plan.item(Item(index))

    def forget(self, args: Progress | Writing) -> Progress | Writing:
        """The items written so far do not show in a picture."""
        if isinstance(args, Writing):
            return Writing(replace(args.after, used=frozenset()), args.is_twin)
        return replace(args, used=frozenset(), twin=None if args.twin is None else FORGOTTEN)

    def words(self, args: Progress) -> str:
        """What may come, shortly."""
        return ", … ]" if args.index else "… ]"

    def _may_end(self, args: Progress) -> bool:
        counted = all(hits >= wanted.low for hits, wanted in zip(self._hits(args), self.plan.counted, strict=True))
        return args.index >= self.plan.low and counted and (args.repeated or not self.plan.repeats)

    def _hits(self, args: Progress) -> tuple[int, ...]:
        return args.hits or (0,) * len(self.plan.counted)

    def _items(self, arena: Arena, args: Progress) -> Iterator[Term]:
        """Every way to write the next item, with what remains after it."""
        plan = self.plan
        index = min(args.index, plan.first)
        used: frozenset[str] = frozenset(text for text in args.used if isinstance(text, str))
        barred = cache(lambda waiting: plan.barred(args.index, used, waiting) if plan.unique else frozenset())
        for counts, excludes, hits in self._choices(args, 0):
            arena.check_time()
            following = replace(args, index=min(args.index + 1, self._last_index), hits=hits)
            unlike = barred(self._waiting(hits))
            if unlike is None:
                continue
            item = Item(index, counts, excludes, used | unlike)
            if plan.unique:
                yield arena.capture(self, Writing(following, is_twin=False), plan.item(item))
            else:
                yield arena.seq(plan.item(item), arena.call(self, following))
            if plan.repeats and not args.repeated:
                yield from self._twins(arena, args, item, following)

    def _waiting(self, hits: tuple[int, ...]) -> tuple[int, ...]:
        """Conditions that still wait for an item; of alike items any one will do, whatever came before."""
        if not self.plan.first:
            return ()
        return tuple(number for number, wanted in enumerate(self.plan.counted) if hits[number] < wanted.low)

    def _twins(self, arena: Arena, args: Progress, item: Item, following: Progress) -> Iterator[Term]:
        if args.twin is None:
            yield arena.capture(self, Writing(following, is_twin=True), self.plan.item(replace(item, again=True)))
        else:
            # A twin that was forgotten may be anything.
            like = args.twin if isinstance(args.twin, str) else None
            repeated = arena.call(self, replace(following, repeated=True))
            yield arena.seq(self.plan.item(replace(item, like=like)), repeated)

    def _choices(self, args: Progress, number: int) -> Iterator[tuple[frozenset[int], frozenset[int], tuple[int, ...]]]:
        """For the conditions from `number` on: which the next item satisfies, which it must not, the hits after it."""
        if number == len(self.plan.counted):
            yield frozenset(), frozenset(), ()
            return
        wanted = self.plan.counted[number]
        hits = self._hits(args)[number]
        for counts, excludes, rest in self._choices(args, number + 1):
            if args.index < wanted.start or (wanted.high is None and hits >= wanted.low):
                yield counts, excludes, (hits, *rest)
                continue
            # Without an upper bound an item may go uncounted; with one, every item is judged.
            yield counts, excludes if wanted.high is None else excludes | {number}, (hits, *rest)
            if wanted.high is None or hits < wanted.high:
                yield counts | {number}, excludes, (hits + 1, *rest)
