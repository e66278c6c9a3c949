"""One engine in a process of its own: a schema with its texts on a line of stdin, its figures on a line of stdout."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from engine.vocabulary import Vocabulary

from .base import Engine, Refused
from .vocabularies import tokenizer as named_tokenizer


@dataclass(frozen=True, slots=True)
class Peer:
    """An engine by the module that must be installed for it."""

    module: str
    start: Callable[[Any, Vocabulary], Engine]

    def installed(self) -> bool:
        return find_spec(self.module) is not None


def maskscope(tokenizer: Any, vocabulary: Vocabulary) -> Engine:
    from .maskscope import Maskscope

    return Maskscope(vocabulary)


def llguidance(tokenizer: Any, vocabulary: Vocabulary) -> Engine:
    from .llguidance import LLGuidance

    return LLGuidance(tokenizer, vocabulary.size)


def xgrammar(tokenizer: Any, vocabulary: Vocabulary, lazy: bool = False) -> Engine:
    from .xgrammar import XGrammar

    return XGrammar(tokenizer, vocabulary.size, lazy)


def outlines_core(tokenizer: Any, vocabulary: Vocabulary) -> Engine:
    from .outlines_core import OutlinesCore

    return OutlinesCore(list(vocabulary.tokens), tokenizer.eos_token_id)


def lmfe(tokenizer: Any, vocabulary: Vocabulary) -> Engine:
    from .lmfe import LMFormatEnforcer

    return LMFormatEnforcer(tokenizer, list(vocabulary.tokens), tokenizer.eos_token_id)


ENGINES = {
    "maskscope": Peer("engine", maskscope),
    "llguidance": Peer("llguidance", llguidance),
    "xgrammar": Peer("xgrammar", xgrammar),
    "xgrammar-lazy": Peer("xgrammar", partial(xgrammar, lazy=True)),
    "outlines-core": Peer("outlines_core", outlines_core),
    "lmfe": Peer("lmformatenforcer", lmfe),
}

SIMPLE = json.dumps({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})


def measure(engine: Engine, schema: str, texts: list[dict[str, Any]]) -> dict[str, Any]:
    """Times in seconds: of the first mask, and of each mask and each token taken after it."""
    started = perf_counter()
    try:
        compiled = engine.compile(schema)
        engine.matcher(compiled).mask()
    except Refused:
        return {"end": "refused", "peak": peak()}
    first = perf_counter() - started
    masks: list[float] = []
    advances: list[float] = []
    wrong = 0
    for text in texts:
        verdict = follow(engine.matcher(compiled), text["ids"], masks, advances)
        wrong += verdict != text["valid"]
    return {"end": "done", "first": first, "masks": masks, "advances": advances, "wrong": wrong, "peak": peak()}


def follow(matcher: Any, ids: list[int], masks: list[float], advances: list[float]) -> bool:
    """Whether the text is accepted; it is followed as far as the masks allow it."""
    for token_id in ids:
        began = perf_counter()
        matcher.mask()
        masks.append(perf_counter() - began)
        if not matcher.allows(token_id):
            advances.append(0.0)
            return False
        began = perf_counter()
        matcher.advance(token_id)
        advances.append(perf_counter() - began)
    return bool(matcher.complete())


def peak() -> float:
    """Most memory that this process has held since `forget_peak`, in MB (Linux; getrusage tells the parent's too)."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def forget_peak() -> None:
    """What loading a vocabulary took for a moment is not the engine's."""
    Path("/proc/self/clear_refs").write_text("5")


def differences(engine: Engine, vocabulary: Vocabulary) -> str:
    """What the engine takes for another token than the vocabulary does, in words; empty where nothing."""
    spelled, ends = engine.spelled()
    others = [pair for pair in zip(spelled, vocabulary.tokens, strict=True) if pair[0] != pair[1]]
    controls = sum(not token for _, token in others)
    found = [f"{len(others) - controls} tokens spell other bytes"] if len(others) > controls else []
    found += [f"{controls} control tokens are text"] if controls else []
    found += [] if ends == vocabulary.end_ids else [f"other end tokens: {sorted(ends)}"]
    return ", ".join(found)


def main(name: str, vocabulary_name: str) -> None:
    tokenizer = named_tokenizer(vocabulary_name)
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    engine = ENGINES[name].start(tokenizer, vocabulary)
    matcher = engine.matcher(engine.compile(SIMPLE))
    matcher.mask()  # compiled code is warm, as it is in a server
    matcher.advance(tokenizer.encode("{", add_special_tokens=False)[0])
    different = differences(engine, vocabulary)
    gc.collect()
    forget_peak()
    print(json.dumps({"differences": different, "peak": peak()}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if request["cold"]:
            engine.forget()
        try:
            reply = measure(engine, request["schema"], request["texts"])
        except Exception as error:
            print(f"{name}, {request['id']}: {type(error).__name__}: {error}", file=sys.stderr)
            reply = {"end": "failed", "peak": peak()}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
