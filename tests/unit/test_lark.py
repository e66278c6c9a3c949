"""Lark-style grammars: what is read, what is refused and where, what is ignored, and the three examples.

Verdicts were compared with Lark's Earley parser (lexer "dynamic_complete", which tries every division into terminals).
"""

import pytest

from engine import BudgetError, ConstraintError, Origin, compile_lark
from engine.constraint import Constraint
from engine.grammar.ebnf.grammars import LARK_EXAMPLES, GrammarExample


def accepts(constraint: Constraint, text: str) -> bool:
    state = constraint.advance(constraint.start, text.encode())
    return state is not None and constraint.is_accepting(state)


@pytest.mark.parametrize(
    ("grammar", "accepted", "rejected"),
    [
        pytest.param('start: "a" B\nB: "b" | "c"', ["ab", "ac"], ["a", "abc"], id="terminal"),
        pytest.param('start: x\n     | "b"\nx: "a"', ["a", "b"], ["ab"], id="alternatives on lines"),
        pytest.param('start: x |\nx: "a"', ["", "a"], [], id="empty alternative"),
        pytest.param('start: ["a"] "b"', ["b", "ab"], ["a"], id="optional"),
        pytest.param('start: ("a" | "b"\n  | "c") "d"', ["ad", "cd"], ["d"], id="lines in a group"),
        pytest.param('start: "a"* "b"+ "c"?', ["b", "aabbc"], ["", "ac"], id="operators"),
        pytest.param('start: "a" ~ 2 ("b"|"c")~1..2', ["aab", "aacb"], ["ab", "aabcb"], id="bounds"),
        pytest.param('start: "a".."c" D\nD: "0".."9"', ["a0", "c9"], ["d0", "aa"], id="ranges"),
        pytest.param('start: "ab"i "c"', ["ABc", "aBc"], ["abC"], id="any case"),
        pytest.param(r"start: /[a-c]+\/x/ /q/i", ["abc/xQ"], ["/xq"], id="regexes"),
        pytest.param("start: /a b # c\n d # e/x", ["abd"], ["ab"], id="regex on several lines"),
        pytest.param('start: "\\n\\t\\"\\\\\\x41\\u00e9"', ['\n\t"\\Aé'], [], id="escapes"),
        pytest.param('?start: a -> x\n  | b -> y\n!a: "1"\n_b: "2"\nb: _b', ["1", "2"], [], id="marks and aliases"),
        pytest.param('start: A\nA.2: B "x"\nB.-1: "b"', ["bx"], ["b"], id="priorities"),
        pytest.param('start: A // one\n# two\nA: "//#" // three', ["//#"], [], id="comments"),
        pytest.param('start: "a" \\\n  "b"', ["ab"], [], id="continued line"),
        pytest.param('start: e\ne: e "+" e | "1"', ["1", "1+1+1"], ["1+"], id="left recursion"),
        pytest.param("start: A A\nA: /a+/", ["aa", "aaaa"], ["a"], id="some division into terminals"),
        pytest.param('start: A "b"\nA: /a(?!b)./', ["acb"], ["abb"], id="look-ahead inside a terminal"),
        pytest.param(
            'start: A "b"\nA: "a" /(?!b)/ "c"?', ["ab", "acb"], ["cb"], id="look-ahead at the end of a terminal"
        ),
        pytest.param('start: N "b"\nN: "a" P\nP: /(?<!a)x|y/', ["ayb"], ["axb"], id="look-behind over pieces"),
    ],
)
def test_language(grammar: str, accepted: list[str], rejected: list[str]) -> None:
    constraint = compile_lark(grammar)
    assert [text for text in accepted if not accepts(constraint, text)] == []
    assert [text for text in rejected if accepts(constraint, text)] == []


def test_ignored_text_stands_around_terminals_not_inside() -> None:
    constraint = compile_lark('start: "ab" C ["," C]\nC: "c" "d"\n%ignore " "\n%ignore /#[^\\n]*\\n/')
    for text in ("abcd", "  ab cd ", "ab #x\n cd , cd", "#y\nabcd,cd#z\n"):
        assert accepts(constraint, text), text
    for text in ("a bcd", "abc d", "ab cd #"):
        assert not accepts(constraint, text), text


def test_the_start_rule_can_be_named() -> None:
    grammar = 'start: "a"\nother: "b"'
    assert accepts(compile_lark(grammar, start="other"), "b")
    with pytest.raises(ConstraintError, match="no rule 'third'"):
        compile_lark(grammar, start="third")


COMMON = {
    "DIGIT": (["0"], ["a", "12"]),
    "HEXDIGIT": (["f", "A", "9"], ["g"]),
    "INT": (["007"], ["-1", ""]),
    "SIGNED_INT": (["+1", "-23", "4"], ["1.0"]),
    "DECIMAL": (["1.", "1.5", ".5"], ["1", "."]),
    "FLOAT": (["1e5", "1.5E-3", "2."], ["1"]),
    "NUMBER": (["1", "1.5", "1e5"], ["-1", "e5"]),
    "SIGNED_FLOAT": (["-1.5"], ["-1"]),
    "SIGNED_NUMBER": (["-1", "+.5"], ["--1"]),
    "ESCAPED_STRING": (['""', '"a\\"b"', '"\\\\"'], ['"a"b"', '"\\"', '"a\nb"', "''"]),
    "LCASE_LETTER": (["a"], ["A"]),
    "UCASE_LETTER": (["Z"], ["z"]),
    "LETTER": (["a", "Z"], ["1", "é"]),
    "WORD": (["abC"], ["a1", ""]),
    "CNAME": (["_a1", "B"], ["1a", "a-b"]),
    "WS_INLINE": ([" \t"], ["\n"]),
    "WS": ([" \t\f\r\n"], ["", "a"]),
    "CR": (["\r"], ["\n"]),
    "LF": (["\n"], ["\r"]),
    "NEWLINE": (["\n", "\r\n\n"], ["\r"]),
    "SH_COMMENT": (["#", "# a"], ["#\n"]),
    "CPP_COMMENT": (["// a"], ["/ a"]),
    "C_COMMENT": (["/**/", "/* a * / **/"], ["/*/", "/* a */ */"]),
    "SQL_COMMENT": (["-- a"], ["- a"]),
}


@pytest.mark.parametrize("name", COMMON)
def test_common_terminals(name: str) -> None:
    accepted, rejected = COMMON[name]
    constraint = compile_lark(f"start: {name}\n%import common.{name}")
    assert [text for text in accepted if not accepts(constraint, text)] == []
    assert [text for text in rejected if accepts(constraint, text)] == []


def test_imports_under_other_names_and_several_at_once() -> None:
    constraint = compile_lark('start: N "," WORD\nDIGIT: "x"\n%import common.INT -> N\n%import common (WORD, CNAME)')
    assert accepts(constraint, "12,ab")
    assert not accepts(constraint, "x,ab")


@pytest.mark.parametrize(
    ("grammar", "pointer", "words"),
    [
        ("", "line 1, column 1", "no rule 'start'"),
        ('start: "a" nunber\nnumber: "1"', "line 1, column 12", "did you mean 'number'"),
        ('start: NUM\nNUMB: "1"', "line 1, column 8", "did you mean 'NUMB'"),
        ('start: A\nA: b\nb: "x"', "line 2, column 4", "cannot be made of the rule 'b'"),
        ('start: A\nA: B\nB: "x" A?', "line 2, column 1", "A -> B -> A"),
        ('start: ("a"', "line 1, column 8", "never closed"),
        ('start: "a', "line 1, column 8", "never closed"),
        ("start: /a", "line 1, column 8", "never closed"),
        ('start: "a")', "line 1, column 11", "found ')'"),
        ('start: ["a")', "line 1, column 12", "found ')'"),
        ('start: + "a"', "line 1, column 8", "nothing to repeat"),
        ('start: "a" ~ 3..2', "line 1, column 12", "below the lower bound"),
        ('start: ""', "line 1, column 8", "leave the alternative empty"),
        ('start: "\\q"', "line 1, column 9", "unknown escape"),
        ('start: "ab".."z"', "line 1, column 8", "one character on each side"),
        ('start: "z".."a"', "line 1, column 8", "lower one first"),
        ('start: /a\nb: "c/"', "line 1, column 8", "not closed on its line"),
        ("start: /a(/", "line 1, column 10", "missing )"),
        ("start: /(a)\\1/i", "line 1, column 12", "backreference"),
        ("start: /a/l", "line 1, column 11", "flag l"),
        ("start: A\nA: /a*/", "line 2, column 1", "matches the empty text"),
        ("start: /(?!a)a/", "line 1, column 8", "no text matches"),
        ('Start: "a"', "line 1, column 1", "neither a rule"),
        ('start: "a"\nstart: "b"', "line 2, column 1", "line 1, column 1 already"),
        ('start: "a"\n%declare X', "line 2, column 1", "%declare is not supported"),
        ("start: X\n%import python.NAME -> X", "line 2, column 1", "only the library `common`"),
        ("start: X\n%import common.INTT -> X", "line 2, column 1", "did you mean 'INT'"),
        ('start: two{"a"}\ntwo{x}: x x', "line 1, column 8", "templates"),
        ('two{x}: x x\nstart: "a"', "line 1, column 1", "templates"),
        ('start: "a"\n"b": "c"', "line 2, column 1", "expected a rule or a terminal"),
        ('start: "a" start', "line 1, column 1", "start -> start"),
    ],
)
def test_refusals_say_where_and_what_to_do(grammar: str, pointer: str, words: str) -> None:
    with pytest.raises(ConstraintError, match=r"^Line ") as raised:
        compile_lark(grammar)
    assert raised.value.pointer == pointer
    assert words in str(raised.value)


def test_what_lark_would_read_otherwise_is_noted() -> None:
    constraint = compile_lark('start: A B\nA: /".*?"/\nB: /x\\b/')
    lazy, boundary = constraint.report.notes
    assert lazy.startswith("line 2, column 4: a lazy quantifier")
    assert boundary.startswith("line 3, column 4: look-around")
    assert compile_lark(r"start: /a\*?[*?]+/").report.notes == ()


@pytest.mark.parametrize(
    ("grammar", "pointer"),
    [
        pytest.param("start: " + "(" * 300 + '"a"' + ")" * 300, "line 1, column 264", id="groups"),
        pytest.param(
            "start: A0\n" + "\n".join(f"A{i}: A{i + 1} A{i + 1}" for i in range(40)) + '\nA40: "x"',
            "line 29, column 1",
            id="terminals that double",
        ),
    ],
)
def test_what_is_too_large_is_a_budget_error(grammar: str, pointer: str) -> None:
    with pytest.raises(BudgetError) as raised:
        compile_lark(grammar)
    assert raised.value.pointer == pointer


def test_a_state_knows_which_rule_or_terminal_speaks() -> None:
    constraint = compile_lark('start: "x" NUMBER ";"\n%import common.NUMBER\n%ignore " "')
    state = constraint.advance(constraint.start, b"x") or -1
    assert constraint.origins(state) == (Origin("%ignore"), Origin("NUMBER"))
    state = constraint.advance(state, b"1 ") or -1
    assert constraint.origins(state) == (Origin("%ignore"), Origin("start"))


# The examples.

TEXTS = {
    "arithmetic": (
        ["1", " 2*( x + 3 ) ^ -2", "f()", "max(a, b)/.5e3", "--x - -1", "a ^ b ^ c"],
        ["", "1 2", "(1", "2 x", "f(,)", "1 +", "a\n+b", "^2"],
    ),
    "sql_select": (
        [
            "select * from t",
            "SELECT a.b, COUNT(DISTINCT c) n\nFROM t AS x LEFT JOIN u ON x.id = u.id;",
            "SELECT name FROM p WHERE age >= 18 AND NOT (city = 'O''Hare' OR city IS NULL)",
            "SELECT x FROM t WHERE y IN (1, 'a', NULL) AND z NOT LIKE '%a' AND w BETWEEN -1 AND x+1",
            "SELECT selection FROM fromage GROUP BY selection HAVING MAX(v) > 2 ORDER BY 1 LIMIT 5 OFFSET 10",
        ],
        [
            "",
            "SELECT FROM t",
            "SELECTa FROM t",
            "SELECT a FROMt",
            "SELECT a FROM select",
            "SELECT a, FROM t",
            "SELECT a FROM t WHERE",
            "SELECT a FROM t WHERE a = 'x",
            "SELECT a FROM t LIMIT -1",
            "DELETE FROM t",
        ],
    ),
    "key_value": (
        ["a=1", 'at=2026-11-03T10:15:00Z msg="disk \\"x\\"" ok=true', "a=[]\nb=[1,x/y,[true]]\n", "a=-0.5"],
        ["", "a", "a =1", "a=1  b=2", "A=1", "a=01", "a=[1, 2]", 'a="x', "a=1\n\nb=2", " ".join(["a=1"] * 33)],
    ),
}


@pytest.mark.parametrize("example", LARK_EXAMPLES, ids=lambda example: str(example.name))
def test_examples(example: GrammarExample) -> None:
    constraint = compile_lark(example.text)
    accepted, rejected = TEXTS[example.name]
    assert [text for text in [example.accepted, *accepted] if not accepts(constraint, text)] == []
    assert [text for text in rejected if accepts(constraint, text)] == []


def test_a_long_query_costs_few_states() -> None:
    constraint = compile_lark(next(example.text for example in LARK_EXAMPLES if example.name == "sql_select"))
    query = "SELECT a FROM t WHERE " + " OR ".join(f"(b{i} = {i} AND NOT c < 'x{i}')" for i in range(30))
    assert accepts(constraint, query)
    assert len(constraint.automaton) < len(query)
