"""Grammars that are given whole, as a mapping of rules."""

from __future__ import annotations

from collections.abc import Mapping

from .ir import Expr, Grammar, Key

__all__ = ["StaticGrammar"]


class StaticGrammar(Grammar):
    """Rules by key.

    Args:
        rules: all rules; every one must match something, none may be left-recursive (see
            :func:`maskwright.grammar.recursion.normalized`).
        start: the rule to start with.
    """

    def __init__(self, rules: Mapping[Key, Expr], start: Key) -> None:
        self.rules = dict(rules)
        self.start = start

    def rule(self, key: Key) -> Expr:
        return self.rules[key]
