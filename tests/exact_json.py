"""Reading a JSON text with its numbers exact.

``json.loads`` rounds ``1111111111111151111111111.111`` to a float that is an integer and
``1.0000000000000001`` to ``1.0``; a validator that is given those floats judges another text than
the one that was generated. Here a number with an integral value is an ``int`` and any other one a
``Decimal``, which ``jsonschema`` compares and types as the specification says.
"""

import json
from decimal import Decimal
from typing import Any


def exact_loads(text: str) -> Any:
    return json.loads(text, parse_float=_number)


def _number(spelling: str) -> int | Decimal:
    value = Decimal(spelling)
    return int(value) if value == value.to_integral_value() else value
