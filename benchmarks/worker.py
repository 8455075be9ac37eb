"""One engine in its own process, which a schema may hang or crash at the cost of itself only.

The parent sends one schema record at a time and waits; on a time-out it kills the process, on a
crash it notices, and either way it starts a new one for the next schema.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import re
import resource
import sys
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from engine_api import build_engine, versions
from measure import Outcome, SchemaResult, measure_schema
from tokenizer_file import TokenizerFile

__all__ = ["RECURSION_LIMIT", "Worker", "memory_kib"]

_SETUP_TIMEOUT_S = 600.0

RECURSION_LIMIT = 20_000
"""For Python's own JSON and pickle modules, which are recursive, on deeply nested schemas."""


def memory_kib(field: str = "VmRSS") -> int:
    """A memory figure of this process: ``VmRSS`` (now) or ``VmHWM`` (peak), in KiB."""
    status = Path("/proc/self/status").read_text("ascii")
    match = re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)
    return int(match[1]) if match else 0


def _serve(
    pipe: Connection, name: str, tokenizer_path: str, memory_gib: float, verbose: bool
) -> None:
    sys.setrecursionlimit(RECURSION_LIMIT)
    limit = int(memory_gib * (1 << 30))
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    tokenizer = TokenizerFile.load(Path(tokenizer_path))
    _ = tokenizer.text, tokenizer.size
    start = time.perf_counter()
    engine = build_engine(name, tokenizer)
    setup_s = time.perf_counter() - start
    gc.collect()
    gc.freeze()
    pipe.send({"versions": versions(name), "setup_s": setup_s})
    if not verbose:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # engines print their warnings natively
    while (record := pipe.recv()) is not None:
        result = measure_schema(engine, tokenizer, record)
        pipe.send((result, memory_kib("VmHWM")))


class Worker:
    """The parent's side of one engine's process.

    Attributes:
        name: the engine.
        about: what the process said on start: ``versions``, ``setup_s``.
        peak_kib: highest resident memory of any of its processes.
        restarts: processes lost to a hang or a crash.
    """

    def __init__(
        self,
        name: str,
        tokenizer_path: Path,
        *,
        timeout_s: float,
        memory_gib: float,
        verbose: bool = False,
    ) -> None:
        self.name = name
        self.about: Mapping[str, Any] = {}
        self.peak_kib = 0
        self.restarts = 0
        self._arguments = (name, str(tokenizer_path), memory_gib, verbose)
        self._timeout_s = timeout_s
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, *self._arguments), daemon=True)
        self._process.start()
        theirs.close()  # so that a dead process reads as end of file
        try:
            if not self._pipe.poll(_SETUP_TIMEOUT_S):
                raise EOFError
            self.about = self._pipe.recv()
        except EOFError:
            self._kill()
            raise SystemExit(f"{self.name}: the engine could not be set up (see above)") from None

    def _kill(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def run(self, record: dict[str, Any]) -> SchemaResult:
        """Measure one schema; never raises for what the schema does to the engine."""
        outcome: Outcome = "crash"
        try:
            self._pipe.send(record)
            if self._pipe.poll(self._timeout_s):
                result, peak_kib = self._pipe.recv()
                self.peak_kib = max(self.peak_kib, peak_kib)
                assert isinstance(result, SchemaResult)
                return result
            outcome = "timeout"
            error = f"no result after {self._timeout_s:g} s"
        except (EOFError, ConnectionError):
            self._process.join(5)
            error = f"the process ended with exit code {self._process.exitcode}"
        self._kill()
        self.restarts += 1
        self._start()
        return SchemaResult(record["id"], outcome=outcome, error=error)

    def close(self) -> None:
        """End the process."""
        try:
            self._pipe.send(None)
            self._process.join(5)
        except ConnectionError:
            pass
        self._kill()
