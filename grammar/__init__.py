"""Front ends: everything a user can write, turned into the IR of :mod:`maskwright.grammar.ir`.

Nothing here knows of tokens, vocabularies or models.
"""
