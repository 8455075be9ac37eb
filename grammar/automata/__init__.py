"""Finite automata over characters: what every regular part of a grammar becomes.

:mod:`.dfa` holds the value type and its algebra; the other modules are its steps:

========== ==========================================================================
table      the arrays that the steps pass on
language   the pipeline: tree -> canonical table
thompson   tree -> flat program -> NFA, repeats unrolled
alphabet   code points -> the few classes that a tree tells apart
neighbours anchors, word boundaries and other conditions on one character
subset     NFA -> DFA
lookaround trees that look at more than one character -> DFA, exactly
minimal    DFA -> the canonical DFA of its language
product    two DFAs -> one (intersection, union, difference), and probes of them
acyclic    list of strings -> minimal DFA
========== ==========================================================================
"""
