"""The token FSM of one grammar: nodes are integers, edges are tokens, masks hang on nodes.

This is the Python side of :mod:`.engine`: it owns the growable tables of one grammar, does what
the engine's signals ask for, and turns signals that are the user's business into errors. Nodes
are never renumbered or dropped while the FSM lives, so a node number is a complete, cheap
snapshot of a sequence's grammar state.
"""

from __future__ import annotations

from threading import RLock
from typing import Final

import numpy as np
import numpy.typing as npt

from ..errors import LimitError, VocabularyError
from ..grammar import ir
from ..limits import Limits
from . import layout as L
from .engine import engine
from .lexemes import LexemeStore
from .matcher import Matcher
from .memory import Arena, address_of
from .network import Network
from .tables import VocabularyTables
from .vocabulary import Vocabulary

__all__ = ["DEAD", "TokenFSM"]

DEAD: Final = L.CONFIG_DEAD
"""The node after a token that is not allowed."""

_INITIAL_CONFIGS = 64
_ROWS_PER_CHUNK = 16


class TokenFSM:
    """A grammar over the tokens of a vocabulary, expanded as it is used.

    Made by :class:`maskwright.Compiler`; all methods that compute take the compiler's lock.

    Attributes:
        grammar: the IR it was compiled from.
        vocabulary: the tokens.
        start: node of the empty text.
        lock: the compiler's lock.
        address: address of the control block, for batched fills.
    """

    def __init__(
        self,
        grammar: ir.Grammar,
        store: LexemeStore,
        tables: VocabularyTables,
        limits: Limits,
        lock: RLock,
    ) -> None:
        self.grammar = grammar
        self.vocabulary: Vocabulary = tables.vocabulary
        self.lock = lock
        self._store = store
        self._tables = tables
        self._limits = limits
        self._arena = arena = Arena(L.C_SLOTS)
        self.address = arena.address
        block = arena.block
        block[L.C_STORE] = store.arena.address
        block[L.C_VOCABULARY] = tables.arena.address
        block[L.C_SCRATCH] = tables.scratch.address
        block[L.C_LIMIT_CONFIGS] = limits.configurations
        block[L.C_LIMIT_THREADS] = limits.threads
        block[L.C_LIMIT_DEPTH] = limits.stack_depth
        self._rows: list[npt.NDArray[np.uint32]] = []
        self._network = Network(grammar, store, arena)
        self._create_continuations()
        self._create_configs()
        arena.allocate(L.C_MASK_IDS, 512, np.int32)
        block[L.C_MASK_ID_CAPACITY] = 512
        with lock:
            position = self._network.start_of(grammar.start)
            arena.array(L.C_CONT_POSITION)[L.CONTINUATION_START] = position
            self.start: int = self._run(L.OP_START, 0, 0)
        if self.start == DEAD:
            raise VocabularyError("the grammar's start rule has no text")

    # ------------------------------------------------------------------ operations on nodes

    def advance(self, node: int, token: int) -> int:
        """The node after a text token, ``DEAD`` if it is not allowed.

        ``token`` must be in ``0 .. vocabulary.size - 1``; EOS and special ids are never text.
        """
        with self.lock:
            target = engine(self.address, L.OP_ACCEPT, node, token)
            return target if target >= 0 else self._serve(target, L.OP_ACCEPT, node, token)

    def step(self, node: int, byte: int) -> int:
        """The node after one byte, ``DEAD`` if it is not allowed."""
        with self.lock:
            return self._run(L.OP_STEP, node, byte)

    def is_accepting(self, node: int) -> bool:
        """Whether the text may end at this node."""
        with self.lock:
            return self._run(L.OP_ACCEPTING, node, 0) == 1

    def fill(self, node: int, address: int) -> None:
        """Write the node's mask, ``ceil(size / 32)`` words, to an address."""
        with self.lock:
            result = engine(self.address, L.OP_FILL, node, address)
            if result < 0:
                self._serve(result, L.OP_FILL, node, address)

    def mask(self, node: int) -> npt.NDArray[np.int32]:
        """The node's mask as a new ``int32[ceil(size / 32)]``."""
        bits = np.empty(self._tables.words, np.int32)
        self.fill(node, address_of(bits))
        return bits

    def forced_bytes(self, node: int, limit: int = 4096) -> tuple[bytes, int]:
        """The bytes that every completion begins with -> (bytes, node after them)."""
        result = bytearray()
        with self.lock:
            while len(result) < limit:
                byte = self._run(L.OP_FORCED, node, 0)
                if byte == L.NOT_FORCED:
                    break
                result.append(byte)
                node = self._run(L.OP_STEP, node, byte)
        return bytes(result), node

    def matcher(self) -> Matcher:
        """A fresh sequence at the start of the grammar."""
        return Matcher(self)

    def prepare(self, node: int) -> None:
        """Compute a node's mask ahead of use."""
        with self.lock:
            self._run(L.OP_MASK, node, 0)

    @property
    def node_count(self) -> int:
        """Number of nodes computed so far."""
        return int(self._arena.block[L.C_CONFIG_COUNT]) - L.CONFIG_END

    @property
    def nbytes(self) -> int:
        """Bytes of this grammar's own tables."""
        return self._arena.nbytes + sum(row.nbytes for row in self._rows)

    # ------------------------------------------------------------------ signals

    def _run(self, operation: int, x: int, y: int) -> int:
        result = engine(self.address, operation, x, y)
        return result if result >= 0 else self._serve(result, operation, x, y)

    def _serve(self, signal: int, operation: int, x: int, y: int) -> int:
        """Do what a signal asks for and repeat, until there is a result."""
        while signal < 0:
            argument = int(self._arena.block[L.C_SIGNAL])
            if signal == L.SIGNAL_RULE:
                self._network.expand(argument)
            elif signal == L.SIGNAL_GROW:
                self._grow(argument)
            elif signal == L.SIGNAL_ROW:
                self._tables.provide_row(self.address, argument)
            elif signal == L.SIGNAL_COUNTER_ROW:
                self._tables.provide_counter_row(self.address, argument)
            elif signal == L.SIGNAL_OWNED_ROW:
                self._provide_owned_rows()
            else:
                self._raise_limit(argument)
            signal = engine(self.address, operation, x, y)
        return signal

    def _raise_limit(self, which: int) -> None:
        limits = self._limits
        name, allowed = {
            L.LIMIT_CONFIGS: ("configurations", limits.configurations),
            L.LIMIT_THREADS: ("threads", limits.threads),
            L.LIMIT_DEPTH: ("stack_depth", limits.stack_depth),
        }[which]
        raise LimitError(
            stage="token FSM", limit=name, allowed=allowed, actual=allowed + 1
        )

    # ------------------------------------------------------------------ tables

    def _create_continuations(self) -> None:
        capacity = 64
        arena = self._arena
        for slot in (
            L.C_CONT_POSITION, L.C_CONT_PARENT, L.C_CONT_DEPTH, L.C_CONT_CLOSURE,
        ):  # fmt: skip
            arena.allocate(slot, capacity, np.int32)
        arena.allocate(L.C_CONT_TABLE, 2 * capacity, np.int32)
        arena.block[L.C_CONT_MASK] = 2 * capacity - 1
        arena.block[L.C_CONT_COUNT] = 2
        arena.block[L.C_CONT_CAPACITY] = capacity
        arena.array(L.C_CONT_CLOSURE)[L.CONTINUATION_END] = L.CONFIG_END

    def _create_configs(self) -> None:
        capacity = _INITIAL_CONFIGS
        arena = self._arena
        for slot in (
            L.C_CONFIG_START, L.C_CONFIG_SIZE, L.C_MASK_START, L.C_MASK_SIZE,
        ):  # fmt: skip
            arena.allocate(slot, capacity, np.int32)
        arena.allocate(L.C_MASK_STATE, capacity, np.uint8)
        arena.allocate(L.C_ROW_READY, capacity, np.uint8)
        arena.array(L.C_ROW_READY)[: L.CONFIG_END + 1] = 1
        arena.allocate(L.C_MASK_ROW, capacity, np.int64)
        arena.allocate(L.C_NEXT, 256 * capacity, np.int32)
        arena.array(L.C_NEXT)[256 * DEAD : 256 * (L.CONFIG_END + 1)] = DEAD
        arena.allocate(L.C_CONFIG_TABLE, 2 * capacity, np.int32)
        threads = 4 * capacity
        arena.allocate(L.C_THREAD_KEY, threads, np.int64)
        arena.allocate(L.C_THREAD_COUNTER, threads, np.int64)
        block = arena.block
        block[L.C_CONFIG_MASK] = 2 * capacity - 1
        block[L.C_CONFIG_COUNT] = 3
        block[L.C_CONFIG_CAPACITY] = capacity
        block[L.C_THREAD_CAPACITY] = threads
        # The end of the text: one thread, the pseudo-state 0 with nothing after it.
        arena.array(L.C_CONFIG_SIZE)[L.CONFIG_END] = 1
        block[L.C_THREAD_COUNT] = 1
        self._rehash_configs()

    def _grow(self, group: int) -> None:
        arena, block = self._arena, self._arena.block
        if group == L.GROW_CONTINUATIONS:
            capacity = 2 * int(block[L.C_CONT_CAPACITY])
            for slot in (
                L.C_CONT_POSITION, L.C_CONT_PARENT, L.C_CONT_DEPTH, L.C_CONT_CLOSURE,
            ):  # fmt: skip
                arena.grow(slot, capacity)
            block[L.C_CONT_CAPACITY] = capacity
            self._rehash_continuations()
        elif group == L.GROW_CONFIGS:
            capacity = min(2 * int(block[L.C_CONFIG_CAPACITY]), int(block[L.C_LIMIT_CONFIGS]))
            for slot in (
                L.C_CONFIG_START, L.C_CONFIG_SIZE, L.C_MASK_START, L.C_MASK_SIZE,
                L.C_MASK_STATE, L.C_MASK_ROW, L.C_ROW_READY,
            ):  # fmt: skip
                arena.grow(slot, capacity)
            arena.grow(L.C_NEXT, 256 * capacity)
            block[L.C_CONFIG_CAPACITY] = capacity
            self._rehash_configs()
        elif group == L.GROW_THREADS:
            needed = int(block[L.C_THREAD_COUNT]) + int(self._tables.scratch.block[L.X_CAPACITY])
            capacity = max(2 * int(block[L.C_THREAD_CAPACITY]), needed)
            arena.grow(L.C_THREAD_KEY, capacity)
            arena.grow(L.C_THREAD_COUNTER, capacity)
            block[L.C_THREAD_CAPACITY] = capacity
        elif group == L.GROW_IDS:
            capacity = 2 * int(block[L.C_MASK_ID_CAPACITY])
            arena.grow(L.C_MASK_IDS, capacity)
            block[L.C_MASK_ID_CAPACITY] = capacity
        else:
            capacity = 2 * int(self._tables.scratch.block[L.X_CAPACITY])
            if capacity > 16 * self._limits.threads + 4096:
                self._raise_limit(L.LIMIT_THREADS)
            self._tables.grow_scratch(capacity)

    def _rehash_continuations(self) -> None:
        arena, block = self._arena, self._arena.block
        capacity = int(block[L.C_CONT_CAPACITY])
        arena.allocate(L.C_CONT_TABLE, 2 * capacity, np.int32)
        block[L.C_CONT_MASK] = 2 * capacity - 1
        engine(self.address, L.OP_REHASH_CONTINUATIONS, 0, 0)

    def _rehash_configs(self) -> None:
        arena, block = self._arena, self._arena.block
        size = 1 << (2 * int(block[L.C_CONFIG_CAPACITY]) - 1).bit_length()
        arena.allocate(L.C_CONFIG_TABLE, size, np.int32)
        block[L.C_CONFIG_MASK] = size - 1
        engine(self.address, L.OP_REHASH_CONFIGS, 0, 0)

    def _provide_owned_rows(self) -> None:
        words = self._tables.words
        chunk = np.zeros(_ROWS_PER_CHUNK * words, np.uint32)
        self._rows.append(chunk)
        self._arena.block[L.C_ROW_NEXT] = address_of(chunk)
        self._arena.block[L.C_ROW_LEFT] = _ROWS_PER_CHUNK
