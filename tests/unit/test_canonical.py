"""The canonical tokenisation of bytes in the middle of a text, against the libraries it comes from."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from engine.vocabulary import Vocabulary, VocabularyError
from engine.vocabulary.canonical import Canonical
from engine.vocabulary.spelling import byte_alphabet

# é is two bytes, 日 three, 😀 four; some of their beginnings have merges in real vocabularies
PIECES = [
    " ",
    "  ",
    "\n",
    "\t",
    '"',
    '{"',
    '":',
    "the",
    " the",
    "a",
    "x",
    "0",
    "12",
    "é",
    "日本",
    "😀",
    "'ll",
    "</s>",
    "▁",
]
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
MIDDLE = ["", "a b", " a", "  a", '"age": 3', "\n\t", "é😀", "<s></s>", "x\x00", "日"]


def wrapped(backend: Tokenizer, **special: str) -> Any:
    return PreTrainedTokenizerFast(tokenizer_object=backend, **special)


def canonical(tokenizer: Any) -> Canonical:
    return Canonical(tokenizer, Vocabulary.from_tokenizer(tokenizer))


def byte_level_tokenizer(merges: list[tuple[str, str]], prefix: bool = False) -> Tokenizer:
    pieces = [*byte_alphabet(), *dict.fromkeys(left + right for left, right in merges)]
    vocab = {piece: place for place, piece in enumerate(pieces)}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    backend.decoder = decoders.ByteLevel()
    return backend


def llama_like() -> Tokenizer:
    """SentencePiece as older tokenizer.json files have it: the dummy prefix is put there by a normaliser."""
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "b", "▁a"]
    vocab = {piece: place for place, piece in enumerate(pieces)}
    model = models.BPE(vocab=vocab, merges=[("▁", "a")], byte_fallback=True, unk_token="<unk>", fuse_unk=True)
    backend = Tokenizer(model)
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.add_special_tokens(["<unk>", "<s>", "</s>"])
    return backend


# --- byte-level BPE


def test_byte_level_is_what_the_tokenizer_gives() -> None:
    tokenizer = wrapped(byte_level_tokenizer([("Ġ", "a"), ("Ġa", "b"), ("b", "a")]))
    # by words: " ab" in two merges; " ba", where b and a merge; " aba", where the merge of b and a comes too late
    assert canonical(tokenizer).encode(b" ab ba aba") == (257, byte_id("Ġ"), 258, 257, byte_id("a"))


def test_no_space_is_put_before_the_middle_of_a_text() -> None:
    tokenizer = wrapped(byte_level_tokenizer([("Ġ", "a")], prefix=True))
    assert tokenizer.encode("a") == [256]
    assert canonical(tokenizer).encode(b"a") == (byte_id("a"),)
    assert canonical(tokenizer).encode(b" a") == (256,)


def byte_id(character: str) -> int:
    return list(byte_alphabet()).index(character)


def test_special_tokens_are_text_and_added_ones_are_not() -> None:
    backend = byte_level_tokenizer([])
    backend.add_tokens([AddedToken("<think>", special=False)])
    backend.add_special_tokens(["<|end|>"])
    tokenizer = wrapped(backend, eos_token="<|end|>")
    assert tokenizer.encode("<|end|>") == [257]
    encode = canonical(tokenizer).encode
    assert encode(b"<|end|>") == tuple(byte_id(character) for character in "<|end|>")
    assert encode(b"<think>") == (256,)


def test_the_tokenizer_itself_is_left_as_it_was() -> None:
    tokenizer = wrapped(byte_level_tokenizer([("Ġ", "a")], prefix=True))
    before = tokenizer.backend_tokenizer.to_str()
    canonical(tokenizer).encode(b"a")
    assert tokenizer.backend_tokenizer.to_str() == before
    assert not tokenizer.backend_tokenizer.encode_special_tokens


def test_truncation_and_padding_of_the_tokenizer_do_not_matter() -> None:
    backend = byte_level_tokenizer([])
    backend.enable_truncation(2)
    backend.enable_padding(length=9)
    assert canonical(wrapped(backend)).encode(b"abcd") == tuple(byte_id(character) for character in "abcd")


@pytest.mark.parametrize("data", [b"\xff", b"a\xf0\x9f", b"\xed\xa0\x80"])
def test_bytes_that_are_not_utf8_have_none(data: bytes) -> None:
    assert canonical(wrapped(byte_level_tokenizer([]))).encode(data) is None


def test_what_the_tokenizer_normalises_has_none() -> None:
    backend = byte_level_tokenizer([])
    backend.normalizer = normalizers.Lowercase()
    encode = canonical(wrapped(backend))
    assert encode.encode_many([b"A", b"a"]) == [None, (byte_id("a"),)]


def test_ids_without_a_logit_have_none() -> None:
    tokenizer = wrapped(byte_level_tokenizer([("a", "b")]))
    small = Vocabulary.from_tokenizer(tokenizer, size=256)
    assert Canonical(tokenizer, small).encode(b"ab") is None


def test_a_token_that_ends_the_text_is_not_text() -> None:
    tokenizer = wrapped(byte_level_tokenizer([("a", "b")]))
    vocabulary = Vocabulary.from_tokenizer(tokenizer, extra_end_ids=[256])
    assert Canonical(tokenizer, vocabulary).encode(b"ab") is None


# --- SentencePiece


@pytest.mark.parametrize("text", MIDDLE)
def test_the_dummy_prefix_of_a_normaliser_is_left_out(text: str) -> None:
    tokenizer = wrapped(llama_like())
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    ids = Canonical(tokenizer, vocabulary).encode(text.encode())
    assert ids is not None
    assert b"".join(vocabulary.tokens[token_id] for token_id in ids) == text.encode()
    assert list(ids) == tokenizer.encode("\n" + text, add_special_tokens=False, split_special_tokens=True)[2:]


@pytest.mark.parametrize("scheme", ["always", "first"])
def test_the_dummy_prefix_of_a_pre_tokeniser_is_left_out(scheme: str) -> None:
    backend = Tokenizer(models.Unigram([("<unk>", 0.0), ("▁a", -1.0), ("a", -2.0), ("▁", -3.0)], unk_id=0))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    backend.decoder = decoders.Metaspace()
    encode = canonical(wrapped(backend, unk_token="<unk>")).encode
    assert encode(b"a") == (2,)
    assert encode(b" a") == (1,)
    assert encode(b"a aa") == (2, 1, 2)
    assert encode(b"b") is None


def mistral_data(name: str) -> Path:
    mistral_common = pytest.importorskip("mistral_common", reason="the package that carries tokenizers")
    return Path(mistral_common.__file__).parent / "data" / name


@pytest.fixture(scope="module")
def sentencepiece_model() -> Any:
    package = pytest.importorskip("sentencepiece", reason="reads SentencePiece models")
    return package.SentencePieceProcessor(model_file=str(mistral_data("tokenizer.model.v1")))


@pytest.fixture(scope="module")
def fast_mistral(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from transformers import LlamaTokenizer

    folder = tmp_path_factory.mktemp("mistral")
    (folder / "tokenizer.model").write_bytes(mistral_data("tokenizer.model.v1").read_bytes())
    return LlamaTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def canonical_mistral(fast_mistral: Any) -> Canonical:
    return canonical(fast_mistral)


@pytest.fixture(scope="module")
def canonical_sentencepiece(fast_mistral: Any, sentencepiece_model: Any) -> Canonical:
    tokenizer = SimpleNamespace(
        sp_model=sentencepiece_model,
        eos_token_id=sentencepiece_model.eos_id(),
        all_special_ids=fast_mistral.all_special_ids,
        all_special_tokens=fast_mistral.all_special_tokens,
    )
    return canonical(tokenizer)


@given(texts)
@settings(deadline=None)
def test_a_real_sentencepiece_tokenizer(canonical_mistral: Canonical, fast_mistral: Any, text: str) -> None:
    """After a character without merges, the library's own encoding is that of the middle of a text."""
    expected = fast_mistral.encode("\ue001" + text, add_special_tokens=False, split_special_tokens=True)
    ids = canonical_mistral.encode(text.encode())
    if "▁" in text:
        assert ids is None  # it comes back as a space
    else:
        assert list(ids or ()) == expected[4:]  # the dummy prefix and three bytes


@given(texts)
@settings(deadline=None)
def test_a_real_sentencepiece_model(canonical_sentencepiece: Canonical, sentencepiece_model: Any, text: str) -> None:
    ids = canonical_sentencepiece.encode(text.encode())
    if "▁" in text:
        assert ids is None
    else:
        assert list(ids or ()) == sentencepiece_model.encode("\ue001" + text)[4:]


def test_other_tokenizers_are_refused() -> None:
    with pytest.raises(VocabularyError, match="SimpleNamespace"):
        Canonical(SimpleNamespace(), Vocabulary.from_tokens([b"a"]))


# --- Tekken: byte-level BPE that cuts words by a pattern of its own


@pytest.fixture(scope="module")
def tekken() -> tuple[Canonical, Any]:
    """The first 8,000 of Tekken's ranks are enough for its merges to matter; the peer reads the same file."""
    import base64
    import json

    tekken_file = json.loads(mistral_data("tekken_240911.json").read_text())
    ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in tekken_file["vocab"][:8000]}
    tiktoken = pytest.importorskip("tiktoken", reason="the peer")
    pattern = tekken_file["config"]["pattern"]
    peer = tiktoken.Encoding("tekken", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    characters = {byte: character for character, byte in byte_alphabet().items()}

    def spelled(token: bytes) -> str:
        return "".join(characters[byte] for byte in token)

    halves = ((token[:cut], token[cut:]) for token in ranks for cut in range(1, len(token)))
    merges = [(spelled(left), spelled(right)) for left, right in halves if left in ranks and right in ranks]
    vocab = {spelled(token): rank for token, rank in ranks.items()}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=True))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    return canonical(wrapped(backend)), peer


@given(texts)
@settings(deadline=None)
def test_tekken(tekken: tuple[Canonical, Any], text: str) -> None:
    own, peer = tekken
    assert list(own.encode(text.encode()) or ()) == peer.encode_ordinary(text)


def test_many_threads_share_one() -> None:
    own = canonical(wrapped(llama_like()))
    expected = {text: own.encode(text.encode()) for text in MIDDLE}
    wrong: list[str] = []

    def encode() -> None:
        for _ in range(50):
            wrong.extend(text for text, ids in expected.items() if own.encode(text.encode()) != ids)

    threads = [threading.Thread(target=encode) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
