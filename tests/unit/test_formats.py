"""Formats against their RFCs: examples printed there, the calendar and the clock by arithmetic, lengths, peers."""

from __future__ import annotations

import ipaddress
import json
import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache
from typing import Literal

import pytest

from engine.automaton.arena import Arena
from engine.automaton.automaton import Automaton
from engine.automaton.liveness import Liveness
from engine.budget import Budget
from engine.grammar.json_schema.formats import FORMATS, NOTES, REFUSED, format_term
from engine.grammar.json_schema.strings import JsonText

Spelling = Literal["plain", "any"]

LENGTHS: dict[str, tuple[int, int | None]] = {
    "date": (10, 10),
    "time": (9, None),
    "date-time": (20, None),
    "duration": (3, None),
    "email": (3, 318),
    "hostname": (1, 253),
    "ipv4": (7, 15),
    "ipv6": (2, 45),
    "uri": (2, None),
    "uri-reference": (0, None),
    "uuid": (36, 36),
    "json-pointer": (0, None),
    "relative-json-pointer": (1, None),
}
"""By format: the least and the greatest number of characters that the RFCs leave (None: without bound)."""


@cache
def automaton_of(name: str, spelling: Spelling) -> Automaton:
    arena = Arena(Budget())
    text = JsonText(arena, spelling)
    return Automaton(arena, text.quoted(format_term(name, arena, text.one_of)))


def reads(name: str, text: bytes, spelling: Spelling = "plain") -> bool:
    """Whether a JSON text is accepted."""
    automaton = automaton_of(name, spelling)
    state = automaton.advance(automaton.start, text)
    return state is not None and automaton.is_accepting(state)


def accepts(name: str, instance: str) -> bool:
    """Whether a string is accepted."""
    return reads(name, json.dumps(instance, ensure_ascii=False).encode())


ACCEPTED = {
    # RFC 3339, section 5.8 and appendix A.
    "date-time": [
        "1985-04-12T23:20:50.52Z",
        "1996-12-19T16:39:57-08:00",
        "1990-12-31T23:59:60Z",
        "1990-12-31T15:59:60-08:00",
        "1937-01-01T12:00:27.87+00:20",
    ],
    "duration": ["P1Y2M3DT4H5M6S", "P3D", "PT36H", "P2W", "P1YT1S", "P01M"],
    # RFC 4291, section 2.2.
    "ipv6": [
        "ABCD:EF01:2345:6789:ABCD:EF01:2345:6789",
        "2001:DB8:0:0:8:800:200C:417A",
        "2001:DB8::8:800:200C:417A",
        "FF01::101",
        "::1",
        "::",
        "0:0:0:0:0:0:13.1.68.3",
        "::FFFF:129.144.52.38",
        "1:2:3:4:5:6:7::",
        "::2:3:4:5:6:7:8",
    ],
    # RFC 3986, section 1.1.2; the longest forms of an authority.
    "uri": [
        "ftp://ftp.is.co.za/rfc/rfc1808.txt",
        "http://www.ietf.org/rfc/rfc2396.txt",
        "ldap://[2001:db8::7]/c=GB?objectClass?one",
        "mailto:John.Doe@example.com",
        "news:comp.infosystems.www.servers.unix",
        "tel:+1-816-555-1212",
        "telnet://192.0.2.16:80/",
        "urn:oasis:names:specification:docbook:dtd:xml:4.1.2",
        "a://u:p@[v1.x:y]:/?/?#/?",
        "a:",
    ],
    # RFC 3986, section 5.4.
    "uri-reference": ["g:h", "g", "./g", "/g", "//g", "?y", "g?y#s", ";x", "g;x?y#s", "", "..", "../../g", "g/../h"],
    # RFC 5321, section 4.1.3 and the literals of its grammar; RFC 3696, section 3.
    "email": [
        "user@[123.255.37.2]",
        "user@[IPv6:1:2:3:4:5:6::]",
        "user@[ipv6:1:2:3:4:5:6:1.2.3.4]",
        "user@[01.0.0.255]",
        '"Abc\\@def"@example.com',
        '"Fred Bloggs"@example.com',
        '""@example.com',
        "customer/department=shipping@example.com",
        "$A12345@example.com",
        "!def!xyz%abc@example.com",
        "user@localhost",
        "user@a--b.ab--c",
    ],
    "hostname": ["a", "3com.com", "a--b", "abc--d", "A.B.C"],
    "relative-json-pointer": ["0", "10/a~1b", "1#"],
}

REJECTED = {
    "date-time": [
        "1990-12-31T15:59:60-07:00",
        "1990-12-30T23:59:60Z",
        "1990-12-31 23:59:59Z",
        "1990-12-31T23:59:59.Z",
        "1990-12-31T23:59:59-0800",
        "2023-02-28T23:59:60+01:00",
    ],
    "duration": ["P1H", "P1DT", "P1S", "p1D", "P", "P1.5D"],
    "ipv6": ["1:2:3:4:5:6:7:8::", "1:2:3:4:5:6::1.2.3.4", ":1", "1::2::3", "1:2:3:4:5:6:7", "::1.2.3", "::00001"],
    "uri": ["a", "//a", "a:[", "a://[::1", "a://[v.a]", "a:%1", "a:#b#c", "a://b@c@d", "ä:b", ":a"],
    "uri-reference": ["a:b:%", "1:a", "[", "#a#b", " "],
    "email": [
        "user@[IPv6:1:2:3:4:5:6:7::]",  # `::` stands for at least two groups here
        "user@[x400:a]",  # only IPv6 is a registered tag
        "user@[256.0.0.1]",
        'a."b"@example.com',
        '"\t"@example.com',
        "a@-b",
        "a@b.",
        "a@b@c",
        "é@example.com",
    ],
    "hostname": ["ab--c", "xn--a", "a..b", "-a", "a-", "a_b"],
    "relative-json-pointer": ["00", "0+1", "0#/a", "#"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in ACCEPTED.items() for text in texts])
def test_accepted(name: str, text: str) -> None:
    assert accepts(name, text)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in REJECTED.items() for text in texts])
def test_rejected(name: str, text: str) -> None:
    assert not accepts(name, text)


def test_every_registered_format_is_enforced_or_refused() -> None:
    """JSON Schema Validation 2020-12, section 7.3."""
    registered = (
        "date-time date time duration email idn-email hostname idn-hostname ipv4 ipv6 "
        "uri uri-reference iri iri-reference uuid uri-template json-pointer relative-json-pointer regex"
    )
    assert {*FORMATS, *REFUSED} == set(registered.split())
    assert not FORMATS.keys() & REFUSED.keys()
    assert FORMATS.keys() == LENGTHS.keys() >= NOTES.keys()


@pytest.mark.parametrize("year", [1, 4, 100, 400, 1900, 2000, 2023, 2024, 9996, 9999])
def test_calendar(year: int) -> None:
    for month in range(14):
        for day in range(33):
            try:
                exists = bool(date(year, month, day))
            except ValueError:
                exists = False
            assert accepts("date", f"{year:04}-{month:02}-{day:02}") == exists


def test_leap_seconds_are_at_23_59_utc() -> None:
    for local in range(0, 24 * 60, 7):
        clock = f"{local // 60:02}:{local % 60:02}:60"
        for offset in [*range(-23 * 60 - 59, 24 * 60, 97), local + 1, local - 23 * 60 - 59]:
            if abs(offset) < 24 * 60:
                sign = "+" if offset >= 0 else "-"
                text = f"{clock}{sign}{abs(offset) // 60:02}:{abs(offset) % 60:02}"
                assert accepts("time", text) == ((local - offset) % (24 * 60) == 23 * 60 + 59), text
        assert accepts("time", f"{clock}.5z") == (clock == "23:59:60")


@pytest.mark.parametrize("offset", [0, 1, 90, 1439, -1, -480, -1439])
def test_leap_seconds_are_at_the_end_of_a_month_in_utc(offset: int) -> None:
    zone = timezone(timedelta(minutes=offset))
    for days in range(800):
        before = datetime(2023, 1, 1, 23, 59, tzinfo=UTC) + timedelta(days=days)
        local = before.astimezone(zone)
        text = local.strftime("%Y-%m-%dT%H:%M:60") + local.isoformat()[-6:]
        assert accepts("date-time", text) == ((before + timedelta(days=1)).day == 1), text


def test_lengths_of_names() -> None:
    label = "a" * 63
    longest = f"{label}.{label}.{label}.{'a' * 61}"
    assert len(longest) == 253
    assert accepts("hostname", longest)
    assert not accepts("hostname", f"{longest}a")
    assert accepts("hostname", label)
    assert not accepts("hostname", f"{label}a")
    assert accepts("email", f"{label}b@{longest}")
    assert not accepts("email", f"{label}bc@a")
    assert not accepts("email", f"a@{longest}a")
    assert accepts("email", f'"{label[1:]}"@a')
    assert not accepts("email", f'"{label}"@a')
    assert len(f"{label}b@{longest}") == LENGTHS["email"][1]
    assert len(longest) == LENGTHS["hostname"][1]


@pytest.mark.parametrize("name", FORMATS)
def test_least_and_greatest_length(name: str) -> None:
    low, high = LENGTHS[name]
    arena = Arena(Budget())
    text = JsonText(arena, "plain")
    term = format_term(name, arena, text.one_of)
    shortest = Liveness(arena).shortest(term)
    assert shortest is not None
    assert len(shortest) == low
    if high is not None and name not in ("email", "hostname"):  # these two: above
        for length, exists in ((high, True), (high + 1, False)):
            exactly = arena.repeat(text.character, length, length)
            assert Liveness(arena).alive(arena.both([term, exactly])) == exists


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("time", "date-time")])
def test_with_a_length_condition(name: str) -> None:
    """`maxLength: 10` leaves something of all formats but `uuid`, and cheaply."""
    arena = Arena(Budget(terms=1_500))
    text = JsonText(arena, "plain")
    term = arena.both([format_term(name, arena, text.one_of), arena.repeat(text.character, 0, 10)])
    assert Liveness(arena).alive(term) == (LENGTHS[name][0] <= 10)


def test_spellings() -> None:
    assert reads("date", rb'"2024-02\u002D29"', "any")
    assert reads("time", rb'"23\u003a59:60\u005a"', "any")
    assert not reads("time", rb'"23\u003a58:60\u005a"', "any")
    assert reads("uri", rb'"http:\/\/a"', "any")
    assert not reads("uri", rb'"http:\/\/a"')
    assert not reads("hostname", rb'"\u0078n--a"', "any")
    assert reads("email", rb'"\"\\\"\"@a"')


def mutations(examples: list[str], count: int) -> list[str]:
    """Examples with one to three characters added, dropped or changed."""
    draw = random.Random(1)
    mutated = []
    for _ in range(count):
        text = draw.choice(examples)
        for _ in range(draw.randint(1, 3)):
            place, character = draw.randrange(len(text) + 1), draw.choice("0123459:abfFgzZtTPWDHMS-+./%#@[]~_ é٣\n")
            text = draw.choice([text[:place], text[: max(place - 1, 0)]]) + draw.choice(["", character]) + text[place:]
        mutated.append(text)
    return mutated


def is_address(version: type[ipaddress.IPv4Address | ipaddress.IPv6Address]) -> Callable[[str], bool]:
    def judge(text: str) -> bool:
        try:
            version(text)
        except ValueError:
            return False
        return "%" not in text  # a zone belongs to no address of RFC 4291

    return judge


@pytest.mark.parametrize(("name", "version"), [("ipv4", ipaddress.IPv4Address), ("ipv6", ipaddress.IPv6Address)])
def test_addresses_are_those_of_the_standard_library(
    name: str, version: type[ipaddress.IPv4Address | ipaddress.IPv6Address]
) -> None:
    examples = {"ipv4": ["0.0.0.0", "255.249.199.99"], "ipv6": ACCEPTED["ipv6"]}[name]
    judge = is_address(version)
    verdicts = {text: judge(text) for text in mutations(examples, 2_000)}
    assert {text for text, valid in verdicts.items() if accepts(name, text) != valid} == set()
    assert set(verdicts.values()) == {True, False}


def is_excused(name: str, text: str) -> bool:
    """Where jsonschema-rs does not follow the RFC, or where a format's note leaves something out."""
    if name == "email":  # takes RFC 3986 for literals, IDNA for domains, and not all quoted pairs
        return "[" in text or "--" in text or '"' in text
    if name == "date-time":  # does not ask for the end of a month
        return ":60" in text
    return name == "hostname" and "xn--" in text


@pytest.mark.parametrize("name", FORMATS)
def test_mutations_are_judged_as_by_jsonschema_rs(name: str) -> None:
    jsonschema_rs = pytest.importorskip("jsonschema_rs")
    validator = jsonschema_rs.Draft202012Validator({"format": name}, validate_formats=True)
    more = {
        "date": ["2024-02-29"],
        "time": ["23:59:60Z", "08:30:06.283+08:00", "15:59:60-08:00"],
        "ipv4": ["1.20.255.0"],
        "uuid": ["2eb8aa08-AA98-11ea-b4Aa-73B441D16380"],
        "json-pointer": ["/a~0b/~1", "/é/"],
    }
    verdicts = {
        text: validator.is_valid(text)
        for text in mutations(ACCEPTED.get(name, []) + more.get(name, []), 600)
        if not is_excused(name, text)
    }
    assert {text for text, valid in verdicts.items() if accepts(name, text) != valid} == set()
    assert set(verdicts.values()) == {True, False}
