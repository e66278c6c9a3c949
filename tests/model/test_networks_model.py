"""The network written out beside the library's: the same logits, whatever else is in the pass."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.model.kv_pool import Cache, Pool
from engine.model.llama import Llama
from engine.model.model import Model
from engine.model.runner import Reading, Runner
from engine.model.transformer import Transformer

TOLERANCE = 1e-3  # logits go up to 30 and more
LENGTHS = (1, 3, 7, 20, 33, 64, 65, 90)


@pytest.fixture(scope="module")
def network(model: Model) -> Any:
    return AutoModelForCausalLM.from_pretrained(model.path, dtype=torch.float32, local_files_only=True).eval()


def texts_of(model: Model) -> list[list[int]]:
    random = np.random.default_rng(7)
    return [random.integers(5, model.vocabulary.size, length).tolist() for length in LENGTHS]


def test_both_networks_give_what_the_library_gives(model: Model, network: Any) -> None:
    texts = texts_of(model)[:5]
    with torch.inference_mode():
        expected = [network(torch.tensor([text])).logits[0].numpy() for text in texts]
    written_out = Llama.of(network, 512)
    assert written_out is not None
    for driven in (written_out, Transformer(network, 512)):
        readings = [Reading(Cache(driven.pool), text, 0) for text in texts]
        Runner(driven).read(readings)
        for reading, logits in zip(readings, expected, strict=True):
            np.testing.assert_allclose(np.concatenate(reading.logits), logits, atol=TOLERANCE)


def test_logits_do_not_depend_on_what_else_is_in_the_pass(model: Model) -> None:
    texts = texts_of(model)
    alone = [model.extend(model.new_cache(), text, keep=1)[0] for text in texts]
    together: dict[int, np.ndarray] = {}

    def read(place: int) -> None:
        together[place] = model.extend(model.new_cache(), texts[place], keep=1)[0]

    threads = [threading.Thread(target=read, args=(place,)) for place in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place, logits in enumerate(alone):
        np.testing.assert_allclose(together[place], logits, atol=1e-4)


def test_a_pool_of_a_few_texts_changes_nothing(model: Model, network: Any) -> None:
    texts = texts_of(model)
    small = Llama.of(network, 96)
    assert small is not None
    config = network.config
    small.__init__(  # type: ignore[misc]
        small._weights,
        Pool(
            layers=config.num_hidden_layers, heads=config.num_key_value_heads, size=config.head_dim, context=96, bound=0
        ),
        config.vocab_size,
    )
    runner = Runner(small)
    readings = [Reading(Cache(small.pool), text, len(text) - 1) for text in texts]
    runner.read(readings)
    for text, reading in zip(texts, readings, strict=True):
        expected = model.extend(model.new_cache(), text, keep=1)
        np.testing.assert_allclose(np.concatenate(reading.logits), expected, atol=1e-4)
