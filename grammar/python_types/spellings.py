r"""The regular languages of scalars that JSON has no type for.

Each pattern is anchored, plain enough for every regex dialect, within what pydantic reads, and
covers what pydantic writes. JSON Schema's formats alone would be wrong on both sides: ``time``
and ``date-time`` demand an offset that naive values have not, allow leap seconds, the year 0
and durations that overflow; unknown ones restrict nothing.
"""

from __future__ import annotations

from .digit_ranges import between

__all__ = [
    "BASE64",
    "COMPLEX",
    "DATE",
    "DECIMAL",
    "DURATION",
    "FLOAT",
    "FRACTION",
    "IPV4_INTERFACE",
    "NO_OUTER_BLANKS",
    "anchored",
    "ascii_text",
    "base16",
    "date_between",
    "datetime_pattern",
    "decimal_pattern",
    "time_pattern",
    "url_pattern",
]


def anchored(*options: str) -> str:
    """Exactly one of the options, from start to end."""
    return f"^(?:{'|'.join(options)})$"


# Dates: any year but 0000 (datetime.MINYEAR is 1), 29 February only in leap years.
_YEAR = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_EVERY_YEAR = (
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_FOURTH = "(?:0[48]|[2468][048]|[13579][26])"
_LEAP_YEAR = f"(?:[0-9]{{2}}{_FOURTH}|{_FOURTH}00)"
_DATE = f"(?:{_YEAR}-{_EVERY_YEAR}|{_LEAP_YEAR}-02-29)"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
_OFFSET = "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"

DATE = anchored(_DATE)


def date_between(low: str, high: str) -> str:
    """ISO texts between two dates, valid as dates only together with :data:`DATE`."""
    return anchored(between(low, high))


def _zoned(clock: str, zone: str | None) -> str:
    offset = {None: f"{_OFFSET}?", "aware": _OFFSET, "naive": ""}[zone]
    return f"^{clock}{offset}$"


def time_pattern(zone: str | None) -> str:
    """A time of day; ``zone`` is ``"aware"``, ``"naive"`` or ``None`` for either."""
    return _zoned(_TIME, zone)


def datetime_pattern(zone: str | None) -> str:
    """A date and a time of day; ``zone`` as for :func:`time_pattern`."""
    return _zoned(f"{_DATE}T{_TIME}", zone)


# Durations: the digits are bounded such that no sum leaves datetime.timedelta's range.
_N = "[0-9]{1,6}"
_SECONDS = rf"{_N}(?:\.[0-9]{{1,6}})?S"
_CLOCK = f"T(?:{_N}H(?:{_N}M)?(?:{_SECONDS})?|{_N}M(?:{_SECONDS})?|{_SECONDS})"
_DAYS = "[0-9]{1,8}D"
_CALENDAR = f"(?:{_N}Y(?:{_N}M)?(?:{_DAYS})?|{_N}M(?:{_DAYS})?|{_DAYS})"
DURATION = f"^-?P(?:{_N}W|{_CALENDAR}(?:{_CLOCK})?|{_CLOCK})$"

# Numbers in strings. pydantic also reads blanks, underscores and digits of other scripts.
_MANTISSA = r"(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})"
_UNSIGNED = r"(?:0|[1-9][0-9]{0,29})(?:\.[0-9]{1,30})?"
DECIMAL = rf"^[+-]?{_MANTISSA}(?:[eE][+-]?[0-9]{{1,3}})?$"
FLOAT = rf"^-?{_UNSIGNED}(?:e[+-]?[0-9]{{1,2}})?$"
FRACTION = "^-?[0-9]{1,30}(?:/[1-9][0-9]{0,29})?$"
COMPLEX = rf"^(?:-?{_UNSIGNED}[+-])?{_UNSIGNED}j$"


def _whole(digits: int) -> str:
    if digits <= 0:
        return "0"
    return "(?:0|[1-9])" if digits == 1 else f"(?:0|[1-9][0-9]{{0,{digits - 1}}})"


def decimal_pattern(max_digits: int | None, decimal_places: int | None) -> str:
    """Decimals in positional notation with at most so many digits, and so many after the point."""
    if max_digits is None:
        places = decimal_places or 0
        return rf"^-?{_whole(40)}(?:\.[0-9]{{1,{places}}})?$" if places else f"^-?{_whole(40)}$"
    if decimal_places is not None:
        whole = _whole(max_digits - decimal_places)
        if decimal_places == 0:
            return f"^-?{whole}$"
        return rf"^-?{whole}(?:\.[0-9]{{1,{decimal_places}}})?$"
    options = [_whole(max_digits)]
    options += [
        rf"{_whole(max_digits - places)}\.[0-9]{{{places}}}" for places in range(1, max_digits + 1)
    ]
    return f"^-?(?:{'|'.join(options)})$"


# Bytes in strings. Unused bits of the last base64 digit must be zero.
BASE64 = "^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-][AQgw]==|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048]=)?$"


def base16(least: int, most: int | None) -> str:
    """Bytes as pairs of hexadecimal digits."""
    return f"^(?:[0-9A-Fa-f]{{2}}){{{least},{'' if most is None else most}}}$"


def ascii_text(least: int, most: int | None) -> str:
    """Text in which characters and UTF-8 bytes are the same number."""
    return f"^[\\x00-\\x7f]{{{least},{'' if most is None else most}}}$"


# pydantic strips Unicode White_Space; the patterns' \s lacks U+0085.
NO_OUTER_BLANKS = r"^[^\s\u0085](?:[\s\S]*[^\s\u0085])?$"

_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4_INTERFACE = rf"^{_BYTE}(?:\.{_BYTE}){{3}}(?:/(?:3[0-2]|[12]?[0-9]))?$"

# Hosts: no label that a URL parser would read as punycode ("--"), no last label that it would
# read as a number.
_LABEL = "[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*"
_HOST = rf"(?:{_LABEL}\.)*[A-Za-z][A-Za-z0-9]*"
_URL_CHARS = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})"
_URL_TAIL = rf"(?:/{_URL_CHARS}*)?(?:\?(?:{_URL_CHARS}|\?)*)?(?:#(?:{_URL_CHARS}|\?)*)?"
ANY_SCHEMES = ("http", "https", "ftp", "ws", "wss")


def url_pattern(schemes: list[str] | None) -> str:
    """Absolute URLs with a host, of the given schemes (default: the usual ones of the web)."""
    names = "|".join(name.replace("+", r"\+") for name in (schemes or ANY_SCHEMES))
    return f"^(?:{names})://{_HOST}(?::[1-9][0-9]{{0,3}})?{_URL_TAIL}$"
