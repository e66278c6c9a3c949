"""Real tokenizers of several sizes, without weights: the bundled model's, and those that come in Python packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.model.bundled import bundled_model


def bundled() -> Any:
    """The bundled model's: byte-level BPE, 49,152 tokens."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(bundled_model(lambda text, part: None), local_files_only=True)


TOKENIZERS: dict[str, Callable[[], Any]] = {"bundled": bundled}


def load(name: str) -> Any:
    """The tokenizer of a name in `TOKENIZERS`."""
    return TOKENIZERS[name]()
