"""Limits on what one user's text may cost. No honest schema meets the defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """Upper bounds for compiling and running one constraint.

    states: automaton states kept at once; terms: hash-consed terms; seconds: of its thread's processor time, for
    compiling and for each mask (what others take meanwhile, or are given way to, is not counted); depth: nesting of the
    source; source_bytes: length of the source as UTF-8.
    """

    states: int = 200_000
    terms: int = 2_000_000
    seconds: float = 10.0
    depth: int = 256
    source_bytes: int = 2_000_000
