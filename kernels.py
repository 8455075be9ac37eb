"""Compiling the kernels, once for each machine and version.

Numba compiles a kernel when its module is imported and keeps the result in its on-disk cache.
The first time that takes more than a minute of one core. :func:`compile_ahead` halves the wait: a
second process compiles some of the modules into the same cache while this one compiles the
rest. A stamp in the user's cache directory remembers that it was done, for these sources, this
numba, this Python and this processor; without it a line on stderr says what is going on.

Nothing depends on it: if the second process fails, or the directory cannot be written, the
modules are compiled here when they are imported.
"""

from __future__ import annotations

import os
import platform
import sys
from hashlib import blake2b
from importlib import import_module
from pathlib import Path

import numba

__all__ = ["compile_ahead"]

# The two lists take about the same time to compile.
_ELSEWHERE = ("maskwright.grammar.automata.dfa", "maskwright.fsm.lowering")
_HERE = ("maskwright.fsm.engine",)
_SOURCES = ("jit.py", "fsm/*.py", "grammar/automata/*.py")


def compile_ahead() -> None:
    """Compile all kernels if this machine has not yet, in two processes."""
    if _is_second_process() or os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return
    stamp = _stamp()
    if stamp.exists():
        return
    import subprocess  # only the first time

    print(
        "maskwright: compiling its kernels for this machine (once, up to a minute) …",
        file=sys.stderr,
        flush=True,
    )
    try:
        second = subprocess.Popen(
            [sys.executable, "-m", "maskwright.kernels"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
    except OSError:
        return
    try:
        for module in _HERE:
            import_module(module)
    finally:
        succeeded = second.wait() == 0
    print("maskwright: kernels compiled.", file=sys.stderr, flush=True)
    if succeeded:
        try:
            stamp.parent.mkdir(parents=True, exist_ok=True)
            stamp.touch()
        except OSError:
            return


def _is_second_process() -> bool:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name == "maskwright.kernels"


def _stamp() -> Path:
    """The file whose existence says that these kernels are compiled."""
    # Here, because importing anything of ``fsm`` comes through this module.
    from .fsm.vocabulary_cache import default_cache_directory

    package = Path(__file__).parent
    machine = (numba.__version__, sys.version, platform.machine(), platform.node())
    digest = blake2b(repr(machine).encode(), digest_size=12)
    digest.update(str(package).encode())
    digest.update(os.environ.get("NUMBA_CACHE_DIR", "").encode())
    for pattern in _SOURCES:
        for source in sorted(package.glob(pattern)):
            status = source.stat()
            digest.update(f"{source.name} {status.st_size} {status.st_mtime_ns}".encode())
    return default_cache_directory() / f"kernels-{digest.hexdigest()}"


if __name__ == "__main__":
    for _module in _ELSEWHERE:
        import_module(_module)
