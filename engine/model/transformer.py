"""Any network of the transformers library, rows of many texts in one pass.

The library lets attention be replaced: everything else of a network treats each row by itself, so rows of many texts
can go through it side by side. Attention here puts the new keys and values into the pool and lets each text look at its
own pages. On CUDA the weights are bfloat16 and scaled dot product attention picks its own kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

from engine.model.blocks import Floats
from engine.model.kv_pool import PAGE, Pool, pages_within
from engine.model.runner import Part

ATTENTION = "maskscope"
"""The name under which the library knows `_attend`."""


class Transformer:
    """A network as a `Runner` drives it; for one thread at a time.

    Raises ValueError if its layers don't all have keys and values of one shape.
    """

    def __init__(self, network: Any, context: int) -> None:
        self.pass_tokens = 64 if network.device.type == "cpu" else 512
        AttentionInterface.register(ATTENTION, _attend)
        network.set_attn_implementation(ATTENTION)
        self._network = network
        shapes = _key_shapes(network)
        if len(set(shapes)) != 1:
            raise ValueError("its layers don't all have keys and values of one shape")
        (heads, size), *_ = shapes
        page = (len(shapes), 2, heads, PAGE * size)
        pages = pages_within(prod(page) * network.dtype.itemsize, context)
        self._store = torch.empty((pages, *page), dtype=network.dtype, device=network.device)
        self.pool = Pool(self._store)

    @torch.inference_mode()
    def read(self, parts: Sequence[Part]) -> list[Floats]:
        """The logits after the last wanted tokens of each part, float32 (wanted, vocabulary size)."""
        texts: list[tuple[int, Part, torch.Tensor]] = []
        positions: list[int] = []
        wanted: list[int] = []
        end = 0
        for part in parts:
            texts.append((end, part, torch.tensor(part.pages, device=self._store.device)))
            positions += range(part.start, part.start + len(part.tokens))
            end += len(part.tokens)
            wanted += range(end - part.wanted, end)
        tokens = [token for part in parts for token in part.tokens]
        logits = self._pass(tokens, positions, wanted or [end - 1], pool=self._store, texts=texts)
        rows = logits.float().cpu().numpy()
        ends = np.cumsum([part.wanted for part in parts])
        return np.split(rows[: len(wanted)], ends[:-1])

    def _pass(self, tokens: list[int], positions: list[int], wanted: list[int], **given: Any) -> torch.Tensor:
        read, at, rows = (torch.tensor(numbers, device=self._network.device) for numbers in (tokens, positions, wanted))
        output = self._network(read[None], position_ids=at[None], use_cache=False, logits_to_keep=rows, **given)
        logits: torch.Tensor = output.logits[0]
        return logits


def _key_shapes(network: Any) -> list[tuple[int, int]]:
    """Heads and size of each layer's keys and values, seen in a pass of one token."""
    shapes: list[tuple[int, int]] = []
    with torch.inference_mode():
        one = torch.zeros((1, 1), dtype=torch.long, device=network.device)
        network(one, position_ids=one, use_cache=False, seen=shapes)
    return shapes


def _attend(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float | None = None,
    sliding_window: int | None = None,
    pool: torch.Tensor | None = None,
    texts: Sequence[tuple[int, Part, torch.Tensor]] = (),
    seen: list[tuple[int, int]] | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """The library's contract: query (1, heads, rows, size), key and value (1, key heads, rows, size) of the new rows;
    returns (1, rows, heads, size). `texts`: first row, part and pages of each."""
    if seen is not None:
        seen += {(int(key.shape[1]), int(key.shape[3])), (int(value.shape[1]), int(value.shape[3]))}
        return query.transpose(1, 2), None
    assert pool is not None
    found = torch.empty_like(query)
    for first, part, pages in texts:
        rows = slice(first, first + len(part.tokens))
        store = pool[:, module.layer_idx]
        keys, values = _with_new(store, pages, part, key[0, :, rows], value[0, :, rows])
        mask = _seen_by(part, keys.shape[1], sliding_window, query.device)
        found[:, :, rows] = scaled_dot_product_attention(
            query[:, :, rows], keys[None], values[None], mask, scale=scaling, enable_gqa=True
        )
    return found.transpose(1, 2), None


def _with_new(
    store: torch.Tensor, pages: torch.Tensor, part: Part, key: torch.Tensor, value: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """A text's keys and values (heads, tokens, size), after the new ones were put into its pages.

    `store`: a layer's (pages, 2, heads, PAGE * size).
    """
    heads, length, size = key.shape[0], part.start + key.shape[1], key.shape[2]
    positions = torch.arange(part.start, length, device=key.device)
    page, place = pages[positions // PAGE], positions % PAGE
    by_place = (store.shape[0], heads, size, PAGE), (store.shape[0], heads, PAGE, size)
    keys, values = (store[:, kind].view(shape) for kind, shape in enumerate(by_place))
    keys[page, :, :, place] = key.transpose(0, 1)
    values[page, :, place] = value.transpose(0, 1)
    all_keys = keys[pages].permute(1, 0, 3, 2).reshape(heads, -1, size)
    all_values = values[pages].permute(1, 0, 2, 3).reshape(heads, -1, size)
    return all_keys[:, :length], all_values[:, :length]


def _seen_by(part: Part, length: int, window: int | None, device: torch.device) -> torch.Tensor | None:
    """Which positions each row looks at, bool (rows, length); None if all."""
    rows = torch.arange(part.start, length, device=device)[:, None]
    before = torch.arange(length, device=device)[None]
    if len(part.tokens) == 1 and (window is None or window >= length):
        return None
    seen = before <= rows
    return seen if window is None else seen & (before > rows - window)
