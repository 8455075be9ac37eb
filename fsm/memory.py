"""Arrays by address: how one integer carries a whole table set into a kernel.

A numba call costs about 0.1 µs per array argument, more than the work of a warm mask. The
engine therefore passes the address of one *control block*, an ``int64`` array whose slots hold
counters and the addresses of the other arrays; kernels rebuild array views from the slots.
Growing an array only updates a slot.

:class:`Arena` owns the arrays: it keeps them alive, grows them and writes their addresses.
Nothing may grow while a kernel runs (the compiler's lock sees to it), and a kernel never grows
anything itself: it reports which arena is full and is called again.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from numba.core import cgutils, types
from numba.extending import intrinsic

from ..jit import helper

__all__ = [
    "Arena",
    "address_of",
    "host_words",
    "view_i32",
    "view_i64",
    "view_u8",
    "view_u32",
]

if numba.config.DISABLE_JIT:

    def _view(address: int, ctype: Any) -> Any:
        # Un-jitted kernels index freely; the length only has to be large enough. A ctypes array
        # gives Python integers, which do not overflow on the way, and wraps what is stored.
        return (ctype * (1 << 28)).from_address(int(address))

    def view_u8(address: int) -> Any:
        return _view(address, ctypes.c_uint8)

    def view_i32(address: int) -> Any:
        return _view(address, ctypes.c_int32)

    def view_u32(address: int) -> Any:
        return _view(address, ctypes.c_uint32)

    def view_i64(address: int) -> Any:
        return _view(address, ctypes.c_int64)

else:

    @intrinsic  # type: ignore[untyped-decorator]
    def _pointer(typing_context: Any, address: Any) -> Any:
        """Reinterpret an integer as an untyped pointer."""
        signature = types.voidptr(address)

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], cgutils.voidptr_t)

        return signature, codegen

    # The length is never checked inside kernels, so any positive constant does.
    @helper()
    def view_u8(address: int) -> Any:
        return numba.carray(_pointer(address), 1 << 40, np.uint8)

    @helper()
    def view_i32(address: int) -> Any:
        return numba.carray(_pointer(address), 1 << 40, np.int32)

    @helper()
    def view_u32(address: int) -> Any:
        return numba.carray(_pointer(address), 1 << 40, np.uint32)

    @helper()
    def view_i64(address: int) -> Any:
        return numba.carray(_pointer(address), 1 << 40, np.int64)


def address_of(array: npt.NDArray[Any]) -> int:
    """Address of an array's first element; the caller keeps the array alive."""
    return int(array.ctypes.data)


class Arena:
    """Growable arrays that are reached through slots of one control block.

    Attributes:
        block: int64[slots], the control block.
        address: its address, what kernels are called with.
    """

    __slots__ = ("_arrays", "address", "block")

    def __init__(self, slots: int) -> None:
        self.block = np.zeros(slots, np.int64)
        self.address = address_of(self.block)
        self._arrays: dict[int, npt.NDArray[Any]] = {}

    def put(self, slot: int, array: npt.NDArray[Any]) -> None:
        """Hold an array and write its address into a slot."""
        self._arrays[slot] = array
        self.block[slot] = address_of(array)

    def allocate(self, slot: int, length: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Zeroed array behind a slot."""
        array = np.zeros(length, dtype)
        self.put(slot, array)
        return array

    def array(self, slot: int) -> npt.NDArray[Any]:
        return self._arrays[slot]

    def extend(self, slot: int, length: int) -> npt.NDArray[Any]:
        """Replace the array by a longer one with the same beginning and zeros after it."""
        old = self._arrays[slot]
        new = np.zeros(length, old.dtype)
        new[: len(old)] = old
        self.put(slot, new)
        return new

    @property
    def nbytes(self) -> int:
        """Bytes held, including reserved capacity."""
        return self.block.nbytes + sum(array.nbytes for array in self._arrays.values())


def host_words(address: int, words: int) -> npt.NDArray[np.uint32]:
    """The words of a mask row at an address, to be written from Python."""
    return np.ctypeslib.as_array((ctypes.c_uint32 * words).from_address(address))
