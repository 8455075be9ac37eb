"""What a front end says of an input before anything is served with it.

A :class:`Report` lists everything it found, not just the first error: what is enforced and where,
what is not and why, and what the author probably did not mean. ``Compiler.check`` makes one, and
``maskwright check`` prints it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from ..errors import GrammarError, LimitError
from .ir import (
    Captured,
    Chain,
    Choice,
    Expr,
    Grammar,
    Key,
    Ref,
    Repeat,
    Sequence,
    StringLexeme,
    TextLexeme,
)

__all__ = ["RULES_MEASURED", "Finding", "Report", "Severity", "Size", "Status", "measure"]

Severity: TypeAlias = Literal["error", "warning", "info"]
Status: TypeAlias = Literal[
    "malformed",
    "refused",
    "too large",
    "unsatisfiable",
    "typo",
    "idle",
    "ignored",
    "deferred",
    "relaxed",
    "enforced",
]

RULES_MEASURED = 10_000
"""Rules that are looked at to measure a grammar; counted repetitions can make far more."""

_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about one place of the input.

    Attributes:
        status: ``"malformed"``: not a valid input. ``"refused"``: valid, but cannot be enforced
            exactly. ``"too large"``: exactness needs more than a limit allows.
            ``"unsatisfiable"``: nothing matches. ``"typo"``: probably meant otherwise.
            ``"idle"``: has no effect where it stands. ``"ignored"``: not enforced, as its
            specification says. ``"deferred"``: only checked when the text is complete.
            ``"relaxed"``: dropped as the user's options ask. ``"enforced"``: every text obeys it.
        severity: ``"error"``: nothing can be compiled. ``"warning"``: it can, but look at this.
        where: a JSON Pointer, or line and column.
        keyword: the keyword, if the finding is about one.
        message: a sentence; empty for ``"enforced"``.
    """

    status: Status
    severity: Severity
    where: str
    keyword: str | None = None
    message: str = ""

    def __str__(self) -> str:
        text = f"{self.status}  {self.where}"
        return f"{text}  {self.message}" if self.message else text


@dataclass(frozen=True, slots=True)
class Size:
    """An estimate of what a grammar costs.

    Attributes:
        rules: rules reachable from the start.
        states: states of the character automata in them.
        is_whole: whether these are all; else there are more than :data:`RULES_MEASURED` rules.
    """

    rules: int
    states: int
    is_whole: bool

    def __str__(self) -> str:
        more = "" if self.is_whole else "more than "
        return f"{more}{self.rules:,} rules, {self.states:,} automaton states"


@dataclass(frozen=True, slots=True)
class Report:
    """Everything found, errors first, then in the order of the input.

    Attributes:
        findings: what was found.
        size: what the grammar costs; ``None`` if there is none because of errors.
    """

    findings: tuple[Finding, ...]
    size: Size | None

    @property
    def is_ok(self) -> bool:
        """Whether the input compiles."""
        return all(finding.severity != "error" for finding in self.findings)

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings of one severity."""
        return tuple(finding for finding in self.findings if finding.severity == severity)

    def with_status(self, status: Status) -> tuple[Finding, ...]:
        """The findings of one status."""
        return tuple(finding for finding in self.findings if finding.status == status)

    def as_json(self) -> dict[str, Any]:
        """The report as an object for ``json.dumps``."""
        return {
            "ok": self.is_ok,
            "findings": [asdict(finding) for finding in self.findings],
            "size": None if self.size is None else asdict(self.size),
        }

    def __str__(self) -> str:
        """The verdict, all but what is enforced a line each, and a summary of that."""
        counts = Counter(finding.severity for finding in self.findings)
        verdict = "ok" if self.is_ok else f"{counts['error']} error" + "s" * (counts["error"] > 1)
        if counts["warning"]:
            verdict += f", {counts['warning']} warning" + "s" * (counts["warning"] > 1)
        lines = [verdict]
        for severity in _SEVERITIES:
            for finding in self.of(severity):
                if finding.status != "enforced":
                    lines.append(f"  {severity:<8} {finding}")
        enforced = self.with_status("enforced")
        if enforced:
            keywords = Counter(finding.keyword for finding in enforced)
            lines.append(
                "  enforced  " + ", ".join(f"{name} {n:,}" for name, n in keywords.most_common())
            )
        if self.size is not None:
            lines.append(f"  size      {self.size}")
        return "\n".join(lines)


def measure(grammar: Grammar, on_error: Callable[[Key, GrammarError | LimitError], None]) -> Size:
    """The size of a grammar, by expanding its rules.

    Args:
        grammar: any grammar.
        on_error: called with the key of each rule that cannot be expanded.
    """
    seen: set[Key] = {grammar.start}
    pending: list[Key] = [grammar.start]
    automata: dict[int, Any] = {}  # by identity; the values keep them alive
    rules = 0
    while pending and rules < RULES_MEASURED:
        key = pending.pop()
        rules += 1
        try:
            body = grammar.rule(key)
        except (GrammarError, LimitError) as error:
            on_error(key, error)
            continue
        for expr in _parts(body):
            if isinstance(expr, TextLexeme | StringLexeme):
                automata[id(expr.language)] = expr.language
            elif isinstance(expr, Ref | Captured):
                after = expr.key
                if isinstance(expr, Captured):
                    # One value stands for all: the rules after the others are much alike.
                    after = grammar.after_value(after, None)
                if after not in seen:
                    seen.add(after)
                    pending.append(after)
    states = sum(len(language.trans) for language in automata.values())
    return Size(rules, states, not pending)


def _parts(body: Expr) -> Iterator[Expr]:
    """An expression and everything in it, rules not followed."""
    pending = [body]
    while pending:
        expr = pending.pop()
        yield expr
        if isinstance(expr, Sequence):
            pending.extend(expr.items)
        elif isinstance(expr, Choice):
            pending.extend(expr.options)
        elif isinstance(expr, Repeat):
            pending.extend((expr.item, expr.separator))
        elif isinstance(expr, Chain):
            pending.extend(item.expr for item in expr.items)
            pending.append(expr.separator)
            if expr.rest is not None:
                pending.append(expr.rest)
