"""Networks of other kinds through the library: the logits are those that it gives by itself, however texts are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, GPT2Config, MistralConfig, PhiConfig, Qwen3Config

from engine.model.kv_pool import Cache
from engine.model.runner import Reading, Runner
from engine.model.transformer import Transformer

SMALL: dict[str, Any] = {
    "vocab_size": 100,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 90,
}
CONFIGS = {
    "GPT-2: learned positions": GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=4, n_positions=90),
    "Qwen3: keys normalised, heads of their own size": Qwen3Config(**SMALL, num_key_value_heads=2, head_dim=16),
    "Mistral: a sliding window": MistralConfig(**SMALL, num_key_value_heads=2, sliding_window=12),
    "Phi: part of a head rotated": PhiConfig(**SMALL, partial_rotary_factor=0.5),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=list(CONFIGS))
def test_logits_are_the_librarys(config: Any) -> None:
    torch.manual_seed(0)
    network = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()
    texts = [[(11 * place + length) % 100 for place in range(length)] for length in (1, 5, 33, 80)]
    with torch.inference_mode():
        expected = [network(torch.tensor([text])).logits[0].numpy() for text in texts]
    driven = Transformer(network, 90)
    together = [Reading(Cache(driven.pool), text, 0) for text in texts]
    Runner(driven).read(together)
    for reading, logits in zip(together, expected, strict=True):
        np.testing.assert_allclose(np.concatenate(reading.logits), logits, atol=1e-5)
        cache = Cache(driven.pool)
        for token in range(len(reading.text)):
            alone = Reading(cache, reading.text[: token + 1], token)
            Runner(driven).read([alone])
        np.testing.assert_allclose(alone.logits[0][0], logits[-1], atol=1e-5)
