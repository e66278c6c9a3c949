"""Recorded traces that come with the app, so that something real is on screen before the model is.

`python -m engine.shipped [NAME ...]` makes them again with the bundled model; `--check NAME` makes one again and
compares it with the file, allowing for what other hardware does to the last bits of a float.
"""

from __future__ import annotations

import math
import re
import sys
from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.decoding.records import Candidate, Step, Trace
from engine.decoding.trace import load_trace, save_trace
from engine.examples import Example, example

if TYPE_CHECKING:
    from engine.model.model import Model

SHIPPED = ("Person record", "Against the model's wish", "Family tree", "One of two shapes", "Emoji (regex)")
"""The examples whose runs are shipped; the first is on screen when the page opens."""

FOLDER = Path(__file__).parent / "traces"

EPSILON = 1e-3
"""Two runs may part where the top-2 gap (of logits) or the draw's distance is below this."""

TOLERANCE = 2e-3
"""How far probabilities, masses and entropies of two runs may differ."""


def shipped_names() -> tuple[str, ...]:
    """The names of the examples that have a recorded trace."""
    return tuple(name for name in SHIPPED if _file(name).exists())


def shipped_trace(name: str) -> Trace:
    """The recorded trace of an example. Raises TraceError if its file is damaged."""
    return load_trace(_file(name).read_bytes())


def record(entry: Example, model: Model) -> Trace:
    """Run an example to its end. Timings are left out: they mean nothing elsewhere, and the file stays reproducible."""
    from engine.decoding.decoder import Decoder

    run = Decoder(model, entry.spec())
    for _ in run.run():
        pass
    trace = run.trace
    return replace(trace, steps=tuple(replace(step, seconds={}) for step in trace.steps))


def differences(old: Trace, new: Trace) -> list[str]:
    """What differs between two runs of one spec beyond float noise; empty if nothing does."""
    found = [
        f"{name} is {getattr(new, name)!r:.80}, was {getattr(old, name)!r:.80}"
        for name in ("spec", "model", "vocabulary_size", "prompt_tokens")
        if getattr(old, name) != getattr(new, name)
    ]
    for before, after in zip(old.steps, new.steps, strict=False):
        if before.token_id != after.token_id:
            parted = f"step {before.index}: took {after.token!r}, was {before.token!r}"
            return found if _margin(before) < EPSILON else [*found, parted]
        found += _step_differences(before, after)
    if (len(old.steps), old.finish, old.missing) != (len(new.steps), new.finish, new.missing):
        found.append(f"ended after {len(new.steps)} steps ({new.finish}), was {len(old.steps)} ({old.finish})")
    return found


def _margin(step: Step) -> float:
    """How safely the step's choice repeats: by the logits where it was greedy, else by the draw."""
    return step.top2_gap if step.draw_distance == 1 else step.draw_distance


def _step_differences(old: Step, new: Step) -> list[str]:
    exact = ("offset", "token", "kind", "end", "before", "origins", "allowed_count")
    close = ("z", "raw_entropy", "renormalised_entropy", "raw", "renormalised")
    found = [name for name in exact if getattr(old, name) != getattr(new, name)]
    found += [name for name in close if not _close(getattr(old, name), getattr(new, name))]
    mine = {candidate.token_id: candidate for candidate in old.candidates}
    shared = [(mine[other.token_id], other) for other in new.candidates if other.token_id in mine]
    found += [f"candidate {one.token!r}" for one, other in shared if not _same_candidate(one, other)]
    return [f"step {old.index}: {name} differs" for name in found]


def _same_candidate(old: Candidate, new: Candidate) -> bool:
    same = (old.token, old.allowed, old.end, old.name) == (new.token, new.allowed, new.end, new.name)
    return same and _close(old.raw, new.raw) and _close(old.renormalised, new.renormalised)


def _close(old: float, new: float) -> bool:
    return math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _file(name: str) -> Path:
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return FOLDER / f"{slug}.json.gz"


def _check(name: str, model: Model) -> int:
    found = differences(shipped_trace(name), record(example(name), model))
    print("\n".join([f"{name}: {'differs' if found else 'the same'}", *found]))
    return 1 if found else 0


def _write(name: str, model: Model) -> None:
    trace = record(example(name), model)
    data = save_trace(trace)
    FOLDER.mkdir(exist_ok=True)
    _file(name).write_bytes(data)
    print(f"{name}: {len(trace.steps)} steps, {trace.finish}, {len(data):,} bytes")


def main(arguments: list[str]) -> int:
    """The command line; the exit status is 1 if a compared trace differs."""
    parser = ArgumentParser(prog="python -m engine.shipped", description="Make the shipped traces again.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(SHIPPED)} (default: all)")
    parser.add_argument("--check", action="store_true", help="compare with the shipped files instead of writing them")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in SHIPPED]:
        parser.error(f"no trace {unknown[0]!r} is shipped")
    from engine.model import load_model

    model = load_model(device="cpu")  # in float32: what every machine can do again
    names = options.names or SHIPPED
    if options.check:
        return max(_check(name, model) for name in names)
    for name in names:
        _write(name, model)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
