"""A Python type as a JSON Schema for the grammar and a pydantic adapter for the value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic_core import SchemaError

from ...errors import GrammarError
from .generator import TypeSchemaGenerator

__all__ = ["TypeSchema", "schema_of_type"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class TypeSchema(Generic[T]):
    """What a Python type says about JSON texts.

    Attributes:
        type: the type as given.
        json_schema: a 2020-12 schema; every text that matches it is read by the adapter, unless
            one of ``validators`` objects.
        adapter: reads (and validates) the finished text.
        validators: ``"path: name"`` of the functions that the grammar cannot know.
    """

    type: Any
    json_schema: dict[str, Any]
    adapter: TypeAdapter[T]
    validators: tuple[str, ...] = ()

    def parse(self, text: str | bytes) -> T:
        """The value that a finished text spells. Raises ``pydantic.ValidationError``."""
        return self.adapter.validate_json(text)


def schema_of_type(tp: Any) -> TypeSchema[Any]:
    """The schema of a Pydantic model, dataclass, TypedDict, Enum, ``list[...]``, ``Literal`` …

    Args:
        tp: anything that ``pydantic.TypeAdapter`` takes, or such an adapter.

    Raises:
        GrammarError: the type has no JSON form; the message names the field.
        UnsupportedSchemaError: a constraint on it cannot be enforced.

    >>> schema_of_type(tuple[int, bool]).json_schema["prefixItems"]
    [{'type': 'integer'}, {'type': 'boolean'}]
    """
    generators: list[TypeSchemaGenerator] = []

    class Generator(TypeSchemaGenerator):
        """Keeps the one instance that pydantic makes, to read its findings."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            generators.append(self)

    try:
        adapter: TypeAdapter[Any] = tp if isinstance(tp, TypeAdapter) else TypeAdapter(tp)
        json_schema = adapter.json_schema(schema_generator=Generator)
    except (PydanticUserError, SchemaError, NameError) as error:
        # Among them: classes pydantic knows nothing about, and names that are not defined yet.
        name = getattr(tp, "__name__", repr(tp))
        raise GrammarError(f"pydantic cannot describe {name}: {error}") from error
    validators = tuple(generators[-1].validators) if generators else ()
    return TypeSchema(tp, json_schema, adapter, validators)
