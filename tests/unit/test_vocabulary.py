"""Token id <-> bytes, on vocabularies made by hand with the `tokenizers` library."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from engine.vocabulary import Vocabulary, VocabularyError
from engine.vocabulary.spelling import byte_alphabet, byte_level, sentencepiece, sentencepiece_text


def wrapped(backend: Tokenizer, **special: str) -> Any:
    return PreTrainedTokenizerFast(tokenizer_object=backend, **special)


def byte_level_tokenizer(extra: tuple[str, ...] = ()) -> Tokenizer:
    pieces = [*byte_alphabet(), *extra]
    backend = Tokenizer(models.BPE(vocab={piece: place for place, piece in enumerate(pieces)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return backend


def llama_like(extra: tuple[str, ...] = ()) -> Tokenizer:
    """SentencePiece as Llama's tokenizer.json has it: BPE with byte fallback and a dummy prefix."""
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "\u2581", "a", "b", *extra]
    vocab = {piece: place for place, piece in enumerate(pieces)}
    merges = [("\u2581", "a")] if "\u2581a" in extra else []
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges, byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    backend.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.add_special_tokens(["<unk>", "<s>", "</s>"])
    return backend


# --- spelling


def test_byte_alphabet() -> None:
    alphabet = byte_alphabet()
    assert sorted(alphabet.values()) == list(range(256))
    # GPT-2's own: space, newline, tab, DEL, no-break space, soft hyphen, A, é
    assert [alphabet[character] for character in "ĠĊĉġłŃAé"] == [0x20, 0x0A, 0x09, 0x7F, 0xA0, 0xAD, 0x41, 0xE9]


@pytest.mark.parametrize(
    ("piece", "data"),
    [
        ("Ġthe", b" the"),
        ("Ċ", b"\n"),
        ("Ã©", b"\xc3\xa9"),
        ("ðŁĺ", b"\xf0\x9f\x98"),
        ("a b", b"a b"),
        ("日", "日".encode()),
    ],
)
def test_byte_level(piece: str, data: bytes) -> None:
    assert byte_level(piece) == data


@pytest.mark.parametrize(
    ("piece", "data"),
    [
        ("\u2581the", b" the"),
        ("\u2581\u2581", b"  "),
        ("<0x0A>", b"\n"),
        ("<0xF1>", b"\xf1"),
        ("<0x0A>x", b"<0x0A>x"),
        ("<0xZZ>", b"<0xZZ>"),
        ("é", "é".encode()),
    ],
)
def test_sentencepiece(piece: str, data: bytes) -> None:
    assert sentencepiece(piece) == data


def test_sentencepiece_without_byte_fallback_has_no_byte_pieces() -> None:
    assert sentencepiece_text("<0x0A>") == b"<0x0A>"


@given(st.binary(max_size=12))
def test_byte_level_undoes_the_alphabet(data: bytes) -> None:
    characters = {byte: character for character, byte in byte_alphabet().items()}
    assert byte_level("".join(characters[byte] for byte in data)) == data


# --- from_tokens


def test_from_tokens() -> None:
    vocabulary = Vocabulary.from_tokens([b"a", b"ab", b"<eos>", b"<pad>", b"a"], end_ids=[2], special_ids=[3])
    assert vocabulary.size == 5
    assert vocabulary.tokens == (b"a", b"ab", b"", b"", b"a")
    assert vocabulary.one_byte == frozenset(b"a")
    assert vocabulary.longest == 2
    assert vocabulary.end_ids == {2}
    assert vocabulary.special_ids == {3}
    assert vocabulary.name(2) == "<eos>"
    assert vocabulary.name(3) == "<pad>"
    assert vocabulary.name(1) == "ab"
    node = vocabulary.trie.find(b"a")
    assert node is not None
    assert vocabulary.trie.ids(node) == [0, 4]
    assert vocabulary.trie.find(b"<") is None


def test_name_of_broken_utf8() -> None:
    assert Vocabulary.from_tokens([b"\xf0\x9f"]).name(0) == "\\xf0\\x9f"


def test_empty_vocabulary() -> None:
    vocabulary = Vocabulary.from_tokens([])
    assert (vocabulary.size, vocabulary.longest, len(vocabulary.trie)) == (0, 0, 1)


@pytest.mark.parametrize("end_id", [-1, 1])
def test_end_id_outside(end_id: int) -> None:
    with pytest.raises(VocabularyError, match=f"id {end_id} is outside"):
        Vocabulary.from_tokens([b"a"], end_ids=[end_id])


def test_digest_is_of_the_content() -> None:
    base = Vocabulary.from_tokens([b"a", b"bc"])
    assert base.digest == Vocabulary.from_tokens([b"a", b"bc"]).digest
    others = [
        Vocabulary.from_tokens([b"ab", b"c"]),
        Vocabulary.from_tokens([b"a", b"bc", b""]),
        Vocabulary.from_tokens([b"a", b"bc", b"x"], end_ids=[2]),
        Vocabulary.from_tokens([b"a", b"bc", b"x"], special_ids=[2]),
    ]
    assert len({base.digest, *(other.digest for other in others)}) == 5


# --- byte-level tokenizers


def test_byte_level_tokenizer() -> None:
    vocabulary = Vocabulary.from_tokenizer(wrapped(byte_level_tokenizer(("Ġa", '{"'))))
    assert vocabulary.size == 258
    assert vocabulary.one_byte == frozenset(range(256))
    assert vocabulary.tokens[256:] == (b" a", b'{"')


def test_added_tokens() -> None:
    backend = byte_level_tokenizer()
    backend.add_tokens([AddedToken("<think>", special=False), AddedToken("  é", special=False)])
    backend.add_special_tokens(["<|end|>", "<|pad|>"])
    vocabulary = Vocabulary.from_tokenizer(wrapped(backend, eos_token="<|end|>"))
    assert vocabulary.tokens[256:] == (b"<think>", "  é".encode(), b"", b"")
    assert vocabulary.special_ids == {258, 259}
    assert vocabulary.end_ids == {258}
    assert vocabulary.name(258) == "<|end|>"
    assert vocabulary.name(259) == "<|pad|>"
    assert vocabulary.name(256) == "<think>"


def test_all_end_ids_count_and_spell_nothing() -> None:
    backend = byte_level_tokenizer(("STOP",))
    backend.add_special_tokens(["<|end|>"])
    vocabulary = Vocabulary.from_tokenizer(wrapped(backend, eos_token="<|end|>"), extra_end_ids=[256, 257])
    assert vocabulary.end_ids == {256, 257}
    assert vocabulary.tokens[256:] == (b"", b"")


@pytest.mark.parametrize("size", [200, 300])
def test_size_is_that_of_the_logits(size: int) -> None:
    backend = byte_level_tokenizer()
    backend.add_special_tokens(["<|end|>"])
    vocabulary = Vocabulary.from_tokenizer(wrapped(backend, eos_token="<|end|>"), size=size)
    assert vocabulary.size == size
    assert vocabulary.end_ids == ({256} if size > 256 else set())
    assert all(token == b"" for token in vocabulary.tokens[256:])


# --- SentencePiece tokenizers


def test_sentencepiece_tokenizer() -> None:
    vocabulary = Vocabulary.from_tokenizer(wrapped(llama_like(("\u2581a",)), eos_token="</s>", unk_token="<unk>"))
    assert vocabulary.tokens[:3] == (b"", b"", b"")
    assert vocabulary.tokens[3:259] == tuple(bytes([byte]) for byte in range(256))
    assert vocabulary.tokens[259:] == (b" ", b"a", b"b", b" a")
    assert vocabulary.special_ids == {0, 1, 2}
    assert vocabulary.end_ids == {2}
    space = vocabulary.trie.find(b" ")
    assert space is not None
    assert vocabulary.trie.ids(space) == [3 + 0x20, 259]


@pytest.mark.parametrize("text", ["a", "a b", "\n\t", "é😀", " ab", "<0x0A>", "a<s>b"])
def test_sentencepiece_encoding_spells_the_text_after_its_dummy_prefix(text: str) -> None:
    tokenizer = wrapped(llama_like(("\u2581a",)))
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    ids = tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
    assert b"".join(vocabulary.tokens[token_id] for token_id in ids) == b" " + text.encode()


def test_metaspace_decoder_without_byte_fallback() -> None:
    pieces = [("<unk>", 0.0), ("\u2581a", -1.0), ("<0x0A>", -2.0)]
    backend = Tokenizer(models.Unigram(pieces, unk_id=0))
    backend.decoder = decoders.Metaspace()
    vocabulary = Vocabulary.from_tokenizer(wrapped(backend, unk_token="<unk>"))
    assert vocabulary.tokens == (b"", b" a", b"<0x0A>")


class FakePieces:
    """A SentencePieceProcessor of five pieces."""

    pieces = ("<unk>", "</s>", "<0x0A>", "\u2581a", "<unused>")

    def get_piece_size(self) -> int:
        return len(self.pieces)

    def id_to_piece(self, token_id: int) -> str:
        return self.pieces[token_id]

    def is_byte(self, token_id: int) -> bool:
        return token_id == 2

    def is_control(self, token_id: int) -> bool:
        return token_id == 1

    def is_unknown(self, token_id: int) -> bool:
        return token_id == 0

    def is_unused(self, token_id: int) -> bool:
        return token_id == 4


def test_sentencepiece_model_without_tokenizer_json() -> None:
    tokenizer = SimpleNamespace(
        sp_model=FakePieces(),
        eos_token_id=1,
        all_special_ids=[0, 1],
        all_special_tokens=["<unk>", "</s>"],
        added_tokens_decoder={5: AddedToken("<think>", special=False), 6: AddedToken("<|call|>", special=True)},
    )
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert vocabulary.tokens == (b"", b"", b"\n", b" a", b"", b"<think>", b"")
    assert vocabulary.special_ids == {0, 1, 4, 6}
    assert vocabulary.end_ids == {1}


def mistral_model() -> Path:
    mistral_common = pytest.importorskip("mistral_common", reason="the package that carries SentencePiece models")
    return Path(mistral_common.__file__).parent / "data" / "tokenizer.model.v1"


def test_a_real_sentencepiece_model_reads_the_same_both_ways(tmp_path: Path) -> None:
    sentencepiece_package = pytest.importorskip("sentencepiece", reason="reads SentencePiece models")
    from transformers import LlamaTokenizer

    model = sentencepiece_package.SentencePieceProcessor(model_file=str(mistral_model()))
    (tmp_path / "tokenizer.model").write_bytes(mistral_model().read_bytes())
    fast = LlamaTokenizer.from_pretrained(tmp_path)
    slow = SimpleNamespace(
        sp_model=model,
        eos_token_id=model.eos_id(),
        all_special_ids=fast.all_special_ids,
        all_special_tokens=fast.all_special_tokens,
    )
    vocabulary = Vocabulary.from_tokenizer(fast)
    assert vocabulary.size == 32000
    assert vocabulary.one_byte == frozenset(range(256))
    assert vocabulary.digest == Vocabulary.from_tokenizer(slow).digest
    text = 'Größe: {"a": [1, 2]}\n\t😀 </s>'
    ids = model.encode(text)
    assert b"".join(vocabulary.tokens[token_id] for token_id in ids) == b" " + text.encode()


# --- what is not supported


def test_other_decoders_are_refused_by_name() -> None:
    backend = Tokenizer(models.WordPiece(vocab={"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"))
    backend.decoder = decoders.WordPiece()
    with pytest.raises(VocabularyError, match="WordPiece"):
        Vocabulary.from_tokenizer(wrapped(backend, unk_token="[UNK]"))


def test_no_decoder_is_refused() -> None:
    backend = byte_level_tokenizer()
    backend.decoder = None
    with pytest.raises(VocabularyError, match="no decoder"):
        Vocabulary.from_tokenizer(wrapped(backend))


def test_replacing_something_else_is_refused() -> None:
    backend = llama_like()
    backend.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.Replace("_", " ")])
    with pytest.raises(VocabularyError, match="Replace"):
        Vocabulary.from_tokenizer(wrapped(backend))


def test_other_tokenizer_classes_are_refused_by_name() -> None:
    with pytest.raises(VocabularyError, match="SimpleNamespace"):
        Vocabulary.from_tokenizer(SimpleNamespace(eos_token_id=None))
