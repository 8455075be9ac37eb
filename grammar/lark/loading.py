"""Grammars in Lark's language, read by Lark itself.

Imports, templates, operators, ``%extend``, ``%override`` and all errors of grammars are Lark's;
what comes out is its rules without operators, and its terminals as patterns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import lark
from lark.exceptions import LarkError, UnexpectedInput
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

__all__ = ["LarkLexer", "load"]

LarkLexer = Literal["dynamic", "dynamic_complete"]


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
    except UnexpectedInput as error:
        raise GrammarError(
            f"the Lark grammar cannot be read: {_first_line(error)}",
            line=error.line,
            column=error.column,
            excerpt=error.get_context(text).rstrip("\n"),
        ) from error
    except (LarkError, OSError, KeyError, ValueError) as error:
        raise GrammarError(f"the Lark grammar is not valid: {error}") from error
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
                f"the terminal {name} of rule {user!r} is only declared, by %declare; a terminal "
                "that a lexer makes up has no text to generate: define it, or take it out"
            )
    ignored = list(dict.fromkeys(made.ignore_tokens))
    terminals = {
        name: _terminal(name, patterns[name], lexer, name in ignored, limits)
        for name in [*used, *ignored]
    }
    return Rules(bodies, terminals, ignored, start)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _terminal(
    name: str, pattern: Any, lexer: LarkLexer, is_ignored: bool, limits: Limits
) -> Terminal:
    if isinstance(pattern, PatternStr) and not pattern.flags:
        language = CharDFA.from_strings([pattern.value])
        return Terminal(name, (FirstMatch(language, None),), is_text=True)
    try:
        tree = parse_regex(pattern.to_regexp(), dialect="python", ordered=True)
        matches = first_matches(tree, limits=limits, culprit=f"terminal {name}")
    except LooksOutsideError:
        raise GrammarError(
            f"the terminal {name} looks at what stands before it, which is another token's; "
            "only what is inside a terminal, or after it, can be looked at"
        ) from None
    except GrammarError as error:
        raise GrammarError(f"the terminal {name}: {error.message}") from error
    if lexer == "dynamic_complete" and not is_ignored and is_plain(tree):
        # The shorter matches are tried too, so nothing must not follow.
        matches = tuple(FirstMatch(match.language, None) for match in matches)
    return Terminal(name, matches, is_text=isinstance(pattern, PatternStr))
