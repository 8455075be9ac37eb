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

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, TypeAlias

from .algebra import Algebra
from .evaluation import UNSEEN, CasesOf, FormsOf
from .exclusion import Exclusion, listed_values
from .inhabitants import Inhabitants
from .keywords import KeywordReader
from .nodes import EVERYTHING, FALSE, NOTHING, TRUE, Negation, Normal, ObjectNode, Term
from .options import JsonOptions
from .questions import Goal, Kind, Solver, Steps
from .quick_look import QuickLook
from .scan import refers_to_itself
from .sites import REFERENCES, Site
from .terms import IN_PLACE, UNEVALUATED

__all__ = ["Normalizer"]

_Tags: TypeAlias = dict[str, frozenset[Hashable]]
"""Property -> the only values that it can have."""

_KNOWN: dict[Goal, Any] = {
    Goal(kind, term, loose): answer
    for kind, everything, nothing in (
        (Kind.FORM, EVERYTHING, NOTHING),
        (Kind.CASES, ((EVERYTHING, UNSEEN),), ()),
        (Kind.INHABITED, True, False),
    )
    for term, answer in ((TRUE, everything), (FALSE, nothing))
    for loose in (False, True)
}
_Ways: TypeAlias = FormsOf | CasesOf
_NEGATING = frozenset(["not", "if", "dependencies", "dependentRequired", "dependentSchemas"])


class Normalizer(Solver):
    """Answers both questions for the terms of one algebra."""

    def __init__(self, algebra: Algebra, options: JsonOptions) -> None:
        super().__init__()
        self.algebra = algebra
        self.options = options
        self._reader = KeywordReader(algebra, options)
        self._quick_look = QuickLook(algebra, self._reader)
        self.inhabitants = Inhabitants(algebra)
        self.exclusion = Exclusion(algebra)
        self._forms = FormsOf(algebra, self._reader)
        self._cases = CasesOf(algebra, self._reader)
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

    def ask(self, steps: Steps) -> Any:
        """The result of steps, whose questions are answered one by one."""
        answer: Any = None
        while True:
            try:
                goal = steps.send(answer)
            except StopIteration as stop:
                return stop.value
            is_form = goal.kind is Kind.FORM
            answer = self.normal(goal.subject) if is_form else self.inhabited(goal.subject)

    def shortcut(self, goal: Goal) -> Any:
        """See :meth:`.Solver.shortcut`."""
        subject = goal.subject
        if goal.kind is Kind.INHABITED:
            return self._quick_look.is_inhabited(subject) or None
        if goal.kind is not Kind.FORM:
            return None
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
            return self.inhabitants.of_term(subject, loose)
        if goal.kind is Kind.OVERLAP:
            return self.inhabitants.of_form(subject, loose)
        ways = self._cases if goal.kind is Kind.CASES else self._forms
        if isinstance(subject, Term):
            return self._term(subject, loose, ways)
        return self._site(subject, loose, ways)

    def reentered(self, goals: list[Goal]) -> Any:
        """See :meth:`.Solver.reentered`."""
        if all(map(_is_monotone, goals)):
            # The least fixpoint of a union: f(nothing), since f is monotone value by value.
            return NOTHING if goals[0].kind is Kind.FORM else ()
        subject = goals[0].subject
        raise refers_to_itself(subject if isinstance(subject, Site) else subject.site)

    # ------------------------------------------------------------------ normal forms

    def _part(self, whole: Term | Site, part: Term | Site, loose: bool, ways: _Ways) -> Steps:
        """The form or cases of a part in place; looseness is inherited."""
        kind = Kind.CASES if ways.splits else Kind.FORM
        found = yield Goal(kind, part, loose)
        if part in self._approximate:
            self._approximate.add(whole)
        return found

    def _term(self, term: Term, loose: bool, ways: _Ways) -> Steps:
        algebra = self.algebra
        result: Any = ways.of(EVERYTHING)
        for literal in term.literals:
            if isinstance(literal, Site):
                part = yield from self._part(term, literal, loose, ways)
            elif (values := listed_values(literal.term)) is not None:
                part = ways.of(self.exclusion.form(values))
            else:
                inner = yield Goal(Kind.FORM, literal.term, loose)
                if loose and literal.term in self._approximate:
                    # Its complement would hold too little; everything is loose enough.
                    self._approximate.add(term)
                    continue
                part = ways.of(algebra.complement(inner, literal.term.site))
            result = ways.both(result, part)
        return result

    def _site(self, site: Site, loose: bool, ways: Any) -> Steps:
        algebra, schema = self.algebra, site.schema
        is_restricted = not UNEVALUATED.isdisjoint(schema)
        if is_restricted and not ways.splits:
            cases = yield Goal(Kind.CASES, site, loose)
            return self._cases.form(cases)
        result = ways.own(site)
        if IN_PLACE.isdisjoint(schema):
            return result

        def part_at(*tokens: object) -> Steps:
            return self._part(site, algebra.child(site, *tokens), loose, ways)

        for keyword in REFERENCES:
            if keyword in schema:
                target = algebra.sites.resolve(site, schema[keyword], keyword)
                part = yield from self._part(site, algebra.term(target), loose, ways)
                result = ways.both(result, part)
        for i in range(len(schema.get("allOf", ()))):
            part = yield from part_at("allOf", i)
            result = ways.both(result, part)
        if "dependentRequired" in schema or "dependencies" in schema:
            result = ways.both(result, ways.of(self._dependencies(site)))
        for keyword in ("dependentSchemas", "dependencies"):
            for name, value in schema.get(keyword, {}).items():
                if not isinstance(value, list):
                    then = yield from part_at(keyword, name)
                    result = ways.both(result, _unless_present(ways, name, then))
        if "if" in schema and (ways.splits or "then" in schema or "else" in schema):
            sides = yield from self._sides(site, loose, ways)
            result = ways.both(result, ways.either(sides))
        if "not" in schema:
            negation = algebra.negate(algebra.child(site, "not"))
            # Not as cases: nothing is evaluated under ``not``, not even under two of them.
            part = yield from self._part(site, negation, loose, self._forms)
            result = ways.both(result, ways.of(part))
        if "anyOf" in schema:
            parts = []
            for i in range(len(schema["anyOf"])):
                part = yield from part_at("anyOf", i)
                parts.append(part)
            result = ways.some(result, parts)
        if "oneOf" in schema:
            branches = []
            for i in range(len(schema["oneOf"])):
                part = yield from part_at("oneOf", i)
                branches.append(ways.both(result, part))
            if loose:
                self._approximate.add(site)
            else:
                rivals = yield from self._rivals(site, [ways.form(branch) for branch in branches])
                for i, others in enumerate(rivals):
                    for other in others:
                        branches[i] = ways.both(branches[i], ways.of(other))
            result = ways.either(branches)
        return ways.restricted(result, site) if is_restricted else result

    def _sides(self, site: Site, loose: bool, ways: Any) -> Steps:
        """What ``if`` comes to: with ``then``, and with ``else``."""
        algebra = self.algebra
        condition = algebra.child(site, "if")
        sides = []
        for keyword, term in (("then", condition), ("else", algebra.negate(condition))):
            if keyword == "else" and "then" not in site.schema and "else" not in site.schema:
                # Only what the condition evaluates matters, and less is never more.
                sides.append(ways.of(EVERYTHING))
                break
            side = yield from self._part(site, term, loose, ways)
            if keyword in site.schema:
                then = algebra.child(site, keyword)
                part = yield from self._part(site, then, loose, ways)
                side = ways.both(side, part)
            sides.append(side)
        return sides

    def _rivals(self, site: Site, branches: list[Normal]) -> Steps:
        """For each branch of ``oneOf``, the complements of those that it may overlap with."""
        algebra = self.algebra
        rivals: list[list[Normal]] = [[] for _ in branches]
        tags = [self._tags(branch) for branch in branches]
        if _has_discriminator(tags):
            return rivals
        for i, branch in enumerate(branches):
            for j in range(i):
                if _are_told_apart(tags[i], tags[j]):
                    continue
                both = algebra.intersect(branch, branches[j])
                overlap = both != NOTHING
                if overlap:
                    overlap = yield Goal(Kind.OVERLAP, both, True)
                if overlap:
                    for one, other in ((i, j), (j, i)):
                        term = algebra.negate(algebra.child(site, "oneOf", other))
                        complement = yield Goal(Kind.FORM, term, False)
                        rivals[one].append(complement)
        return rivals

    def _tags(self, branch: Normal) -> _Tags | None:
        """Required properties with constant scalars, if the branch is one kind of object.

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
                    then = replace(EVERYTHING, objects=(node,))
                    part = _unless_present(self._forms, name, then)
                    result = algebra.intersect(result, part)
        return result


def _is_monotone(goal: Goal) -> bool:
    """Whether a form has no complement on the way."""
    subject = goal.subject
    if isinstance(subject, Term):
        return not any(isinstance(literal, Negation) for literal in subject.literals)
    schema = subject.schema
    return schema.keys().isdisjoint(_NEGATING) and (goal.loose or "oneOf" not in schema)


def _has_discriminator(tags: list[_Tags | None]) -> bool:
    """Whether one property tells all branches apart, without looking at every pair."""
    if not tags or any(tag is None for tag in tags):
        return False
    for name in tags[0] or ():
        values = [tag[name] for tag in tags if tag is not None and name in tag]
        if len(values) == len(tags) and len(frozenset().union(*values)) == sum(map(len, values)):
            return True
    return False


def _are_told_apart(a: _Tags | None, b: _Tags | None) -> bool:
    if a is None or b is None:
        return False
    return any(name in b and values.isdisjoint(b[name]) for name, values in a.items())


def _unless_present(ways: Any, name: str, then: Any) -> Any:
    """Objects with property ``name`` are in ``then``; everything else goes."""
    absent = ObjectNode(named=((name, FALSE),))
    present = ObjectNode(named=((name, TRUE),), required=frozenset((name,)))
    with_it = ways.both(ways.of(Normal(objects=(present,))), then)
    return ways.either((ways.of(replace(EVERYTHING, objects=(absent,))), with_it))
