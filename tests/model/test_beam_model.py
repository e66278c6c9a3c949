"""Beam search with the bundled model finds what transformers finds under the same masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from transformers import AutoModelForCausalLM

from engine import Masker
from engine.decoding.beam import beam_search
from engine.examples import example
from engine.grammar.sources import compile_source
from engine.hf import ConstrainedLogitsProcessor

if TYPE_CHECKING:
    from engine.model.model import Model

pytestmark = pytest.mark.model


@pytest.mark.parametrize(("name", "beams", "penalty"), [("Person record", 3, 1.0), ("Emoji (regex)", 4, 0.0)])
def test_the_best_text_is_that_of_generate(model: Model, name: str, beams: int, penalty: float) -> None:
    entry = example(name)
    assert entry.constraint is not None
    masker = Masker(compile_source(entry.constraint), model.vocabulary)
    found = beam_search(model, entry.spec(), beams, penalty, masker=masker)
    assert found.finish == "complete"
    assert found.best is not None

    network = AutoModelForCausalLM.from_pretrained(model.path, local_files_only=True, dtype=torch.float32)
    prompt = torch.tensor([model.encode(entry.prompt, chat_template=True)])
    output = network.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        logits_processor=[ConstrainedLogitsProcessor(masker.constraint, model.vocabulary)],
        num_beams=beams,
        length_penalty=penalty,
        max_new_tokens=entry.max_tokens,
        do_sample=False,
        output_scores=True,
        return_dict_in_generate=True,
    )
    assert tuple(output.sequences[0, prompt.shape[1] :].tolist()) == found.best.ids
    assert float(output.sequences_scores[0]) == pytest.approx(found.best.score, abs=5e-3)
    for hypothesis in found.hypotheses:
        assert masker.constraint.check(hypothesis.text).kind == "accepted"
