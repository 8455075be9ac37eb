"""The growable tables of one grammar's FSM: continuations, configurations, masks.

Fresh pages cost a fault at their first touch, more than what is written to them, and most
grammars need about the same few hundred kilobytes. A compiler therefore keeps the tables of
FSMs that are gone (:class:`TablePool`), with the used part wiped, for the next ones.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from . import layout as L
from .engine import engine
from .memory import Arena, address_of

__all__ = ["GrammarTables", "TablePool"]

# What few grammars exceed. Fresh pages that are not touched cost nothing.
_CONFIGS: Final = 1024
_CONTINUATIONS: Final = 1024
_THREADS: Final = 8192
_IDS: Final = 32768
_ROWS_PER_CHUNK: Final = 8

_GROWTH: Final = 4
"""Factor; growing copies what is used in the middle of a step, so it should be rare."""

_BY_CONTINUATION: Final = (
    L.C_CONT_POSITION, L.C_CONT_PARENT, L.C_CONT_DEPTH, L.C_CONT_CLOSURE,
)  # fmt: skip
_BY_CONFIG: Final = (
    L.C_CONFIG_START, L.C_CONFIG_SIZE, L.C_MASK_START, L.C_MASK_SIZE, L.C_MASK_STATE,
    L.C_MASK_ROW, L.C_LIVE_READY,
)  # fmt: skip


class GrammarTables(Arena):
    """The FSM block and its arrays. Guarded by the compiler's lock.

    Args:
        words: words of a mask row.
    """

    __slots__ = ("_rows", "_used_rows", "_words")

    def __init__(self, words: int) -> None:
        super().__init__(L.C_SLOTS)
        self._words = words
        self._rows: list[npt.NDArray[np.uint32]] = []
        self._used_rows = 0
        block = self.block
        for slot in _BY_CONTINUATION:
            self.allocate(slot, _CONTINUATIONS, np.int32)
        self.allocate(L.C_CONT_TABLE, 2 * _CONTINUATIONS, np.int32)
        block[L.C_CONT_MASK] = 2 * _CONTINUATIONS - 1
        block[L.C_CONT_CAPACITY] = _CONTINUATIONS
        for slot in (L.C_CONFIG_START, L.C_CONFIG_SIZE, L.C_MASK_START, L.C_MASK_SIZE):
            self.allocate(slot, _CONFIGS, np.int32)
        self.allocate(L.C_MASK_STATE, _CONFIGS, np.uint8)
        self.allocate(L.C_LIVE_READY, _CONFIGS, np.uint8)
        self.allocate(L.C_MASK_ROW, _CONFIGS, np.int64)
        self.allocate(L.C_NEXT, 256 * _CONFIGS, np.int32)
        self.allocate(L.C_LIVE, 4 * _CONFIGS, np.int64)
        self.allocate(L.C_CONFIG_TABLE, 2 * _CONFIGS, np.int32)
        block[L.C_CONFIG_MASK] = 2 * _CONFIGS - 1
        block[L.C_CONFIG_CAPACITY] = _CONFIGS
        self.allocate(L.C_THREAD_KEY, _THREADS, np.int64)
        self.allocate(L.C_THREAD_COUNTER, _THREADS, np.int64)
        block[L.C_THREAD_CAPACITY] = _THREADS
        self.allocate(L.C_MASK_IDS, _IDS, np.int32)
        block[L.C_MASK_ID_CAPACITY] = _IDS
        self._begin()

    def _begin(self) -> None:
        """The fixed entries: two continuations, and the dead and the end configuration."""
        block = self.block
        block[L.C_CONT_COUNT] = 2
        self.array(L.C_CONT_CLOSURE)[L.CONTINUATION_END] = L.CONFIG_END
        block[L.C_CONFIG_COUNT] = L.CONFIG_END + 1
        self.array(L.C_LIVE_READY)[: L.CONFIG_END + 1] = L.LIVE_EXACT
        # The end of the text: one thread, the pseudo-state 0 with nothing after it.
        self.array(L.C_CONFIG_SIZE)[L.CONFIG_END] = 1
        self.array(L.C_THREAD_KEY)[0] = 0
        self.array(L.C_THREAD_COUNTER)[0] = 0
        block[L.C_THREAD_COUNT] = 1
        block[L.C_MASK_ID_COUNT] = 0
        block[L.C_ROW_NEXT] = 0
        block[L.C_ROW_LEFT] = 0
        self._used_rows = 0
        self.provide_rows()
        engine(self.address, L.OP_REHASH_CONFIGS, 0, 0)

    def reset(self) -> None:
        """Wipe what was used; the capacity stays."""
        configs = int(self.block[L.C_CONFIG_COUNT])
        self.array(L.C_NEXT)[: 256 * configs] = L.CONFIG_UNKNOWN
        for slot in (L.C_MASK_STATE, L.C_LIVE_READY):
            self.array(slot)[:configs] = 0
        self.array(L.C_CONT_CLOSURE)[: int(self.block[L.C_CONT_COUNT])] = L.CONFIG_UNKNOWN
        self.array(L.C_CONFIG_TABLE)[:] = 0
        self.array(L.C_CONT_TABLE)[:] = 0
        self._begin()

    def grow(self, group: int) -> None:
        """Enlarge the tables of a ``GROW_*`` group (other than the scratch buffers)."""
        block = self.block
        if group == L.GROW_CONTINUATIONS:
            capacity = _GROWTH * int(block[L.C_CONT_CAPACITY])
            for slot in _BY_CONTINUATION:
                self.extend(slot, capacity)
            block[L.C_CONT_CAPACITY] = capacity
            self.allocate(L.C_CONT_TABLE, 2 * capacity, np.int32)
            block[L.C_CONT_MASK] = 2 * capacity - 1
            engine(self.address, L.OP_REHASH_CONTINUATIONS, 0, 0)
        elif group == L.GROW_CONFIGS:
            capacity = _GROWTH * int(block[L.C_CONFIG_CAPACITY])
            for slot in _BY_CONFIG:
                self.extend(slot, capacity)
            self.extend(L.C_NEXT, 256 * capacity)
            self.extend(L.C_LIVE, 4 * capacity)
            block[L.C_CONFIG_CAPACITY] = capacity
            self.allocate(L.C_CONFIG_TABLE, 2 * capacity, np.int32)
            block[L.C_CONFIG_MASK] = 2 * capacity - 1
            engine(self.address, L.OP_REHASH_CONFIGS, 0, 0)
        elif group == L.GROW_THREADS:
            capacity = _GROWTH * int(block[L.C_THREAD_CAPACITY])
            self.extend(L.C_THREAD_KEY, capacity)
            self.extend(L.C_THREAD_COUNTER, capacity)
            block[L.C_THREAD_CAPACITY] = capacity
        else:
            capacity = _GROWTH * int(block[L.C_MASK_ID_CAPACITY])
            self.extend(L.C_MASK_IDS, capacity)
            block[L.C_MASK_ID_CAPACITY] = capacity

    def provide_rows(self) -> None:
        """Hand the engine a chunk of rows for masks that share none.

        Ahead of need: a mask that finds none left is computed twice.
        """
        if self._used_rows == len(self._rows):
            self._rows.append(np.empty(_ROWS_PER_CHUNK * self._words, np.uint32))
        self.block[L.C_ROW_NEXT] = address_of(self._rows[self._used_rows])
        self.block[L.C_ROW_LEFT] = _ROWS_PER_CHUNK
        self._used_rows += 1

    @property
    def nbytes(self) -> int:
        """Bytes held, including reserved capacity."""
        return super().nbytes + sum(row.nbytes for row in self._rows)


class TablePool:
    """Tables of FSMs that are gone. Guarded by the compiler's lock."""

    _KEPT: Final = 4
    _MOST_BYTES: Final = 8 << 20

    def __init__(self, words: int) -> None:
        self._words = words
        self._free: list[GrammarTables] = []

    def take(self) -> GrammarTables:
        """Wiped tables."""
        return self._free.pop() if self._free else GrammarTables(self._words)

    def give(self, tables: GrammarTables) -> None:
        """Take back the tables of an FSM that no longer exists."""
        if len(self._free) < self._KEPT and tables.nbytes <= self._MOST_BYTES:
            tables.reset()
            self._free.append(tables)

    @property
    def nbytes(self) -> int:
        return sum(tables.nbytes for tables in self._free)
