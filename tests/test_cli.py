"""The command line, as a user calls it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from maskwright.cli import main

GOOD = {"type": "object", "properties": {"a": {"type": "integer"}}}
TYPO = {"type": "string", "maxLenght": 3}
BAD = {"type": "strin"}


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(name: str, content: Any) -> str:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return str(path)

    return write


def test_check_says_what_it_found_and_whether_it_is_enough(write: Any, capsys: Any) -> None:
    good, typo, bad = write("good.json", GOOD), write("typo.json", TYPO), write("bad.json", BAD)
    assert main(["check", good]) == 0
    assert capsys.readouterr().out.startswith(f"{good}: ok")
    assert main(["check", typo]) == 0
    assert "did you mean maxLength?" in capsys.readouterr().out
    assert main(["check", "--strict", typo]) == 1
    assert main(["check", good, bad]) == 1
    out = capsys.readouterr().out
    assert "#/type" in out
    assert f"{good}: ok" in out


def test_check_as_json(write: Any, capsys: Any) -> None:
    good, bad = write("good.json", GOOD), write("bad.json", BAD)
    assert main(["check", "--json", good, bad]) == 1
    value = json.loads(capsys.readouterr().out)
    assert value[good]["ok"]
    assert not value[bad]["ok"]
    (error,) = value[bad]["findings"]
    assert (error["status"], error["where"]) == ("malformed", "#/type")


def test_check_reads_standard_input(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(GOOD)))
    assert main(["check", "-"]) == 0
    assert capsys.readouterr().out.startswith("-: ok")


def test_check_takes_options_and_other_documents(write: Any, capsys: Any) -> None:
    schema = write("schema.json", {"$ref": "https://example.org/n", "uniqueItems": True})
    other = write("other.json", {"$id": "https://example.org/n", "type": "array"})
    assert main(["check", schema]) == 1
    assert main(["check", schema, "--refers-to", other, "--relax", "uniqueItems"]) == 0
    assert "dropped as relax asks" in capsys.readouterr().out
    assert main(["check", schema, "--refers-to", write("no_id.json", {})]) == 2
    assert "no $id" in capsys.readouterr().err


def test_check_of_a_grammar(write: Any, capsys: Any) -> None:
    assert main(["check", write("good.gbnf", 'root ::= "a" root | "b"')]) == 0
    assert main(["check", write("bad.gbnf", 'root ::= "a" nope')]) == 1
    assert "line 1" in capsys.readouterr().out
    assert main(["check", write("never.gbnf", 'root ::= "a" root')]) == 1
    assert "unsatisfiable" in capsys.readouterr().out


def test_check_of_what_is_no_json(write: Any, capsys: Any) -> None:
    assert main(["check", write("text.json", "{\n  a")]) == 1
    assert "line 2, column 3" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [[], ["no-such-command"], ["check"], ["check", "x.json", "--whitespace", "lots"]]
)
def test_wrong_usage_is_status_2(words: list[str], capsys: Any) -> None:
    assert main(words) == 2
    assert "usage:" in capsys.readouterr().err


def test_files_that_cannot_be_read_are_status_2(write: Any, capsys: Any, tmp_path: Path) -> None:
    assert main(["check", str(tmp_path / "missing.json")]) == 2
    assert "missing.json" in capsys.readouterr().err
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe")
    assert main(["check", str(tmp_path / "binary.json")]) == 2


def test_the_program_is_installed() -> None:
    program = Path(sys.executable).with_name("maskwright")
    assert program.is_file()
    shown = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
    assert "check" in shown.stdout
