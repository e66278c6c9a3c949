"""What can go wrong with a run."""

from __future__ import annotations


class DecodingError(RuntimeError):
    """A run that cannot start or go on: the prompt does not fit, the logits are broken, nothing is allowed."""


class ChoiceError(DecodingError):
    """A token taken by hand that the constraint does not allow."""


class SpecError(ValueError):
    """A run spec from outside (a link, a file) that is not one; the message names the field."""


class TraceError(ValueError):
    """A saved trace that cannot be read."""
