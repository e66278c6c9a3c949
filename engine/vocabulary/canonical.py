"""The tokenizer's own way to spell bytes in the middle of a text.

A model has seen one tokenisation of nearly every text it was trained on: the one its tokenizer gives. That is the
*canonical* one, and what is written by hand (forced bytes, a healed prompt, a text to be scored) is written that way.
A tokenizer is made for whole texts, though: it may put a start token and a space (SentencePiece's dummy prefix) before
them and turn names of special tokens into these. None of that belongs in the middle of a text, where a constraint's
output stands.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable
from typing import Any

from engine.vocabulary.spelling import VocabularyError
from engine.vocabulary.vocabulary import Vocabulary

_APART = "\ue000"
"""A private-use character, which no piece of a SentencePiece model joins to what follows it."""


class Canonical:
    """Bytes to ids, as the tokenizer writes them. Safe to share between threads.

    It has a tokenizer of its own, whose settings never change, and so needs no lock. Raises VocabularyError for a
    tokenizer of a kind that `Vocabulary` cannot read either.
    """

    def __init__(self, tokenizer: Any, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._ids = _encoder(tokenizer)

    def encode(self, data: bytes) -> tuple[int, ...] | None:
        """The ids of these bytes where they stand in the middle of a text; none of them is special.

        None where the bytes are not UTF-8, or the tokenizer does not give exactly them back (it may normalise text).
        """
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        ids = self._ids(text)
        return ids if ids is not None and self._spells(ids, data) else None

    def encode_many(self, texts: Iterable[bytes]) -> list[tuple[int, ...] | None]:
        """`encode` of each."""
        return [self.encode(data) for data in texts]

    def _spells(self, ids: tuple[int, ...], data: bytes) -> bool:
        tokens = self._vocabulary.tokens
        if not all(0 <= token_id < len(tokens) and tokens[token_id] for token_id in ids):
            return False
        return b"".join(tokens[token_id] for token_id in ids) == data


def _encoder(tokenizer: Any) -> Callable[[str], tuple[int, ...] | None]:
    if (backend := getattr(tokenizer, "backend_tokenizer", None)) is not None:
        return _backend_encoder(backend)
    if (model := getattr(tokenizer, "sp_model", None)) is not None:
        return _sentencepiece_encoder(model)
    raise VocabularyError(f"The tokenizer is a {type(tokenizer).__name__}; it does not say how it encodes text.")


def _backend_encoder(backend: Any) -> Callable[[str], tuple[int, ...] | None]:
    """The tokenizer's own steps on a copy that puts nothing before a text and sees no special tokens in it."""
    own = copy.deepcopy(backend)
    own.no_truncation()
    own.no_padding()
    own.encode_special_tokens = True  # they are encoded as the text that they are
    own.normalizer = _changed(own.normalizer)
    own.pre_tokenizer = _changed(own.pre_tokenizer)
    return lambda text: tuple(own.encode(text, add_special_tokens=False).ids)


def _changed(step: Any) -> Any:
    if step is not None:
        step.__setstate__(json.dumps(_without_prefix(json.loads(step.__getstate__()))).encode())
    return step


def _without_prefix(step: dict[str, Any]) -> dict[str, Any]:
    """A normaliser or pre-tokeniser, as the `tokenizers` library writes it down, without the dummy prefix."""
    match step:
        case {"type": "Sequence"}:
            (parts,) = (key for key in step if key != "type")
            return step | {parts: [_without_prefix(part) for part in step[parts]]}
        case {"type": "Prepend"}:
            return {"type": "Sequence", "normalizers": []}
        case {"type": "Metaspace"}:
            return step | {"prepend_scheme": "never"}
        case {"type": "ByteLevel", "add_prefix_space": _}:
            return step | {"add_prefix_space": False}
    return step


def _sentencepiece_encoder(model: Any) -> Callable[[str], tuple[int, ...] | None]:
    """The dummy prefix stands before a character of our own, which is cut off again with it."""
    apart = tuple(model.encode(_APART))

    def encode(text: str) -> tuple[int, ...] | None:
        ids = tuple(model.encode(_APART + text))
        return ids[len(apart) :] if ids[: len(apart)] == apart else None

    return encode
