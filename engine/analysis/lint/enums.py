"""Enum values that are hard to tell apart or hard to write, token by token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from engine.analysis.lint.subject import Subject
from engine.findings import Finding
from engine.grammar.json_schema.strings import spelled
from engine.vocabulary.vocabulary import Vocabulary

LONG_PREFIX = 8
"""Characters that several values share at their beginning before it is worth saying."""

MANY_TOKENS = 4
SHOWN = 3


def enum_findings(subject: Subject, vocabulary: Vocabulary | None) -> Iterator[Finding]:
    """Of every enum: values that begin alike, and, given a vocabulary, values that it spells badly or not at all."""
    spelling = None if vocabulary is None else _Spelling(vocabulary)
    for schema in subject.document.reachable:
        if schema.has("enum"):
            texts = list(dict.fromkeys(value for value in schema.get("enum") if isinstance(value, str)))
            place = f"{schema.pointer}/enum"
            yield from _alike(place, texts)
            if spelling is not None:
                yield from spelling.findings(place, texts)


def _alike(place: str, texts: Sequence[str]) -> Iterator[Finding]:
    groups = [list(group) for _, group in groupby(sorted(texts), key=lambda text: text[:LONG_PREFIX])]
    alike = [group for group in groups if len(group) > 1 and len(group[0]) >= LONG_PREFIX]
    if alike:
        largest = max(alike, key=len)
        prefix = _common(largest[0], largest[-1])
        message = (
            f"{len(largest)} of {len(texts)} values begin with {_shown(prefix)}, so which one it is is decided late. "
            "Begin each value with what tells it apart."
        )
        why = "The first tokens choose the whole group; only the last ones choose a value."
        yield Finding(place, "info", "enum", message, why)


class _Spelling:
    """The tokens of a vocabulary, to spell values with as few as possible."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._tokens = frozenset(vocabulary.tokens)
        self._longest = vocabulary.longest

    def findings(self, place: str, texts: Sequence[str]) -> Iterator[Finding]:
        """Values that no tokens spell, and values that fall apart."""
        fewest = {text: self._fewest(spelled(text)) for text in texts}
        lost = [text for text, tokens in fewest.items() if tokens is None]
        if lost:
            message = f"The vocabulary cannot spell {_list(lost)}: no mask will ever allow the whole value. Respell it."
            why = "A byte that no token of its own writes can only be written inside a longer token."
            yield Finding(place, "warning", "enum", message, why)
        odd = {text: tokens for text, tokens in fewest.items() if tokens and _is_odd(tokens)}
        if odd:
            text, tokens = max(odd.items(), key=lambda item: len(item[1]))
            pieces = "·".join(token.decode(errors="backslashreplace") for token in tokens)
            message = (
                f"{len(odd)} of {len(texts)} values split into odd tokens, {_shown(text)} into {len(tokens)} or more "
                f"({pieces}). Prefer whole words."
            )
            why = "A model has seldom seen such a run of tokens, so its probabilities say little about the value meant."
            yield Finding(place, "info", "enum", message, why)

    def _fewest(self, data: bytes) -> list[bytes] | None:
        """As few tokens as spell some bytes, None if none do."""
        best: list[tuple[int, int] | None] = [(0, 0)] + [None] * len(data)  # tokens up to here, start of the last one
        for end in range(1, len(data) + 1):
            for start in range(max(0, end - self._longest), end):
                before = best[start]
                here = best[end]
                if before is not None and data[start:end] in self._tokens and (here is None or before[0] + 1 < here[0]):
                    best[end] = (before[0] + 1, start)
        tokens: list[bytes] = []
        end = len(data)
        while end > 0:
            step = best[end]
            if step is None:
                return None
            tokens.append(data[step[1] : end])
            end = step[1]
        return tokens[::-1]


def _is_odd(tokens: Sequence[bytes]) -> bool:
    """Many tokens for few bytes, or one that ends inside a character."""
    length = sum(map(len, tokens))
    return (len(tokens) >= MANY_TOKENS and 2 * len(tokens) > length) or any(map(_is_broken, tokens))


def _is_broken(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return True
    return False


def _common(one: str, other: str) -> str:
    """The beginning that two texts share: of sorted texts, what the first and the last share all do."""
    length = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:length]


def _list(texts: Sequence[str]) -> str:
    return ", ".join(map(_shown, texts[:SHOWN])) + (" and others" if len(texts) > SHOWN else "")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")
