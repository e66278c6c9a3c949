"""Computed values in a lesson's text: `{{name}}` or `{{name|format}}`, and `[[term]]` for the glossary.

A number is formatted; a text that was computed (a token, an output) is hostile and stands as code, where no markup
means anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from visualizations.tokens import percent, visible

Value = int | float | str
Fields = Mapping[str, Value]
"""What an experiment has computed so far, by name."""

FIELD = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:\|([^{}]*))?\}\}")
TERM = re.compile(r"\[\[([^\[\]|]+)(?:\|([^\[\]]+))?\]\]")
_SPEC = re.compile(r"[+,]?(?:\.\d{1,2})?[efg%,]?")


def names(text: str) -> Iterable[str]:
    """The fields that `text` uses."""
    return (found[1] for found in FIELD.finditer(text))


def bad_format(form: str) -> bool:
    """`form` is neither `percent` nor a short number format such as `.2f` or `,`."""
    return form != "percent" and _SPEC.fullmatch(form) is None


def shown(value: Value, form: str = "") -> str:
    """A computed value as Markdown."""
    if isinstance(value, str):
        return code(value)
    if form == "percent":
        return percent(value)
    if not form:
        form = "," if isinstance(value, int) else ".3g"
    return format(value, form)


def code(text: str) -> str:
    """`text` as a code span, whatever it holds. Spaces between words are left as they are: they can be seen there."""
    safe = re.sub(r"(?<=\w)␣(?=\w)", " ", visible(text)) or "(nothing)"
    fence = "`" * (max((len(run) for run in re.findall("`+", safe)), default=0) + 1)
    return f"{fence} {safe} {fence}" if "`" in safe else f"`{safe}`"


def filled(text: str, fields: Fields) -> str:
    """`text` with its fields filled in. Raises KeyError where one is not there yet."""
    return FIELD.sub(lambda found: shown(fields[found[1]], (found[2] or "").strip()), text)


def known_part(text: str, fields: Fields) -> tuple[str, bool]:
    """The paragraphs of `text` whose fields are all there, filled in; whether any paragraph had to wait."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    ready = [paragraph for paragraph in paragraphs if all(name in fields for name in names(paragraph))]
    return "\n\n".join(filled(paragraph, fields) for paragraph in ready), len(ready) < len(paragraphs)


def with_blanks(text: str, fields: Fields) -> str:
    """`text` with its fields filled in; on paper, what is not computed yet is a blank to fill in by hand."""
    return FIELD.sub(lambda found: filled(found[0], fields) if found[1] in fields else "\\_" * 8, text)


def linked(text: str, link: Callable[[str, str], str]) -> str:
    """`text` with each `[[term]]` or `[[term|words]]` as `link(term, words)`."""
    return TERM.sub(lambda found: link(found[1].strip(), (found[2] or found[1]).strip()), text)


def terms(text: str) -> Iterable[str]:
    """The glossary terms that `text` links to."""
    return (found[1].strip() for found in TERM.finditer(text))
