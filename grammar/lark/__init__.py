"""Grammars in Lark's language.

* :mod:`.loading` has Lark read the grammar;
* :mod:`.contexts` is what tokens leave behind for the text after them;
* :mod:`.tokens` reads terminals, and what is ignored, from context to context;
* :mod:`.expansion` does so with rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...limits import DEFAULT_LIMITS, Limits
from ..recursion import NormalizedGrammar, normalized
from .contexts import Contexts
from .expansion import expanded, following_of
from .loading import LarkLexer, load
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
    """The grammar of the texts that Lark parses."""
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
