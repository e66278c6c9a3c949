"""The pictures as text, for those who cannot see them and for those who want to search."""

from __future__ import annotations

from engine.automaton.explore import DrawnEdge, DrawnGraph, DrawnState, View
from engine.automaton.forms import MOST_SHOWN
from visualizations.automaton.dot import rule_name
from visualizations.tokens import prose

MOST_FRAMES = 50
"""Rules of a deep stack that are named."""


def in_words(graph: DrawnGraph) -> str:
    """A picture as text: where we are, what can come, the way here, every edge."""
    names = {s.id: s for s in graph.states}
    current = next((s for s in graph.states if s.current), None)
    lines = [f"Start: {s.id}" for s in graph.states if s.start]
    if current is not None:
        ends = ", accepting" if current.accepting else ""
        lines.append(f"Current state {current.id}{ends}: what remains is {prose(current.label)}")
        lines += [
            f"  {prose(e.label)} leads to {_named(names, e.target)}"
            for e in graph.edges
            if e.source == current.id and e.allowed_now
        ]
    path = [e for e in graph.edges if e.on_path]
    lines += ["Path taken:", *(f"  {_arrow(e)}" for e in path)] if path else []
    accepting = [str(s.id) for s in graph.states if s.accepting]
    lines += [f"Accepting: {', '.join(accepting)}"] if accepting else []
    return "\n".join([*lines, "All edges drawn:", *(f"  {_arrow(e)}" for e in graph.edges)])


def view_in_words(view: View) -> str:
    """All of a view: the stack first, where there is one."""
    if not view.frames:
        return in_words(view.graph)
    stack = [f"  {depth}. {rule_name(prose(f.name))} at state {f.state}" for depth, f in enumerate(view.frames)]
    if len(stack) > MOST_FRAMES:
        stack = [f"  … {len(stack) - MOST_FRAMES} more", *stack[-MOST_FRAMES:]]
    drawn = next((rule_name(prose(r.name)) for r in view.rules if r.number == view.rule), "")
    return "\n".join(["Stack of rules, outermost first:", *stack, f"Drawn: {drawn}", in_words(view.graph)])


def caption(view: View) -> str:
    """How much of the automaton is drawn, in a sentence."""
    graph = view.graph
    whose = ""
    if view.rule is not None:
        drawn = next((rule_name(prose(r.name)) for r in view.rules if r.number == view.rule), "")
        whose = f"Rule {drawn}, one of {len(view.rules)}: "
    total = f"more than {view.known:,} states" if graph.total_states is None else f"{graph.total_states:,} states"
    shown = "all drawn" if graph.whole else f"{len(graph.states)} around state {graph.middle} drawn"
    dead = f", {graph.hidden_dead} dead ends hidden" if graph.hidden_dead else ""
    read = f" The text can be read in {view.readings} ways; one is shown." if view.readings > 1 else ""
    loops = f" Counts above {MOST_SHOWN} are drawn as loops." if graph.hides_counts else ""
    sentence = f"{whose}{total}, {shown}{dead}.{loops}{read}"
    return sentence[0].upper() + sentence[1:]


def state_title(state: DrawnState, what: str) -> str:
    """A state's details in a line. `what` begins and ends: "a text" or "the rule"."""
    marks = [
        "you are here" if state.current else "",
        f"{what} begins here" if state.start else "",
        "goes on here once the rule entered is done" if state.waiting else "",
        f"{what} may end here" if state.accepting else "",
        f"{state.more} more edges lead out of the picture" if state.more else "",
        f"part {prose(str(state.origin))}" if state.origin is not None else "",
    ]
    remains = f": what remains is {prose(state.label)}" if state.label else ""
    return "; ".join([f"State {state.id}{remains}", *(m for m in marks if m)])


def edge_title(edge: DrawnEdge) -> str:
    """An edge's details in a line."""
    reads = f"reads the rule {prose(edge.label[1:-1])}" if edge.rule is not None else f"on {prose(edge.label)}"
    marks = [
        "allowed now" if edge.allowed_now else "",
        "path taken" if edge.on_path else "",
        "several bytes in one edge" if edge.chain else "",
    ]
    return "; ".join([f"{edge.source} to {edge.target} {reads}", *(m for m in marks if m)])


def _arrow(edge: DrawnEdge) -> str:
    return f"{edge.source} {prose(edge.label)} {edge.target}"


def _named(names: dict[int, DrawnState], state: int) -> str:
    found = names.get(state)
    return f"{state} ({prose(found.label)})" if found else str(state)
