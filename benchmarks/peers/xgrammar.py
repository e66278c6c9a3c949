"""xgrammar: automata per rule with masks computed when compiling, or (not its default) when they are first needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import xgrammar

from .base import Refused


class XGrammar:
    def __init__(self, tokenizer: Any, size: int, lazy: bool) -> None:
        self._info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=size)
        self._compiler = xgrammar.GrammarCompiler(self._info, max_threads=1, enable_dynamic_compilation=lazy)
        self._bits = xgrammar.allocate_token_bitmask(1, size)

    def compile(self, schema: str) -> Any:
        try:
            return self._compiler.compile_json_schema(schema, any_whitespace=True, strict_mode=False)
        except Exception as error:  # whatever its C++ raises
            raise Refused(str(error)) from error

    def matcher(self, compiled: Any) -> _Matcher:
        return _Matcher(xgrammar.GrammarMatcher(compiled), self._bits)

    def forget(self) -> None:
        self._compiler.clear_cache()

    def spelled(self) -> tuple[Sequence[bytes], set[int]]:
        silent = {*self._info.special_token_ids, *self._info.stop_token_ids}
        tokens = [b"" if token_id in silent else token for token_id, token in enumerate(self._info.decoded_vocab)]
        return tokens, {*self._info.stop_token_ids}


class _Matcher:
    def __init__(self, matcher: Any, bits: torch.Tensor) -> None:
        self._matcher = matcher
        self._bits = bits
        self._seen: np.ndarray = bits.numpy()

    def mask(self) -> None:
        self._matcher.fill_next_token_bitmask(self._bits)

    def advance(self, token_id: int) -> None:
        self._matcher.accept_token(token_id)

    def allows(self, token_id: int) -> bool:
        return bool(int(self._seen[0, token_id >> 5]) >> (token_id & 31) & 1)

    def complete(self) -> bool:
        self.mask()
        return self._matcher.is_terminated() or any(self.allows(end) for end in self._matcher.stop_token_ids)
