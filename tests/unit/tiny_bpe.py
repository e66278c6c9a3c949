"""A byte-level BPE tokenizer made of a few merges, as Hugging Face has it, and a fake model that reads with it."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

from engine.vocabulary import Canonical, Vocabulary
from engine.vocabulary.spelling import byte_alphabet
from tests.unit.fake_model import FakeModel, Logits

END, SPECIAL = "<end>", "<special>"


def tiny_tokenizer(characters: str, merges: Sequence[tuple[str, str]]) -> PreTrainedTokenizerFast:
    """One token for each byte of `characters`, and one for each merge (in order of priority)."""
    letters = {byte: letter for letter, byte in byte_alphabet().items()}
    spelled = dict.fromkeys(letters[byte] for byte in characters.encode())
    written = [tuple("".join(letters[byte] for byte in part.encode()) for part in merge) for merge in merges]
    vocabulary = {piece: place for place, piece in enumerate([*spelled, *("".join(merge) for merge in written)])}
    backend = Tokenizer(BPE(vocab=vocabulary, merges=written))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=END)
    tokenizer.add_special_tokens({"additional_special_tokens": [SPECIAL]})
    return tokenizer


def tiny_sentencepiece(characters: str, merges: Sequence[tuple[str, str]]) -> PreTrainedTokenizerFast:
    """The same as SentencePiece has it: a space before every text, and bytes for what has no piece."""
    pieces = ["<unk>", "\u2581", *(f"<0x{byte:02X}>" for byte in range(256)), *characters.replace(" ", "")]
    written = [tuple(part.replace(" ", "\u2581") for part in merge) for merge in merges]
    pieces += ["".join(merge) for merge in written]
    vocabulary = {piece: place for place, piece in enumerate(dict.fromkeys(pieces))}
    backend = Tokenizer(BPE(vocab=vocabulary, merges=written, byte_fallback=True, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    backend.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=END, unk_token="<unk>")
    tokenizer.add_special_tokens({"additional_special_tokens": [SPECIAL]})
    return tokenizer


class TinyModel(FakeModel):
    """A fake model whose prompts are read by a tokenizer; with `chat_template` they end in a special token."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, logits: Logits | None = None) -> None:
        super().__init__(Vocabulary.from_tokenizer(tokenizer), logits)
        self.tokenizer = tokenizer
        self.canonical = Canonical(tokenizer, self.vocabulary)

    def encode(self, prompt: str, chat_template: bool) -> list[int]:
        ids: list[int] = self.tokenizer(prompt, split_special_tokens=True)["input_ids"]
        return [*ids, self.tokenizer.convert_tokens_to_ids(SPECIAL)] if chat_template else ids
