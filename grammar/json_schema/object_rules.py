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

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from json.encoder import encode_basestring
from typing import TYPE_CHECKING

from ...errors import UnsupportedSchemaError
from ..automata.dfa import CharDFA
from ..ir import (
    Captured,
    Chain,
    ChainItem,
    Choice,
    Expr,
    Key,
    Literal,
    Ref,
    Repeat,
    Sequence,
    StringLexeme,
    UndeclaredKey,
)
from .inhabitants import subsets
from .key_pieces import Obliged
from .nodes import TRUE, ObjectNode, Term
from .normalize import Normalizer
from .scalars import StringPart
from .undeclared_keys import Atom, UndeclaredKeys
from .whitespace import Punctuation

if TYPE_CHECKING:
    from .rules import Rules

__all__ = ["ObjectRules", "choice"]

_NOTHING = Sequence(())
_NONE: frozenset[int] = frozenset()
_NO_KEYS: frozenset[str] = frozenset()
_MOST_OBLIGATIONS = 4
_MOST_OBLIGED_MEMBERS = 200


class Differ(Enum):
    """From which undeclared keys all later ones differ."""

    NOTHING = auto()
    MET = auto()
    """From those that met an obligation, which an equal key would undo."""
    ALL = auto()


@dataclass(frozen=True, slots=True)
class _Declared:
    """A declared property that has values, and the obligations it could meet."""

    key: tuple[Expr, ...]
    term: Term
    required: bool
    concerns: Obliged


@dataclass(frozen=True, slots=True)
class _Step:
    """A member that can come next, and the obligations after it.

    Attributes:
        member: the member.
        atom, term: of an undeclared one, its keys and its value.
        is_captured: no later key may be the same as this one's.
    """

    member: Expr
    pending: Obliged
    guarded: Obliged
    atom: Atom | None = None
    term: Term = TRUE
    is_captured: bool = False


@dataclass(slots=True)
class _Members:
    """What an object with tails consists of."""

    declared: tuple[_Declared, ...]
    atoms: tuple[Atom, ...]
    terms: tuple[Term, ...]  # of the obligations
    required: int  # bit i: declared member i
    differ: Differ
    steps: dict[tuple[int, Obliged, Obliged], list[_Step]] = field(default_factory=dict)
    known: dict[tuple[int, int, int | None, Obliged, Obliged, int], bool] = field(
        default_factory=dict
    )


class ObjectRules:
    """Makes the expressions of object nodes and the bodies of their tails.

    Attributes:
        captures: whether undeclared keys are captured where they must differ. Set once
            :meth:`check` meets such a node.

    Where keys cannot be captured, everything after a member that met an obligation meets it too,
    so that a repeated key undoes nothing.
    """

    def __init__(self, rules: Rules, normalizer: Normalizer, signs: Punctuation) -> None:
        self._rules = rules
        self._normalizer = normalizer
        self._algebra = normalizer.algebra
        self._languages = normalizer.algebra.languages
        self._signs = signs
        self._others = UndeclaredKeys(normalizer)
        self.captures = False
        self._keys: dict[str, tuple[Expr, ...]] = self._languages.shared(
            ("keys", signs.key_has_colon, signs.after_key), dict
        )
        # Objects with tails by number: the number stands in the key, a node is costly to hash.
        self._objects: list[_Members] = []
        self._numbers: dict[tuple[ObjectNode, Differ], int] = {}
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
            (self._is_ordered or len(declared) + bool(self._others.atoms(node)) <= 1)
            and node.min <= n_required
            and (node.max is None or (node.max >= len(declared) and not self._others.atoms(node)))
        ):
            yield self._chain(node, declared)
        else:
            yield from self._with_tails(node, declared)

    def check(self, term: Term) -> None:
        """Raise ``UnsupportedSchemaError`` if the objects of a term cannot be exact."""
        site = term.site
        pointer = site.pointer if site is not None else "#"
        for node in self._normalizer.normal(term).objects:
            if not self.captures and self._differ(node) is not Differ.NOTHING:
                self.captures = True
            if node.obligations or node.min > len(node.required):
                declared = self._declared(node)
                if declared is not None and not self._is_possible(node, declared):
                    raise UnsupportedSchemaError(
                        "so many properties would have to violate subschemas that it is not "
                        "enforced; add additionalProperties: false, or relax the keyword",
                        keyword=_culprit(term),
                        pointer=pointer,
                    )

    def _differ(self, node: ObjectNode) -> Differ:
        """From which undeclared keys others must differ for the node to be exact."""
        counts = node.min - len(node.required) > 1
        if not counts and all(obligation.term is TRUE for obligation in node.obligations):
            return Differ.NOTHING
        atoms = self._others.atoms(node)
        if counts:
            return Differ.ALL if atoms else Differ.NOTHING
        narrows = any(
            obligation.term is not TRUE and any(i in atom.concerns for atom in atoms)
            for i, obligation in enumerate(node.obligations)
        )
        return Differ.MET if narrows else Differ.NOTHING

    def _is_possible(self, node: ObjectNode, declared: list[_Declared]) -> bool:
        """Whether the node's obligations and bounds can be enforced, and met."""
        if node.obligations and (
            len(node.obligations) > _MOST_OBLIGATIONS or len(declared) > _MOST_OBLIGED_MEMBERS
        ):
            return False
        return bool(list(self._with_tails(node, declared)))

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
            if inhabited(term) and (names is None or self._others.is_named(names, name)):
                concerns = _NONE
                if node.obligations:
                    concerns = frozenset(
                        i
                        for i, obligation in enumerate(node.obligations)
                        if self._algebra.concerns(obligation, name)
                        and self._others.is_named(
                            self._normalizer.normal(obligation.names).strings, name
                        )
                    )
                members.append(_Declared(self.key(name), term, name in node.required, concerns))
            elif name in node.required:
                return None
        return members

    # ------------------------------------------------------------------ chains

    def _chain(self, node: ObjectNode, declared: list[_Declared]) -> Expr:
        items = tuple(ChainItem(self._member(m.key, m.term), m.required) for m in declared)
        rest = [
            self._undeclared(atom.key, self._rules.reference(atom.term))
            for atom in self._others.atoms(node)
        ]
        if not items and not rest:
            return self._enclosed(_NOTHING)
        return self._enclosed(Chain(items, self._signs.comma, choice(rest) if rest else None))

    # ------------------------------------------------------------------ tails

    def _with_tails(self, node: ObjectNode, declared: list[_Declared]) -> Iterable[Expr]:
        differ = self._differ(node) if self.captures else Differ.NOTHING
        number = self._numbers.get((node, differ))
        if number is None:
            number = self._numbers[node, differ] = len(self._objects)
            atoms = self._others.atoms(node)
            if differ is not Differ.NOTHING:
                # Of endlessly many keys some are always left; few are as good as declared.
                declared = [*declared, *self._listed(atoms)]
                atoms = tuple(a for a in atoms if self._others.listed(a) is None)
            self._objects.append(
                _Members(
                    tuple(declared),
                    atoms,
                    tuple(obligation.term for obligation in node.obligations),
                    sum(1 << i for i, member in enumerate(declared) if member.required),
                    differ,
                )
            )
        pending = frozenset(range(len(node.obligations)))
        if self._can_end(self._objects[number], 0, node.min, node.max, pending, _NONE):
            tail = self.tail if self._is_ordered else self.unordered_tail
            taken = _NO_KEYS
            yield self._enclosed(tail(number, 0, node.min, node.max, True, pending, _NONE, taken))

    def _listed(self, atoms: tuple[Atom, ...]) -> Iterable[_Declared]:
        for atom in atoms:
            for name in self._others.listed(atom) or ():
                yield _Declared(self.key(name), atom.term, False, atom.concerns)

    def tail(
        self,
        number: int,
        index: int,
        least: int,
        most: int | None,
        first: bool,
        pending: Obliged,
        guarded: Obliged,
        taken: frozenset[str],
    ) -> Expr:
        """Members from declared one ``index`` on, a comma before each but the object's first.

        Args:
            least, most: how many there must and may be.
            first: whether none came before.
            pending: obligations that these must meet.
            guarded: obligations met by an undeclared member, not to be undone.
            taken: undeclared keys before, where they must not repeat.
        """
        members = self._objects[number]
        comma = self._signs.comma
        end = len(members.declared)
        options: list[Expr] = []

        def offer(after: int, step: _Step) -> None:
            fewer = max(least - 1, 0)
            left = None if most is None else most - 1
            if most != 0 and self._can_end(members, after, fewer, left, step.pending, step.guarded):
                obliged = step.pending, step.guarded
                rest = ("members", number, after, fewer, left, False, *obliged, taken)
                options.append(self._then(step, rest, first, taken))

        # A declared member, after leaving out some that may be missing.
        for i in range(index, end):
            for step in self._steps(members, i, pending, guarded):
                offer(i + 1, step)
            if members.declared[i].required:
                return choice(options)
        steps = self._steps(members, end, pending, guarded)
        if members.differ is Differ.ALL:
            for step in steps:
                offer(end, step)
            if not pending and least == 0:
                options.append(_NOTHING)
        elif pending:
            for step in steps:
                offer(end, step)
        elif steps and most != 0 and (most is None or least <= most):
            item = choice([self._untaken(step, taken) for step in steps])
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
        taken: frozenset[str],
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
                    rest = ("unordered", number, after, fewer, left, False, *obliged, taken)
                    options.append(self._then(step, rest, first, taken))
        if least == 0 and not pending and not members.required & ~used:
            options.append(_NOTHING)
        return choice(options)

    def _then(self, step: _Step, rest: Key, first: bool, taken: frozenset[str]) -> Expr:
        """A member, a comma before it unless it is the first, and the rule of the rest."""
        parts: tuple[Expr, ...]
        if step.is_captured and step.atom is not None:
            key = self._others.without(step.atom.key, taken)
            parts = (key, Captured(("named", step.term.uid, rest), is_endless=True))
        else:
            parts = (self._untaken(step, taken), Ref(rest))
        return Sequence(parts if first else (self._signs.comma, *parts))

    def _untaken(self, step: _Step, taken: frozenset[str]) -> Expr:
        """The member, where its key is none of those taken."""
        if step.atom is None or not taken:
            return step.member
        key = self._others.without(step.atom.key, taken)
        return self._undeclared(key, self._rules.reference(step.term))

    def named(self, value: int, rest: Key) -> Expr:
        """What follows an undeclared key: a value in the term of that number, and the rest."""
        term = TRUE if value == TRUE.uid else self._algebra.by_uid[value]
        after = self._signs.after_value
        parts = (self._signs.colon, self._rules.reference(term))
        return Sequence((*parts, Ref(rest)) if after is None else (*parts, after, Ref(rest)))

    def after_key(self, key: Key, text: bytes | None) -> Key:
        """The rule after an undeclared key."""
        assert isinstance(key, tuple)
        if text is None:
            return key
        kind, value, rest = key
        return kind, value, (*rest[:-1], rest[-1] | {json.loads(text)})

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
                            is_captured = members.differ is Differ.ALL or (
                                members.differ is Differ.MET and bool(kept)
                            )
                            if members.differ is not Differ.NOTHING:
                                kept = set()
                            member = self._undeclared(atom.key, self._rules.reference(term))
                            left = pending - set(met)
                            found.append(
                                _Step(member, left, guarded | kept, atom, term, is_captured)
                            )
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
