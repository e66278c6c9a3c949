"""Automaton x vocabulary trie -> token masks."""

from engine.masking.masker import Explanation, Masker
from engine.masking.token_mask import TokenMask

__all__ = ["Explanation", "Masker", "TokenMask"]
