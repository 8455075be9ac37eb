"""pydantic's core schema -> JSON Schema, with what the stock generator loses put back.

A subclass of ``GenerateJsonSchema`` overrides the methods whose stock result accepts texts that
pydantic then rejects, or nothing at all:

* classes: undeclared fields are not generated unless the class says ``extra="allow"``;
* tagged unions: the tag is required even where the field has a default, because pydantic picks
  the member by it; ``anyOf`` then says what ``oneOf`` says;
* dicts: key types (see ``mapping_keys``);
* sets: pydantic merges duplicates, so ``uniqueItems`` is only needed (and only emitted) where
  merging could leave too few;
* enums and literals: members that JSON cannot write (bytes, tuples as keys) are left out;
* dates, times, durations, Decimal, bytes, UUID versions, URLs, IP networks: exact patterns.

What cannot be said is an error that names the field, never a silently wider schema. Two things
are left to the final validation by pydantic: functions (``field_validator`` and the like, listed
in :attr:`TypeSchemaGenerator.validators`) and the finer points of regex dialects (``pattern`` is
read as ECMA-262, pydantic's own engine differs for ``\\d`` or ``\\w`` beyond ASCII).
"""

from __future__ import annotations

import datetime
import json
import re
from decimal import Decimal
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import SchemaValidator, ValidationError

from ...errors import GrammarError, UnsatisfiableError, UnsupportedSchemaError
from . import spellings
from .mapping_keys import key_schema, object_of_keys

__all__ = ["TypeSchemaGenerator"]

_BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_FUNCTIONS = frozenset(("function-before", "function-after", "function-wrap", "function-plain"))
_STEPS = {"list": "[]", "set": "[]", "frozenset": "[]", "deque": "[]", "dict": "{}", "tuple": "[]"}

# A network of one address is written as the address, which is the one spelling whose host bits
# are certainly zero.
_FORMATS: dict[str, dict[str, str]] = {
    "ipv4network": {"format": "ipv4"},
    "ipv6network": {"format": "ipv6"},
    "ipv4interface": {"pattern": spellings.IPV4_INTERFACE},
    "ipv6interface": {"format": "ipv6"},
}

_MOST_SPLITS = 20
"""Positions of the decimal point spelled out for a number with only ``max_digits``."""


class TypeSchemaGenerator(GenerateJsonSchema):
    """One pass over one type.

    Attributes:
        validators: ``"path: name"`` of each function that only runs on the finished value.
    """

    ignored_warning_kinds = {  # noqa: RUF012 (the base class declares it so)
        "skipped-choice",
        "non-serializable-default",
        "skipped-discriminator",
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.validators: list[str] = []
        self._stack: list[Any] = []
        self._by_ref: dict[str, Any] = {}

    # ------------------------------------------------------------------ where, and errors

    def path(self) -> str:
        """The field being generated, e.g. ``"Order.lines[].price"``."""
        path = ""
        for parent, child in zip(self._stack, [*self._stack[1:], None], strict=True):
            kind = parent["type"]
            if kind in ("model", "dataclass", "typed-dict", "named-tuple"):
                name = getattr(parent.get("cls"), "__name__", "")
                path = path or name
            path += _STEPS.get(kind, "")
            fields = parent.get("fields")
            if isinstance(fields, dict):
                path += "".join(f".{name}" for name, field in fields.items() if field is child)
            elif isinstance(fields, list):
                path += "".join(
                    f".{field['name']}"
                    for field in fields
                    if isinstance(field, dict) and child in (field, field["schema"])
                )
        return path.lstrip(".") or "the type itself"

    def refuse(self, reason: str) -> GrammarError:
        return GrammarError(reason, pointer=self.path())

    def _unenforceable(self, keyword: str, what: str) -> UnsupportedSchemaError:
        return UnsupportedSchemaError(
            f"{keyword} of a {what} is not enforced; check it in a validator function, which "
            "runs on the finished value",
            keyword=keyword,
            pointer=self.path(),
        )

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> Any:
        raise self.refuse(
            f"no JSON text can be described for {error_info.removeprefix('core_schema.')}; "
            "use a type that JSON can hold, or annotate it with WithJsonSchema"
        )

    # ------------------------------------------------------------------ the walk

    def generate_inner(self, schema: Any) -> dict[str, Any]:
        self._stack.append(schema)
        try:
            if "ref" in schema:
                self._by_ref[schema["ref"]] = schema
            if schema["type"] in _FUNCTIONS:
                self._note_function(schema)
            made: dict[str, Any] = super().generate_inner(schema)
            replacement = _FORMATS.get(made.get("format", ""))
            if replacement is not None and made.get("type") == "string":
                made = {k: v for k, v in made.items() if k != "format"} | replacement
            return made
        finally:
            self._stack.pop()

    def _note_function(self, schema: Any) -> None:
        function = schema["function"]["function"]
        module = getattr(function, "__module__", None) or ""
        if module.partition(".")[0] not in ("pydantic", "pydantic_core"):
            name = getattr(function, "__qualname__", repr(function))
            self.validators.append(f"{self.path()}: {name}")

    def definitions_schema(self, schema: Any) -> dict[str, Any]:
        for definition in schema["definitions"]:
            self._by_ref[definition["ref"]] = definition
        return super().definitions_schema(schema)

    def definition(self, ref: str) -> Any:
        return self._by_ref[ref]

    def sort(self, value: Any, parent_key: str | None = None) -> Any:
        """Keep the order in which things were declared: it is the order they are generated in."""
        return value

    # ------------------------------------------------------------------ classes

    def model_schema(self, schema: Any) -> dict[str, Any]:
        made = super().model_schema(schema)
        return made if schema.get("root_model") else _closed(made)

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        return _closed(super().dataclass_schema(schema))

    def typed_dict_schema(self, schema: Any) -> dict[str, Any]:
        return _closed(super().typed_dict_schema(schema))

    def field_is_present(self, field: Any) -> bool:
        if field.get("init") is False:
            return False
        alias = field.get("validation_alias")
        if isinstance(alias, list) and not any(
            isinstance(path, list) and len(path) == 1 and isinstance(path[0], str) for path in alias
        ):
            raise self.refuse(
                "an alias that is a path into other fields has no place of its own in the text; "
                "add a plain alias with AliasChoices"
            )
        return bool(super().field_is_present(field))

    def tagged_union_schema(self, schema: Any) -> dict[str, Any]:
        made = super().tagged_union_schema(schema)
        options = made.pop("oneOf")
        tag = made.pop("discriminator", {}).get("propertyName")
        if tag is not None:
            options = [
                {**option, "required": list(dict.fromkeys([*option.get("required", ()), tag]))}
                for option in options
            ]
        return {**made, "anyOf": options}

    # ------------------------------------------------------------------ containers

    def set_schema(self, schema: Any) -> dict[str, Any]:
        return _merging(super().set_schema(schema))

    def frozenset_schema(self, schema: Any) -> dict[str, Any]:
        return _merging(super().frozenset_schema(schema))

    def tuple_schema(self, schema: Any) -> dict[str, Any]:
        variadic = schema.get("variadic_item_index")
        if variadic is not None and variadic + 1 != len(schema["items_schema"]):
            raise self.refuse("items after the repeated ones of a tuple cannot be described")
        return super().tuple_schema(schema)

    def dict_schema(self, schema: Any) -> dict[str, Any]:
        values: dict[str, Any] | bool = True
        if "values_schema" in schema:
            values = dict(self.generate_inner(schema["values_schema"])) or True
        names = key_schema(self, schema["keys_schema"]) if "keys_schema" in schema else {}
        made = object_of_keys(names, values)
        self.update_with_validations(made, schema, self.ValidationsMapping.object)
        return made

    frozendict_schema = dict_schema
    ordered_dict_schema = dict_schema

    def counter_schema(self, schema: Any) -> dict[str, Any]:
        return self.dict_schema({"values_schema": {"type": "int"}, **schema})

    # ------------------------------------------------------------------ finite sets of values

    def literal_schema(self, schema: Any) -> dict[str, Any]:
        return self._readable(super().literal_schema(schema), schema)

    def enum_schema(self, schema: Any) -> dict[str, Any]:
        return self._readable(super().enum_schema(schema), schema)

    def _readable(self, made: dict[str, Any], schema: Any) -> dict[str, Any]:
        """Leave out the members whose JSON text pydantic does not read back."""
        bare = {key: value for key, value in schema.items() if key != "ref"}
        validator = SchemaValidator(bare)
        members = []
        for value in made["enum"] if "enum" in made else [made["const"]]:
            try:
                validator.validate_json(json.dumps(value))
            except ValidationError:
                continue
            members.append(value)
        if not members:
            raise self.refuse("none of the members can be written in JSON")
        if "const" not in made:
            made["enum"] = members
        return made

    # ------------------------------------------------------------------ numbers

    def decimal_schema(self, schema: Any) -> dict[str, Any]:
        """A number, or a string that spells one.

        Bounds and multiples are only expressible for the number; a Decimal with any of them is
        therefore written as a number.
        """
        bounds = {
            word: _plain(schema[key])
            for key, word in _BOUNDS.items()
            if schema.get(key) is not None
        }
        digits, places = schema.get("max_digits"), schema.get("decimal_places")
        number: dict[str, Any] = {"type": "number", **bounds}
        if digits is not None and places is None:
            if digits <= _MOST_SPLITS:
                number["anyOf"] = [_positional(digits - n, n) for n in range(digits + 1)]
            elif bounds:
                raise self._unenforceable("max_digits", "bounded Decimal")
            else:
                return {"type": "string", "pattern": spellings.decimal_pattern(digits, None)}
        elif places is not None:
            whole = None if digits is None else max(digits - places, 0)
            number["allOf"] = [_positional(whole, places)]
        if bounds:
            return number
        free = digits is None and places is None
        text = spellings.DECIMAL if free else spellings.decimal_pattern(digits, places)
        return {"anyOf": [number, {"type": "string", "pattern": text}]}

    def fraction_schema(self, schema: Any) -> dict[str, Any]:
        bounds = {
            word: _plain(schema[key])
            for key, word in _BOUNDS.items()
            if schema.get(key) is not None
        }
        number = {"type": "number", **bounds}
        if bounds:
            return number
        return {"anyOf": [number, {"type": "string", "pattern": spellings.FRACTION}]}

    def complex_schema(self, schema: Any) -> dict[str, Any]:
        return {"anyOf": [{"type": "number"}, {"type": "string", "pattern": spellings.COMPLEX}]}

    # ------------------------------------------------------------------ strings

    def str_schema(self, schema: Any) -> dict[str, Any]:
        made = super().str_schema(schema)
        pattern = schema.get("pattern")
        if isinstance(pattern, re.Pattern):
            made["pattern"] = self._with_flags(pattern)
        strips = schema.get("strip_whitespace")
        if strips is None:
            strips = self._config.str_strip_whitespace
        if strips and (made.get("minLength") or "pattern" in made):
            # Lengths and patterns hold for the stripped text: where nothing is stripped, they
            # hold for the text itself.
            made["allOf"] = [{"pattern": spellings.NO_OUTER_BLANKS}]
        return made

    def _with_flags(self, pattern: re.Pattern[Any]) -> str:
        text = pattern.pattern
        if not isinstance(text, str):
            raise self.refuse("a bytes pattern cannot describe a JSON string")
        known = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s"}
        letters = "".join(letter for flag, letter in known.items() if pattern.flags & flag)
        if pattern.flags & re.VERBOSE:
            raise self._unenforceable("re.VERBOSE", "pattern")
        return f"(?{letters}:{text})" if letters else text

    def bytes_schema(self, schema: Any) -> dict[str, Any]:
        least, most = schema.get("min_length") or 0, schema.get("max_length")
        encoding = self._config.val_json_bytes
        if encoding == "hex":
            return {"type": "string", "pattern": spellings.base16(least, most)}
        if encoding == "base64":
            if least or most is not None:
                raise self._unenforceable("the length", "bytes value in base64")
            return {"type": "string", "pattern": spellings.BASE64}
        if least or most is not None:
            return {"type": "string", "pattern": spellings.ascii_text(least, most)}
        return {"type": "string"}

    def date_schema(self, schema: Any) -> dict[str, Any]:
        if schema.get("now_op"):
            raise self._unenforceable("past or future", "date")
        made: dict[str, Any] = {"type": "string", "pattern": spellings.DATE}
        day = datetime.timedelta(days=1)
        low, high = datetime.date.min, datetime.date.max
        try:
            low = max(low, schema.get("ge", low), schema["gt"] + day if "gt" in schema else low)
            high = min(high, schema.get("le", high), schema["lt"] - day if "lt" in schema else high)
        except OverflowError:
            low, high = high, low
        if low > high:
            raise UnsatisfiableError("no date is within these bounds", pointer=self.path())
        if (low, high) != (datetime.date.min, datetime.date.max):
            text = spellings.date_between(low.isoformat(), high.isoformat())
            made["allOf"] = [{"pattern": text}]
        return made

    def time_schema(self, schema: Any) -> dict[str, Any]:
        return {"type": "string", "pattern": spellings.time_pattern(self._zone(schema, "time"))}

    def datetime_schema(self, schema: Any) -> dict[str, Any]:
        pattern = spellings.datetime_pattern(self._zone(schema, "datetime"))
        return {"type": "string", "pattern": pattern}

    def timedelta_schema(self, schema: Any) -> dict[str, Any]:
        self._unbounded(schema, "timedelta")
        return {"type": "string", "pattern": spellings.DURATION}

    def _unbounded(self, schema: Any, what: str) -> None:
        for key in ("ge", "gt", "le", "lt", "now_op"):
            if schema.get(key) is not None:
                raise self._unenforceable(key, what)

    def _zone(self, schema: Any, what: str) -> str | None:
        self._unbounded(schema, what)
        zone = schema.get("tz_constraint")
        if zone not in (None, "aware", "naive"):
            raise self._unenforceable("tz_constraint", what)
        return str(zone) if zone else None

    def uuid_schema(self, schema: Any) -> dict[str, Any]:
        version = schema.get("version")
        if version is None:
            return {"type": "string", "format": "uuid"}
        h = "[0-9A-Fa-f]"
        pattern = f"^{h}{{8}}-{h}{{4}}-{version}{h}{{3}}-[89ABab]{h}{{3}}-{h}{{12}}$"
        return {"type": "string", "pattern": pattern}

    def url_schema(self, schema: Any) -> dict[str, Any]:
        made = {"type": "string", "pattern": spellings.url_pattern(schema.get("allowed_schemes"))}
        if schema.get("max_length") is not None:
            # A reader may add a final slash, which counts.
            made["maxLength"] = schema["max_length"] - 1
        return made

    multi_host_url_schema = url_schema

    def json_schema(self, schema: Any) -> dict[str, Any]:
        raise self.refuse(
            "JSON inside a JSON string (Json[...]) cannot be described; nest the type"
        )

    def is_subclass_schema(self, schema: Any) -> dict[str, Any]:
        refused: dict[str, Any] = self.handle_invalid_for_json_schema(schema, "a class object")
        return refused


def _closed(made: dict[str, Any]) -> dict[str, Any]:
    if made.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


def _merging(made: dict[str, Any]) -> dict[str, Any]:
    if made.get("minItems", 0) < 2:
        made.pop("uniqueItems", None)
    return made


def _plain(value: Any) -> int | float:
    """A bound as JSON writes it."""
    exact = value if isinstance(value, Decimal) else Decimal(str(value))
    return int(exact) if exact == exact.to_integral_value() else float(exact)


def _positional(whole: int | None, places: int) -> dict[str, Any]:
    """Numbers with so many digits before the point and after it."""
    made: dict[str, Any] = {"multipleOf": float(f"1e-{places}") if places else 1}
    if whole is not None:
        made |= {"exclusiveMinimum": -(10**whole), "exclusiveMaximum": 10**whole}
    return made
