"""Which bytes had no alternative, and which tokens a jump would have cut off."""

from __future__ import annotations

import pytest

from engine import compile_json_schema, compile_regex
from engine.analysis.forced import forced_along, longer_tokens
from engine.vocabulary import Vocabulary

TOKENS = [b"h", b"http", b"https", b"http:", b"https:x", b"://", b":", b"//", b"/", b"s", b"p", b"t"]
VOCABULARY = Vocabulary.from_tokens([*TOKENS, b"<end>"], end_ids=[len(TOKENS)])


def test_forced_bytes_along_a_text() -> None:
    found = forced_along(compile_regex("ab(c|d)e?"), b"abce")
    assert found == (True, True, False, False)  # a choice, and a byte before which the text may end


def test_keys_are_forced_and_values_are_not() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "boolean"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    text = b'{"n":true}'
    found = forced_along(compile_json_schema(schema, whitespace="compact"), text)
    assert [text[at : at + 1] for at, forced in enumerate(found) if not forced] == [b"t"]


def test_a_refused_text_ends_where_it_is_refused() -> None:
    assert forced_along(compile_regex("abc"), b"abx") == (True, True)


def test_tokens_that_go_on_from_the_last_forced_one() -> None:
    constraint = compile_regex("http(s)?://p")
    found = longer_tokens(constraint, VOCABULARY, constraint.start, b"http")
    assert (found.forced, found.following) == (b"http", b":s")
    assert found.tokens == (b"http:", b"https")  # https:x may not follow


def test_no_longer_token() -> None:
    constraint = compile_regex("h(s|t)")
    assert longer_tokens(constraint, VOCABULARY, constraint.start, b"h").tokens == ()
    with pytest.raises(ValueError, match="do not end"):
        longer_tokens(constraint, VOCABULARY, constraint.start, b"x")
