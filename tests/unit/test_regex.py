"""Regexes against Python's `re`, by enumeration: every short string over a small alphabet, both ways."""

import re
from collections.abc import Iterator

import interegular
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.automaton.arena import Arena
from engine.automaton.automaton import Automaton
from engine.automaton.terms import Call, Tag, Term
from engine.budget import Budget
from engine.errors import ConstraintError, Origin
from engine.grammar.charset import CharSet, utf8
from engine.grammar.regex.ast import Chars, walk
from engine.grammar.regex.ecma import parse_ecma
from engine.grammar.regex.lower import lower
from engine.grammar.regex.python import parse_python

ALPHABET = "abé😀\n"
LENGTH = 4


class Matcher:
    """A pattern as a term, to be asked about texts."""

    def __init__(self, pattern: str, *, search: bool = False, dialect: str = "python") -> None:
        node = parse_python(pattern) if dialect == "python" else parse_ecma(pattern)
        self.arena = Arena(Budget())
        self.term = lower(node, self.arena, lambda members: utf8(self.arena, members), search=search)

    def read(self, term: Term, data: bytes) -> Term:
        for byte in data:
            moves = self.arena.moves(term, 1 << byte)
            term = moves[0][1] if moves else self.arena.empty
        return term

    def accepts(self, text: str) -> bool:
        return self.read(self.term, text.encode()).nullable

    def texts(self, alphabet: str, length: int) -> Iterator[tuple[str, bool]]:
        """All texts up to a length, with whether they are accepted; common prefixes are read once."""
        level = [("", self.term)]
        for _ in range(length + 1):
            yield from ((text, term.nullable) for text, term in level)
            level = [(text + one, self.read(term, one.encode())) for text, term in level for one in alphabet]


def assert_same_language(pattern: str, search: bool, alphabet: str = ALPHABET, length: int = LENGTH) -> None:
    find = re.compile(pattern).fullmatch
    if search and "(?a:" in pattern:  # `re.search` itself gets (?a:\\W) wrong at the start of a pattern
        find = re.compile(f"(?s:.*)(?:{pattern})(?s:.*)").fullmatch
    elif search:
        find = re.compile(pattern).search
    for text, accepted in Matcher(pattern, search=search).texts(alphabet, length):
        assert accepted == bool(find(text)), f"{pattern!r} on {text!r}: accepted is {accepted}"


def quantified(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    bounds = ["*", "+", "?", "*?", "{2}", "{0,2}", "{1,}", "{1,3}?", "{0}"]
    return st.tuples(inner, st.sampled_from(bounds)).map(lambda pair: f"(?:{pair[0]}){pair[1]}")


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    kinds = ["(?:{})", "({})", "(?={})", "(?!{})", "(?m:{})", "(?i:{})", "(?s:{})", "(?a:{})"]
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda options: f"(?:{'|'.join(options)})"),
        quantified(inner),
        st.tuples(st.sampled_from(kinds), inner).map(lambda pair: pair[0].format(pair[1])),
    )


letters = st.sampled_from(["a", "b", "é", "😀", r"\n", ".", "[ab]", "[^a]", r"\w", r"\W", r"\s", "[é-😀]", "A", ""])
positions = st.sampled_from(
    ["^", "$", r"\A", r"\Z", r"\b", r"\B", "(?<=a)", "(?<!b)", "(?<=a[ab])", "(?<!é|a)", "(?<=^)"]
)
plain = st.recursive(
    letters, lambda inner: st.one_of(st.lists(inner, min_size=2).map("".join), quantified(inner)), max_leaves=6
)
patterns = st.recursive(st.one_of(letters, positions), compound, max_leaves=8)


@settings(max_examples=150, deadline=None)
@given(plain, st.booleans())
def test_plain_regexes_are_what_python_matches(pattern: str, search: bool) -> None:
    assert_same_language(pattern, search, length=3)


@settings(max_examples=300, deadline=None)
@given(patterns, st.booleans())
def test_regexes_with_conditions_are_what_python_matches(pattern: str, search: bool) -> None:
    assert_same_language(pattern, search, length=3)


@settings(max_examples=60, deadline=None)
@given(patterns)
def test_longer_texts(pattern: str) -> None:
    assert_same_language(pattern, search=False, alphabet="ab\n", length=6)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a(?=b)|b)*",
        "(^a|b)b$",
        "a^b",
        "(^|é)a",
        r"(?m)^a$\n?b?",
        "a$",
        "a$\n",
        "(a|b$)*\n",
        r"\bab\b",
        r"(\ba|b)*",
        r"(?:a\b|\n|b)*",
        r"(\b|a){3}",
        r"ab\B|\B",
        "(a|(?<=a)b)*",
        "(?<!a)b|a(?<=a)b",
        "(?!.*bb)[ab]*",
        "(?=.*a)(?=.*b).{2,3}",
        "((a|^)b?){2}",
        "(?:(?:a|(?=b))*(?:b|\\b))*",
        "(a?(?!b)){2}b?a*",
        "(?:a*)*b|(?:(?:^)*a)*",
        "",
        "|a",
        "(?:)",
        "a{0}b",
        "(?s).*",
        "(?x) a  b # and the rest\n *",
        "(?ai)é|[^\\W]",
    ],
)
@pytest.mark.parametrize("search", [False, True])
def test_named_cases(pattern: str, search: bool) -> None:
    assert_same_language(pattern, search)


@pytest.mark.parametrize(
    ("pattern", "accepted", "rejected"),
    [
        ("[а-я]+", ["привет", "я"], ["", "Привет", "a", "ё"]),
        ("[😀-🙏]+", ["😀", "😨🙏"], ["🙐", "x", "\u2600"]),
        ("cat|dog", ["cat", "dog"], ["hotdogs", "ca", "catdog"]),
        ("[1]{1,3}", ["1", "11", "111"], ["", "1111"]),
        ("(ab)*", ["", "ab", "abab"], ["a", "aba"]),
        (r"[0-9]+(\.[0-9]+)?", ["1", "1.5", "10"], ["1.", ".5", ""]),
        ("[a-z]+( [a-z]+)*", ["a", "a b", "ab cd e"], ["a ", " a"]),
        ("[]a]", ["]", "a"], ["[", "b"]),
        (r"(?i)straße", ["STRAßE", "straẞe"], ["strasse"]),
        (r"(?i)k", ["k", "K", "\u212a"], ["x"]),
        (r"(?i)[^k]", ["x"], ["k", "K", "\u212a"]),
        (r"\d", ["1", "٣"], ["²", "a"]),
        (r"(?a)\d", ["1"], ["٣"]),
        (r"(?P<year>\d{4})-\N{BULLET}?\u00e9\x41", ["2024-éA", "2024-•éA"], ["2024-e"]),
    ],
)
def test_what_people_write(pattern: str, accepted: list[str], rejected: list[str]) -> None:
    matcher = Matcher(pattern)
    assert all(re.fullmatch(pattern, text) for text in accepted)
    assert [text for text in accepted if not matcher.accepts(text)] == []
    assert [text for text in rejected if matcher.accepts(text)] == []


def test_ignoring_case_is_what_python_ignores() -> None:
    letters = [chr(code) for code in range(0x250)] + list("ΐΣσςẞſﬅﬆKÅǅǆ")
    for letter in letters:
        pattern = f"(?i){re.escape(letter)}"
        node = parse_python(pattern)
        members = next(part.members for part in walk(node) if isinstance(part, Chars))
        assert [other for other in letters if (other in members) != bool(re.fullmatch(pattern, other))] == []


# Expected values by Node 20 (flag u where it compiles, and none where only annex B does).
@pytest.mark.parametrize(
    ("pattern", "accepted", "rejected"),
    [
        ("^a$", ["a"], ["a\n", "ba"]),
        ("cat|dog", ["cat", "hotdogs"], ["cag"]),
        (r"^a\-b\_\/\@\!$", ["a-b_/@!"], ["ab"]),
        (r"^[\w-.]+$", ["a-.", "-"], ["/", ","]),
        (r"^[a-zA-Z0-9-_.]+$", ["a-_.9"], ["a/"]),
        (r"^\cA\cj$", ["\x01\n"], ["A"]),
        (r"^\x41\u0042\u{43}\0$", ["ABC\0"], ["ABC"]),
        (r"^\uD83D\uDE00$", ["😀"], ["😁"]),
        (r"^[\uD83D\uDE00-\u{1F64F}]$", ["😀", "🙏"], ["\U0001f650"]),
        (r"^[^\ud800-\udfff]+$", ["a", "😀"], [""]),
        (r"^\p{L}\P{L}\p{gc=Nd}\p{Letter}\p{Lu}$", ["é1٣aÉ"], ["11٣aÉ", "é1²aÉ"]),
        ("^[^]$", ["\n", "😀"], [""]),
        ("[]", [], ["", "a"]),
        (r"^a{2,}?$", ["aa", "aaa"], ["a"]),
        ("^a{x}{$", ["a{x}{"], ["a"]),
        ("^]}$", ["]}"], ["]"]),
        (r"^(?<name>a)(?:b)$", ["ab"], ["a"]),
        (r"^(?=.*\d)(?!.*_)\w+$", ["a1"], ["ab", "a_1"]),
        (r"(?<=^|,)x(?<!yx)", ["x", ",x"], ["yx", "ax"]),
        (r"(?<=a*)b", ["b", "aab"], ["a"]),
        (r"\bé|\Bx", ["aé", "ax"], ["x", "é", "éx"]),
        (r"^\s\d\w$", ["\ufeff1_", "\u20281a"], ["\u00851a", " ٣a", " 1é"]),
        ("^.$", ["a", "\u0085"], ["\n", "\r", "\u2028", "\u2029"]),
        (r"^[\b]$", ["\x08"], ["b"]),
        ("^(?i:k[^k])$", ["ka", "\u212aa"], ["kK", "kk"]),
        ("^(?i:\\W)$", ["é"], ["\u017f", "k"]),
        ("^(?m:a$)\n(?s:.)(?-i:b)$", ["a\n\nb"], ["a\nb"]),
    ],
)
def test_ecma(pattern: str, accepted: list[str], rejected: list[str]) -> None:
    matcher = Matcher(pattern, search=True, dialect="ecma262")
    assert [text for text in accepted if not matcher.accepts(text)] == []
    assert [text for text in rejected if matcher.accepts(text)] == []


@pytest.mark.parametrize(
    ("pattern", "offset", "keyword"),
    [
        (r"é(a)\1", "4", "backreference"),
        (r"(?P<x>a)(?P=x)", "8", "backreference"),
        ("a(?>b)", "1", "atomic group"),
        ("ab*+", "1", "possessive quantifier"),
        ("(a)?(?(1)b|c)", "4", "conditional group"),
        ("a[[:alpha:]]", "2", "POSIX class"),
        ("(a", "0", ""),
        ("a)", "1", ""),
        ("a**", "2", ""),
        ("[b-a]", "1", ""),
        ("a{2,1}", "2", ""),
        (r"a\p{L}", "1", ""),
        ("(?<=a+)b", "0", ""),
        ("(?<=(?=a))b", "4", "look-behind"),
        ("a{99999999999999999999}", "0", ""),
        ("(" * 5000, "0", ""),
    ],
)
def test_python_refuses(pattern: str, offset: str, keyword: str) -> None:
    assert_refused(pattern, "python", offset, keyword)


@pytest.mark.parametrize(
    ("pattern", "offset", "keyword"),
    [
        (r"(a)\1", "3", "backreference"),
        (r"(?<x>a)\k<x>", "7", "backreference"),
        ("a[[:alpha:]]", "2", "POSIX class"),
        (r"\p{Script=Greek}", "0", r"\p"),
        ("a{,3}", "1", "quantifier"),
        ("(?<=a(?!b))", "5", "look-behind"),
        ("(?<=a$)", "5", "look-behind"),
        ("(?>a)", "0", ""),
        ("(?i)a", "0", ""),
        ("a(b", "1", ""),
        ("b)", "1", ""),
        ("a[b", "1", ""),
        ("[b-a]", "1", ""),
        ("a{2,1}", "1", ""),
        ("x\\", "1", ""),
        (r"\A", "0", ""),
        (r"\u{110000}", "0", ""),
        ("a**", "2", ""),
        ("^*", "1", ""),
        ("(" * 5000, "100", ""),
    ],
)
def test_ecma_refuses(pattern: str, offset: str, keyword: str) -> None:
    assert_refused(pattern, "ecma262", offset, keyword)


def assert_refused(pattern: str, dialect: str, offset: str, keyword: str) -> None:
    with pytest.raises(ConstraintError) as caught:
        Matcher(pattern, dialect=dialect)
    assert (caught.value.pointer, caught.value.keyword) == (offset, keyword)


def test_long_and_large_patterns() -> None:
    assert Matcher("^" + "a" * 3000 + "$").accepts("a" * 3000)
    assert Matcher("a{1000000}").accepts("a") is False
    assert Matcher("(?:a|b){0,1000000}").accepts("ab" * 50)
    assert Matcher("|".join(f"word{i}" for i in range(3000))).accepts("word2999")
    assert Matcher(r"(?:a\b ){1000000}").accepts("a a") is False


@pytest.mark.parametrize(("search", "conditions"), [(True, "^[a-z]{1,3}$"), (False, "^a|b$"), (True, "^a")])
def test_anchors_at_the_ends_need_no_rule(search: bool, conditions: str) -> None:
    arena = Arena(Budget())
    lower(parse_ecma(conditions), arena, lambda members: utf8(arena, members), search=search)
    assert not any(isinstance(term, Call) for term in arena._table.values())


def test_origins_are_spans_of_the_pattern() -> None:
    assert owners("ab|c[a-z]{2,3}") == {Origin("0-2", "literal"), Origin("3-4", "literal"), Origin("4-14", "class")}
    assert owners("(?x) ab # hi\n c*") == {Origin("5-7", "literal"), Origin("14-16", "literal")}
    assert owners(r"\bé\d+") == {Origin("2-3", "literal"), Origin("3-6", "class")}


def owners(pattern: str) -> set[Origin]:
    arena = Arena(Budget())
    lower(parse_python(pattern), arena, lambda members: utf8(arena, members), search=False, tagged=True)
    return {term.origin for term in arena._table.values() if isinstance(term, Tag)}


@settings(max_examples=60, deadline=None)
@given(patterns)
def test_no_dead_ends(pattern: str) -> None:
    """From every state that short texts reach, a text that Python matches as a whole can be reached."""
    matcher = Matcher(pattern)
    automaton = Automaton(matcher.arena, matcher.term)
    if not automaton.liveness.alive(matcher.term):
        return
    for text in ("", "a", "ab", "b\n", "é"):
        state = automaton.advance(automaton.start, text.encode())
        if state is not None:
            whole = text.encode() + automaton.shortest(state)
            assert re.fullmatch(pattern, whole.decode())


@settings(max_examples=100, deadline=None)
@given(plain.filter(lambda pattern: not re.search(r"\\[wWsn]|\.|é|\^|\{0\}", pattern)))
def test_interegular_agrees(pattern: str) -> None:
    try:
        theirs = interegular.parse_pattern(pattern).to_fsm()
    except (interegular.Unsupported, interegular.InvalidSyntax):
        assume(False)
    for text, accepted in Matcher(pattern).texts("ab😀x", 4):
        assert accepted == theirs.accepts(text), (pattern, text)


def test_characters_are_only_spoken_about_through_encode() -> None:
    """The same pattern inside a JSON string: a quote is two characters there."""
    arena = Arena(Budget())

    def in_json(members: CharSet) -> Term:
        quote = arena.literal(b'\\"') if '"' in members else arena.empty
        return arena.alt([quote, utf8(arena, members - CharSet.of('"'))])

    matcher = Matcher("")
    matcher.arena = arena
    matcher.term = lower(parse_ecma('^a(?="|b).(?<!b)$'), arena, in_json, search=True)
    assert [text for text in ('a"', 'a\\"', "ab", "ac") if matcher.accepts(text)] == ['a\\"']
