"""The policy `canonical`: only tokens that keep the text's canonical tokenisation reachable.

A model has seen nearly every text in one tokenisation; what it gives to the others is lost (arXiv 2506.07956 and
2506.06446). A tokenisation is kept canonical token by token: where a longer text has a token boundary at the end of a
beginning, merging gives that beginning the same tokens as if it stood alone. So the tokens written and a next one are
compared with the tokenizer's own encoding of the bytes they spell, and where the constraint leaves few ways on, these
are tried too: it may demand just what the tokenizer would have joined.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine.automaton.terms import members_of
from engine.masking.masker import Masker
from engine.masking.place import Place
from engine.masking.targets import TargetWalk
from engine.masking.token_mask import TokenMask
from engine.vocabulary import Canonical, Vocabulary

Bools = NDArray[np.bool_]
Ids = tuple[int, ...]

LETTER, DIGIT, SPACE, OTHER, OPEN = range(5)
"""Kinds of characters that tokenizers tell apart when they cut text into words. `OPEN`: whatever follows, it may count
among what stands before (an apostrophe, half a character)."""

APOSTROPHES = "'\u2019"

WINDOW = 8
"""Tokens compared at most, the next one aside."""

WINDOWS = 64
"""Windows whose comparisons are remembered, two bool (size,) each."""

FEW = 256
"""Ways on are tried where at most as many tokens are allowed; where there are more, one is taken to be left."""

AHEAD = 256
"""Texts tried at most to find a way on after one token; a token for which that does not decide it is kept."""

FOLLOWING = 256
"""Sets of bytes of which it is remembered which endings they change."""

VOCABULARIES = 4
"""Vocabularies of which it is remembered which tokens are canonical by themselves, and in which order they stand."""

PROBES = ("\U000f0000".encode(), b"a", b"\n", b"\n\n", b"\r")
"""What may follow white space: a character that nothing merges with, a letter, line breaks (some tokenizers take white
space before these for one word)."""


@dataclass(frozen=True, slots=True)
class Work:
    """What comparing has cost so far: texts encoded, and seconds in all.

    Which tokens are canonical by themselves is found once for a vocabulary: in the seconds of whoever came first, and
    not among the encodings.
    """

    encodings: int = 0
    seconds: float = 0.0


class CanonicalOnly:
    """Only tokens after which the tokenizer's own encoding of an accepted text can still begin with what is written.

    Compared is the end of the text, from the last token that begins a word (a space after something else), at most
    `WINDOW` tokens: what stands before it was compared when it was written, and the tokenizers supported merge within
    words only. A token stays if the encoding of these bytes and its own gives exactly these tokens and it. Two things
    later bytes can still change, and only there more stays:

    - A text that ends inside a character has no encoding yet: it stays, and is decided when the character is complete.
    - White space at the end is cut differently once something follows (`\\s+(?!\\S)`): it stays also where it gives
      these tokens with one of `PROBES` after it.

    Of these a token is kept if there is a way on after it: the text may end there and is canonical as it stands; or a
    byte may follow that no token holds behind the last one, in a place where words are not cut anew, so that nothing
    can change what is written; or more than `FEW` tokens may follow; or one of the few stays and has itself a way on.
    So `"` is masked where only `:` may follow and the tokenizer writes `":`.

    Guaranteed, for a tokenizer that merges within words: no token is masked that begins the rest of the canonical
    tokenisation of an accepted text. A run of which no step fell back, and that ended with an end token, is the
    tokenizer's own tokenisation of its text. Not guaranteed is that no step will fall back: a way on is not looked for
    beyond `FEW` tokens to choose from or `AHEAD` texts, it may need more tokens than the run's limit leaves, and a
    constraint may hold no text that the tokenizer gives back unchanged. Where nothing is left the mask is empty. After
    a token taken there all the same, only the longest canonical end of the window is compared, and what is said here
    holds of the text from there on.

    Encoded are only tokens with which a token of the vocabulary could cross the join, or where words may be cut in
    another way than in the two parts: after white space or an apostrophe, between two digits, between two marks of
    punctuation. Any other token is canonical there if it is by itself.

    `narrow` raises `BudgetError` when the constraint's budget is used up.
    """

    def __init__(self, masker: Masker, canonical: Canonical) -> None:
        self._masker = masker
        self._automaton = masker.automaton
        self._vocabulary = masker.vocabulary
        self._canonical = canonical
        self._joins = _joins(masker.vocabulary)
        self._targets = TargetWalk(masker.automaton, masker.vocabulary)
        self._known: OrderedDict[Ids, tuple[Bools, Bools]] = OrderedDict()
        self._canonical_end = lru_cache(maxsize=WINDOWS)(self._shortened)
        self._encodings = 0
        self._seconds = 0.0

    @property
    def work(self) -> Work:
        """What all comparisons of this instance have cost."""
        return Work(self._encodings, self._seconds)

    def narrow(self, allowed: Bools, place: Place) -> Bools:
        """Those of the `allowed` tokens, bool (size,), that stay canonical after the tokens of the place."""
        started = time.perf_counter()
        window = self._canonical_end(self._window(place.tokens))
        kept = allowed & self._kept(window, allowed)
        for token_id in self._doubtful(kept, place.state):
            kept[token_id] = self._leads_on((*window, token_id), place.state)
        ends = [token_id for token_id in self._vocabulary.end_ids if allowed[token_id]]
        if ends and self._is_canonical(window):
            kept[ends] = True
        self._seconds += time.perf_counter() - started
        return kept

    def _window(self, tokens: Ids) -> Ids:
        """The end of the text that is compared. It begins where a character does, if one does there."""
        first = max(0, len(tokens) - WINDOW)
        for start in range(len(tokens) - 1, first, -1):
            if self._begins_word(tokens[start - 1], tokens[start]):
                return tokens[start:]
        while first and first < len(tokens) and not _begins_character(self._vocabulary.tokens[tokens[first]]):
            first += 1
        return tokens[first:]

    def _shortened(self, window: Ids) -> Ids:
        """The longest end of the window that may begin a text: all of it, unless a token was taken that was masked."""
        return next((window[start:] for start in range(len(window)) if self._stays(window[start:])), ())

    def _doubtful(self, kept: Bools, state: int) -> list[int]:
        """The kept tokens after which every byte allowed next could change what is written."""
        ids = np.flatnonzero(kept)
        with self._automaton.lock:
            targets = self._targets.targets(self._automaton.counted_state(state))
            following = [0, *map(self._next_bytes, targets.states)]
            changed = np.stack([self._joins.changed(members) for members in following])
        doubtful: list[int] = ids[changed[targets.groups[ids], self._joins.ending[ids]]].tolist()
        return doubtful

    def _leads_on(self, ids: Ids, state: int) -> bool:
        """Whether there is a way on after these tokens, which stay; `state` is the one before the last of them.

        It is looked for without captured texts first: states have more in common so, and what is found holds.
        """
        if self._finds_way(ids, self._automaton.counted_state(state)):
            return True
        return self._automaton.arena.captures and self._finds_way(ids, state)

    def _finds_way(self, ids: Ids, state: int) -> bool:
        pending = [(ids, state)]
        for _ in range(AHEAD):
            if not pending:
                return False
            here, before = pending.pop()
            if here != ids and not self._stays(here):
                continue
            after = self._masker.advance(before, here[-1])
            if after is None:  # a captured text decides
                continue
            following = self._masker.mask(after)
            if following.count > FEW or self._is_settled(here, after):
                return True
            pending += [((*here, token_id), after) for token_id in self._likely_last(following)]
        return True

    def _likely_last(self, following: TokenMask) -> list[int]:
        ids = following.ids()
        ordered: list[int] = ids[np.argsort(self._joins.likely[ids])].tolist()
        return [token_id for token_id in ordered if self._vocabulary.tokens[token_id]]

    def _is_settled(self, ids: Ids, state: int) -> bool:
        """Whether the text may end after these tokens, as it stands, or a byte may follow that changes none of them."""
        with self._automaton.lock:
            changed = self._joins.changed(self._next_bytes(state))[self._joins.ending[ids[-1]]]
            ends = self._automaton.is_accepting(state)
        return not changed or (ends and self._is_canonical(ids))

    def _next_bytes(self, state: int) -> int:
        """A set of bytes that may be read next, as a 256-bit integer. Hold the automaton's lock."""
        one_byte, moves = self._vocabulary.one_byte, self._automaton.moves(state)
        return sum(members for members, after in moves if after >= 0 and self._automaton.spellable(after, one_byte))

    def _is_canonical(self, ids: Ids) -> bool:
        return not ids or self._encode([self._spell(ids)]) == [ids]

    def _stays(self, ids: Ids) -> bool:
        return _stay(self._encode, {ids: self._spell(ids)})[0]

    def _begins_word(self, before: int, token_id: int) -> bool:
        spelled = self._vocabulary.tokens
        return spelled[token_id][:1] == b" " and bool(spelled[before]) and not _ends_in_space(spelled[before])

    def _kept(self, window: Ids, allowed: Bools) -> Bools:
        """Bool (size,): of the allowed tokens those that may follow the window."""
        asked, kept = self._known.get(window) or self._unaffected(window)
        todo = np.flatnonzero(allowed & ~asked)
        data = self._spell(window)
        kept, asked = kept.copy(), asked | allowed
        texts = {(*window, token_id): data + self._vocabulary.tokens[token_id] for token_id in todo.tolist()}
        kept[todo] = _stay(self._encode, texts)
        self._known[window] = asked, kept
        self._known.move_to_end(window)
        if len(self._known) > WINDOWS:
            self._known.popitem(last=False)
        return kept

    def _unaffected(self, window: Ids) -> tuple[Bools, Bools]:
        """The tokens that need no encoding after the window, and those of them that may follow."""
        data = self._spell(window)
        if not window:
            settled = np.ones(self._vocabulary.size, dtype=np.bool_)
        else:
            settled = ~(self._joins.crossed(data) | self._joins.cut_anew(data))
        return settled, settled & _alone(self._vocabulary, self._canonical)

    def _encode(self, texts: Sequence[bytes]) -> list[Ids | None]:
        self._encodings += len(texts)
        return self._canonical.encode_many(texts)

    def _spell(self, ids: Iterable[int]) -> bytes:
        return b"".join(self._vocabulary.tokens[token_id] for token_id in ids)


class _Joins:
    """The tokens of a vocabulary in order of their bytes, to find those that cross the end of a text."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._ids = vocabulary.trie.token_ids  # the trie stands in pre-order
        self._spelled = [vocabulary.tokens[token_id] for token_id in self._ids.tolist()]
        self._size = vocabulary.size
        self._first = np.array([_kind(token.decode(errors="replace")[:1]) for token in vocabulary.tokens])
        self._longest = vocabulary.longest
        self._pairs = _pairs(vocabulary.tokens)
        self.ending = np.array([_ending(token) for token in vocabulary.tokens], dtype=np.int32)
        """int32 (size,): a token's last byte and the kind of its last character, `OPEN` where that may be cut anew."""
        self.likely = _ranks([(not _ends_in_space(token), len(token)) for token in vocabulary.tokens])
        """int64 (size,), ranks: first white space, whose cut is open; the longest last: likely canonical."""
        self.changed = lru_cache(maxsize=FOLLOWING)(self._changed)

    def crossed(self, data: bytes) -> Bools:
        """Bool (size,): tokens that begin with the rest of some token of which `data` ends with the beginning."""
        found = np.zeros(self._size, dtype=np.bool_)
        for rest in self._rests(data):
            low, high = self._range(rest)
            found[self._ids[low:high]] = True
        return found

    def cut_anew(self, data: bytes) -> Bools:
        """Bool (size,): tokens with which the end of `data` may be cut into other words than by itself."""
        last = data.decode(errors="replace")[-1:]
        kind = _kind(last)
        if _ends_inside(data) or kind == SPACE or last in APOSTROPHES:
            return np.ones(self._size, dtype=np.bool_)
        return np.asarray(self._first == kind) if kind != LETTER else np.zeros(self._size, dtype=np.bool_)

    def _changed(self, following: int) -> Bools:
        """Bool by `ending`: whether each of these bytes, a 256-bit integer, may change a text with this ending."""
        changed = np.ones((256, OPEN + 1), dtype=np.bool_)
        for byte in members_of(following):
            same = np.array([kind != LETTER and (byte > 0x7F or kind == _kind(chr(byte))) for kind in range(OPEN + 1)])
            same[[SPACE, OPEN]] = True
            changed &= self._pairs[:, byte, None] | same
        return changed.ravel()

    def _rests(self, data: bytes) -> set[bytes]:
        rests: set[bytes] = set()
        for start in range(max(0, len(data) - self._longest), len(data)):
            low, high = self._range(data[start:])
            shortest = b""
            for token in self._spelled[low:high]:
                rest = token[len(data) - start :]
                if rest and not (shortest and rest.startswith(shortest)):
                    shortest = rest
                    rests.add(rest)
        return rests

    def _range(self, beginning: bytes) -> tuple[int, int]:
        """Where in the order the tokens stand that begin so."""
        low = bisect_left(self._spelled, beginning)
        return low, bisect_left(self._spelled, beginning + b"\xff" * self._longest, low)


@lru_cache(maxsize=VOCABULARIES)
def _joins(vocabulary: Vocabulary) -> _Joins:
    return _Joins(vocabulary)


@lru_cache(maxsize=VOCABULARIES)
def _alone(vocabulary: Vocabulary, canonical: Canonical) -> Bools:
    """Bool (size,): the tokens that may begin a text."""
    texts: dict[Ids, bytes] = {(token_id,): token for token_id, token in enumerate(vocabulary.tokens)}
    alone = np.array(_stay(canonical.encode_many, texts), dtype=np.bool_)
    alone.setflags(write=False)
    return alone


def _stay(encode: Callable[[Sequence[bytes]], list[Ids | None]], texts: Mapping[Ids, bytes]) -> list[bool]:
    """Which of these tokens, each with what they spell, may begin the encoding of a longer text."""
    stay = {ids for ids, data in texts.items() if _ends_inside(data)}
    whole = [ids for ids in texts if ids not in stay]
    stay |= {ids for ids, own in zip(whole, encode([texts[ids] for ids in whole]), strict=True) if own == ids}
    open_ended = [ids for ids in whole if ids not in stay and _ends_in_space(texts[ids])]
    for probe in PROBES:
        encoded = encode([texts[ids] + probe for ids in open_ended])
        stay |= {ids for ids, own in zip(open_ended, encoded, strict=True) if own and own[: len(ids)] == ids}
    return [ids in stay for ids in texts]


def _pairs(tokens: Iterable[bytes]) -> Bools:
    """Bool (256, 256): which byte stands before which in some token."""
    pairs = np.zeros((256, 256), dtype=np.bool_)
    for token in tokens:
        data = np.frombuffer(token, dtype=np.uint8)
        pairs[data[:-1], data[1:]] = True
    return pairs


def _ranks(keys: Sequence[tuple[bool, int]]) -> NDArray[np.int64]:
    ranks = np.empty(len(keys), dtype=np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return ranks


def _ending(token: bytes) -> int:
    last = token.decode(errors="ignore")[-1:]
    is_open = not last or last in APOSTROPHES or not token.endswith(last.encode())
    return (token or b"\0")[-1] * (OPEN + 1) + (OPEN if is_open else _kind(last))


def _kind(character: str) -> int:
    if character.isspace():
        return SPACE
    return LETTER if character.isalpha() else DIGIT if character.isnumeric() else OTHER


def _ends_in_space(data: bytes) -> bool:
    return data[-1:].isspace() or data[-3:].decode(errors="ignore")[-1:].isspace()


def _begins_character(data: bytes) -> bool:
    return data[:1] < b"\x80" or data[:1] >= b"\xc0"


def _ends_inside(data: bytes) -> bool:
    """Whether the last character lacks bytes."""
    for back, byte in enumerate(reversed(data[-4:])):
        if byte & 0xC0 != 0x80:
            return back + 1 < (1 if byte < 0xC0 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4)
    return False
