"""Maskwright taking the properties of objects in any order, as validators do."""

from __future__ import annotations

from functools import partial

import engine_maskwright

from maskwright.grammar.json_schema import JsonOptions

__all__ = ["build"]

build = partial(engine_maskwright.build, options=JsonOptions(property_order="any"))
