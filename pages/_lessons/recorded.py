"""What lessons recorded beforehand: runs and computed values, so that a first screen is alive before any model is.

`python -m pages._lessons.recorded EXPERIMENT ...` makes them again with the bundled model, where an experiment's module
has RUNS (name -> spec) and `computed(model, traces)`, what it computes of them, as JSON.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.decoding.records import RunSpec, Trace
from engine.decoding.trace import load_trace, save_trace

if TYPE_CHECKING:
    from engine.model.model import Model

FOLDER = Path(__file__).parents[2] / "lessons" / "recorded"


@lru_cache(maxsize=64)
def recorded_run(experiment: str, name: str) -> Trace:
    """A recorded run of an experiment."""
    return load_trace((FOLDER / f"{experiment}-{name}.json.gz").read_bytes())


@lru_cache(maxsize=16)
def recorded_values(experiment: str) -> Any:
    """What an experiment computed of its recorded runs."""
    return json.loads(gzip.decompress((FOLDER / f"{experiment}.json.gz").read_bytes()))


def made(model: Model, spec: RunSpec) -> Trace:
    """The run of a spec, without its timings, which mean nothing elsewhere."""
    from engine.decoding.decoder import Decoder

    run = Decoder(model, spec)
    for _ in run.run():
        pass
    return replace(run.trace, steps=tuple(replace(step, seconds={}) for step in run.trace.steps))


def _record(name: str, model: Model) -> None:
    module = import_module(f"pages._lessons.experiments.{name}")
    runs: Mapping[str, RunSpec] = module.RUNS
    traces = {run: made(model, spec) for run, spec in runs.items()}
    FOLDER.mkdir(exist_ok=True)
    for run, trace in traces.items():
        (FOLDER / f"{name}-{run}.json.gz").write_bytes(save_trace(trace))
        print(f"{name}, {run}: {len(trace.steps)} steps, {trace.passes} passes, {trace.finish}, {trace.text!r}")
    values = json.dumps(module.computed(model, traces), separators=(",", ":"))
    (FOLDER / f"{name}.json.gz").write_bytes(gzip.compress(values.encode(), mtime=0))


def main(names: list[str]) -> int:
    """Records the named experiments again."""
    from engine.model import load_model

    model = load_model(device="cpu")  # in float32: what every machine can do again
    for name in names:
        _record(name, model)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
