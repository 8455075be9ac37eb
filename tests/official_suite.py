"""The official JSON-Schema-Test-Suite, as verdicts.

Every instance is written by ``json.dumps`` and read byte by byte. An instance whose group cannot be
compiled is *refused*, unless nothing satisfies the schema and the instance is invalid: then it is
right, as no text is generated.

``python tests/official_suite.py [SUITE]`` writes the tables of ``docs/json_schema.md`` anew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from byte_texts import BYTES, accepts
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from maskwright import Compiler, JsonOptions
from maskwright.errors import GrammarError, LimitError, UnsatisfiableError

__all__ = ["DOCUMENT", "DRAFTS", "Verdict", "tables", "verdicts", "with_tables"]

DOCUMENT = Path(__file__).parent.parent / "docs" / "json_schema.md"
"""The document that shows the tables, between the two marks."""

MARKS = ("<!-- tables: begin -->\n", "<!-- tables: end -->\n")

DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
"""Name of the folder and ``$schema`` of each draft."""

REMOTE_BASE = "http://localhost:1234/"
"""Where the suite says its remote documents are."""


@dataclass(frozen=True)
class Verdict:
    """What became of one instance: ``right``, ``strict``, ``loose`` or ``refused``.

    ``error`` is what compiling its schema raised, if anything.
    """

    file: str
    group: str
    test: str
    outcome: str
    error: Exception | None


@cache
def remotes(suite: Path) -> Registry[Any]:
    """The suite's remote documents."""
    registry: Registry[Any] = Registry()
    for path in sorted((suite / "remotes").rglob("*.json")):
        contents = json.loads(path.read_text("utf-8"))
        uri = REMOTE_BASE + path.relative_to(suite / "remotes").as_posix()
        resource = Resource.from_contents(contents, default_specification=DRAFT202012)
        registry = registry.with_resource(uri, resource)
    return registry


@cache  # the tables show what the tests check
def verdicts(suite: Path, draft: str, order: Literal["any", "schema"]) -> tuple[Verdict, ...]:
    """All instances of a draft's mandatory tests."""
    options = JsonOptions(property_order=order, formats="annotate")
    return tuple(_verdicts(suite, draft, options))


def _verdicts(suite: Path, draft: str, options: JsonOptions) -> Iterator[Verdict]:
    compiler = Compiler(BYTES)
    for path in sorted((suite / "tests" / draft).glob("*.json")):
        for group in json.loads(path.read_text("utf-8")):
            schema = group["schema"]
            if isinstance(schema, dict):
                schema = {"$schema": DRAFTS[draft], **schema}
            fsm, error = None, None
            try:
                fsm = compiler.json_schema(schema, options=options, registry=remotes(suite))
            except (GrammarError, LimitError) as caught:
                error = caught
            for test in group["tests"]:
                text = json.dumps(test["data"], ensure_ascii=False)
                if error is not None and not isinstance(error, UnsatisfiableError):
                    outcome = "refused"
                elif (fsm is not None and accepts(fsm, text)) == test["valid"]:
                    outcome = "right"
                else:
                    outcome = "strict" if test["valid"] else "loose"
                name = test["description"]
                yield Verdict(path.stem, group["description"], name, outcome, error)


def tables(suite: Path) -> str:
    """The mandatory tests of every draft by file, and whatever is not right, as Markdown."""
    by_draft = [verdicts(suite, draft, "any") for draft in DRAFTS]
    header = _row("", DRAFTS) + "|---" * (1 + len(DRAFTS)) + "|\n"

    lines = [header]
    for order in ("any", "schema"):
        right = [_share(verdicts(suite, draft, order)) for draft in DRAFTS]
        lines.append(_row(f"right, `property_order={order!r}`", right))
    for outcome, name in _NOT_RIGHT.items():
        counts = [sum(v.outcome == outcome for v in found) for found in by_draft]
        lines.append(_row(f"{name}, `property_order='any'`", counts))

    lines += ["\nBy file, right of all, in any order:\n\n", header]
    for file in sorted({v.file for found in by_draft for v in found}):
        of_file = [[v.outcome for v in found if v.file == file] for found in by_draft]
        cells = [f"{some.count('right')}/{len(some)}" if some else "" for some in of_file]
        lines.append(_row(file, cells))

    faults: dict[tuple[str, str, str], dict[str, None]] = {}  # the drafts, as an ordered set
    for draft, found in zip(DRAFTS, by_draft, strict=True):
        for v in found:
            if v.outcome != "right":
                faults.setdefault((v.file, v.group, v.outcome), {})[draft] = None
    lines.append("\nNot right, in any order:\n\n")
    lines.append("| file | group | what | drafts |\n|---|---|---|---|\n")
    for (file, group, outcome), drafts in sorted(faults.items(), key=lambda item: item[0]):
        lines.append(_row(file, [group, outcome, ", ".join(drafts)]))
    return "".join(lines)


_NOT_RIGHT = {
    "refused": "refused when compiled",
    "strict": "valid, not allowed",
    "loose": "invalid, allowed",
}


def _row(first: str, rest: Iterable[object]) -> str:
    return f"| {' | '.join([first, *map(str, rest)])} |\n"


def _share(found: Sequence[Verdict]) -> str:
    return f"{100 * sum(v.outcome == 'right' for v in found) / len(found):.1f} %"


def with_tables(document: str, suite: Path) -> str:
    """The document with its tables as they are now."""
    begin, end = MARKS
    before, rest = document.split(begin)
    return before + begin + tables(suite) + end + rest.split(end)[1]


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "../shared/data/json-schema-test-suite"
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text("utf-8"), Path(folder)), "utf-8")
