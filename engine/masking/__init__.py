"""Automaton x vocabulary trie -> token masks, and what may narrow them."""

from engine.masking.masker import Explanation, Masker
from engine.masking.place import Narrowing, Place
from engine.masking.token_mask import TokenMask

__all__ = ["Explanation", "Masker", "Narrowing", "Place", "TokenMask"]
