"""The support report of a schema: see :mod:`maskwright.grammar.report`.

Compiling stops at the first error and looks no further than it must. Here every subschema that
is reached is looked at by itself, so that the report names all errors, and the parts that no
value can satisfy though the whole schema can.
"""

from __future__ import annotations

from typing import Any

from ...errors import GrammarError, LimitError, UnsatisfiableError, UnsupportedSchemaError
from ...limits import DEFAULT_LIMITS, Limits
from ..ir import Key
from ..report import Finding, Report, Size, Status, measure
from .advice import advice
from .formats import FORMATS
from .grammar import JsonSchemaGrammar
from .options import JsonOptions
from .scan import Scan
from .sites import Site, escape_token

__all__ = ["check_schema"]


def check_schema(
    schema: Any,
    *,
    options: JsonOptions | None = None,
    registry: Any = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Report:
    """What of a schema is enforced, and what is wrong with it.

    Takes what :class:`.JsonSchemaGrammar` takes and raises none of its errors: they are in the
    report, which is ok exactly if the grammar can be made.
    """
    return _Check(options or JsonOptions(), limits).run(schema, registry)


class _Check:
    def __init__(self, options: JsonOptions, limits: Limits) -> None:
        self._options = options
        self._limits = limits
        self._asserts = options.formats == "assert"
        self._errors: dict[tuple[str, str], Finding] = {}
        self._others: list[Finding] = []

    def run(self, schema: Any, registry: Any) -> Report:
        grammar: JsonSchemaGrammar | None = None
        size: Size | None = None
        try:
            grammar = JsonSchemaGrammar(
                schema, options=self._options, registry=registry, limits=self._limits, lenient=True
            )
        except (GrammarError, LimitError) as error:
            self._error(error, "#")
        if grammar is not None:
            sites = self._scan(grammar)
            for site in sites:
                self._others.extend(advice(site, asserts_formats=self._asserts))
            if not self._errors:
                self._satisfiable(grammar, sites)
            if not self._errors:
                # The verdict is the compiler's own, whatever was found above.
                try:
                    grammar.check()
                except (GrammarError, LimitError) as error:
                    self._error(error, "#")
            if not self._errors:
                size = measure(grammar, lambda key, error: self._rule_error(grammar, key, error))
            self._relaxed(grammar)
            self._enforced(sites)
        known = {finding.where for finding in self._errors.values()}
        self._others = [
            finding
            for finding in self._others
            if finding.status != "unsatisfiable" or finding.where not in known
        ]
        findings = sorted(self._others, key=lambda finding: finding.severity != "warning")
        return Report((*self._errors.values(), *findings), size)

    def _scan(self, grammar: JsonSchemaGrammar) -> dict[Site, bool]:
        """All sites that are reached, and whether each is in the place of a whole value."""
        errors: list[tuple[Site, str | None, GrammarError | LimitError]] = []
        walk = Scan(grammar.sites, grammar.languages, errors)
        walk.run(grammar.sites.root)
        for site, keyword, error in errors:
            pointer = site.pointer
            if keyword is not None:
                pointer += "/" + escape_token(keyword)
            self._error(error, pointer, keyword)
        if not errors:
            try:
                walk.check_loops()
            except GrammarError as error:
                self._error(error, "#")
        return {site: site in walk.values for site in walk.seen}

    def _satisfiable(self, grammar: JsonSchemaGrammar, sites: dict[Site, bool]) -> None:
        empty: list[str] = []
        # Innermost first, so that what follows from another finding is not one of its own.
        for site in sorted(sites, key=lambda site: -site.pointer.count("/")):
            if site is grammar.sites.root or not isinstance(site.schema, dict):
                continue
            pointer = site.pointer
            try:
                if grammar.check_site(site):
                    continue
            except (GrammarError, LimitError) as error:
                # Where more keywords apply to the same value, they may yet make it possible.
                if sites[site]:
                    self._error(error, pointer)
                continue
            if not any(other == pointer or other.startswith(pointer + "/") for other in empty):
                message = "no JSON value satisfies this subschema"
                self._others.append(Finding("unsatisfiable", "warning", pointer, None, message))
            empty.append(pointer)

    def _relaxed(self, grammar: JsonSchemaGrammar) -> None:
        for pointer in dict.fromkeys(grammar.sites.relaxed):
            keyword = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
            message = "dropped as relax asks"
            self._others.append(Finding("relaxed", "info", pointer, keyword, message))

    def _enforced(self, sites: dict[Site, bool]) -> None:
        said = {finding.where for finding in (*self._errors.values(), *self._others)}
        for site in sites:
            if not isinstance(site.schema, dict):
                continue
            for keyword, value in site.schema.items():
                if keyword not in site.resource.dialect.keywords or keyword == "$anchor":
                    continue
                if keyword == "format" and not (self._asserts and value in FORMATS):
                    continue
                pointer = f"{site.pointer}/{escape_token(keyword)}"
                if pointer not in said:
                    self._others.append(Finding("enforced", "info", pointer, keyword))

    def _rule_error(
        self, grammar: JsonSchemaGrammar, key: Key, error: GrammarError | LimitError
    ) -> None:
        site = grammar.site_of(key)
        self._error(error, "#" if site is None else site.pointer)

    def _error(
        self, error: GrammarError | LimitError, pointer: str, keyword: str | None = None
    ) -> None:
        status: Status = "malformed"
        message = str(error)
        if isinstance(error, LimitError):
            status = "too large"
        else:
            message = error.message
            pointer = error.pointer or pointer
            if isinstance(error, UnsatisfiableError):
                status = "unsatisfiable"
            elif isinstance(error, UnsupportedSchemaError):
                status, keyword = "refused", error.keyword
        self._errors.setdefault(
            (pointer, message), Finding(status, "error", pointer, keyword, message)
        )
