"""Free text up to a delimiter, then the constraint, then perhaps free text again."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import ConstraintError, compile_json_schema, compile_regex, compile_source
from engine.decoding.decoder import Decoder
from engine.decoding.records import ConstraintSource, RunSpec, Sampler
from engine.grammar.free_text import after_delimiter
from tests.unit.tiny_bpe import TinyModel, tiny_tokenizer


def test_free_until_the_delimiter_and_exact_after_it() -> None:
    constraint = after_delimiter(compile_json_schema({"type": "integer"}), "</think>")
    kinds = {
        text: constraint.check(text).kind
        for text in [
            "",
            "so </thin",
            "so 1 < 2 </think>",
            "</think>12",
            'é{"a": </think>-3',
            "12",
            "</think>x",
            "</think>1 ",
        ]
    }
    assert kinds == {
        "": "incomplete",
        "so </thin": "incomplete",
        "so 1 < 2 </think>": "incomplete",
        "</think>12": "accepted",
        'é{"a": </think>-3': "accepted",
        "12": "incomplete",
        "</think>x": "rejected",
        "</think>1 ": "rejected",
    }


def test_only_the_first_delimiter_counts() -> None:
    constraint = after_delimiter(compile_regex("a"), "||")
    assert constraint.check("x||a").kind == "accepted"
    assert constraint.check("||x||a").kind == "rejected"
    assert constraint.check("|||a").kind == "rejected"  # the first "||" is followed by "|"


def test_free_again_after_it() -> None:
    constraint = after_delimiter(compile_regex("[0-9]{2}"), ":", free_after=True)
    assert constraint.check("it is :12 o'clock: 13").kind == "accepted"
    assert constraint.check("it is :1").kind == "incomplete"
    assert constraint.check("it is :1x").kind == "rejected"


@given(st.text("ab|", max_size=8), st.sampled_from(["|", "a|", "||", "aba"]), st.booleans())
def test_the_language_is_that_of_a_regex(text: str, delimiter: str, free_after: bool) -> None:
    constraint = after_delimiter(compile_regex("b+"), delimiter, free_after=free_after)
    quoted = re.escape(delimiter)
    first = f"(?:(?!{quoted})[\\s\\S])*?{quoted}"
    # no delimiter may begin before the first one ends, not even one that overlaps it
    expected = re.fullmatch(f"(?P<before>{first})b+" + ("[\\s\\S]*" if free_after else ""), text)
    found = text.find(delimiter)
    rest = text[found + len(delimiter) :]
    by_hand = found >= 0 and bool(re.match("b+", rest) if free_after else re.fullmatch("b+", rest))
    assert (constraint.check(text).kind == "accepted") == by_hand
    assert by_hand == bool(expected)


@pytest.mark.parametrize("delimiter", ["", "x" * 201])
def test_delimiters_that_cannot_be_used(delimiter: str) -> None:
    with pytest.raises(ConstraintError, match="delimiter"):
        after_delimiter(compile_regex("a"), delimiter)


def test_who_speaks() -> None:
    constraint = compile_source(ConstraintSource("json_schema", '{"type": "integer"}', after="answer:"))
    assert [str(origin) for origin in constraint.origins(constraint.start)] == ["free text"]
    inside = constraint.advance(constraint.start, b"answer:1")
    assert inside is not None
    assert "free text" not in map(str, constraint.origins(inside))
    assert constraint.shortest(constraint.start) == b"answer:0"


def test_a_run_is_free_first_and_a_token_may_cross_the_delimiter() -> None:
    tokenizer = tiny_tokenizer("ab:1", [(":", "1"), ("a", ":")])
    model = TinyModel(tokenizer)
    crossing = next(token_id for token_id in range(model.vocabulary.size) if model.vocabulary.tokens[token_id] == b":1")
    spec = RunSpec("ab", ConstraintSource("regex", "11", after=":"), False, Sampler(temperature=1.5, seed=2), 60)
    run = Decoder(model, spec)
    assert crossing in run.mask_at(0)
    list(run.run())
    assert run.finish == "complete"
    before, _, after = run.trace.text.partition(b":")
    assert after == b"11"
    assert before
    assert run.branch(0, crossing).state is not None
