"""A room of visitors on one server: how long a step takes, what is lost, what each visitor costs in memory.

    python -m benchmarks.room [--clients 30] [--seconds 60] [--alone 30] [--monsters 3]

One fresh server on this machine, and visitors who speak Streamlit's websocket protocol as browsers do. Each steps once
a second, on the same run, then on runs of their own; then all run 60 tokens at once, beside the same number one after
the other. All the while some paste sources made to hurt; they begin alone, so that what they take is told apart from
what the others do. A step is timed from the click's message to the message that ends the script run, with the new step
in it. Bars, on 2 quiet cores: 95 % of steps within 1 s, reruns that compute nothing within 100 ms at the median, no
error, no session lost, 8 MB a session, 4 times sooner together.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count, cycle
from pathlib import Path
from typing import IO

import psutil

from benchmarks.monsters import MONSTERS
from benchmarks.visitor import Page, Visitor
from engine.decoding.records import ConstraintSource, RunSpec, Sampler
from engine.examples import EXAMPLES, OPTIONS, example
from engine.model.kv_pool import BOUND
from pages._link import PARAMETER, pack

ROOT = Path(__file__).parents[1]
WARM = Sampler(temperature=0.8, seed=0)
TOKENS = 60
KNOWN = 40  # reruns that compute nothing
BETWEEN = 2.0  # seconds between two monsters of one visitor


@dataclass
class Seen:
    """What happened to a group of visitors: seconds by kind of action, and what went wrong."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    lost: int = 0

    def note(self, kind: str, seconds: float) -> None:
        self.seconds.setdefault(kind, []).append(seconds)

    def leave(self, visitor: Visitor) -> None:
        """Take over what a visitor met."""
        self.lost += visitor.lost
        self.errors += visitor.page.exceptions
        visitor.page.exceptions = []


def at(page: Page) -> tuple[int, int]:
    """The step shown and the number of steps there are."""
    shown = page.widgets["strip"].data
    return shown["current"], len(shown["tokens"])


def ended(page: Page) -> bool:
    """The run has ended, and nobody works on it."""
    return "cancel" not in page.widgets and not page.enabled("to_end") and "restart" in page.widgets


def same(_: int) -> RunSpec:
    """The run that everybody looks at."""
    return replace(example("A tree without end").spec(), sampler=WARM, max_tokens=128)


def different(number: int) -> RunSpec:
    """A run of the visitor's own: the examples in turn, each with a prompt and a text of its own."""
    chosen = EXAMPLES[number % len(EXAMPLES)]
    source = chosen.constraint
    if source is not None and source.kind == "json_schema":
        source = replace(source, text=json.dumps({"$comment": f"visitor {number}", **json.loads(source.text)}))
    return RunSpec(f"{chosen.prompt} This is for visitor {number}.", source, sampler=WARM, max_tokens=128)


def long_run(number: int) -> RunSpec:
    """A run that cannot end before its limit."""
    schema = {"$comment": f"{number}", "type": "object", "properties": {"story": {"type": "string", "minLength": 600}}}
    source = ConstraintSource("json_schema", json.dumps(schema | {"required": ["story"]}), OPTIONS)
    return RunSpec(f"Tell story number {number} as JSON.", source, sampler=WARM, max_tokens=TOKENS)


def query(spec: RunSpec) -> str:
    return f"{PARAMETER}={pack(spec, 0)}"


async def stepping(url: str, spec: RunSpec, seconds: float, delay: float, seen: Seen) -> Visitor:
    """A visitor who steps once a second, and starts the run with another seed when it has ended."""
    visitor = Visitor(url, "step_through", query(spec))
    await asyncio.sleep(delay)
    seen.note("open", await visitor.open())
    until, seeds = time.perf_counter() + seconds, count(1)
    try:
        while (now := time.perf_counter()) < until:
            current, steps = at(visitor.page)
            if visitor.page.enabled("step"):
                kind = "step" if current + 1 == steps else "known step"
                seen.note(kind, await visitor.press("step", lambda page, to=current + 1: at(page)[0] == to))  # type: ignore[misc]
            else:
                visitor.hold("seed", double_value=float(next(seeds)))
                seen.note("start", await visitor.press("start", lambda page: at(page) == (0, 1)))
            await asyncio.sleep(max(0.0, now + 1.0 - time.perf_counter()))
    except (TimeoutError, ConnectionError) as error:
        seen.errors.append(f"{type(error).__name__} {error} at {at(visitor.page)}")
    seen.leave(visitor)
    return visitor


async def hurting(url: str, number: int, seen: Seen) -> None:
    """A visitor who pastes one monster after the other; every third one runs them as well."""
    runs = number % 3 == 2
    key = "json_schema_editor" if runs else "debug_source"
    visitor = Visitor(url, "step_through" if runs else "schema_debugger")
    try:
        await visitor.open()
        order = MONSTERS[number % len(MONSTERS) :] + MONSTERS[: number % len(MONSTERS)]
        for name, text in cycle(order):  # noqa: B007
            field = visitor.page.widgets[key].data
            edit = {"session": field["session"], "version": field["version"], "edit": field["edit"] + 1}
            edit |= {"text": text, "size": len(text), "caret": 0, "clicks": 0}
            seen.note("paste", await visitor.report(key, "edit", edit, lambda page: True))
            if runs and visitor.page.enabled("start"):
                seen.note("start", await visitor.press("start", lambda page: True))
            await asyncio.sleep(BETWEEN)
            seen.leave(visitor)
    except (TimeoutError, ConnectionError) as error:
        seen.errors.append(f"{type(error).__name__} {error} with {name}")
    except asyncio.CancelledError:
        seen.leave(visitor)
        await visitor.close()
        raise


@contextmanager
def running(command: list[str], log: IO[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ended when the block is left."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            print("! the server did not end within 20 s of being asked to")
            process.kill()


@contextmanager
def serving() -> Iterator[tuple[str, psutil.Process]]:
    """A fresh server on a free port."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "serve.py", "--server.port", str(port)]
    url = f"http://localhost:{port}"
    with tempfile.TemporaryFile("w+") as log, running(command, log) as process:
        while process.poll() is None:
            with suppress(OSError), urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
                break
            time.sleep(0.1)
        yield url, psutil.Process(process.pid)
        log.seek(0)
        print(f"The server's log holds {log.read().count('Traceback')} stack traces.")


def megabytes(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / 1e6


def pool_megabytes(process: psutil.Process) -> float:
    """What keys and values take of it: their pool is the one mapping that is as large as its bound."""
    maps = process.memory_maps(grouped=False)
    return sum(m.rss for m in maps if 0.9 * BOUND < m.size < 1.1 * BOUND) / 1e6


def print_seconds(kind: str, seconds: list[float]) -> None:
    ordered = sorted(seconds)
    p50, p95, p99 = (1000 * ordered[min(len(ordered) - 1, int(part * len(ordered)))] for part in (0.5, 0.95, 0.99))
    print(f"  {kind:12} {len(ordered):6,} times: p50 {p50:.0f}, p95 {p95:.0f}, p99 {p99:.0f}, ", end="")
    print(f"max {1000 * ordered[-1]:.0f} ms")


def print_seen(title: str, seen: Seen) -> None:
    print(f"{title}: {len(seen.errors)} errors, {seen.lost} sessions lost")
    for kind, seconds in seen.seconds.items():
        print_seconds(kind, seconds)
    for error in sorted(set(seen.errors))[:5]:
        print(f"  ! {error[:300]}")


async def known(visitor: Visitor) -> Seen:
    """Reruns that compute nothing: back, on and the slider, over steps that are there."""
    seen = Seen()
    for turn in range(KNOWN // 2):
        current, steps = at(visitor.page)
        to = (current + 3 + turn) % steps
        seen.note("slider", await visitor.trigger("at", "step", to, lambda page: at(page)[0] == to))  # noqa: B023
        key, to = ("back", to - 1) if (turn % 2 and to) or to == steps - 1 else ("step", to + 1)
        seen.note(key, await visitor.press(key, lambda page: at(page)[0] == to))  # noqa: B023
    seen.leave(visitor)
    return seen


async def together(url: str, process: psutil.Process, arguments: argparse.Namespace, own: bool) -> None:
    """All step at once, on the same run or each on one of their own."""
    seen, clients = Seen(), arguments.clients
    before, pool, cpu = megabytes(process), pool_megabytes(process), sum(process.cpu_times()[:2])
    specs = [different(number) if own else same(number) for number in range(clients)]
    tasks = [stepping(url, spec, arguments.seconds, i / clients, seen) for i, spec in enumerate(specs)]
    visitors = await asyncio.gather(*tasks)
    spent = sum(process.cpu_times()[:2]) - cpu
    print_seen(f"{clients} visitors, {'different runs' if own else 'the same run'}, {arguments.seconds:g} s", seen)
    steps = sum(at(visitor.page)[1] for visitor in visitors)
    pooled = (pool_megabytes(process) - pool) / clients
    grown = (megabytes(process) - before) / clients - pooled
    print(f"  server: {spent:.0f} s of CPU; {before:.0f} MB before, {grown:.1f} MB more a session", end="")
    print(f" and {pooled:.1f} MB of keys and values ({steps} steps on screen)")
    for visitor in visitors:
        await visitor.close()


async def to_end(url: str, clients: int, alone: int) -> None:
    """As many long runs at once as there are visitors, then `alone` of them one after the other."""
    numbers = count()

    async def prepared() -> Visitor:
        visitor = Visitor(url, "step_through", query(long_run(next(numbers))))
        await visitor.open()
        return visitor

    seen = Seen()
    visitors = [await prepared() for _ in range(clients)]
    started = time.perf_counter()
    pressed = (visitor.press("to_end", ended) for visitor in visitors)
    for result in await asyncio.gather(*pressed, return_exceptions=True):
        if isinstance(result, BaseException):
            seen.errors.append(f"{type(result).__name__} {result}")
        else:
            seen.note("run to end", result)
    at_once = time.perf_counter() - started
    lengths = sorted({at(visitor.page)[1] for visitor in visitors})
    for visitor in visitors:
        seen.leave(visitor)
        await visitor.close()
    after_another = 0.0
    for _ in range(alone):
        visitor = await prepared()
        after_another += await visitor.press("to_end", ended)
        await visitor.close()
    print_seen(f"{clients} runs of {lengths} tokens at once", seen)
    scaled = after_another * clients / alone
    print(f"  at once {at_once:.1f} s; one after the other {scaled:.1f} s", end="")
    print(f" (measured: {alone}): {scaled / at_once:.1f} times sooner (bar 4)")


async def measured(url: str, process: psutil.Process, arguments: argparse.Namespace) -> None:
    visitor = Visitor(url, "step_through")
    print(f"first page {await visitor.open():.1f} s")
    await visitor.until(lambda page: page.enabled("start"))
    await visitor.press("start", lambda page: at(page) == (0, 1))
    await visitor.press("to_end", ended)
    print(f"server with its model and one visitor: {megabytes(process):.0f} MB")
    print_seen("One visitor, nothing computed (bar 100 ms)", await known(visitor))
    await visitor.close()
    hurt = Seen()
    monsters = [asyncio.create_task(hurting(url, number, hurt)) for number in range(arguments.monsters)]
    if monsters:
        before = megabytes(process)
        await asyncio.sleep(arguments.seconds)
        grown = megabytes(process) - before
        print(f"{len(monsters)} who paste monsters, alone for {arguments.seconds:g} s: {grown:.0f} MB more", flush=True)
    phases: list[Coroutine[object, object, None]] = [
        together(url, process, arguments, own=False),
        together(url, process, arguments, own=True),
        to_end(url, arguments.clients, arguments.alone),
    ]
    for phase in phases:
        await phase
        print(f"  load {os.getloadavg()[0]:.1f}", flush=True)
    for monster in monsters:
        monster.cancel()
    await asyncio.gather(*monsters, return_exceptions=True)
    print_seen(f"The {arguments.monsters} who paste monsters", hurt)


def main() -> None:
    parser = argparse.ArgumentParser(description="A room of visitors on one server.")
    parser.add_argument("--clients", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--alone", type=int, default=30, help="runs measured one after the other")
    parser.add_argument("--monsters", type=int, default=3, help="visitors who paste sources made to hurt")
    arguments = parser.parse_args()
    with serving() as (url, process):
        asyncio.run(measured(url, process, arguments))


if __name__ == "__main__":
    main()
