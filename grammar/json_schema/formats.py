"""The languages of JSON Schema's ``format`` values.

Each language is written as its RFC's grammar. Every text accepted is valid. Where a format is
not regular, or its exact automaton would be too large to be worth it, the language is a subset,
in these places only:

* ``date`` and ``date-time``: not the year 0000, which Python cannot represent.
* ``time`` and ``date-time``: a leap second is accepted where UTC reads 23:59:60, as RFC 3339
  demands, for offsets that are multiples of 15 minutes (every zone in use); other offsets would
  cost a state per minute of the day.
* ``hostname``: no labels with hyphens in third and fourth place. ``xn--…`` is valid only if it
  decodes to a valid label, which is no regular property; others are reserved (RFC 5891,
  4.2.3.1). The limits of 63 characters to a label and 253 in all would take a state for each
  pair of counts; here the first label has at most 63 and the rest together has at most 63,
  and only single hyphens.
* ``email`` and ``idn-email``: at most 63 characters of domain, where RFC 5321 has 255, and
  only single hyphens in it; address literals (``@[127.0.0.1]``) only after at most 16
  characters, and only IPv4 and IPv6.

So hosts and addresses stay small even when combined with a length or a pattern.

``idn-email`` alone is a superset: non-ASCII labels are not checked against IDNA, and its local
part is 64 characters rather than octets. ``idn-hostname`` (IDNA again) and ``regex`` are no
regular languages at all; like unknown names they stay annotations, as the specification has it.

A language is built when it is first asked for, and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType

from ..automata.dfa import CharDFA
from ..regular import (
    EMPTY,
    MAX_CODE_POINT,
    Chars,
    CharSet,
    Complement,
    Intersect,
    Regular,
    chars,
    concat,
    repeat,
    text,
    union,
)

__all__ = ["FORMATS", "format_language"]


# Building blocks.


@cache
def _character(value: str) -> Regular:
    return text(value)


def _text(value: str) -> Regular:
    """Exactly this text. Leap seconds spell a few thousand characters, so these are shared."""
    return concat(map(_character, value))


def _one_of(members: str) -> Chars:
    return Chars(CharSet.of((ord(c), ord(c)) for c in members))


def _either(*sets: Chars) -> Chars:
    return Chars(CharSet.of(r for part in sets for r in part.set.ranges))


def _without(first: Chars, second: Chars) -> Chars:
    return Chars(first.set.difference(second.set))


def _optional(*items: Regular) -> Regular:
    return repeat(concat(items), 0, 1)


def _star(*items: Regular) -> Regular:
    return repeat(concat(items), 0, None)


def _plus(*items: Regular) -> Regular:
    return repeat(concat(items), 1, None)


def _texts(values: Iterable[str]) -> Regular:
    return union(_text(value) for value in values)


def _at_most(count: int, item: Regular) -> Regular:
    return Intersect((item, repeat(chars((0, MAX_CODE_POINT)), 0, count)))


def _two_digits(first: int, last: int) -> Regular:
    """The numbers from first to last, written with two digits."""
    tens: list[Regular] = []
    for ten in range(first // 10, last // 10 + 1):
        low = max(first - 10 * ten, 0)
        high = min(last - 10 * ten, 9)
        tens.append(concat((_text(str(ten)), chars((0x30 + low, 0x30 + high)))))
    return union(tens)


_DIGIT = chars((0x30, 0x39))
_NON_ZERO = chars((0x31, 0x39))
_ALPHA = chars((0x41, 0x5A), (0x61, 0x7A))
_ALPHANUMERIC = _either(_DIGIT, _ALPHA)
_HEX = _either(_DIGIT, chars((0x41, 0x46), (0x61, 0x66)))
_NON_ASCII = chars((0x80, MAX_CODE_POINT))
_ANY = repeat(chars((0, MAX_CODE_POINT)), 0, None)


# Dates and times: RFC 3339, section 5.6 and appendix A.


def _date() -> Regular:
    # A year that is a multiple of 4 ends in one of these two digits.
    fourth = [f"{n:02}" for n in range(0, 100, 4)]
    # ... but a century is leap only if its first two digits are such a multiple.
    leap_year = union(
        (
            concat((_DIGIT, _DIGIT, _texts(fourth[1:]))),
            concat((_texts(fourth[1:]), _text("00"))),
        )
    )
    year = Intersect((repeat(_DIGIT, 4, 4), Complement(_text("0000"))))
    month_and_day = union(
        (
            concat(
                (_texts(("01", "03", "05", "07", "08", "10", "12")), _text("-"), _two_digits(1, 31))
            ),
            concat((_texts(("04", "06", "09", "11")), _text("-"), _two_digits(1, 30))),
            concat((_text("02-"), _two_digits(1, 28))),
        )
    )
    return union((concat((year, _text("-"), month_and_day)), concat((leap_year, _text("-02-29")))))


def _time() -> Regular:
    fraction = _optional(_text("."), _plus(_DIGIT))
    hour_and_minute = concat((_two_digits(0, 23), _text(":"), _two_digits(0, 59)))
    zulu = _one_of("Zz")
    offset = union((zulu, concat((_one_of("+-"), hour_and_minute))))
    options: list[Regular] = [
        concat((hour_and_minute, _text(":"), _two_digits(0, 59), fraction, offset))
    ]
    # A leap second stands where UTC reads 23:59:60.
    for east in range(0, 24 * 60, 15):
        local = (23 * 60 + 59 + east) % (24 * 60)
        west = (24 * 60 - east) % (24 * 60)
        offsets = _texts((f"+{_clock(east)}", f"-{_clock(west)}"))
        if east == 0:
            offsets = union((zulu, offsets))
        options.append(concat((_text(f"{_clock(local)}:60"), fraction, offsets)))
    return union(options)


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _date_time() -> Regular:
    return concat((_date(), _one_of("Tt"), _time()))


def _duration() -> Regular:
    digits = _plus(_DIGIT)

    def units(names: str) -> Regular:
        """Parts with these units, largest first; one may be the last, none left out between."""
        result: Regular = EMPTY
        for name in reversed(names):
            result = concat((digits, _text(name), _optional(result)))
        return result

    def any_start(names: str) -> Regular:
        return union(units(names[i:]) for i in range(len(names)))

    time = concat((_text("T"), any_start("HMS")))
    date = concat((any_start("YMD"), _optional(time)))
    return concat((_text("P"), union((date, time, concat((digits, _text("W")))))))


# Hosts: RFC 1123 and 5891 (names), 2673 (IPv4), 4291 (IPv6).


def _ipv4() -> Regular:
    octet = union(
        (
            _DIGIT,
            concat((_NON_ZERO, _DIGIT)),
            concat((_text("1"), _DIGIT, _DIGIT)),
            concat((_text("2"), chars((0x30, 0x34)), _DIGIT)),
            concat((_text("25"), chars((0x30, 0x35)))),
        )
    )
    return concat((octet, repeat(concat((_text("."), octet)), 3, 3)))


def _ipv6() -> Regular:
    group = repeat(_HEX, 1, 4)
    before = concat((group, _text(":")))
    # The last 32 bits may be written as an IPv4 address.
    last = union((concat((before, group)), _ipv4()))
    options: list[Regular] = [concat((repeat(before, 6, 6), last))]
    for after in range(8):
        # "::" with this many groups after it: it stands for at least one.
        left = repeat(concat((group, repeat(concat((_text(":"), group)), 0, 6 - after))), 0, 1)
        if after == 7:
            left = EMPTY
        if after == 0:
            right: Regular = EMPTY
        elif after == 1:
            right = group
        else:
            right = concat((repeat(before, after - 2, after - 2), last))
        options.append(concat((left, _text("::"), right)))
    return union(options)


def _domain(letter: Chars) -> Regular:
    """Labels of letters, digits and single inner hyphens, separated by dots."""
    label = concat((_plus(letter), _star(_text("-"), _plus(letter))))
    return concat((label, _star(_text("."), label)))


def _hostname() -> Regular:
    inner = _either(_ALPHANUMERIC, _one_of("-"))
    label = concat((_ALPHANUMERIC, _optional(repeat(inner, 0, 61), _ALPHANUMERIC)))
    reserved = concat((repeat(inner, 2, 2), _text("--"), _ANY))
    first = Intersect((label, Complement(reserved)))
    return concat((first, _optional(_text("."), _at_most(63, _domain(_ALPHANUMERIC)))))


# E-mail addresses: RFC 5321, section 4.1.2, and RFC 6531.


def _mailbox(extra: Chars) -> Regular:
    """A mailbox; ``extra`` characters are allowed like letters."""
    atom_char = _either(_ALPHANUMERIC, _one_of("!#$%&'*+-/=?^_`{|}~"), extra)
    atom = _plus(atom_char)
    dotted = concat((atom, _star(_text("."), atom)))
    # qtextSMTP and quoted-pairSMTP
    quoted_char = union(
        (
            _either(chars((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7E)), extra),
            concat((_text("\\"), chars((0x20, 0x7E)))),
        )
    )
    quoted = concat((_text('"'), _star(quoted_char), _text('"')))
    local = union((dotted, quoted))

    domain = _domain(_either(_ALPHANUMERIC, extra))
    tag = concat(_one_of(c + c.swapcase()) for c in "IPv")
    literal = concat(
        (_text("["), union((_ipv4(), concat((tag, _text("6:"), _ipv6())))), _text("]"))
    )
    return union(
        (
            concat((_at_most(64, local), _text("@"), _at_most(63, domain))),
            concat((_at_most(16, local), _text("@"), literal)),
        )
    )


def _email() -> Regular:
    return _mailbox(Chars(CharSet(())))


def _idn_email() -> Regular:
    # Without the other full stops that IDNA reads as a dot.
    return _mailbox(_without(_NON_ASCII, _one_of("\u3002\uff0e\uff61")))


# Resource identifiers: RFC 3986 and 3987.

_UNRESERVED = _either(_ALPHANUMERIC, _one_of("-._~"))
_SUB_DELIMS = _one_of("!$&'()*+,;=")
_PERCENT_ENCODED = concat((_text("%"), _HEX, _HEX))
_UCSCHAR = chars(
    (0xA0, 0xD7FF),
    (0xF900, 0xFDCF),
    (0xFDF0, 0xFFEF),
    *((plane << 16, (plane << 16) + 0xFFFD) for plane in range(1, 14)),
    (0xE1000, 0xEFFFD),
)
_IPRIVATE = chars((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))
_NOTHING = Chars(CharSet(()))


def _identifier(extra: Chars, extra_in_query: Chars, *, relative: bool) -> Regular:
    """A URI or IRI; ``extra`` characters are allowed like unreserved ones."""
    unreserved = _either(_UNRESERVED, extra)

    def run_of(*allowed: Chars) -> Regular:
        return union((_either(unreserved, _SUB_DELIMS, *allowed), _PERCENT_ENCODED))

    pchar = run_of(_one_of(":@"))
    scheme = concat((_ALPHA, _star(_either(_ALPHANUMERIC, _one_of("+-.")))))
    future = concat(
        (
            _one_of("vV"),
            _plus(_HEX),
            _text("."),
            _plus(_either(_UNRESERVED, _SUB_DELIMS, _one_of(":"))),
        )
    )
    literal = concat((_text("["), union((_ipv6(), future)), _text("]")))
    # An IPv4 address reads as a registered name as well.
    host = union((literal, _star(run_of())))
    authority = concat(
        (
            _optional(_star(run_of(_one_of(":"))), _text("@")),
            host,
            _optional(_text(":"), _star(_DIGIT)),
        )
    )
    further = _star(_text("/"), _star(pchar))
    rootless = concat((_plus(pchar), further))
    absolute = concat((_text("/"), _optional(rootless)))
    with_authority = concat((_text("//"), authority, further))
    query = _optional(_text("?"), _star(union((pchar, _one_of("/?"), extra_in_query))))
    fragment = _optional(_text("#"), _star(union((pchar, _one_of("/?")))))
    tail = (query, fragment)
    hierarchy = union((with_authority, absolute, rootless, EMPTY))
    whole = concat((scheme, _text(":"), hierarchy, *tail))
    if not relative:
        return whole
    # The first segment has no colon: it would read as a scheme.
    no_scheme = concat((_plus(run_of(_one_of("@"))), further))
    reference = concat((union((with_authority, absolute, no_scheme, EMPTY)), *tail))
    return union((whole, reference))


def _uri_template() -> Regular:
    """RFC 6570, section 2, with the apostrophe that an erratum adds to the literals."""
    literal = union(
        (
            _either(_without(chars((0x21, 0x7E)), _one_of('"%<>\\^`{|}')), _UCSCHAR, _IPRIVATE),
            _PERCENT_ENCODED,
        )
    )
    variable_char = union((_either(_ALPHANUMERIC, _one_of("_")), _PERCENT_ENCODED))
    name = concat((variable_char, _star(_optional(_text(".")), variable_char)))
    prefix = concat((_text(":"), _NON_ZERO, repeat(_DIGIT, 0, 3)))
    variable = concat((name, _optional(union((prefix, _text("*"))))))
    expression = concat(
        (
            _text("{"),
            repeat(_one_of("+#./;?&=,!@|"), 0, 1),
            variable,
            _star(_text(","), variable),
            _text("}"),
        )
    )
    return _star(union((literal, expression)))


# The rest.


def _uuid() -> Regular:
    """RFC 9562, section 4; any version and variant."""
    blocks = [repeat(_HEX, n, n) for n in (8, 4, 4, 4, 12)]
    return concat((blocks[0], *(concat((_text("-"), block)) for block in blocks[1:])))


def _json_pointer() -> Regular:
    """RFC 6901, section 3."""
    plain = _without(chars((0, MAX_CODE_POINT)), _one_of("/~"))
    return _star(_text("/"), _star(union((plain, concat((_text("~"), _one_of("01")))))))


def _relative_json_pointer() -> Regular:
    """draft-bhutton-relative-json-pointer without index manipulation, which validators lack."""
    steps = union((_text("0"), concat((_NON_ZERO, _star(_DIGIT)))))
    return concat((steps, union((_text("#"), _json_pointer()))))


FORMATS: Mapping[str, Callable[[], Regular]] = MappingProxyType(
    {
        "date": _date,
        "date-time": _date_time,
        "duration": _duration,
        "email": _email,
        "hostname": _hostname,
        "idn-email": _idn_email,
        "ipv4": _ipv4,
        "ipv6": _ipv6,
        "iri": lambda: _identifier(_UCSCHAR, _IPRIVATE, relative=False),
        "iri-reference": lambda: _identifier(_UCSCHAR, _IPRIVATE, relative=True),
        "json-pointer": _json_pointer,
        "relative-json-pointer": _relative_json_pointer,
        "time": _time,
        "uri": lambda: _identifier(_NOTHING, _NOTHING, relative=False),
        "uri-reference": lambda: _identifier(_NOTHING, _NOTHING, relative=True),
        "uri-template": _uri_template,
        "uuid": _uuid,
    }
)
"""Format name -> its grammar. Names that are missing here are annotations."""


@cache
def format_language(name: str, *, leap_seconds: bool = True) -> CharDFA | None:
    """The texts that a format allows, or ``None`` if the name is only an annotation.

    Args:
        leap_seconds: whether second 60 is allowed where a date-time or time can have one.
            Python's own types cannot hold it.
    """
    build = FORMATS.get(name)
    if build is None:
        return None
    if name in ("date-time", "time") and not leap_seconds:
        whole = format_language(name)
        assert whole is not None
        return whole.difference(CharDFA.from_regular(concat((_ANY, _text(":60"), _ANY))))
    return CharDFA.from_regular(build(), culprit=f"format {name!r}")
