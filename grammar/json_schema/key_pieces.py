"""The keys of an object in pieces: those of one piece are subject to the same subschemas."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from ..automata.dfa import CharDFA
from .algebra import Algebra
from .nodes import KeyObligation, Layer, ObjectNode, Term
from .scalars import StringPart

__all__ = ["Obliged", "concerned_keys", "pieces_of"]

Obliged: TypeAlias = frozenset[int]
"""Obligations of an object node, by their places."""

Conjoin: TypeAlias = Callable[[Iterable[Term]], Term]


def pieces_of(
    algebra: Algebra, node: ObjectNode, concerned: list[CharDFA]
) -> dict[tuple[Term, Obliged], CharDFA | None]:
    """All keys, split by the term of their values and the obligations that they can meet.

    Args:
        concerned: for each obligation, the keys that can meet it.

    Returns:
        The keys of each piece, ``None`` for all; declared ones are not taken out.
    """
    # Keys (``None`` for all), the patterns they match, the obligations they meet.
    pieces: list[tuple[CharDFA | None, frozenset[str | int]]] = [(None, frozenset())]
    for pattern in dict.fromkeys(p for layer in node.layers for p, _ in layer.patterns):
        pieces = _split(pieces, pattern, _language(algebra, pattern))
    for i, keys_concerned in enumerate(concerned):
        pieces = _split(pieces, i, keys_concerned)
    merged: dict[tuple[Term, Obliged], CharDFA | None] = {}
    conjoin = algebra.conjoin
    for keys, labels in pieces:
        term = conjoin(_of_piece(conjoin, layer, labels) for layer in node.layers)
        what = term, frozenset(label for label in labels if isinstance(label, int))
        if what in merged:
            seen = merged[what]
            keys = None if seen is None or keys is None else seen.union(keys)
        merged[what] = keys
    return merged


def concerned_keys(algebra: Algebra, obligation: KeyObligation) -> CharDFA:
    """The keys that can meet an obligation, its ``names`` aside."""
    keys = CharDFA.any_text()
    if obligation.pattern is not None:
        keys = _language(algebra, obligation.pattern)
    for pattern in obligation.unmatched:
        keys = keys.difference(_language(algebra, pattern))
    if obligation.declared:
        keys = keys.difference(CharDFA.from_strings(obligation.declared))
    return keys


def _language(algebra: Algebra, pattern: str) -> CharDFA:
    return algebra.languages.string(StringPart(languages=frozenset((("pattern", pattern),))))


def _split(
    pieces: list[tuple[CharDFA | None, frozenset[str | int]]], label: str | int, language: CharDFA
) -> list[tuple[CharDFA | None, frozenset[str | int]]]:
    """Each piece inside and outside of a language, the inside labelled; without empty ones."""
    result: list[tuple[CharDFA | None, frozenset[str | int]]] = []
    for keys, labels in pieces:
        inside = language if keys is None else keys.intersect(language)
        outside = language.complement() if keys is None else keys.difference(language)
        if not inside.is_empty:
            result.append((None if inside.is_universal else inside, labels | {label}))
        if not outside.is_empty:
            result.append((outside, labels))
    return result


def _of_piece(conjoin: Conjoin, layer: Layer, labels: frozenset[str | int]) -> Term:
    found = [term for pattern, term in layer.patterns if pattern in labels]
    return conjoin(found) if found else layer.additional
