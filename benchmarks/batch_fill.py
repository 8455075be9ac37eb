"""One call that fills the masks of a whole batch: ``fill_bitmasks`` on warm states.

    python benchmarks/batch_fill.py --batch 256

The rows of the batch are spread over several grammars and over the tokens of a valid text of
each, as in a server in full swing. The batch is advanced step by step: every step fills all rows,
then every row commits its token (not timed here) and starts again at the end of its text.
llguidance's own batch call, on all cores, is measured on the same rows if it is installed.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np
from engine_api import Grammar, build_engine, versions
from maskbench import cpu_model
from numpy.typing import NDArray
from sample_texts import compiled_samples
from tokenizer_file import DEFAULT_DATA, TokenizerFile, find_tokenizer

Row = tuple[Grammar, list[int]]
Fill = Callable[[list[Any]], object]


class Batch:
    """Rows that walk along their texts, each from its own place."""

    def __init__(
        self, samples: list[Row], size: int, new_matcher: Callable[[Grammar], Any]
    ) -> None:
        self._new_matcher = new_matcher
        self._rows = [samples[row % len(samples)] for row in range(size)]
        self._next = [0] * size
        self.matchers = [new_matcher(grammar) for grammar, _ in self._rows]
        for row, (_, tokens) in enumerate(self._rows):
            for _ in range(row * 7 % max(1, len(tokens))):
                self._advance(row)

    def _advance(self, row: int) -> None:
        grammar, tokens = self._rows[row]
        if self._next[row] >= len(tokens):
            self.matchers[row] = self._new_matcher(grammar)
            self._next[row] = 0
            return
        matcher = self.matchers[row]
        commit = getattr(matcher, "accept", None) or matcher.consume_token
        if not commit(tokens[self._next[row]]):
            raise SystemExit("a sample's valid text was refused")
        self._next[row] += 1

    def step(self) -> None:
        """Advance every row by one token."""
        for row in range(len(self._rows)):
            self._advance(row)


def time_fills(batch: Batch, fill: Fill, steps: int) -> NDArray[np.float64]:
    """Microseconds of each of ``steps`` fills."""
    times = np.zeros(steps)
    gc.disable()
    for step in range(steps):
        start = perf_counter_ns()
        fill(batch.matchers)
        times[step] = (perf_counter_ns() - start) / 1e3
        batch.step()
    gc.enable()
    return times


def maskwright_matcher(grammar: Any) -> Any:
    """A new matcher at the start of a text."""
    return grammar.fsm.matcher()


def maskwright_fill(size: int, vocabulary_size: int) -> Fill:
    """The call that fills the rows of a batch."""
    import maskwright as mw

    bits = mw.allocate_bitmask(size, vocabulary_size)
    return lambda matchers: mw.fill_bitmasks(matchers, bits)


def llguidance_matcher(grammar: Any) -> Any:
    """A new matcher at the start of a text."""
    return grammar.matcher.deep_copy()


def llguidance_fill(size: int, vocabulary_size: int) -> Fill:
    """The parallel call that fills the rows of a batch."""
    from llguidance import LLExecutor
    from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask_par

    bits = allocate_token_bitmask(size, vocabulary_size)
    executor = LLExecutor()

    def fill(matchers: list[Any]) -> None:
        rows = [(matcher, row) for row, matcher in enumerate(matchers)]
        fill_next_token_bitmask_par(executor, rows, bits)

    return fill


_ENGINES = {
    "maskwright": (maskwright_matcher, maskwright_fill),
    "llguidance": (llguidance_matcher, llguidance_fill),
}


def main() -> int:
    """Run the benchmark; returns the exit status."""
    parser = argparse.ArgumentParser(description="Fill the masks of a batch in one call.")
    data = DEFAULT_DATA / "maskbench" / "dev.jsonl.gz"
    parser.add_argument("--data", type=Path, default=data, help="a .jsonl or .jsonl.gz")
    parser.add_argument("--tokenizer", default="llama3_1", help="a path, or a name in the data")
    parser.add_argument("--engine", action="append", choices=sorted(_ENGINES))
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--grammars", type=int, default=16)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    tokenizer = TokenizerFile.load(find_tokenizer(options.tokenizer))

    print(f"cpu: {cpu_model()}\ntokenizer: {options.tokenizer}")
    print(f"batch {options.batch} over {options.grammars} grammars, {options.steps} steps\n")
    print(f"{'µs per batch':<16}{'mean':>10}{'p50':>10}{'p99':>10}{'max':>10}")
    for name in options.engine or ["maskwright"]:
        new_matcher, new_fill = _ENGINES[name]
        engine = build_engine(name, tokenizer)
        samples = list(compiled_samples(engine, tokenizer, options.data, options.grammars))
        fill = new_fill(options.batch, engine.bits.shape[1] * 32)
        # The first pass visits the very states that the second one times.
        for _ in range(2):
            times = time_fills(Batch(samples, options.batch, new_matcher), fill, options.steps)
        p50, p99 = np.percentile(times, [50, 99])
        row = (times.mean(), p50, p99, times.max())
        print(f"{name:<16}" + "".join(f"{value:>10,.1f}" for value in row) + f"  {versions(name)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
