"""How a tokenizer writes bytes down, undone.

A vocabulary file holds strings, not bytes, in one of two spellings. *Byte-level BPE* (GPT-2) gives every byte a
printable character of its own, so that a token is a string of such characters. *SentencePiece* writes text as it is,
with U+2581 for a space, and falls back to tokens like `<0x0A>` for the bytes of what it has no piece for. Which of the
two it is says the tokenizer's decoder; nothing is guessed from the tokens themselves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

Spelling = Callable[[str], bytes]
"""The bytes of a token as the vocabulary writes it."""

SENTENCEPIECE_SPACE = "\u2581"
_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_HARMLESS_DECODERS = frozenset({"Fuse", "Strip"})  # they join the tokens and strip the dummy prefix of a whole text


class VocabularyError(ValueError):
    """A tokenizer whose tokens cannot be read as bytes, with the reason."""


def byte_alphabet() -> dict[str, int]:
    """GPT-2's character for each byte: itself where it prints, else the next free one from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + place): byte for place, byte in enumerate(others)}


def byte_level(piece: str, alphabet: dict[str, int] = byte_alphabet()) -> bytes:  # noqa: B008 - a constant table
    """The bytes of a byte-level BPE token; a token with a character outside the alphabet is plain text."""
    try:
        return bytes([alphabet[character] for character in piece])
    except KeyError:
        return piece.encode()


def sentencepiece(piece: str) -> bytes:
    """The bytes of a SentencePiece token where bytes have tokens of their own."""
    byte = _BYTE_PIECE.fullmatch(piece)
    return bytes([int(byte[1], 16)]) if byte else sentencepiece_text(piece)


def sentencepiece_text(piece: str) -> bytes:
    """The bytes of a SentencePiece token that is text."""
    return piece.replace(SENTENCEPIECE_SPACE, " ").encode()


def spelling_of_decoder(decoder: Any) -> Spelling:
    """The spelling that a decoder of the `tokenizers` library undoes. Raises VocabularyError for one unknown here."""
    if decoder is None:
        raise VocabularyError(
            "This tokenizer has no decoder, so it does not say how its tokens spell bytes. "
            "Supported are byte-level BPE and SentencePiece."
        )
    steps = list(_flattened(json.loads(decoder.__getstate__())))
    kinds = {step["type"] for step in steps}
    spaces = [step for step in steps if _writes_space(step)]
    known = kinds & _HARMLESS_DECODERS
    if kinds - known == {"ByteLevel"}:
        return byte_level
    if spaces and kinds - known <= {"Metaspace", "Replace", "ByteFallback"} and _only_spaces(steps):
        return sentencepiece if "ByteFallback" in kinds else sentencepiece_text
    raise VocabularyError(
        f"The tokenizer's decoder is made of {', '.join(sorted(kinds))}. "
        "Supported are byte-level BPE (ByteLevel) and SentencePiece (Metaspace, or Replace with ByteFallback)."
    )


def _flattened(decoder: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if decoder["type"] != "Sequence":
        yield decoder
        return
    for step in decoder["decoders"]:
        yield from _flattened(step)


def _writes_space(step: dict[str, Any]) -> bool:
    match step:
        case {"type": "Metaspace", "replacement": str(character)}:
            return character == SENTENCEPIECE_SPACE
        case {"type": "Replace", "pattern": {"String": str(character)}, "content": " "}:
            return character == SENTENCEPIECE_SPACE
    return False


def _only_spaces(steps: list[dict[str, Any]]) -> bool:
    return all(_writes_space(step) for step in steps if step["type"] in {"Metaspace", "Replace"})
