"""The policy `aligned` against slow references: JSON cut into terminals, grammars read by a backtracking matcher.

Vocabularies have a token for every byte and longer ones that straddle every boundary. What is expected in the hand-made
cases is DESIGN.md section 4, "Terminal", read aloud.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from engine import (
    Budget,
    ConstraintError,
    compile_choices,
    compile_gbnf,
    compile_json_schema,
    compile_lark,
    compile_regex,
    compile_request,
)
from engine.automaton.terms import LONGEST_LITERAL
from engine.constraint import Constraint
from engine.grammar.free_text import after_delimiter, any_bytes
from engine.masking import Masker, Place
from engine.masking.terminals import Aligned
from engine.vocabulary import Vocabulary
from tests.unit.random_schemas import schemas

STRADDLING = (
    '{" ", ": " "a" "a": ab abab aba ba bc abc ac abca xab aab bb é éa bé ééa 12 1, 2} 1.5 true e, ]} [] {} \\" \\\\ '
)
TOKENS = [token.encode() for token in STRADDLING.split()] + [
    b' "',
    b", ",
    b'": "',
    b"1 ",
    b"}</",
    b"</",
    b"/f",
    b"  ",
    b'\\"a',
    b"\xa9b",
]
VOCABULARY = Vocabulary.from_tokens([b"<end>", *(bytes([byte]) for byte in range(256)), *TOKENS], end_ids=[0])
"""Token 1 + b is byte b."""

FIRST_LONG = 257
BUDGET = Budget(seconds=5, terms=300_000, states=20_000)


def place_after(constraint: Constraint, text: bytes, prefix: bytes = b"") -> Place:
    """The place after a text, byte by byte, behind a healed prefix."""
    start = constraint.after_prefix(prefix) if prefix else constraint.start
    state = constraint.advance(start, text)
    assert state is not None, text
    return Place(start, len(prefix), tuple(1 + byte for byte in text), state, remaining=1000)


def bridging_and_aligned(constraint: Constraint, text: bytes, prefix: bytes = b"") -> tuple[set[bytes], set[bytes]]:
    """Tokens of more than one byte that the mask allows, and those that `aligned` leaves of them.

    What holds everywhere is checked on the way: a subset, with every one-byte token and end token of the mask.
    """
    masker = Masker(constraint, VOCABULARY)
    place = place_after(constraint, text, prefix)
    allowed = masker.mask(place.state).to_bool()
    aligned = Aligned(masker).narrow(allowed, place)
    assert not (aligned & ~allowed).any()
    assert (aligned[:FIRST_LONG] == allowed[:FIRST_LONG]).all()
    both = [
        {VOCABULARY.tokens[i] for i in range(FIRST_LONG, VOCABULARY.size) if mask[i]} for mask in (allowed, aligned)
    ]
    return both[0], both[1]


def aligned(constraint: Constraint, text: bytes, prefix: bytes = b"") -> set[bytes]:
    return bridging_and_aligned(constraint, text, prefix)[1]


# --- JSON

ANY_JSON = compile_json_schema(True, whitespace="any", spelling="any")
OBJECT = compile_json_schema({"type": "object"})

TERMINAL = re.compile(rb'[{}\[\],:]|"(?:[^"\\]|\\.)*(?:"|\\?$)|[-0-9][-+.eE0-9]*|[a-z]+|[ \t\r\n]+|<[/f>]*', re.DOTALL)


def in_one_terminal(text: bytes, start: int) -> bool:
    """Whether the bytes of a beginning of a JSON text from `start` on belong to one terminal."""
    return any(match.start() <= start and len(text) <= match.end() for match in TERMINAL.finditer(text))


def test_an_opening_brace_and_a_quote_are_two_terminals() -> None:
    bridging, within = bridging_and_aligned(OBJECT, b"")
    assert bridging == {b'{"', b"{}"}
    assert within == set()  # and `{` stays, being one byte


def test_a_string_goes_up_to_its_quote() -> None:
    bridging, within = bridging_and_aligned(OBJECT, b'{"a": "x')
    assert {b'",', b"ab", b'\\"', b'\\"a', b"{}", b"1 "} <= bridging
    assert within >= {b"ab", b'\\"', b'\\"a', b"{}", b"1 ", b' "'}
    assert not within & {b'",', b'": "', b'":'}


def test_after_a_backslash_a_quote_is_inside() -> None:
    assert b'",' in aligned(OBJECT, b'{"a": "x\\')


def test_a_whole_string_is_one_terminal() -> None:
    bridging, within = bridging_and_aligned(OBJECT, b"{")
    assert {b'"a"', b'"a":'} <= bridging
    assert b'"a"' in within
    assert b'"a":' not in within


def test_numbers_and_literals_end_before_punctuation() -> None:
    bridging, within = bridging_and_aligned(ANY_JSON, b"[1")
    assert {b"12", b"1,", b"1.5", b"1 "} <= bridging
    assert {b"12", b"1.5"} <= within
    assert not within & {b"1,", b"1 ", b", "}
    assert b"e," not in aligned(ANY_JSON, b"[tru")


def test_a_token_may_begin_where_a_number_may_end() -> None:
    assert b"  " in aligned(ANY_JSON, b"[1")
    assert b"ab" in aligned(compile_json_schema({"enum": ["ab"]}), b'"')


json_values = st.recursive(
    st.sampled_from([None, True, -1.5, 12, "", "a", 'ab"', "\\", "é ab"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "ab", '"', "é"]), inner, max_size=2)
    ),
    max_leaves=6,
)


TAG = {"type": "tag", "begin": "<f>", "content": {"type": "json_schema", "json_schema": True}, "end": "</f>"}
AROUND = {
    "alone": (b"", ANY_JSON, b""),
    "after a delimiter": (b"x, ab", after_delimiter(ANY_JSON, "ab"), b""),
    "in a tag": (
        b"<f>",
        compile_request(
            {"response_format": {"type": "structural_tag", "format": TAG}}, whitespace="any", spelling="any"
        ),
        b"</f>",
    ),
}


@pytest.mark.parametrize("around", AROUND)
@given(json_values, st.booleans(), st.booleans(), st.data())
def test_json_against_a_tokenisation_into_terminals(
    around: str, value: object, spaced: bool, escaped: bool, data: st.DataObject
) -> None:
    lead, constraint, end = AROUND[around]
    text = json.dumps(value, indent=1 if spaced else None, ensure_ascii=escaped).encode() + end
    before = text[: data.draw(st.integers(0, len(text)))]
    bridging, within = bridging_and_aligned(constraint, lead + before)
    assert within == {token for token in bridging if in_one_terminal(before + token, len(before))}


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(schemas(), st.data())
def test_a_schema_has_the_same_terminals_after_a_delimiter(schema: object, data: st.DataObject) -> None:
    try:
        alone = compile_json_schema(schema, whitespace="any", budget=BUDGET)
        after = after_delimiter(compile_json_schema(schema, whitespace="any", budget=BUDGET), "ab")
        text = b""
        for choice in data.draw(st.lists(st.integers(0, 10**6), max_size=12)):
            moves = alone.moves(alone.advance(alone.start, text) or alone.start)
            following = sorted(byte for members, _ in moves for byte in b'{}[]:,"ab\\ 1n' if members >> byte & 1)
            text += bytes([following[choice % len(following)]]) if following else b""
        assert bridging_and_aligned(alone, text) == bridging_and_aligned(after, b"ab" + text)
    except ConstraintError:  # nothing satisfies it, or the budget is used up
        reject()


def test_a_request_for_json_is_json() -> None:
    request = compile_request({"response_format": {"type": "json_object"}, "messages": [], "model": "m"})
    assert request.kind == "json_schema"
    assert b'{"' in bridging_and_aligned(request, b"")[0]
    assert b'{"' not in aligned(request, b"")


# --- a healed prefix, and free text


def test_a_healed_prefix_is_a_terminal_of_its_own() -> None:
    assert aligned(OBJECT, b"", b"ab") == {b"ab"}
    bridging, within = bridging_and_aligned(compile_regex("b+c"), b"", b"a")
    assert bridging == {b"ab", b"abc"}
    assert within == set()
    assert aligned(compile_regex("b+c"), b"a", b"a") == {b"bb"}


@pytest.mark.parametrize("prefix", [b"", b"bc"])
@pytest.mark.parametrize("free_after", [False, True])
def test_json_after_a_delimiter(prefix: bytes, free_after: bool) -> None:
    constraint = after_delimiter(OBJECT, "ab", free_after=free_after)
    bridging, within = bridging_and_aligned(constraint, prefix + b"x, a", prefix)
    assert bridging == within  # free text is one terminal, its delimiter included
    assert b'{"' in bridging
    bridging, within = bridging_and_aligned(constraint, prefix + b"xab", prefix)
    assert bridging == {b'{"', b"{}"}
    assert within == set()
    assert not aligned(constraint, prefix + b'xab{"a": "', prefix) & {b'",', b'":'}
    if free_after:
        bridging, within = bridging_and_aligned(constraint, prefix + b'xab{"a": 1}', prefix)
        assert bridging == within
        assert {b'",', b"ab", b"1,"} <= within


def test_text_without_a_grammar_is_one_terminal() -> None:
    for constraint in (any_bytes(), compile_request({"messages": [], "response_format": {"type": "text"}})):
        bridging, within = bridging_and_aligned(constraint, b"a")
        assert bridging == within
        assert b'{"' in within


# --- regexes and grammars


@dataclass(frozen=True)
class Literal:
    text: str


@dataclass(frozen=True)
class Class:
    members: str
    low: int
    high: int | None


@dataclass(frozen=True)
class Series:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    options: tuple[Node, ...]


@dataclass(frozen=True)
class Star:
    body: Node


Node = Literal | Class | Series | Choice | Star
Spans = tuple[tuple[int, int], ...]


def ways(node: Node, text: str, at: int) -> Iterator[tuple[int, bool, Spans]]:
    """Where reading a node from `at` ends, whether it ends there or the text does first, and its terminals' spans."""
    if isinstance(node, Literal):
        rest = text[at : at + len(node.text)]
        if node.text.startswith(rest):
            yield at + len(rest), rest == node.text, ((at, at + len(rest)),)
    elif isinstance(node, Class):
        end = at
        while True:
            if end - at >= node.low:
                yield end, True, ((at, end),) if end > at else ()
            if end == len(text):
                yield end, False, ((at, end),) if end > at else ()
            if end == len(text) or text[end] not in node.members or end - at == node.high:
                return
            end += 1
    elif isinstance(node, Series):
        reached = [(at, True, ())]
        for part in node.parts:
            reached = [
                (end, ended, (*spans, *more))
                for here, open_, spans in reached
                for end, ended, more in (ways(part, text, here) if open_ else [(here, False, ())])
            ]
        yield from reached
    elif isinstance(node, Choice):
        for option in node.options:
            yield from ways(option, text, at)
    else:
        yield at, True, ()
        for end, ended, spans in ways(node.body, text, at):
            if not ended:
                yield end, False, spans
            elif end > at:
                for last, done, more in ways(node, text, end):
                    yield last, done, (*spans, *more)


def fits_in_a_terminal(node: Node, before: str, token: str) -> bool:
    text = before + token
    return any(
        end == len(text) and any(start <= len(before) and len(text) <= stop for start, stop in spans)
        for end, _, spans in ways(node, text, 0)
    )


def as_regex(node: Node) -> str:
    if isinstance(node, Literal):
        return node.text
    if isinstance(node, Class):
        return f"[{node.members}]{{{node.low},{'' if node.high is None else node.high}}}"
    if isinstance(node, Series):
        return "".join(map(as_regex, node.parts))
    if isinstance(node, Choice):
        return f"(?:{'|'.join(map(as_regex, node.options))})"
    return f"(?:{as_regex(node.body)})*"


def as_gbnf(node: Node) -> str:
    if isinstance(node, Literal):
        return json.dumps(node.text, ensure_ascii=False)
    if isinstance(node, Class):
        return as_regex(node)
    if isinstance(node, Series):
        return " ".join(map(as_gbnf, node.parts))
    if isinstance(node, Choice):
        return f"({' | '.join(map(as_gbnf, node.options))})"
    return f"({as_gbnf(node.body)})*"


literals = st.builds(Literal, st.sampled_from(["ab", "ba", "aba", "é", "c"]))
classes = st.builds(Class, st.sampled_from(["ab", "bé", "abcé"]), st.integers(0, 2), st.sampled_from([2, 3, None]))
single = st.sampled_from([Class("ac", 1, 1), Class("éb", 1, 1)])
terminals = literals | classes | single


def series(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    """Literals that stand side by side in a regex are one run: keep them apart."""
    pairs = st.lists(st.tuples(inner, classes | single), min_size=1, max_size=2)
    return pairs.map(lambda found: Series(tuple(part for pair in found for part in pair)))


options = st.lists(terminals | series(literals), min_size=2, max_size=3, unique=True).map(lambda o: Choice(tuple(o)))
stars = (st.just(Literal("ab")) | series(literals | classes) | options).map(Star)
nodes = series(terminals) | options | series(options | stars)


@settings(deadline=None)
@given(nodes, st.booleans(), st.data())
def test_grammars_against_a_backtracking_matcher(node: Node, regex: bool, data: st.DataObject) -> None:
    constraint = compile_regex(as_regex(node)) if regex else compile_gbnf(f"root ::= {as_gbnf(node)}")
    before = ""
    for _ in range(data.draw(st.integers(0, 5))):
        state = constraint.advance(constraint.start, before.encode())
        following = [char for char in "abcé" if constraint.advance(state, char.encode()) is not None]
        before += data.draw(st.sampled_from(following)) if following else ""
    bridging, within = bridging_and_aligned(constraint, before.encode())
    readable = {token for token in bridging if token.decode(errors="ignore").encode() == token}
    expected = {token for token in readable if fits_in_a_terminal(node, before, token.decode())}
    assert within & readable == expected


def test_a_repeated_literal_is_a_terminal_each_time() -> None:
    for constraint in (compile_regex("(ab)*c"), compile_gbnf('root ::= "ab"* "c"')):
        bridging, within = bridging_and_aligned(constraint, b"")
        assert bridging == {b"ab", b"aba", b"abab", b"abc"}
        assert within == {b"ab"}
        assert aligned(constraint, b"a") == set()
    assert aligned(compile_regex("(ab){2}"), b"") == {b"ab"}


def test_a_class_is_one_terminal_with_its_repetition() -> None:
    assert aligned(compile_regex("[ab]*c"), b"a") == {b"ab", b"abab", b"aba", b"ba", b"aab", b"bb"}
    assert aligned(compile_regex("[ab][ab]c"), b"") == set()
    assert aligned(compile_regex("(a|b)+"), b"") == set()
    assert aligned(compile_gbnf('root ::= ("a" | [bc])+'), b"") == set()
    assert aligned(compile_regex("([ab]|é)*"), b"") == {"é".encode()}
    for body in ("[ab]", "[abé]"):  # what is repeated is the rule
        assert aligned(compile_gbnf(f"root ::= d+\nd ::= {body}"), b"") <= {"é".encode()}


def test_a_character_of_several_bytes_is_not_cut() -> None:
    for text in (b"", b"\xc3"):
        for constraint in (compile_regex("[é-ü]a"), compile_gbnf("root ::= [é-ü] [a]")):
            assert aligned(constraint, text) == ({"é".encode()} if not text else set())
    for constraint in (compile_regex("[é-üb]+a"), compile_gbnf("root ::= [é-üb]+ [a]")):
        assert aligned(constraint, b"b\xc3") == {b"\xa9b"}
        assert aligned(constraint, b"b") == {"é".encode(), "bé".encode(), b"bb"}


def test_conditions_have_no_terminals_of_their_own() -> None:
    assert aligned(compile_regex("(?=.*c)[ab]+c"), b"") == {b"ab", b"abab", b"aba", b"ba", b"aab", b"bb"}
    assert aligned(compile_regex(r"\babc\b.*"), b"") == {b"ab", b"abc"}
    assert aligned(compile_regex(r"[ab]+\b,"), b"") == {b"ab", b"abab", b"aba", b"ba", b"aab", b"bb"}


def test_a_choice_is_a_literal_run() -> None:
    bridging, within = bridging_and_aligned(compile_choices(["abc", "abcabc", "x"]), b"")
    assert bridging == within == {b"ab", b"abc", b"abca"}


def test_lark_terminals_by_their_literals_and_classes() -> None:
    constraint = compile_lark('start: NAME "," NAME\nNAME: /[ab]+/ "c"\n%ignore " "')
    bridging, within = bridging_and_aligned(constraint, b"")
    assert b"abc" in bridging
    assert {b"ab", b"  "} <= within
    assert b"abc" not in within
    assert aligned(constraint, b"ac") == {b"  "}


def test_recursion() -> None:
    constraint = compile_gbnf('root ::= "[" (root ("," root)*)? "]" | [0-9]+')
    bridging, within = bridging_and_aligned(constraint, b"[[1")
    assert bridging == {b"12", b"1,"}
    assert within == {b"12"}


@given(st.permutations(range(6)))
def test_what_was_asked_before_does_not_matter(order: list[int]) -> None:
    constraint = compile_regex("([ab]+,)*(ab|c)")
    masker = Masker(constraint, VOCABULARY)
    asked = Aligned(masker)
    for length in order:
        place = place_after(constraint, b"ab,ba,"[:length])
        allowed = masker.mask(place.state).to_bool()
        assert (asked.narrow(allowed, place) == Aligned(masker).narrow(allowed, place)).all()


@pytest.mark.parametrize(
    "made",
    [
        lambda text: compile_regex(f"{text}[0-9]"),
        lambda text: compile_gbnf(f'root ::= "{text}" [0-9]'),
        lambda text: compile_choices([text, "other"]),
    ],
)
def test_a_long_text_is_one_terminal(made: Callable[[str], Constraint]) -> None:
    """Whatever the pieces that it is kept in: nothing ends where one of them does."""
    text = "ab" * (LONGEST_LITERAL + 10)
    constraint = made(text)
    for end in [*range(10, 24), len(text) - 10]:
        bridging, aligned = bridging_and_aligned(constraint, text[:end].encode())
        assert aligned == bridging >= {b"abab" if end % 2 == 0 else b"ba"}


@pytest.mark.parametrize("size", [LONGEST_LITERAL - 1, LONGEST_LITERAL, LONGEST_LITERAL + 1, 2 * LONGEST_LITERAL])
def test_two_long_texts_are_two_terminals(size: int) -> None:
    second = ("ab" * size)[:size]
    bridging, aligned = bridging_and_aligned(compile_gbnf(f'root ::= "b" "{second}"'), b"")
    assert (bridging, aligned) == ({b"ba", b"bab"} & bridging, set())
    assert b"ba" in bridging


def test_a_terminal_that_is_made_of_long_ones_is_one() -> None:
    first, second = "ab" * (LONGEST_LITERAL // 2 + 1), "ba" * (LONGEST_LITERAL // 2 + 1)
    constraint = compile_lark(f'start: C\nA: "{first}"\nB: "{second}"\nC: A B')
    bridging, aligned = bridging_and_aligned(constraint, first[:-1].encode())
    assert aligned == bridging == {b"bb"}
