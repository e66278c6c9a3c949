"""What one step comes to, in a sentence and four figures. Plain text only, so that token and schema text stay text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.decoding.records import Step
from visualizations.component import register
from visualizations.tokens import argmax_text, percent, prose, token_text, visible

_facts = register("facts")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the sentence; `kind` "token" and "place" are set as code."""

    text: str
    kind: Literal["text", "token", "masked", "place"] = "text"


def facts(step: Step, *, vocabulary_size: int, running_cost: float, constrained: bool, key: str) -> None:
    """Draws the sentence and the figures of `step`; `running_cost` is the sum of -ln Z up to and with it, in nats."""
    _facts(
        key=key,
        data={
            "sentence": [{"text": p.text, "kind": p.kind} for p in sentence(step, constrained)],
            "masked": step.argmax_masked,
            "figures": [
                {"label": "Allowed tokens", "value": f"{step.allowed_count:,}", "note": f"of {vocabulary_size:,}"},
                {"label": "Allowed mass Z", "value": percent(step.z), "note": f"−ln Z {abs(step.cost):.2f} nats"},
                {"label": "Running −ln Z", "value": f"{abs(running_cost):.2f}", "note": "nats so far"},
                {
                    "label": "Token taken",
                    "value": percent(step.renormalised),
                    "note": f"model gave {percent(step.raw)}, rank {step.rank + 1}",
                },
            ],
        },
    )


def sentence(step: Step, constrained: bool) -> list[Part]:
    """What the model wanted, what the mask made of it, what was taken."""
    return [*_choice(step, constrained), *_features(step)]


def _features(step: Step) -> list[Part]:
    """What healing, the policy and the token limit had to do with it."""
    parts = []
    if step.owed:
        parts += [Part(" Still to be spelled of the prompt: "), Part(visible(step.owed), "token"), Part(".")]
    if step.narrowed:
        parts += [Part(f" The policy or the limit took away {step.narrowed:,} tokens that the mask allows.")]
    if step.fallback:
        parts += [Part(" The policy would have left nothing and was put aside here.")]
    if step.to_end is not None:
        bound = "" if step.to_end_exact else "at most "
        parts += [Part(f" To the shortest end: {bound}{step.to_end} tokens.")]
    return parts


def _choice(step: Step, constrained: bool) -> list[Part]:
    taken = token_text(step.token, step.token_id, step.end)
    wanted = argmax_text(step)
    if not constrained and not step.owed:
        return [Part("No constraint: the model is free, and took "), Part(taken, "token")]
    if step.argmax_masked:
        parts = [Part("The model's first choice, "), Part(wanted, "masked"), Part(", is masked")]
        if step.argmax_origins:
            parts += [Part(" by "), Part(prose(str(step.argmax_origins[0])), "place")]
        return [*parts, Part(f". {_HOW[step.kind]} "), Part(taken, "token"), Part(".")]
    if step.kind == "forced":
        return [Part("Only "), Part(taken, "token"), Part(" is allowed here: the mask decides, not the model.")]
    if step.kind == "chosen":
        return [Part("You took "), Part(taken, "token"), Part(" by hand.")]
    if step.kind == "jumped":
        return [Part("Forced: "), Part(taken, "token"), Part(" was written without asking the model.")]
    if step.token_id == step.argmax_id:
        return [Part("The model's first choice, "), Part(taken, "token"), Part(", is allowed, and was taken.")]
    return [
        Part("The model's first choice, "),
        Part(wanted, "token"),
        Part(", is allowed; the draw took "),
        Part(taken, "token"),
        Part("."),
    ]


_HOW = {
    "sampled": "Taken instead:",
    "forced": "The only token allowed is",
    "chosen": "You took",
    "healed": "Taken instead, to spell the prompt's end again:",
    "jumped": "The constraint forces",
}
