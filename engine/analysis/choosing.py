"""Which method when: the decision rule, as a function of what is at hand and what is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Where = Literal["a model of one's own", "a provider that takes a schema", "a provider that takes no more than a bias"]


@dataclass(frozen=True, slots=True)
class Advice:
    """A method of `METHODS`, and why."""

    method: str
    why: str


def advice(where: Where, *, certain: bool, thought: bool, simple: bool) -> Advice:
    """What to use. `certain`: an answer without the form does harm; `thought`: the answer needs working out; `simple`:
    the form is one choice of a few words, so that a ban on all other tokens is enough."""
    if where == "a provider that takes no more than a bias":
        if simple:
            return Advice(
                "logit bias, as a ban", "for one token out of a few, a bias is all that a mask is: there is one state"
            )
        why = "nothing at hand enforces the form: check every answer, and retry only what does nothing before it fails"
        return Advice("prompt with retries", why)
    if thought:
        why = "the answer is worked out in free text, and the mask holds only for what a program reads"
        return Advice("generate, then convert", why)
    if certain:
        return Advice("constrained decoding", "the form is certain, and punctuation that is forced costs no choice")
    return Advice("prompt only", "where a rare failure costs nothing but a check, words are the cheapest")
