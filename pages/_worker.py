"""Work in a thread of its own, for pages: it can be cancelled, and who shows it is told how far it is.

Everything that decodes is in the engine; what goes wrong there with a visitor's input is told in words.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from engine.decoding.errors import DecodingError, SpecError
from engine.errors import ConstraintError
from engine.model import ModelError

if TYPE_CHECKING:  # torch comes with it
    from engine.model.model import Model

FOLLOW = 0.35  # seconds between two times that a page is told how far work is, for each work under way

EXPECTED = (DecodingError, SpecError, ConstraintError, ModelError)
"""What input may lead to."""

Work = Callable[[Callable[[], bool]], Callable[[], None] | None]
"""Work for a thread, given a way to ask whether to stop. What it returns is done by the visitor's own thread."""


class Worker:
    """Work in a thread that can be cancelled; `problem` is what went wrong, in words.

    `under_way`: those of all visitors. The work itself, and what it needs, is let go of as soon as it is done.
    """

    under_way: ClassVar[set[Worker]] = set()

    def __init__(self, work: Work) -> None:
        self.problem = ""
        self.then: Callable[[], None] | None = None
        self._stop = threading.Event()
        self._done: Future[None] = Future()
        self._told: set[Callable[[], None]] = set()
        self._on_the_way: list[Callable[[], None]] = []
        self._told_at, self._crowd = monotonic(), 1
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self.under_way.add(self)
        self._thread.start()

    @property
    def busy(self) -> bool:
        return not self._done.done()

    def cancel(self) -> None:
        """Ask the work to stop; it does after the token it is at."""
        self._stop.set()

    @property
    def cancelled(self) -> bool:
        return self._stop.is_set()

    def behind(self, model: Model) -> int:
        """How many others the model serves first."""
        return model.before(self._thread.ident or 0)

    def wait(self, seconds: float | None = None) -> None:
        """Until the work is done, but not longer than `seconds`."""
        self._thread.join(seconds)

    def tell(self, page: Callable[[], None], *, on_the_way: bool = False) -> None:
        """Call `page` once the work is done, at once if it is; `on_the_way`: now and then before, too."""
        if page in self._told:
            return
        self._told.add(page)
        if on_the_way:
            self._on_the_way.append(page)
        self._done.add_done_callback(lambda _: page())

    def _asks(self) -> bool:
        """Whether to stop. The work asks after each token, which is when there is something new to see.

        A page is then drawn anew, which takes the time of ten tokens: the more is under way in the room, the rarer.
        """
        self._crowd = max(self._crowd, len(self.under_way))
        if (now := monotonic()) - self._told_at > FOLLOW * self._crowd:
            self._told_at = now
            for page in self._on_the_way:
                page()
        return self.cancelled

    def _run(self, work: Work) -> None:
        try:
            self.then = work(self._asks)
        except EXPECTED as error:
            self.problem = str(error)
        except Exception:
            logging.getLogger(__name__).exception("A run failed")
            self.problem = "The run failed; the server's log says why."
        finally:
            self.under_way.discard(self)
            self._done.set_result(None)
