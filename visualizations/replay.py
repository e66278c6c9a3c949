"""A text read again under a constraint: the place looked at and why it is legal or not, and its tokens one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.analysis.replay import Replay, ReplayedToken
from engine.automaton.repair import Repair
from engine.constraint import Verdict
from visualizations.component import Callback, register
from visualizations.tokens import prose, visible

AROUND = 48  # bytes of the text shown before and behind a place
WINDOW = 400  # tokens drawn around the one looked at
MOST_RULES = 8
STEPS = ("first", "token-", "byte-", "byte+", "token+", "last")

_place = register("replay_place")
_tokens = register("replay_tokens")


@dataclass(frozen=True, slots=True)
class Rule:
    """Whose rule it is at a place. `text`: what the source says there."""

    pointer: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Nearest:
    """A token and how many the mask allows in its place; `allowed`: those most like it. Names are bytes or a name."""

    token: ReplayedToken
    name: bytes | str
    reason: str
    count: int
    vocabulary_size: int
    allowed: Sequence[tuple[int, bytes | str]]


def place_card(
    text: bytes,
    here: Verdict,
    *,
    illegal: bool,
    rules: Sequence[Rule],
    repair: Repair | None,
    token: Nearest | None,
    steps: bool,
    key: str,
    on_select: Callback,
    on_apply: Callback,
    on_go: Callback,
) -> None:
    """What is legal at a place of the text, and why.

    `here`: the verdict on the text before the place. `illegal`: the byte there is the first that cannot be read. A
    click on a rule calls `on_select` (its index in `.select`), on the repair `on_apply`, on a step `on_go` (a name of
    `STEPS` in `.go`). `steps`: there are tokens to step by.
    """
    at = here.offset
    data = {
        "offset": at,
        "line": here.line,
        "column": here.column,
        "illegal": illegal,
        "before": visible(text[_boundary(text, max(0, at - AROUND)) : at]),
        "cutBefore": at > AROUND,
        "byte": visible(text[at : _character_end(text, at)]),
        "after": visible(text[_character_end(text, at) : _boundary(text, at + AROUND)]),
        "cutAfter": at + AROUND < len(text),
        "size": len(text),
        "tokens": steps,
        "expected": [prose(words) for words in here.expected],
        "rules": [{"name": prose(r.name), "text": prose(r.text)} for r in rules[:MOST_RULES]],
        "moreRules": max(0, len(rules) - MOST_RULES),
        "limit": prose(here.limit),
        "completion": visible(here.completion[:400]),
        "completionCut": len(here.completion) > 400,
        "repair": None if repair is None else _repair(repair),
        "token": None if token is None else _nearest(token),
    }
    _place(key=key, data=data, on_select_change=on_select, on_apply_change=on_apply, on_go_change=on_go)


def token_replay(
    replayed: Replay, counts: Mapping[int, int], at: int, *, names: Mapping[int, str], key: str, on_token: Callback
) -> None:
    """The tokens around the one at byte `at`, each with how many the mask allowed in its place.

    `names`: how the end token is shown. A click calls `on_token`, the byte at which it begins in `.token`.
    """
    current = token_at(replayed, at)
    first = max(0, min(current - WINDOW // 2, len(replayed.tokens) - WINDOW))
    shown = replayed.tokens[first : first + WINDOW]
    chips = [
        {
            "text": f"⟨{visible(names.get(t.token_id, 'end'))}⟩" if t.end else visible(t.token),
            "fate": t.fate,
            "end": t.end,
            "offset": t.offset,
            "id": t.token_id,
            "count": counts.get(first + i),
            "breaks": b"\n" in t.token,
        }
        for i, t in enumerate(shown)
    ]
    data = {
        "chips": chips,
        "current": current - first,
        "first": first,
        "total": len(replayed.tokens),
    }
    _tokens(key=key, data=data, on_token_change=on_token)


def token_at(replayed: Replay, at: int) -> int:
    """The index of the token that the byte at `at` belongs to."""
    tokens = replayed.tokens
    return next((i for i, t in enumerate(tokens) if t.offset <= at < t.offset + len(t.token)), len(tokens) - 1)


def _repair(repair: Repair) -> dict[str, object]:
    return {"removed": visible(repair.removed), "inserted": visible(repair.inserted), "read": repair.read}


def _nearest(token: Nearest) -> dict[str, object]:
    return {
        "name": visible(token.name),
        "id": token.token.token_id,
        "fate": token.token.fate,
        "reason": prose(token.reason),
        "count": token.count,
        "size": token.vocabulary_size,
        "allowed": [{"id": i, "name": visible(name)} for i, name in token.allowed],
    }


def _boundary(text: bytes, at: int) -> int:
    """The nearest place at or behind `at` where a character begins."""
    while at < len(text) and text[at] & 0xC0 == 0x80:
        at += 1
    return min(at, len(text))


def _character_end(text: bytes, at: int) -> int:
    return _boundary(text, at + 1) if at < len(text) else at
