"""What masks cost on real schemas, beside the other engines, in one run.

    python -m benchmarks.masks [--schemas 300] [--engines maskscope,llguidance] [--vocabulary tekken]

Every engine sits in a process of its own with one thread and gets the same random sample of MaskBench schemas with the
same tokens of their instances, three times: *cold*, every cache that a schema has filled is emptied before the next;
*new*, nothing is emptied any more, and each schema is new beside those before it; *warm*, all of them again. A schema
that takes more than 20 s ends the process, counts as a timeout and is not asked again. Verdicts stand beside the times:
a fast mask that is wrong is worth nothing. Where an engine takes tokens for other bytes than the vocabulary does, that
is said. Peers that are not installed are left out; `requirements-peers.txt` has them, and the package of the larger
vocabulary.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import selectors
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.vocabularies import tokenizer as named_tokenizer
from benchmarks.peers.worker import ENGINES

PASSES = ("cold", "new", "warm")
TIMEOUT = 20.0
START = 180.0
"""Seconds an engine may take to get ready for a vocabulary."""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass
class Figures:
    """What one pass of one engine came to; times in seconds."""

    first: list[float] = field(default_factory=list)
    masks: list[float] = field(default_factory=list)
    advances: list[float] = field(default_factory=list)
    refused: int = 0
    failed: int = 0
    timeouts: int = 0
    wrong: int = 0
    peak: float = 0.0
    totals: dict[str, float] = field(default_factory=dict)
    """By schema; of those that the engine took."""

    def add(self, schema: str, reply: dict[str, Any]) -> None:
        self.peak = max(self.peak, reply["peak"])
        self.refused += reply["end"] == "refused"
        self.failed += reply["end"] == "failed"
        if reply["end"] != "done":
            return
        self.totals[schema] = reply["first"] + sum(reply["masks"]) + sum(reply["advances"])
        self.first.append(reply["first"])
        self.masks += reply["masks"]
        self.advances += reply["advances"]
        self.wrong += reply["wrong"]


class Process:
    """An engine in a process of its own, started again where a schema was too much for it.

    `engine`: its name. `differences`: what it takes for another token than the vocabulary does, in words. `start_mb`:
    its memory, ready for the vocabulary.
    """

    engine: str
    differences: str
    start_mb: float

    def __init__(self, engine: str, vocabulary: str) -> None:
        self.engine = engine
        self._command = [sys.executable, "-m", "benchmarks.peers.worker", engine, vocabulary]
        self._start()

    def ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The worker's reply, None if it took too long or died."""
        assert self._worker.stdin is not None
        self._worker.stdin.write(json.dumps(request).encode() + b"\n")
        self._worker.stdin.flush()
        reply = self._line(TIMEOUT)
        if reply is None:
            self.close()
            self._start()
        return reply

    def close(self) -> None:
        self._worker.kill()
        self._worker.wait()

    def _start(self) -> None:
        self._worker = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **ONE_THREAD}
        )
        ready = self._line(START)
        if ready is None:
            raise SystemExit(f"{self.engine} did not start")
        self.differences, self.start_mb = ready["differences"], ready["peak"]

    def _line(self, seconds: float) -> dict[str, Any] | None:
        assert self._worker.stdout is not None
        with selectors.DefaultSelector() as ready:
            ready.register(self._worker.stdout, selectors.EVENT_READ)
            line = self._worker.stdout.readline() if ready.select(seconds) else b""
        found: dict[str, Any] | None = json.loads(line) if line else None
        return found


def sample(size: int) -> list[dict[str, Any]]:
    """A fixed random sample of schemas with their labelled instances."""
    folder = Path(os.environ.get("MASKSCOPE_CORPORA", "../shared/corpora"))
    with gzip.open(folder / "maskbench_dev.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    return random.Random(7).sample(rows, size)


def requests(rows: list[dict[str, Any]], tokenizer: Any) -> Iterator[dict[str, Any]]:
    """Each schema as text, its instances as token ids."""
    for row in rows:
        texts = [
            {"ids": tokenizer.encode(json.dumps(test["data"], ensure_ascii=False), add_special_tokens=False)}
            | {"valid": test["valid"]}
            for test in row["tests"]
        ]
        yield {"id": row["id"], "schema": json.dumps(row["schema"], ensure_ascii=False), "texts": texts}


def measure(engine: str, vocabulary: str, asked: list[dict[str, Any]]) -> dict[str, Figures]:
    """Every pass by its name."""
    process = Process(engine, vocabulary)
    print(f"{engine}: {process.start_mb:.0f} MB ready. {process.differences}")
    passes = {name: Figures() for name in PASSES}
    endless: set[str] = set()
    for name, figures in passes.items():
        for request in asked:
            reply = None if request["id"] in endless else process.ask({**request, "cold": name == "cold"})
            if reply is None:
                figures.timeouts += 1
                endless.add(request["id"])
            else:
                figures.add(request["id"], reply)
        report(f"{engine} {name}", figures)
    process.close()
    return passes


def percentiles(seconds: list[float], scale: float) -> str:
    if not seconds:
        return "-"
    values = scale * np.array(seconds)
    found = [*np.percentile(values, [50, 90, 99]), values.mean()]
    return " ".join(f"{value:9.3f}" for value in found)


def report(name: str, figures: Figures) -> None:
    each = [mask + advance for mask, advance in zip(figures.masks, figures.advances, strict=True)]
    slowest = 1000 * np.percentile(figures.masks, 99.9) if figures.masks else 0.0
    most = 1000 * max(figures.masks, default=0.0)
    print(
        f"{name:20} first mask ms {percentiles(figures.first, 1e3)}   token us {percentiles(each, 1e6)}   "
        f"mask p99.9 {slowest:7.2f} max {most:8.2f} ms   total {sum(figures.totals.values()):8.2f} s   "
        f"tokens {len(figures.masks):6}  refused {figures.refused:3}  "
        f"failed {figures.failed:3}  timeouts {figures.timeouts:3}  "
        f"wrong {figures.wrong:4}  peak {figures.peak:6.0f} MB",
        flush=True,
    )


def compare(engine: str, ours: dict[str, Figures], theirs: dict[str, Figures]) -> None:
    """The ratio of the total times, over the schemas that both take."""
    for name, mine in ours.items():
        peer = theirs[name]
        both = mine.totals.keys() & peer.totals.keys()
        ratio = sum(mine.totals[schema] for schema in both) / sum(peer.totals[schema] for schema in both)
        print(f"maskscope / {engine}, {name}: {ratio:.2f} over {len(both)} schemas")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Masks on real schemas, beside the other engines.")
    parser.add_argument("--schemas", type=int, default=300)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--vocabulary", default="bundled", help='"bundled", "tekken", or a number: tekken in that size')
    options = parser.parse_args(arguments)
    tokenizer = named_tokenizer(options.vocabulary)
    asked = list(requests(sample(options.schemas), tokenizer))
    tokens = sum(len(text["ids"]) for request in asked for text in request["texts"])
    print(f"{len(asked)} schemas, {tokens} tokens, a vocabulary of {len(tokenizer)}; figures are p50 p90 p99 mean")
    passes: dict[str, dict[str, Figures]] = {}
    for engine in options.engines.split(","):
        if not ENGINES[engine].installed():
            print(f"{engine}: not installed")
            continue
        passes[engine] = measure(engine, options.vocabulary, asked)
    ours = passes.pop("maskscope", None)
    for engine, theirs in passes.items() if ours else ():
        compare(engine, ours, theirs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
