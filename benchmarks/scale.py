"""Large schemas: compile + first mask and the dearest mask, several engines at once.

    python benchmarks/scale.py --engine llguidance --engine maskwright

The schemas are the ones below and, where the shared data is there, those of its public reports of
slowness (``cases/slow.jsonl``, whose inputs are Python expressions, evaluated here without any
name but ``range``). As in ``maskbench.py`` each engine has a process of its own, and they take
turns.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from datetime import date
from typing import Any

from engine_api import ENGINES
from maskbench import cpu_model
from measure import SchemaResult
from tokenizer_file import DEFAULT_DATA, find_tokenizer
from worker import RECURSION_LIMIT, Worker

_REPORTS = DEFAULT_DATA / "cases" / "slow.jsonl"


def _record(name: str, schema: Any, *instances: Any) -> dict[str, Any]:
    tests = [{"valid": True, "data": instance} for instance in instances]
    return {"id": name, "schema": schema, "tests": tests}


def _nested(levels: int) -> dict[str, Any]:
    schema: Any = {"type": "integer"}
    value: Any = 1
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
        value = {"a": value}
    return _record(f"{levels} levels of objects", schema, value)


def _definitions(count: int) -> dict[str, Any]:
    definitions = {
        f"d{i}": {
            "type": "object",
            "properties": {
                "a": {"$ref": f"#/$defs/d{(7 * i + 1) % count}"},
                "b": {"type": "array", "items": {"$ref": f"#/$defs/d{(13 * i + 5) % count}"}},
                "c": {"type": "string"},
            },
        }
        for i in range(count)
    }
    schema = {"$ref": "#/$defs/d0", "$defs": definitions}
    value = {"a": {"a": {"c": "x"}, "b": [{}, {"c": "y"}]}, "c": "z"}
    return _record(f"{count} mutually recursive definitions", schema, value)


def _tagged(count: int, keyword: str) -> dict[str, Any]:
    branches = [
        {
            "type": "object",
            "properties": {"kind": {"const": i}, "value": {"type": "string"}},
            "required": ["kind"],
        }
        for i in range(count)
    ]
    value = {"kind": count // 2, "value": "x"}
    return _record(f"{keyword} of {count} tagged objects", {keyword: branches}, value)


def _megabyte() -> dict[str, Any]:
    kinds = ("string", "integer", "boolean")
    sections = {
        f"section{i}": {
            "type": "object",
            "description": "x" * 60,
            "properties": {
                f"field{j}": {"type": kinds[j % 3], "description": "y" * 40} for j in range(20)
            },
            "required": ["field0", "field1"],
        }
        for i in range(600)
    }
    value = {"section7": {"field0": "x", "field1": 1, "field2": True}, "section599": {}}
    value["section599"] = value["section7"]
    return _record("a schema of 1.2 MB", {"type": "object", "properties": sections}, value)


def _own() -> Iterator[dict[str, Any]]:
    source = random.Random(1)
    letters = "abcdefghijklmnop "
    words = ["".join(source.choices(letters, k=source.randint(5, 60))) for _ in range(10_000)]
    text = {"type": "string"}
    yield _record("enum of 10,000 codes", {"enum": [f"code-{i}" for i in range(10_000)]}, "code-77")
    yield _record("enum of 10,000 texts, 330 kB", {"enum": words}, words[77])
    yield _record("enum of 10,000 integers", {"enum": list(range(0, 30_000, 3))}, 2997)
    yield _record("maxLength 100,000", text | {"maxLength": 100_000}, "ab " * 99)
    pattern = {"maxLength": 100_000, "pattern": "^[a-z ]*$"}
    yield _record("maxLength 100,000 and a pattern", text | pattern, "ab " * 99)
    array = {"type": "array", "items": text, "maxItems": 10_000}
    yield _record("maxItems 10,000", array, ["a"] * 500)
    numbers = {"type": "array", "items": {"type": "integer"}, "minItems": 10_000}
    yield _record("minItems 10,000", numbers, [1] * 10_000)
    yield _nested(300)
    yield _definitions(4_000)
    yield _megabyte()
    yield _tagged(200, "oneOf")
    yield _tagged(1_000, "anyOf")


def _reported() -> Iterator[dict[str, Any]]:
    if not _REPORTS.is_file():
        print(f"no reports at {_REPORTS}", file=sys.stderr)
        return
    for line in _REPORTS.read_text("utf-8").splitlines():
        case = json.loads(line)
        if case["kind"] == "schema" and "generator" in case:
            names = {"__builtins__": {"range": range}}
            yield _record(case["id"], eval(case["generator"], names))


def _cells(result: SchemaResult) -> tuple[str, str, str]:
    if result.outcome != "ok":
        return result.verdict, "", ""
    dearest = max((max(test.ns) for test in result.tests if len(test.ns)), default=0)
    verdict = result.verdict if result.tests else "ok"
    mask = f"{dearest / 1e6:.2f}" if dearest else ""
    return verdict, f"{result.first_mask_ns / 1e6:.1f}", mask


def main() -> int:
    """Run the benchmark; returns the exit status."""
    parser = argparse.ArgumentParser(description="Compare mask engines on large schemas.")
    parser.add_argument("--tokenizer", default="llama3_1", help="a path, or a name in the data")
    parser.add_argument("--engine", action="append", choices=sorted(ENGINES))
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds per schema")
    options = parser.parse_args()
    sys.setrecursionlimit(RECURSION_LIMIT)
    tokenizer = find_tokenizer(options.tokenizer)
    workers = [
        Worker(name, tokenizer, timeout_s=options.timeout, memory_gib=12.0)
        for name in dict.fromkeys(options.engine or ["llguidance", "maskwright"])
    ]
    warm = _record("warm", {"type": "object", "properties": {"a": {"type": "string"}}}, {"a": "b"})
    print(f"{date.today().isoformat()}, {cpu_model()}")
    print(", ".join(worker.about["versions"] for worker in workers))
    heads = [f"{w.name}: verdict | first mask, ms | dearest mask, ms" for w in workers]
    print("\n| schema | " + " | ".join(heads) + " |")
    print("| --- " * (1 + 3 * len(workers)) + "|")
    for record in [*_own(), *_reported()]:
        row = [record["id"]]
        for worker in workers:
            worker.run(warm)
            row += _cells(worker.run(record))
        print("| " + " | ".join(row) + " |", flush=True)
    for worker in workers:
        worker.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
