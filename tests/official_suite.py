"""The official JSON-Schema-Test-Suite, as verdicts.

Every instance is written by ``json.dumps`` and read byte by byte. An instance whose group cannot be
compiled is *refused*, unless nothing satisfies the schema and the instance is invalid: then it is
right, as no text is generated.

``python tests/official_suite.py [SUITE]`` writes the tables of ``docs/json_schema.md`` anew.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from maskwright import Compiler, JsonOptions, Vocabulary
from maskwright.errors import GrammarError, LimitError, UnsatisfiableError
from maskwright.fsm.token_fsm import TokenFSM

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
    """What became of one instance: ``right``, ``strict``, ``loose`` or ``refused``."""

    file: str
    group: str
    test: str
    outcome: str
    reason: str = ""


def remotes(suite: Path) -> Registry[Any]:
    """The suite's remote documents."""
    registry: Registry[Any] = Registry()
    for path in sorted((suite / "remotes").rglob("*.json")):
        contents = json.loads(path.read_text("utf-8"))
        uri = REMOTE_BASE + path.relative_to(suite / "remotes").as_posix()
        resource = Resource.from_contents(contents, default_specification=DRAFT202012)
        registry = registry.with_resource(uri, resource)
    return registry


def accepts(fsm: TokenFSM, text: str) -> bool:
    """Whether a text is allowed to its end; the vocabulary's tokens are the bytes."""
    matcher = fsm.matcher()
    data = text.encode()
    return matcher.accept_all(list(data)) == len(data) and matcher.is_accepting()


def verdicts(
    suite: Path, draft: str, options: JsonOptions, *, folder: str = "."
) -> Iterator[Verdict]:
    """All instances of a draft's files in ``folder``; optional ones are in ``optional/…``."""
    compiler = Compiler(
        Vocabulary.from_tokens([bytes([i]) for i in range(256)] + [b"<eos>"], eos_ids=[256])
    )
    registry = remotes(suite)
    for path in sorted((suite / "tests" / draft / folder).glob("*.json")):
        for group in json.loads(path.read_text("utf-8")):
            schema = group["schema"]
            if isinstance(schema, dict):
                schema = {"$schema": DRAFTS[draft], **schema}
            fsm, refused = None, ""
            try:
                fsm = compiler.json_schema(schema, options=options, registry=registry)
            except UnsatisfiableError:
                pass
            except (GrammarError, LimitError) as error:
                refused = f"{type(error).__name__}: {error}"
            for test in group["tests"]:
                text = json.dumps(test["data"], ensure_ascii=False)
                if refused:
                    outcome = "refused"
                elif (fsm is not None and accepts(fsm, text)) == test["valid"]:
                    outcome = "right"
                else:
                    outcome = "strict" if test["valid"] else "loose"
                yield Verdict(
                    path.stem, group["description"], test["description"], outcome, refused
                )


def tables(suite: Path) -> str:
    """The mandatory tests of every draft by file, and whatever is not right, as Markdown."""
    outcomes: dict[str, dict[str, list[Verdict]]] = {}
    totals: dict[str, dict[str, Counter[str]]] = {"any": {}, "schema": {}}
    faults: dict[tuple[str, str, str], list[str]] = {}
    for draft in DRAFTS:
        for order in ("any", "schema"):
            options = JsonOptions(property_order=order, formats="annotate")
            found = list(verdicts(suite, draft, options))
            totals[order][draft] = Counter(verdict.outcome for verdict in found)
            if order == "schema":
                continue
            for verdict in found:
                outcomes.setdefault(verdict.file, {}).setdefault(draft, []).append(verdict)
                if verdict.outcome != "right":
                    drafts = faults.setdefault((verdict.file, verdict.group, verdict.outcome), [])
                    drafts.extend([draft] * (draft not in drafts))

    def cell(found: list[Verdict]) -> str:
        right = sum(verdict.outcome == "right" for verdict in found)
        return f"{right}/{len(found)}" if found else ""

    head = "| | " + " | ".join(DRAFTS) + " |\n|---" + "|---" * len(DRAFTS) + "|\n"
    lines = [head]
    for order, by_draft in totals.items():
        cells = [f"{100 * c['right'] / c.total():.1f} %" for c in by_draft.values()]
        lines.append(f"| right, `property_order={order!r}` | {' | '.join(cells)} |\n")
    for outcome, name in [
        ("refused", "refused when compiled"),
        ("strict", "valid, not allowed"),
        ("loose", "invalid, allowed"),
    ]:
        cells = [str(c[outcome]) for c in totals["any"].values()]
        lines.append(f"| {name}, `property_order='any'` | {' | '.join(cells)} |\n")
    lines += ["\nBy file, right of all, in any order:\n\n", head]
    for file, by_draft_found in sorted(outcomes.items()):
        cells = [cell(by_draft_found.get(draft, [])) for draft in DRAFTS]
        lines.append(f"| {file} | {' | '.join(cells)} |\n")
    lines += [
        "\nNot right, in any order:\n\n",
        "| file | group | what | drafts |\n|---|---|---|---|\n",
    ]
    for (file, group, outcome), drafts in sorted(faults.items()):
        lines.append(f"| {file} | {group} | {outcome} | {', '.join(drafts)} |\n")
    return "".join(lines)


def with_tables(document: str, suite: Path) -> str:
    """The document with its tables as they are now."""
    begin, end = MARKS
    before, rest = document.split(begin)
    return before + begin + tables(suite) + end + rest.split(end)[1]


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "../shared/data/json-schema-test-suite"
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text("utf-8"), Path(folder)), "utf-8")
