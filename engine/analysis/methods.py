"""The same task through each method by which structured output is had: asked for, begun, biased, masked, converted.

Each method is a `Way` to get one answer; what it gives is judged alike, so that the methods stand in one table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from engine.analysis.generation import Asked, Masked
from engine.analysis.trials import Answer, Cancelled, Trial, Wanted
from engine.analysis.two_calls import generate_then_convert
from engine.constraint import Constraint
from engine.decoding.records import ConstraintSource, RunSpec, Sampler
from engine.grammar.sources import compile_source
from engine.masking import Masker

if TYPE_CHECKING:
    from engine.model.model import Model

Available = Literal["yes", "some", "no"]

TRIES = 3
"""Calls of the method that tries again."""

MILD, BAN = 4.0, 100.0
"""Biases, in logits: one that helps along, and the largest that providers take, in effect a ban on all others."""

OPTIONS = (("key_order", "schema"), ("whitespace", "spaced"), ("spelling", "plain"), ("objects", "closed"))

TOOL = """Call the tool "save" with arguments that satisfy this JSON Schema: {schema}
Write <tool_call>, the call as JSON with "name" and "arguments", </tool_call>.

{prompt}"""
"""A tool as a chat template would describe it to the model; templates without tools, like the bundled model's, leave it
to the message."""

TOOL_BEGINS = '<tool_call>\n{"name": "save", "arguments": '
TOOL_ENDS = "</tool_call>"


@dataclass(frozen=True, slots=True)
class Job:
    """What is asked. `begins`: how the answer is begun where a method begins it; `known`: members of the right answer,
    None where it is not known."""

    prompt: str
    schema: str
    begins: str = '{"'
    known: Mapping[str, Any] | None = None
    max_tokens: int = 64

    @property
    def source(self) -> ConstraintSource:
        """The constraint that the mask enforces."""
        return ConstraintSource("json_schema", self.schema, OPTIONS)


@dataclass(frozen=True, slots=True)
class Method:
    """A method. `enforced`: the form is certain (a token limit aside); `where`: whether it is available on a model of
    one's own, at a provider that takes a schema, at one that takes no more than a logit bias."""

    name: str
    does: str
    enforced: bool
    own: Available
    with_schema: Available
    with_bias: Available


METHODS = (
    Method("prompt only", "asks for the form in words", False, "yes", "yes", "yes"),
    Method("prompt with retries", "asks again until the answer has the form", False, "yes", "yes", "yes"),
    Method("prefill", "begins the answer for the model", False, "yes", "some", "some"),
    Method("logit bias, mild", "makes the form's own tokens likelier at every step", False, "yes", "some", "yes"),
    Method("logit bias, as a ban", "leaves only the form's own tokens at every step", False, "yes", "some", "yes"),
    Method("forced tool call", "begins a call of a tool with the arguments", False, "yes", "yes", "no"),
    Method("constrained decoding", "masks what cannot be completed, at every step", True, "yes", "yes", "no"),
    Method("generate, then convert", "answers freely, then copies the answer under the mask", True, "yes", "yes", "no"),
)

Way = Callable[[Sampler, Cancelled], Answer]


def trials(
    model: Model, job: Job, n: int, *, temperature: float = 0.7, seed: int = 0, methods: Iterable[str] = ()
) -> list[Trial]:
    """`n` trials of each method (of those named, where any are), with the seeds from `seed` on. The methods take turns,
    so that whatever else the machine does slows all of them alike.

    Raises ConstraintError if the schema does not compile, ValueError if the answer's beginning can't be spelled.
    """
    wanted = Wanted(job.schema, job.known)
    masker = Masker(compile_source(job.source), model.vocabulary)
    ways = _ways(model, job, masker, wanted)
    chosen = list(methods) or list(ways)
    made = []
    for place in range(n):
        for name in chosen:
            most, way = ways[name]
            sampler = Sampler(temperature=temperature, seed=seed + place)
            made.append(Trial(name, job.prompt, seed + place, most, _asking(way, sampler), wanted.judge))
    return made


def _asking(way: Way, sampler: Sampler) -> Callable[[Cancelled], Answer]:
    return lambda cancelled: way(sampler, cancelled)


def _ways(model: Model, job: Job, masker: Masker, wanted: Wanted) -> dict[str, tuple[int, Way]]:
    """Each method's forward passes at the most, and the method."""
    most = job.max_tokens
    asked, begun = Asked(model, job.prompt), Asked(model, job.prompt, job.begins.encode())
    tool = Asked(
        model, TOOL.replace("{schema}", _compact(job.schema)).replace("{prompt}", job.prompt), TOOL_BEGINS.encode()
    )
    masked = Masked(model, RunSpec(job.prompt, job.source, max_tokens=most), masker)
    tokens = form_tokens(model, job.schema)
    mild = dict.fromkeys(tokens, MILD)
    ban = dict.fromkeys(tokens, BAN)

    def converted(sampler: Sampler, cancelled: Cancelled) -> Answer:
        return convert(model, job.prompt, job.source, masker, sampler, most, cancelled)

    return {
        "prompt only": (most, lambda sampler, stop: asked.answer(sampler, most, cancelled=stop)),
        "prompt with retries": (TRIES * most, lambda sampler, stop: tried(asked, wanted, sampler, most, stop)),
        "prefill": (most, lambda sampler, stop: begun.answer(sampler, most, cancelled=stop)),
        "logit bias, mild": (most, lambda sampler, stop: asked.answer(sampler, most, bias=mild, cancelled=stop)),
        "logit bias, as a ban": (most, lambda sampler, stop: asked.answer(sampler, most, bias=ban, cancelled=stop)),
        "forced tool call": (most, lambda sampler, stop: called(tool, sampler, most, stop)),
        "constrained decoding": (most, masked.answer),
        "generate, then convert": (2 * most, converted),
    }


def tried(asked: Asked, wanted: Wanted, sampler: Sampler, max_tokens: int, cancelled: Cancelled) -> Answer:
    """Ask until the answer satisfies the schema, `TRIES` times at most: the last answer, with the cost of all calls.

    A program that tries again sees the form, not the truth: an answer that is wrong and well formed ends it.
    """
    answers: list[Answer] = []
    while len(answers) < TRIES and not (answers and wanted.judge(answers[-1].text).satisfies) and not cancelled():
        again = replace(sampler, seed=sampler.seed + 1000 * len(answers))
        answers.append(asked.answer(again, max_tokens, cancelled=cancelled))
    return Answer(
        text=answers[-1].text if answers else "",
        tokens=sum(answer.tokens for answer in answers),
        passes=sum(answer.passes for answer in answers),
        seconds=sum(answer.seconds for answer in answers),
        calls=len(answers),
        finish=answers[-1].finish if answers else "cancelled",
    )


def called(tool: Asked, sampler: Sampler, max_tokens: int, cancelled: Cancelled) -> Answer:
    """The arguments of a call that is begun for the model: the JSON that stands there, or all of it if it is none."""
    answer = tool.answer(sampler, max_tokens, stop=TOOL_ENDS.encode(), cancelled=cancelled)
    said = answer.text[len(TOOL_BEGINS) :].partition(TOOL_ENDS)[0]
    try:
        _, end = json.JSONDecoder().raw_decode(said)
    except (ValueError, RecursionError):
        return replace(answer, text=said)
    return replace(answer, text=said[:end])


def convert(
    model: Model,
    prompt: str,
    source: ConstraintSource,
    masker: Masker,
    sampler: Sampler,
    max_tokens: int,
    cancelled: Cancelled,
) -> Answer:
    """Two calls: a free answer of at most `max_tokens`, and its copy under the constraint."""
    started = perf_counter()
    both = generate_then_convert(
        model,
        prompt,
        source,
        sampler=sampler,
        free_tokens=max_tokens,
        max_tokens=max_tokens,
        masker=masker,
        cancelled=cancelled,
    )
    return Answer(
        text=both.converted.text.decode(errors="replace"),
        tokens=both.tokens,
        passes=both.passes,
        seconds=perf_counter() - started,
        calls=2,
        draft=both.free.text.decode(errors="replace"),
        finish=both.converted.finish,
    )


def form_tokens(model: Model, schema: str) -> tuple[int, ...]:
    """What one would bias to get the form: the tokens of the declared keys and the punctuation between them, the
    digits, and the end token."""
    pieces = ['{"', '": "', '", "', '"}', '": ', ', "', "}", '"', *"0123456789"]
    try:
        properties = json.loads(schema).get("properties", {})
    except (ValueError, AttributeError, RecursionError):
        properties = {}
    encoded = model.canonical.encode_many([piece.encode() for piece in [*pieces, *properties]])
    ids = {token_id for piece in encoded if piece for token_id in piece}
    return tuple(sorted(ids | model.vocabulary.end_ids))


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A token that one and the same text needs masked at one step and takes at another."""

    token: bytes
    masked_at: int
    taken_at: int


def contradictions(constraint: Constraint, tokens: Sequence[bytes]) -> tuple[Contradiction, ...]:
    """Why no static bias can stand for a grammar: the tokens of a text that are masked at another of its steps.

    A bias has one number for each token, whatever was written before; a mask has one for each token and state.
    Raises ValueError if the constraint refuses the text.
    """
    states = [constraint.start]
    for token in tokens:
        after = constraint.advance(states[-1], token)
        if after is None:
            raise ValueError(f"The constraint refuses {token!r} after {b''.join(tokens[: len(states) - 1])!r}.")
        states.append(after)
    found: dict[bytes, Contradiction] = {}
    for taken_at, token in enumerate(tokens):
        refused = (place for place, state in enumerate(states[:-1]) if constraint.advance(state, token) is None)
        masked_at = next(refused, None)
        if masked_at is not None:
            found.setdefault(token, Contradiction(token, masked_at, taken_at))
    return tuple(found.values())


def _compact(schema: str) -> str:
    try:
        return json.dumps(json.loads(schema), ensure_ascii=False)
    except (ValueError, RecursionError):
        return schema
