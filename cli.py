"""The command line: ``maskwright check``.

Exit status of every command: 0 if all is well, 1 if the input has errors, 2 for wrong usage
(a file that cannot be read included). With ``--json`` the answer is one JSON object on standard
output, whatever it is; messages about wrong usage go to standard error.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from .errors import GrammarError, LimitError, UnsatisfiableError

if TYPE_CHECKING:
    from .grammar.ir import Grammar
    from .grammar.json_schema import JsonOptions
    from .grammar.report import Report, Severity

__all__ = ["main"]

_OK, _ERRORS, _USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the words after the program's name; by default those of this process.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(
        prog="maskwright", description="Grammars for language models: look at them before use."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_check(commands)
    try:
        chosen = parser.parse_args(arguments)
    except SystemExit as stop:  # argparse has said why
        return _USAGE if stop.code else _OK
    try:
        status: int = chosen.run(chosen)
    except _UsageError as error:
        print(f"maskwright: {error}", file=sys.stderr)
        return _USAGE
    return status


class _UsageError(Exception):
    """Something about the command itself, not about its input."""


# --------------------------------------------------------------------------------- check


def _add_check(commands: Any) -> None:
    command = commands.add_parser(
        "check",
        help="report what of a schema or grammar is enforced, and what is wrong with it",
        description=(
            "For each file: what is enforced and what is not, with the place of each finding, "
            "and a size estimate. Files named *.gbnf are GBNF grammars, *.lark are Lark's (read "
            "with its dynamic lexer), all others JSON Schemas."
        ),
        epilog="Exit status: 0 if every file can be served, 1 if not, 2 for wrong usage.",
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="'-' is standard input")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.add_argument("--strict", action="store_true", help="count warnings as errors")
    command.add_argument(
        "--refers-to",
        action="append",
        default=[],
        metavar="FILE",
        help="a schema that the checked ones refer to by its $id; may be given again",
    )
    _add_json_options(command)
    command.set_defaults(run=_check)


def _check(chosen: argparse.Namespace) -> int:
    from .grammar.gbnf import gbnf_grammar
    from .grammar.lark import lark_grammar

    options = _json_options(chosen)
    registry = _registry(chosen.refers_to)
    reports: dict[str, Report] = {}
    for name in chosen.files:
        text = _read(name)
        if name.endswith(".gbnf"):
            reports[name] = _grammar_report(partial(gbnf_grammar, text))
        elif name.endswith(".lark"):
            reports[name] = _grammar_report(partial(lark_grammar, text, source_path=name))
        else:
            reports[name] = _schema_report(text, options, registry)
    if chosen.json:
        print(json.dumps({name: report.as_json() for name, report in reports.items()}))
    else:
        for name, report in reports.items():
            print(f"{name}: {report}")
    fails: tuple[Severity, ...] = ("error", "warning") if chosen.strict else ("error",)
    failed = any(report.of(severity) for report in reports.values() for severity in fails)
    return _ERRORS if failed else _OK


def _schema_report(text: str, options: JsonOptions, registry: Any) -> Report:
    from .grammar.json_schema import check_schema
    from .grammar.report import Finding, Report

    try:
        schema = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        where = "the text"
        if isinstance(error, json.JSONDecodeError):
            where = f"line {error.lineno}, column {error.colno}"
        return Report((Finding("malformed", "error", where, None, f"not JSON: {error}"),), None)
    return check_schema(schema, options=options, registry=registry)


def _grammar_report(make: Callable[[], Grammar]) -> Report:
    from .grammar.report import Finding, Report, Status, measure

    errors: list[Finding] = []

    def found(error: GrammarError | LimitError) -> None:
        status: Status = "malformed"
        where = "the grammar"
        if isinstance(error, LimitError):
            status = "too large"
        else:
            if isinstance(error, UnsatisfiableError):
                status = "unsatisfiable"
            if error.line is not None:
                where = f"line {error.line}, column {error.column}"
        errors.append(Finding(status, "error", where, None, str(error)))

    size = None
    try:
        size = measure(make(), lambda _, error: found(error))
    except (GrammarError, LimitError) as error:
        found(error)
    return Report(tuple(errors), size)


# --------------------------------------------------------------------------------- common


def _read(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        _cannot_read(name, error)


def _cannot_read(name: str, error: Exception) -> NoReturn:
    reason = error.strerror if isinstance(error, OSError) else f"it is not UTF-8 text ({error})"
    raise _UsageError(f"cannot read {name}: {reason}") from error


def _add_json_options(command: argparse.ArgumentParser) -> None:
    from .grammar.json_schema.options import CHOICES

    group = command.add_argument_group("how JSON values are written (see JsonOptions)")
    for name, values in CHOICES:
        group.add_argument(f"--{name.replace('_', '-')}", choices=values, default=values[0])
    group.add_argument(
        "--relax", action="append", default=[], metavar="KEYWORD", help="drop a keyword knowingly"
    )


def _json_options(chosen: argparse.Namespace) -> JsonOptions:
    from .grammar.json_schema import JsonOptions
    from .grammar.json_schema.options import CHOICES

    named = {name: getattr(chosen, name) for name, _ in CHOICES}
    return JsonOptions(relax=tuple(chosen.relax), **named)


def _registry(names: Iterable[str]) -> Any:
    """The documents that schemas may refer to, by their own identifiers."""
    from jsonschema_specifications import REGISTRY
    from referencing import Resource
    from referencing.jsonschema import DRAFT202012

    registry = REGISTRY
    for name in names:
        try:
            contents = json.loads(_read(name))
        except json.JSONDecodeError as error:
            raise _UsageError(f"{name} is not JSON: {error}") from error
        resource = Resource.from_contents(contents, default_specification=DRAFT202012)
        if resource.id() is None:
            raise _UsageError(f"{name} has no $id, so nothing can refer to it")
        registry = resource @ registry
    return registry
