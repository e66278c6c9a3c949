"""Jump-forward on a real model: passes, seconds and texts, beside plain masked decoding in the same run.

`python -m benchmarks.jump_forward [--schemas N]`: all examples, then N schemas of MaskBench (by $MASKSCOPE_CORPORA).
"""

from __future__ import annotations

import gzip
import json
import os
import random
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from engine import ConstraintError
from engine.decoding.decoder import Decoder
from engine.decoding.records import ConstraintSource, RunSpec, Trace
from engine.examples import EXAMPLES
from engine.model import load_model
from engine.model.model import Model

CORPORA = Path(os.environ.get("MASKSCOPE_CORPORA", Path(__file__).parents[2] / "shared" / "corpora"))
LIMIT = 64
PROMPT = "Write one JSON value that fits this JSON Schema, with realistic values:\n"


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schemas", type=int, default=0, help="schemas of MaskBench beside the examples")
    options = parser.parse_args()
    model = load_model()
    same = tokens = passes = 0
    seconds = [0.0, 0.0]
    compared = 0
    for name, spec in [*examples(), *schemas(options.schemas)]:
        try:
            plain, plain_seconds = timed(model, spec)
            jumped, jumped_seconds = timed(model, replace(spec, jump_forward="safe"))
        except ConstraintError as error:
            print(f"{name}: {error}")
            continue
        compared += 1
        same += plain.text == jumped.text
        tokens, passes = tokens + len(jumped.steps), passes + jumped.passes
        seconds = [seconds[0] + plain_seconds, seconds[1] + jumped_seconds]
        print(
            f"{name:32.32} {len(plain.steps):4} -> {len(jumped.steps):4} tokens in {jumped.passes:4} passes, "
            f"{plain_seconds:6.2f} -> {jumped_seconds:6.2f} s, {difference(plain, jumped)}",
            flush=True,
        )
    print(
        f"{compared} runs: {tokens} tokens in {passes} passes ({tokens / passes:.2f} a pass), "
        f"{seconds[0]:.1f} s plain, {seconds[1]:.1f} s with jumps (ratio {seconds[0] / seconds[1]:.2f}); "
        f"{same} of {compared} texts equal plain masked greedy"
    )


def examples() -> Iterator[tuple[str, RunSpec]]:
    for entry in EXAMPLES:
        spec = entry.spec()
        if spec.constraint is not None and spec.sampler.temperature == 0:
            yield entry.name, replace(spec, max_tokens=min(spec.max_tokens, LIMIT))


def schemas(count: int) -> Iterator[tuple[str, RunSpec]]:
    if not count:
        return
    with gzip.open(CORPORA / "maskbench_dev.jsonl.gz", "rt") as lines:
        rows = [row for row in map(json.loads, lines) if len(json.dumps(row["schema"])) < 2000]
    for row in random.Random(0).sample(rows, count):
        text = json.dumps(row["schema"])
        yield row["id"], RunSpec(PROMPT + text, ConstraintSource("json_schema", text), max_tokens=LIMIT)


def timed(model: Model, spec: RunSpec) -> tuple[Trace, float]:
    """A run and the seconds after its prompt was read."""
    run = Decoder(model, spec)
    run.step()
    started = perf_counter()
    for _ in run.run():
        pass
    return run.trace, perf_counter() - started


def difference(plain: Trace, jumped: Trace) -> str:
    """Where two texts part, if they do."""
    if plain.text == jumped.text:
        return "same text"
    at = next((n for n, (one, other) in enumerate(zip(plain.text, jumped.text, strict=False)) if one != other), 0)
    return f"parts at byte {at}: {plain.text[at : at + 12]!r}, jumped {jumped.text[at : at + 12]!r}"


if __name__ == "__main__":
    main()
