"""A vocabulary from a `tokenizer.json` alone, for masks over the tokens of a model that isn't here.

The file may come from anyone. The `tokenizers` library reads it as data; what can still hurt is its size, and a pattern
that takes for ever to match, so a file with such a pattern gives its tokens but not its own way to split a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from engine.vocabulary.canonical import Canonical
from engine.vocabulary.spelling import VocabularyError
from engine.vocabulary.vocabulary import Vocabulary

MOST_BYTES = 30_000_000
"""Bytes of a file; the largest of well-known models have about 20 million."""

MOST_TOKENS = 1_000_000

MOST_CHARACTERS = 8_000_000
"""Characters of all tokens together; a vocabulary of 260,000 tokens has about 2 million."""

END_NAMES = (
    *("<|endoftext|>", "<|end_of_text|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|return|>"),
    *("</s>", "<eos>", "<end_of_turn>", "<|END_OF_TURN_TOKEN|>", "<|endofprompt|>", "<｜end▁of▁sentence｜>", "[EOS]"),
)
"""Names under which models end a text. The file itself doesn't say which token does."""

_REPEATED_GROUP = re.compile(r"\)(?:[*+]|\{\d*,\d*\})")


@dataclass(frozen=True, slots=True)
class TokenizerFile:
    """What a file gives. `canonical` None: `untrusted` says why texts aren't split by its own rules."""

    vocabulary: Vocabulary
    canonical: Canonical | None
    ends: tuple[str, ...]
    untrusted: str = ""


def read_tokenizer_file(data: bytes, end_names: Iterable[str] = END_NAMES) -> TokenizerFile:
    """The vocabulary in the bytes of a `tokenizer.json`; special tokens with one of `end_names` end a text.

    Raises VocabularyError, whose message says what is wrong, for a file that is too large, no tokenizer, or of a kind
    that is not supported.
    """
    content = _content(data)
    tokenizer = _Loaded(_backend(data, content), frozenset(end_names))
    _fits(tokenizer.backend_tokenizer.get_vocab(with_added_tokens=True))
    vocabulary = Vocabulary.from_tokenizer(tokenizer, tokenizer.end_ids)
    if not any(vocabulary.tokens):
        raise VocabularyError("This tokenizer has no token that spells text.")
    ends = tuple(vocabulary.name(token_id) for token_id in sorted(vocabulary.end_ids))
    slow = next((pattern for pattern in _patterns(content) if _may_not_end(pattern)), None)
    if slow is not None:
        reason = f"Its pattern {slow[:60]!r} repeats a repetition, and matching one may never end."
        return TokenizerFile(vocabulary, None, ends, reason)
    return TokenizerFile(vocabulary, Canonical(tokenizer, vocabulary), ends)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A tokenizer as `Vocabulary` and `Canonical` ask for one."""

    backend_tokenizer: Any
    end_names: frozenset[str]
    eos_token_id: None = None
    all_special_ids: tuple[int, ...] = ()
    all_special_tokens: tuple[str, ...] = ()

    @property
    def end_ids(self) -> list[int]:
        added = self.backend_tokenizer.get_added_tokens_decoder()
        return [token_id for token_id, token in added.items() if token.special and token.content in self.end_names]


def _content(data: bytes) -> dict[str, Any]:
    if len(data) > MOST_BYTES:
        raise VocabularyError(f"The file has {len(data) / 1e6:.1f} MB; {MOST_BYTES / 1e6:.0f} MB are the limit.")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise VocabularyError(f"The file is no JSON ({error}). Upload the tokenizer.json of a model.") from None
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise VocabularyError(
            "This JSON is no tokenizer: it has no member 'model'. Upload the tokenizer.json of a model, not its "
            "tokenizer_config.json, vocab.json or config.json."
        )
    return content


def _backend(data: bytes, content: dict[str, Any]) -> Any:
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_str(data.decode())
    except BaseException as error:  # its panics are no Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        kind = content["model"].get("type", "unnamed")
        raise VocabularyError(f"The tokenizers library cannot read this file (model {kind}): {error}") from None


def _fits(vocab: dict[str, int]) -> None:
    if (size := 1 + max(vocab.values(), default=0)) > MOST_TOKENS:
        raise VocabularyError(f"The tokenizer has token ids up to {size - 1:,}; {MOST_TOKENS:,} tokens are the limit.")
    if (length := sum(map(len, vocab))) > MOST_CHARACTERS:
        raise VocabularyError(f"The tokens have {length:,} characters in all; {MOST_CHARACTERS:,} are the limit.")


def _patterns(value: Any) -> Iterator[str]:
    """Every regular expression that the file's steps match."""
    todo = [value.get("normalizer"), value.get("pre_tokenizer")]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            if isinstance(part.get("Regex"), str):
                yield part["Regex"]
            todo += part.values()
        elif isinstance(part, list):
            todo += part


def _may_not_end(pattern: str) -> bool:
    """Whether a repeated group holds a repetition: the shape that backtracking can take exponential time for."""
    opened: list[int] = []
    for place, character in enumerate(_without_escapes(pattern)):
        if character == "(":
            opened.append(place)
        elif character == ")" and opened:
            start = opened.pop()
            inside = _without_escapes(pattern)[start + 1 : place]
            if _REPEATED_GROUP.match(_without_escapes(pattern), place) and re.search(r"[*+]|\{\d*,|\|", inside):
                return True
    return False


def _without_escapes(pattern: str) -> str:
    """The pattern with escapes and classes made harmless, length kept."""
    return re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", lambda found: "_" * len(found[0]), pattern, flags=re.DOTALL)
