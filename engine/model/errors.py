"""Why a model can't be had."""

from __future__ import annotations


class ModelError(RuntimeError):
    """A model that can't be had. The message says why and what to do; it is fit to be shown to a user."""


class Busy(ModelError):
    """Too many wait for the model at this moment."""


class Cancelled(Exception):
    """Whoever asked for a forward pass doesn't want it any more."""
