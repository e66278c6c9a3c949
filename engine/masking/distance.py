"""How many tokens it takes to the end, and masks that close in time.

The distance of a state is the fewest tokens that lead from it to acceptance, the end token included. Where few states
can be reached it is measured (exact_distance.py). Elsewhere it is bounded by the fewest tokens that spell a shortest
text; a longer text may take fewer.

Neighbouring states have nearly everything in common, so bounds are asked of states in the mask's form, without captured
texts. Where such a text decides what may follow, the run's own state is asked.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from engine.automaton.automaton import Automaton
from engine.masking.exact_distance import ExactDistances
from engine.masking.masker import Masker
from engine.masking.place import Place
from engine.masking.target_walk import Ints
from engine.masking.targets import TargetWalk, compressible, fewest_to_spell, spelled
from engine.vocabulary import Vocabulary

Kind = Literal["exact", "form", "run"]
"""Which form the state has that bounds were found from."""

FAR = int(np.iinfo(np.int32).max)
"""The bound of a token that is not allowed."""

DOUBTFUL = -1

FEW = 16
"""Tokens in doubt that are tried one by one from the run's own state."""

BOUND_BYTES = 16 * 2**20
"""Bytes of bounds that are kept for one masker; what is evicted is recomputed."""

PLANS = 256
"""Plans that a run keeps; what is evicted is recomputed."""


@dataclass(frozen=True, slots=True)
class Distance:
    """Tokens to acceptance, the end token included: the fewest if `exact`, else an upper bound of them."""

    tokens: int
    exact: bool


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """What is left to do after each token.

    `tokens`: int32 (size,), read-only: a bound on the distance after the token; 0 for an end token where it is allowed,
    FAR for what is not allowed. `most`: the largest one that is not FAR. `exact`: none of them can be lowered.
    `doubtful` and `uncertain`: ids of tokens that must be tried from the run's own state, the former by state.
    """

    tokens: Ints
    most: int
    exact: bool
    doubtful: tuple[Ints, ...] = ()
    uncertain: tuple[int, ...] = ()


class Distances:
    """Distances to acceptance of one automaton over one vocabulary. Safe to share between threads.

    Methods raise `BudgetError` when the constraint's budget is used up.
    """

    def __init__(self, automaton: Automaton, vocabulary: Vocabulary, memory: int = BOUND_BYTES) -> None:
        self.automaton = automaton
        self.vocabulary = vocabulary
        self._alphabet = compressible(vocabulary)
        self._walk = TargetWalk(automaton, vocabulary)
        self._kept = max(1, memory // (4 * vocabulary.size))
        self._remembered: OrderedDict[tuple[Kind, int], Bounds] = OrderedDict()
        self._bounds: dict[int, int] = {}
        self._exact = ExactDistances(self._walk)

    @staticmethod
    def of(masker: Masker) -> Distances:
        """Those that belong to a masker: one for all runs."""
        with masker.automaton.lock:
            if masker not in _distances:
                _distances[masker] = Distances(masker.automaton, masker.vocabulary)
            return _distances[masker]

    def tokens_to_acceptance(self, state: int) -> Distance:
        """The distance of a state."""
        with self.automaton.lock:
            measured = self._exact.measure(state)
            if measured is not None:
                return Distance(self._exact.distances[measured], exact=True)
            tokens = 1 + len(self.plan(state))
            least = 1 + -(-self.automaton.fewest_bytes(state) // max(1, self.vocabulary.longest))
            return Distance(tokens, exact=tokens <= max(least, 3))  # one token or none to acceptance is seen at once

    def along(self, states: Sequence[int]) -> list[Distance]:
        """The distances of a run's states, one by one."""
        return [self.tokens_to_acceptance(state) for state in states]

    def after(self, state: int) -> Bounds:
        """The distance after each token."""
        with self.automaton.lock:
            measured = self._exact.measure(state)
            if measured is not None:
                return self._remembered_at("exact", measured) or self._exact_bounds(measured)
            while True:
                hides_owed = self.automaton.arena.hides_owed
                bounds = self._bounds_after(state)
                if hides_owed == self.automaton.arena.hides_owed:
                    return bounds
                self._remembered.clear()

    def plan(self, state: int) -> tuple[int, ...]:
        """Few tokens that complete the state: those of a shortest text, or if that takes fewer, one and then those."""
        with self.automaton.lock:
            plan = spelled(self.vocabulary, self.text(state))
            if len(plan) > 1:
                bounds = self.after(state).tokens
                first = int(bounds.argmin())
                if bounds[first] < len(plan):
                    plan = (first, *spelled(self.vocabulary, self.text_after(state, first)))
            return plan

    def text(self, state: int) -> bytes:
        """A shortest text that completes the state."""
        while True:
            hides_owed = self.automaton.arena.hides_owed
            text = self.automaton.certain(self._key(state), self._alphabet)
            if hides_owed == self.automaton.arena.hides_owed:
                break
        if text is None:
            text = self.automaton.certain(state, self._alphabet)
        assert text is not None, "a run's state captured its texts and can be completed"
        return text

    def text_after(self, state: int, token_id: int) -> bytes:
        """The text by which the distance after an allowed token is bounded."""
        token = self.vocabulary.tokens[token_id]
        while True:
            hides_owed = self.automaton.arena.hides_owed
            target = self.automaton.advance(self._key(state), token)
            text = None if target is None else self.automaton.certain(target, self._alphabet)
            if hides_owed == self.automaton.arena.hides_owed:
                break
        if text is not None:
            return text
        after = self.automaton.advance(state, token)
        assert after is not None, "the token is allowed"
        return self.text(after)

    def _key(self, state: int) -> int:
        return self.automaton.distance_state(state, self.vocabulary.longest)

    def _exact_bounds(self, measured: int) -> Bounds:
        targets = self._walk.targets(measured)
        bounds = [FAR, *(self._exact.distances.get(target, FAR) for target in targets.states)]
        return self._finished("exact", measured, np.array(bounds, dtype=np.int32)[targets.groups])

    def _bounds_after(self, state: int) -> Bounds:
        key = self._key(state)
        bounds = self._remembered_at("form", key) or self._upper_bounds(key)
        if not bounds.doubtful and not bounds.uncertain:
            return bounds
        return self._remembered_at("run", state) or self._decide(state, bounds)

    def _upper_bounds(self, key: int) -> Bounds:
        targets = self._walk.targets(key)
        bounds = np.array([FAR, *map(self._bound, targets.states)], dtype=np.int32)
        doubtful = tuple(
            np.flatnonzero(targets.groups == group).astype(np.int32) for group in np.flatnonzero(bounds == DOUBTFUL)
        )
        bounds[bounds == DOUBTFUL] = FAR
        trie = self.vocabulary.trie
        uncertain = tuple(token_id for node in targets.uncertain for token_id in trie.subtree_ids(node))
        return self._finished("form", key, bounds[targets.groups], doubtful, uncertain)

    def _bound(self, target: int) -> int:
        """An upper bound from a mask state, FAR if nothing can be spelled from it, DOUBTFUL if it cannot tell."""
        if target not in self._bounds:
            if not self.automaton.spellable(target, self.vocabulary.one_byte):
                self._bounds[target] = FAR
            else:
                text = self.automaton.certain(target, self._alphabet)
                self._bounds[target] = DOUBTFUL if text is None else 1 + fewest_to_spell(self.vocabulary, text)
        return self._bounds[target]

    def _decide(self, state: int, bounds: Bounds) -> Bounds:
        """The bounds of tokens that depend on captured texts, from the state itself.

        Where many tokens are in doubt together, the first and the last speak for all: what another one rules out later
        is taken to be replaced within as many tokens as their texts have bytes.
        """
        tokens = bounds.tokens.copy()
        for ids in bounds.doubtful:
            if len(ids) <= FEW:
                tokens[ids] = [self._bound_after(state, token_id) for token_id in ids.tolist()]
            else:
                tokens[ids] = 1 + max(len(self.text_after(state, int(token_id))) for token_id in ids[[0, -1]])
        tokens[list(bounds.uncertain)] = [self._bound_after(state, token_id) for token_id in bounds.uncertain]
        return self._finished("run", state, tokens)

    def _bound_after(self, state: int, token_id: int) -> int:
        after = self.automaton.advance(state, self.vocabulary.tokens[token_id])
        if after is None or not self.automaton.spellable(after, self.vocabulary.one_byte):
            return FAR
        return 1 + fewest_to_spell(self.vocabulary, self.text(after))

    def _finished(
        self, kind: Kind, state: int, tokens: Ints, doubtful: tuple[Ints, ...] = (), uncertain: tuple[int, ...] = ()
    ) -> Bounds:
        tokens[list(self.vocabulary.end_ids)] = 0 if self.automaton.is_accepting(state) else FAR
        tokens.setflags(write=False)
        most = int(tokens.max(initial=0, where=tokens < FAR))
        bounds = self._remembered[kind, state] = Bounds(tokens, most, kind == "exact", doubtful, uncertain)
        if len(self._remembered) > self._kept:
            self._remembered.popitem(last=False)
        return bounds

    def _remembered_at(self, kind: Kind, state: int) -> Bounds | None:
        if (kind, state) in self._remembered:
            self._remembered.move_to_end((kind, state))
        return self._remembered.get((kind, state))


class CloseInTime:
    """Keeps a run within its token limit: a token is allowed only if acceptance can be reached after it in time.

    Bounds need not fall by one with every token, so a way to the end is kept in mind: the plan. Its first token is
    always allowed, and a run that could close at the start always closes.
    """

    def __init__(self, masker: Masker) -> None:
        self.distances = Distances.of(masker)
        self._plans: OrderedDict[tuple[int, tuple[int, ...]], tuple[int, tuple[int, ...]]] = OrderedDict()

    def distance(self, state: int) -> Distance:
        """The distance of a state; of a run's first state, the smallest limit with which it can close."""
        return self.distances.tokens_to_acceptance(state)

    def narrow(self, allowed: NDArray[np.bool_], place: Place) -> NDArray[np.bool_]:
        """The allowed tokens, bool (size,), after which the tokens that then remain are enough."""
        with self.distances.automaton.lock:
            bounds = self.distances.after(place.state)
            left = place.remaining - 1
            if bounds.most <= left:
                return allowed
            in_time = bounds.tokens <= left
            if not bounds.exact:
                plan = self._plan(place.start, place.tokens)
                if 0 < len(plan) <= left:
                    in_time[plan[0]] = True
            return in_time & allowed

    def _plan(self, start: int, tokens: tuple[int, ...]) -> tuple[int, ...]:
        """Tokens that complete the text, the end token left out.

        After each token the rest of the plan, if the token was its first, or a new one if that is shorter.
        """
        known = len(tokens)
        while known and (start, tokens[:known]) not in self._plans:
            known -= 1
        if known:
            state, plan = self._plans[start, tokens[:known]]
        else:
            state, plan = start, self.distances.plan(start)
        for count in range(known, len(tokens)):
            token_id = tokens[count]
            new = spelled(self.distances.vocabulary, self.distances.text_after(state, token_id))
            plan = plan[1:] if plan[:1] == (token_id,) and len(plan) - 1 <= len(new) else new
            after = self.distances.automaton.advance(state, self.distances.vocabulary.tokens[token_id])
            assert after is not None, "the tokens were allowed"
            state = after
            self._plans[start, tokens[: count + 1]] = state, plan
            if len(self._plans) > PLANS:
                self._plans.popitem(last=False)
        return plan


_distances: WeakKeyDictionary[Masker, Distances] = WeakKeyDictionary()
