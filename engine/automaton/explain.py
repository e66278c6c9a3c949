"""States in words: what remains, what may come next, who speaks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from engine.automaton.arena import Arena
from engine.automaton.terms import (
    ALL_BYTES,
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Literal,
    Not,
    Repeat,
    Seq,
    Tag,
    Term,
    Words,
    byte_range,
    members_of,
)
from engine.errors import Origin

LONGEST = 100
"""Characters of a description; what is longer ends in an ellipsis."""

DEEPEST = 6
"""Parts within parts that are spelled out: what an ambiguous grammar leaves shares its parts, and would be told again
for every way to each of them."""

VISIBLE = {0x20: "␣", 0x0A: "⏎", 0x09: "⇥", 0x0D: "␍"}
CONTINUATION = byte_range(0x80, 0xBF)
PRINTABLE = byte_range(0x20, 0x7E)


def origins(arena: Arena, term: Term) -> tuple[Origin, ...]:
    """The innermost owners of the bytes that may be read next, each once."""
    found: dict[Origin, None] = {}
    heard: set[Term] = set()
    pending = [term]
    while pending:
        part = pending.pop()
        if part in heard:
            continue
        heard.add(part)
        if isinstance(part, Tag):
            found[part.origin] = None
        elif isinstance(part, Seq):
            pending.extend((part.tail, part.head) if part.head.nullable else (part.head,))
        elif isinstance(part, (Alt, And)):
            pending.extend(reversed(part.members))
        elif isinstance(part, Repeat):
            pending.append(part.body)
        elif isinstance(part, Call):
            pending.append(arena.body(part))
        elif isinstance(part, Capture):
            pending.append(part.language)
    return tuple(found)


def describe(term: Term, depth: int = 0) -> str:
    """What remains to be read, in words; at most `LONGEST` characters. `depth`: of parts within parts."""
    if depth > DEEPEST:
        return "…"
    words = ""
    for part in _parts(term, depth):
        words += part
        if len(words) > LONGEST:
            return words[: LONGEST - 1] + "…"
    return words or "nothing"


def _parts(term: Term, depth: int) -> Iterable[str]:
    """A description piece by piece, neighbouring parts of one owner said once."""
    last_label = ""
    while True:
        head = term.head if isinstance(term, Seq) else term
        label = _label_of(head, depth)
        if not label and isinstance(head, Literal):
            data = head.data
            while isinstance(term, Seq) and isinstance(head, Literal) and head.goes_on and len(data) < 4 * LONGEST:
                term = term.tail
                head = term.head if isinstance(term, Seq) else term
                data += head.data if isinstance(head, Literal) else b""
            yield shown(data)
        elif not label:
            yield _words(head, depth)
        elif label.removeprefix("rest of ") != last_label:
            yield label
        last_label = label.removeprefix("rest of ")
        if not isinstance(term, Seq):
            return
        term = term.tail


def _label_of(term: Term, depth: int) -> str:
    """The label that all of a term's parts share, "rest of" aside; "" if they have none in common."""
    if depth > DEEPEST:
        return ""
    if isinstance(term, Tag):
        return term.label
    if isinstance(term, Call):
        return term.rule.words(term.args)
    if isinstance(term, (Alt, Seq)):
        parts = term.members if isinstance(term, Alt) else (term.head, term.tail)
        labels = [_label_of(part, depth + 1) for part in parts]
        if len({label.removeprefix("rest of ") for label in labels}) == 1:
            return max(labels, key=len)
        return ""
    if isinstance(term, Repeat) and not isinstance(term.body, Call):
        return _label_of(term.body, depth + 1)
    return ""


def _words(term: Term, depth: int) -> str:
    if isinstance(term, Tag):
        return term.label if term.label else _words(term.body, depth)
    if isinstance(term, Literal):
        return shown(term.data)
    if isinstance(term, Words):
        first = [shown(word[term.depth :]) for word in term.words[term.low : min(term.high, term.low + 4)]]
        return "(" + " | ".join(first + (["…"] if term.high - term.low > 4 else [])) + ")"
    if isinstance(term, Bytes):
        return label(term.members)
    if isinstance(term, Repeat):
        inner = describe(term.body, depth + 1)
        inner = inner if isinstance(term.body, (Bytes, Tag)) or len(inner) == 1 else f"({inner})"
        return inner + _count(term.low, term.high)
    if isinstance(term, Alt):
        if _is_any_character(term):
            return "any character"
        shown_members = [describe(member, depth + 1) for member in term.members[:4]]
        return "(" + " | ".join(shown_members + (["…"] if len(term.members) > 4 else [])) + ")"
    if isinstance(term, And):
        return " and ".join(f"({describe(member, depth + 1)})" for member in term.members)
    if isinstance(term, Not):
        return f"not ({describe(term.body, depth + 1)})"
    if isinstance(term, Call):
        return term.rule.words(term.args)
    if isinstance(term, Capture):
        return describe(term.language, depth + 1)
    return ""


def _count(low: int, high: int | None) -> str:
    if high is None:
        return {0: "*", 1: "+"}.get(low, f"{{{low},}}")
    if (low, high) == (0, 1):
        return "?"
    return f"{{{low}}}" if low == high else f"{{{low},{high}}}"


def _is_any_character(term: Alt) -> bool:
    """An alternative with every printable ASCII letter and digit and a UTF-8 lead byte."""
    sets = [member for member in term.members if isinstance(member, Bytes)]
    letters = byte_range(0x61, 0x7A) | byte_range(0x30, 0x39)
    return any(member.members & letters == letters for member in sets) and any(
        isinstance(member, Seq) and isinstance(member.head, Bytes) and member.head.members >> 0xC3 & 1
        for member in term.members
    )


def expected(moves: Iterable[tuple[int, int]], accepting: bool) -> tuple[str, ...]:
    """What may come next, from the merged moves of a state: byte classes in words, "the end" where a text may stop."""
    union = 0
    for members, _ in moves:
        union |= members
    words = [] if not union else _classes(union)
    return (*words, "the end of the text") if accepting else tuple(words)


def _classes(union: int) -> list[str]:
    above = union >> 0x80
    plain = union & byte_range(0, 0x7F)
    if above and plain.bit_count() > 60:
        missing = PRINTABLE & ~plain
        but = "".join(chr(byte) for byte in members_of(missing))
        return [f"any character except {' '.join(but)}" if but else "any character"]
    runs = _runs(members_of(plain))
    words = [
        f"[{_span(low, high)}]" if high - low > 1 else f"'{shown(bytes([byte]))}'"
        for low, high in runs
        for byte in ([low] if high - low > 1 else range(low, high + 1))
    ]
    if above and not above & ~(CONTINUATION >> 0x80):
        words.append("the rest of a character beyond ASCII")
    elif above:
        words.append("a character beyond ASCII")
    return words


@lru_cache(maxsize=1024)  # automata are full of the same classes: the characters of a string, a digit, a space
def label(members: int) -> str:
    """A byte class as a reader knows it: `[0-9]`, `any character`, `␣`, `a`."""
    if members == ALL_BYTES:
        return "any byte"
    listed = members_of(members)
    if len(listed) == 1:
        return shown(bytes(listed))
    printable = members & PRINTABLE
    if printable.bit_count() > 70:
        every = "any character" if members >> 0x80 else "any of ASCII"
        missing = "".join(chr(byte) for byte in members_of(PRINTABLE & ~printable))
        return f"{every} but {missing}" if missing else every
    if members >> 0x80 and members & ~CONTINUATION:
        ascii_part = [byte for byte in listed if byte < 0x80]
        classes = "".join(_span(low, high) for low, high in _runs(ascii_part))
        return f"[{classes}] or beyond ASCII" if ascii_part else "[beyond ASCII]"
    return "[" + "".join(_span(low, high) for low, high in _runs(listed)) + "]"


def _runs(listed: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for byte in listed:
        if runs and runs[-1][1] == byte - 1:
            runs[-1] = (runs[-1][0], byte)
        else:
            runs.append((byte, byte))
    return runs


def _span(low: int, high: int) -> str:
    first, last = shown(bytes([low])), shown(bytes([high]))
    if high - low < 2:
        return first if low == high else first + last
    return f"{first}-{last}"


def shown(data: bytes) -> str:
    """Bytes as text with visible white space; what is not UTF-8 as `<F0>`."""
    words = ""
    for character in data.decode("utf-8", "surrogateescape"):
        code = ord(character)
        if 0xDC80 <= code <= 0xDCFF:
            words += f"<{code - 0xDC00:02X}>"
        elif code in VISIBLE:
            words += VISIBLE[code]
        elif code < 0x20 or code == 0x7F:
            words += f"<{code:02X}>"
        else:
            words += character
    return words
