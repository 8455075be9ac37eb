"""MaskBench: real-world JSON Schemas with valid and invalid instances, several engines at once.

    python benchmarks/maskbench.py --engine llguidance --engine maskwright --limit 1000

Each engine has a process of its own. They take turns schema by schema, one running at a time, so
that they share the machine's moods and never its cores. See ``measure.py`` for what is timed and
what passes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import re
import sys
from collections.abc import Iterator
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

from engine_api import ENGINES
from measure import SchemaResult
from report import by_keyword, compare, print_table, summarize, to_json
from tokenizer_file import DEFAULT_DATA, find_tokenizer
from worker import Worker

_DEFAULT_FILE = DEFAULT_DATA / "maskbench" / "dev.jsonl.gz"


def cpu_model() -> str:
    """The processor's name."""
    try:
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        match = None
    return match[1].strip() if match else platform.processor() or platform.machine()


def read_records(path: Path, offset: int, limit: int | None) -> Iterator[dict[str, Any]]:
    """The schemas of a ``.jsonl`` or ``.jsonl.gz`` file, in order."""
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        stop = None if limit is None else offset + limit
        for line in islice(lines, offset, stop):
            yield json.loads(line)


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Compare mask engines on MaskBench.")
    parser.add_argument("--data", type=Path, default=_DEFAULT_FILE, help="a .jsonl or .jsonl.gz")
    parser.add_argument("--tokenizer", default="llama3_1", help="a path, or a name in the data")
    parser.add_argument(
        "--engine",
        action="append",
        choices=sorted(ENGINES),
        help="repeatable; the first is the one that ratios refer to",
    )
    parser.add_argument("--limit", type=int, help="schemas to run (default: all)")
    parser.add_argument("--offset", type=int, default=0, help="schemas to skip first")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds per schema")
    parser.add_argument("--memory", type=float, default=12.0, help="GiB of address space each")
    parser.add_argument("--verbose", action="store_true", help="show what engines print")
    parser.add_argument("--json", type=Path, help="write per-schema verdicts and times here")
    parser.add_argument(
        "--compare",
        nargs=2,
        metavar="FILE[:ENGINE]",
        help="run nothing; list what two --json files judge differently",
    )
    parser.add_argument(
        "--by-keyword",
        nargs="+",
        metavar="FILE[:ENGINE]",
        help="run nothing; count what passed in --json files, for each keyword",
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; returns the exit status."""
    options = parse_arguments(arguments)
    if options.compare:
        return 1 if compare(*options.compare) else 0
    if not options.data.is_file():
        print(f"no data at {options.data}: pass --data", file=sys.stderr)
        return 2
    if options.by_keyword:
        by_keyword(read_records(options.data, options.offset, options.limit), *options.by_keyword)
        return 0
    engines = list(dict.fromkeys(options.engine or ["llguidance", "maskwright"]))
    tokenizer = find_tokenizer(options.tokenizer)
    workers = [
        Worker(
            name,
            tokenizer,
            timeout_s=options.timeout,
            memory_gib=options.memory,
            verbose=options.verbose,
        )
        for name in engines
    ]
    results: dict[str, dict[str, SchemaResult]] = {name: {} for name in engines}
    count = 0
    try:
        for record in read_records(options.data, options.offset, options.limit):
            for worker in workers:
                results[worker.name][record["id"]] = worker.run(record)
            count += 1
            if count % 50 == 0:
                print(f"{count} schemas", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        # Keep what all engines have done.
        complete = set.intersection(*(set(by_id) for by_id in results.values()))
        results = {
            name: {i: r for i, r in by_id.items() if i in complete}
            for name, by_id in results.items()
        }
    finally:
        for worker in workers:
            worker.close()
    if not count:
        print("no schemas in that range", file=sys.stderr)
        return 2
    summaries = summarize(results)
    for worker in workers:
        summaries[worker.name]["setup_s"] = worker.about["setup_s"]
        summaries[worker.name]["peak_mib"] = worker.peak_kib / 1024
    about = {
        "date": date.today().isoformat(),
        "cpu": cpu_model(),
        "python": platform.python_version(),
        "data": options.data.name,
        "offset": options.offset,
        "limit": options.limit,
        "tokenizer": options.tokenizer,
        "timeout_s": options.timeout,
        "versions": {worker.name: worker.about["versions"] for worker in workers},
    }
    for key, value in about.items():
        print(f"{key}: {value}")
    print()
    print_table(summaries)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(to_json(results, summaries, about), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
