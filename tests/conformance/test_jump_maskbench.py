"""Jump-forward on real schemas and the bundled model's tokenizer: the tokens of the slow reference.

What is asked is how texts become tokens, so the logits are random: as good as a model's here, and cheap.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from corpora import CORPORA, require_corpora

from engine import ConstraintError, compile_json_schema
from engine.decoding.decoder import Decoder
from engine.decoding.records import ConstraintSource, RunSpec

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.unit.fake_model import FakeModel
from tests.unit.slow_jump import slow_jump

if TYPE_CHECKING:
    from engine.model.model import Model

require_corpora()
pytestmark = pytest.mark.model

SAMPLED = 200
LIMIT = 24
SLOW = {"Github_trivial---o63308"}


class RandomModel(FakeModel):
    """Random logits in which what closes a value is likely, so that texts get somewhere."""

    def __init__(self, model: Model) -> None:
        tables = np.random.default_rng(1).normal(size=(64, model.vocabulary.size))
        closing = [place for place, token in enumerate(model.vocabulary.tokens) if token and token[-1] in b'",:}]']
        tables[:, closing] += 3
        super().__init__(model.vocabulary, lambda ids: tables[hash(ids) % 64], context=10_000)
        self.tokenizer = model.tokenizer
        self.canonical = model.canonical

    def encode(self, prompt: str, chat_template: bool) -> list[int]:
        return [1, 2, 3]


def test_real_schemas(model: Model) -> None:
    with gzip.open(CORPORA / "maskbench_dev.jsonl.gz", "rt") as lines:
        rows = [row for row in map(json.loads, lines) if row["id"] not in SLOW]
    reader, jumped, written, compared = RandomModel(model), 0, 0, 0
    for row in random.Random(3).sample(rows, SAMPLED):
        text = json.dumps(row["schema"])
        spec = RunSpec("x", ConstraintSource("json_schema", text), False, max_tokens=LIMIT, jump_forward="safe")
        try:
            constraint = compile_json_schema(text)
        except ConstraintError:
            continue
        run = Decoder(reader, spec, constraint)
        taken = [step.token_id for step in run.run()]
        assert taken == slow_jump(reader, spec, constraint), row["id"]
        jumped += sum(step.kind == "jumped" for step in run.trace.steps)
        written += len(taken)
        compared += 1
    print(
        f"Jump-forward: {compared} schemas, {jumped:,} of {written:,} tokens jumped, all as the slow reference has them"
    )
    assert compared >= 0.9 * SAMPLED
