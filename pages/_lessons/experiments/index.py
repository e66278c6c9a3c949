"""From schema to automaton to index; recursion, where a stack appears; how many states there can be."""

from __future__ import annotations

import json
from collections import deque
from functools import lru_cache
from typing import Any

import streamlit as st

from engine.analysis.explosion import FAMILIES, MOST_STATES, Family, Growth, count_states, growth, index_bytes
from engine.analysis.schema_regex import schema_regex
from engine.automaton.classic import built, classic, difference
from engine.automaton.explore import DrawnGraph
from engine.budget import Budget
from engine.constraint import Constraint
from engine.decoding.records import ConstraintSource
from engine.errors import BudgetError, ConstraintError
from engine.grammar.json_schema.compile import compile_json_schema
from engine.grammar.regex.compile import compile_regex
from engine.masking.ladder import Index, WorkCancelled, frames
from engine.vocabulary import Vocabulary
from engine.vocabulary.small import small_vocabulary
from pages._constraints import compiled
from pages._debug_work import Progress
from pages._lessons.fields import Fields, Value
from pages._lessons.live import the_model
from pages._lessons.reader import Lesson
from pages._lessons.room import shared
from visualizations.automaton import automaton_panel, automaton_view
from visualizations.charts import curve
from visualizations.lesson_automata import duration, memory, tokens
from visualizations.notice import notice
from visualizations.tokens import visible

FIELDS = {
    "regex": "the schema as a regex",
    "schema_states": "states of its automaton over characters",
    "index_states": "states of the app's automaton over bytes, which are indexed",
    "size": "tokens of the vocabulary that is indexed",
    "index_checks": "tokens tried to build the index",
    "index_kilobytes": "what the index keeps, in thousands of bytes",
    "index_ms": "how long building it took, in milliseconds",
    "look_us": "how long one look-up took, in microseconds",
    "here": "a text that leads to the state looked at",
    "here_count": "tokens that the index has for that state",
    "depth": "the depth to which the nested list is unrolled",
    "unrolled_length": "characters of the regex at this depth",
    "unrolled_states": "states of its automaton",
    "deeper_states": "states one level deeper",
    "refused": "a text that the schema allows and the unrolled regex refuses",
    "nested": "the text of which the stack is shown",
    "frames": "frames on the stack in its middle",
    "explosion_n": "the n of the pattern that explodes",
    "explosion_pattern": "that pattern",
    "explosion_states": "how many states it has, by arithmetic",
    "explosion_linear": "one more than n",
    "explosion_quadratic": "n times n plus one",
    "explosion_visited": "states that one of its texts visits",
    "explosion_read": "bytes of that text",
    "explosion_megabytes": "what an index of it keeps with a vocabulary of a large model, in millions of bytes",
    "large_size": "tokens of that vocabulary",
    "measured_n": "an n small enough to explore everything",
    "measured_states": "states found by exploring everything there",
    "measured_classic": "states of the textbook's automaton there",
}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "n": {"type": "integer"}},
    "required": ["ok"],
    "additionalProperties": False,
}
FIRST_TEXT = '{"ok":true'  # leads to the state that is looked at first: a comma, a brace, and tokens that have both
NESTED = {
    "$ref": "#/$defs/list",
    "$defs": {"list": {"type": "array", "items": {"$ref": "#/$defs/list"}, "maxItems": 2}},
}
NESTED_TEXT = "[[[],[]],[[]]]"
COMPACT = (("whitespace", "compact"),)
DEPTH, DEEPEST = 3, 8
LETTERS = "the last letters"
EXPLOSION_N, MEASURED_N, POINTS = 13, 6, 12  # points of the curve
LARGE = 128_000  # tokens that a large model's vocabulary has
SMALL_BUDGET = Budget(states=20_000, terms=400_000, seconds=3.0, depth=60, source_bytes=20_000)
MOST_INDEXED = 120  # states
TRY = 2e-6  # seconds in which plain Python tries a token from a state, about
AT_ONCE = 70  # states that are explored without being asked for
EXPLORE = 4e-4  # seconds for one state of the exploring, about


@lru_cache(maxsize=1)
def facts() -> Fields:
    """The default schema's index over the small vocabulary, the nested list unrolled, the explosion by arithmetic."""
    constraint = compile_json_schema(SCHEMA, whitespace="compact")
    family = FAMILIES[LETTERS]
    exploding = growth(family, EXPLOSION_N, most_states=0, most_classic=0)
    return {
        "regex": schema_regex(SCHEMA),
        "nested": NESTED_TEXT,
        "frames": len(frames(compile_json_schema(NESTED, whitespace="compact"), NESTED_TEXT[:3].encode())),
        "explosion_n": EXPLOSION_N,
        "explosion_pattern": exploding.pattern,
        "explosion_states": family.states(EXPLOSION_N),
        "explosion_linear": EXPLOSION_N + 1,
        "explosion_quadratic": EXPLOSION_N * (EXPLOSION_N + 1),
        "explosion_visited": exploding.visited,
        "explosion_read": exploding.read,
        "explosion_megabytes": index_bytes(family.states(EXPLOSION_N), LARGE) / 1e6,
        "large_size": LARGE,
        "measured_n": MEASURED_N,
        "measured_states": growth(family, MEASURED_N, most_classic=0).explored or 0,
        **_indexed(_index(constraint, small_vocabulary()), constraint, FIRST_TEXT.encode()),
    }


def opening(lesson: Lesson, key: str) -> None:
    """The schema, its regex and its automaton."""
    st.caption(
        "A schema, the same as a regex, and the regex as an automaton. Its states are what an index is made for."
    )
    left, right = st.columns(2, gap="medium")
    left.code(json.dumps(SCHEMA), language="json", wrap_lines=True)
    right.code(schema_regex(SCHEMA), language=None, wrap_lines=True)
    graph = _drawn(schema_regex(SCHEMA), compile_json_schema(SCHEMA, whitespace="compact"))
    if isinstance(graph, DrawnGraph):
        automaton_view(graph, key=f"{key}_picture", height=230, name="automaton", on_select=_nothing)


def experiment(lesson: Lesson, key: str) -> Fields:
    """A schema on its way to an index; a schema that refers to itself; families of regexes that grow."""
    st.markdown("#### Schema, regex, automaton, index")
    fields: dict[str, Value] = _to_index(f"{key}_to")
    st.markdown("#### Recursion: a regex has no name for itself")
    fields |= _recursion(f"{key}_nested")
    st.markdown("#### State explosion")
    return fields | _explosion(f"{key}_grow")


def _nothing() -> None:
    """A picture to look at before the prediction is made."""


def _to_index(key: str) -> dict[str, Value]:
    left, right = st.columns([2, 3], gap="medium")
    with left:
        text = st.text_area("Schema", json.dumps(SCHEMA, indent=1), height=230, max_chars=3_000, key=f"{key}_schema")
    try:
        schema = json.loads(text)
        constraint = compile_json_schema(schema, whitespace="compact", budget=SMALL_BUDGET)
        pattern = schema_regex(schema)  # reads a schema that is known to be one
    except (ValueError, RecursionError, ConstraintError) as error:
        with right:
            notice(f"This schema can't be followed here: {error}", key=f"{key}_problem", kind="warning")
        return {}
    with right:
        st.caption(f"The same as a regex, {len(pattern):,} characters, keys in declared order, no white space:")
        st.code(pattern, language=None, wrap_lines=True)
    graph = _drawn(pattern, constraint)
    if isinstance(graph, str):
        notice(graph, key=f"{key}_undrawn", kind="info")
        return {"regex": pattern}
    ways = _texts(pattern)
    state = _picked(graph, ways, key)
    automaton_view(
        graph,
        key=f"{key}_picture",
        selected=f"s{state}",
        height=270,
        caption=f"{len(graph.states)} states over characters. Click one: its tokens stand below.",
        name="automaton",
        on_select=lambda: _select(key),
    )
    fields: dict[str, Value] = {"regex": pattern, "schema_states": len(graph.states)}
    return fields | _index_panel(constraint, text, ways[state].encode(), f"{key}_index")


def _drawn(pattern: str, constraint: Constraint) -> DrawnGraph | str:
    """The picture, or in words why there is none."""
    try:
        return classic(pattern, constraint)
    except ConstraintError as error:
        return str(error)


def _texts(pattern: str) -> dict[int, str]:
    """A shortest text to each state of the character automaton."""
    fsm = built(pattern)
    listed = set("".join(fsm.symbols.values()))
    other = next(c for c in map(chr, range(0x21, 0x11_0000)) if c not in listed and c.isprintable())
    texts = {fsm.initial: ""}
    pending = deque([fsm.initial])
    while pending:
        state = pending.popleft()
        for symbol, target in fsm.moves[state].items():
            if target not in texts:
                characters = other if symbol == fsm.other else fsm.symbols[symbol]
                texts[target] = texts[state] + next((c for c in characters if c.isprintable()), characters[0])
                pending.append(target)
    return texts


def _select(key: str) -> None:
    what = st.session_state[f"{key}_picture"].select
    if isinstance(what, str) and what[:1] in ("s", "e"):
        st.session_state[f"{key}_state"] = what[1:].partition("-")[0]


def _picked(graph: DrawnGraph, ways: dict[int, str], key: str) -> int:
    """The state that was clicked; at first the one of the first text, else the one with the most ways on."""
    picked = st.session_state.get(f"{key}_state", "")
    if picked.isdigit() and int(picked) in ways:
        return int(picked)
    first = next((state for state, text in ways.items() if text == FIRST_TEXT), None)
    return first if first is not None else max(ways, key=[edge.source for edge in graph.edges].count)


def _index(constraint: Constraint, vocabulary: Vocabulary, progress: Progress | None = None) -> Index:
    return Index(constraint, vocabulary, MOST_INDEXED, progress.stopped if progress else lambda: False)


def _indexed(index: Index, constraint: Constraint, text: bytes) -> dict[str, Value]:
    answer = index.mask(text)
    return {
        "index_states": index.states,
        "size": len(answer.allowed),
        "index_checks": index.preparation.checks,
        "index_kilobytes": index.preparation.memory_bytes / 1e3,
        "index_ms": 1e3 * index.preparation.seconds,
        "look_us": 1e6 * answer.work.seconds,
        "here": text.decode(errors="replace"),
        "here_count": int(answer.allowed.sum()),
    }


@st.cache_resource(max_entries=32, show_spinner=False)
def _small_index(schema: str, _constraint: Constraint) -> Index | str:
    try:
        return _index(_constraint, small_vocabulary())
    except BudgetError as error:
        return str(error)


def _index_panel(constraint: Constraint, schema: str, text: bytes, key: str) -> dict[str, Value]:
    """The tokens of the state that `text` leads to, from an index of all states."""
    index, vocabulary, whose = _small_index(schema, constraint), small_vocabulary(), "a small vocabulary made by hand"
    if isinstance(index, str):
        notice(index, key=f"{key}_large", kind="info")
        return {}
    model = the_model()
    if model is not None:
        size, states = model.vocabulary.size, index.states
        said = f"{states} states times {size:,} tokens: {states * size:,} tries, about {duration(states * size * TRY)}."

        def work(progress: Progress) -> Index | None:
            progress.say(f"{states * size:,} tries", 0.5)
            own = compile_json_schema(json.loads(schema), whitespace="compact", budget=SMALL_BUDGET)
            try:
                return _index(own, model.vocabulary, progress)
            except WorkCancelled:
                return None

        label = f"Index the model's {size:,} tokens"
        made = shared(("index", model.vocabulary.digest, schema), label, said, work, key=f"{key}_model")
        if made is not None:
            index, vocabulary, whose = made, model.vocabulary, "the model's vocabulary"
    answer = index.mask(text)
    ids = sorted(answer.allowed.nonzero()[0].tolist(), key=lambda i: -len(vocabulary.tokens[i]))
    st.caption(
        f"Index over {whose}: {index.states} states over bytes, {index.preparation.checks:,} tokens tried in "
        f"{duration(index.preparation.seconds)}, {memory(index.preparation.memory_bytes)} kept. This look-up took "
        f"{duration(answer.work.seconds)}."
    )
    heading = f"After {visible(text) or 'nothing'}: {len(ids):,} of {vocabulary.size:,} tokens"
    tokens([vocabulary.tokens[i] for i in ids], len(ids), key=f"{key}_tokens", heading=heading)
    return _indexed(index, constraint, text)


def _recursion(key: str) -> dict[str, Value]:
    left, right = st.columns([2, 3], gap="medium")
    constraint = compiled(_nested_source())
    assert isinstance(constraint, Constraint)
    with left:
        st.code(json.dumps(NESTED, indent=1), language="json")
        depth = st.slider("Unroll the reference so many times", 1, DEEPEST - 1, DEPTH, key=f"{key}_depth")
    lengths, states = _unrolled()
    refused = difference(built(schema_regex(NESTED, depth)), constraint)
    whole = (refused + constraint.shortest(_state(constraint, refused)).decode()) if refused else ""
    with right:
        marks = [(float(depth), float(states[depth - 1]), f"{states[depth - 1]:,} states")]
        series = {"characters of the regex": lengths, "states of its automaton": states}
        depths = list(range(1, DEEPEST + 1))
        x, y = "unrolled so many times", "logarithmic"
        curve(depths, series, key=f"{key}_curve", x_title=x, y_title=y, marks=marks, log_y=True)
        if whole:
            st.caption("The schema allows this text, the regex of this depth refuses it:")
            st.code(whole, language=None)
    _stack(constraint, f"{key}_stack")
    return {
        "depth": depth,
        "unrolled_length": lengths[depth - 1],
        "unrolled_states": states[depth - 1],
        "deeper_states": states[depth],
        "refused": whole,
    }


def _state(constraint: Constraint, text: str) -> int:
    state = constraint.advance(constraint.start, text.encode())
    assert state is not None, "the schema allows what the shallower regex does not"
    return state


def _nested_source() -> ConstraintSource:
    return ConstraintSource("json_schema", json.dumps(NESTED), COMPACT)


@lru_cache(maxsize=1)
def _unrolled() -> tuple[list[int], list[int]]:
    """Characters of the regex and states of its automaton, for each depth from one on."""
    patterns = [schema_regex(NESTED, depth) for depth in range(1, DEEPEST + 1)]
    return [len(p) for p in patterns], [count_states(compile_regex(p), MOST_STATES) or 0 for p in patterns]


def _stack(constraint: Constraint, key: str) -> None:
    st.markdown(
        "An automaton with a **stack** needs no depth: one picture for the rule, and a frame for each list open."
    )
    st.code(NESTED_TEXT, language=None)
    read = st.slider("Bytes of it that are read", 0, len(NESTED_TEXT), 3, key=f"{key}_read")
    selected = st.session_state.get(f"{key}_selected", "")

    def select(what: str) -> None:
        st.session_state[f"{key}_selected"] = what

    text = NESTED_TEXT[:read].encode()
    automaton_panel(constraint, text, key=key, selected=selected, on_select=select, places={}, height=230)


def _explosion(key: str) -> dict[str, Value]:
    left, right = st.columns([2, 3], gap="medium")
    with left:
        name = st.radio(
            "Regex",
            list(FAMILIES),
            format_func=lambda family: f"`{FAMILIES[family].shown}` {family}",
            key=f"{key}_family",
        )
        family = FAMILIES[name]
        n = st.slider("n", 1, family.largest, min(MEASURED_N, family.largest), key=f"{key}_{family.shape}_n")
        found = _grown(family, n, key)
        _counted(family, n, found)
    with right:
        xs = sorted({1, n, family.largest, *range(1, family.largest, max(1, family.largest // POINTS))})
        visited = [_visited(family, x) for x in xs]
        series = {"all states": [family.states(x) for x in xs], "visited by one text": visited}
        marks = [(float(n), float(family.states(n)), f"{family.states(n):,}")]
        curve(xs, series, key=f"{key}_{family.shape}_curve", x_title="n", y_title="states", marks=marks, log_y=True)
    fields: dict[str, Value] = {}
    if name == LETTERS and found is not None and found.explored is not None:
        fields = {"measured_n": n, "measured_states": found.explored}
        if found.classic is not None:
            fields["measured_classic"] = found.classic
    return fields


@lru_cache(maxsize=1_024)
def _visited(family: Family, n: int) -> int:
    """States that a text of the family visits."""
    return growth(family, n, most_states=0, most_classic=0).visited


def _grown(family: Family, n: int, key: str) -> Growth | None:
    states = family.states(n)
    if states > MOST_STATES:
        st.caption(f"More than {MOST_STATES:,} states are not explored here; arithmetic says how many there are.")
        return None
    cost = f"Explores {states:,} states, about {duration(states * EXPLORE)}, and asks the textbook's construction too."

    def work(progress: Progress) -> Growth | None:
        progress.say(f"{states:,} states", 0.3)
        try:
            return growth(family, n, cancelled=progress.stopped)
        except WorkCancelled:
            return None

    question = ("explosion", family.name, n)
    return shared(question, "Explore all states", cost, work, key=f"{key}_{n}", at_once=states <= AT_ONCE)


def _counted(family: Family, n: int, found: Growth | None) -> None:
    with st.container(horizontal=True):
        st.metric("All states", f"{family.states(n):,}")
        st.metric(f"Visited by a text of {len(family.text(n)):,} bytes", f"{_visited(family, n):,}")
    st.caption(f"An index of it for {LARGE:,} tokens would keep {memory(index_bytes(family.states(n), LARGE))}.")
    if found is not None:
        classic_states = "was not asked" if found.classic is None else f"has {found.classic:,} too"
        st.caption(f"Explored: {found.explored:,} states. The textbook's automaton {classic_states}.")
