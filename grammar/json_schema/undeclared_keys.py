"""Undeclared keys: a partition into atoms.

An atom is the keys that are subject to the same things: an atom for each set of patterns that a
key can match and each set of obligations that it can meet, all declared names taken out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ...errors import LimitError
from ..automata.dfa import CharDFA
from ..ir import Expr, StringLexeme, UndeclaredKey
from .nodes import TRUE, KeyObligation, Layer, ObjectNode, Term
from .normalize import Normalizer
from .scalars import StringPart

__all__ = ["Atom", "Obliged", "UndeclaredKeys"]

Obliged: TypeAlias = frozenset[int]
"""Obligations of a node by index."""

Conjoin: TypeAlias = Callable[[Iterable[Term]], Term]

_NONE: Obliged = frozenset()
_MOST_LISTED = 200
"""Keys of an atom that are listed; more are taken for endlessly many."""


@dataclass(frozen=True, slots=True)
class Atom:
    """Undeclared keys that are subject to the same things."""

    key: Expr
    term: Term
    concerns: Obliged


class UndeclaredKeys:
    """The atoms of object nodes."""

    def __init__(self, normalizer: Normalizer) -> None:
        self._normalizer = normalizer
        self._algebra = normalizer.algebra
        self._languages = normalizer.algebra.languages

    def is_named(self, names: tuple[StringPart, ...], name: str) -> bool:
        """Whether a name is one of the strings."""
        return any(self._languages.contains(part, name) for part in names)

    def atoms(self, node: ObjectNode) -> tuple[Atom, ...]:
        """The undeclared keys, split by what their values are subject to."""
        if node.is_closed or (node.shut and not node.layers):
            return ()
        conjoin = self._algebra.conjoin
        declared = frozenset(name for name, _ in node.named)
        if (
            node.names is TRUE
            and not node.obligations
            and all(not layer.patterns for layer in node.layers)
        ):
            term = conjoin(layer.additional for layer in node.layers)
            if not self._normalizer.inhabited(term):
                return ()
            return (Atom(UndeclaredKey(declared), term, _NONE),)

        # Pieces: keys (``None`` for all), the patterns they match, the obligations they meet.
        pieces: list[tuple[CharDFA | None, frozenset[str | int]]] = [(None, frozenset())]
        for pattern in dict.fromkeys(p for layer in node.layers for p, _ in layer.patterns):
            pieces = _split(pieces, pattern, self._language(pattern))
        for i, obligation in enumerate(node.obligations):
            pieces = _split(pieces, i, self._concerned(obligation))
        merged: dict[tuple[Term, Obliged], CharDFA | None] = {}
        for keys, labels in pieces:
            term = conjoin(_of_piece(conjoin, layer, labels) for layer in node.layers)
            what = term, frozenset(label for label in labels if isinstance(label, int))
            if what in merged:
                seen = merged[what]
                keys = None if seen is None or keys is None else seen.union(keys)
            merged[what] = keys
        names: tuple[StringPart, ...] | None = None
        if node.names is not TRUE:
            names = self._normalizer.normal(node.names).strings
        excluded = CharDFA.from_strings(declared) if declared else None
        atoms: list[Atom] = []
        for (term, concerns), keys in merged.items():
            if not self._normalizer.inhabited(term):
                continue
            if names is None and keys is None:
                atoms.append(Atom(UndeclaredKey(declared), term, concerns))
                continue
            languages: list[CharDFA] = [keys] if keys is not None else []
            if names is not None:
                languages = [
                    language if keys is None else language.intersect(keys)
                    for language in map(self._languages.string, names)
                ]
            for language in languages:
                if excluded is not None:
                    language = language.difference(excluded)
                if not language.is_empty:
                    atoms.append(Atom(StringLexeme(language), term, concerns))
        return tuple(atoms)

    def _language(self, pattern: str) -> CharDFA:
        return self._languages.string(StringPart(languages=frozenset((("pattern", pattern),))))

    def _concerned(self, obligation: KeyObligation) -> CharDFA:
        """The keys that can meet an obligation."""
        keys = CharDFA.any_text()
        if obligation.pattern is not None:
            keys = self._language(obligation.pattern)
        for pattern in obligation.unmatched:
            keys = keys.difference(self._language(pattern))
        if obligation.declared:
            keys = keys.difference(CharDFA.from_strings(obligation.declared))
        if obligation.names is not TRUE:
            named = CharDFA.never()
            for part in self._normalizer.normal(obligation.names).strings:
                named = named.union(self._languages.string(part))
            keys = keys.intersect(named)
        return keys

    def listed(self, atom: Atom) -> list[str] | None:
        """The keys of an atom if they are few."""
        if not isinstance(atom.key, StringLexeme) or not atom.key.language.is_finite:
            return None
        try:
            return atom.key.language.strings(_MOST_LISTED)
        except LimitError:
            return None

    def without(self, key: Expr, taken: frozenset[str]) -> Expr:
        """The keys of an atom that are not taken."""
        if isinstance(key, UndeclaredKey):
            return UndeclaredKey(key.declared | taken)
        assert isinstance(key, StringLexeme)
        return StringLexeme(key.language.difference(CharDFA.from_strings(taken))) if taken else key


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
