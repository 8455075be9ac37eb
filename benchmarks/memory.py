"""Resident memory of one vocabulary and many grammars that are in use.

    python benchmarks/memory.py --engine maskwright --grammars 100

Every grammar stays alive and has run one valid text, a mask at each token, so that what an engine
builds lazily is counted.
"""

from __future__ import annotations

import argparse
import gc
import sys
from pathlib import Path

from engine_api import ENGINES, build_engine, versions
from maskbench import cpu_model
from sample_texts import compiled_samples
from tokenizer_file import DEFAULT_DATA, TokenizerFile, find_tokenizer
from worker import memory_kib


def main() -> int:
    """Run the benchmark; returns the exit status."""
    parser = argparse.ArgumentParser(description="Resident memory of many grammars.")
    data = DEFAULT_DATA / "maskbench" / "dev.jsonl.gz"
    parser.add_argument("--data", type=Path, default=data, help="a .jsonl or .jsonl.gz")
    parser.add_argument("--tokenizer", default="llama3_1", help="a path, or a name in the data")
    parser.add_argument("--engine", default="maskwright", choices=sorted(ENGINES))
    parser.add_argument("--grammars", type=int, default=100)
    options = parser.parse_args()
    tokenizer = TokenizerFile.load(find_tokenizer(options.tokenizer))

    rows = [("process with the tokenizer", memory_kib())]
    engine = build_engine(options.engine, tokenizer)
    gc.collect()
    rows.append(("+ engine and vocabulary", memory_kib()))
    alive = []
    for grammar, tokens in compiled_samples(engine, tokenizer, options.data, options.grammars):
        session = grammar.start()
        for token in tokens:
            session.mask()
            session.commit(token)
        alive.append((grammar, session))
    gc.collect()
    rows.append((f"+ {len(alive)} grammars in use", memory_kib()))
    rows.append(("peak", memory_kib("VmHWM")))

    print(f"cpu: {cpu_model()}\nengine: {versions(options.engine)}")
    print(f"tokenizer: {options.tokenizer}\n")
    for label, kib in rows:
        print(f"{label:<32}{kib / 1024:>10,.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
