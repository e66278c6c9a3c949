"""What can go wrong with a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.errors import Origin

if TYPE_CHECKING:
    from engine.decoding.records import Trace


class DecodingError(RuntimeError):
    """A run that cannot start or go on: the prompt does not fit, the logits are broken, nothing is allowed.

    Of a run under way: `remains`, the automaton's state in words; `origins`, whose rule it is there; `trace`, what was
    written before.
    """

    def __init__(
        self, message: str, *, remains: str = "", origins: tuple[Origin, ...] = (), trace: Trace | None = None
    ) -> None:
        super().__init__(message)
        self.remains = remains
        self.origins = origins
        self.trace = trace


class ChoiceError(DecodingError):
    """A token taken by hand that the constraint does not allow."""


class SpecError(ValueError):
    """A run spec from outside (a link, a file) that is not one; the message names the field."""


class TraceError(ValueError):
    """A saved trace that cannot be read."""
