"""lm-format-enforcer: a character parser beside a tree of tokens, in Python."""

from __future__ import annotations

import json
from typing import Any

from lmformatenforcer import JsonSchemaParser, TokenEnforcer, TokenEnforcerTokenizerData

from .base import Refused


class LMFormatEnforcer:
    def __init__(self, tokenizer: Any, tokens: list[bytes], end_id: int) -> None:
        known = [(token_id, token.decode(errors="replace"), False) for token_id, token in enumerate(tokens) if token]
        self._data = TokenEnforcerTokenizerData(known, tokenizer.decode, end_id, True, len(tokens))

    def compile(self, schema: str) -> Any:
        try:
            parser = JsonSchemaParser(json.loads(schema))
            return parser, TokenEnforcer(self._data, parser).get_allowed_tokens([])
        except Exception as error:  # pydantic's errors, and what its parser raises where it did not expect a keyword
            raise Refused(str(error)) from error

    def matcher(self, compiled: Any) -> _Matcher:
        return _Matcher(TokenEnforcer(self._data, compiled[0]))

    def forget(self) -> None:
        """It keeps nothing between parsers."""


class _Matcher:
    def __init__(self, enforcer: TokenEnforcer) -> None:
        self._enforcer = enforcer
        self._tokens: list[int] = []
        self._allowed: Any = None

    def mask(self) -> None:
        self._allowed = self._enforcer.get_allowed_tokens(self._tokens)

    def advance(self, token_id: int) -> None:
        self._tokens.append(token_id)

    def allows(self, token_id: int) -> bool:
        return bool(self._allowed.is_token_allowed(token_id))

    def complete(self) -> bool:
        self.mask()
        end = self._enforcer.eos_token_id
        return any(self.allows(token_id) for token_id in (end if isinstance(end, list) else [end]))
