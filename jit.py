"""The one numba decorator of the package.

Every kernel is a free function over flat typed arrays with an *explicit* signature: numba
then compiles (or loads from its on-disk cache) when the module is imported, never in the
middle of a request. Kernels release the GIL, but for one too short to be worth it. With
``NUMBA_DISABLE_JIT=1`` they run as plain Python, which is how the small tests check that
nothing depends on compiled behaviour.

LLVM likes to inline a helper into every place that calls it, and compile time grows with the
product of the call depth. :func:`outlined` marks a helper as a real function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import sigutils, types
from numba.extending import intrinsic

__all__ = ["direct", "helper", "kernel", "outlined"]

F = TypeVar("F", bound=Callable[..., Any])


def kernel(signature: str, *, nogil: bool = True) -> Callable[[F], F]:
    """Compile a function called from Python, for exactly one signature."""
    decorate: Callable[[F], F] = numba.njit(
        signature, cache=True, nogil=nogil, error_model="numpy", fastmath=False
    )
    return decorate


def direct(function: F) -> F:
    """What a kernel's dispatcher calls, for callers that pass exactly what its signature says.

    Saves the dispatcher's look at the types of the arguments, 0.15 µs a call. Only for
    integer arguments and results.
    """
    overloads = getattr(function, "overloads", None)
    if not overloads:
        return function
    (compiled,) = overloads.values()
    result: F = compiled.entry_point
    return result


def helper(signature: str = "") -> Callable[[F], F]:
    """Compile a function called only from kernels of the same module.

    It is compiled when a kernel that calls it is, and cached with it. With a signature there
    is one version of it, to which arguments are converted; otherwise numba would make one for
    every combination of integer widths that some call happens to have.
    """

    def decorate(function: F) -> F:
        compiled: Any = numba.njit(nogil=True, error_model="numpy")(function)
        if signature and not numba.config.DISABLE_JIT:
            arguments, _ = sigutils.normalize_signature(signature)
            resolve = compiled.get_call_template

            def get_call_template(args: Any, kws: Any) -> Any:
                template, python_signature, _, _ = resolve(arguments, {})
                return template, python_signature, args, kws

            compiled.get_call_template = get_call_template
        result: F = compiled
        return result

    return decorate


if numba.config.DISABLE_JIT:

    def outlined() -> None:
        """Nothing to keep apart without a compiler."""

else:

    @intrinsic  # type: ignore[untyped-decorator]
    def outlined(typing_context: Any) -> Any:
        """First statement of a helper that must not be inlined into its callers."""

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.function.attributes.add("noinline")
            return context.get_dummy_value()

        return types.void(), codegen
