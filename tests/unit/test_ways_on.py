"""Which bytes lead on from the nodes of a trie, and with which bytes what remains may begin."""

from __future__ import annotations

import pytest

from engine.automaton.terms import byte_range, byte_set
from engine.masking.ways_on import ANY, folded, ways_on
from engine.vocabulary.trie import build_trie
from tests.unit.test_mask_properties import TOKENS


def test_bytes_that_are_equal_modulo_64_are_one() -> None:
    assert folded(0) == 0
    assert folded(byte_set(b"\x00\x3f")) == 1 | 1 << 63
    assert folded(byte_set(b"!a")) == 1 << 33  # 0x21 and 0x61
    assert folded(byte_set(b"\xff")) == 1 << 63
    assert folded(byte_range(0x80, 0xBF)) == ANY


def test_ways_on_by_hand() -> None:
    trie = build_trie([b"", b"a", b"ab", b"a c", b"b"])
    spelled = {name: trie.find(name) for name in (b"", b"a", b"ab", b"a ", b"a c", b"b")}
    expected = {b"": b"ab", b"a": b"b ", b"ab": b"", b"a ": b"c", b"a c": b"", b"b": b""}
    assert {name: int(ways_on(trie)[node]) for name, node in spelled.items()} == {
        name: folded(byte_set(onward)) for name, onward in expected.items()
    }


@pytest.mark.parametrize("tokens", [[], [b""], [b"x"], TOKENS], ids=["none", "empty", "one", "many"])
def test_every_child_is_led_to(tokens: list[bytes]) -> None:
    trie = build_trie(tokens)
    found = ways_on(trie)
    assert found.shape == (len(trie),)
    for node in range(len(trie)):
        onward = byte_set(byte for byte in range(256) if trie.child(node, byte) is not None)
        assert int(found[node]) == folded(onward)
