"""The bundled model's own way through its network: Llama blocks, weights in small integers, no call per layer.

Chosen where it gives the same as the library's network and is several times faster: on a CPU, for Llama blocks without
extras, whose weights are small integers at heart (a GGUF file's are). Everything else goes through `transformer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from engine.model.blocks import Floats, Packed, pack, stacked
from engine.model.kv_pool import Pool
from engine.model.llama_kernel import Rows, Weights, forward
from engine.model.runner import Part


class Llama:
    """A network as a `Runner` drives it; for one thread at a time."""

    pass_tokens = 32  # more at once take as much longer as they are more

    def __init__(self, weights: Weights, pool: Pool, vocabulary_size: int) -> None:
        self.pool = pool
        self._weights = weights
        self._store: Floats = pool.store.view(pool.store.shape).numpy()
        self._size = vocabulary_size

    @classmethod
    def of(cls, network: Any, context: int) -> Llama | None:
        """The same network, or None if it is not one of these."""
        config = network.config
        if network.device.type != "cpu" or not _plain(config):
            return None
        weights = _weights(network, context)
        if weights is None:
            return None
        heads, size = config.num_key_value_heads, config.head_dim
        pool = Pool(layers=config.num_hidden_layers, heads=heads, size=size, context=context)
        return cls(weights, pool, config.vocab_size)

    def read(self, parts: Sequence[Part]) -> list[Floats]:
        """The logits after the last wanted tokens of each part, float32 (wanted, vocabulary size)."""
        tokens = [token for part in parts for token in part.tokens]
        positions = [part.start + place for part in parts for place in range(len(part.tokens))]
        texts = [text for text, part in enumerate(parts) for _ in part.tokens]
        pages = np.zeros((len(parts), max(len(part.pages) for part in parts)), np.int32)
        for row, part in zip(pages, parts, strict=True):
            row[: len(part.pages)] = part.pages
        ends = list(accumulate(len(part.tokens) for part in parts))
        wanted = [row for part, end in zip(parts, ends, strict=True) for row in range(end - part.wanted, end)]
        columns = np.array([tokens, positions, texts], np.int32)
        rows = Rows(columns[0], columns[1], columns[2], pages)
        logits = forward(self._weights, rows, self._store, np.array(wanted, np.int32))[:, : self._size]
        return np.split(logits, list(accumulate(part.wanted for part in parts))[:-1])


def _plain(config: Any) -> bool:
    """Llama blocks as they were first published: no biases, no other activation, no scaled rotation."""
    return (
        config.model_type == "llama"
        and config.hidden_act == "silu"
        and not config.attention_bias
        and not config.mlp_bias
        and config.rope_parameters["rope_type"] == "default"
        and config.rope_parameters.get("partial_rotary_factor", 1.0) == 1.0
    )


def _weights(network: Any, context: int) -> Weights | None:
    config = network.config
    layers = list(network.model.layers)
    kinds = (
        [_packed(of.self_attn.q_proj, of.self_attn.k_proj, of.self_attn.v_proj) for of in layers],
        [_packed(of.self_attn.o_proj) for of in layers],
        [_packed(of.mlp.gate_proj, of.mlp.up_proj) for of in layers],
        [_packed(of.mlp.down_proj) for of in layers],
        [_packed(network.model.embed_tokens)],
        [_packed(network.lm_head)],
    )
    found = [[matrix for matrix in kind if matrix is not None] for kind in kinds]
    if list(map(len, found)) != list(map(len, kinds)):
        return None
    queries_keys_values, attention_out, gates_ups, mlp_out, embedding, logits = map(stacked, found)
    cosines, sines = _rotation(config, context)
    norms = [[_array(of.input_layernorm), _array(of.post_attention_layernorm)] for of in layers]
    return Weights(
        embedding, queries_keys_values, attention_out, gates_ups, mlp_out, logits,
        np.array(norms), _array(network.model.norm), float(config.rms_norm_eps), cosines, sines,
    )  # fmt: skip


def _packed(*modules: Any) -> Packed | None:
    """The weights of several modules, one below the other."""
    return pack(np.concatenate([_array(module) for module in modules]))


def _array(module: Any) -> Floats:
    weight: Floats = module.weight.detach().numpy()
    return weight


def _rotation(config: Any, context: int) -> tuple[Floats, Floats]:
    """In float32 as the library computes it, so that both networks turn by the same angles."""
    exponents = np.arange(0, config.head_dim, 2, dtype=np.float32) / np.float32(config.head_dim)
    frequencies = (1.0 / np.float32(config.rope_parameters["rope_theta"]) ** exponents).astype(np.float32)
    angles = np.arange(context, dtype=np.float32)[:, np.newaxis] * frequencies
    return np.cos(angles), np.sin(angles)
