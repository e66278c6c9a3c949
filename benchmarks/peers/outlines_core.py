"""outlines-core: one regex per schema, its automaton and the index of every state made when compiling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import outlines_core
from outlines_core.json_schema import build_regex_from_schema

from .base import Refused

WHITE_SPACE = r"[ \n\r\t]*"


class OutlinesCore:
    def __init__(self, tokens: list[bytes], end_id: int) -> None:
        self._tokens = tokens
        ids: dict[bytes, list[int]] = {}
        for token_id, token in enumerate(tokens):
            if token:
                ids.setdefault(token, []).append(token_id)
        self._vocabulary = outlines_core.Vocabulary(end_id, ids)
        self._bits = np.zeros((len(tokens) + 31) // 32, dtype=np.int32)

    def compile(self, schema: str) -> Any:
        try:
            return outlines_core.Index(build_regex_from_schema(schema, WHITE_SPACE), self._vocabulary)
        except Exception as error:  # ValueError, and panics of its Rust
            raise Refused(str(error)) from error

    def matcher(self, compiled: Any) -> _Matcher:
        return _Matcher(outlines_core.Guide(compiled), self._bits)

    def forget(self) -> None:
        """It keeps nothing between indexes."""

    def spelled(self) -> tuple[Sequence[bytes], set[int]]:
        return self._tokens, {self._vocabulary.get_eos_token_id()}


class _Matcher:
    def __init__(self, guide: Any, bits: np.ndarray) -> None:
        self._guide = guide
        self._bits = bits
        self._at = bits.ctypes.data

    def mask(self) -> None:
        self._guide.write_mask_into(self._at, len(self._bits), 4)

    def advance(self, token_id: int) -> None:
        self._guide.advance(token_id, return_tokens=False)

    def allows(self, token_id: int) -> bool:
        return bool(int(self._bits[token_id >> 5]) >> (token_id & 31) & 1)

    def complete(self) -> bool:
        return bool(self._guide.is_finished())
