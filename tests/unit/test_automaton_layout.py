"""Graphviz in its own process: what it gives, and what happens when it is gone or too slow."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from importlib import import_module

import pytest

from engine.errors import BudgetError

module = import_module("visualizations.automaton.layout")  # its package exports a function of the same name

MANY_EDGES = "; ".join(f"{i} -> {i * i % 997}" for i in range(3_000))
"""Graphviz works at them for many seconds."""


def test_edges_keep_their_order_and_y_goes_down() -> None:
    placed = module.layout('digraph { 1 -> 2 [id=0, label="é\\n<b>"]; 2 -> 3 [id=1]; 1 -> 3 [id=2] }')
    assert set(placed.nodes) == {1, 2, 3}
    assert [len(edge[0]) % 3 for edge in placed.edges] == [1, 1, 1]  # B-splines: one point and three for each piece
    assert placed.nodes[1][1] < placed.nodes[2][1] < placed.nodes[3][1] <= placed.height


def test_it_is_started_anew_once_it_is_gone() -> None:
    graphviz = module._Graphviz()
    assert graphviz.draw("digraph { 1 }")["objects"][0]["name"] == "1"
    graphviz._process.kill()
    graphviz._process.wait()
    assert graphviz.draw("digraph { 2 }")["objects"][0]["name"] == "2"
    graphviz._process.kill()


def test_what_takes_too_long_is_given_up_and_the_next_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    graphviz = module._Graphviz()
    monkeypatch.setattr(module, "SECONDS", 0.3)
    with pytest.raises(BudgetError, match="in time"):
        graphviz.draw(f"digraph {{ {MANY_EDGES} }}")
    monkeypatch.setattr(module, "SECONDS", 30.0)
    assert graphviz.draw("digraph { 3 }")["objects"][0]["name"] == "3"
    graphviz._process.kill()


def test_what_graphviz_does_not_read_is_said() -> None:
    with pytest.raises(BudgetError, match="no layout"):
        module.layout("digraph { 1 -> ")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that ends the process")
def test_what_nobody_stops_ends_by_itself() -> None:
    command = [sys.executable, "-P", str(module._WORKER), "0.3"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        for source in ("digraph { 1 }", f"digraph {{ {MANY_EDGES} }}"):
            worker.stdin.write(json.dumps(source) + "\n")
            worker.stdin.flush()
            answer = worker.stdout.readline()
            time.sleep(0.5 if answer else 0)  # what is done in time may wait for the next
        assert not answer
        assert worker.wait() == -signal.SIGALRM
