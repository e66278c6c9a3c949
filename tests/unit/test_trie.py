"""The byte trie: layout by hand, and every property a walk relies on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.vocabulary import Trie, build_trie

token_lists = st.lists(st.binary(max_size=6) | st.text(alphabet="ab", max_size=6).map(str.encode), max_size=40)


def spelled(trie: Trie) -> dict[int, bytes]:
    """The bytes of every node, read from `byte` and `depth` alone."""
    texts: dict[int, bytes] = {}
    path = bytearray()
    for node in range(len(trie)):
        if node:
            del path[int(trie.depth[node]) - 1 :]
            path.append(int(trie.byte[node]))
        texts[node] = bytes(path)
    return texts


def test_layout_by_hand() -> None:
    #          ids: 0     1      2     3      4    5
    trie = build_trie([b"b", b"ab", b"a", b"abc", b"", b"ab"])
    # root, a, ab, abc, b
    assert trie.byte.tolist() == [0, *b"abcb"]
    assert trie.depth.tolist() == [0, 1, 2, 3, 1]
    assert trie.skip.tolist() == [5, 4, 4, 4, 5]
    assert trie.token_start.tolist() == [0, 0, 1, 3, 4, 5]
    assert trie.token_ids.tolist() == [2, 1, 5, 3, 0]


def test_types_and_immutability() -> None:
    trie = build_trie([b"a"])
    assert trie.byte.dtype == np.uint8
    for array in (trie.depth, trie.skip, trie.token_start, trie.token_ids):
        assert array.dtype == np.int32
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("tokens", [[], [b""], [b"", b""]])
def test_no_tokens(tokens: list[bytes]) -> None:
    trie = build_trie(tokens)
    assert len(trie) == 1
    assert trie.skip.tolist() == [1]
    assert trie.token_start.tolist() == [0, 0]
    assert trie.find(b"a") is None


def test_child_and_find() -> None:
    trie = build_trie([b"\x00", b"\xff\x00", b"ab", b"ad"])
    assert trie.child(0, 0x00) == 1
    assert trie.child(0, ord("b")) is None
    a = trie.child(0, ord("a"))
    assert a is not None
    assert [trie.child(a, byte) is not None for byte in b"abcd"] == [False, True, False, True]
    assert trie.subtree_ids(a) == [2, 3]
    assert trie.find(b"") == 0
    assert trie.find(b"abc") is None


@given(token_lists)
def test_every_token_is_found_and_nothing_else(tokens: list[bytes]) -> None:
    trie = build_trie(tokens)
    expected: dict[bytes, list[int]] = {}
    for token_id, token in enumerate(tokens):
        if token:
            expected.setdefault(token, []).append(token_id)
    assert {text: trie.ids(node) for node, text in spelled(trie).items() if trie.ids(node)} == expected
    for token, ids in expected.items():
        node = trie.find(token)
        assert node is not None
        assert trie.ids(node) == ids


@given(token_lists)
def test_nodes_are_the_prefixes_in_order(tokens: list[bytes]) -> None:
    prefixes = {token[:length] for token in tokens for length in range(len(token) + 1)} | {b""}
    assert list(spelled(build_trie(tokens)).values()) == sorted(prefixes)


@given(token_lists)
def test_skip_leaves_exactly_the_subtree(tokens: list[bytes]) -> None:
    trie = build_trie(tokens)
    texts = spelled(trie)
    for node, text in texts.items():
        inside = {other for other, longer in texts.items() if longer.startswith(text)}
        assert inside == set(range(node, int(trie.skip[node])))
        assert trie.subtree_ids(node) == sorted(
            (token_id for token_id, token in enumerate(tokens) if token and token.startswith(text)),
            key=lambda token_id: (tokens[token_id], token_id),
        )
