"""Sequences in grammars where the text goes on as earlier values say (:class:`.ir.Captured`).

A parser's state says nothing of what the values were. Here a barrier stands after a captured
value: a thread that no byte can move. Whoever follows a text sees it in the configuration, knows
which value it was, and adds the configuration of the rule that this value leads to. Only then
does the text go on. So a configuration that the barriers were taken from is a complete state
again, and everything else works as for other grammars.

**Masks.** A token may cross a barrier: ``","`` ends an item and begins the next one. The engine's
mask holds the tokens up to a barrier. Those that cross one are found once a configuration, by a
walk over the few tokens of the vocabulary in which something follows a value. Behind the barrier
the walk goes on as after a value that differs from all others (``text=None``), which is right for
the rest of the array and whatever follows it. It need not be right for the next item: tokens
that get that far are checked one by one with the real values, whenever a mask is filled.

Where the value begins is found by a scan of the text, which is JSON (:func:`scan`). It is done
when a barrier is met, from the last place where it was done.

Rejected: values as part of configurations (each prefix of each string would be one, in masks too),
one lexeme for each item with its text (the same).
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from . import layout as L
from .matcher import DONE, Matcher
from .memory import host_words

if TYPE_CHECKING:
    from .token_fsm import TokenFSM

__all__ = ["CapturingMatcher", "Scan", "scan"]

_Stack: TypeAlias = tuple[int, "_Stack"] | None

_BETWEEN, _IN_STRING, _ESCAPED, _IN_WORD = range(4)


class Scan(NamedTuple):
    """A JSON text up to some byte.

    Attributes:
        mode: what the next byte is part of.
        start: where the value began that was read last, or is being read.
        containers: where the open arrays and objects began, the innermost first.
    """

    mode: int = _BETWEEN
    start: int = 0
    containers: _Stack = None


def scan(state: Scan, text: bytes | bytearray, start: int) -> Scan:
    """Go on with a text from byte ``start`` to its end."""
    mode, begin, containers = state
    for i in range(start, len(text)):
        byte = text[i]
        if mode == _IN_STRING:
            if byte == 0x22:
                mode = _BETWEEN
            elif byte == 0x5C:
                mode = _ESCAPED
        elif mode == _ESCAPED:
            mode = _IN_STRING
        elif byte == 0x22:
            mode, begin = _IN_STRING, i
        elif byte in b"[{":
            mode, containers = _BETWEEN, (i, containers)
        elif byte in b"]}" and containers is not None:
            mode = _BETWEEN
            begin, containers = containers
        elif byte in b",: \t\n\r":
            mode = _BETWEEN
        elif mode == _BETWEEN:
            mode, begin = _IN_WORD, i
    return Scan(mode, begin, containers)


class CapturingMatcher(Matcher):
    """A matcher that knows its text."""

    __slots__ = ("_lengths", "_scans", "_text")

    def __init__(self, fsm: TokenFSM) -> None:
        super().__init__(fsm)
        self._ready = set()  # masks depend on the text
        self._text = bytearray()
        self._lengths = [0]
        # How far the text was scanned, and the state there; the last one is the furthest.
        self._scans = [(0, Scan())]

    # ------------------------------------------------------------------ moving

    def accept(self, token: int) -> bool:
        """See :meth:`.Matcher.accept`."""
        token = index(token)
        if not 0 <= token < self._size:
            raise self._outside(token)
        node = self._nodes[-1]
        target = L.CONFIG_DEAD
        try:
            if node == DONE or token in self._eos:
                target = self._target_of(node, token)
            else:
                target = self._after(node, self._fsm.vocabulary.token_bytes(token))
        finally:
            if target == L.CONFIG_DEAD:
                self._cut()
        if target == L.CONFIG_DEAD:
            return False
        self._nodes.append(target)
        self._tokens.append(token)
        self._lengths.append(len(self._text))
        return True

    def rollback(self, count: int) -> None:
        """See :meth:`.Matcher.rollback`."""
        super().rollback(count)
        del self._lengths[len(self._nodes) :]
        self._cut()

    def fork(self) -> CapturingMatcher:
        """See :meth:`.Matcher.fork`."""
        other = CapturingMatcher(self._fsm)
        other._nodes = self._nodes.copy()
        other._tokens = self._tokens.copy()
        other._text = self._text.copy()
        other._lengths = self._lengths.copy()
        other._scans = self._scans.copy()
        return other

    def reset(self) -> None:
        """See :meth:`.Matcher.reset`."""
        super().reset()
        del self._lengths[1:]
        self._cut()

    def _after(self, node: int, data: bytes) -> int:
        """The node after more text, which is appended as far as it is allowed."""
        fsm, text = self._fsm, self._text
        if not data:
            return L.CONFIG_DEAD
        for byte in data:
            node = fsm.step(node, byte)
            if node == L.CONFIG_DEAD:
                return node
            text.append(byte)
            if fsm.captures_at(node):
                node = fsm.resume(node, self._value())
        return node

    def _value(self) -> bytes:
        """The value that ends with the text."""
        text = self._text
        done, state = self._scans[-1]
        state = scan(state, text, done)
        self._scans.append((len(text), state))
        return bytes(text[state.start :])

    def _cut(self) -> None:
        """Back to the text of the accepted tokens."""
        length = self._lengths[-1]
        del self._text[length:]
        while self._scans[-1][0] > length:
            self._scans.pop()

    # ------------------------------------------------------------------ masks

    def _fill(self, node: int, address: int) -> None:
        crossing = self._fsm.crossing(node)
        row = host_words(address, self._stride // 4)
        row[:] = crossing.row.view(np.uint32)
        for token in crossing.doubtful:
            try:
                after = self._after(node, self._fsm.vocabulary.token_bytes(token))
            finally:
                self._cut()
            if after != L.CONFIG_DEAD:
                row[token >> 5] |= np.uint32(1 << (token & 31))

    def forced_tokens(self) -> list[int]:
        """None: what is forced may depend on values that are not there yet."""
        return []
