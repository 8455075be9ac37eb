"""The preorder trie against one built from Python dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwright.errors import VocabularyError
from maskwright.fsm.token_order import sort_tokens
from maskwright.fsm.tokenizers.table import join_tokens
from maskwright.fsm.trie import MAX_TOKEN_BYTES, Trie, build_trie

pytestmark = pytest.mark.jit_off

# Few distinct bytes, so that prefixes are shared; NUL is in, as it must not act as an end.
token_bytes = st.text(alphabet="ab\0", max_size=12).map(str.encode)
vocabularies = st.lists(token_bytes, max_size=24)


def trie_of(tokens: list[bytes], keep: set[int] | None = None) -> Trie:
    blob, offsets = join_tokens(tokens)
    ids = sort_tokens(blob, offsets)
    if keep is not None:
        ids = ids[[t in keep for t in ids.tolist()]]
    return build_trie(blob, offsets, ids)


def prefixes_in_preorder(trie: Trie) -> list[bytes]:
    """Each node's prefix, spelled by a walk over depths."""
    path = bytearray()
    result = []
    for byte, depth in zip(trie.byte.tolist(), trie.depth.tolist(), strict=True):
        del path[depth - 1 :]
        path.append(byte)
        result.append(bytes(path))
    return result


@given(vocabularies)
def test_tokens_are_sorted_by_bytes_then_id(tokens: list[bytes]) -> None:
    blob, offsets = join_tokens(tokens)
    expected = [t for _, t in sorted((value, t) for t, value in enumerate(tokens) if value)]
    assert sort_tokens(blob, offsets).tolist() == expected


@given(st.lists(st.binary(min_size=7, max_size=18), max_size=40), st.binary(max_size=9))
def test_tokens_that_share_their_first_eight_bytes_are_sorted(
    tails: list[bytes], head: bytes
) -> None:
    tokens = [head + tail for tail in tails]
    blob, offsets = join_tokens(tokens)
    expected = [t for _, t in sorted((value, t) for t, value in enumerate(tokens))]
    assert sort_tokens(blob, offsets).tolist() == expected


@given(vocabularies, st.sets(st.integers(0, 23)))
def test_trie_equals_the_naive_one(tokens: list[bytes], keep: set[int]) -> None:
    trie = trie_of(tokens, keep)
    kept = {t: tokens[t] for t in keep if t < len(tokens) and tokens[t]}
    prefixes = sorted({value[:n] for value in kept.values() for n in range(1, len(value) + 1)})
    assert prefixes_in_preorder(trie) == prefixes
    assert len(trie) == len(prefixes)
    assert trie.max_depth == max(map(len, kept.values()), default=0)
    assert len(trie.t0) == len(trie) + 1
    for i, prefix in enumerate(prefixes):
        below = [p for p in prefixes if p.startswith(prefix)]
        assert trie.end[i] - i == len(below)
        exact = trie.tokens[trie.t0[i] : trie.t1[i]].tolist()
        assert exact == sorted(t for t, value in kept.items() if value == prefix)
        subtree = trie.tokens[trie.t0[i] : trie.t0[trie.end[i]]].tolist()
        assert sorted(subtree) == sorted(t for t, v in kept.items() if v.startswith(prefix))


def test_arrays_have_the_documented_types() -> None:
    trie = trie_of([b"a", b"ab"])
    dtypes = [a.dtype for a in (trie.byte, trie.depth, trie.end, trie.t0, trie.t1, trie.tokens)]
    assert dtypes == [np.uint8, np.uint16, np.int32, np.int32, np.int32, np.int32]


def test_no_tokens_give_an_empty_trie() -> None:
    trie = trie_of([b"", b""])
    assert len(trie) == 0
    assert trie.t0.tolist() == [0]
    assert trie.max_depth == 0


def test_duplicates_end_at_one_node() -> None:
    trie = trie_of([b"x", b"xy", b"x"])
    assert trie.tokens.tolist() == [0, 2, 1]
    assert (trie.t0.tolist(), trie.t1.tolist()) == ([0, 2, 3], [2, 3])


def test_empty_tokens_are_refused() -> None:
    blob, offsets = join_tokens([b"a", b""])
    with pytest.raises(VocabularyError, match="without bytes"):
        build_trie(blob, offsets, np.array([1, 0], np.int32))


def test_a_token_too_long_for_a_depth_is_refused() -> None:
    with pytest.raises(VocabularyError, match=r"token 1 has 65536 bytes"):
        trie_of([b"a", b"b" * (MAX_TOKEN_BYTES + 1)])
