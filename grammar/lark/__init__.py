"""Grammars in Lark's language: what the mask allows, Lark parses, and the other way round.

* :mod:`.loading` has Lark read the grammar;
* :mod:`.contexts` is what tokens leave behind for the text after them;
* :mod:`.tokens` reads terminals, and what is ignored, from context to context;
* :mod:`.expansion` does so with rules.

Which texts a grammar matches depends on how a lexer finds its terminals in them:

``"dynamic"``
    Lark's default, with its Earley parser: where a terminal may come, it is matched as ``re.match``
    does it, longest repeats first, and that match is taken or none. ``NAME "in"`` does not match
    ``xin``, for the name is all of it.
``"dynamic_complete"``
    Shorter matches are tried as well, so ``xin`` matches too. Patterns with lookarounds, anchors
    or word boundaries count as in ``"dynamic"``, which is tighter than Lark in rare cases.

In both, what is ignored may stand before, between and behind terminals, never inside one. All of
it is exact, ambiguity and left recursion included; see
:mod:`maskwright.grammar.automata.first_match` for the patterns.

Rejected: splitting a text in any way that fits the rules (a text would then be allowed that Lark
refuses), and forbidding after each terminal the characters that it could go on with (``1.`` may be
followed by a name, but not by a digit, and a number by ``.`` only if no digit comes after that).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import GrammarError
from ...limits import DEFAULT_LIMITS, Limits
from ..recursion import NormalizedGrammar, normalized
from .contexts import Contexts
from .expansion import expanded, following_of
from .loading import LEXERS, LarkLexer, load
from .tokens import Tokens

__all__ = ["LarkLexer", "lark_grammar"]


def lark_grammar(
    text: str,
    start: str = "start",
    *,
    lexer: LarkLexer = "dynamic",
    import_paths: Sequence[Any] = (),
    source_path: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> NormalizedGrammar:
    """The grammar of the texts that Lark parses.

    Args:
        text: a grammar in Lark's language.
        start: the rule to start with.
        lexer: how terminals are found, see above.
        import_paths, source_path: where imports are looked for, as in Lark.

    Raises:
        GrammarError: Lark does not take the grammar, or a terminal is not regular or looks at
            what stands before it.
        UnsatisfiableError: no text matches.
        LimitError: see ``limits``.
    """
    if lexer not in LEXERS:
        raise GrammarError(
            f"lexer is {lexer!r}; write one of " + ", ".join(repr(name) for name in LEXERS)
        )
    rules = load(
        text,
        start=start,
        lexer=lexer,
        limits=limits,
        import_paths=import_paths,
        source_path=source_path,
    )
    contexts = Contexts(limits)
    tokens = Tokens(rules.terminals, rules.ignored, following_of(rules), contexts, limits)
    return normalized(*expanded(rules, tokens, contexts, limits))
