"""The series of trials behind the lessons: asking nicely, order and thought, what a schema can't guarantee.

Each function gives the trials, which say what they cost before the first is made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engine.analysis.generation import Asked, Masked
from engine.analysis.methods import OPTIONS, Job, convert
from engine.analysis.outputs import shape
from engine.analysis.tasks import Task, agrees, answer_in
from engine.analysis.trials import Answer, Cancelled, Outcome, Trial, Verdict, Wanted
from engine.decoding.records import ConstraintSource, RunSpec, Sampler
from engine.grammar.sources import compile_source
from engine.masking import Masker

if TYPE_CHECKING:
    from engine.model.model import Model


def _object(properties: dict[str, Any]) -> str:
    return json.dumps(
        {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    )


def _text(length: int) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": length}


PERSON = Job(
    prompt="Extract name, age and city as JSON. Text: Marie Curie, a 66 year old physicist, lived in Paris.",
    schema=_object({"name": _text(40), "age": {"type": "integer"}, "city": _text(40)}),
    begins='{"name": "',
    known={"name": "Marie Curie", "age": 66, "city": "Paris"},
)
"""An extraction that leaves nothing to guess: all that is asked for stands in the text."""


def asking(model: Model, job: Job, n: int, *, temperature: float = 0.7, seed: int = 0) -> list[Trial]:
    """The same prompt `n` times, without a constraint. Raises ConstraintError if the schema does not compile."""
    asked, wanted = Asked(model, job.prompt), Wanted(job.schema, job.known)

    def trial(place: int) -> Trial:
        sampler = Sampler(temperature=temperature, seed=place)

        def ask(cancelled: Cancelled) -> Answer:
            return asked.answer(sampler, job.max_tokens, cancelled=cancelled)

        return Trial("prompt only", job.prompt, place, job.max_tokens, ask, wanted.judge)

    return [trial(place) for place in range(seed, seed + n)]


# Order and thought

ANSWER_FIRST = "answer, then reasoning"
REASONING_FIRST = "reasoning, then answer"
TWO_CALLS = "free text, then a second call"
ONE_CALL = "free text, then the mask in the same call"
FORMS = (ANSWER_FIRST, REASONING_FIRST, TWO_CALLS, ONE_CALL)

DELIMITER = "Answer:"
"""What switches the mask on where thought and answer are one call."""

EXAMPLES = {
    "Two-digit sums": Task("Two-digit sums", "What is 52 + 31?", "83", "number"),
    "Last letters": Task(
        "Last letters",
        'Take the last letter of each word in "Paul Lena Tim" and write the letters together.',
        "lam",
        "letters",
    ),
    "Counting": Task("Counting", "How many words are in this list: house, moon, tree, fish?", "4", "number"),
}
WORKED = {
    "Two-digit sums": "52 + 31 = 83.",
    "Last letters": "Paul ends with l, Lena with a, Tim with m.",
    "Counting": "1 house, 2 moon, 3 tree, 4 fish.",
}
"""The example that every prompt holds, and how it is worked out."""

REASONING = {"type": "string", "minLength": 1, "maxLength": 100}


def order(
    model: Model, asked: Iterable[Task], *, forms: Iterable[str] = FORMS, max_tokens: int = 64, seed: int = 0
) -> list[Trial]:
    """Each task once in each form, greedily: nothing but the order differs. A run closes in time, so that each gives
    an answer. The forms take turns, so that whatever else the machine does slows all of them alike."""
    found, chosen = list(asked), list(forms)
    maskers: dict[ConstraintSource, Masker] = {}
    return [
        _ordered(model, task, form, max_tokens, seed + place, maskers)
        for place, task in enumerate(found)
        for form in chosen
    ]


def _ordered(
    model: Model, task: Task, form: str, max_tokens: int, seed: int, maskers: dict[ConstraintSource, Masker]
) -> Trial:
    source, prompt = form_source(task, form), form_prompt(task, form)
    if source not in maskers:
        maskers[source] = Masker(compile_source(source), model.vocabulary)
    masker = maskers[source]

    def ask(cancelled: Cancelled) -> Answer:
        if form == TWO_CALLS:
            return convert(model, prompt, source, masker, Sampler(), max_tokens, cancelled)
        spec = RunSpec(prompt, source, max_tokens=max_tokens, close_in_time=True)
        return Masked(model, spec, masker).answer(Sampler(), cancelled)

    def judge(text: str) -> Verdict:
        value = _answered(text)
        return Verdict(value is not None, value is not None, agrees(value, task))

    most = 2 * max_tokens if form == TWO_CALLS else max_tokens
    return Trial(form, task.question, seed, most, ask, judge)


def form_prompt(task: Task, form: str) -> str:
    """What the model is asked in a form: an example of the same kind, worked out, and the task. A small model needs to
    be shown."""
    example = EXAMPLES[task.kind]
    value = json.dumps(int(example.answer) if task.form == "number" else example.answer)
    thought = json.dumps(WORKED[task.kind])
    answered = {
        ANSWER_FIRST: f'{{"answer": {value}, "reasoning": {thought}}}',
        REASONING_FIRST: f'{{"reasoning": {thought}, "answer": {value}}}',
        TWO_CALLS: f"{WORKED[task.kind]} So the answer is {example.answer}.",
        ONE_CALL: f'{WORKED[task.kind]} {DELIMITER} {{"answer": {value}}}',
    }[form]
    return f"Question: {example.question}\n{answered}\n\nQuestion: {task.question}"


def form_source(task: Task, form: str) -> ConstraintSource:
    """The constraint of a form (of the second call, where there are two)."""
    answer: dict[str, Any] = {"type": "integer", "minimum": -999, "maximum": 999}
    if task.form == "letters":
        answer = {"type": "string", "pattern": "^[a-z]{1,8}$"}
    properties = {
        ANSWER_FIRST: {"answer": answer, "reasoning": REASONING},
        REASONING_FIRST: {"reasoning": REASONING, "answer": answer},
    }.get(form, {"answer": answer})
    after = DELIMITER if form == ONE_CALL else ""
    return ConstraintSource("json_schema", _object(properties), OPTIONS, after=after)


def right_in_draft(outcome: Outcome, task: Task) -> bool:
    """The free text alone, read as a person would read it, gives the right answer; where the model goes on to ask
    itself another question, the answer is over."""
    written = outcome.answer.draft or outcome.answer.text
    said = answer_in(written.partition("\n\nQuestion:")[0], task.form)
    return said is not None and agrees(said, task)


def _answered(text: str) -> Any:
    value = shape(text.rpartition(DELIMITER)[2]).value
    return value.get("answer") if isinstance(value, dict) else None


# What it can't guarantee


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to extract from; `name` and `employer` as it gives them, None where it does not."""

    text: str
    name: str | None
    employer: str | None


PASSAGES = (
    Passage("Grace went to the market.", "Grace", None),
    Passage("Tom likes to swim in the lake.", "Tom", None),
    Passage("Mary and her dog walked home in the rain.", "Mary", None),
    Passage("Peter bought a red bicycle on Monday.", "Peter", None),
    Passage("Anna works for Google.", "Anna", "Google"),
    Passage("David is an engineer at Toyota.", "David", "Toyota"),
)
"""Most of them say nothing about an employer."""

REQUIRED = "a string is required"
OR_UNKNOWN = 'a string or "unknown"'
OR_NULL = "a string or null"
OR_NULL_TOLD = "a string or null, and told so"
TOLD = " Use null for the employer if the text does not name one."
BRANCHES = (REQUIRED, OR_UNKNOWN, OR_NULL, OR_NULL_TOLD)

_VALUES: Mapping[str, dict[str, Any]] = {
    REQUIRED: {"type": "string", "pattern": "^[A-Z][A-Za-z ]{1,29}$"},
    OR_UNKNOWN: {"anyOf": [{"type": "string", "pattern": "^[A-Z][A-Za-z ]{1,29}$"}, {"const": "unknown"}]},
    OR_NULL: {"anyOf": [{"type": "string", "pattern": "^[A-Z][A-Za-z ]{1,29}$"}, {"type": "null"}]},
    OR_NULL_TOLD: {"anyOf": [{"type": "string", "pattern": "^[A-Z][A-Za-z ]{1,29}$"}, {"type": "null"}]},
}


def guarantee(
    model: Model, passages: Iterable[Passage] = PASSAGES, *, branches: Iterable[str] = BRANCHES, max_tokens: int = 40
) -> list[Trial]:
    """Name and employer of each passage, greedily, under a schema that leaves the employer a way out or not.

    `agrees` says that the employer is the passage's, or that the answer declines where the passage has none.
    """
    found = list(passages)
    return [trial for branch in branches for trial in _branch(model, found, branch, max_tokens)]


def _branch(model: Model, passages: list[Passage], branch: str, max_tokens: int) -> list[Trial]:
    source = branch_source(branch)
    masker, wanted = Masker(compile_source(source), model.vocabulary), Wanted(source.text)

    def trial(place: int, passage: Passage) -> Trial:
        prompt = branch_prompt(passage.text, branch)
        spec = RunSpec(prompt, source, max_tokens=max_tokens, jump_forward="safe")

        def ask(cancelled: Cancelled) -> Answer:
            return Masked(model, spec, masker).answer(Sampler(), cancelled)

        def judge(text: str) -> Verdict:
            return replace(wanted.judge(text), agrees=employer_in(text) == passage.employer)

        return Trial(branch, passage.text, place, max_tokens, ask, judge)

    return [trial(place, passage) for place, passage in enumerate(passages)]


def branch_prompt(text: str, branch: str) -> str:
    """What is asked; only the last branch is told of its way out."""
    return f"Extract name and employer as JSON.{TOLD if branch == OR_NULL_TOLD else ''} Text: {text}"


def branch_source(branch: str) -> ConstraintSource:
    """The schema with that branch."""
    name = {"type": "string", "pattern": "^[A-Z][A-Za-z ]{1,29}$"}
    return ConstraintSource("json_schema", _object({"name": name, "employer": _VALUES[branch]}), OPTIONS)


def employer_in(text: str) -> str | None:
    """The employer that an answer names; None where it declines, or is no answer."""
    value = shape(text).value
    employer = value.get("employer") if isinstance(value, dict) else None
    return employer if isinstance(employer, str) and employer != "unknown" else None


CUT_PROMPT = "List the colors of the rainbow as JSON."
CUT_SCHEMA = _object({"colors": {"type": "array", "items": _text(20), "minItems": 1, "maxItems": 7}})
CUT, CLOSED = "cut off by the limit", "closing in time"


def truncation(model: Model, limits: Iterable[int]) -> list[Trial]:
    """The same run under several token limits, cut off by each and closing in time. The seed is the limit.

    A limit within which nothing can be completed raises DecodingError when the trial is made.
    """
    source = ConstraintSource("json_schema", CUT_SCHEMA, OPTIONS)
    masker, wanted = Masker(compile_source(source), model.vocabulary), Wanted(CUT_SCHEMA)

    def asking_within(limit: int, group: str) -> Callable[[Cancelled], Answer]:
        spec = RunSpec(CUT_PROMPT, source, max_tokens=limit, close_in_time=group == CLOSED)
        return lambda cancelled: Masked(model, spec, masker).answer(Sampler(), cancelled)

    return [
        Trial(group, CUT_PROMPT, limit, limit, asking_within(limit, group), wanted.judge)
        for group in (CUT, CLOSED)
        for limit in limits
    ]
