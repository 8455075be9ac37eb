"""Results as a table side by side, as JSON, by keyword, and the differences between two runs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jsonschema import Draft4Validator, Draft201909Validator, Draft202012Validator
from measure import SchemaResult
from numpy.typing import NDArray
from referencing import Resource
from referencing.jsonschema import DRAFT202012

__all__ = ["by_keyword", "compare", "print_table", "summarize", "to_json"]

Results = Mapping[str, Mapping[str, SchemaResult]]  # engine -> schema id -> result
Summary = dict[str, float]

_PERCENTILES = (("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9))


def _statistics(values: NDArray[np.float64]) -> Summary:
    if not values.size:
        return {}
    summary = {"mean": float(values.mean())}
    summary.update({name: float(np.percentile(values, rank)) for name, rank in _PERCENTILES})
    summary["max"] = float(values.max())
    return summary


def _token_us(results: Sequence[SchemaResult]) -> NDArray[np.float64]:
    parts = [np.asarray(test.ns, dtype=np.float64) for r in results for test in r.tests]
    return np.concatenate(parts) / 1e3 if parts else np.zeros(0)


def _common_token_us(results: Results, ids: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Times of the same (schema, test, token) triples for every engine.

    An invalid instance may be refused at different tokens; what all engines did is kept.
    """
    parts: dict[str, list[NDArray[np.float64]]] = {name: [] for name in results}
    for schema_id in ids:
        rows = {name: results[name][schema_id].tests for name in results}
        for tests in zip(*rows.values(), strict=True):
            shared = min(len(test.ns) for test in tests)
            for name, test in zip(rows, tests, strict=True):
                parts[name].append(np.asarray(test.ns[:shared], dtype=np.float64))
    return {
        name: np.concatenate(arrays) / 1e3 if arrays else np.zeros(0)
        for name, arrays in parts.items()
    }


def _ms(values: Sequence[int]) -> Summary:
    return _statistics(np.asarray(values, dtype=np.float64) / 1e6)


def summarize(results: Results) -> dict[str, dict[str, Any]]:
    """Counts and statistics per engine; ``common_*`` cover what all engines passed."""
    first = next(iter(results.values()))
    passed_by_all = [i for i in first if all(results[name][i].passed for name in results)]
    common = _common_token_us(results, passed_by_all)
    summaries: dict[str, dict[str, Any]] = {}
    for name, by_id in results.items():
        every = list(by_id.values())
        compiled = [r for r in every if r.first_mask_ns]
        shared = [by_id[i] for i in passed_by_all]
        failures = [r for r in every if r.outcome != "ok"]
        summaries[name] = {
            "schemas": len(every),
            "pass": sum(r.passed for r in every),
            "compile_error": sum(r.outcome == "compile_error" for r in every),
            "run_error": sum(r.outcome == "run_error" for r in every),
            "timeout": sum(r.outcome == "timeout" for r in every),
            "crash": sum(r.outcome == "crash" for r in every),
            "too_strict": sum(r.too_strict for r in every),
            "too_loose": sum(r.too_loose for r in every),
            "preemptions": sum(r.preemptions for r in every),
            "tokens": sum(len(test.ns) for r in every for test in r.tests),
            "mask_us": _statistics(_token_us(compiled)),
            "compile_ms": _ms([r.compile_ns for r in compiled]),
            "first_mask_ms": _ms([r.first_mask_ns for r in compiled]),
            "common_schemas": len(passed_by_all),
            "common_tokens": int(common[name].size),
            "common_mask_us": _statistics(common[name]),
            "common_compile_ms": _ms([r.compile_ns for r in shared]),
            "common_first_mask_ms": _ms([r.first_mask_ns for r in shared]),
            "errors": Counter(_kind(r) for r in failures).most_common(12),
        }
    return summaries


def _kind(result: SchemaResult) -> str:
    """The error without its particulars, so that equal causes add up."""
    first_line = result.error.partition("\n")[0] or result.outcome
    return re.sub(r"\[[\d:]+\] ", "", first_line)[:70]


_COUNTS = (
    ("schemas", "schemas"),
    ("pass", "  pass"),
    ("compile_error", "  compile error"),
    ("run_error", "  error while running"),
    ("timeout", "  timeout"),
    ("crash", "  crash"),
    ("too_strict", "  too strict (valid refused)"),
    ("too_loose", "  too loose (invalid accepted)"),
    ("tokens", "tokens"),
    ("preemptions", "preemptions while measuring"),
)
_TIMES = (
    ("mask_us", "mask + commit, µs"),
    ("compile_ms", "compile, ms"),
    ("first_mask_ms", "compile + first mask, ms"),
)


def print_table(summaries: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the engines side by side; after the first, each time has its ratio to the first."""
    names = list(summaries)
    _line("", names)
    for key, label in _COUNTS:
        cells = [f"{summaries[name][key]:,}" for name in names]
        if key == "pass":
            shares = [100 * summaries[n]["pass"] / max(1, summaries[n]["schemas"]) for n in names]
            cells = [f"{c} ({s:.1f} %)" for c, s in zip(cells, shares, strict=True)]
        _line(label, cells)
    for key, label in (("setup_s", "engine set-up, s"), ("peak_mib", "peak resident, MiB")):
        if all(key in summaries[name] for name in names):
            _line(label, [f"{summaries[name][key]:,.2f}" for name in names])
    head = summaries[names[0]]
    print("\nwhat each engine compiled")
    _print_times(summaries, "")
    if len(names) > 1:
        print(
            f"\nthe same tokens for all: {head['common_tokens']:,} tokens of the "
            f"{head['common_schemas']:,} schemas that every engine passes"
        )
        _print_times(summaries, "common_")
    for name in names:
        if summaries[name]["errors"]:
            print(f"\n{name}: commonest errors")
            for error, count in summaries[name]["errors"]:
                print(f"  {count:5,}  {error}")


def _print_times(summaries: Mapping[str, Mapping[str, Any]], prefix: str) -> None:
    names = list(summaries)
    base = summaries[names[0]]
    for key, label in _TIMES:
        for statistic in ("mean", "p50", "p99", "p99.9", "max"):
            cells = []
            for name in names:
                value = summaries[name][prefix + key].get(statistic)
                reference = base[prefix + key].get(statistic)
                cell = "-" if value is None else f"{value:,.3f}" if value < 10 else f"{value:,.1f}"
                if name != names[0] and value and reference:
                    cell += f" ({value / reference:.3g} x)"
                cells.append(cell)
            _line(f"  {label}: {statistic}", cells)


def _line(label: str, cells: Sequence[str]) -> None:
    print(f"{label:<36}" + "".join(f"{cell:>24}" for cell in cells))


def to_json(
    results: Results, summaries: Mapping[str, Any], about: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything worth keeping of a run; times per token are reduced to mean and maximum."""
    return {
        "about": dict(about),
        "summaries": dict(summaries),
        "schemas": {
            name: {
                r.schema_id: {
                    "verdict": r.verdict,
                    "error": r.error,
                    "wrong_tests": [i for i, t in enumerate(r.tests) if t.valid != t.accepted],
                    "compile_ms": r.compile_ns / 1e6,
                    "first_mask_ms": r.first_mask_ns / 1e6,
                    **_token_summary(r),
                }
                for r in by_id.values()
            }
            for name, by_id in results.items()
        },
    }


def _token_summary(result: SchemaResult) -> dict[str, Any]:
    times = _token_us([result])
    if not times.size:
        return {"tokens": 0}
    return {
        "tokens": int(times.size),
        "mean_us": float(times.mean()),
        "max_us": float(times.max()),
    }


def compare(first: str, second: str) -> int:
    """Print the schemas that two runs judge differently; each is ``FILE`` or ``FILE:ENGINE``.

    Returns:
        the number of differences.
    """
    left_name, left = _verdicts(first)
    right_name, right = _verdicts(second)
    shared = [schema_id for schema_id in left if schema_id in right]
    differing = [i for i in shared if left[i]["verdict"] != right[i]["verdict"]]
    print(f"{len(shared):,} schemas in both, {len(differing):,} judged differently")
    for schema_id in differing:
        a, b = left[schema_id], right[schema_id]
        print(f"{schema_id}: {left_name} {a['verdict']}, {right_name} {b['verdict']}")
        for name, row in ((left_name, a), (right_name, b)):
            detail = row["error"] or (row["wrong_tests"] and f"wrong tests {row['wrong_tests']}")
            if detail:
                print(f"    {name}: {detail[:200]}")
    return len(differing)


def by_keyword(records: Iterable[dict[str, Any]], *sources: str) -> None:
    """Print how many of the schemas that use a keyword passed in each run, as Markdown.

    Args:
        records: the schemas, as :func:`maskbench.read_records` gives them.
        sources: the runs, each ``FILE`` or ``FILE:ENGINE``.
    """
    runs = [_verdicts(source) for source in sources]
    uses: Counter[str] = Counter()
    passes = [Counter[str]() for _ in runs]
    for record in records:
        keywords = set(_keywords(record["schema"]))
        uses.update(keywords)
        for (_, verdicts), passed in zip(runs, passes, strict=True):
            if verdicts.get(record["id"], {}).get("verdict") == "pass":
                passed.update(keywords)
    print(f"| keyword | schemas | {' | '.join(name for name, _ in runs)} |")
    print("| --- " * (2 + len(runs)) + "|")
    for keyword, n in sorted(uses.items(), key=lambda item: (-item[1], item[0])):
        shares = [f"{passed[keyword]:,} ({100 * passed[keyword] / n:.1f} %)" for passed in passes]
        print(f"| `{keyword}` | {n:,} | {' | '.join(shares)} |")


_VALIDATORS = (Draft4Validator, Draft201909Validator, Draft202012Validator)
_KEYWORDS = frozenset(keyword for draft in _VALIDATORS for keyword in draft.VALIDATORS)


def _keywords(schema: Any) -> Iterator[str]:
    """The keywords of all subschemas, some more than once."""
    pending = [Resource.from_contents(schema, default_specification=DRAFT202012)]
    while pending:
        resource = pending.pop()
        if isinstance(resource.contents, dict):
            yield from (keyword for keyword in resource.contents if keyword in _KEYWORDS)
            pending.extend(resource.subresources())


def _verdicts(source: str) -> tuple[str, dict[str, Any]]:
    path, engine = (source, "") if Path(source).is_file() else source.rsplit(":", 1)
    schemas = json.loads(Path(path).read_text("utf-8"))["schemas"]
    engine = engine or next(iter(schemas))
    if engine not in schemas:
        raise SystemExit(f"{path} has no engine {engine!r}, only {', '.join(schemas)}")
    return engine, schemas[engine]
