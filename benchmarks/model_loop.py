"""The model's forward passes and the loop around them, all in one run of this program.

    python -m benchmarks.model_loop [PART ...]

tokens: one session, free and constrained, without and with jumps. Bars: constrained at least 0.98 of free without
jumps, above 1.3 with them on the examples that are templates. step: where the time of a constrained step goes. rows:
passes of 1 to 32 texts, and what they save. forms: the compiled pass beside the library's network as it is, with int8
weights, in bfloat16 and through torch.compile, each with the share of greedy texts that stay the same. together: 30
runs of 60 tokens at once and one after the other; bar 4 times sooner.
"""

from __future__ import annotations

import argparse
import copy
import os
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from statistics import mean, median
from typing import Any

import numpy as np

from engine.decoding.decoder import Decoder
from engine.decoding.records import RunSpec, Sampler, Step
from engine.examples import example
from engine.grammar.sources import compile_source
from engine.masking import Masker
from engine.model import load_model
from engine.model.model import Model

TEMPLATES = ("Person record", "Against the model's wish", "Family tree", "A tree without end", "One of two shapes",
             "Date and phone patterns")  # fmt: skip
ROWS = (1, 2, 4, 8, 16, 32)
READ = 60  # tokens before the one that is timed
REPEATS = 5
GREEDY_TOKENS = 32
RUNS, TOKENS = 30, 60
ALONE = 6  # runs one after the other that are timed; all take the same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help="tokens, step, rows, forms, together (default: all)")
    parser.add_argument("--compile", action="store_true", help="torch.compile among the forms; it compiles for minutes")
    options = parser.parse_args()
    parts: dict[str, Callable[[Model], None]] = {
        "tokens": tokens,
        "step": step,
        "rows": rows,
        "forms": partial(forms, compiled=options.compile),
        "together": together,
    }
    if unknown := set(options.parts) - set(parts):
        parser.error(f"there is no part {unknown.pop()}")
    model = load_model(device="cpu")
    warnings.simplefilter("ignore")  # what the library plans to rename, and what torch does to quantisation
    for name in options.parts or parts:
        print(f"\n{name} (load of the machine: {os.getloadavg()[0]:.1f})", flush=True)
        parts[name](model)


# --- one session


def tokens(model: Model) -> None:
    """Tokens a second of whole runs, their prompts read before."""
    print(f"{'example':24} {'free':>8} {'constrained':>12} {'ratio':>6} {'jumps':>8} {'ratio':>6}  tokens a second")
    plain_ratios, jump_ratios = [], []
    for name in TEMPLATES:
        spec, masker = prepared(name, model)
        specs = (replace(spec, constraint=None), spec, replace(spec, jump_forward="safe"))
        seconds: list[list[float]] = [[], [], []]
        for _ in range(REPEATS):  # in turn, so that all meet the same load
            for one, found in zip(specs, seconds, strict=True):
                found.append(seconds_a_token(model, one, masker if one.constraint else None))
        free, plain, jumps = map(min, seconds)
        plain_ratios.append(free / plain)
        jump_ratios.append(free / jumps)
        print(f"{name:24} {1 / free:8.1f} {1 / plain:12.1f} {free / plain:6.2f} {1 / jumps:8.1f} {free / jumps:6.2f}")
    print(f"{'mean':24} {'':8} {'':12} {mean(plain_ratios):6.2f} {'':8} {mean(jump_ratios):6.2f}")


def seconds_a_token(model: Model, spec: RunSpec, masker: Masker | None) -> float:
    """Of a run whose prompt has been read, records and all."""
    run = Decoder(model, spec, masker and masker.constraint, masker)
    run._forward.logits(())
    began = time.perf_counter()
    made = len(list(run.run()))
    return (time.perf_counter() - began) / made


def step(model: Model) -> None:
    """Milliseconds of a step: the pass with the hand-over to its thread, the mask, the draw, the rest (its record)."""
    passes = passes_of(model)
    print(f"a pass of one token by itself: {1000 * passes:.2f} ms")
    for name in ("Person record", "A tree without end"):
        spec, masker = prepared(name, model)
        walls, steps = [], list[Step]()
        for _ in range(REPEATS):
            run = Decoder(model, spec, masker.constraint, masker)
            run.step()
            while True:
                began = time.perf_counter()
                if (made := run.step()) is None:
                    break
                walls.append(time.perf_counter() - began)
                steps.append(made)
        phases = {
            phase: median(each.seconds.get(phase, 0.0) for each in steps) for phase in ("forward", "mask", "sample")
        }
        phases["rest"] = median(walls) - sum(phases.values())
        shown = ", ".join(f"{phase} {1000 * spent:.2f}" for phase, spent in phases.items())
        print(f"{name:24} {1000 * median(walls):.2f} ms: {shown}")


def passes_of(model: Model) -> float:
    from engine.model.runner import Part

    return least(lambda: model._network.read([Part([5], READ, 1, list(range(READ // 32 + 1)))]))


def prepared(name: str, model: Model) -> tuple[RunSpec, Masker]:
    """An example's spec, and its masks, made by a run before."""
    spec = example(name).spec()
    assert spec.constraint is not None
    masker = Masker(compile_source(spec.constraint), model.vocabulary)
    for jumps in ("off", "safe"):
        list(Decoder(model, replace(spec, jump_forward=jumps), masker.constraint, masker).run())
    return spec, masker


# --- many texts


def rows(model: Model) -> None:
    """One token of each of many texts in one pass, beside as many passes one after the other."""
    text = model.encode("Write a JSON object about a cat that sleeps all day and hunts all night.", True)
    begun = model.new_cache()
    model.extend(begun, (text * 3)[:READ], keep=1)
    alone = 0.0
    for count in ROWS:
        read = [[token] for token in range(100, 100 + count)]
        spent = least(lambda read=read: model.read_many(begun, read))
        alone = alone or spent
        print(f"{count:2} texts: {1000 * spent:7.1f} ms a pass, {count * alone / spent:5.2f} times one after the other")


def together(model: Model) -> None:
    """Runs of 60 tokens, each with its own seed, at once and one after the other."""
    prompts = ("Tell me about the sea.", "Write a story of a fox.", "How is bread made?")
    specs = [
        RunSpec(prompts[number % 3], None, sampler=Sampler(temperature=0.8, seed=number), max_tokens=TOKENS)
        for number in range(RUNS)
    ]
    made: list[int] = []

    def go(spec: RunSpec) -> None:
        made.append(len(list(Decoder(model, spec).run())))

    began = time.perf_counter()
    for spec in specs[:ALONE]:
        go(spec)
    alone = (time.perf_counter() - began) / sum(made)
    made.clear()
    threads = [threading.Thread(target=go, args=(spec,)) for spec in specs]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = time.perf_counter() - began
    print(
        f"{RUNS} runs, {sum(made)} tokens: {spent:.2f} s at once, {sum(made) * alone:.2f} s one after the other "
        f"({sum(made) * alone / spent:.2f} times); {1000 * alone:.1f} ms a token alone"
    )


# --- other forms of the network


def forms(model: Model, compiled: bool) -> None:
    """A token, a batch and a prompt, in each form and with one and two threads; greedy texts against float32's."""
    import torch
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(model.path, dtype=torch.float32, local_files_only=True).eval()
    prompts = [model.encode(example(name).prompt, True) for name in TEMPLATES]
    expected = [greedy(library(network), prompt) for prompt in prompts]
    made: dict[str, Callable[[], Any]] = {
        "compiled pass": lambda: None,
        "float32": lambda: network,
        "int8 weights": lambda: torch.ao.quantization.quantize_dynamic(
            copy.deepcopy(network), {torch.nn.Linear}, torch.qint8
        ),
        "bfloat16": lambda: copy.deepcopy(network).to(torch.bfloat16),
    }
    if compiled:
        made["torch.compile"] = lambda: torch.compile(network, dynamic=True)
    print(
        f"{'form':16} {'threads':>7} {'token ms':>9} {'8 texts':>9} {'32 texts':>9} {'prompt of 100':>14}  equal texts"
    )
    for name, make in made.items():
        for threads in (1, 2):
            torch.set_num_threads(threads)
            if name == "compiled pass":
                model._network._cores = threads
                read: Reader = ours(model)
            else:
                try:
                    read = library(make())
                except Exception as error:  # whatever a form meets on this machine is its result
                    print(f"{name:16} {threads:7} not possible here: {str(error).splitlines()[0]:.70}")
                    continue
            try:
                spent = [timed(read, 1, READ), timed(read, 8, READ), timed(read, 32, READ), prefilled(read, 100)]
                same = np.mean([greedy(read, prompt) == text for prompt, text in zip(prompts, expected, strict=True)])
            except Exception as error:
                print(f"{name:16} {threads:7} failed: {str(error).splitlines()[0]:.70}")
                continue
            shown = " ".join(f"{1000 * each:9.1f}" for each in spent[:3])
            print(f"{name:16} {threads:7} {shown} {1000 * spent[3]:14.0f}  {same:.0%}", flush=True)


Reader = Callable[[Any, Sequence[Sequence[int]]], tuple[Any, np.ndarray]]
"""Reads the same number of tokens of several texts after what a state holds (None: nothing): the state after them,
and the last logits (texts, n)."""


def library(network: Any) -> Reader:
    import torch

    def read(state: Any, texts: Sequence[Sequence[int]]) -> tuple[Any, np.ndarray]:
        with torch.inference_mode():
            output = network(torch.tensor(texts), cache=state, use_cache=True, logits_to_keep=1)
        return output.past_key_values, output.logits[:, -1].float().numpy()

    return read


def ours(model: Model) -> Reader:
    from engine.model.kv_pool import Cache
    from engine.model.runner import Reading

    def read(state: Any, texts: Sequence[Sequence[int]]) -> tuple[Any, np.ndarray]:
        caches: list[Cache] = state or [model.new_cache() for _ in texts]
        readings = [
            Reading(cache, [*cache.tokens, *text], cache.length + len(text) - 1)
            for cache, text in zip(caches, texts, strict=True)
        ]
        model._runner.read(readings)
        return caches, np.concatenate([reading.logits[-1] for reading in readings])

    return read


def greedy(read: Reader, prompt: Sequence[int]) -> list[int]:
    state, logits = read(None, [prompt])
    found = [int(logits[0].argmax())]
    while len(found) < GREEDY_TOKENS:
        state, logits = read(state, [[found[-1]]])
        found.append(int(logits[0].argmax()))
    return found


def timed(read: Reader, texts: int, before: int) -> float:
    """Seconds of a pass of one token for each of several texts."""
    state, _ = read(None, [[9 + text] * before for text in range(texts)])
    seconds = []
    for number in range(REPEATS + 2):
        began = time.perf_counter()
        state, _ = read(state, [[number + 5]] * texts)
        seconds.append(time.perf_counter() - began)
    return min(seconds[2:])


def prefilled(read: Reader, count: int) -> float:
    return least(lambda: read(None, [list(range(50, 50 + count))]))


def least(act: Callable[[], object]) -> float:
    """The least seconds of some repeats."""
    seconds = []
    for _ in range(REPEATS + 1):
        began = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - began)
    return min(seconds[1:])


if __name__ == "__main__":
    main()
