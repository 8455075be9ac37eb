"""JSON Schema to grammar IR.

Modules, in the order data flows through them:

=============== ========================================================================
options         how values are written: whitespace, digits, formats, what is relaxed
dialects        the drafts and their keywords
sites           subschemas in place, references
scan            the eager check of every reachable keyword
quick_check     the same for schemas that plainly pass it, without sites
scalars         sets of strings and numbers, symbolically
numbers         sets of numbers and the automata of their spellings
formats         the automata of the formats
languages       names of regular languages -> automata, cached
nodes           canonical forms: per type a union of nodes over terms
terms           interned conjunctions of subschemas
algebra         intersection, union, complement of canonical forms
values          JSON values in a canonical form
exclusion       everything but listed values -> canonical form
subsumption     dropping alternatives that lie within others
evaluation      what ``unevaluatedProperties`` and ``unevaluatedItems`` see
keywords        one subschema's keywords -> canonical form
quick_look      is a subschema plainly inhabited?
questions       questions that depend on each other, on one explicit stack
distinct        are enough different items left?
key_pieces      the keys of an object, by the subschemas that they are subject to
array_items     which items may come next in an array that counts
inhabitants     which canonical forms hold a value
normalize       subschemas -> canonical forms; which of them hold a value
whitespace      punctuation with its blanks
plain_rules     plain objects and arrays -> rules, without a canonical form
undeclared_keys the undeclared keys of an object, as a partition
object_rules    objects -> rules
array_rules     arrays -> rules
rules           canonical forms -> rules
grammar         the lazily computed grammar
advice          typos, keywords without effect, keywords that are ignored
support         the support report of a schema
=============== ========================================================================
"""

from __future__ import annotations

from .grammar import JsonSchemaGrammar
from .numbers import DigitBounds
from .options import JsonOptions
from .support import check_schema

__all__ = ["DigitBounds", "JsonOptions", "JsonSchemaGrammar", "check_schema"]
