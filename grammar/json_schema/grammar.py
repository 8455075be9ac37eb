"""A JSON Schema as a lazily computed grammar."""

from __future__ import annotations

from typing import Any

from ...errors import GrammarError, UnsatisfiableError
from ...limits import DEFAULT_LIMITS, Limits
from ..ir import Expr, Grammar, Key, Ref, Sequence
from .algebra import Algebra
from .languages import Cache, Languages
from .nodes import NOTHING, Negation, Term
from .normalize import Normalizer
from .options import JsonOptions
from .quick_check import quick_check
from .rules import Rules
from .scan import scan
from .sites import Site, Sites
from .whitespace import punctuation

__all__ = ["JsonSchemaGrammar"]


_DEFAULT_OPTIONS = JsonOptions()


class JsonSchemaGrammar(Grammar):
    """The texts of the JSON values that satisfy a schema.

    The constructor checks every keyword that the root can reach and whether anything
    satisfies the schema; rules are computed when they are asked for.

    Args:
        schema: a JSON Schema as ``json.loads`` gives it. Not copied: do not change it later.
        options: how values are written, and what is relaxed.
        registry: a ``referencing.Registry`` with other documents that the schema refers to.
        limits: bounds of the automata.
        cache: automata by name, shared by all grammars of one compiler (use it under one lock).
        lenient: leave :meth:`check` to the caller.

    Attributes:
        sites: the subschemas.
        languages: the automata.
        diagnostics: what was relaxed, a sentence each.

    Raises:
        GrammarError: the schema is malformed, with the pointer of the place.
        UnsupportedSchemaError: valid, but something in it is not enforced.
        UnsatisfiableError: no JSON value satisfies it.
        LimitError: some part of it is too large to be exact.
    """

    def __init__(
        self,
        schema: Any,
        *,
        options: JsonOptions | None = None,
        registry: Any = None,
        limits: Limits = DEFAULT_LIMITS,
        cache: Cache | None = None,
        lenient: bool = False,
    ) -> None:
        if not isinstance(schema, (dict, bool)):
            raise GrammarError(
                f"a JSON Schema is an object or a boolean, not {type(schema).__name__}; "
                "parse its text with json.loads first",
                pointer="#",
            )
        if options is None:
            options = _DEFAULT_OPTIONS
        languages = Languages(
            {} if cache is None else cache,
            limits,
            options.digits,
            asserts_formats=options.formats == "assert",
        )
        self.languages = languages
        self.sites = Sites(schema, registry, options.relax)
        self._algebra = Algebra(self.sites, languages, limits)
        self._normalizer = Normalizer(self._algebra, options)
        self._signs = punctuation(options.whitespace)
        self._rules = Rules(self._normalizer, self._signs)
        self._bodies: dict[Key, Expr] = {}
        self.diagnostics: tuple[str, ...] = ()
        self.start: Key = "text"
        if not lenient:
            self.check()

    def check(self) -> None:
        """Raise what the constructor raises; before that, no rule can be asked for."""
        intricate = quick_check(self.sites, self.languages)
        if intricate is None:
            intricate = scan(self.sites, self.languages)
        self.diagnostics = tuple(
            f"dropped as relax asks: {pointer}" for pointer in self.sites.relaxed
        )
        self.captures = self.sites.has_unique
        root = self._algebra.term(self.sites.root)
        if not self._normalizer.inhabited(root):
            raise _unsatisfiable(self._normalizer, root)
        if intricate:
            self._check_expressible([self._algebra.term(site) for site in intricate])
            self.captures |= self._rules.objects.captures
        self._root = self._rules.reference(root)
        if isinstance(self._root, Ref) and self._signs.around is None:
            self.start = self._root.key

    def check_site(self, site: Site) -> bool:
        """Whether some value satisfies a subschema by itself. Raises as :meth:`check` does."""
        self._algebra.restart_count()
        term = self._algebra.term(site)
        self._rules.objects.check(term)
        return self._normalizer.inhabited(term)

    def site_of(self, key: Key) -> Site | None:
        """The subschema that a rule is for, if it is for one."""
        term = self._algebra.by_uid.get(key) if isinstance(key, int) else None
        return term.site if term is not None and isinstance(term.site, Site) else None

    def rule(self, key: Key) -> Expr:
        """See :meth:`.ir.Grammar.rule`."""
        body = self._bodies.get(key)
        if body is None:
            if key == "text":
                around = self._signs.around
                blank = () if around is None else (around,)
                body = Sequence((*blank, self._root, *blank))
            else:
                # Values that were captured make ever new rules, and no text must end in a limit.
                self._algebra.restart_count()
                body = self._rules.body(key)
            self._bodies[key] = body
        return body

    def after_value(self, key: Key, text: bytes | None) -> Key:
        """See :meth:`.ir.Grammar.after_value`."""
        assert isinstance(key, tuple)
        if key[0] == "named":
            return self._rules.objects.after_key(key, text)
        return self._rules.arrays.after_value(key, text)

    def _check_expressible(self, terms: list[Term]) -> None:
        """Raise now what the rules of these terms, and of what they negate, would raise."""
        normalizer = self._normalizer
        seen = set(terms)
        while terms:
            term = terms.pop()
            self._rules.objects.check(term)
            normal = normalizer.normal(term)
            children = [t for node in normal.arrays for t in (*node.prefix, node.rest)]
            for count in (count for node in normal.arrays for count in node.counts):
                children.append(count.term)
                if count.most is not None:
                    children.append(normalizer.algebra.negate(count.term))
            for node in normal.objects:
                children += [t for _, t in node.named]
                for layer in node.layers:
                    children.append(layer.additional)
                    children += [t for _, t in layer.patterns]
            for child in children:
                if child not in seen and any(isinstance(x, Negation) for x in child.literals):
                    seen.add(child)
                    terms.append(child)


def _unsatisfiable(normalizer: Normalizer, term: Term) -> UnsatisfiableError:
    """Why a term holds no value: the innermost requirement that cannot be met."""
    site = term.site
    seen = {term}
    reason = "the keywords contradict each other"
    while True:
        normal = normalizer.normal(term)
        if normal == NOTHING or normal.size - len(normal.objects) > 0:
            break
        if len(normal.objects) != 1:
            break
        (node,) = normal.objects
        failing = [
            (name, t)
            for name, t in node.named
            if name in node.required and not normalizer.inhabited(t)
        ]
        if not failing:
            break
        name, term = failing[0]
        if term in seen:
            reason = f"the required property {name!r} needs itself, without end"
            break
        seen.add(term)
        reason = f"no value is possible for the required property {name!r}"
        site = term.site or site
    pointer = site.pointer if isinstance(site, Site) else "#"
    return UnsatisfiableError(f"no JSON value satisfies the schema: {reason}", pointer=pointer)
