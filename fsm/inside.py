"""Which tokens stay inside a JSON string, from a state of its automaton on.

One walk of the whole vocabulary, in preorder: a dead byte skips its subtree, and the arrays are
read strictly forwards, several times faster than following child ranges. The result is not a
row but a count for each token, 1 + the characters it begins (0 if it does not stay inside), so
that one walk serves every bound on the number of characters.

All states inside a string have rows over byte classes; names that an undeclared key excludes
make no difference to what stays inside.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..jit import kernel
from . import layout as L
from .memory import Arena
from .trie import Trie

__all__ = ["inside_counts", "row_of_counts"]


@kernel(
    "int64(int64[::1], int32[::1], uint8[::1], int64, uint8[::1], uint16[::1], int32[::1],"
    " int32[::1], int32[::1], int32[::1], int64[:, ::1], uint16[::1])"
)
def _inside(codes, transitions, class_maps, state, byte, depth, end, t0, t1, tokens, path, counts):
    """Fill ``counts`` -> how many tokens stay inside.

    ``path[d]`` is what the open node of depth ``d`` has: offset of its row of transitions, of its
    class map, and the characters begun.
    """
    code = codes[state]
    path[0, 0] = code >> L.CODE_ARGUMENT
    path[0, 1] = ((code >> L.CODE_CLASSES) & L.CODE_CLASSES_MASK) * 256
    path[0, 2] = 1 if code & L.FLAG_BOUNDARY else 0
    total = 0
    node = 0
    while node < len(byte):
        below = depth[node]
        above = below - 1
        target = transitions[path[above, 0] + class_maps[path[above, 1] + byte[node]]]
        code = codes[target]
        if target == L.STATE_DEAD or code & L.FLAG_FINAL:
            node = end[node]
            continue
        begun = path[above, 2]
        for i in range(t0[node], t1[node]):
            counts[tokens[i]] = begun + 1
            total += 1
        path[below, 0] = code >> L.CODE_ARGUMENT
        path[below, 1] = ((code >> L.CODE_CLASSES) & L.CODE_CLASSES_MASK) * 256
        path[below, 2] = begun + (1 if code & L.FLAG_BOUNDARY else 0)
        node += 1
    return total


@kernel("int64(uint16[::1], int64, uint32[::1])")
def _row(counts, most, row):
    total = 0
    size = len(counts)
    for w in range(len(row)):
        bits = 0
        for i in range(min(32, size - 32 * w)):
            count = counts[32 * w + i]
            if 1 <= count <= most:
                bits |= 1 << i
                total += 1
        row[w] = bits
    return total


def inside_counts(
    store: Arena, trie: Trie, state: int, size: int
) -> tuple[npt.NDArray[np.uint16], int]:
    """``uint16[size]`` of counts, and how many are not 0.

    Args:
        store: the store block, ``S_*``.
        trie: all text tokens.
        state: a state at a character boundary inside a JSON string, not an override.
        size: number of tokens.
    """
    counts = np.zeros(size, np.uint16)
    path = np.empty((trie.max_depth + 1, 3), np.int64)
    total = _inside(
        store.array(L.S_CODE), store.array(L.S_TRANSITIONS), store.array(L.S_CLASS_MAPS), state,
        trie.byte, trie.depth, trie.end, trie.t0, trie.t1, trie.tokens, path, counts,
    )  # fmt: skip
    return counts, total


def row_of_counts(
    counts: npt.NDArray[np.uint16], most: int | None
) -> tuple[npt.NDArray[np.uint32], int]:
    """Mask row of the tokens that begin at most so many characters, and their number."""
    row = np.empty((len(counts) + 31) // 32, np.uint32)
    tokens = _row(counts, 0xFFFF if most is None else min(most + 1, 0xFFFF), row)
    return row, tokens
