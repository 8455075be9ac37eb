"""Unicode properties as character sets: what ``\\p{…}`` can name.

Sources, in this order, so that nothing is generated or vendored:

* ``General_Category``: :mod:`unicodedata` (the Unicode version of the running Python);
* a few binary properties that are constant by the Unicode stability policy, or that a ``str``
  predicate states exactly (``str.islower`` is the property ``Lowercase``, but ``str.isspace``
  is not ``White_Space`` and ``str.isalpha`` is not ``Alphabetic``);
* scripts and all other binary properties: the package ``regex``, which carries the
  Unicode database. Its Unicode version may be newer than Python's; without it such a property
  is an error, never an approximation.

Everything is computed on first use and kept for the process: the first category costs one pass
over the assigned planes (about 0.1 s), each ``regex`` property about 15 ms.
"""

from __future__ import annotations

import importlib
import re
import unicodedata
from functools import cache
from itertools import groupby
from types import ModuleType

import numpy as np

from ..regular import MAX_CODE_POINT, CharSet

__all__ = ["PropertyLookupError", "all_characters", "matching_characters", "unicode_property"]

# Planes 4-13 are unassigned; planes 15 and 16 are private use except for their last two code
# points; plane 14 is assigned in its first rows only. A test compares this with a full scan.
_SCANNED = ((0, 0x3FFFF), (0xE0000, 0xE0FFF))
_PRIVATE_PLANES = ((0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))
_UNASSIGNED_PLANES = (
    (0x40000, 0xDFFFF),
    (0xE1000, 0xEFFFF),
    (0xFFFFE, 0xFFFFF),
    (0x10FFFE, 0x10FFFF),
)

# Names of the values of General_Category: short, then long (PropertyValueAliases).
_CATEGORY_ALIASES = """
C Other | Cc Control cntrl | Cf Format | Cn Unassigned | Co Private_Use | Cs Surrogate
L Letter | LC Cased_Letter | Ll Lowercase_Letter | Lm Modifier_Letter | Lo Other_Letter
Lt Titlecase_Letter | Lu Uppercase_Letter | M Mark Combining_Mark | Mc Spacing_Mark
Me Enclosing_Mark | Mn Nonspacing_Mark | N Number | Nd Decimal_Number digit
Nl Letter_Number | No Other_Number | P Punctuation punct | Pc Connector_Punctuation
Pd Dash_Punctuation | Pe Close_Punctuation | Pf Final_Punctuation | Pi Initial_Punctuation
Po Other_Punctuation | Ps Open_Punctuation | S Symbol | Sc Currency_Symbol
Sk Modifier_Symbol | Sm Math_Symbol | So Other_Symbol | Z Separator | Zl Line_Separator
Zp Paragraph_Separator | Zs Space_Separator
"""
_CATEGORY_BY_NAME = {
    name: names[0]
    for names in (group.split() for group in _CATEGORY_ALIASES.replace("\n", "|").split("|"))
    for name in names
}

_CONSTANT_PROPERTIES = {
    "Any": CharSet.of([(0, MAX_CODE_POINT)]),
    "ASCII": CharSet.of([(0, 0x7F)]),
    "ASCII_Hex_Digit": CharSet.of([(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)]),
    "White_Space": CharSet.of(
        [
            (0x09, 0x0D),
            (0x20, 0x20),
            (0x85, 0x85),
            (0xA0, 0xA0),
            (0x1680, 0x1680),
            (0x2000, 0x200A),
            (0x2028, 0x2029),
            (0x202F, 0x202F),
            (0x205F, 0x205F),
            (0x3000, 0x3000),
        ]
    ),
}
_PREDICATES = {"Lowercase": str.islower, "Uppercase": str.isupper}

# The binary properties that ECMA-262 allows, with their short names.
_BINARY_ALIASES = """
ASCII | ASCII_Hex_Digit AHex | Alphabetic Alpha | Any | Assigned | Bidi_Control Bidi_C
Bidi_Mirrored Bidi_M | Case_Ignorable CI | Cased | Changes_When_Casefolded CWCF
Changes_When_Casemapped CWCM | Changes_When_Lowercased CWL
Changes_When_NFKC_Casefolded CWKCF | Changes_When_Titlecased CWT
Changes_When_Uppercased CWU | Dash | Default_Ignorable_Code_Point DI | Deprecated Dep
Diacritic Dia | Emoji | Emoji_Component EComp | Emoji_Modifier EMod
Emoji_Modifier_Base EBase | Emoji_Presentation EPres | Extended_Pictographic ExtPict
Extender Ext | Grapheme_Base Gr_Base | Grapheme_Extend Gr_Ext | Hex_Digit Hex
IDS_Binary_Operator IDSB | IDS_Trinary_Operator IDST | ID_Continue IDC | ID_Start IDS
Ideographic Ideo | Join_Control Join_C | Logical_Order_Exception LOE | Lowercase Lower
Math | Noncharacter_Code_Point NChar | Pattern_Syntax Pat_Syn
Pattern_White_Space Pat_WS | Quotation_Mark QMark | Radical | Regional_Indicator RI
Sentence_Terminal STerm | Soft_Dotted SD | Terminal_Punctuation Term
Unified_Ideograph UIdeo | Uppercase Upper | Variation_Selector VS | White_Space space
XID_Continue XIDC | XID_Start XIDS
"""
_BINARY_BY_NAME = {
    name: names[0]
    for names in (group.split() for group in _BINARY_ALIASES.replace("\n", "|").split("|"))
    for name in names
}

_CATEGORY_KEYS = frozenset({"General_Category", "gc"})
_SCRIPT_KEYS = {
    "Script": "Script",
    "sc": "Script",
    "Script_Extensions": "Script_Extensions",
    "scx": "Script_Extensions",
}


class PropertyLookupError(LookupError):
    """The text between the braces of ``\\p{…}`` names nothing; ``args[0]`` says why."""


@cache
def unicode_property(expression: str) -> CharSet:
    """The set of ``\\p{expression}``, with the names that ECMA-262 defines.

    ``expression`` is ``Lu``, ``Letter``, ``gc=Lu``, ``Script=Greek``, ``scx=Grek``,
    ``Alphabetic``, …

    Raises:
        PropertyLookupError: the property is unknown, or needs the package ``regex``.
    """
    name, equals, value = expression.partition("=")
    if not equals:
        if name in _CATEGORY_BY_NAME:
            return _category(_CATEGORY_BY_NAME[name])
        if name in _BINARY_BY_NAME:
            return _binary(_BINARY_BY_NAME[name])
        raise PropertyLookupError(_unknown_name(name))
    if name in _CATEGORY_KEYS and value in _CATEGORY_BY_NAME:
        return _category(_CATEGORY_BY_NAME[value])
    if name in _SCRIPT_KEYS and re.fullmatch(r"[A-Z][A-Za-z_]+", value):
        return _from_regex_package(f"{_SCRIPT_KEYS[name]}={value}")
    raise PropertyLookupError(f"unknown Unicode property {expression!r}")


def matching_characters(class_pattern: str) -> CharSet:
    """The characters that one class escape of :mod:`re` matches, e.g. ``"\\\\w"``."""
    return _spans(re, class_pattern)


def _spans(engine: ModuleType, class_pattern: str) -> CharSet:
    """One pass of a compiled engine over all characters; positions are code points."""
    matches = engine.finditer(f"{class_pattern}+", all_characters())
    return CharSet.of((start, stop - 1) for start, stop in (m.span() for m in matches))


def all_characters(first: int = 0, last: int = MAX_CODE_POINT) -> str:
    """The string of all code points in the range, surrogates included."""
    return np.arange(first, last + 1, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")


@cache
def _ranges_by_category() -> dict[str, list[tuple[int, int]]]:
    ranges: dict[str, list[tuple[int, int]]] = {
        "Co": list(_PRIVATE_PLANES),
        "Cn": list(_UNASSIGNED_PLANES),
    }
    for first, last in _SCANNED:
        start = first
        for category, run in groupby(map(unicodedata.category, all_characters(first, last))):
            stop = start + sum(1 for _ in run)
            ranges.setdefault(category, []).append((start, stop - 1))
            start = stop
    return ranges


@cache
def _category(short_name: str) -> CharSet:
    by_category = _ranges_by_category()
    wanted = ("Lu", "Ll", "Lt") if short_name == "LC" else (short_name,)
    return CharSet.of(
        piece
        for category, pieces in by_category.items()
        if category.startswith(wanted)
        for piece in pieces
    )


def _binary(name: str) -> CharSet:
    if name in _CONSTANT_PROPERTIES:
        return _CONSTANT_PROPERTIES[name]
    if name == "Assigned":
        return _category("Cn").complement()
    if name in _PREDICATES:
        holds = bytes(map(_PREDICATES[name], all_characters(0, 0x3FFFF)))
        return CharSet.of((m.start(), m.end() - 1) for m in re.finditer(b"\x01+", holds))
    return _from_regex_package(name)


def _from_regex_package(expression: str) -> CharSet:
    try:
        engine = importlib.import_module("regex")
    except ImportError:
        raise PropertyLookupError(
            f"the Unicode property {expression!r} needs the package 'regex': install it, "
            "or write the characters as ranges"
        ) from None
    try:
        return _spans(engine, rf"\p{{{expression}}}")
    except engine.error:
        raise PropertyLookupError(f"unknown Unicode property {expression!r}") from None


def _unknown_name(name: str) -> str:
    bare = name.removeprefix("Is").removeprefix("^")
    if bare in _CATEGORY_BY_NAME or bare in _BINARY_BY_NAME:
        return f"unknown Unicode property {name!r}: write \\p{{{bare}}}, or \\P{{{bare}}} for not"
    return (
        f"unknown Unicode property {name!r}: write a general category such as \\p{{Lu}}, "
        "\\p{Script=Greek}, or a binary property such as \\p{Alphabetic}"
    )
