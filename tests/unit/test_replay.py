"""A text read again: where it stops, which options it needs, and its tokens with what a mask allows at each."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.replay import Replay, allowed_counts, longest_tokens, options_needed, replay
from engine.constraint import Constraint
from engine.decoding.records import ConstraintSource
from engine.errors import ConstraintError
from engine.grammar.regex.compile import compile_regex
from engine.grammar.sources import compile_source
from engine.masking import Masker
from engine.vocabulary import Vocabulary
from engine.vocabulary.spelling import VocabularyError, byte_alphabet
from engine.vocabulary.tokenizer_file import MOST_BYTES, read_tokenizer_file

TOKENS = [bytes([b]) for b in range(256)] + [b"ab", b"abc", b"bc", b"12", b"<end>"]
END = len(TOKENS) - 1
VOCABULARY = Vocabulary.from_tokens(TOKENS, end_ids=[END])
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string", "format": "date"}},
        "required": ["a"],
        "additionalProperties": False,
    }
)


def compiled(source: ConstraintSource) -> Constraint | ConstraintError:
    try:
        return compile_source(source)
    except ConstraintError as error:
        return error


def of_regex(pattern: str, text: bytes) -> tuple[Masker, Replay]:
    masker = Masker(compile_regex(pattern), VOCABULARY)
    return masker, replay(masker.constraint, masker, None, text)


def test_stops_at_the_first_illegal_byte_and_the_token_that_holds_it() -> None:
    masker, found = of_regex("ab[0-9]+", b"ab1abc2")
    assert (found.verdict.kind, found.verdict.offset) == ("rejected", 3)
    assert found.repair is not None
    assert found.tokenisation == "longest"
    assert [(t.token, t.offset, t.fate) for t in found.tokens] == [
        (b"ab", 0, "allowed"),
        (b"1", 2, "allowed"),
        (b"abc", 3, "masked"),
        (b"2", 6, "unread"),
    ]
    # before "ab": a, ab; after it: 0-9 and 12; after a digit: these and the end
    assert dict(allowed_counts(masker, found)) == {0: 2, 1: 11, 2: 12}
    assert [index for index, _ in allowed_counts(masker, found)] == [2, 1, 0]


def test_a_whole_text_ends_with_the_end_token() -> None:
    masker, found = of_regex("a(bc)?", b"abc")
    assert found.verdict.kind == "accepted"
    assert found.repair is None
    assert found.tokens[-1].end
    assert found.tokens[-1].fate == "allowed"
    assert dict(allowed_counts(masker, found))[1] == 1


def test_an_incomplete_text_has_its_end_masked() -> None:
    _, found = of_regex("ab12", b"ab1")
    assert found.verdict.kind == "incomplete"
    assert found.verdict.completion == b"2"
    assert found.tokens[-1].end
    assert found.tokens[-1].fate == "masked"


def test_without_a_vocabulary_there_are_bytes_only() -> None:
    found = replay(compile_regex("ab"), None, None, b"ac")
    assert found.verdict.offset == 1
    assert found.tokens == ()
    assert found.tokenisation == ""


@given(st.binary(max_size=40))
def test_longest_tokens_spell_the_text(text: bytes) -> None:
    spelled = [VOCABULARY.tokens[i] for i in longest_tokens(VOCABULARY, text)]
    assert b"".join(spelled) == text


def test_longest_tokens_stop_at_a_byte_without_a_token() -> None:
    assert longest_tokens(Vocabulary.from_tokens([b"a", b"ab"]), b"aabxa") == (0, 1)


@pytest.mark.parametrize(
    ("text", "options", "needed"),
    [
        ('{"a":1,"b":"2024-01-31"}', {}, ()),
        ('{"b":"2024-01-31","a":1}', {}, (("key_order", "any"),)),
        ('{"a":\n1}', {}, (("whitespace", "any"),)),
        ('{"a":1.0}', {}, (("spelling", "any"),)),
        ('{"b":"2024-01-31",\n"a":1}', {}, (("key_order", "any"), ("whitespace", "any"))),
        ('{"a":1,"b":"soon"}', {}, (("formats", "annotate"),)),
        ('{"a":1,"b":"soon"}', {"formats": "annotate"}, ()),
        ('{"a":"1"}', {}, None),
        ('{"a":1,"c":2}', {}, None),
    ],
)
def test_says_which_options_a_text_needs(
    text: str, options: dict[str, str], needed: tuple[tuple[str, str], ...] | None
) -> None:
    source = ConstraintSource("json_schema", SCHEMA, tuple(options.items()))
    assert options_needed(source, text.encode(), compiled) == needed


def test_undeclared_keys_are_an_option_only_where_the_schema_says_nothing() -> None:
    schema = '{"type":"object","properties":{"a":{"type":"integer"}}}'
    source = ConstraintSource("json_schema", schema, (("objects", "closed"),))
    assert options_needed(source, b'{"a":1,"c":2}', compiled) == (("objects", "open"),)


def test_a_regex_has_no_options() -> None:
    assert options_needed(ConstraintSource("regex", "ab"), b"ac", compiled) is None
    assert options_needed(ConstraintSource("regex", "ab"), b"ab", compiled) == ()


def tokenizer_json(**changes: object) -> bytes:
    """A byte-level BPE tokenizer of the 256 bytes, one merge and one special token."""
    vocab = byte_alphabet() | {"ab": 256}
    content = {
        "version": "1.0",
        "added_tokens": [
            {"id": 257, "content": "</s>", "special": True}
            | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        ],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": vocab, "merges": ["a b"]},
    }
    return json.dumps(content | changes).encode()


def test_a_tokenizer_file_gives_tokens_and_its_own_way_to_split() -> None:
    read = read_tokenizer_file(tokenizer_json())
    assert read.vocabulary.size == 258
    assert read.vocabulary.tokens[256] == b"ab"
    assert read.ends == ("</s>",)
    assert read.canonical is not None
    assert read.canonical.encode(b"ab") == (256,)


def test_which_tokens_end_a_text_can_be_said() -> None:
    assert read_tokenizer_file(tokenizer_json(), end_names=()).vocabulary.end_ids == frozenset()


def test_a_pattern_that_may_never_end_is_not_matched() -> None:
    slow = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    steps = {"type": "Sequence", "pretokenizers": [slow, byte_level]}
    read = read_tokenizer_file(tokenizer_json(pre_tokenizer=steps))
    assert read.canonical is None
    assert "(a+)+$" in read.untrusted


@pytest.mark.parametrize(
    "pattern",
    [
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{M}]*[\p{Ll}\p{M}]+(?i:'s|'t)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s+(?!\S)",
    ],
)
def test_patterns_of_known_tokenizers_are_matched(pattern: str) -> None:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    steps = {"type": "Sequence", "pretokenizers": [split, byte_level]}
    assert read_tokenizer_file(tokenizer_json(pre_tokenizer=steps)).canonical is not None


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "no JSON"),
        (b"\xff", "no JSON"),
        (b"[1]", "no tokenizer"),
        (b"[" * 100_000, "no JSON"),
        (b'{"model": {"type": "Magic"}}', "model Magic"),
        (tokenizer_json(decoder=None), "no decoder"),
        (tokenizer_json(decoder={"type": "WordPiece", "prefix": "##", "cleanup": True}), "WordPiece"),
        (tokenizer_json(model={"type": "BPE", "vocab": {"a": 4_000_000_000}, "merges": []}), "are the limit"),
        (b" " * (MOST_BYTES + 1), "30.0 MB"),
    ],
    ids=["cut", "not UTF-8", "no object", "deep", "other model", "no decoder", "WordPiece", "huge id", "large"],
)
def test_other_files_are_refused_in_words(data: bytes, said: str) -> None:
    with pytest.raises(VocabularyError, match=said):
        read_tokenizer_file(data)
