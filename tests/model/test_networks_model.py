"""The network written out beside the library's: the same logits, whatever else is in the pass."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.model import load_model
from engine.model.kv_pool import Cache
from engine.model.llama import Llama
from engine.model.llama_kernel import Weights
from engine.model.model import Model
from engine.model.packed import open_weights
from engine.model.runner import Reading, Runner
from engine.model.transformer import Transformer

TOLERANCE = 0.03  # logits go up to 30 and more; 16 bits a number make differences of up to 0.021 in random texts
LENGTHS = (1, 3, 7, 20, 33, 64, 65, 90)


@pytest.fixture(scope="module")
def network(model: Model) -> Any:
    return AutoModelForCausalLM.from_pretrained(model.path, dtype=torch.float32, local_files_only=True).eval()


def weights_of(model: Model) -> Weights:
    weights = open_weights(model.path)
    assert weights is not None
    return weights


def texts_of(model: Model) -> list[list[int]]:
    random = np.random.default_rng(7)
    return [random.integers(5, model.vocabulary.size, length).tolist() for length in LENGTHS]


def test_both_networks_give_what_the_library_gives(model: Model, network: Any) -> None:
    texts = texts_of(model)[:5]
    with torch.inference_mode():
        expected = [network(torch.tensor([text])).logits[0].numpy() for text in texts]
    written, librarys = Llama(weights_of(model), bound=0), Transformer(network, 512)
    for driven, tolerance in ((written, TOLERANCE), (librarys, 1e-3)):
        readings = [Reading(Cache(driven.pool), text, 0) for text in texts]
        Runner(driven).read(readings)
        for reading, logits in zip(readings, expected, strict=True):
            np.testing.assert_allclose(np.concatenate(reading.logits), logits, atol=tolerance)


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


def test_a_pool_of_a_few_texts_changes_nothing(model: Model) -> None:
    texts = texts_of(model)
    weights = weights_of(model)
    small = Llama(weights._replace(cosines=weights.cosines[:96], sines=weights.sines[:96]), bound=0)
    readings = [Reading(Cache(small.pool), text, len(text) - 1) for text in texts]
    Runner(small).read(readings)
    for text, reading in zip(texts, readings, strict=True):
        expected = model.extend(model.new_cache(), text, keep=1)
        np.testing.assert_allclose(np.concatenate(reading.logits), expected, atol=1e-4)


def test_every_weight_is_what_the_file_says(model: Model, network: Any) -> None:
    packed = weights_of(model).mlp_out
    layer = 29
    pairs = packed.whole[layer].transpose(0, 2, 1, 3)
    sides = (pairs, *(part[layer].transpose(0, 2, 1) for part in (packed.step, packed.least)))
    whole, step, least = (side.reshape(network.config.hidden_size, -1) for side in sides)
    block = whole.shape[1] // step.shape[1]
    given = least.repeat(block, 1) + step.repeat(block, 1) * whole
    np.testing.assert_allclose(given, network.model.layers[layer].mlp.down_proj.weight.detach(), rtol=0, atol=2e-7)


def test_a_model_of_ones_own_goes_through_the_library(model: Model, tmp_path: Path) -> None:
    for file in model.path.iterdir():
        if file.is_file():
            (tmp_path / file.name).symlink_to(file)
    own = load_model(str(tmp_path), device="cpu")
    ids = model.encode("Hello", chat_template=True)
    assert own.vocabulary.digest == model.vocabulary.digest
    assert own.vocabulary.end_ids == model.vocabulary.end_ids
    assert own.context == model.context
    both = (each.extend(each.new_cache(), ids, keep=1) for each in (own, model))
    np.testing.assert_allclose(*both, atol=TOLERANCE)
