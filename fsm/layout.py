"""Slots, kinds and codes shared by the engine's kernels and the Python that owns its arrays.

Four control blocks (see :mod:`.memory`), each an int64 array of addresses and counters:

* the *FSM block* (``C_*``), one a grammar: network, continuations, configurations, masks;
* the *store block* (``S_*``), one a compiler: the byte automata of all lexemes;
* the *vocabulary block* (``V_*``), one a compiler: tokens and their tries;
* the *scratch block* (``X_*``), one a compiler: buffers that no result lives in.

Numba freezes these module constants into the kernels.
"""

from __future__ import annotations

from typing import Final

# --- FSM block -----------------------------------------------------------------------------
C_STORE: Final = 0  # address of the store block
C_VOCABULARY: Final = 1  # address of the vocabulary block
C_SCRATCH: Final = 2  # address of the scratch block
C_SIGNAL: Final = 3  # argument of the last negative result

# Network: positions of expanded rules and their edges.
C_EDGE_START: Final = 4  # int32[position]: first edge
C_EDGE_COUNT: Final = 5  # int32[position]
C_FINAL: Final = 6  # uint8[position]: the rule may end here (bit 0); it must (bit 1)
C_EDGE_KIND: Final = 7  # uint8[edge]
C_EDGE_ARGUMENT: Final = 8  # int32[edge]: lexeme start state, rule id
C_EDGE_TARGET: Final = 9  # int32[edge]: position
C_EDGE_COUNTER: Final = 10  # int64[edge]: initial counter of a lexeme
C_RULE_START: Final = 11  # int32[rule]: position, or -1 while unexpanded

# Continuations: hash-consed (position, parent) pairs. 0 is the end of the text.
C_CONT_POSITION: Final = 12  # int32[continuation]
C_CONT_PARENT: Final = 13  # int32[continuation]
C_CONT_DEPTH: Final = 14  # int32[continuation]
C_CONT_CLOSURE: Final = 15  # int32[continuation]: configuration, 0 = unknown
C_CONT_TABLE: Final = 16  # int32[2^k]: open addressing, 0 = empty
C_CONT_MASK: Final = 17  # 2^k - 1
C_CONT_COUNT: Final = 18
C_CONT_CAPACITY: Final = 19

# Configurations: hash-consed sorted thread sets.
C_CONFIG_START: Final = 20  # int32[configuration]: first thread in the pool
C_CONFIG_SIZE: Final = 21  # int32[configuration]: number of threads
C_CONFIG_TABLE: Final = 22  # int32[2^k]
C_CONFIG_MASK: Final = 23
C_CONFIG_COUNT: Final = 24
C_CONFIG_CAPACITY: Final = 25
C_THREAD_KEY: Final = 26  # int64[pool]: state << 32 | continuation
C_THREAD_COUNTER: Final = 27  # int64[pool]
C_THREAD_COUNT: Final = 28
C_THREAD_CAPACITY: Final = 29
C_NEXT: Final = 30  # int32[configuration * 256]: configuration, 0 = not computed

# Masks: per configuration one base row (or none) and a list of further token ids.
C_MASK_STATE: Final = 31  # uint8[configuration]: 1 = computed
C_MASK_ROW: Final = 32  # int64[configuration]: address of the base row, 0 = none
C_MASK_START: Final = 33  # int32[configuration]
C_MASK_SIZE: Final = 34  # int32[configuration]
C_MASK_IDS: Final = 35  # int32[pool]
C_MASK_ID_COUNT: Final = 36
C_MASK_ID_CAPACITY: Final = 37
C_ROW_NEXT: Final = 38  # address of the next unused owned row
C_ROW_LEFT: Final = 39  # number of unused owned rows

C_LIMIT_CONFIGS: Final = 40
C_LIMIT_THREADS: Final = 41
C_LIMIT_DEPTH: Final = 42
C_LIVE_READY: Final = 43  # uint8[configuration]: LIVE_* if its live bytes are known, else 0
C_LIVE: Final = 44  # int64[configuration * 4]: 256 bits, bytes that may have a transition
C_SLOTS: Final = 45

# --- store block ---------------------------------------------------------------------------
S_CODE: Final = 0  # int64[state]: kind, flags, class map and argument, see CODE_*
S_ROW: Final = 1  # int64[state]: address of the row of inside tokens, 0 = not computed
S_LIVE: Final = 2  # int64[state * 4]: 256 bits, bytes that may have a transition
S_TRANSITIONS: Final = 3  # int32[pool]
S_CLASS_MAPS: Final = 4  # uint8[maps * 256]
S_OVERRIDES: Final = 5  # int32[pool]: base state, n, then n pairs (byte, target)
S_SLOTS: Final = 6

# --- vocabulary block ----------------------------------------------------------------------
V_BLOB: Final = 0  # uint8[...]
V_OFFSETS: Final = 1  # int64[size + 1]
V_SIZE: Final = 2
V_WORDS: Final = 3  # words of a mask row
V_EOS: Final = 4  # int32[n]
V_EOS_COUNT: Final = 5
V_COUNTER_ROWS: Final = 6  # int64[max_characters + 2]: rows of "at most r characters"
V_MAX_CHARACTERS: Final = 7
V_SUFFIX_LENGTHS: Final = 8  # int32[p]: characters before the closing quote, see tables
V_TRIE: Final = 10  # first slot of the first trie; a trie takes T_SLOTS slots
V_SLOTS: Final = 22

T_BYTE: Final = 0  # uint8[n]
# int32[2 * (n + 1)]: of node i, number 2 * i is its first child and 2 * i + 1 the first of the
# tokens that end there, as a place in the next array; both go on until those of node i + 1.
T_NODES: Final = 1
T_TOKENS: Final = 2  # int32[m]; tokens without bytes come before those of node 0
T_ROOTS: Final = 3  # number of nodes of depth 1, which are the first ones
T_SLOTS: Final = 4

TRIE_ALL: Final = V_TRIE  # every text token
TRIE_QUOTE: Final = V_TRIE + T_SLOTS  # text tokens that contain a quote
TRIE_SUFFIX: Final = V_TRIE + 2 * T_SLOTS  # what follows the closing quote, see tables

# --- scratch block -------------------------------------------------------------------------
X_STEP_KEY: Final = 0  # int64[capacity]
X_STEP_COUNTER: Final = 1
X_CLOSE_KEY: Final = 2
X_CLOSE_COUNTER: Final = 3
X_STACK: Final = 4  # int64[capacity]
X_VISITED: Final = 5  # int64[2^k]: position << 32 | continuation, stamped
X_STAMPS: Final = 6  # int64[2^k]
X_STAMP: Final = 7
X_VISITED_MASK: Final = 8
X_CAPACITY: Final = 9
X_WALK_NODE: Final = 10  # int32[nodes]: stack of nodes whose children are still to be visited
X_WALK_CONFIG: Final = 11  # int32[nodes]: where they lead: a configuration, or a state, negated
X_WALK_CONTINUATION: Final = 12  # int32[nodes]: … and that state's continuation
X_IDS: Final = 13  # int32[5 * size + …]
X_JOIN: Final = 14  # int64[capacity]: continuations being joined
X_CALLS: Final = 15  # int64[2^k], beside X_VISITED: see _plain_closure
X_QUEUE: Final = 16  # int64[capacity]
X_SLOTS: Final = 17

# --- state codes ---------------------------------------------------------------------------
# All that a step needs to know of a state is one integer, so that it costs one cache miss.
CODE_KIND: Final = 7  # bits 0 .. 2, KIND_*
CODE_CLASSES: Final = 8  # shift; bits 8 .. 31: number of the byte class map
CODE_CLASSES_MASK: Final = 0xFFFFFF
CODE_ARGUMENT: Final = 32  # shift; bits 32 .. 63: byte, row offset or override offset

KIND_NONE: Final = 0  # no transitions
KIND_BYTE: Final = 1  # one byte, to the next state
KIND_LAST_BYTE: Final = 2  # one byte, to STATE_END
KIND_CLASSED: Final = 3  # a row over byte classes
KIND_COUNTED: Final = 4  # the same at a character boundary of a counted string
KIND_OVERRIDE: Final = 5  # another state's row with a few bytes changed

FLAG_ACCEPTING: Final = 8  # the lexeme may end here
FLAG_FINAL: Final = 16  # … and must: there are no transitions
FLAG_WIDE: Final = 32  # character boundary inside a JSON string: has a row of inside tokens
FLAG_UNIVERSAL: Final = 64  # … where any character may follow and the string may close
FLAG_BOUNDARY: Final = 128  # character boundary inside a JSON string, wide or not
FLAGS: Final = FLAG_ACCEPTING | FLAG_FINAL | FLAG_WIDE | FLAG_UNIVERSAL | FLAG_BOUNDARY

STATE_DEAD: Final = 0
STATE_END: Final = 1  # accepting and final, shared by all lexemes that end by a fixed byte
STATE_BARRIER: Final = 2  # no byte leads on; the counter says which ir.Captured it is

EDGE_EPSILON: Final = 0
EDGE_LEXEME: Final = 1
EDGE_CALL: Final = 2

POSITION_FINAL: Final = 1
POSITION_TAIL: Final = 2  # final and without edges: nothing to come back to

CONFIG_UNKNOWN: Final = 0
CONFIG_DEAD: Final = 1
CONFIG_END: Final = 2

LIVE_EXACT: Final = 1  # every live byte has a transition
LIVE_ROUGH: Final = 2  # … may have one

CONTINUATION_END: Final = 0
CONTINUATION_START: Final = 1

COUNT_UNBOUNDED: Final = 0xFFFFFFFF
NO_COUNTER: Final = 0

# --- results -------------------------------------------------------------------------------
SIGNAL_GROW: Final = -1  # argument: GROW_*
SIGNAL_RULE: Final = -2  # argument: rule to expand
SIGNAL_ROW: Final = -3  # argument: state whose row of inside tokens is needed
SIGNAL_COUNTER_ROW: Final = -4  # argument: number of characters
SIGNAL_OWNED_ROW: Final = -5
SIGNAL_LIMIT: Final = -6  # argument: LIMIT_*
SIGNAL_STUCK: Final = -7  # argument: configuration that no token continues

GROW_CONTINUATIONS: Final = 0
GROW_CONFIGS: Final = 1
GROW_THREADS: Final = 2
GROW_IDS: Final = 3
GROW_SCRATCH: Final = 4

LIMIT_CONFIGS: Final = 0
LIMIT_THREADS: Final = 1
LIMIT_DEPTH: Final = 2

# --- operations of the engine --------------------------------------------------------------
OP_START: Final = 0  # -> the start configuration
OP_ACCEPT: Final = 1  # configuration, token -> configuration
OP_FILL: Final = 2  # configuration, address of a row
OP_STEP: Final = 3  # configuration, byte -> configuration
OP_ACCEPTING: Final = 4  # configuration -> 0 or 1
OP_FILL_MANY: Final = 5  # address of (fsm block, configuration, row) triples, count
OP_MASK: Final = 6  # configuration: compute its mask
OP_REHASH_CONFIGS: Final = 7
OP_REHASH_CONTINUATIONS: Final = 8
OP_ENTER: Final = 10  # position (or -1), continuation after its rule -> configuration
OP_UNION: Final = 11  # two configurations -> the one of all their threads
OP_FORCED: Final = 9  # configuration -> the only byte that may follow, or NOT_FORCED

NOT_FORCED: Final = 256

DENSE_IDS: Final = 640
"""A mask with more listed ids than this is stored as a row of its own."""
