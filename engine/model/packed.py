"""The bundled model's weights in small integers, written once beside its safetensors and mapped into memory since then.

Finding the integers takes seconds, mapping them nothing, and all processes that serve the model share the memory.
`python -m engine.model.packed FOLDER PACKED` packs the model of a folder.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from engine.model.blocks import Floats, Packed, pack, stacked
from engine.model.bundled import PACKED
from engine.model.kv_pool import PAGE
from engine.model.llama_kernel import Weights


def open_weights(folder: Path) -> Weights | None:
    """The packed weights of a model folder, None if it has none."""
    packed = folder / PACKED
    return Weights(*(_opened(packed, name) for name in Weights._fields)) if packed.is_dir() else None


def write_weights(weights: Weights, packed: Path) -> None:
    """Put packed weights into a new folder, a file for each array."""
    packed.mkdir()
    for name, value in weights._asdict().items():
        if isinstance(value, Packed):
            for part, array in value._asdict().items():
                np.save(packed / f"{name}.{part}.npy", array)
        else:
            np.save(packed / f"{name}.npy", value)


def pack_network(network: Any, context: int) -> Weights:
    """The weights of a network of the transformers library, and rotations for texts of `context` tokens.

    Raises ValueError if it is not made of plain Llama blocks, or its weights are not small integers at heart.
    """
    config = network.config
    if not _plain(config):
        raise ValueError("it is not made of plain Llama blocks")
    layers = list(network.model.layers)
    norms = [[_array(of.input_layernorm), _array(of.post_attention_layernorm)] for of in layers]
    cosines, sines = _rotation(config, context)
    return Weights(
        embedding=_packed([[network.model.embed_tokens]]),
        queries_keys_values=_packed([[of.self_attn.q_proj, of.self_attn.k_proj, of.self_attn.v_proj] for of in layers]),
        attention_out=_packed([[of.self_attn.o_proj] for of in layers]),
        gates_ups=_packed([[of.mlp.gate_proj, of.mlp.up_proj] for of in layers]),
        mlp_out=_packed([[of.mlp.down_proj] for of in layers]),
        norms=np.array(norms),
        last_norm=_array(network.model.norm),
        epsilon=np.array([config.rms_norm_eps], np.float32),
        cosines=cosines,
        sines=sines,
    )


def _opened(packed: Path, name: str) -> Any:
    if (packed / f"{name}.npy").is_file():
        return _mapped(packed / f"{name}.npy")
    return Packed(*(_mapped(packed / f"{name}.{part}.npy") for part in Packed._fields))


def _mapped(file: Path) -> Any:
    """Private to this process if it were written to, which nobody does; the compiled pass takes plain arrays only."""
    return np.asarray(np.load(file, mmap_mode="c"))


def _plain(config: Any) -> bool:
    """Llama blocks as they were first published: no biases, no other activation, no scaled rotation; one matrix for
    embedding and logits, and heads of a size that the compiled pass reads in whole vectors."""
    return (
        config.model_type == "llama"
        and config.hidden_act == "silu"
        and config.tie_word_embeddings
        and config.head_dim % PAGE == 0
        and not config.attention_bias
        and not config.mlp_bias
        and config.rope_parameters["rope_type"] == "default"
        and config.rope_parameters.get("partial_rotary_factor", 1.0) == 1.0
    )


def _packed(layers: list[list[Any]]) -> Packed:
    """The weights of each layer's modules, one below the other."""
    matrices = [pack(np.concatenate([_array(module) for module in modules])) for modules in layers]
    found = [matrix for matrix in matrices if matrix is not None]
    if len(found) < len(matrices):
        raise ValueError("its weights are not multiples of a step")
    return stacked(found)


def _array(module: Any) -> Floats:
    weight: Floats = module.weight.detach().numpy()
    return weight


def _rotation(config: Any, context: int) -> tuple[Floats, Floats]:
    """In float32 as the library computes it, so that both networks turn by the same angles."""
    exponents = np.arange(0, config.head_dim, 2, dtype=np.float32) / np.float32(config.head_dim)
    frequencies = (1.0 / np.float32(config.rope_parameters["rope_theta"]) ** exponents).astype(np.float32)
    angles = np.arange(context, dtype=np.float32)[:, np.newaxis] * frequencies
    return np.cos(angles), np.sin(angles)


def main(folder: Path, packed: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    write_weights(pack_network(network, network.config.max_position_embeddings), packed)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
