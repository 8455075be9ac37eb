"""The official JSON-Schema-Test-Suite, as verdicts.

Every instance is written by ``json.dumps`` and read byte by byte. An instance whose group cannot be
compiled is *refused*, unless nothing satisfies the schema and the instance is invalid: then it is
right, as no text is generated.
"""

from __future__ import annotations

import json
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

__all__ = ["DRAFTS", "Verdict", "count", "verdicts"]

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
    compiler = Compiler(Vocabulary.from_tokens([bytes([i]) for i in range(256)] + [b"<eos>"], eos_ids=[256]))
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
                yield Verdict(path.stem, group["description"], test["description"], outcome, refused)


def count(found: list[Verdict]) -> dict[str, Counter[str]]:
    """The outcomes of each file."""
    files: dict[str, Counter[str]] = {}
    for verdict in found:
        files.setdefault(verdict.file, Counter())[verdict.outcome] += 1
    return files
