"""Python types -> JSON Schema that means what the type's author expects.

:func:`schema_of_type` asks pydantic for the schema of anything a ``TypeAdapter`` takes and
puts back what the stock schema loses. Two properties hold, and tests check both on samples:

* *sound*: a text that matches the schema is one that pydantic reads (validator functions, which
  are opaque, aside);
* *wide enough*: what pydantic itself writes for a value of the type (``dump_json``) matches.

``generator`` turns pydantic's core schema into JSON Schema, ``mapping_keys`` the key types of
dicts, ``spellings`` holds the regular languages of scalars that JSON has no type for, and
``digit_ranges`` patterns for "between these two numbers".
"""

from __future__ import annotations

from .schema import TypeSchema, schema_of_type

__all__ = ["TypeSchema", "schema_of_type"]
