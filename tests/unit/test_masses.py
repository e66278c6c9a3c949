"""Sums over a trie's subtrees, beside sums over the tokens that begin alike."""

from __future__ import annotations

import numpy as np
import pytest

from engine.analysis.masses import below, running
from engine.vocabulary.trie import build_trie

TOKENS = [b"", b"a", b"ab", b"abc", b"b", b"ab", b"ba", b"c", b"\xff"]


@pytest.mark.parametrize("known", [len(TOKENS), 6, 12])
def test_masses_are_those_of_the_tokens_that_begin_alike(known: int) -> None:
    """Also where logits are fewer than tokens, or more."""
    random = np.random.default_rng(known)
    raw, allowed, lawful = random.random(known), random.random(known) < 0.3, random.random(known) < 0.5
    trie = build_trie(TOKENS)
    before, masked, refused = running(raw, allowed, lawful, trie.token_ids)
    kept = np.where(allowed | lawful, 0.0, raw)
    assert masked == pytest.approx(raw[~allowed].sum())
    assert refused == pytest.approx(kept.sum())
    spelled = [token_id for token_id in range(min(known, len(TOKENS))) if TOKENS[token_id]]
    for node_bytes in (b"", b"a", b"ab", b"b", b"c"):
        node = trie.find(node_bytes)
        assert node is not None
        own, children, masses = below(node, trie.skip, trie.token_start, before)
        assert own == pytest.approx(sum(kept[i] for i in spelled if TOKENS[i] == node_bytes))
        expected = {}
        for i in spelled:
            if TOKENS[i].startswith(node_bytes) and TOKENS[i] != node_bytes and kept[i]:
                child = trie.child(node, TOKENS[i][len(node_bytes)])
                expected[child] = expected.get(child, 0.0) + kept[i]
        assert dict(zip(children.tolist(), masses.tolist(), strict=True)) == pytest.approx(expected)
