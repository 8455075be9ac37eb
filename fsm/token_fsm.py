"""The token FSM of one grammar: nodes are integers, edges are tokens, masks hang on nodes.

This is the Python side of :mod:`.engine`: it owns the growable tables of one grammar, does what
the engine's signals ask for, and turns signals that are the user's business into errors. Nodes
are never renumbered or dropped while the FSM lives, so a node number is a complete, cheap
snapshot of a sequence's grammar state.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import RLock
from time import perf_counter
from typing import Final
from weakref import finalize

import numpy as np
import numpy.typing as npt

from ..errors import LimitError, VocabularyError
from ..grammar import ir
from ..limits import Limits
from . import layout as L
from .capturing import CapturingMatcher
from .completion import ShortestCompletion
from .crossing import Crossing, crossing
from .engine import engine
from .grammar_tables import GrammarTables, TablePool
from .lexemes import LexemeStore
from .matcher import Matcher
from .memory import address_of
from .network import Network
from .tables import VocabularyTables
from .vocabulary import Vocabulary

__all__ = ["DEAD", "TokenFSM"]

DEAD: Final = L.CONFIG_DEAD
"""The node after a token that is not allowed."""

_RULES_AHEAD: Final = 24
_SECONDS_AHEAD: Final = 0.004
"""How many rules a new FSM expands, and for how long it does so and computes rows, before anyone
waits for a mask. Enough for most grammars whole; the rest of a large one is done when reached."""

_MOST_EDGES: Final = 1 << 16
"""Edges kept in Python, about 100 bytes each; more than are in use at once."""


class TokenFSM:
    """A grammar over the tokens of a vocabulary, expanded as it is used.

    Made by :class:`maskwright.Compiler`; all methods that compute take the compiler's lock.

    Most steps of a decoding loop were computed before. What they need is kept in two Python
    objects, which change only after the result they speak of is complete, so that matchers use
    them without the lock.

    Attributes:
        grammar: the IR it was compiled from.
        vocabulary: the tokens.
        start: node of the empty text.
        lock: the compiler's lock.
        address: address of the control block, for batched fills.
        ready: the nodes whose mask is computed.
        edges: ``node * vocabulary.size + token`` to the node after an allowed text token, for
            those lately used.
    """

    def __init__(
        self,
        grammar: ir.Grammar,
        store: LexemeStore,
        tables: VocabularyTables,
        pool: TablePool,
        limits: Limits,
        lock: RLock,
    ) -> None:
        self.grammar = grammar
        self.vocabulary: Vocabulary = tables.vocabulary
        self.lock = lock
        self._store = store
        self._tables = tables
        self._limits = limits
        self.ready: set[int] = set()
        self.edges: dict[int, int] = {}
        self._arena = arena = pool.take()
        # Whoever computes on this FSM holds a reference to it, so its tables are idle then.
        finalize(self, _give_back, pool, arena, lock).atexit = False
        self.address = arena.address
        block = arena.block
        # Reading an element of an array takes three times as long.
        self._block = block.data
        block[L.C_STORE] = store.arena.address
        block[L.C_VOCABULARY] = tables.arena.address
        block[L.C_SCRATCH] = tables.scratch.address
        block[L.C_LIMIT_CONFIGS] = limits.configurations
        block[L.C_LIMIT_THREADS] = limits.threads
        block[L.C_LIMIT_DEPTH] = limits.stack_depth
        self._network = Network(grammar, store, arena)
        self._captures: dict[int, tuple[tuple[ir.Captured, int], ...]] = {}
        self._crossings: dict[int, Crossing] = {}
        self._completion = ShortestCompletion(grammar, self._network, store, arena)
        with lock:
            deadline = perf_counter() + _SECONDS_AHEAD
            self._network.rule(grammar.start)
            self._network.expand_ahead(_RULES_AHEAD, deadline)
            position = self._network.start_of(grammar.start)
            tables.provide_rows_ahead(max(deadline, perf_counter() + _SECONDS_AHEAD / 2))
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
            target = self._run(L.OP_ACCEPT, node, token)
            if target != DEAD:
                edges = self.edges
                if len(edges) >= _MOST_EDGES:
                    edges.clear()
                edges[node * self.vocabulary.size + token] = target
            return target

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
            self._run(L.OP_FILL, node, address)
            self.ready.add(node)
            if not self._block[L.C_ROW_LEFT]:
                self._arena.provide_rows()

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

    def shortest_completion(self, node: int) -> int:
        """The smallest number of bytes that lead from a node to an accepting one.

        Raises:
            ValueError: the node is ``DEAD``.
        """
        with self.lock:
            return self._completion.of(node)

    def matcher(self) -> Matcher:
        """A fresh sequence at the start of the grammar."""
        return CapturingMatcher(self) if self.grammar.captures else Matcher(self)

    # ------------------------------------------------------------------ captured values

    def captures_at(self, node: int) -> tuple[tuple[ir.Captured, int], ...]:
        """What was captured right before a node, each with the continuation behind it."""
        found = self._captures.get(node)
        if found is None:
            with self.lock:
                found = self._captures[node] = tuple(self._find_captures(node))
        return found

    def resume(self, node: int, text: bytes | None) -> int:
        """A node with what follows the values that were captured right before it.

        Args:
            text: the value; ``None`` for one that differs from all others.
        """
        with self.lock:
            for captured, continuation in self.captures_at(node):
                key = self.grammar.after_value(captured.key, text)
                start = self._network.start_of(key)
                behind = self._run(L.OP_ENTER, start, continuation)
                if behind != DEAD:
                    node = self._run(L.OP_UNION, node, behind)
        return node

    def crossing(self, node: int) -> Crossing:
        """The tokens of a node's mask where values are captured."""
        found = self._crossings.get(node)
        if found is None:
            with self.lock:
                root = self._tables.crossing_tokens.root
                found = self._crossings[node] = crossing(self, node, root, self.mask(node))
        return found

    def _find_captures(self, node: int) -> Iterator[tuple[ir.Captured, int]]:
        captures = self._network.captures
        for state, continuation, counter in self._threads(node):
            if state == L.STATE_BARRIER:
                yield captures[counter], continuation
            elif self._store.arena.array(L.S_CODE)[state] & L.FLAG_ACCEPTING:
                closure = self._run(L.OP_ENTER, -1, continuation)
                for inner, behind, number in self._threads(closure):
                    if inner == L.STATE_BARRIER:
                        yield captures[number], behind

    def _threads(self, node: int) -> list[tuple[int, int, int]]:
        """State, continuation and counter of each thread but the end of the text."""
        arena = self._arena
        start = int(arena.array(L.C_CONFIG_START)[node])
        stop = start + int(arena.array(L.C_CONFIG_SIZE)[node])
        keys = arena.array(L.C_THREAD_KEY)[start:stop].tolist()
        counters = arena.array(L.C_THREAD_COUNTER)[start:stop].tolist()
        return [(k >> 32, k & 0xFFFFFFFF, c) for k, c in zip(keys, counters, strict=True) if k]

    def prepare(self, node: int) -> None:
        """Compute a node's mask ahead of use."""
        with self.lock:
            self._run(L.OP_MASK, node, 0)
            self.ready.add(node)

    @property
    def node_count(self) -> int:
        """Number of nodes computed so far."""
        return int(self._arena.block[L.C_CONFIG_COUNT]) - L.CONFIG_END

    @property
    def nbytes(self) -> int:
        """Bytes of this grammar's own tables."""
        return self._arena.nbytes

    # ------------------------------------------------------------------ signals

    def _run(self, operation: int, x: int, y: int) -> int:
        result = engine(self.address, operation, x, y)
        return result if result >= 0 else self._serve(result, operation, x, y)

    def _serve(self, signal: int, operation: int, x: int, y: int) -> int:
        """Do what a signal asks for and repeat, until there is a result."""
        while signal < 0:
            argument: int = self._block[L.C_SIGNAL]
            if signal == L.SIGNAL_RULE:
                self._network.expand(argument)
            elif signal == L.SIGNAL_GROW and argument == L.GROW_SCRATCH:
                self._grow_scratch()
            elif signal == L.SIGNAL_GROW:
                self._arena.grow(argument)
            elif signal == L.SIGNAL_ROW:
                self._tables.provide_row(argument)
            elif signal == L.SIGNAL_COUNTER_ROW:
                self._tables.provide_counter_row(argument)
            elif signal == L.SIGNAL_OWNED_ROW:
                self._arena.provide_rows()
            elif signal == L.SIGNAL_STUCK:
                self._raise_stuck(argument)
            else:
                self._raise_limit(argument)
            signal = engine(self.address, operation, x, y)
        return signal

    def _raise_stuck(self, node: int) -> None:
        expected = bytes(
            byte for byte in range(256) if self._run(L.OP_STEP, node, byte) != L.CONFIG_DEAD
        )
        raise VocabularyError(
            f"the vocabulary cannot spell the grammar: here one of the bytes {expected!r} must "
            "come next, and no token begins with a text that may come; give the vocabulary "
            "single-byte tokens"
        )

    def _raise_limit(self, which: int) -> None:
        limits = self._limits
        name, allowed = {
            L.LIMIT_CONFIGS: ("configurations", limits.configurations),
            L.LIMIT_THREADS: ("threads", limits.threads),
            L.LIMIT_DEPTH: ("stack_depth", limits.stack_depth),
        }[which]
        raise LimitError(stage="token FSM", limit=name, allowed=allowed, actual=allowed + 1)

    def _grow_scratch(self) -> None:
        capacity = 2 * int(self._tables.scratch.block[L.X_CAPACITY])
        if capacity > 16 * self._limits.threads + 4096:
            self._raise_limit(L.LIMIT_THREADS)
        self._tables.grow_scratch(capacity)


def _give_back(pool: TablePool, arena: GrammarTables, lock: RLock) -> None:
    with lock:
        pool.give(arena)
