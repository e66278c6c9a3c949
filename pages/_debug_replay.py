"""A text from somewhere else under the source: where it stops being legal, why, and what a mask allowed on the way."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import streamlit as st

from engine.analysis.replay import (
    AS_WRITTEN,
    WITH_OPTIONS,
    Replay,
    allowed_counts,
    options_needed,
    replay,
)
from engine.constraint import Constraint, Verdict
from engine.decoding.records import ConstraintSource
from engine.errors import ConstraintError, Origin
from engine.grammar.locate import Located
from pages._constraints import compiled, demanded, masked, said
from pages._debug_report import key_of, narrowed
from pages._debug_vocabulary import Tokens
from pages._debug_work import LONG, Progress, Question, follow
from pages._settings import OPTIONS
from visualizations.editor import Edited, Highlight, Problem, editor
from visualizations.notice import notice
from visualizations.replay import STEPS, Nearest, Rule, place_card, token_at, token_replay
from visualizations.tokens import prose

MOST_TEXT = 200_000  # bytes of one text
MASKS_SECONDS = 30.0
MOST_MASKS = 3_000
READING = ("key_order", "whitespace", "spelling")
WORDS = {"accepted": "accepted", "incomplete": "incomplete", "rejected": "rejected"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a text. `needed`: the options without which a stricter decoder refuses it (None: no such)."""

    constraint: Constraint
    replayed: Replay
    needed: tuple[tuple[str, str], ...] | None


@dataclass
class Looking:
    """What one visitor replays. `at`: the byte looked at, None where the text stops; `seen`: of which text."""

    text: str = ""
    version: int = 0
    at: int | None = None
    seen: str = ""
    outcome: Question[Outcome] = field(default_factory=Question)
    masks: Question[None] = field(default_factory=lambda: Question(LONG))
    counts: dict[int, int] = field(default_factory=dict)

    def load(self, text: str) -> None:
        """Put another text into the field."""
        self.text, self.version, self.at = text, self.version + 1, None


@dataclass(frozen=True, slots=True)
class Place:
    """The place looked at: the verdict on the text before it, and whether the byte there is the first illegal one."""

    here: Verdict
    illegal: bool
    token: Nearest | None


def reading_source(source: ConstraintSource) -> ConstraintSource:
    """The source as texts are read under it: by default as they were written."""
    if source.kind not in WITH_OPTIONS:
        return source
    chosen = {name: st.session_state.get(f"debug_read_{name}", AS_WRITTEN[name]) for name in READING}
    return replace(source, options=tuple((dict(source.options) | chosen).items()))


def bytes_of(text: str) -> bytes:
    return text.encode(errors="replace")


def outcome(looking: Looking, source: ConstraintSource, edited: Edited, tokens: Tokens | None) -> Outcome | None:
    """What becomes of the text in the field; None while that is being found out, or if there is nothing to read."""
    data = bytes_of(edited.text)
    if not edited.text or len(data) > MOST_TEXT:
        looking.outcome.give_up()
        return None
    if edited.text != looking.seen:
        looking.seen, looking.at = edited.text, None
    read = reading_source(source)
    digest = tokens.vocabulary.digest if tokens is not None else ""

    def work(progress: Progress) -> Outcome:
        progress.say("Reading the text", 0.2)
        constraint = demanded(compiled(read))
        masker = masked(read, tokens.vocabulary) if tokens is not None else None
        usable = None if isinstance(masker, ConstraintError) else masker
        replayed = replay(constraint, usable, tokens.canonical if tokens is not None else None, data)
        progress.say("Trying the options", 0.7)
        stricter = source if replayed.verdict.kind == "accepted" else read
        needed = options_needed(stricter, data, compiled) if replayed.verdict.kind != "incomplete" else None
        return Outcome(constraint, replayed, needed)

    found = looking.outcome.ask((key_of(read), data, digest), work)
    if found is not None and edited.clicked is not None:
        looking.at = _allowed_place(found, len(bytes_of(edited.text[: edited.clicked])))
    return found


def place(looking: Looking, source: ConstraintSource, found: Outcome, tokens: Tokens | None) -> Place:
    """The place looked at; where the text stops, if the budget doesn't go so far as to look elsewhere."""
    replayed = found.replayed
    stop = replayed.verdict
    at = stop.offset if looking.at is None else _allowed_place(found, looking.at)
    try:
        here = stop if at == stop.offset else found.constraint.check(replayed.text[:at])
        return Place(here, here is stop and stop.kind == "rejected", _token(source, found, here.offset, tokens))
    except ConstraintError:
        return Place(stop, stop.kind == "rejected", None)


def text_field(looking: Looking, found: Outcome | None, place: Place | None) -> None:
    """The field with the text, the illegal place marked in it."""
    problems, marks = [], []
    if found is not None and (verdict := found.replayed.verdict).kind == "rejected":
        start = _point(found.replayed.text, verdict.offset)
        problems = [Problem("The first illegal byte: this cannot be read.", start, start + 1)]
    if found is not None and place is not None and not place.illegal:
        start = _point(found.replayed.text, place.here.offset)
        marks = [Highlight(start, start + 1, "selected", "The place looked at")]
    now = editor(
        looking.text,
        key="debug_text",
        label="Text to replay",
        language="text",
        version=looking.version,
        errors=problems,
        highlights=marks,
        height=190,
    )
    if (size := len(bytes_of(now.text))) > MOST_TEXT:
        notice(f"This text has {size:,} bytes; {MOST_TEXT:,} are the limit. Keep its beginning.", key="debug_text_long")
    if now.refused:
        notice(now.refused, key="debug_text_refused")


def reading_options(source: ConstraintSource) -> None:
    """How the text may be written."""
    if source.kind not in WITH_OPTIONS:
        return
    with st.expander("How the text may be written", type="compact"):
        st.caption("A text is read as production wrote it: any order of keys, any white space, any spelling.")
        for name in READING:
            title, choices, words = OPTIONS[name]
            st.segmented_control(
                title, choices, key=f"debug_read_{name}", required=True, help=words, persist_state="session"
            )


def result(
    looking: Looking,
    source: ConstraintSource,
    found: Outcome,
    place: Place,
    tokens: Tokens | None,
    located: Located,
    on_select: Callable[[str], None],
) -> None:
    """What became of the text, the place looked at, and its tokens."""
    _headline(found, source)
    rules = rules_of(place.here.origins, located)
    replayed, key = found.replayed, "debug_place"

    def select() -> None:
        index = st.session_state[key].select
        if isinstance(index, int) and 0 <= index < len(rules):
            on_select(rules[index].pointer)

    def apply() -> None:
        if replayed.repair is not None and st.session_state[key].apply == replayed.verdict.offset:
            looking.load(_repaired(replayed).decode(errors="replace"))

    def go() -> None:
        step = st.session_state[key].go
        if step in STEPS:
            looking.at = stepped(found, place.here.offset, step)

    place_card(
        replayed.text,
        place.here,
        illegal=place.illegal,
        rules=rules,
        repair=replayed.repair if place.illegal else None,
        token=place.token,
        steps=bool(replayed.tokens),
        key=key,
        on_select=select,
        on_apply=apply,
        on_go=go,
    )
    _tokens(looking, source, found, place, tokens)


def rules_of(origins: tuple[Origin, ...], located: Located) -> list[Rule]:
    """What the source says at each place that speaks."""
    found = {}
    for origin in origins:
        inner = narrowed(origin.pointer, "" if origin.keyword == "properties" else origin.keyword)
        span = located.span(inner)
        says = " ".join(located.text[span[0] : min(span[1], span[0] + 400)].split()) if span else ""
        found[inner] = Rule(inner, str(origin), says if len(says) <= 100 else says[:99] + "…")
    return list(found.values())


def stepped(found: Outcome, at: int, step: str) -> int | None:
    """The byte that a step from `at` leads to; None: where the text stops."""
    if step in ("first", "last"):
        return 0 if step == "first" else None
    if step in ("byte-", "byte+"):
        return _allowed_place(found, at + (1 if step == "byte+" else -1))
    starts = [token.offset for token in found.replayed.tokens]
    if step == "token-":
        return max((start for start in starts if start < at), default=0)
    return _allowed_place(found, min((start for start in starts if start > at), default=at))


def _allowed_place(found: Outcome, at: int) -> int:
    return max(0, min(at, found.replayed.verdict.offset))


def _token(source: ConstraintSource, found: Outcome, at: int, tokens: Tokens | None) -> Nearest | None:
    """The token at a place, and those that were allowed instead of it."""
    replayed = found.replayed
    if tokens is None or not replayed.tokens:
        return None
    token = replayed.tokens[token_at(replayed, at)]
    masker = masked(reading_source(source), tokens.vocabulary)
    if isinstance(masker, ConstraintError) or token.fate == "unread":
        return None
    constraint = masker.constraint  # compiled again, if the one that the text was read with was not kept
    state = constraint.advance(constraint.start, replayed.text[: token.offset])
    if state is None or token.token_id >= tokens.vocabulary.size:
        return None
    why, count = masker.explain(state, token.token_id), masker.mask(state).count

    def name(token_id: int) -> bytes | str:
        return tokens.vocabulary.tokens[token_id] or tokens.vocabulary.name(token_id)

    allowed = tuple((i, name(i)) for i in why.nearest if i != token.token_id)
    return Nearest(token, name(token.token_id), why.reason, count, tokens.vocabulary.size, allowed)


def _headline(found: Outcome, source: ConstraintSource) -> None:
    verdict = found.replayed.verdict
    where = f"byte {verdict.offset:,} (line {verdict.line:,}, column {verdict.column:,})"
    options = said_options(found.needed) if found.needed else ""
    if verdict.kind == "rejected":
        text = f"Rejected at {where}."
        if options:
            text += f" It fails only by an option: accepted with {options}."
        notice(text, key="debug_verdict", kind="error")
    elif verdict.kind == "incomplete":
        notice(f"Incomplete: legal so far, but it ends too early, at {where}.", key="debug_verdict", kind="warning")
    else:
        text = "Accepted: every byte is legal, and the text may end here."
        if options:
            text += f"\nA decoder in its usual setting would not have written it so: that needs {options}."
        notice(text, key="debug_verdict", kind="info")


def said_options(needed: tuple[tuple[str, str], ...]) -> str:
    return " and ".join(f'{name}="{value}"' for name, value in needed)


def _tokens(looking: Looking, source: ConstraintSource, found: Outcome, place: Place, tokens: Tokens | None) -> None:
    replayed = found.replayed
    if tokens is None:
        st.caption("Tokens appear as soon as there is a vocabulary: the model's, or one uploaded under Vocabulary.")
        return
    if not replayed.tokens:
        masker = masked(reading_source(source), tokens.vocabulary)
        if isinstance(masker, ConstraintError):
            notice(f"No token masks: {said(masker)}", key="debug_no_masks", kind="warning")
        return
    _ask_counts(looking, source, found, tokens)

    def select() -> None:
        offset = st.session_state["debug_tokens"].token
        if isinstance(offset, int):
            looking.at = _allowed_place(found, offset)

    names = {i: tokens.vocabulary.name(i) for i in tokens.vocabulary.end_ids}
    token_replay(replayed, looking.counts, place.here.offset, names=names, key="debug_tokens", on_token=select)
    how = {"canonical": "as its tokenizer splits it", "longest": "split into the longest tokens"}[replayed.tokenisation]
    reached = sum(token.fate != "unread" for token in replayed.tokens)
    counted = len(looking.counts)
    rest = f" Masks at {counted:,} of them, nearest to where it stops: the time for more was over." * (
        counted < reached and not looking.masks.busy
    )
    st.caption(f"{len(replayed.tokens):,} tokens of {prose(tokens.name)}, {how}.{rest}")
    follow([looking.masks], key="debug_masks_follow")  # type: ignore[list-item]


def _ask_counts(looking: Looking, source: ConstraintSource, found: Outcome, tokens: Tokens) -> None:
    """How many tokens the mask allows at each token, counted while the page is already there."""
    read = reading_source(source)
    key = (key_of(read), found.replayed.text, tokens.vocabulary.digest)
    if looking.masks.key == key:
        return
    counts: dict[int, int] = {}
    looking.counts = counts

    def work(progress: Progress) -> None:
        masker = masked(read, tokens.vocabulary)
        if isinstance(masker, ConstraintError):
            return
        until, total = time.monotonic() + MASKS_SECONDS, min(MOST_MASKS, len(found.replayed.tokens))
        for index, count in allowed_counts(masker, found.replayed):
            counts[index] = count
            progress.say(f"Masks at {len(counts):,} of {total:,} tokens", len(counts) / total)
            if progress.stopped() or len(counts) >= MOST_MASKS or time.monotonic() > until:
                return

    looking.masks.ask(key, work)


def _repaired(replayed: Replay) -> bytes:
    assert replayed.repair is not None
    at = replayed.verdict.offset
    return replayed.text[:at] + replayed.repair.inserted + replayed.text[at + len(replayed.repair.removed) :]


def _point(data: bytes, offset: int) -> int:
    """A byte offset in code points."""
    return len(data[:offset].decode("utf-8", "ignore"))
