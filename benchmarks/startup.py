"""Start-up: a fresh process from ``import maskwright`` to its first mask, step by step.

    python benchmarks/startup.py                # caches as they are: the first run warms them
    python benchmarks/startup.py --cold         # every cache empty: what a new machine sees

Loading the tokenizer (and the ``tokenizers`` package) is excluded, since every user of a model
has done that anyway. ``--cold`` points the caches of the kernels and of vocabularies to an empty
folder; it runs once, since the second run would be warm.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from maskbench import cpu_model
from tokenizer_file import TokenizerFile, find_tokenizer

_STEPS = ("import", "vocabulary", "compiler", "first_schema", "first_mask")
_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 40},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}},
    },
    "required": ["name", "age"],
}


def measure(tokenizer_path: Path) -> dict[str, float]:
    """In a fresh process: seconds of every step, and of the second schema with its mask."""
    tokenizer = TokenizerFile.load(tokenizer_path)
    now = time.perf_counter
    marks = [now()]
    import maskwright as mw

    marks.append(now())
    vocabulary = mw.Vocabulary.from_tokenizer(tokenizer.tokenizer, eos_ids=[tokenizer.eos_id])
    marks.append(now())
    compiler = mw.Compiler(vocabulary)
    bits = mw.allocate_bitmask(1, vocabulary.size)
    marks.append(now())
    fsm = compiler.json_schema(_SCHEMA)
    marks.append(now())
    fsm.matcher().fill_bitmask(bits, 0)
    marks.append(now())
    seconds = {
        step: after - before for step, before, after in zip(_STEPS, marks, marks[1:], strict=False)
    }
    seconds["total"] = marks[-1] - marks[0]
    start = now()
    compiler.json_schema({"type": "array", "items": _SCHEMA}).matcher().fill_bitmask(bits, 0)
    seconds["second_schema_and_mask"] = now() - start
    return seconds


def run_once(tokenizer_path: Path, cache: str | None) -> dict[str, float]:
    """Run :func:`measure` in a new process."""
    environment = dict(os.environ)
    # Python's own cache of compiled modules is one of those that are warm.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if cache is not None:
        environment.update(NUMBA_CACHE_DIR=f"{cache}/numba", XDG_CACHE_HOME=cache)
    done = subprocess.run(
        [sys.executable, __file__, "--measure", "--tokenizer", str(tokenizer_path)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=environment,
    )
    seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return seconds


def main() -> int:
    """Run the benchmark; returns the exit status."""
    parser = argparse.ArgumentParser(description="From import to the first mask.")
    parser.add_argument("--tokenizer", default="llama3_1", help="a path, or a name in the data")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--cold", action="store_true", help="with empty caches, once")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    path = find_tokenizer(options.tokenizer)
    if options.measure:
        print(json.dumps(measure(path)))
        return 0
    print(f"cpu: {cpu_model()}\ntokenizer: {options.tokenizer}")
    if options.cold:
        with tempfile.TemporaryDirectory() as cache:
            runs = [run_once(path, cache)]
    else:
        run_once(path, None)  # warms the caches
        runs = [run_once(path, None) for _ in range(options.runs)]
    print(f"runs: {len(runs)}, caches {'empty' if options.cold else 'warm'}\n")
    print(f"{'ms':<28}{'median':>10}{'min':>10}{'max':>10}")
    for step in runs[0]:
        values = [1e3 * run[step] for run in runs]
        middle = statistics.median(values)
        print(f"{step:<28}{middle:>10,.1f}{min(values):>10,.1f}{max(values):>10,.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
