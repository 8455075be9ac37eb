"""Grammars in Lark's language, read by Lark itself.

Imports, templates, operators, ``%extend``, ``%override`` and all errors of grammars are Lark's;
what comes out is its rules without operators, and its terminals as patterns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, get_args

import lark
from lark.exceptions import LarkError, UnexpectedToken
from lark.grammar import Terminal as LarkTerminal
from lark.lexer import PatternStr

from ...errors import GrammarError
from ...limits import Limits
from ..automata.dfa import CharDFA
from ..automata.first_match import FirstMatch, LooksOutsideError, first_matches
from ..regex import parse_regex
from ..regex.tree import is_plain
from .expansion import Rules
from .tokens import Terminal

__all__ = ["LEXERS", "LarkLexer", "load"]

LarkLexer = Literal["dynamic", "dynamic_complete"]
LEXERS = get_args(LarkLexer)


def load(
    text: str,
    *,
    start: str,
    lexer: LarkLexer,
    limits: Limits,
    import_paths: Sequence[Any] = (),
    source_path: str | None = None,
) -> Rules:
    """The rules of a grammar.

    Raises:
        GrammarError: Lark does not take the grammar, or a terminal is not regular.
    """
    try:
        made = lark.Lark(
            text,
            start=start,
            parser="earley",
            lexer=lexer,
            import_paths=list(import_paths),
            source_path=source_path,
        )
    except Exception as error:  # also what Lark does not raise on purpose
        raise _grammar_error(text, start, error) from error
    bodies: dict[str, list[tuple[str, ...]]] = {}
    used: dict[str, str] = {}
    for rule in made.rules:
        body = tuple(symbol.name for symbol in rule.expansion)
        for symbol in rule.expansion:
            if isinstance(symbol, LarkTerminal):
                used.setdefault(symbol.name, rule.origin.name)
        bodies.setdefault(rule.origin.name, []).append(body)
    patterns = {terminal.name: terminal.pattern for terminal in made.terminals}
    for name, user in used.items():
        if name not in patterns:
            raise GrammarError(
                f"the terminal {name} of rule {str(user)!r} is only declared, by %declare; a "
                "terminal that a lexer makes up has no text to generate: define it, or take it out",
                **_place(text, *_found(text, name)),
            )
    ignored = list(dict.fromkeys(made.ignore_tokens))
    terminals = {
        name: _terminal(text, name, patterns[name], lexer, name in ignored, limits)
        for name in [*used, *ignored]
    }
    return Rules(bodies, terminals, ignored, start)


_POSITION = re.compile(r"\bat line (\d+),? column (\d+)")
_QUOTED = re.compile(r"'(\w+)'")


def _grammar_error(text: str, start: str, error: Exception) -> GrammarError:
    """What Lark says, with the place in the text if it can be told."""
    if f"NonTerminal({start!r})" in str(error):
        return GrammarError(
            f"the Lark grammar has no rule {start!r} to start with; define it, or name another one"
        )
    if hasattr(error, "pattern"):  # of the module re or regex; Lark does not say in which terminal
        where = _found(text, str(error.pattern)) if error.pattern else (0, 0)
        return GrammarError(
            f"a pattern of the Lark grammar is not valid: {error}", **_place(text, *where)
        )
    message = str(error).partition("\n")[0]
    position = _POSITION.search(message)
    if position is not None:
        line, column = int(position[1]), int(position[2])
        message = message[: position.start()].rstrip(" ,")
    else:
        name = _QUOTED.search(message)
        line, column = _found(text, name[1]) if name else (0, 0)
    if isinstance(error, UnexpectedToken):
        message += f"; expected one of {', '.join(sorted(error.accepts or error.expected))}"
    elif not isinstance(error, LarkError | OSError):
        message = f"{type(error).__name__}: {message}"
    return GrammarError(f"the Lark grammar is not valid: {message}", **_place(text, line, column))


def _found(text: str, what: str) -> tuple[int, int]:
    """Line and column of a name or pattern in the grammar, 0 if it is not there (but imported)."""
    found = re.search(rf"(?<!\w){re.escape(what)}(?!\w)", text)
    if found is None:
        return 0, 0
    before = text[: found.start()]
    return before.count("\n") + 1, found.start() - before.rfind("\n")


def _place(text: str, line: int, column: int) -> dict[str, Any]:
    """Arguments of an error for a place in the text."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return {}
    shown = lines[line - 1].replace("\t", " ")
    return {"line": line, "column": column, "excerpt": f"{shown}\n{' ' * (column - 1)}^"}


def _terminal(
    text: str, name: str, pattern: Any, lexer: LarkLexer, is_ignored: bool, limits: Limits
) -> Terminal:
    if isinstance(pattern, PatternStr) and not pattern.flags:
        language = CharDFA.from_strings([pattern.value])
        return Terminal(name, (FirstMatch(language, None),), is_text=True)
    line, column = _found(text, name)
    if not line:
        line, column = _found(text, pattern.value)
    where = _place(text, line, column)
    try:
        tree = parse_regex(pattern.to_regexp(), dialect="python", ordered=True)
        matches = first_matches(tree, limits=limits, culprit=f"terminal {name}")
    except LooksOutsideError:
        raise GrammarError(
            f"the terminal {name} looks at what stands before it, which is another token's; "
            "only what is inside a terminal, or after it, can be looked at",
            **where,
        ) from None
    except GrammarError as error:
        raise GrammarError(f"the terminal {name}: {error.message}", **where) from error
    if lexer == "dynamic_complete" and not is_ignored and is_plain(tree):
        # The shorter matches are tried too, so nothing must not follow.
        matches = tuple(FirstMatch(match.language, None) for match in matches)
    return Terminal(name, matches, is_text=isinstance(pattern, PatternStr))
