"""Recorded series of trials that come with the app, so that a lesson shows real results before anything is run.

`python -m engine.recorded [NAME ...]` makes them again with the bundled model, which takes minutes. Times are those of
the machine that made the record; a page that shows them says so.
"""

from __future__ import annotations

import gzip
import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from engine.analysis.experiments import PERSON, asking, guarantee, order, truncation
from engine.analysis.methods import trials as method_trials
from engine.analysis.tasks import KINDS, tasks
from engine.analysis.trials import Outcome, Trial, dumped, loaded, performed

if TYPE_CHECKING:
    from engine.model.model import Model

FOLDER = Path(__file__).parent / "traces" / "series"

VERSION = 1

SAMPLES, TASKS, PER_METHOD = 20, 6, 4
"""Samples of the prompt, tasks of each kind, samples of each method in the records."""

LIMITS = (10, 14, 18, 22, 26, 30)
"""Token limits of the recorded truncations."""


@dataclass(frozen=True, slots=True)
class Series:
    """A recorded series: the model that answered, its threads' machine in words, and the outcomes."""

    model: str
    outcomes: tuple[Outcome, ...]

    def group(self, name: str) -> tuple[Outcome, ...]:
        """The outcomes of one way of asking."""
        return tuple(outcome for outcome in self.outcomes if outcome.group == name)


RECORDS: dict[str, Callable[[Model], list[Trial]]] = {
    "asking": lambda model: asking(model, PERSON, SAMPLES),
    "order": lambda model: order(model, [task for kind in KINDS for task in tasks(kind, TASKS)]),
    "guarantee": lambda model: guarantee(model),
    "truncation": lambda model: truncation(model, LIMITS),
    "methods": lambda model: method_trials(model, PERSON, PER_METHOD),
}
"""The recorded series, by name."""


@cache
def recorded(name: str) -> Series:
    """A recorded series; without outcomes where none is there (KeyError if there is no such series)."""
    assert name in RECORDS, name
    file = FOLDER / f"{name}.json.gz"
    if not file.exists():
        return Series("", ())
    found = json.loads(gzip.decompress(file.read_bytes()))
    return Series(found["model"], loaded(found["outcomes"]))


def saved(series: Series) -> bytes:
    """A series as a file, the same bytes for the same series."""
    text = json.dumps({"version": VERSION, "model": series.model, "outcomes": dumped(series.outcomes)}, indent=0)
    return gzip.compress(text.encode(), mtime=0)


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = ArgumentParser(prog="python -m engine.recorded", description="Make the recorded series again.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(RECORDS)} (default: all)")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in RECORDS]:
        parser.error(f"no series {unknown[0]!r} is recorded")
    from engine.model import load_model

    model = load_model(device="cpu")  # in float32: what every machine can do again
    FOLDER.mkdir(exist_ok=True)
    for name in options.names or RECORDS:
        outcomes = []
        for outcome in performed(RECORDS[name](model)):
            outcomes.append(outcome)
            print(f"{name} {len(outcomes)}: {outcome.group}, {outcome.answer.passes} passes", flush=True)
        data = saved(Series(model.name, tuple(outcomes)))
        (FOLDER / f"{name}.json.gz").write_bytes(data)
        print(f"{name}: {len(outcomes)} outcomes, {len(data):,} bytes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
