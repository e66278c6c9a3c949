"""Token id <-> bytes: what the model's numbers spell.

A mask is decided on bytes, so every token is taken as the bytes it adds to the output. Tokens that steer the model
(special and end tokens) add none, whatever their name looks like; here they have the empty byte string, which no
constraint ever matches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from engine.vocabulary.spelling import (
    Spelling,
    VocabularyError,
    byte_level,
    sentencepiece_text,
    spelling_of_decoder,
)
from engine.vocabulary.trie import Trie, build_trie


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Vocabulary:
    """The tokens of a model as bytes; immutable, compared by identity (`digest` compares content).

    `tokens[id]` are the bytes the token adds to the output, b"" for special and end tokens and for ids without a token;
    several ids may share bytes. `size` is the number of logits. `one_byte`: the bytes that are a token of their own;
    `longest`: bytes in the longest token.

    A SentencePiece token keeps the space it is spelled with, also at the start of an output: the dummy prefix that the
    tokenizer puts before a text (and drops from it again) belongs to the beginning of the prompt, not to what is
    written after one.
    """

    tokens: tuple[bytes, ...]
    end_ids: frozenset[int]
    special_ids: frozenset[int]
    names: Mapping[int, str] = field(repr=False)
    trie: Trie = field(repr=False)
    digest: str
    one_byte: frozenset[int] = field(repr=False)
    longest: int

    @property
    def size(self) -> int:
        return len(self.tokens)

    def name(self, token_id: int) -> str:
        """How the token is shown: a special token by its name, any other by its text (broken UTF-8 as `\\xNN`)."""
        return self.names.get(token_id) or self.tokens[token_id].decode(errors="backslashreplace")

    @classmethod
    def from_tokens(
        cls,
        tokens: Sequence[bytes],
        end_ids: Iterable[int] = (),
        special_ids: Iterable[int] = (),
        names: Mapping[int, str] | None = None,
    ) -> Vocabulary:
        """A vocabulary from the bytes of each id. Raises VocabularyError for an end or special id outside it."""
        ends, specials = frozenset(end_ids), frozenset(special_ids)
        silent = ends | specials
        if outside := [token_id for token_id in silent if not 0 <= token_id < len(tokens)]:
            raise VocabularyError(f"End or special id {min(outside)} is outside a vocabulary of {len(tokens)}.")
        spelled = tuple(b"" if token_id in silent else bytes(token) for token_id, token in enumerate(tokens))
        shown = {token_id: tokens[token_id].decode(errors="backslashreplace") for token_id in silent}
        return cls(
            tokens=spelled,
            end_ids=ends,
            special_ids=specials,
            names=MappingProxyType(shown | dict(names or {})),
            trie=build_trie(spelled),
            digest=_digest(spelled, ends, specials),
            one_byte=frozenset(token[0] for token in spelled if len(token) == 1),
            longest=max(map(len, spelled), default=0),
        )

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, extra_end_ids: Iterable[int] = (), size: int | None = None) -> Vocabulary:
        """The vocabulary of a Hugging Face tokenizer: byte-level BPE, or SentencePiece with or without byte fallback.

        `extra_end_ids` are end tokens besides the tokenizer's own (the generation config's). `size` is the number of
        logits where the model has more than the tokenizer has tokens (padding) or fewer.
        Raises VocabularyError if the tokenizer is of another kind.
        """
        pieces = _read(tokenizer)
        own_end = tokenizer.eos_token_id
        ends = {*extra_end_ids, *([] if own_end is None else [own_end])}
        length = 1 + max(pieces.tokens, default=-1) if size is None else size
        tokens = [pieces.tokens.get(token_id, b"") for token_id in range(length)]
        within = frozenset(range(length))
        return cls.from_tokens(tokens, within & ends, within & pieces.names.keys(), pieces.names)


@dataclass(frozen=True, slots=True)
class _Pieces:
    """What a tokenizer holds: bytes by id, and the names of the special tokens."""

    tokens: dict[int, bytes]
    names: dict[int, str]


def _read(tokenizer: Any) -> _Pieces:
    if (backend := getattr(tokenizer, "backend_tokenizer", None)) is not None:
        return _read_backend(backend, _special_names(tokenizer))
    if (model := getattr(tokenizer, "sp_model", None)) is not None:
        return _read_sentencepiece(model, getattr(tokenizer, "added_tokens_decoder", {}), _special_names(tokenizer))
    raise VocabularyError(
        f"The tokenizer is a {type(tokenizer).__name__}. Supported are tokenizers with a tokenizer.json "
        "(byte-level BPE or SentencePiece) and SentencePiece models."
    )


def _special_names(tokenizer: Any) -> dict[int, str]:
    return dict(zip(tokenizer.all_special_ids, tokenizer.all_special_tokens, strict=True))


def _read_backend(backend: Any, names: dict[int, str]) -> _Pieces:
    spelling = spelling_of_decoder(backend.decoder)
    tokens = {token_id: spelling(piece) for piece, token_id in backend.get_vocab(with_added_tokens=True).items()}
    for token_id, added in backend.get_added_tokens_decoder().items():
        tokens[token_id] = _spell_added(added.content, spelling, backend.model.token_to_id(added.content) is not None)
        if added.special:
            names[token_id] = added.content
    return _Pieces(tokens, names)


def _read_sentencepiece(model: Any, added_tokens: Mapping[int, Any], names: dict[int, str]) -> _Pieces:
    tokens: dict[int, bytes] = {}
    for token_id in range(model.get_piece_size()):
        piece = model.id_to_piece(token_id)
        if model.is_byte(token_id):
            tokens[token_id] = bytes([int(piece[3:5], 16)])
        elif model.is_control(token_id) or model.is_unknown(token_id) or model.is_unused(token_id):
            names[token_id] = piece
        else:
            tokens[token_id] = sentencepiece_text(piece)
    for token_id, added in added_tokens.items():
        tokens.setdefault(token_id, sentencepiece_text(added.content))
        if added.special:
            names[token_id] = added.content
    return _Pieces(tokens, names)


def _spell_added(content: str, spelling: Spelling, is_piece: bool) -> bytes:
    """An added token is plain text, not written in the byte alphabet, unless the model has it as a piece too."""
    return content.encode() if spelling is byte_level and not is_piece else spelling(content)


def _digest(tokens: Iterable[bytes], end_ids: frozenset[int], special_ids: frozenset[int]) -> str:
    content = hashlib.sha256(repr((sorted(end_ids), sorted(special_ids))).encode())
    for token in tokens:
        content.update(len(token).to_bytes(4, "little") + token)
    return content.hexdigest()
