"""Undeclared keys: a partition into atoms.

An atom is the keys that are subject to the same things: an atom for each set of patterns that a
key can match and each set of obligations that it can meet, all declared names taken out.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import LimitError
from ..automata.dfa import CharDFA
from ..ir import Expr, StringLexeme, UndeclaredKey
from .key_pieces import Obliged, concerned_keys, pieces_of
from .nodes import TRUE, KeyObligation, ObjectNode, Term
from .normalize import Normalizer
from .scalars import StringPart

__all__ = ["Atom", "UndeclaredKeys"]

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

        merged = pieces_of(self._algebra, node, [self._concerned(o) for o in node.obligations])
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

    def _concerned(self, obligation: KeyObligation) -> CharDFA:
        """The keys that can meet an obligation."""
        keys = concerned_keys(self._algebra, obligation)
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
