"""GBNF: what is read, what is refused and where, left recursion, ambiguity, and the language against its definition."""

import itertools
import random
from collections.abc import Callable

import pytest

from engine import Budget, BudgetError, ConstraintError, Origin, compile_gbnf
from engine.constraint import Constraint
from engine.masking import Masker
from engine.vocabulary import Vocabulary


def accepts(constraint: Constraint, text: str) -> bool:
    state = constraint.advance(constraint.start, text.encode())
    return state is not None and constraint.is_accepting(state)


@pytest.mark.parametrize(
    ("grammar", "accepted", "rejected"),
    [
        pytest.param('root ::= "a" "b"', ["ab"], ["", "a", "abb"], id="sequence"),
        pytest.param('root ::= "a" | "b" |', ["a", "b", ""], ["ab"], id="empty alternative at the end"),
        pytest.param('root ::= | "a"', ["", "a"], ["aa"], id="empty alternative at the start"),
        pytest.param('root ::= "" "a"', ["a"], [""], id="empty text"),
        pytest.param('root ::= ("a" | "b") "c"', ["ac", "bc"], ["c", "abc"], id="group"),
        pytest.param('root ::= (\n "a" # one\n | "b"\n)', ["a", "b"], [], id="lines in a group"),
        pytest.param('root ::=\n  "a" |\n  "b"', ["a", "b"], [], id="lines after ::= and |"),
        pytest.param('# c\n\nroot ::= x # d\r\nx ::= "#" # e', ["#"], [], id="comments and CRLF"),
        pytest.param("root ::= [a-c] [-x] [x-] [^a-c]", ["a-x-", "cx-é"], ["d---", "axxa"], id="classes"),
        pytest.param(r'root ::= [\]\[\\\-"^] ["\x41]', [']"', "[A", "\\A", "-A", '"A', "^A"], ["a"], id="escapes"),
        pytest.param(r'root ::= "\t\r\n\\\"\[\]\-"', ['\t\r\n\\"[]-'], [], id="escaped text"),
        pytest.param(r'root ::= "\x41\u00e9\U0001F600" [\u3041-\u3096]', ["Aé😀あ"], ["Aé😀a"], id="code points"),
        pytest.param("root ::= [あ-ん😀]", ["い", "😀"], ["a", "ア", "😁"], id="characters beyond ASCII"),
        pytest.param("root ::= . .", ["ab", "\n😀"], ["a", "abc"], id="any character"),
        pytest.param('root ::= "a"* "b"+ "c"?', ["b", "aabbc"], ["", "ac", "bcc"], id="operators"),
        pytest.param('root ::= "a"{2} "b"{1,} "c"{0,2}', ["aab", "aabbcc"], ["ab", "aabccc"], id="bounds"),
        pytest.param('root ::= "a"{ 1 , 2 }', ["a", "aa"], ["", "aaa"], id="spaced bounds"),
        pytest.param('root ::= ("ab" "c"?){2}', ["abab", "abcabc"], ["ab", "abccab"], id="repeated group"),
        pytest.param('root ::= "ab"{2}?', ["", "abab"], ["ab"], id="operator after operator"),
        pytest.param('root ::= "a"{0,100000}', ["", "a" * 5000], ["b"], id="bounds beyond llama.cpp's"),
        pytest.param('root ::= 0-1x\n0-1x ::= "a"', ["a"], [], id="names of digits and dashes"),
        pytest.param('root ::= ([x]*){2,} "y"', ["y", "xxy"], ["x"], id="nothing repeated"),
    ],
)
def test_language(grammar: str, accepted: list[str], rejected: list[str]) -> None:
    constraint = compile_gbnf(grammar)
    assert [text for text in accepted if not accepts(constraint, text)] == []
    assert [text for text in rejected if accepts(constraint, text)] == []


@pytest.mark.parametrize(
    ("grammar", "pointer", "words"),
    [
        ("", "line 1, column 1", "no rule 'root'"),
        ('rot ::= "a"', "line 1, column 1", "no rule 'root'"),
        ('root ::= "a" nunber\nnumber ::= [0-9]', "line 1, column 14", "did you mean 'number'"),
        ('root ::= "a\nb ::= "b"', "line 2, column 9", "never closed"),
        ("root ::= [a", "line 1, column 10", "never closed"),
        ('root ::= ("a" | ', "line 1, column 10", "never closed"),
        ('root ::= "a" )', "line 1, column 14", "found ')'"),
        ('root ::= "a"{,3}', "line 1, column 14", "lower bound"),
        ('root ::= "a"{3,2}', "line 1, column 13", "below the lower bound"),
        ('root ::= "a"{2;3}', "line 1, column 15", "found ';'"),
        ('root ::= "b" | * "a"', "line 1, column 16", "nothing to repeat"),
        ("root ::= [z-a]", "line 1, column 11", "write a-z"),
        ("root ::= []", "line 1, column 10", "no characters"),
        ('root ::= "\\d"', "line 1, column 11", "write [0-9]"),
        ('root ::= "\\."', "line 1, column 11", "write . alone"),
        ('root ::= "\\u12"', "line 1, column 11", "unknown escape"),
        ('root ::= "\\U00110000"', "line 1, column 11", "no character 110000"),
        ('root ::= "\\uD83D"', "line 1, column 10", "surrogate"),
        ('root ::= "a"\nroot ::= "b"', "line 2, column 1", "line 1, column 1 already"),
        ('root := "a"', "line 1, column 6", "expected `::=`"),
        ('root ::= "a"\n"b"', "line 2, column 1", "expected a rule name"),
        ('root ::= "a" ; "b"', "line 1, column 14", "found ';'"),
        ("root ::= <think>", "line 1, column 10", "vocabulary"),
        ('root ::= "é" x', "line 1, column 14", "no 'x'"),
    ],
)
def test_refusals_say_where_and_what_to_do(grammar: str, pointer: str, words: str) -> None:
    with pytest.raises(ConstraintError, match=r"^Line ") as raised:
        compile_gbnf(grammar)
    assert raised.value.pointer == pointer
    assert words in str(raised.value)


def test_unreachable_rules_are_read_too() -> None:
    with pytest.raises(ConstraintError, match="no 'missing'"):
        compile_gbnf('root ::= "a"\nother ::= missing')


def test_what_only_other_engines_read_is_noted() -> None:
    constraint = compile_gbnf('root ::= a_b\n  | "c"\na_b ::= "d"')
    assert [accepts(constraint, text) for text in ("c", "d", "cd")] == [True, True, False]
    assert constraint.report.notes == (
        "llama.cpp would refuse the underscore in the rule name 'a_b'.",
        "llama.cpp would refuse the line break before `|` at line 2, column 3.",
    )


@pytest.mark.parametrize(
    ("grammar", "cycle", "pointer"),
    [
        ('root ::= "a" root', "root -> root", "line 1, column 1"),
        ('root ::= "x" a\na ::= "b" b | b\nb ::= a "c"', "a -> b -> a", "line 2, column 1"),
    ],
)
def test_a_recursion_without_end_is_unsatisfiable(grammar: str, cycle: str, pointer: str) -> None:
    with pytest.raises(ConstraintError) as raised:
        compile_gbnf(grammar)
    assert raised.value.unsatisfiable
    assert cycle in str(raised.value)
    assert raised.value.pointer == pointer


def test_a_rule_without_texts_is_a_finding() -> None:
    constraint = compile_gbnf('root ::= "a" | x\nx ::= "b" x')
    assert constraint.report.unsatisfiable == ("x",)
    assert constraint.advance(constraint.start, b"b") is None


@pytest.mark.parametrize(
    ("grammar", "accepted", "rejected"),
    [
        pytest.param('root ::= root "a" | "b"', ["b", "baaa"], ["", "a", "ab"], id="direct"),
        pytest.param('root ::= root root | "a"', ["a", "aaaa"], ["", "b"], id="both sides"),
        pytest.param('root ::= root | "a" | ""', ["", "a"], ["aa"], id="itself"),
        pytest.param('root ::= x "b" | "c"\nx ::= root "a" | "d"', ["c", "db", "cabab"], ["cab" + "a", "d"], id="two"),
        pytest.param('root ::= e? root "x" | "y"\ne ::= "z"*', ["y", "zyx", "zzyxx"], ["z", "zy"], id="hidden"),
        pytest.param(
            'root ::= p\np ::= p "." n | c | n\nc ::= p "(" p? ")"\nn ::= "a" | "b"',
            ["a", "a.b(a.b).b()", "a()(b)"],
            ["a.", "(a)", "a(b"],
            id="members and calls",
        ),
    ],
)
def test_left_recursion(grammar: str, accepted: list[str], rejected: list[str]) -> None:
    constraint = compile_gbnf(grammar)
    assert [text for text in accepted if not accepts(constraint, text)] == []
    assert [text for text in rejected if accepts(constraint, text)] == []


# Random grammars against their definition: the least sets of texts that satisfy the rules.

LONGEST = 5
NAMES = ["root", "x", "y", "z"]
TEXTS = ["".join(text) for length in range(LONGEST + 1) for text in itertools.product("ab", repeat=length)]

Languages = dict[str, set[str]]
Part = tuple[str, Callable[[Languages], set[str]]]
"""A part of a grammar as it is written, and its texts of at most LONGEST characters given those of the rules."""


def joined(heads: set[str], tails: set[str]) -> set[str]:
    return {head + tail for head in heads for tail in tails if len(head) + len(tail) <= LONGEST}


def series(parts: list[Part]) -> Part:
    def texts(languages: Languages) -> set[str]:
        found = {""}
        for _, of_part in parts:
            found = joined(found, of_part(languages))
        return found

    return f"({' '.join(written for written, _ in parts)})", texts


def repeated(part: Part, low: int, high: int | None) -> Part:
    def texts(languages: Languages) -> set[str]:
        now: set[str] = {""}
        found: set[str] = set()
        for count in range((LONGEST + low if high is None else high) + 1):
            found |= now if count >= low else set()
            now = joined(now, part[1](languages))
        return found

    return f"{part[0]}{{{low},{'' if high is None else high}}}", texts


def random_part(draw: random.Random, depth: int) -> Part:
    kind = draw.random()
    if depth == 0 or kind < 0.3:
        text, name = draw.choice(["a", "b", "ab", "ba", ""]), draw.choice(NAMES)
        if draw.random() < 0.5:
            return f'"{text}"', lambda languages: {text}
        return name, lambda languages: languages[name]
    parts = [random_part(draw, depth - 1) for _ in range(draw.randint(1, 3))]
    if kind < 0.6:
        return series(parts)
    if kind < 0.8:
        written = " | ".join(part for part, _ in parts)
        return f"({written})", lambda languages: set().union(*(texts(languages) for _, texts in parts))
    low = draw.randint(0, 2)
    return repeated(parts[0], low, draw.choice([None, low, low + 1, low + 2]))


def languages_of(bodies: dict[str, Part]) -> Languages:
    languages: Languages = {name: set() for name in bodies}
    while True:
        larger = {name: texts(languages) for name, (_, texts) in bodies.items()}
        if larger == languages:
            return languages
        languages = larger


def satisfiable(grammar: str) -> Constraint | None:
    try:
        return compile_gbnf(grammar)
    except ConstraintError as error:
        if not error.unsatisfiable:
            raise
        return None


@pytest.mark.parametrize("block", range(10))
def test_random_grammars_have_the_language_of_their_definition(block: int) -> None:
    unsatisfiable = 0
    for seed in range(block * 30, block * 30 + 30):
        draw = random.Random(seed)
        bodies = {name: random_part(draw, 3) for name in NAMES}
        grammar = "\n".join(f"{name} ::= {written}" for name, (written, _) in bodies.items())
        language = languages_of(bodies)["root"]
        constraint = satisfiable(grammar)
        if constraint is None:
            assert not language, grammar
            unsatisfiable += 1
            continue
        beginnings = {text[:length] for text in language for length in range(len(text) + 1)}
        for text in TEXTS:
            state = constraint.advance(constraint.start, text.encode())
            assert (state is not None and constraint.is_accepting(state)) == (text in language), (grammar, text)
            assert state is not None or text not in beginnings, (grammar, text)
    assert 0 < unsatisfiable < 15


# Who speaks, and in which words.


def test_a_state_knows_which_rule_speaks() -> None:
    constraint = compile_gbnf('root ::= "x=" number tail?\nnumber ::= [0-9]+\ntail ::= "," root')
    state = constraint.start
    assert constraint.origins(state) == (Origin("root"),)
    state = constraint.advance(state, b"x=") or -1
    assert constraint.origins(state) == (Origin("number"),)
    assert constraint.describe(state) == "<number>(<tail>)?"
    state = constraint.advance(state, b"1") or -1
    assert constraint.origins(state) == (Origin("number"), Origin("tail"))


# Ambiguity: states and terms stay few, whatever the length of the text.


@pytest.mark.parametrize(
    ("grammar", "text", "states"),
    [
        pytest.param('root ::= root "+" root | [0-9]', "+".join("1" * 500), 3, id="operator"),
        pytest.param('root ::= root [*+] root | "(" root ")" | [0-9]+', "(1+23)*4+" * 100 + "5", 7, id="operators"),
        pytest.param('root ::= root "?" root ":" root | [0-9]', "1" + "?2:3" * 250, 5, id="ternary"),
        pytest.param('root ::= root root root | root root | "a"', "a" * 1000, 2, id="pairs and triples"),
        pytest.param('root ::= ws "x" ws\nws ::= s s s\ns ::= " "*', " " * 500 + "x" + " " * 500, 8, id="white space"),
    ],
)
def test_ambiguity_adds_no_states(grammar: str, text: str, states: int) -> None:
    constraint = compile_gbnf(grammar)
    assert accepts(constraint, text)
    assert len(constraint.automaton) <= states
    assert len(constraint.automaton.arena) < 100


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        pytest.param('root ::= "i" root | "i" root "e" root | "x"', "i" * 500 + "x" + "ex" * 250, id="dangling else"),
        pytest.param(
            'root ::= a | b | t\na ::= t "+" root\nb ::= t "-" root\nt ::= "1" | "(" root ")"',
            "(" * 60 + "1" + ")" * 60 + "-1",
            id="common beginnings in different rules",
        ),
        pytest.param('root ::= "a" root "a" | "b" root "b" | [ab]?', "ab" * 250, id="palindromes"),
    ],
)
def test_ambiguity_costs_terms_in_proportion_to_the_text(grammar: str, text: str) -> None:
    constraint = compile_gbnf(grammar)
    assert constraint.advance(constraint.start, text.encode()) is not None
    assert len(constraint.automaton) <= len(text) + 3
    assert len(constraint.automaton.arena) < 6 * len(text) + 100


def test_what_is_left_of_an_ambiguous_text_can_be_told() -> None:
    constraint = compile_gbnf('root ::= a | b | t\na ::= t "+" root\nb ::= t "-" root\nt ::= "1" | "(" root ")"')
    state = constraint.advance(constraint.start, b"(" * 40) or -1
    assert len(constraint.describe(state)) <= 100
    assert constraint.origins(state) == (Origin("t"),)
    assert constraint.shortest(state) == b"1" + b")" * 40


# Budgets.


@pytest.mark.parametrize(
    ("grammar", "pointer"),
    [
        pytest.param("root ::= " + "(" * 300 + '"a"' + ")" * 300, "line 1, column 266", id="groups"),
        pytest.param(
            "root ::= r0\n" + "\n".join(f'r{i} ::= r{i + 1} | "{i}"' for i in range(999)) + '\nr999 ::= "x"',
            "line 1, column 1",
            id="rules that begin with rules",
        ),
        pytest.param("root ::= " + "(" * 250 + '"a"' + '? "b"?)' * 250, "line 1, column 1", id="optional groups"),
        pytest.param('root ::= "' + "a" * 2_000_000 + '"', "line 1, column 1", id="source"),
    ],
)
def test_what_is_too_large_is_a_budget_error(grammar: str, pointer: str) -> None:
    with pytest.raises(BudgetError) as raised:
        compile_gbnf(grammar)
    assert raised.value.pointer == pointer


def test_terms_are_bounded_while_texts_are_read() -> None:
    grammar = 'root ::= x (root | y)* x\nx ::= root{1,2} | "a"\ny ::= root x | x root | "a"'
    constraint = compile_gbnf(grammar, budget=Budget(terms=3_000))
    with pytest.raises(BudgetError, match="3,000 terms"):
        constraint.advance(constraint.start, b"a" * 1_000)


def test_nested_texts_go_as_deep_as_they_like() -> None:
    constraint = compile_gbnf('root ::= "[" (root ("," root)*)? "]"')
    assert accepts(constraint, "[" * 2_000 + "]" * 2_000)


# Masks.


def test_masks_hold_exactly_the_tokens_that_can_be_read() -> None:
    tokens = [b"<end>", *(bytes([byte]) for byte in range(128)), b"((", b"1+", b"))", b"+(", b"12", b"1)", b")*("]
    vocabulary = Vocabulary.from_tokens(tokens, end_ids=[0])
    constraint = compile_gbnf('root ::= root [*+] root | "(" root ")" | [0-9]+')
    masker = Masker(constraint, vocabulary)
    for prefix in ("", "(", "1", "((1+2", "(12)*(3)", "(((4))"):
        state = constraint.advance(constraint.start, prefix.encode())
        assert state is not None
        allowed = {token_id for token_id in masker.mask(state).ids().tolist() if token_id}
        readable = {i for i, token in enumerate(tokens) if i and constraint.advance(state, token) is not None}
        assert allowed == readable
        assert (0 in masker.mask(state)) == constraint.is_accepting(state)
