"""From subschemas to canonical forms, and which of them hold any value at all.

Two questions, each answered on demand and remembered:

* :meth:`Normalizer.normal`: the canonical form of a term. Depends on the forms of what is
  applied in place (``allOf``, ``$ref``, ``not`` …), never on children, so recursion through
  properties or items does not matter. A branch of ``anyOf`` that leads back in place to the
  schema it is part of adds no value and is taken to be empty; any other recursion in place
  means nothing and is an error.
* :meth:`Normalizer.inhabited`: whether some finite value is in a term.

``oneOf`` is its union where the branches are disjoint pair by pair; where two may overlap,
each is cut by the complement of the other. Whether they overlap is asked of *loose* forms, in
which every ``oneOf`` is its union: they hold at least the values of the exact ones, so what is
disjoint loosely is disjoint. That keeps exact forms from depending on themselves through
recursive schemas; where looseness hides that branches are disjoint, the complement is taken
for nothing, which is still exact.
"""

from __future__ import annotations

from typing import Any

from .algebra import Algebra
from .inhabitants import Inhabitants
from .keywords import KeywordReader
from .nodes import EVERYTHING, FALSE, NOTHING, TRUE, Negation, Normal, ObjectNode, Term
from .options import JsonOptions
from .questions import Goal, Kind, Solver, Steps
from .quick_look import QuickLook
from .scan import refers_to_itself
from .sites import REFERENCES, Site
from .terms import IN_PLACE

__all__ = ["Normalizer"]

_KNOWN: dict[Goal, Any] = {
    Goal(kind, term, loose): form if kind is Kind.FORM else term is TRUE
    for kind in (Kind.FORM, Kind.INHABITED)
    for term, form in ((TRUE, EVERYTHING), (FALSE, NOTHING))
    for loose in (False, True)
}
_NEGATING = frozenset(["not", "if", "dependencies", "dependentRequired", "dependentSchemas"])


class Normalizer(Solver):
    """Answers both questions for the terms of one algebra."""

    def __init__(self, algebra: Algebra, options: JsonOptions) -> None:
        super().__init__()
        self.algebra = algebra
        self.options = options
        self._reader = KeywordReader(algebra, options)
        self._quick_look = QuickLook(algebra, self._reader)
        self._inhabitants = Inhabitants(algebra)
        # Terms and sites whose loose form may hold more values than the exact one.
        self._approximate: set[Term | Site] = set()
        self._exact: dict[Term, Normal] = {TRUE: EVERYTHING, FALSE: NOTHING}
        self.answers.update(_KNOWN)

    # ------------------------------------------------------------------ questions

    def normal(self, term: Term) -> Normal:
        """The canonical form of a term.

        Raises:
            GrammarError: it refers to itself in place.
            UnsupportedSchemaError: it needs a complement that cannot be expressed.
            LimitError: too many alternatives.
        """
        found = self._exact.get(term)
        if found is None:
            goal = Goal(Kind.FORM, term, False)
            found = self.answers.get(goal) or self.shortcut(goal) or self.solve(goal)
            assert isinstance(found, Normal)
            self._exact[term] = found
        return found

    def inhabited(self, term: Term) -> bool:
        """Whether some finite JSON value is in the term."""
        if self._quick_look.is_inhabited(term):
            return True
        goal = Goal(Kind.INHABITED, term, False)
        found = self.answers.get(goal)
        return bool(self.solve(goal) if found is None else found)

    def shortcut(self, goal: Goal) -> Any:
        """See :meth:`.Solver.shortcut`."""
        subject = goal.subject
        if goal.kind is Kind.INHABITED:
            return self._quick_look.is_inhabited(subject) or None
        if isinstance(subject, Term):
            if len(subject.literals) != 1:
                return None
            (subject,) = subject.literals
        if isinstance(subject, Site) and IN_PLACE.isdisjoint(subject.schema):
            form = self._reader.read(subject)
            self.answers[goal] = form
            return form
        return None

    def steps(self, goal: Goal) -> Steps:
        """See :meth:`.Solver.steps`."""
        subject, loose = goal.subject, goal.loose
        if goal.kind is Kind.INHABITED:
            return self._inhabitants.of_term(subject, loose)
        if goal.kind is Kind.OVERLAP:
            return self._inhabitants.of_form(subject, loose)
        return (
            self._term(subject, loose) if isinstance(subject, Term) else self._site(subject, loose)
        )

    def reentered(self, goals: list[Goal]) -> Normal:
        """See :meth:`.Solver.reentered`."""
        if all(map(_is_monotone, goals)):
            # The least fixpoint of a union: f(nothing), since f is monotone value by value.
            return NOTHING
        subject = goals[0].subject
        raise refers_to_itself(subject if isinstance(subject, Site) else subject.site)

    # ------------------------------------------------------------------ normal forms

    def _part(self, whole: Term | Site, part: Term | Site, loose: bool) -> Steps:
        """The form of a part in place; looseness is inherited."""
        form = yield Goal(Kind.FORM, part, loose)
        if part in self._approximate:
            self._approximate.add(whole)
        return form

    def _term(self, term: Term, loose: bool) -> Steps:
        algebra = self.algebra
        result = EVERYTHING
        for literal in term.literals:
            if isinstance(literal, Site):
                part = yield from self._part(term, literal, loose)
            else:
                inner = yield Goal(Kind.FORM, literal.term, loose)
                if loose and literal.term in self._approximate:
                    # Its complement would hold too little; everything is loose enough.
                    self._approximate.add(term)
                    continue
                part = algebra.complement(inner, literal.term.site)
            result = algebra.intersect(result, part)
        return result

    def _site(self, site: Site, loose: bool) -> Steps:
        algebra, schema = self.algebra, site.schema
        result = self._reader.read(site)
        if IN_PLACE.isdisjoint(schema):
            return result
        for keyword in REFERENCES:
            if keyword in schema:
                target = algebra.sites.resolve(site, schema[keyword], keyword)
                part = yield from self._part(site, algebra.term(target), loose)
                result = algebra.intersect(result, part)
        for i in range(len(schema.get("allOf", ()))):
            part = yield from self._part(site, algebra.child(site, "allOf", i), loose)
            result = algebra.intersect(result, part)
        if "dependentRequired" in schema or "dependencies" in schema:
            result = algebra.intersect(result, self._dependencies(site))
        if "dependentSchemas" in schema or "dependencies" in schema:
            for keyword in ("dependentSchemas", "dependencies"):
                for name, value in schema.get(keyword, {}).items():
                    if not isinstance(value, list):
                        then = yield from self._part(
                            site, algebra.child(site, keyword, name), loose
                        )
                        result = algebra.intersect(result, _unless_present(algebra, name, then))
        if "if" in schema and ("then" in schema or "else" in schema):
            condition = algebra.child(site, "if")
            sides = []
            for keyword, term in (("then", condition), ("else", algebra.negate(condition))):
                side = yield from self._part(site, term, loose)
                if keyword in schema:
                    part = yield from self._part(site, algebra.child(site, keyword), loose)
                    side = algebra.intersect(side, part)
                sides.append(side)
            result = algebra.intersect(result, algebra.union(sides))
        if "not" in schema:
            part = yield from self._part(site, algebra.negate(algebra.child(site, "not")), loose)
            result = algebra.intersect(result, part)
        if "anyOf" in schema:
            parts = []
            for i in range(len(schema["anyOf"])):
                part = yield from self._part(site, algebra.child(site, "anyOf", i), loose)
                parts.append(part)
            result = algebra.intersect(result, algebra.union(parts))
        if "oneOf" in schema:
            branches = []
            for i in range(len(schema["oneOf"])):
                part = yield from self._part(site, algebra.child(site, "oneOf", i), loose)
                branches.append(algebra.intersect(result, part))
            if loose:
                self._approximate.add(site)
                return algebra.union(branches)
            result = yield from self._exactly_one(site, branches)
        return result

    def _exactly_one(self, site: Site, branches: list[Normal]) -> Steps:
        algebra = self.algebra
        rivals: list[list[int]] = [[] for _ in branches]
        tags = [self._tags(branch) for branch in branches]
        for i, branch in enumerate(branches):
            for j in range(i):
                if _are_told_apart(tags[i], tags[j]):
                    continue
                both = algebra.intersect(branch, branches[j])
                overlap = both != NOTHING
                if overlap:
                    overlap = yield Goal(Kind.OVERLAP, both, True)
                if overlap:
                    rivals[i].append(j)
                    rivals[j].append(i)
        parts = []
        for i, branch in enumerate(branches):
            for j in rivals[i]:
                other = yield Goal(
                    Kind.FORM, algebra.negate(algebra.child(site, "oneOf", j)), False
                )
                branch = algebra.intersect(branch, other)
            parts.append(branch)
        return algebra.union(parts)

    def _tags(self, branch: Normal) -> dict[str, frozenset[str]] | None:
        """Required properties with constant strings, if the branch is one kind of object.

        Branches with different constants are disjoint: the common case, made cheap.
        """
        others = branch.size - len(branch.objects)
        if others or branch.null or branch.true or branch.false or len(branch.objects) != 1:
            return None
        (node,) = branch.objects
        return {
            name: tags
            for name, term in node.named
            if name in node.required and (tags := self.algebra.constants(term)) is not None
        }

    def _dependencies(self, site: Site) -> Normal:
        """``dependentRequired`` and the list form of ``dependencies``, as case splits."""
        algebra = self.algebra
        result = EVERYTHING
        for keyword in ("dependentRequired", "dependencies"):
            for name, needed in site.schema.get(keyword, {}).items():
                if isinstance(needed, list) and needed:
                    named = tuple((key, TRUE) for key in dict.fromkeys((name, *needed)))
                    node = ObjectNode(named=named, required=frozenset((name, *needed)))
                    then = _replace_objects(EVERYTHING, (node,))
                    result = algebra.intersect(result, _unless_present(algebra, name, then))
        return result


def _is_monotone(goal: Goal) -> bool:
    """Whether a form has no complement on the way."""
    subject = goal.subject
    if isinstance(subject, Term):
        return not any(isinstance(literal, Negation) for literal in subject.literals)
    schema = subject.schema
    return schema.keys().isdisjoint(_NEGATING) and (goal.loose or "oneOf" not in schema)


def _are_told_apart(
    a: dict[str, frozenset[str]] | None, b: dict[str, frozenset[str]] | None
) -> bool:
    if a is None or b is None:
        return False
    return any(name in b and values.isdisjoint(b[name]) for name, values in a.items())


def _replace_objects(normal: Normal, objects: tuple[ObjectNode, ...]) -> Normal:
    return Normal(
        normal.null,
        normal.true,
        normal.false,
        normal.numbers,
        normal.strings,
        normal.arrays,
        objects,
    )


def _unless_present(algebra: Algebra, name: str, then: Normal) -> Normal:
    """Objects with property ``name`` are in ``then``; everything else goes."""
    absent = ObjectNode(named=((name, FALSE),))
    present = ObjectNode(named=((name, TRUE),), required=frozenset((name,)))
    with_it = algebra.intersect(_replace_objects(EVERYTHING, (present,)), then)
    return _replace_objects(EVERYTHING, (absent, *with_it.objects))
