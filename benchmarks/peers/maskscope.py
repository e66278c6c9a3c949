"""Maskscope itself."""

from __future__ import annotations

import gc
from collections.abc import Sequence

from engine import Masker, compile_json_schema
from engine.errors import ConstraintError
from engine.masking import TokenMask
from engine.once import Once
from engine.vocabulary import Vocabulary

from .base import Refused

KEPT = 1000
KEPT_BYTES = 512 * 2**20


class Maskscope:
    """Options as llguidance has them: any white space, declared key order, plain escapes in strings, no 1.0 for 1.

    It also takes exponents where a number has no bounds; those are left out here. Masks are kept by the schema's text
    until they are forgotten, as the app keeps them for its visitors (pages/_constraints.py).
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        gc.set_threshold(10_000, 20, 100)  # as serve.py does
        self._kept: Once[str, Masker] = Once(KEPT, lambda _, masker: masker.held_bytes, KEPT_BYTES)

    def compile(self, schema: str) -> Masker:
        try:
            return self._kept.get(
                schema, lambda: Masker(compile_json_schema(schema, whitespace="any"), self.vocabulary)
            )
        except ConstraintError as error:
            raise Refused(str(error)) from error

    def matcher(self, compiled: Masker) -> _Matcher:
        return _Matcher(compiled)

    def forget(self) -> None:
        self._kept.clear()
        gc.collect()
        gc.freeze()  # as `load_model` does: a collection does not sweep what stays through the processor's caches

    def spelled(self) -> tuple[Sequence[bytes], set[int]]:
        return self.vocabulary.tokens, set(self.vocabulary.end_ids)


class _Matcher:
    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._state = masker.constraint.start
        self._mask: TokenMask

    def mask(self) -> None:
        self._mask = self._masker.mask(self._state)

    def advance(self, token_id: int) -> None:
        after = self._masker.advance(self._state, token_id)
        assert after is not None, "the mask allowed it"
        self._state = after

    def allows(self, token_id: int) -> bool:
        return token_id in self._mask

    def complete(self) -> bool:
        return self._masker.constraint.is_accepting(self._state)
