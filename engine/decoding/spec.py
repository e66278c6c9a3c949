"""Run specs as plain JSON values, for traces and links, and the digest that names a run.

What comes from outside is checked field by field: a link is typed by anyone.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any, get_args

from engine.decoding.errors import SpecError
from engine.decoding.records import ConstraintSource, Healing, JumpForward, Policy, RunSpec, Sampler, SourceKind

MAX_TOKENS = 100_000
MAX_TOP_K = 10_000_000
MAX_SEED = 2**53 - 1
"""The largest integer that JSON readers agree on."""

MAX_TEMPERATURE = 100.0


def spec_to_dict(spec: RunSpec) -> dict[str, Any]:
    """The spec as JSON values; `spec_from_dict` gives it back."""
    source, sampler = spec.constraint, spec.sampler
    return {
        "prompt": spec.prompt,
        "constraint": source
        and {
            "kind": source.kind,
            "text": source.text,
            "options": dict(source.options),
            "after": source.after,
            "free_after": source.free_after,
        },
        "chat_template": spec.chat_template,
        "sampler": {
            "temperature": float(sampler.temperature),
            "top_k": sampler.top_k,
            "top_p": float(sampler.top_p),
            "seed": sampler.seed,
            "min_p": float(sampler.min_p),
        },
        "max_tokens": spec.max_tokens,
        "policy": spec.policy,
        "choices": [list(choice) for choice in spec.choices],
        "model": spec.model,
        "healing": spec.healing,
        "jump_forward": spec.jump_forward,
        "close_in_time": spec.close_in_time,
    }


def spec_from_dict(value: Any) -> RunSpec:
    """The spec that a JSON value describes. Raises SpecError naming the field that is wrong."""
    fields = _object(value, "the run", spec_to_dict(RunSpec(prompt="")).keys())
    return RunSpec(
        prompt=_text(fields["prompt"], "prompt"),
        constraint=None if fields["constraint"] is None else _constraint(fields["constraint"]),
        chat_template=_flag(fields["chat_template"], "chat_template"),
        sampler=_sampler(fields["sampler"]),
        max_tokens=_integer(fields["max_tokens"], "max_tokens", 1, MAX_TOKENS),
        policy=_one_of(fields["policy"], "policy", get_args(Policy)),
        choices=_choices(fields["choices"]),
        model=_text(fields["model"], "model"),
        healing=_healing(fields["healing"]),
        jump_forward=_one_of(fields["jump_forward"], "jump_forward", get_args(JumpForward)),
        close_in_time=_flag(fields["close_in_time"], "close_in_time"),
    )


def branched(spec: RunSpec, index: int, token_id: int) -> RunSpec:
    """The run that equals that of `spec` before step `index` and takes `token_id` there."""
    kept = tuple(choice for choice in spec.choices if choice[0] < index)
    return replace(spec, choices=(*kept, (index, token_id)))


def run_id(spec: RunSpec) -> str:
    """A short digest of everything the run depends on."""
    canonical = json.dumps(spec_to_dict(spec), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def _constraint(value: Any) -> ConstraintSource:
    fields = _object(value, "constraint", ("kind", "text", "options", "after", "free_after"))
    kind, options = _one_of(fields["kind"], "constraint.kind", get_args(SourceKind)), fields["options"]
    if not isinstance(options, dict):
        raise SpecError("constraint.options must be an object.")
    pairs = ((_text(key, "an option"), _text(option, f"option {key}")) for key, option in options.items())
    return ConstraintSource(
        kind=kind,
        text=_text(fields["text"], "constraint.text"),
        options=tuple(pairs),
        after=_text(fields["after"], "constraint.after"),
        free_after=_flag(fields["free_after"], "constraint.free_after"),
    )


def _sampler(value: Any) -> Sampler:
    fields = _object(value, "sampler", ("temperature", "top_k", "top_p", "seed", "min_p"))
    top_p = _number(fields["top_p"], "sampler.top_p", 0.0, 1.0)
    if top_p == 0:
        raise SpecError("sampler.top_p must be above 0.")
    return Sampler(
        temperature=_number(fields["temperature"], "sampler.temperature", 0.0, MAX_TEMPERATURE),
        top_k=_integer(fields["top_k"], "sampler.top_k", 0, MAX_TOP_K),
        top_p=top_p,
        seed=_integer(fields["seed"], "sampler.seed", 0, MAX_SEED),
        min_p=_number(fields["min_p"], "sampler.min_p", 0.0, 1.0),
    )


def _healing(value: Any) -> Healing:
    return "auto" if value == "auto" else _integer(value, "healing (if not 'auto')", 0, MAX_TOKENS)


def _one_of(value: Any, name: str, known: tuple[Any, ...]) -> Any:
    if not isinstance(value, str) or value not in known:
        raise SpecError(f"{name} must be one of {', '.join(known)}, not {value!r:.40}.")
    return value


def _choices(value: Any) -> tuple[tuple[int, int], ...]:
    if not isinstance(value, list):
        raise SpecError("choices must be a list.")
    choices = []
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2:
            raise SpecError("Each of choices must be a pair of step and token id.")
        choices.append((_integer(pair[0], "a step", 0, MAX_TOKENS), _integer(pair[1], "a token id", 0, 2**31 - 1)))
    steps = [step for step, _ in choices]
    if steps != sorted(set(steps)):
        raise SpecError("choices must be in the order of their steps, one for each.")
    return tuple(choices)


def _object(value: Any, name: str, keys: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SpecError(f"{name} must be an object.")
    if missing := set(keys) - value.keys():
        raise SpecError(f"{name} lacks {min(missing)}.")
    if unknown := value.keys() - set(keys):
        raise SpecError(f"{name} has an unknown field {min(unknown)!r:.40}.")
    return value


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise SpecError(f"{name} must be a string.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SpecError(f"{name} holds half a character (a lone surrogate).") from None
    return value


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise SpecError(f"{name} must be true or false.")
    return value


def _integer(value: Any, name: str, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise SpecError(f"{name} must be a whole number from {low} to {high}.")
    return value


def _number(value: Any, name: str, low: float, high: float) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not low <= value <= high:
        raise SpecError(f"{name} must be a number from {low:g} to {high:g}.")
    return float(value)
