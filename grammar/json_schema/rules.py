"""From canonical forms to grammar rules, one rule at a time.

Rule keys:

* ``int``: the uid of a term: any of its values;
* ``"value"``, ``"object"``, ``"array"``: any JSON value, object, array; these are the same for
  all schemas;
* ``"text"``: the start, where blanks may stand around the text;
* tuples: the rest of an array or of an object, see :class:`.array_rules.ArrayRules`,
  :meth:`.object_rules.ObjectRules.tail` and :meth:`.object_rules.ObjectRules.unordered_tail`.

Scalars are written in place where that builds no automaton, everything else is a reference, so
a rule costs what one level of the schema costs. Nothing that holds no value is ever offered:
optional properties without values are left out, arrays end before an item that cannot be.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as SequenceOf
from json import dumps
from json.encoder import encode_basestring
from typing import Any

from ..automata.dfa import CharDFA
from ..ir import (
    Choice,
    CountedString,
    Expr,
    Key,
    Literal,
    Ref,
    Sequence,
    StringLexeme,
    TextLexeme,
    UndeclaredKey,
)
from .array_rules import ArrayRules
from .nodes import TRUE, Term
from .normalize import Normalizer
from .numbers import exact
from .object_rules import ObjectRules, choice
from .plain_rules import FEW_CONSTANTS, PlainRules
from .scalars import ANY_NUMBER, ANY_STRING, INTEGERS, STRICT_INTEGERS, NumberPart, StringPart
from .sites import Site
from .whitespace import Punctuation

__all__ = ["Rules"]

_NULL, _TRUE, _FALSE = Literal(b"null"), Literal(b"true"), Literal(b"false")
_NOTHING = Sequence(())
_ANY_STRING = CountedString()

_SCALARS = frozenset(("null", "boolean", "integer", "number", "string"))


class Rules:
    """Makes the body of a rule from its key."""

    def __init__(self, normalizer: Normalizer, signs: Punctuation) -> None:
        self._normalizer = normalizer
        self._algebra = normalizer.algebra
        self._languages = normalizer.algebra.languages
        self._signs = signs
        self.objects = ObjectRules(self, normalizer, signs)
        self.arrays = ArrayRules(self, normalizer, signs)
        self._plain = PlainRules(self, self.objects, normalizer, signs)
        self._scalars = self._languages.shared("scalars", self._make_scalars)

    def body(self, key: Key) -> Expr:
        """The body of a rule. Raises ``KeyError`` for a key that no rule has mentioned."""
        if isinstance(key, int):
            return self._term(self._algebra.by_uid[key])
        if isinstance(key, tuple):
            kind, *rest = key
            if kind == "items":
                return self.arrays.tail(*rest)
            if kind == "unique":
                return self.arrays.unique_tail(*rest)
            if kind == "members":
                return self.objects.tail(*rest)
            if kind == "named":
                return self.objects.named(*rest)
            if kind == "unordered":
                return self.objects.unordered_tail(*rest)
        if key == "value":
            return Choice(
                (
                    _NULL,
                    _TRUE,
                    _FALSE,
                    *self._number_options((ANY_NUMBER,)),
                    _ANY_STRING,
                    Ref("array"),
                    Ref("object"),
                )
            )
        if key == "array":
            return self.arrays.any_array()
        if key == "object":
            return self.objects.any_object()
        raise KeyError(key)

    def scalar(self, kind: str, strict: bool) -> Expr | None:
        """All values of a scalar type, one expression for all grammars of a compiler.

        ``None`` for other types. ``strict``: see :attr:`.Dialect.strict_integer`.
        """
        return self._scalars.get("strict" if strict and kind == "integer" else kind)

    def constants(self, values: Iterable[str]) -> Expr:
        """Exactly these strings (at least one)."""
        return choice([option for value in values for option in self._constant_string(value)])

    def _make_scalars(self) -> dict[str, Expr]:
        (number,) = self._number_options((ANY_NUMBER,))
        (integer,) = self._number_options((INTEGERS,))
        (strict,) = self._number_options((STRICT_INTEGERS,))
        return {
            "null": _NULL,
            "boolean": Choice((_TRUE, _FALSE)),
            "string": _ANY_STRING,
            "number": number,
            "integer": integer,
            "strict": strict,
        }

    def reference(self, term: Term) -> Expr:
        """A term as part of another rule: in place if it is a plain scalar."""
        found = term.expression
        if found is None:
            found = self._in_place(term) or Ref("value" if term is TRUE else term.uid)
            if term is not TRUE:  # shared by all grammars, so nothing is kept in it
                term.expression = found
        return found

    def _in_place(self, term: Term) -> Expr | None:
        if len(term.literals) != 1:
            return None
        (site,) = term.literals
        if not isinstance(site, Site):
            return None
        schema = site.schema
        if "enum" in schema or "const" in schema:
            values = schema.get("enum", (schema.get("const"),))
            if len(values) > FEW_CONSTANTS or any(isinstance(v, (list, dict)) for v in values):
                return None
        else:
            kinds = schema.get("type", "array")
            if not _SCALARS.issuperset((kinds,) if isinstance(kinds, str) else kinds):
                return None
        if not _COSTLY.isdisjoint(schema):
            return None
        return self._term(term)

    # ------------------------------------------------------------------ values

    def _term(self, term: Term) -> Expr:
        if term is TRUE:
            return Ref("value")
        if len(term.literals) == 1:
            (site,) = term.literals
            if isinstance(site, Site):
                plain = self._plain.expression(site)
                if plain is not None:
                    return plain
        normal = self._normalizer.normal(term)
        options: list[Expr] = []
        for present, literal in (
            (normal.null, _NULL),
            (normal.true, _TRUE),
            (normal.false, _FALSE),
        ):
            if present:
                options.append(literal)
        options.extend(self._number_options(normal.numbers))
        options.extend(self._string_options(normal.strings))
        for array in normal.arrays:
            options.extend(self.arrays.expressions(array))
        for node in normal.objects:
            options.extend(self.objects.expressions(node))
        if not options:
            raise KeyError(term.uid)
        return choice(options)

    def _number_options(self, parts: SequenceOf[NumberPart]) -> Iterable[Expr]:
        values: dict[str, None] = {}
        for part in parts:
            if part.values is not None:
                for value in part.values:
                    values.update(dict.fromkeys(_spellings(value, part.point is False)))
            elif self._languages.has_number(part):
                yield TextLexeme(self._languages.number(part))
        if len(values) > FEW_CONSTANTS:
            yield TextLexeme(CharDFA.from_strings(values))
        else:
            for text in values:
                yield Literal(text.encode())

    def _string_options(self, parts: SequenceOf[StringPart]) -> Iterable[Expr]:
        values: dict[str, None] = {}
        for part in parts:
            if part.values is not None:
                values.update(dict.fromkeys(self._languages.values(part)))
            elif part.is_all_but_few:
                yield UndeclaredKey(part.excluded)
            elif part.is_plain:
                yield _ANY_STRING if part is ANY_STRING else CountedString(part.min, part.max)
            else:
                language = self._languages.string(part)
                if not language.is_empty:
                    yield StringLexeme(language)
        if len(values) > FEW_CONSTANTS:
            yield StringLexeme(CharDFA.from_strings(values))
        else:
            for value in values:
                yield from self._constant_string(value)

    def _constant_string(self, value: str) -> tuple[Expr, ...]:
        if value.isascii():
            return (Literal(encode_basestring(value).encode()),)
        return (StringLexeme(CharDFA.from_strings((value,))),)


def _spellings(value: Any, strict: bool) -> tuple[str, ...]:
    """How a constant number is written: as ``json.dumps`` does, integers also as ``1.0``."""
    text = dumps(value)
    number = exact(value)
    if number.denominator != 1 or strict or abs(number) >= 10**16:
        return (text,)
    whole = str(int(number))
    return tuple(dict.fromkeys((text, whole, whole + ".0")))


_COSTLY = frozenset(
    [
        "pattern",
        "format",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
    ]
)
