"""What the benchmark asks of an engine: a matcher per schema, a mask per step, one token taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class Refused(Exception):
    """The engine does not take this schema; the message is its own."""


class Matcher(Protocol):
    """One text being written under a compiled schema. What the masks cost is measured around these calls."""

    def mask(self) -> None:
        """Compute the mask of the next token, into memory of the matcher's own."""

    def advance(self, token_id: int) -> None:
        """Take a token that the mask allows."""

    def allows(self, token_id: int) -> bool:
        """Whether the mask computed last has the token. Not measured."""

    def complete(self) -> bool:
        """Whether the text may end here. Not measured."""


class Engine(Protocol):
    """An engine that stands ready for one vocabulary."""

    def compile(self, schema: str) -> Any:
        """A schema in the engine's own form, everything done that must be done before the first mask.

        Raises Refused where the engine says that it cannot.
        """

    def matcher(self, compiled: Any) -> Matcher:
        """A fresh text under a compiled schema."""

    def forget(self) -> None:
        """Empty every cache that a schema has filled; what belongs to the vocabulary stays."""

    def spelled(self) -> tuple[Sequence[bytes], set[int]]:
        """The bytes that it takes each token for, b"" where for none, and its end tokens."""
