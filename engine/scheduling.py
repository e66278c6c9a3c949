"""Cooperative scheduling: work that takes long gives way to all other work of its process.

Python runs one thread at a time, and a server has one process for all its visitors. Work under a budget looks at its
clock anyway; once it has taken longer than `LIGHT` it comes here at every few of these looks, and
 - waits while other work of its kind has the turn: one goes on at a time, in slices, first what has worked least so
   far: nobody knows how long it will take, but what is short is over soon. Waiting counts by `AGE`, for newcomers may
   never end. Of what is long, the first goes on to its end: in turns, all would end late and hold their memory;
 - rests in proportion to what it worked, as far as others worked meanwhile, so that they get the larger part. Nobody
   says who they are: what the process used and this thread did not is theirs. Where there are none it never rests.

Rests and waits are not charged to a budget, which counts the time of its own thread: what fits a budget alone fits it
in a crowd. A budget of s seconds is used up after s * (1 + REST) seconds of its turns, however many others there are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic, process_time, sleep, thread_time

LIGHT = 0.05  # seconds of its thread's time that work may take before it is heavy
QUANTUM = 0.005  # seconds that heavy work goes on between two times that it gives way
REST = 8.0  # seconds of rest for each that it worked while others did
SLICE = 0.05  # seconds of work until it is another's turn
AGE = 0.2  # seconds of work that count as not done for each that it has waited
MOST = 1.0  # seconds of work after which it is long, and waits no longer for a slice however much it has worked
POLL = 0.01  # seconds between two looks of one that waits for its turn
LEASE = 0.1  # seconds unheard of after which a piece of work is over, or at something that never gives way


@dataclass(slots=True, eq=False)
class _Piece:
    """A thread's heavy work. `heard`: when it came here last, or will again; `own`, `everyone`: the clocks of its
    thread and of the process when it went on; `worked`: seconds so far; `before`: seconds before its slice, for which
    it waits `since`."""

    heard: float = float("-inf")
    own: float = 0.0
    everyone: float = 0.0
    worked: float = 0.0
    before: float = 0.0
    since: float = 0.0


class Turns:
    """The heavy work under way, one piece of which has the turn."""

    def __init__(self) -> None:
        self._pieces: list[_Piece] = []
        self._lock = threading.Lock()
        self._of_thread = threading.local()

    def give_way(self, worked: float) -> None:
        """Rest and wait as is due since the calling thread came here last; at once if nobody else is at work.

        `worked`: seconds of its thread's time that the work has taken so far.
        """
        piece: _Piece = self._of_thread.__dict__.setdefault("piece", _Piece())
        if monotonic() - piece.heard <= LEASE:
            here = thread_time() - piece.own
            others = process_time() - piece.everyone - here
            if (rest := REST * min(here, others)) > 0:
                piece.heard = monotonic() + rest
                sleep(rest)
        while not self._has_turn(piece, worked):
            sleep(POLL)
        piece.own, piece.everyone = thread_time(), process_time()

    def _has_turn(self, piece: _Piece, worked: float) -> bool:
        now = monotonic()
        with self._lock:
            piece.heard = now
            self._pieces = [other for other in self._pieces if now - other.heard <= LEASE]
            is_new = piece not in self._pieces
            if is_new:
                self._pieces.append(piece)
            is_over = worked < piece.worked  # and the thread is at its next work
            if is_new or is_over or worked >= piece.before + SLICE:
                piece.before, piece.since = worked, now
            piece.worked = worked
            later = [other for other in self._pieces if other.before >= MOST][1:]
            able = [other for other in self._pieces if other not in later]
            return min(able, key=lambda other: min(other.before, MOST) - AGE * (now - other.since)) is piece


give_way = Turns().give_way


def others_since() -> Callable[[], float]:
    """Tells how many seconds other threads of the process have worked since this was called, by the calling thread."""
    begun = process_time() - thread_time()
    return lambda: process_time() - thread_time() - begun


class Bustle:
    """How much the other threads of the process work, between two looks by any of them."""

    def __init__(self) -> None:
        self._at, self._used, self._own = monotonic(), process_time(), (threading.get_ident(), thread_time())
        self._permitted = float("-inf")

    def permits(self, most: float, seldom: float) -> bool:
        """Whether others have worked for at most `most` of the time; if for more, once in `seldom` seconds."""
        if self.since_last() <= most:
            return True
        if self._at - self._permitted <= seldom:
            return False
        self._permitted = self._at
        return True

    def since_last(self) -> float:
        """The seconds that others have worked for each second since the last look."""
        at, used, own = monotonic(), process_time(), (threading.get_ident(), thread_time())
        passed, worked = at - self._at, used - self._used
        mine = own[1] - (self._own[1] if own[0] == self._own[0] else 0.0)
        self._at, self._used, self._own = at, used, own
        return max(0.0, worked - max(0.0, mine)) / max(passed, 1e-9)
