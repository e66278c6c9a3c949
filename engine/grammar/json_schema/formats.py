"""The `format`s of JSON Schema as exact regular languages of characters.

Most are patterns, put together as the RFCs put their grammars together. What a pattern says badly is said by terms: the
length of a whole beside that of its parts, names that may not begin in some way, and the leap second, which is a matter
of the clock and the offset at once.

Where an RFC leaves a choice, JSON Schema's test suite decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from engine.automaton.arena import Arena
from engine.automaton.terms import Captured, Literal, Term
from engine.grammar.charset import ASCII, CharSet
from engine.grammar.regex.ast import Node
from engine.grammar.regex.ecma import parse_ecma
from engine.grammar.regex.lower import lower
from engine.grammar.regex.pure import Encode

NOTES = {
    "hostname": "Labels with -- in third and fourth place are not offered: they are reserved for Punycode (xn--).",
    "duration": "Its letters are offered in upper case only.",
    "relative-json-pointer": "The index adjustment of its latest draft (0+1) is not offered.",
}
"""By format: what its specification admits and is not offered here."""

REFUSED = {
    "idn-email": "Unicode domains follow rules that are not enforced; email is, for ASCII.",
    "idn-hostname": "Unicode labels follow rules that are not enforced; hostname is, for ASCII.",
    "iri": "Unicode addresses are not enforced; uri is, for ASCII.",
    "iri-reference": "Unicode addresses are not enforced; uri-reference is, for ASCII.",
    "uri-template": "Templates are not enforced; say what they look like with pattern.",
    "regex": "Regexes nest parentheses, which no automaton can count; leave the format out.",
}
"""By registered format that is not enforced: why, and what to do."""


def format_term(name: str, arena: Arena, encode: Encode) -> Term:
    """The texts of a format in `FORMATS`, without quotation marks; `encode` spells one character of a set."""
    return FORMATS[name](_Writer(arena, encode))


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes texts and patterns as terms."""

    arena: Arena
    encode: Encode

    def text(self, text: str) -> Term:
        """A fixed text."""
        parts = [self.encode(CharSet.of(character)) for character in text]
        if all(isinstance(part, Literal) for part in parts):
            return self.arena.literal(b"".join(part.data for part in parts if isinstance(part, Literal)))
        return self.arena.concat(parts)

    def pattern(self, pattern: str) -> Term:
        """What an ECMA-262 regex matches as a whole."""
        return lower(_parsed(pattern), self.arena, self.encode, search=False)

    def at_most(self, count: int, body: Term) -> Term:
        """The texts of an ASCII term with at most `count` characters."""
        return self.arena.both([body, self.arena.repeat(self.encode(ASCII), 0, count)])

    def join(self, *parts: Term) -> Term:
        """All parts, one after the other."""
        return self.arena.concat(parts)


@cache
def _parsed(pattern: str) -> Node:
    return parse_ecma(pattern)


def _any(*options: str) -> str:
    return f"(?:{'|'.join(options)})"


# Dates and times: RFC 3339, section 5.6 and appendix A. The years 0000 to 9999 are those of the Gregorian calendar.

_FOURS = _any("0[48]", "[2468][048]", "[13579][26]")  # two digits that four divides, 00 aside
_OTHERS = _any("[02468][1235679]", "[13579][01345789]")  # two digits that four does not divide
_LEAP_YEAR = _any(rf"\d\d{_FOURS}", rf"{_any('00', _FOURS)}00")
_COMMON_YEAR = _any(rf"\d\d{_OTHERS}", rf"{_OTHERS}00")
_LONG_MONTH, _SHORT_MONTH = "(?:0[13578]|1[02])", "(?:0[469]|11)"

_FIRST_OF_MONTH = r"\d{4}-(?:0[1-9]|1[0-2])-01"
_WITHIN_MONTH = _any(
    r"\d{4}-"
    + _any(rf"{_LONG_MONTH}-(?:0[2-9]|[12]\d|30)", rf"{_SHORT_MONTH}-(?:0[2-9]|[12]\d)", r"02-(?:0[2-9]|1\d|2[0-7])"),
    f"{_LEAP_YEAR}-02-28",
)
_LAST_OF_MONTH = _any(
    rf"\d{{4}}-{_any(f'{_LONG_MONTH}-31', f'{_SHORT_MONTH}-30')}", f"{_COMMON_YEAR}-02-28", f"{_LEAP_YEAR}-02-29"
)
_DATE = _any(_FIRST_OF_MONTH, _WITHIN_MONTH, _LAST_OF_MONTH)

_HOUR, _SIXTY, _FRACTION = r"(?:[01]\d|2[0-3])", r"[0-5]\d", r"(?:\.\d+)?"
_AFTER_HOUR = rf"{_SIXTY}:{_SIXTY}{_FRACTION}(?:[Zz]|[+-]{_HOUR}:{_SIXTY})"

_DURATION_TIME = r"T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)"
_DURATION_DATE = r"(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)"
_DURATION = rf"P(?:{_DURATION_DATE}(?:{_DURATION_TIME})?|{_DURATION_TIME}|\d+W)"


@dataclass(frozen=True, slots=True)
class _AfterHour:
    """The rule of a time after `HH:`, where the second may be 60 if it is 23:59 in UTC then.

    `same_day`, `next_day`: that is so at the end of the day on which the clock is read, of the day before.
    """

    writer: _Writer
    same_day: bool
    next_day: bool
    name = "time"
    sure = True

    def nullable(self, args: int) -> bool:
        return False

    def body(self, arena: Arena, args: int) -> Term:
        """An ordinary time, or for each minute the offset that makes it 23:59 in UTC."""
        seconds = self.writer.pattern(f":60{_FRACTION}")
        leaps = [arena.concat([minute, seconds, offset]) for minute, offset in self._offsets(args)]
        return arena.alt([self.core(arena, args), *leaps])

    def _offsets(self, hour: int) -> Iterable[tuple[Term, Term]]:
        arena, text = self.writer.arena, self.writer.text
        minutes = [text(f"{minute:02}") for minute in range(60)]
        if self.same_day:
            offset = text(f"-{23 - hour:02}:")
            yield from ((minutes[minute], arena.seq(offset, minutes[59 - minute])) for minute in range(60))
            if hour == 23:
                yield minutes[59], self.writer.pattern(r"[Zz]|\+00:00")
        if self.next_day:
            offset = text(f"+{hour:02}:")
            yield from ((minutes[minute], arena.seq(offset, minutes[minute + 1])) for minute in range(59))
            if hour < 23:
                yield minutes[59], text(f"+{hour + 1:02}:00")

    def core(self, arena: Arena, args: int) -> Term:
        """An ordinary time: where a leap second can be written, one with second 00 can, in as many characters."""
        return self.writer.pattern(_AFTER_HOUR)

    def after(self, arena: Arena, args: int, text: Captured) -> Term:
        raise AssertionError("a time captures nothing")

    def parts(self, arena: Arena, args: int) -> Iterable[Term]:
        return [self.core(arena, args)]

    def forget(self, args: int) -> int:
        return args

    def words(self, args: int) -> str:
        return "<rest of time>"


def _time(writer: _Writer, same_day: bool = True, next_day: bool = True) -> Term:
    arena = writer.arena
    rule = _AfterHour(writer, same_day, next_day)
    return arena.alt(arena.seq(writer.text(f"{hour:02}:"), arena.call(rule, hour)) for hour in range(24))


def _date_time(writer: _Writer) -> Term:
    """Section 5.7: a second is 60 only at the end of a month, by UTC's calendar and clock."""
    return writer.arena.alt(
        [
            writer.pattern(f"{_WITHIN_MONTH}[Tt]{_HOUR}:{_AFTER_HOUR}"),
            writer.join(writer.pattern(f"{_LAST_OF_MONTH}[Tt]"), _time(writer, next_day=False)),
            writer.join(writer.pattern(f"{_FIRST_OF_MONTH}[Tt]"), _time(writer, same_day=False)),
        ]
    )


# Names and addresses of hosts: RFC 1123, RFC 2673, RFC 4291.

_HEX = "[0-9A-Fa-f]"
_BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = rf"{_BYTE}(?:\.{_BYTE}){{3}}"
_GROUP = f"{_HEX}{{1,4}}"


def _ipv6(ipv4: str, most: int) -> str:
    """IPv6 addresses, the last two groups perhaps as IPv4. `::` stands beside at most `most` groups."""

    def after_gap(groups: int) -> str:
        options = [f"{_GROUP}(?::{_GROUP}){{0,{groups - 1}}}"] if groups else []
        if groups >= 2:
            options.append(f"(?:{_GROUP}:){{0,{groups - 2}}}{ipv4}")
        return f"{_any(*options)}?" if options else ""

    rest = f":{_GROUP}"  # after seven groups
    if most == 7:
        rest = _any(rest, "::")
    for groups in range(6, 0, -1):
        options = [f"{_GROUP}{rest}", f":{after_gap(most - groups)}"]
        if groups == 6:
            options.append(ipv4)
        rest = f":{_any(*options)}"
    return _any(f"{_GROUP}{rest}", f"::{after_gap(most)}")


_ADDRESS = _ipv6(_IPV4, 7)

_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"


def _domain(writer: _Writer, label: Term) -> Term:
    """Labels between dots; DNS has room for 253 characters."""
    more = writer.arena.star(writer.join(writer.text("."), label))
    return writer.at_most(253, writer.join(label, more))


def _hostname(writer: _Writer) -> Term:
    """Without the reserved labels of RFC 5890, section 2.3.1: those that are in use, xn--, would have to be decoded."""
    arena = writer.arena
    reserved = writer.join(writer.pattern("[A-Za-z0-9-]{2}--"), arena.anything)
    return _domain(writer, arena.both([writer.pattern(_LABEL), arena.complement(reserved)]))


# Mailboxes: RFC 5321, sections 4.1.2, 4.1.3 and 4.5.3.1.

_ATOM = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+"
_LOCAL_PART = rf'{_ATOM}(?:\.{_ATOM})*|"(?:[ !#-\[\]-~]|\\[ -~])*"'
_SNUM = r"(?:25[0-5]|2[0-4]\d|[01]?\d?\d)"
_IPV4_LITERAL = rf"{_SNUM}(?:\.{_SNUM}){{3}}"
_ADDRESS_LITERAL = rf"\[(?:{_IPV4_LITERAL}|[Ii][Pp][Vv]6:{_ipv6(_IPV4_LITERAL, 6)})\]"


def _email(writer: _Writer) -> Term:
    host = writer.arena.alt([_domain(writer, writer.pattern(_LABEL)), writer.pattern(_ADDRESS_LITERAL)])
    return writer.join(writer.at_most(64, writer.pattern(_LOCAL_PART)), writer.text("@"), host)


# Resources: RFC 3986, appendix A. A reg-name admits whatever an IPv4 address could be.

_NAME = r"A-Za-z0-9\-._~!$&'()*+,;="  # unreserved and sub-delims
_ESCAPE = f"%{_HEX}{{2}}"
_PCHAR, _PCHAR_BUT_COLON = f"(?:[{_NAME}:@]|{_ESCAPE})", f"(?:[{_NAME}@]|{_ESCAPE})"
_SEGMENTS = f"(?:/{_PCHAR}*)*"
_IP_LITERAL = rf"\[(?:{_ADDRESS}|[Vv]{_HEX}+\.[{_NAME}:]+)\]"
_AUTHORITY = rf"(?:(?:[{_NAME}:]|{_ESCAPE})*@)?(?:{_IP_LITERAL}|(?:[{_NAME}]|{_ESCAPE})*)(?::\d*)?"
_FROM_AUTHORITY = f"//{_AUTHORITY}{_SEGMENTS}"
_FROM_ROOT = f"/(?:{_PCHAR}+{_SEGMENTS})?"
_ABSOLUTE = rf"[A-Za-z][A-Za-z0-9+\-.]*:{_any(_FROM_AUTHORITY, _FROM_ROOT, f'{_PCHAR}+{_SEGMENTS}', '')}"
_RELATIVE = _any(_FROM_AUTHORITY, _FROM_ROOT, f"{_PCHAR_BUT_COLON}+{_SEGMENTS}", "")
_QUERY_AND_FRAGMENT = rf"(?:\?(?:{_PCHAR}|[/?])*)?(?:#(?:{_PCHAR}|[/?])*)?"

# Pointers: RFC 6901, and relative to a place: draft-handrews-relative-json-pointer-01.

_POINTER = r"(?:/(?:[^/~]|~[01])*)*"


def _written(pattern: str) -> Callable[[_Writer], Term]:
    return lambda writer: writer.pattern(pattern)


FORMATS: dict[str, Callable[[_Writer], Term]] = {
    "date": _written(_DATE),
    "time": _time,
    "date-time": _date_time,
    "duration": _written(_DURATION),
    "email": _email,
    "hostname": _hostname,
    "ipv4": _written(_IPV4),
    "ipv6": _written(_ADDRESS),
    "uri": _written(_ABSOLUTE + _QUERY_AND_FRAGMENT),
    "uri-reference": _written(_any(_ABSOLUTE, _RELATIVE) + _QUERY_AND_FRAGMENT),
    "uuid": _written(f"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}"),
    "json-pointer": _written(_POINTER),
    "relative-json-pointer": _written(rf"(?:0|[1-9]\d*)(?:#|{_POINTER})"),
}
"""By format that is enforced: its texts."""
