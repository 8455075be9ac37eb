"""One sequence: a node, and the nodes before it.

All grammar state of a sequence is one integer, so a fork copies a list, a rollback drops its
tail, and a batch of masks is one kernel call over an array of node numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from operator import index
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import BitmaskError, TokenRejectedError
from . import layout as L
from .engine import engine, write_mask
from .forced import forced_tokens
from .memory import address_of, host_words

if TYPE_CHECKING:
    from .token_fsm import TokenFSM

__all__ = ["DONE", "Matcher", "fill_bitmasks"]

DONE: Final = 0
"""In place of a node: an EOS was accepted."""

_NO_BITMASK: Final = object()
"""What nobody can pass for one."""

_CONTEXT_TOKENS: Final = 16
"""How many tokens before this point decide how forced text is tokenized."""


class Matcher:
    """The state of one sequence in a grammar.

    ``accept`` and the mask always agree: a token's bit is set exactly if ``accept`` would take
    it. Not to be shared between threads without a lock of the caller's; different matchers of
    one FSM may be used by different threads at once.
    """

    __slots__ = (
        "_address",
        "_bits",
        "_data_ptr",
        "_edges",
        "_eos",
        "_fsm",
        "_nodes",
        "_ready",
        "_rows",
        "_size",
        "_stride",
        "_target",
        "_tokens",
    )

    def __init__(self, fsm: TokenFSM) -> None:
        self._fsm = fsm
        self._nodes = [fsm.start]
        self._tokens: list[int] = []
        self._eos = frozenset(fsm.vocabulary.eos_ids)
        self._size = fsm.vocabulary.size
        self._stride = 4 * ((self._size + 31) >> 5)
        self._address = fsm.address
        self._ready = fsm.ready
        self._edges = fsm.edges
        # The bitmask of the last fill: checking it again would cost as much as filling it.
        self._bits: Any = _NO_BITMASK
        self._data_ptr: Callable[[], int] | None = None
        self._target = 0
        self._rows = 0

    # ------------------------------------------------------------------ state

    @property
    def fsm(self) -> TokenFSM:
        return self._fsm

    @property
    def tokens(self) -> tuple[int, ...]:
        """All accepted tokens, a final EOS included."""
        return tuple(self._tokens)

    @property
    def is_done(self) -> bool:
        """Whether an EOS was accepted; then no token is allowed any more."""
        return self._nodes[-1] == DONE

    def is_accepting(self) -> bool:
        """Whether the text may end here (an EOS is allowed), or has ended."""
        node = self._nodes[-1]
        return node == DONE or self._fsm.is_accepting(node)

    # ------------------------------------------------------------------ moving

    def accept(self, token: int) -> bool:
        """Append a token if it is allowed; otherwise return False and change nothing.

        Raises:
            TokenRejectedError: the id is outside ``0 .. vocabulary.size - 1``.
        """
        size = self._size
        if token.__class__ is not int:
            token = index(token)
        if not 0 <= token < size:
            raise self._outside(token)
        nodes = self._nodes
        node = nodes[-1]
        target = self._edges.get(node * size + token)
        if target is None:
            target = self._target_of(node, token)
            if target == L.CONFIG_DEAD:
                return False
        nodes.append(target)
        self._tokens.append(token)
        return True

    def _outside(self, token: int) -> TokenRejectedError:
        return TokenRejectedError(
            f"token id {token} is outside 0 .. {self._size - 1}",
            token_id=token,
            position=len(self._tokens),
        )

    def _target_of(self, node: int, token: int) -> int:
        """The node after any token, ``CONFIG_DEAD`` if it is not allowed."""
        if node == DONE:
            return L.CONFIG_DEAD
        if token in self._eos:
            return DONE if self._fsm.is_accepting(node) else L.CONFIG_DEAD
        return self._fsm.advance(node, token)

    def accept_all(self, tokens: Sequence[int]) -> int:
        """Append tokens until one is not allowed -> how many were appended."""
        for count, token in enumerate(tokens):
            if not self.accept(token):
                return count
        return len(tokens)

    def rollback(self, count: int) -> None:
        """Take back the last ``count`` accepted tokens.

        Raises:
            ValueError: fewer have been accepted.
        """
        if not 0 <= count <= len(self._tokens):
            raise ValueError(f"cannot roll back {count} of {len(self._tokens)} tokens")
        if count:
            del self._nodes[-count:]
            del self._tokens[-count:]

    def fork(self) -> Matcher:
        """An independent copy."""
        other = Matcher(self._fsm)
        other._nodes = self._nodes.copy()
        other._tokens = self._tokens.copy()
        return other

    def reset(self) -> None:
        """Back to the start of the grammar."""
        del self._nodes[1:]
        self._tokens.clear()

    # ------------------------------------------------------------------ masks

    def fill_bitmask(self, bits: Any, row: int = 0) -> None:
        """Write the mask of the next token to a row of a bitmask.

        Args:
            bits: int32[batch, ceil(size / 32)] in host memory with contiguous rows, a NumPy
                array or a torch tensor; or one row. Bit ``t % 32`` of word ``t // 32`` is set
                if token ``t`` is allowed.
            row: which row.

        Raises:
            BitmaskError: wrong shape, dtype or row, or a bitmask that is not in host memory.
        """
        data_ptr = self._data_ptr
        if bits is not self._bits or (data_ptr is not None and data_ptr() != self._target):
            self._target, self._rows = _rows_of(bits, self._size)
            self._bits = bits
            # A tensor may get other memory (``share_memory_``, ``resize_``), an array may not
            # while it is referred to.
            self._data_ptr = None if isinstance(bits, np.ndarray) else bits.data_ptr
        if row.__class__ is not int:
            row = index(row)
        if not 0 <= row < self._rows:
            raise BitmaskError(f"row {row} is outside of a bitmask of {self._rows} rows")
        node = self._nodes[-1]
        address = self._target + row * self._stride
        if node in self._ready:
            write_mask(self._address, node, address)
        elif node == DONE:
            host_words(address, self._stride // 4)[:] = 0
        else:
            self._fill(node, address)

    def _fill(self, node: int, address: int) -> None:
        """Write the mask of a node that is neither done nor ready."""
        self._fsm.fill(node, address)

    def allowed_tokens(self) -> npt.NDArray[np.int32]:
        """The ids of all tokens allowed next, ascending: int32[n]."""
        node = self._nodes[-1]
        if node == DONE:
            return np.empty(0, np.int32)
        bits = np.empty(self._stride // 4, np.int32)
        self._fill(node, address_of(bits))
        allowed = np.unpackbits(bits.view(np.uint8), bitorder="little")
        return np.flatnonzero(allowed).astype(np.int32)

    def forced_tokens(self) -> list[int]:
        """Tokens that must come next, spelled as the tokenizer itself would.

        Only as many as keep the canonical tokenization whatever follows; none if the
        vocabulary does not know its tokenizer. The tokens are not accepted yet.
        """
        if self._nodes[-1] == DONE:
            return []
        return forced_tokens(self._fsm, self._nodes[-1], self._tokens[-_CONTEXT_TOKENS:])


def fill_bitmasks(matchers: Sequence[Matcher], bits: Any) -> None:
    """Write the mask of matcher ``i`` to row ``i``, for all of them in one call.

    Args:
        matchers: sequences over the same vocabulary size, of any grammars and compilers.
        bits: int32[batch, ceil(size / 32)], ``batch >= len(matchers)``; further rows are left
            as they are.

    Raises:
        BitmaskError: as :meth:`Matcher.fill_bitmask`, or vocabularies of different sizes.
    """
    if not matchers:
        return
    size = matchers[0]._size
    target, rows = _rows_of(bits, size)
    if len(matchers) > rows:
        raise BitmaskError(f"{len(matchers)} matchers need more than the {rows} rows given")
    stride = matchers[0]._stride
    plan: list[int] = []
    for number, matcher in enumerate(matchers):
        node = matcher._nodes[-1]
        if matcher._size != size:
            raise BitmaskError(f"matcher {number} has {matcher._size} tokens, the first one {size}")
        if node == DONE:
            host_words(target + number * stride, stride // 4)[:] = 0
        elif matcher._fsm.grammar.captures:
            matcher._fill(node, target + number * stride)
        else:
            plan += (matcher._fsm.address, node, target + number * stride)
    if not plan:
        return
    triples = np.array(plan, np.int64)
    with _locks(matchers):
        filled = 0
        count = len(plan) // 3
        while filled < count:
            # A row that needs more than a lookup is done by its own FSM, then the rest goes on.
            result = engine(0, L.OP_FILL_MANY, triples.ctypes.data + 24 * filled, count - filled)
            if result >= 0:
                return
            filled += -1 - result
            address, node, row = triples[3 * filled : 3 * filled + 3].tolist()
            fsm = next(m._fsm for m in matchers if m._fsm.address == address)
            fsm.fill(node, row)
            filled += 1


@contextmanager
def _locks(matchers: Sequence[Matcher]) -> Iterator[None]:
    locks = {id(matcher._fsm.lock): matcher._fsm.lock for matcher in matchers}
    with ExitStack() as stack:
        # Always in one order, or two batches could wait for each other.
        for key in sorted(locks):
            stack.enter_context(locks[key])
        yield


def _rows_of(bits: Any, size: int) -> tuple[int, int]:
    """Address of the first row and number of rows of a checked bitmask."""
    words = (size + 31) >> 5
    shape = tuple(getattr(bits, "shape", ()))
    dtype = str(getattr(bits, "dtype", type(bits).__name__))
    if dtype not in ("int32", "torch.int32"):
        raise BitmaskError(f"a bitmask has dtype int32, not {dtype}")
    if len(shape) not in (1, 2) or shape[-1] != words:
        raise BitmaskError(
            f"a bitmask for {size} tokens has shape [batch, {words}], not {list(shape)}"
        )
    if isinstance(bits, np.ndarray):
        if not bits.flags.c_contiguous:
            raise BitmaskError("a bitmask must have contiguous rows")
        if not bits.flags.writeable:
            raise BitmaskError("the bitmask is read-only")
        address = int(bits.ctypes.data)
    else:
        if bits.device.type != "cpu":
            raise BitmaskError(
                f"a bitmask is filled in host memory, not on {bits.device}; copy it afterwards"
            )
        if not bits.is_contiguous():
            raise BitmaskError("a bitmask must have contiguous rows")
        address = int(bits.data_ptr())
    return address, shape[0] if len(shape) == 2 else 1
