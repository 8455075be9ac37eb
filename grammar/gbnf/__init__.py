"""Grammars in GBNF, the notation of llama.cpp.

* :mod:`.parser` is the pass over the text, with all errors in it;
* :mod:`.parts` is the tree of a rule, regular wherever it can be;
* :mod:`.lexical` decides which parts become lexemes.

::

    # a comment
    root   ::= item+                  rules: one of them is where a text starts
    item   ::= "- " name note? "\\n"   strings, calls of rules, * + ? {m} {m,} {m,n}
    name   ::= [a-zA-Z_] [^\\n:]{0,9}  one character of a class; '.' is any one
    note   ::= ":" ( " yes" |         alternatives; a line may end after '|', after '::='
                     " no" )          and anywhere in parentheses

Read as llama.cpp reads it: strings may contain ends of lines, ``.`` and negated classes match them
too, ``-`` is itself at the start and end of a class, an alternative may be empty, a quantifier may
follow another one. Escapes are ``\\n \\r \\t \\\\ \\" \\[ \\] \\-``, ``\\xHH``, ``\\uHHHH`` and
``\\UHHHHHHHH`` (code points, not bytes).

Accepted besides, since llama.cpp takes all of it for errors (XGrammar's EBNF has most of it): a
rule goes on over line ends until the next ``name ::=``, so ``|`` may begin a line; names with
``_``; C's other escapes; escaped punctuation in classes; ``{m,-1}`` for ``{m,}``; repeat counts of
any size, exactly. Where the two disagree, llama.cpp is followed: ``.`` is no letter of a name, and
``\\x`` has two digits.

Errors rather than surprises: a rule defined twice, an empty class, a range or repeat the wrong way
round, half a surrogate pair. Not supported: token literals (``<think>``, ``<[123]>``,
``!<think>``), and XGrammar's lookahead ``(=…)``, rule attributes and macros.

Rules may be recursive in any way; see :mod:`maskwright.grammar.recursion`.
"""

from __future__ import annotations

from ...limits import DEFAULT_LIMITS, Limits
from ..recursion import NormalizedGrammar, normalized
from .lexical import LexemeBuilder, with_regular_rules_inside
from .parser import parse

__all__ = ["gbnf_grammar"]


def gbnf_grammar(
    text: str, root: str = "root", *, limits: Limits = DEFAULT_LIMITS
) -> NormalizedGrammar:
    """The grammar of the texts that a rule of a GBNF grammar matches.

    Args:
        text: all rules.
        root: the rule to start with.

    Raises:
        GrammarError: the text is no grammar; with line and column.
        UnsatisfiableError: the rule matches no text.
        LimitError: see ``limits``.
    """
    rules = with_regular_rules_inside(parse(text, root), root)
    builder = LexemeBuilder(limits)
    return normalized({key: builder.expression(part) for key, part in rules.items()}, root)
