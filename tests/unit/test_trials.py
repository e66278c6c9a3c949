"""Trials, ways of answering and methods, over a model without weights whose wishes are set by hand."""

import json

import numpy as np
import pytest

from engine.analysis.experiments import (
    BRANCHES,
    CLOSED,
    CUT,
    DELIMITER,
    FORMS,
    PASSAGES,
    asking,
    employer_in,
    form_prompt,
    form_source,
    guarantee,
    order,
    right_in_draft,
    truncation,
)
from engine.analysis.generation import Asked
from engine.analysis.methods import METHODS, Job, contradictions, form_tokens, trials
from engine.analysis.tasks import Task
from engine.analysis.trials import (
    Answer,
    Outcome,
    Trial,
    Verdict,
    Wanted,
    counted,
    dumped,
    loaded,
    performed,
)
from engine.decoding.records import Sampler
from engine.grammar.json_schema.compile import compile_json_schema
from engine.vocabulary import Vocabulary
from tests.unit.fake_model import FakeModel

MERGED = [b'{"', b'":', b'",', b'"}', b"name"]
END = 256 + len(MERGED)
VOCABULARY = Vocabulary.from_tokens([*(bytes([b]) for b in range(256)), *MERGED, b"<end>"], end_ids=[END])
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 6}, "age": {"type": "integer", "maximum": 99}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
)
JOB = Job("who?", SCHEMA, begins='{"name": "', known={"age": 7}, max_tokens=30)


class Bytewise:
    """A tokenizer that writes the merged tokens where it can."""

    def encode(self, data: bytes) -> tuple[int, ...] | None:
        ids = []
        while data:
            token = max((t for t in VOCABULARY.tokens if t and data.startswith(t)), key=len)
            ids.append(VOCABULARY.tokens.index(token))
            data = data[len(token) :]
        return tuple(ids)

    def encode_many(self, texts):
        return [self.encode(text) for text in texts]


class Wishes(FakeModel):
    """Wants to write `text` and then to end; whatever it reads, it goes on where the text is."""

    canonical = Bytewise()

    def __init__(self, text: bytes, prompt: int = 2) -> None:
        super().__init__(VOCABULARY)
        self.text, self.prompt = text, prompt

    def encode(self, prompt: str, chat_template: bool) -> list[int]:
        return [1] * self.prompt

    def _hashed(self, ids: tuple[int, ...]) -> np.ndarray:
        written = b"".join(VOCABULARY.tokens[i] for i in ids[self.prompt :])
        rest = self.text[len(written) :] if self.text.startswith(written) else b""
        logits = np.zeros(VOCABULARY.size)
        logits[rest[0] if rest else END] = 20
        return logits


GREEDY = Sampler()


def test_a_free_answer_is_what_the_model_wants() -> None:
    answer = Asked(Wishes(b"hello"), "p").answer(GREEDY, 20)
    assert (answer.text, answer.tokens, answer.passes, answer.finish) == ("hello", 6, 6, "complete")


def test_a_prefill_is_read_with_the_prompt_and_stands_in_the_answer() -> None:
    answer = Asked(Wishes(b'{"name": "Bo"}'), "p", b'{"name": "').answer(GREEDY, 20)
    assert answer.text == '{"name": "Bo"}'
    assert answer.tokens == len(b'Bo"}') + 1


def test_a_limit_a_stop_and_a_cancellation() -> None:
    asked = Asked(Wishes(b"one two three"), "p")
    assert asked.answer(GREEDY, 3).finish == "limit"
    assert asked.answer(GREEDY, 20, stop=b"two").text == "one two"
    assert asked.answer(GREEDY, 20, cancelled=lambda: True).finish == "cancelled"


def test_a_bias_is_the_same_at_every_step() -> None:
    answer = Asked(Wishes(b"hello"), "p").answer(GREEDY, 4, bias={ord("x"): 100.0})
    assert answer.text == "xxxx"


def test_no_static_bias_is_a_grammar() -> None:
    constraint = compile_json_schema(SCHEMA)
    found = {
        one.token: one for one in contradictions(constraint, [b'{"', b"name", b'":"', b"Bo", b'","age":', b"7", b"}"])
    }
    assert (found[b'{"'].taken_at, found[b'{"'].masked_at) == (0, 1)
    assert (found[b"}"].taken_at, found[b"}"].masked_at) == (6, 0)
    assert b"name" in found
    with pytest.raises(ValueError, match="refuses b'}' after"):
        contradictions(constraint, [b"{", b"}"])


def test_the_form_s_own_tokens_are_its_punctuation_keys_digits_and_end() -> None:
    tokens = form_tokens(Wishes(b""), SCHEMA)
    assert {VOCABULARY.tokens.index(b"name"), VOCABULARY.tokens.index(b'{"'), ord("7"), END} <= set(tokens)
    assert ord("B") not in tokens
    assert form_tokens(Wishes(b""), "no schema")


def test_judging() -> None:
    wanted = Wanted(SCHEMA, {"age": 7})
    assert wanted.judge(' {"age": 7, "name": "Bo"}\n') == Verdict(True, True, True)
    assert wanted.judge('{"name": "Bo", "age": 8}') == Verdict(True, True, False)
    assert wanted.judge('{"age": 7}') == Verdict(True, False, True)
    assert wanted.judge('Sure: {"name": "Bo", "age": 7}') == Verdict(False, False, False)
    assert Wanted(SCHEMA).judge("[1]") == Verdict(True, False, None)
    assert Wanted(SCHEMA, {"age": 1}).judge('{"name": "Bo", "age": true}').agrees is False


def test_asking_many_times_and_counting() -> None:
    series = asking(Wishes(b'{"name": "Bo", "age": 7}'), JOB, 3, temperature=0.5)
    assert [trial.most for trial in series] == [30] * 3
    outcomes = list(performed(series))
    assert [outcome.seed for outcome in outcomes] == [0, 1, 2]
    found = counted(outcomes, lambda outcome: outcome.verdict.satisfies)
    assert (found.successes, found.n) == (3, 3)
    assert loaded(json.loads(json.dumps(dumped(outcomes)))) == tuple(outcomes)


def test_a_trial_cut_short_does_not_count() -> None:
    asked = []

    def ask(cancelled):
        asked.append(cancelled())
        return Answer("{}", 1, 1, 0.0)

    trial = Trial("g", "q", 0, 1, ask, Wanted("{}").judge)
    answers = iter([False, False, False, False, False, True])
    assert len(list(performed([trial] * 3, lambda: next(answers)))) == 1
    assert len(asked) == 2


def test_every_method_gives_its_answer() -> None:
    model = Wishes(b'{"name": "Bo", "age": 7} and so on')
    outcomes = {outcome.group: outcome for outcome in performed(trials(model, JOB, 1))}
    assert set(outcomes) == {method.name for method in METHODS}
    assert not outcomes["prompt only"].verdict.parses
    assert outcomes["prompt with retries"].answer.calls == 3
    assert outcomes["prompt with retries"].answer.passes == 3 * outcomes["prompt only"].answer.passes
    assert outcomes["constrained decoding"].verdict == Verdict(True, True, True)
    assert outcomes["generate, then convert"].answer.calls == 2
    assert outcomes["generate, then convert"].answer.draft.startswith('{"name": "Bo"')
    assert outcomes["generate, then convert"].verdict.satisfies
    assert not outcomes["logit bias, as a ban"].verdict.satisfies


def test_retries_end_with_the_first_answer_of_the_form() -> None:
    (outcome,) = performed(trials(Wishes(b'{"name": "Bo", "age": 8}'), JOB, 1, methods=["prompt with retries"]))
    assert outcome.answer.calls == 1
    assert outcome.verdict == Verdict(True, True, False)


def test_a_tool_call_s_arguments_are_its_answer() -> None:
    begun = b'<tool_call>\n{"name": "save", "arguments": '
    model = Wishes(begun + b'{"name": "Bo", "age": 7}}\n</tool_call> more')
    (outcome,) = performed(trials(model, Job("who?", SCHEMA, max_tokens=80), 1, methods=["forced tool call"]))
    assert outcome.answer.text == '{"name": "Bo", "age": 7}'
    assert outcome.verdict.satisfies


SUM = Task("Two-digit sums", "What is 3 + 4?", "7", "number")


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_an_answer(form: str) -> None:
    wishes = {
        FORMS[0]: b'{"answer": 7, "reasoning": "sum"}',
        FORMS[1]: b'{"reasoning": "sum", "answer": 7}',
        FORMS[2]: b'{"answer": 7}',
        FORMS[3]: b'3 + 4. Answer:{"answer": 7}',
    }
    (outcome,) = performed(order(Wishes(wishes[form]), [SUM], forms=[form], max_tokens=60))
    assert outcome.verdict.agrees, outcome.answer
    assert form_source(SUM, form).after == (DELIMITER if form == FORMS[3] else "")
    assert SUM.question in form_prompt(SUM, form)


def test_the_free_text_alone_may_be_right() -> None:
    outcome = Outcome("g", "q", 0, Answer('{"answer": 8}', 1, 1, 0.0, draft="3 + 4 is 7."), Verdict(True, True, False))
    assert right_in_draft(outcome, SUM)


def test_an_employer_that_the_text_does_not_name() -> None:
    model = Wishes(b'{"name": "Grace", "employer": null}')
    outcomes = {outcome.group: outcome for outcome in performed(guarantee(model, PASSAGES[:1], max_tokens=60))}
    assert all(outcome.verdict.satisfies for outcome in outcomes.values())
    assert not outcomes[BRANCHES[0]].verdict.agrees
    assert outcomes["a string or null"].verdict.agrees
    assert employer_in('{"employer": "unknown"}') is None
    assert employer_in('{"employer": "Siemens"}') == "Siemens"
    assert employer_in("nothing") is None


def test_a_limit_cuts_unless_the_run_closes_in_time() -> None:
    model = Wishes(b'{"colors": ["red", "orange", "yellow"]}')
    outcomes = list(performed(truncation(model, [26])))
    assert {outcome.group: outcome.verdict.parses for outcome in outcomes} == {CUT: False, CLOSED: True}
