"""GGUF to safetensors: `python -m engine.model.convert MODEL.gguf FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def convert(gguf: Path, folder: Path) -> None:
    """Write the model and tokenizer of a GGUF file to `folder`, weights as float32."""
    source = {"gguf_file": gguf.name, "local_files_only": True}
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **source)
    read = AutoModelForCausalLM.from_pretrained(gguf.parent, dtype=torch.float32, **source)
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    # A model read from GGUF refuses to be saved; one built from its config and given the same weights does not.
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.load_state_dict(read.state_dict())
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
