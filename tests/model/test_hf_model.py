"""The logits processor with the bundled model, loaded as every user of transformers loads a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from engine import Decoder
from engine.examples import Example, example
from engine.grammar.sources import compile_source
from engine.hf import ConstrainedLogitsProcessor

if TYPE_CHECKING:
    from engine.model.model import Model

pytestmark = pytest.mark.model

EXAMPLES = ["Person record", "Against the model's wish", "Emoji (regex)"]


@pytest.fixture(scope="module")
def network(model: Model) -> Any:
    return AutoModelForCausalLM.from_pretrained(model.path, local_files_only=True, dtype=torch.float32)


@pytest.fixture(scope="module")
def tokenizer(model: Model) -> Any:
    return AutoTokenizer.from_pretrained(model.path, local_files_only=True, padding_side="left")


@pytest.fixture(scope="module")
def decoded(model: Model) -> dict[str, list[int]]:
    """The tokens of the Decoder's own greedy run of each example."""
    return {name: [step.token_id for step in Decoder(model, example(name).spec()).run()] for name in EXAMPLES}


def generate(network: Any, tokenizer: Any, entries: list[Example], **how: Any) -> list[list[int]]:
    """What is written behind each prompt, the padding behind its end left out."""
    chats = [[{"role": "user", "content": entry.prompt}] for entry in entries]
    inputs = tokenizer.apply_chat_template(
        chats, add_generation_prompt=True, return_tensors="pt", padding=True, return_dict=True
    )
    constraints = [compile_source(entry.constraint) for entry in entries if entry.constraint is not None]
    end = network.generation_config.eos_token_id
    processor = ConstrainedLogitsProcessor(constraints, tokenizer, end)
    limit = max(entry.max_tokens for entry in entries)
    rows = network.generate(**inputs, logits_processor=[processor], max_new_tokens=limit, **how)
    written = rows[:, inputs["input_ids"].shape[1] :].tolist()
    return [row[: row.index(end) + 1] for row in written]


@pytest.mark.parametrize("name", EXAMPLES)
def test_greedy_generate_gives_the_decoders_tokens(
    network: Any, tokenizer: Any, decoded: dict[str, list[int]], name: str
) -> None:
    assert generate(network, tokenizer, [example(name)], do_sample=False) == [decoded[name]]


def test_a_padded_batch_with_a_constraint_for_each_prompt(
    network: Any, tokenizer: Any, decoded: dict[str, list[int]]
) -> None:
    entries = [example(name) for name in EXAMPLES]
    assert generate(network, tokenizer, entries, do_sample=False) == list(decoded.values())


def test_sampled_texts_are_accepted(network: Any, tokenizer: Any, model: Model) -> None:
    entry = example("Emoji (regex)")
    assert entry.constraint is not None
    constraint = compile_source(entry.constraint)
    torch.manual_seed(0)
    rows = generate(network, tokenizer, [entry], do_sample=True, temperature=3.0, top_k=0, num_return_sequences=8)
    texts = [b"".join(model.vocabulary.tokens[token_id] for token_id in row) for row in rows]
    assert {constraint.check(text).kind for text in texts} == {"accepted"}
    assert len(set(texts)) > 1
