"""lm-format-enforcer: a character parser beside a tree of tokens, in Python.

Its own way in from a Hugging Face tokenizer does not import with this version of transformers; here its tokens and its
decoder are made as there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from lmformatenforcer import JsonSchemaParser, TokenEnforcer, TokenEnforcerTokenizerData

from .base import Refused


class LMFormatEnforcer:
    def __init__(self, tokenizer: Any, tokens: list[bytes], end_id: int) -> None:
        self._texts = [token.decode(errors="replace") for token in tokens]
        known = [(token_id, text, False) for token_id, text in enumerate(self._texts) if text]

        def decode(ids: list[int]) -> str:
            return str(tokenizer.decode(ids)).rstrip("\ufffd")  # a character whose bytes are not all there yet

        self._data = TokenEnforcerTokenizerData(known, decode, end_id, True, len(tokens))

    def compile(self, schema: str) -> TokenEnforcer:
        try:
            return TokenEnforcer(self._data, JsonSchemaParser(json.loads(schema)))
        except Exception as error:  # pydantic's errors, and what its parser raises where it did not expect a keyword
            raise Refused(str(error)) from error

    def matcher(self, compiled: TokenEnforcer) -> _Matcher:
        return _Matcher(compiled)

    def forget(self) -> None:
        """It keeps nothing between parsers."""

    def spelled(self) -> tuple[Sequence[bytes], set[int]]:
        return [text.encode() for text in self._texts], {self._data.eos_token_id}


class _Matcher:
    """An enforcer remembers what it has answered, for every text under its schema."""

    def __init__(self, enforcer: TokenEnforcer) -> None:
        self._enforcer = enforcer
        self._tokens: list[int] = []
        self._allowed: Any = None

    def mask(self) -> None:
        try:
            self._allowed = self._enforcer.get_allowed_tokens(self._tokens)
        except Exception as error:
            raise Refused(str(error)) from error

    def advance(self, token_id: int) -> None:
        self._tokens.append(token_id)

    def allows(self, token_id: int) -> bool:
        return bool(self._allowed.is_token_allowed(token_id))

    def complete(self) -> bool:
        self.mask()
        return self.allows(self._enforcer.eos_token_id)
