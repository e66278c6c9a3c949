"""Any token of the vocabulary by its text, and whether the mask lets it through at a step."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from engine.once import Once
from engine.vocabulary import Vocabulary
from pages._seen import Seen
from visualizations.lookup import Found, found_tokens
from visualizations.walk import either, owners

SEARCH_ROWS = 20
SEARCH_LENGTH = 100  # characters that are looked for
_BACK = str.maketrans({"␣": " ", "⏎": "\n", "⇥": "\t", "␍": "\r"})
_OFTEN = (b'"', b' "', b"{", b"}", b"[", b"]", b",", b":", b"-", b"1", b"true", b"null", b" ", b"\n")
"""Tokens one asks about often: every kind of JSON value, and what stands between them."""

_common: Once[str, tuple[int, ...]] = Once(4)
"""Their ids, by the vocabulary's digest."""


def look_up(seen: Seen, selected: int, on_select: Callable[[], None]) -> None:
    """Draw the search over the vocabulary, and the tokens one asks about often; needs the model's vocabulary."""
    vocabulary = seen.vocabulary
    if vocabulary is None:
        st.caption("The tokens recorded at this step can be looked at; any other needs the model.")
        return
    text = st.text_input(
        f"Why is a token allowed or masked here? Look up any of {vocabulary.size:,}",
        key="search",
        placeholder='for example ", or ␣the',
        max_chars=SEARCH_LENGTH,
        persist_state="session",
    )
    hits = matches(vocabulary, text) if text else []
    found = [_found(seen, hit) for hit in hits[:SEARCH_ROWS]] if text else None
    common = _common.get(vocabulary.digest, lambda: _often(vocabulary))
    often = [Found(i, seen.text(i), seen.verdict(i) == "allowed") for i in common]
    found_tokens(
        found,
        often,
        total=len(hits),
        step=seen.step.index,
        selected=selected,
        key="found",
        on_select=on_select,
    )


def matches(vocabulary: Vocabulary, text: str) -> list[int]:
    """Ids of the tokens that contain `text`, and special ones named so: those that begin with it first, then short."""
    wanted = text[:SEARCH_LENGTH].translate(_BACK).encode(errors="replace")
    hits = [i for i, token in enumerate(vocabulary.tokens) if wanted in token]
    hits.sort(key=lambda i: (not vocabulary.tokens[i].startswith(wanted), len(vocabulary.tokens[i])))
    return [*hits, *sorted(i for i in vocabulary.special_ids | vocabulary.end_ids if text in vocabulary.name(i))]


def _often(vocabulary: Vocabulary) -> tuple[int, ...]:
    ids = {token: i for i, token in reversed(list(enumerate(vocabulary.tokens)))}
    return (*(ids[token] for token in _OFTEN if token in ids), *sorted(vocabulary.end_ids)[:1])


def _found(seen: Seen, token_id: int) -> Found:
    verdict, why = seen.verdict(token_id), seen.why_not(token_id)
    if verdict == "allowed":
        return Found(token_id, seen.text(token_id), True)
    if verdict == "narrowed" or why is None:
        return Found(token_id, seen.text(token_id), False, "taken away" if verdict == "narrowed" else "a special token")
    rule = next(iter(owners(why.origins)), "")
    wants = f"; {rule} wants {either(why.expected)}" if why.expected and rule else ""
    return Found(token_id, seen.text(token_id), False, why.reason + wants)
