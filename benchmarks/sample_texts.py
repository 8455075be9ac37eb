"""Schemas that compile, each with a valid text: what the batch and memory benchmarks run on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine_api import Engine, Grammar
from maskbench import read_records
from tokenizer_file import TokenizerFile

__all__ = ["compiled_samples"]


def compiled_samples(
    engine: Engine, tokenizer: TokenizerFile, data: Path, count: int
) -> Iterator[tuple[Grammar, list[int]]]:
    """The first ``count`` schemas that compile and have a valid instance, with its tokens."""
    found = 0
    for record in read_records(data, 0, None):
        if found == count:
            return
        instance: Any = next((t["data"] for t in record["tests"] if t["valid"]), None)
        if instance is None:
            continue
        schema = json.dumps(record["schema"]) if engine.wants_text else record["schema"]
        try:
            grammar = engine.compile(schema)
        except Exception:
            continue  # an engine's own refusal; how many is for maskbench.py to say
        found += 1
        yield grammar, tokenizer.encode(json.dumps(instance, ensure_ascii=False))
    raise SystemExit(f"{data} has only {found} usable schemas")
