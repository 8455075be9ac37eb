"""Objects as rules.

Most objects are one :class:`.ir.Chain`: declared members in order, those that may be missing
optional, then undeclared ones. Three things need more state than a chain has, and get rules for
what is left of the object (its *tail*) instead, computed as a parse gets there:

* bounds on the number of members: how many more are needed and allowed;
* obligations ("some property that B does not declare violates S", from complements): which
  are pending. Members of declared properties can meet any that concern them. Undeclared ones
  can too, but JSON texts may repeat keys and the last one counts, so after an undeclared
  member met an obligation, later ones whose key it concerns must not undo it: they are held to
  its term as well. (An object whose members violate S first and last and not in between is
  thereby lost, as are other orders of declared members.);
* members in any order (``property_order="any"``): which declared ones have been written, as a
  set of bits. A text of n members goes through n of the 2^n sets, and only those are made.

Undeclared keys are a partition: an atom for each set of patterns that a key can match, all
declared names taken out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, TypeAlias

from ...errors import UnsupportedSchemaError
from ..automata.dfa import CharDFA
from ..ir import (
    Chain,
    ChainItem,
    Choice,
    Expr,
    Literal,
    Ref,
    Repeat,
    Sequence,
    StringLexeme,
    UndeclaredKey,
)
from .inhabitants import subsets
from .nodes import TRUE, KeyObligation, Layer, ObjectNode, Term
from .normalize import Normalizer
from .scalars import StringPart
from .whitespace import Punctuation

if TYPE_CHECKING:
    from .rules import Rules

__all__ = ["ObjectRules", "choice"]

_NOTHING = Sequence(())
_NONE: frozenset[int] = frozenset()
_MOST_OBLIGATIONS = 4
_MOST_OBLIGED_MEMBERS = 200

Obliged: TypeAlias = frozenset[int]
"""Obligations of a node by index."""


Conjoin: TypeAlias = Callable[[Iterable[Term]], Term]


@dataclass(frozen=True, slots=True)
class _Declared:
    """A declared property that has values, and the obligations it could meet."""

    key: tuple[Expr, ...]
    term: Term
    required: bool
    concerns: Obliged


@dataclass(frozen=True, slots=True)
class _Atom:
    """Undeclared keys that are subject to the same things."""

    key: Expr
    term: Term
    concerns: Obliged


@dataclass(frozen=True, slots=True)
class _Step:
    """A member that can come next, and the obligations after it."""

    member: Expr
    pending: Obliged
    guarded: Obliged


@dataclass(slots=True)
class _Members:
    """What an object with tails consists of."""

    declared: tuple[_Declared, ...]
    atoms: tuple[_Atom, ...]
    terms: tuple[Term, ...]  # of the obligations
    required: int  # bit i: declared member i
    steps: dict[tuple[int, Obliged, Obliged], list[_Step]] = field(default_factory=dict)
    known: dict[tuple[int, int, int | None, Obliged, Obliged, int], bool] = field(
        default_factory=dict
    )


class ObjectRules:
    """Makes the expressions of object nodes and the bodies of their tails."""

    def __init__(self, rules: Rules, normalizer: Normalizer, signs: Punctuation) -> None:
        self._rules = rules
        self._normalizer = normalizer
        self._algebra = normalizer.algebra
        self._languages = normalizer.algebra.languages
        self._signs = signs
        self._keys: dict[str, tuple[Expr, ...]] = self._languages.shared(
            ("keys", signs.key_has_colon, signs.after_key), dict
        )
        # Objects with tails by number: the number stands in the key, a node is costly to hash.
        self._objects: list[_Members] = []
        self._numbers: dict[ObjectNode, int] = {}
        self._is_ordered = normalizer.options.property_order == "schema"

    def any_object(self) -> Expr:
        """Every object."""
        key = UndeclaredKey(frozenset())
        return self._enclosed(Chain((), self._signs.comma, self._undeclared(key, Ref("value"))))

    def expressions(self, node: ObjectNode) -> Iterable[Expr]:
        """The objects of a node: one expression, or none if there are no such objects."""
        declared = self._declared(node)
        if declared is None:
            return
        if node.obligations:
            yield from self._with_tails(node, declared)
            return
        n_required = sum(member.required for member in declared)
        if (
            (self._is_ordered or len(declared) + bool(self._atoms(node)) <= 1)
            and node.min <= n_required
            and (node.max is None or (node.max >= len(declared) and not self._atoms(node)))
        ):
            yield self._chain(node, declared)
        else:
            yield from self._with_tails(node, declared)

    def check(self, term: Term) -> None:
        """Raise ``UnsupportedSchemaError`` if the objects of a term cannot be exact."""
        site = term.site
        pointer = site.pointer if site is not None else "#"
        for node in self._normalizer.normal(term).objects:
            if node.obligations:
                declared = self._declared(node)
                if declared is not None and not self._is_obliging(node, declared):
                    raise UnsupportedSchemaError(
                        "several undeclared properties would have to violate subschemas, which "
                        "is not enforced; add additionalProperties: false, or relax the keyword",
                        keyword=_culprit(term),
                        pointer=pointer,
                    )
            if node.min - len(node.required) > 1 and self._atoms(node):
                raise UnsupportedSchemaError(
                    "minProperties above 1 with undeclared properties is not enforced, because "
                    "their keys would have to differ; declare or require properties, or drop "
                    "it knowingly with relax=('minProperties',)",
                    keyword="minProperties",
                    pointer=pointer,
                )

    def _is_obliging(self, node: ObjectNode, declared: list[_Declared]) -> bool:
        """Whether the node's obligations can be enforced, and met."""
        if len(node.obligations) > _MOST_OBLIGATIONS or len(declared) > _MOST_OBLIGED_MEMBERS:
            return False
        narrowing = [
            i
            for i, obligation in enumerate(node.obligations)
            if obligation.term is not TRUE and any(i in atom.concerns for atom in self._atoms(node))
        ]
        return len(narrowing) <= 1 and bool(list(self._with_tails(node, declared)))

    # ------------------------------------------------------------------ members

    def _enclosed(self, members: Expr) -> Expr:
        return Sequence((self._signs.open_object, members, self._signs.close_object))

    def key(self, name: str) -> tuple[Expr, ...]:
        """The key of a declared property and what stands before its value."""
        found = self._keys.get(name)
        if found is None:
            signs = self._signs
            if not name.isascii():
                found = (StringLexeme(CharDFA.from_strings((name,))), signs.colon)
            else:
                text = encode_basestring(name)
                literal = Literal((text + ":" if signs.key_has_colon else text).encode())
                found = (literal,) if signs.after_key is None else (literal, signs.after_key)
            self._keys[name] = found
        return found

    def _member(self, key: tuple[Expr, ...], term: Term) -> Expr:
        after = self._signs.after_value
        value = self._rules.reference(term)
        return Sequence((*key, value) if after is None else (*key, value, after))

    def _undeclared(self, key: Expr, value: Expr) -> Expr:
        after = self._signs.after_value
        items = (key, self._signs.colon, value)
        return Sequence(items if after is None else (*items, after))

    def _declared(self, node: ObjectNode) -> list[_Declared] | None:
        """The declared properties that have values; ``None`` if a required one has none."""
        inhabited = self._normalizer.inhabited
        names: tuple[StringPart, ...] | None = None
        if node.names is not TRUE:
            names = self._normalizer.normal(node.names).strings
        members: list[_Declared] = []
        for name, term in node.named:
            if inhabited(term) and (names is None or self._is_named(names, name)):
                concerns = _NONE
                if node.obligations:
                    concerns = frozenset(
                        i
                        for i, obligation in enumerate(node.obligations)
                        if self._algebra.concerns(obligation, name)
                        and self._is_named(self._normalizer.normal(obligation.names).strings, name)
                    )
                members.append(_Declared(self.key(name), term, name in node.required, concerns))
            elif name in node.required:
                return None
        return members

    def _is_named(self, names: tuple[StringPart, ...], name: str) -> bool:
        return any(self._languages.contains(part, name) for part in names)

    # ------------------------------------------------------------------ undeclared keys

    def _atoms(self, node: ObjectNode) -> tuple[_Atom, ...]:
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
            return (_Atom(UndeclaredKey(declared), term, _NONE),)

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
        atoms: list[_Atom] = []
        for (term, concerns), keys in merged.items():
            if not self._normalizer.inhabited(term):
                continue
            if names is None and keys is None:
                atoms.append(_Atom(UndeclaredKey(declared), term, concerns))
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
                    atoms.append(_Atom(StringLexeme(language), term, concerns))
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

    # ------------------------------------------------------------------ chains

    def _chain(self, node: ObjectNode, declared: list[_Declared]) -> Expr:
        items = tuple(ChainItem(self._member(m.key, m.term), m.required) for m in declared)
        rest = [
            self._undeclared(atom.key, self._rules.reference(atom.term))
            for atom in self._atoms(node)
        ]
        if not items and not rest:
            return self._enclosed(_NOTHING)
        return self._enclosed(Chain(items, self._signs.comma, choice(rest) if rest else None))

    # ------------------------------------------------------------------ tails

    def _with_tails(self, node: ObjectNode, declared: list[_Declared]) -> Iterable[Expr]:
        number = self._numbers.get(node)
        if number is None:
            number = self._numbers[node] = len(self._objects)
            self._objects.append(
                _Members(
                    tuple(declared),
                    self._atoms(node),
                    tuple(obligation.term for obligation in node.obligations),
                    sum(1 << i for i, member in enumerate(declared) if member.required),
                )
            )
        pending = frozenset(range(len(node.obligations)))
        if self._can_end(self._objects[number], 0, node.min, node.max, pending, _NONE):
            tail = self.tail if self._is_ordered else self.unordered_tail
            yield self._enclosed(tail(number, 0, node.min, node.max, True, pending, _NONE))

    def tail(
        self,
        number: int,
        index: int,
        least: int,
        most: int | None,
        first: bool,
        pending: Obliged,
        guarded: Obliged,
    ) -> Expr:
        """Members from declared one ``index`` on, a comma before each but the object's first.

        Args:
            least, most: how many there must and may be.
            first: whether none came before.
            pending: obligations that these must meet.
            guarded: obligations met by an undeclared member, not to be undone.
        """
        members = self._objects[number]
        comma = self._signs.comma
        end = len(members.declared)
        options: list[Expr] = []

        def offer(after: int, step: _Step) -> None:
            fewer = max(least - 1, 0)
            left = None if most is None else most - 1
            if most != 0 and self._can_end(members, after, fewer, left, step.pending, step.guarded):
                rest = Ref(
                    ("members", number, after, fewer, left, False, step.pending, step.guarded)
                )
                parts = (step.member, rest) if first else (comma, step.member, rest)
                options.append(Sequence(parts))

        # A declared member, after leaving out some that may be missing.
        for i in range(index, end):
            for step in self._steps(members, i, pending, guarded):
                offer(i + 1, step)
            if members.declared[i].required:
                return choice(options)
        steps = self._steps(members, end, pending, guarded)
        if pending:
            for step in steps:
                offer(end, step)
        elif steps and most != 0 and (most is None or least <= most):
            item = choice([step.member for step in steps])
            if first:
                options.append(Repeat(item, least, most, comma))
            else:
                options.append(Repeat(Sequence((comma, item)), least, most))
        elif least == 0:
            options.append(_NOTHING)
        return choice(options)

    def unordered_tail(
        self,
        number: int,
        used: int,
        least: int,
        most: int | None,
        first: bool,
        pending: Obliged,
        guarded: Obliged,
    ) -> Expr:
        """Members in any order, without the declared ones whose bits are in ``used``.

        Args: otherwise as for :meth:`tail`.
        """
        members = self._objects[number]
        end = len(members.declared)
        options: list[Expr] = []
        fewer = max(least - 1, 0)
        left = None if most is None else most - 1
        for i in range(end + 1) if most != 0 else ():
            if used >> i & 1:
                continue
            after = used | 1 << i if i < end else used
            for step in self._steps(members, i, pending, guarded):
                obliged = step.pending, step.guarded
                if self._can_end(members, 0, fewer, left, *obliged, after):
                    rest = Ref(("unordered", number, after, fewer, left, False, *obliged))
                    parts = (step.member, rest)
                    options.append(Sequence(parts if first else (self._signs.comma, *parts)))
        if least == 0 and not pending and not members.required & ~used:
            options.append(_NOTHING)
        return choice(options)

    def _steps(
        self, members: _Members, index: int, pending: Obliged, guarded: Obliged
    ) -> list[_Step]:
        """The members that declared property ``index`` can be, or any undeclared one."""
        found = members.steps.get((index, pending, guarded))
        if found is None:
            found = []
            conjoin, inhabited = self._algebra.conjoin, self._normalizer.inhabited
            if index < len(members.declared):
                one = members.declared[index]
                for met in subsets(sorted(one.concerns & pending)):
                    term = conjoin((one.term, *(members.terms[i] for i in met)))
                    if inhabited(term):
                        found.append(
                            _Step(self._member(one.key, term), pending - set(met), guarded)
                        )
            else:
                for atom in members.atoms:
                    held = sorted(atom.concerns & guarded)
                    for met in subsets(sorted(atom.concerns & pending)):
                        term = conjoin((atom.term, *(members.terms[i] for i in (*held, *met))))
                        if inhabited(term):
                            kept = {i for i in met if members.terms[i] is not TRUE}
                            member = self._undeclared(atom.key, self._rules.reference(term))
                            found.append(_Step(member, pending - set(met), guarded | kept))
            members.steps[index, pending, guarded] = found
        return found

    def _can_end(
        self,
        members: _Members,
        index: int,
        least: int,
        most: int | None,
        pending: Obliged,
        guarded: Obliged,
        used: int = 0,
    ) -> bool:
        """Whether the members from ``index`` on but those ``used`` can be as these ask.

        Their order does not matter for that.
        """
        end = len(members.declared)
        while used >> index & 1:
            index += 1
        needed = ((members.required & ~used) >> index).bit_count()
        if most is not None and (needed > most or least > most):
            return False
        if not pending:
            if end - index - (used >> index).bit_count() >= least:
                return True
            return bool(self._steps(members, end, pending, guarded))
        key = (index, least, most, pending, guarded, used)
        found = members.known.get(key)
        if found is None:
            found = False
            fewer = max(least - 1, 0)
            left = None if most is None else most - 1
            if index < end and not members.declared[index].required:
                found = self._can_end(members, index + 1, least, most, pending, guarded, used)
            if not found and most != 0:
                for step in self._steps(members, index, pending, guarded):
                    # Another undeclared member that meets nothing brings nothing closer.
                    if index == end and step.pending == pending:
                        continue
                    if self._can_end(
                        members,
                        min(index + 1, end),
                        fewer,
                        left,
                        step.pending,
                        step.guarded,
                        used,
                    ):
                        found = True
                        break
            members.known[key] = found
        return found


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


def _culprit(term: Term) -> str:
    """The keyword that most likely brought a complement in."""
    schema = term.site.schema if term.site is not None else {}
    return next((k for k in ("not", "oneOf", "if", "dependencies") if k in schema), "not")


def choice(options: list[Expr]) -> Expr:
    """One of the options (at least one), each once."""
    if len(options) == 1:
        return options[0]
    unique = list(dict.fromkeys(options))
    return unique[0] if len(unique) == 1 else Choice(tuple(unique))
