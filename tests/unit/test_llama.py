"""The compiled forward pass beside the library's, on small networks of several shapes; and how a pass is divided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from engine.model.kv_pool import Cache
from engine.model.llama import Llama, _groups
from engine.model.packed import PACKED, open_weights, pack_network, write_weights
from engine.model.runner import Part, Reading, Runner

CONTEXT = 80


def network(heads: int, key_heads: int, size: int, **options: Any) -> Any:
    """Random weights, each one of 16 multiples of a step."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=128, hidden_size=64, intermediate_size=192, num_hidden_layers=2, num_attention_heads=heads,
        num_key_value_heads=key_heads, head_dim=size, max_position_embeddings=CONTEXT, tie_word_embeddings=True,
        **options,
    )  # fmt: skip
    made = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for weight in made.parameters():
            if weight.dim() == 2:
                weight.copy_(torch.randint(-8, 8, weight.shape) / 64)
            else:
                weight.copy_(1 + torch.arange(len(weight)) / 100)
    return made


@pytest.mark.parametrize(("heads", "key_heads", "size"), [(4, 2, 32), (2, 2, 64), (4, 4, 96), (4, 1, 64)])
def test_logits_are_the_librarys(heads: int, key_heads: int, size: int) -> None:
    given = network(heads, key_heads, size)
    texts = [[token % 128 for token in range(3 * length, 4 * length)] for length in (1, 2, 5, 33, 64, CONTEXT)]
    driven = Llama(pack_network(given, CONTEXT), bound=0)
    readings = [Reading(Cache(driven.pool), text, 0) for text in texts]
    for reading in readings:
        Runner(driven).read([reading])
        with torch.inference_mode():
            expected = given(torch.tensor([reading.text])).logits[0].numpy()
        np.testing.assert_allclose(np.concatenate(reading.logits), expected, atol=5e-4)  # 16 bits a number


def test_packed_weights_are_the_same_when_opened(tmp_path: Path) -> None:
    weights = pack_network(network(4, 2, 32), CONTEXT)
    assert open_weights(tmp_path) is None
    write_weights(weights, tmp_path / PACKED)
    opened = open_weights(tmp_path)
    assert opened is not None
    np.testing.assert_array_equal(opened.mlp_out.whole, weights.mlp_out.whole)
    np.testing.assert_array_equal(opened.cosines, weights.cosines)


@pytest.mark.parametrize("options", [{"attention_bias": True}, {"mlp_bias": True}, {"hidden_act": "gelu"}])
def test_other_blocks_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="plain Llama"):
        pack_network(network(4, 2, 32, **options), CONTEXT)


@pytest.mark.parametrize(
    ("tokens", "most", "expected"),
    [
        ([1], 2, [(0, [1])]),
        ([1] * 5, 2, [(0, [1] * 5)]),
        ([1] * 8, 2, [(0, [1] * 4), (1, [1] * 4)]),
        ([30, 1, 1], 2, [(0, [16]), (0, [14, 1, 1])]),
        ([1, 10, 1], 4, [(0, [1, 2]), (0, [3]), (0, [3]), (0, [2, 1])]),
        ([3, 6, 6], 5, [(0, [3]), (1, [3]), (1, [3]), (3, [3]), (3, [3])]),
    ],
)
def test_a_pass_is_shared_out(tokens: list[int], most: int, expected: list[tuple[int, list[int]]]) -> None:
    groups = _groups([Part([0] * count, 0, 1, []) for count in tokens], most)
    assert [(first, [len(part.tokens) for part in pieces]) for first, pieces in groups] == expected


@pytest.mark.parametrize("cores", [1, 2, 3, 5])
def test_threads_that_share_a_text_give_the_same(cores: int) -> None:
    driven = Llama(pack_network(network(4, 2, 32), CONTEXT), bound=2**20)
    texts = [[(7 * place + length) % 128 for place in range(length)] for length in (40, 1, 2, 60)]
    alone = []
    for text in texts:
        driven._cores = 1
        alone.append(Reading(Cache(driven.pool), text, len(text) // 2))
        Runner(driven).read(alone[-1:])
    driven._cores = cores
    readings = [Reading(Cache(driven.pool), text, len(text) // 2) for text in texts]
    Runner(driven).read(readings)
    for reading, expected in zip(readings, alone, strict=True):
        np.testing.assert_allclose(np.concatenate(reading.logits), np.concatenate(expected.logits), atol=1e-5)
