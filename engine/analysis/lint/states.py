"""What the automaton shows: white space a model can be caught in, and the parts that most states belong to."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress

from engine.analysis.lint.subject import Subject, constants
from engine.automaton import explain
from engine.automaton.terms import FORGOTTEN, Form, Term, byte_set
from engine.errors import BudgetError
from engine.findings import Finding
from engine.grammar.json_schema.clauses import Pattern

WHITE_SPACE = byte_set(b" \t\n\r")

MOST_PATTERN_STATES = 300
MOST_STATES = 2_000
LONGEST_LOOK = 0.3
"""States of a pattern that are searched for a loop, states of the whole that are counted, and the seconds for each."""

FEWEST_STATES = 1_000
"""States below which it does not matter whose they are."""

LONGEST_TOKEN = 16
"""Bytes of a token: states whose counters are farther than that from their bounds have the same mask, and are one."""

LARGE_SHARE = 0.25

STAYS = "Where a model likes no other byte it stays in white space, and the output ends at max_tokens."


def white_space_findings(subject: Subject) -> Iterator[Finding]:
    """White space between the parts of a text (`whitespace="any"`), and patterns that loop on a white space byte."""
    options = subject.options
    if options.whitespace == "any":
        message = (
            f"Up to {options.max_whitespace} bytes of white space may stand between any two parts of the text. Use "
            "whitespace='spaced', or a smaller max_whitespace."
        )
        yield Finding(subject.source.at, "warning", "", message, STAYS)
    for position in subject.positions:
        for branch in position.branches:
            patterns = [clause for clause in branch.all(Pattern) if clause.positive]
            speaks = "string" in branch.kinds and patterns and constants(branch) is None
            if speaks and _loops(subject, subject.strings(branch)):
                message = "The pattern admits white space without end. Bound it, as in ' {0,2}' for ' *'."
                yield Finding(f"{patterns[0].origin.pointer}/pattern", "warning", "pattern", message, STAYS)


def _loops(subject: Subject, term: Term) -> bool:
    """Whether a state of a term returns to itself by white space, and by nothing else."""
    seen = {term}
    queue = deque([term])
    began = time.thread_time()
    while queue and len(seen) < MOST_PATTERN_STATES and time.thread_time() - began < LONGEST_LOOK:
        state = queue.popleft()
        for members, rest in subject.arena.moves(state):
            if rest is state and not members & ~WHITE_SPACE:
                return True
            if rest not in seen and subject.values.liveness.alive(rest):
                seen.add(rest)
                queue.append(rest)
    return False


def share_findings(subject: Subject) -> Iterator[Finding]:
    """The parts to which a large share of the states belongs, with their share of the time to make them."""
    states, seconds, whole = _shares(subject)
    count, elapsed = sum(states.values()), sum(seconds.values())
    if count < FEWEST_STATES or len(states) == 1:
        return
    for pointer, own in states.items():
        if own >= LARGE_SHARE * count:
            among = f"the {round(count):,} states" if whole else f"the first {round(count):,} states"
            message = (
                f"This part has {own / count:.0%} of {among}, and {seconds[pointer] / elapsed:.0%} of the time to make "
                "them. If masks come slowly, make its bounds smaller or its pattern simpler, or close its objects."
            )
            why = "Each state needs a mask of its own the first time a text comes there."
            yield Finding(pointer, "info", "", message, why)


def _shares(subject: Subject) -> tuple[dict[str, float], dict[str, float], bool]:
    """By pointer: states and seconds of the automaton, breadth first; and whether all states were seen."""
    automaton = subject.constraint.automaton
    arena = automaton.arena
    states: dict[str, float] = {}
    seconds: dict[str, float] = {}
    start = arena.to_form(automaton.root, Form(tags=True, text=FORGOTTEN, longest=LONGEST_TOKEN))
    seen = {start}
    queue = deque([start])
    with suppress(BudgetError), arena.clock.running(LONGEST_LOOK):
        while queue and len(seen) <= MOST_STATES:
            arena.check_time()
            state = queue.popleft()
            before = time.thread_time()
            targets = [rest for _, rest in arena.moves(state) if automaton.liveness.alive(rest)]
            spent = time.thread_time() - before
            owners = {origin.pointer for origin in explain.origins(arena, state)} or {""}
            for pointer in owners:
                states[pointer] = states.get(pointer, 0) + 1 / len(owners)
                seconds[pointer] = seconds.get(pointer, 0) + spent / len(owners)
            for target in targets:
                if target not in seen:
                    seen.add(target)
                    queue.append(target)
        return states, seconds, not queue
    return states, seconds, False
