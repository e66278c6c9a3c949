"""Character sets that regexes name: Unicode properties, and the `\\d`, `\\w`, `\\s` of each dialect.

All comes from the standard library's own tables, built when first asked for. It has general categories and a few binary
properties, but no scripts: those are refused.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import groupby

from engine.errors import ConstraintError
from engine.grammar.charset import ALL, ASCII, LAST, NONE, CharSet, Range

ASCII_DIGIT = CharSet.from_ranges([(0x30, 0x39)])
ASCII_WORD = CharSet.from_ranges([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
ASCII_SPACE = CharSet.of(" \t\n\r\f\v")
ECMA_SPACE = CharSet.from_ranges([(0x2000, 0x200A)]) | CharSet.of(
    " \xa0\u1680\u202f\u205f\u3000\t\n\v\f\r\u2028\u2029\ufeff"
)
"""What `\\s` matches in ECMA-262: the category Zs, tabs and line ends."""

_CATEGORY_NAMES = {
    "Cased_Letter": ("Lu", "Ll", "Lt"),
    "LC": ("Lu", "Ll", "Lt"),
    "Uppercase_Letter": ("Lu",),
    "Lowercase_Letter": ("Ll",),
    "Titlecase_Letter": ("Lt",),
    "Modifier_Letter": ("Lm",),
    "Other_Letter": ("Lo",),
    "Letter": ("L",),
    "Nonspacing_Mark": ("Mn",),
    "Spacing_Mark": ("Mc",),
    "Enclosing_Mark": ("Me",),
    "Mark": ("M",),
    "Combining_Mark": ("M",),
    "Decimal_Number": ("Nd",),
    "digit": ("Nd",),
    "Letter_Number": ("Nl",),
    "Other_Number": ("No",),
    "Number": ("N",),
    "Connector_Punctuation": ("Pc",),
    "Dash_Punctuation": ("Pd",),
    "Open_Punctuation": ("Ps",),
    "Close_Punctuation": ("Pe",),
    "Initial_Punctuation": ("Pi",),
    "Final_Punctuation": ("Pf",),
    "Other_Punctuation": ("Po",),
    "Punctuation": ("P",),
    "punct": ("P",),
    "Math_Symbol": ("Sm",),
    "Currency_Symbol": ("Sc",),
    "Modifier_Symbol": ("Sk",),
    "Other_Symbol": ("So",),
    "Symbol": ("S",),
    "Space_Separator": ("Zs",),
    "Line_Separator": ("Zl",),
    "Paragraph_Separator": ("Zp",),
    "Separator": ("Z",),
    "Control": ("Cc",),
    "cntrl": ("Cc",),
    "Format": ("Cf",),
    "Surrogate": ("Cs",),
    "Private_Use": ("Co",),
    "Unassigned": ("Cn",),
    "Other": ("C",),
}


def category(name: str) -> CharSet | None:
    """The characters of a general category by its short or long name, None if there is no such category."""
    if name == "Cs":
        return NONE
    wanted = _CATEGORY_NAMES.get(name, (name,))
    found = [members for short, members in _categories().items() if short in wanted or short[0] in wanted]
    if not found and wanted != ("Cs",):
        return None
    return CharSet.from_ranges(one for members in found for one in members.ranges)


def named(name: str, value: str | None, offset: int) -> CharSet:
    """The set that `\\p{name}` or `\\p{name=value}` stands for, names as ECMA-262 spells them.

    Raises `ConstraintError` at `offset` for one that is unknown or not supported.
    """
    written = name if value is None else f"{name}={value}"
    found = None
    if value is None or name in ("gc", "General_Category"):
        found = category(name if value is None else value)
    if found is None and value is None:
        found = _binary(name)
    if found is None:
        message = (
            f"The Unicode property {written!r} at offset {offset} is not supported: only general categories such as L, "
            "Lu or Letter, and Any, ASCII, Assigned, Lowercase, Uppercase are. Write the ranges of characters instead."
        )
        raise ConstraintError(message, pointer=str(offset), keyword="\\p")
    return found


def _binary(name: str) -> CharSet | None:
    if name == "Any":
        return ALL
    if name == "ASCII":
        return ASCII
    if name == "Assigned":
        return ALL - _categories()["Cn"]
    if name in ("Uppercase", "Upper"):
        return _where(str.isupper)
    if name in ("Lowercase", "Lower"):
        return _where(str.islower)
    return None


@cache
def python_class(escape: str) -> CharSet:
    """What `\\d`, `\\w` or `\\s` matches in Python without the flag `a`."""
    text = "".join(map(chr, range(LAST + 1)))
    return CharSet.from_ranges((match.start(), match.end() - 1) for match in re.finditer(f"{escape}+", text))


@cache
def _categories() -> dict[str, CharSet]:
    """Every two-letter general category. One pass over all characters, some 0.2 s."""
    ranges: dict[str, list[Range]] = {}
    first = 0
    for name, run in groupby(map(unicodedata.category, map(chr, range(LAST + 1)))):
        last = first + sum(1 for _ in run) - 1
        ranges.setdefault(name, []).append((first, last))
        first = last + 1
    return {name: CharSet.from_ranges(listed) for name, listed in ranges.items() if name != "Cs"}


@cache
def _where(test: object) -> CharSet:
    assert callable(test)
    return CharSet.from_ranges((code, code) for code in range(LAST + 1) if test(chr(code)))
