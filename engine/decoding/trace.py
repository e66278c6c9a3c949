"""Traces as files: versioned JSON, gzipped; the same trace gives the same bytes.

Bytes are written as Latin-1 text (one character a byte). A file may come from anyone, so its size is bounded before it
is unpacked and every value is checked: what `load_trace` returns can be drawn without further care.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from typing import Any, get_args

from engine.decoding.errors import TraceError
from engine.decoding.records import Candidate, FinishReason, Healed, Step, StepKind, Trace
from engine.decoding.spec import run_id, spec_from_dict, spec_to_dict
from engine.errors import Origin

FORMAT = "maskscope-trace"
VERSION = 2

MAX_PACKED = 16 * 2**20
MAX_UNPACKED = 128 * 2**20

KINDS: dict[str, StepKind] = {kind: kind for kind in get_args(StepKind)}
FINISHES: dict[str, FinishReason] = {reason: reason for reason in get_args(FinishReason)}


def tidy(number: float) -> float:
    """A number to nine significant digits: what a trace keeps. Zeros, as masked tokens have, are one object."""
    return float(f"{number:.9g}") if number else 0.0


def save_trace(trace: Trace) -> bytes:
    """The trace as a file; `load_trace` gives it back."""
    value = {
        "format": FORMAT,
        "version": VERSION,
        "spec": spec_to_dict(trace.spec),
        "run_id": trace.run_id,
        "model": trace.model,
        "vocabulary_size": trace.vocabulary_size,
        "prompt_tokens": _write_tokens(trace.prompt_tokens),
        "steps": [_write_step(step) for step in trace.steps],
        "finish": trace.finish,
        "missing": trace.missing,
        "healed": trace.healed and _write_healed(trace.healed),
    }
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return gzip.compress(text.encode(), mtime=0)


def load_trace(data: bytes) -> Trace:
    """The trace in a file. Raises TraceError if it is damaged, oversized, or of another format or version."""
    value = _unpack(data)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise TraceError("This file is not a Maskscope trace.")
    if value.get("version") != VERSION:
        raise TraceError(
            f"This trace has version {value.get('version')!r:.20}; this Maskscope reads {VERSION}. Make it again."
        )
    try:
        return _read_trace(value)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise TraceError(f"The trace is damaged: {_said(error)}") from error


def _unpack(data: bytes) -> Any:
    if len(data) > MAX_PACKED:
        raise TraceError(f"The trace is larger than {MAX_PACKED >> 20} MiB.")
    unzipper = zlib.decompressobj(wbits=31)
    try:
        text = unzipper.decompress(data, MAX_UNPACKED)
    except zlib.error:
        raise TraceError("This file is not a Maskscope trace, or it is damaged: it cannot be unpacked.") from None
    if unzipper.unconsumed_tail:
        raise TraceError(f"The trace unpacks to more than {MAX_UNPACKED >> 20} MiB.")
    if not unzipper.eof or unzipper.unused_data:
        raise TraceError("The trace is damaged: it is cut short or something follows it.")
    floats: dict[str, float] = {}  # equal numbers are one object: a trace holds thousands of zeros
    integers: dict[str, int] = {}
    try:
        return json.loads(
            text,
            parse_constant=_no_constant,
            parse_float=lambda digits: floats.setdefault(digits, float(digits)),
            parse_int=lambda digits: integers.setdefault(digits, int(digits)),
        )
    except (ValueError, RecursionError):
        raise TraceError("The trace is damaged: what it holds is not JSON.") from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _said(error: Exception) -> str:
    return f"{error} is missing or unknown." if isinstance(error, KeyError) else str(error)


def _read_trace(value: dict[str, Any]) -> Trace:
    spec = spec_from_dict(value["spec"])
    if value["run_id"] != run_id(spec):
        raise ValueError("its run id does not belong to its spec.")
    steps = tuple(_read_step(step) for step in _list(value["steps"]))
    if [step.index for step in steps] != list(range(len(steps))):
        raise ValueError("its steps are not numbered from 0.")
    finish = value["finish"]
    return Trace(
        spec=spec,
        run_id=value["run_id"],
        model=_text(value["model"]),
        vocabulary_size=_integer(value["vocabulary_size"]),
        prompt_tokens=_read_tokens(value["prompt_tokens"]),
        steps=steps,
        finish=None if finish is None else FINISHES[_text(finish)],
        missing=_text(value["missing"]),
        healed=None if value["healed"] is None else _read_healed(value["healed"]),
    )


def _write_healed(healed: Healed) -> dict[str, Any]:
    return {
        "removed": _write_tokens(healed.removed),
        "prefix": _write_bytes(healed.prefix),
        "candidates": [_write_candidate(candidate) for candidate in healed.candidates],
    }


def _read_healed(healed: Any) -> Healed:
    value = _object(healed)
    return Healed(
        removed=_read_tokens(value["removed"]),
        prefix=_bytes(value["prefix"]),
        candidates=tuple(_read_candidate(candidate) for candidate in _list(value["candidates"])),
    )


def _write_step(step: Step) -> dict[str, Any]:
    return {
        "index": step.index,
        "offset": step.offset,
        "token_id": step.token_id,
        "token": _write_bytes(step.token),
        "kind": step.kind,
        "end": step.end,
        "before": step.before,
        "origins": _write_origins(step.origins),
        "candidates": [_write_candidate(candidate) for candidate in step.candidates],
        "allowed_count": step.allowed_count,
        "z": tidy(step.z),
        "cost": tidy(step.cost),
        "raw_entropy": tidy(step.raw_entropy),
        "renormalised_entropy": tidy(step.renormalised_entropy),
        "rank": step.rank,
        "raw": tidy(step.raw),
        "renormalised": tidy(step.renormalised),
        "argmax_id": step.argmax_id,
        "argmax": _write_bytes(step.argmax),
        "argmax_masked": step.argmax_masked,
        "argmax_origins": _write_origins(step.argmax_origins),
        "top2_gap": tidy(step.top2_gap) if math.isfinite(step.top2_gap) else None,
        "draw_distance": tidy(step.draw_distance),
        "owed": _write_bytes(step.owed),
        "narrowed": step.narrowed,
        "fallback": step.fallback,
        "to_end": step.to_end,
        "to_end_exact": step.to_end_exact,
        "seconds": {phase: tidy(seconds) for phase, seconds in step.seconds.items()},
    }


def _read_step(step: Any) -> Step:
    value = _object(step)
    gap = value["top2_gap"]
    return Step(
        index=_integer(value["index"]),
        offset=_integer(value["offset"]),
        token_id=_integer(value["token_id"]),
        token=_bytes(value["token"]),
        kind=KINDS[_text(value["kind"])],
        end=_flag(value["end"]),
        before=_text(value["before"]),
        origins=_origins(value["origins"]),
        candidates=tuple(_read_candidate(candidate) for candidate in _list(value["candidates"])),
        allowed_count=_integer(value["allowed_count"]),
        z=_number(value["z"]),
        cost=_number(value["cost"]),
        raw_entropy=_number(value["raw_entropy"]),
        renormalised_entropy=_number(value["renormalised_entropy"]),
        rank=_integer(value["rank"]),
        raw=_number(value["raw"]),
        renormalised=_number(value["renormalised"]),
        argmax_id=_integer(value["argmax_id"]),
        argmax=_bytes(value["argmax"]),
        argmax_masked=_flag(value["argmax_masked"]),
        argmax_origins=_origins(value["argmax_origins"]),
        top2_gap=math.inf if gap is None else _number(gap),
        draw_distance=_number(value["draw_distance"]),
        owed=_bytes(value["owed"]),
        narrowed=_integer(value["narrowed"]),
        fallback=_flag(value["fallback"]),
        to_end=None if value["to_end"] is None else _integer(value["to_end"]),
        to_end_exact=_flag(value["to_end_exact"]),
        seconds={_text(phase): _number(seconds) for phase, seconds in _object(value["seconds"]).items()},
    )


def _write_candidate(candidate: Candidate) -> list[Any]:
    return [
        candidate.token_id,
        _write_bytes(candidate.token),
        candidate.rank,
        tidy(candidate.raw),
        tidy(candidate.renormalised),
        tidy(candidate.sampling),
        int(candidate.allowed),
        int(candidate.end),
        candidate.name,
    ]


def _read_candidate(value: Any) -> Candidate:
    token_id, token, rank, raw, renormalised, sampling, allowed, end, name = _list(value)
    return Candidate(
        token_id=_integer(token_id),
        token=_bytes(token),
        rank=_integer(rank),
        raw=_number(raw),
        renormalised=_number(renormalised),
        sampling=_number(sampling),
        allowed=bool(_integer(allowed)),
        end=bool(_integer(end)),
        name=_text(name),
    )


def _write_tokens(tokens: tuple[tuple[int, bytes], ...]) -> list[list[Any]]:
    return [[token_id, _write_bytes(token)] for token_id, token in tokens]


def _read_tokens(value: Any) -> tuple[tuple[int, bytes], ...]:
    return tuple((_integer(token_id), _bytes(token)) for token_id, token in _list(value))


def _write_origins(origins: tuple[Origin, ...]) -> list[list[str]]:
    return [[origin.pointer, origin.keyword] for origin in origins]


def _origins(value: Any) -> tuple[Origin, ...]:
    return tuple(Origin(_text(pointer), _text(keyword)) for pointer, keyword in _list(value))


def _write_bytes(data: bytes) -> str:
    return data.decode("latin-1")


def _bytes(value: Any) -> bytes:
    return _text(value).encode("latin-1")


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("an object is expected.")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("a list is expected.")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a string is expected.")
    value.encode()  # a lone surrogate could not be shown
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false is expected.")
    return value


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
        raise TypeError("a whole number is expected.")
    return value


def _number(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        raise TypeError("a number is expected.")
    return float(value)
