"""Python types: the schema is sound for pydantic, wide enough for what pydantic writes, and exact
on examples."""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import re
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NotRequired,
    Optional,
    TypeVar,
    Union,
)

import jsonschema
import pydantic
import pytest
from effort import effort
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    UUID4,
    AliasChoices,
    AliasPath,
    AnyUrl,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    NaiveDatetime,
    PastDate,
    RootModel,
    StringConstraints,
    TypeAdapter,
)
from typing_extensions import TypedDict  # pydantic asks for this one before Python 3.12

from maskwright.errors import GrammarError, UnsatisfiableError, UnsupportedSchemaError
from maskwright.grammar.python_types import schema_of_type, spellings
from maskwright.grammar.python_types.digit_ranges import integers


def matches(tp: Any, text: str) -> bool:
    """Whether a text is JSON that the type's schema allows."""
    schema = schema_of_type(tp).json_schema
    try:
        value = json.loads(text)
    except ValueError:
        return False
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    return jsonschema.Draft202012Validator(schema, format_checker=checker).is_valid(value)


class Color(Enum):
    RED = "red"
    TWO = 2


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Point(NamedTuple):
    x: int
    label: str = "p"


@dataclass
class Box:
    width: int
    area: int = field(init=False, default=0)
    tags: list[str] = field(default_factory=list)


class Options(TypedDict):
    a: int
    b: NotRequired[str]


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog", "puppy"] = "dog"


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


class Node(BaseModel):
    value: int
    children: list[Node] = []


Item = TypeVar("Item")


class Page(BaseModel, Generic[Item]):
    items: list[Item]


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class Renamed(BaseModel):
    city: str = Field(validation_alias=AliasChoices("city-name", "town"))

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def upper(self) -> str:
        return self.city.upper()


Stripped = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Cents = Annotated[Decimal, Field(max_digits=5, decimal_places=2)]

# (type, texts that match, texts that do not)
EXAMPLES: list[tuple[Any, list[str], list[str]]] = [
    (Cat, ["{}", '{"lives":3}'], ['{"mew":1}', "[]"]),
    (Open, ['{"a":1,"b":[2]}'], ['{"b":1}']),
    (Renamed, ['{"city-name":"x"}'], ['{"city":"x"}', '{"city-name":"x","upper":"X"}']),
    (Box, ['{"width":1}', '{"width":1,"tags":["a"]}'], ['{"width":1,"area":2}', "{}"]),
    (Options, ['{"a":1}', '{"a":1,"b":"x"}'], ["{}", '{"a":1,"c":1}']),
    (Point, ["[1]", '[1,"a"]'], ["[]", '["a"]', '[1,"a",2]']),
    (Pet, ['{"kind":"cat"}', '{"kind":"puppy"}'], ["{}", '{"kind":"cow"}', '{"lives":1}']),
    (Node, ['{"value":1,"children":[{"value":2}]}'], ['{"value":1,"children":[{}]}']),
    (Page[Cat], ['{"items":[{"lives":1}]}'], ['{"items":[1]}']),
    (RootModel[list[int]], ["[1]"], ['{"root":[1]}']),
    (Color, ['"red"', "2"], ['"RED"', '"2"']),
    (Literal["a", 1, None, True], ['"a"', "1", "null", "true"], ['"1"', "false", "2"]),
    (Literal["a", b"b"], ['"a"'], ['"b"']),
    (Optional[int], ["null", "1"], ['"x"']),  # noqa: UP045 (the old spelling must work too)
    (Union[int, list[str]], ["1", '["a"]'], ['"a"']),  # noqa: UP007
    (tuple[int, ...], ["[]", "[1,2]"], ['["a"]']),
    (tuple[()], ["[]"], ["[1]"]),
    (set[int], ["[]", "[1,1]"], ['["a"]']),
    (Annotated[set[int], Field(min_length=2)], ["[1,2]"], ["[1,1]", "[1]"]),
    (dict, ['{"a":[1]}'], ["[]"]),
    (dict[int, str], ['{"1":"a","-20":"b"}'], ['{"a":"a"}', '{"01":"a"}', '{"1":1}']),
    (dict[Annotated[int, Field(ge=3, lt=12)], int], ['{"3":1,"11":1}'], ['{"2":1}', '{"12":1}']),
    (dict[bool, int], ['{"true":1}'], ['{"yes":1}']),
    (dict[Color, int], ['{"red":1}'], ['{"2":1}', '{"RED":1}']),
    (dict[Level, int], ['{"1":1}'], ['{"3":1}', '{"LOW":1}']),
    (dict[Literal["a", "b"], int], ['{"b":1}', "{}"], ['{"c":1}']),
    (dict[Literal["a"] | int, int], ['{"a":1,"5":1}'], ['{"b":1}']),
    (dict[int | str, int], ['{"anything":1}'], ['{"a":"b"}']),
    (dict[dt.date, int], ['{"2024-02-29":1}'], ['{"2023-02-29":1}']),
    (dict[uuid.UUID, int], [f'{{"{uuid.UUID(int=1)}":1}}'], ['{"x":1}']),
    (dict[Annotated[str, Field(pattern="^a")], int], ['{"ab":1}'], ['{"ba":1}']),
    (dict[Annotated[str, Field(max_length=2)], Any], ['{"ab":1}'], ['{"abc":1}']),
    (Annotated[dict[int, int], Field(min_length=1)], ['{"1":1}'], ["{}"]),
    (Counter[str], ['{"a":2}'], ['{"a":"b"}']),
    (Decimal, ["1", "1.5", '"1.50"', '"-.5"', '"1E+5"'], ['"abc"', '"."', "true", '""']),
    (Cents, ["1.25", "-999.99", '"999.9"'], ["1000", "0.125", '"1000"', '"0.125"']),
    (Annotated[Decimal, Field(ge=Decimal("0.5"))], ["0.5", "7"], ["0.4", '"7"', '"0.4"']),
    (Annotated[Decimal, Field(max_digits=3)], ["999", "9.99", '"0.999"'], ["9999", '"9.999"']),
    (Fraction, ["0.5", '"1/3"'], ['"1/0"', '"x"']),
    (complex, ["1", '"1+2j"'], ['"x"']),
    (Stripped, ['"a b"', '"a"'], ['""', '" "', '" a"']),
    (Annotated[str, Field(pattern=re.compile("ab"))], ['"xaby"'], ['"AB"']),
    (bytes, ['"abc"'], ["1"]),
    (Annotated[bytes, Field(max_length=2)], ['"ab"'], ['"abc"', '"é"']),
    (dt.date, ['"2024-02-29"', '"2000-02-29"'], ['"2023-02-29"', '"1900-02-29"', '"0000-01-01"']),
    (
        Annotated[dt.date, Field(ge=dt.date(2024, 2, 28), lt=dt.date(2025, 1, 1))],
        ['"2024-02-29"', '"2024-12-31"'],
        ['"2024-02-27"', '"2025-01-01"', '"2024-02-30"'],
    ),
    (dt.time, ['"23:59:59"', '"12:00:00.5Z"'], ['"24:00:00"', '"12:00:60"', '"12:00"']),
    (
        dt.datetime,
        ['"2024-05-01T12:00:00"', '"2024-05-01T12:00:00Z"', '"2024-05-01T12:00:00.123+02:00"'],
        ['"2024-05-01"', '"2024-02-30T12:00:00"', '"2024-05-01T12:00:60Z"'],
    ),
    (AwareDatetime, ['"2024-05-01T12:00:00Z"'], ['"2024-05-01T12:00:00"']),
    (NaiveDatetime, ['"2024-05-01T12:00:00"'], ['"2024-05-01T12:00:00Z"']),
    (dt.timedelta, ['"P1DT2H"', '"-PT1.5S"', '"P2W"'], ['"P"', '"PT"', '"1D"', '"P1DT"']),
    (uuid.UUID, [f'"{uuid.UUID(int=7)}"'], ['"x"']),
    (UUID4, ['"123e4567-e89b-42d3-a456-426614174000"'], [f'"{uuid.UUID(int=7)}"']),
    (HttpUrl, ['"https://a.org/x?y#z"'], ['"ftp://a.org"', '"a.org"', '"http://"']),
    (ipaddress.IPv4Address, ['"1.2.3.4"'], ['"1.2.3"', '"256.1.1.1"']),
    (ipaddress.IPv4Network, ['"1.2.3.4"'], ['"1.2.3.4/24"']),
    (ipaddress.IPv4Interface, ['"1.2.3.4/24"'], ['"1.2.3.4/33"']),
    (Annotated[int, Field(gt=0, multiple_of=5)], ["5"], ["0", "6"]),
]


@pytest.mark.parametrize(
    ("tp", "good", "bad"), EXAMPLES, ids=[str(tp).removeprefix("typing.") for tp, *_ in EXAMPLES]
)
def test_a_type_matches_exactly_what_it_says(tp: Any, good: list[str], bad: list[str]) -> None:
    typed = schema_of_type(tp)
    assert [text for text in good if not matches(tp, text)] == []
    assert [text for text in bad if matches(tp, text)] == []
    for text in good:
        typed.parse(text)  # pydantic agrees


def test_every_generated_schema_is_a_valid_2020_12_schema() -> None:
    for tp, *_ in EXAMPLES:
        jsonschema.Draft202012Validator.check_schema(schema_of_type(tp).json_schema)


def test_properties_keep_the_order_of_declaration() -> None:
    class Order(BaseModel):
        zebra: int
        apple: int

    assert list(schema_of_type(Order).json_schema["properties"]) == ["zebra", "apple"]


# What pydantic writes for a value matches; the value is read back.
WRITTEN: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (dt.date, st.dates()),
    (dt.time, st.times()),
    (dt.datetime, st.datetimes(timezones=st.none() | st.just(dt.UTC))),
    (dt.timedelta, st.timedeltas(dt.timedelta(-(10**6)), dt.timedelta(10**6))),
    (Decimal, st.decimals(-(10**30), 10**30, places=9)),
    (uuid.UUID, st.uuids()),
    (Fraction, st.fractions(max_denominator=10**20)),
    (bytes, st.text().map(str.encode)),
    (ipaddress.IPv6Address, st.ip_addresses(v=6)),
    (dict[int, bool], st.dictionaries(st.integers(), st.booleans())),
    (set[dt.date], st.sets(st.dates())),
    (tuple[int, str] | None, st.none() | st.tuples(st.integers(), st.text())),
    (Point, st.builds(Point, st.integers(), st.text())),
    (Color, st.sampled_from(Color)),
]


@pytest.mark.parametrize(("tp", "values"), WRITTEN, ids=[str(tp) for tp, _ in WRITTEN])
def test_what_pydantic_writes_matches(tp: Any, values: st.SearchStrategy[Any]) -> None:
    typed = schema_of_type(tp)
    validator = jsonschema.Draft202012Validator(typed.json_schema)

    @effort(50)
    @given(values)
    def check(value: Any) -> None:
        text = typed.adapter.dump_json(value).decode()
        assert validator.is_valid(json.loads(text)), text
        assert typed.parse(text) == value

    check()


# Each pattern stays within what pydantic reads.
SPELLED: list[tuple[Any, str]] = [
    (dt.date, spellings.DATE),
    (dt.time, spellings.time_pattern(None)),
    (dt.datetime, spellings.datetime_pattern(None)),
    (AwareDatetime, spellings.datetime_pattern("aware")),
    (dt.timedelta, spellings.DURATION),
    (Decimal, spellings.DECIMAL),
    (Cents, spellings.decimal_pattern(5, 2)),
    (Annotated[Decimal, Field(max_digits=4)], spellings.decimal_pattern(4, None)),
    (Annotated[Decimal, Field(decimal_places=3)], spellings.decimal_pattern(None, 3)),
    (Fraction, spellings.FRACTION),
    (complex, spellings.COMPLEX),
    (float, spellings.FLOAT),
    (ipaddress.IPv4Interface, spellings.IPV4_INTERFACE),
    (HttpUrl, spellings.url_pattern(["http", "https"])),
    (AnyUrl, spellings.url_pattern(None)),
    (UUID4, schema_of_type(UUID4).json_schema["pattern"]),
]


@pytest.mark.parametrize(("tp", "pattern"), SPELLED, ids=[str(tp) for tp, _ in SPELLED])
def test_what_a_pattern_spells_is_read_by_pydantic(tp: Any, pattern: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(tp)

    @effort(30)
    @given(st.from_regex(pattern.removesuffix("$") + r"\Z"))
    def check(text: str) -> None:
        adapter.validate_json(json.dumps(text))

    check()


@pytest.mark.parametrize("encoding", ["base64", "hex"])
def test_encoded_bytes_are_read_back(encoding: Literal["base64", "hex"]) -> None:
    class Blob(BaseModel):
        model_config = ConfigDict(val_json_bytes=encoding, ser_json_bytes=encoding)
        data: bytes

    typed = schema_of_type(Blob)
    pattern = typed.json_schema["properties"]["data"]["pattern"]

    @effort(30)
    @given(st.binary(), st.from_regex(pattern.removesuffix("$") + r"\Z"))
    def check(data: bytes, text: str) -> None:
        assert matches(Blob, Blob(data=data).model_dump_json())
        typed.parse(json.dumps({"data": text}))

    check()


@given(
    st.none() | st.integers(-1200, 1200),
    st.none() | st.integers(-1200, 1200),
    st.integers(-3000, 3000),
)
def test_an_integer_range_pattern_is_the_range(low: int | None, high: int | None, x: int) -> None:
    pattern = integers(low, high)
    inside = (low is None or low <= x) and (high is None or x <= high)
    assert bool(pattern and re.fullmatch(pattern, str(x))) == inside


# ---------------------------------------------------------------------- errors


class Opaque:
    pass


class Line(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    price: Opaque


class Order(BaseModel):
    lines: list[Line]


class Callback(BaseModel):
    on_done: Callable[[], None]


class FromPath(BaseModel):
    first: str = Field(validation_alias=AliasPath("names", 0))


REFUSED: list[tuple[Any, type[GrammarError], str]] = [
    (Callback, GrammarError, "Callback.on_done"),
    (Order, GrammarError, "Order.lines[].price"),
    (Opaque, GrammarError, "Opaque"),
    (FromPath, GrammarError, "AliasChoices"),
    (dict[tuple[int, int], int], GrammarError, "key"),
    (type[int], GrammarError, "class object"),
    (pydantic.Json[int], GrammarError, "JSON string"),
    (Literal[b"x"], GrammarError, "none of the members"),
    (PastDate, UnsupportedSchemaError, "past or future"),
    (Annotated[dt.timedelta, Field(gt=dt.timedelta(1))], UnsupportedSchemaError, "gt"),
    (
        Annotated[dt.date, Field(gt=dt.date(2024, 1, 1), lt=dt.date(2024, 1, 2))],
        UnsatisfiableError,
        "no date",
    ),
]


@pytest.mark.parametrize(
    ("tp", "error", "says"), REFUSED, ids=[f"{tp!s:.40}" for tp, *_ in REFUSED]
)
def test_what_cannot_be_described_is_refused(tp: Any, error: type[GrammarError], says: str) -> None:
    with pytest.raises(error, match=re.escape(says)):
        schema_of_type(tp)


def test_validator_functions_are_listed_because_the_grammar_cannot_know_them() -> None:
    class Even(BaseModel):
        n: int

        @pydantic.field_validator("n")
        @classmethod
        def even(cls, n: int) -> int:
            assert n % 2 == 0
            return n

    (noted,) = schema_of_type(Even).validators
    assert noted.startswith("Even.n: ")
    assert noted.endswith("even")


def test_the_shared_cases(data_dir: Path) -> None:
    imports = (
        "from typing import *\nfrom enum import *\nfrom decimal import Decimal\n"
        "import datetime\nfrom datetime import *\nfrom uuid import UUID\n"
        "from dataclasses import dataclass\nfrom pydantic import *\n"
    )
    lines = (data_dir / "cases" / "cases.jsonl").read_text("utf-8").splitlines()
    cases = [case for line in lines if (case := json.loads(line))["kind"] == "python"]
    assert cases
    for case in cases:
        names: dict[str, Any] = {}
        source = compile(imports + case["python"], case["id"], "exec", dont_inherit=True)
        exec(source, names)
        wrong = [t for t in case["accept"] if not matches(names["T"], t)]
        wrong += [t for t in case["reject"] if matches(names["T"], t)]
        assert (case["id"], wrong) == (case["id"], [])
