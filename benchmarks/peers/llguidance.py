"""llguidance: lazy derivatives for the lexer, Earley for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import llguidance
import llguidance.hf
import llguidance.numpy
import numpy as np

from .base import Refused


class LLGuidance:
    def __init__(self, tokenizer: Any, size: int) -> None:
        self._tokenizer = llguidance.hf.from_tokenizer(tokenizer, n_vocab=size)
        self._bits = llguidance.numpy.allocate_token_bitmask(1, size)

    def compile(self, schema: str) -> Any:
        try:
            grammar = llguidance.LLMatcher.grammar_from_json_schema(schema)
            compiled = llguidance.LLMatcher(self._tokenizer, grammar)
        except ValueError as error:
            raise Refused(str(error)) from error
        if compiled.is_error():
            raise Refused(compiled.get_error())
        return compiled

    def matcher(self, compiled: Any) -> _Matcher:
        return _Matcher(compiled.deep_copy(), self._bits)

    def forget(self) -> None:
        """It keeps nothing between grammars."""

    def spelled(self) -> tuple[Sequence[bytes], set[int]]:
        known, ids = self._tokenizer, range(self._tokenizer.vocab_size)
        tokens = [b"" if known.is_special_token(token_id) else known.decode_bytes([token_id]) for token_id in ids]
        return tokens, {*known.eos_tokens}


class _Matcher:
    def __init__(self, matcher: Any, bits: np.ndarray) -> None:
        self._matcher = matcher
        self._bits = bits
        self._at, self._bytes = bits.ctypes.data, bits.nbytes

    def mask(self) -> None:
        self._matcher.unsafe_compute_mask_ptr(self._at, self._bytes)

    def advance(self, token_id: int) -> None:
        self._matcher.consume_token(token_id)

    def allows(self, token_id: int) -> bool:
        if self._matcher.is_error():
            raise RuntimeError(self._matcher.get_error()[:100])  # one of its limits; the mask allows nothing
        return bool(int(self._bits[0, token_id >> 5]) >> (token_id & 31) & 1)

    def complete(self) -> bool:
        return bool(self._matcher.is_accepting())
