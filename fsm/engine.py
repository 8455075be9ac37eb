"""The engine: byte steps, closures, masks. One compiled function, called with an operation.

**Configurations.** A *thread* is ``(state, continuation, counter)``: a byte automaton's state
inside a lexeme, what is to be parsed after the lexeme, and the characters a counted string
still needs and may have. A *configuration* is a sorted set of threads; it is interned, and its
number is a node of the token FSM. ``next[configuration, byte]`` is filled on first use.

**When a lexeme ends.** A thread that reaches a final state (nothing can extend the lexeme) is
replaced by the closure of its continuation. A thread in an accepting state that can go on
stays as it is and *implies* that closure: a step on a byte takes both. Keeping the closure out
of the set makes long runs of an extensible lexeme (digits, blanks) one thread each instead of
a copy of everything that may follow. Closures only hold lexeme starts, which never accept
(nullable lexemes are taken apart by the network), so implication is one level deep.

**Joined continuations.** Threads of one state that differ only in what follows are one thread,
whose continuation is the *join* of theirs: a list of continuations, any of which may be the one.
Members that return to the same position are one member with joined parents. So the stacks of an
ambiguous text are a graph (Tomita, 1985), and their number does not double with every level.

**Closures.** From ``(position, continuation)`` all lexeme edges reachable through epsilon
edges, calls and returns, found with an explicit stack. A call whose return position is a
*tail* (final, no edges) keeps the caller's continuation, so right recursion needs no stack. The
closure of a continuation is computed once.

**Masks.** The tokens allowed in a configuration are those whose bytes lead to a live one. Most
configurations are narrow: a walk over the vocabulary trie dies after a few bytes. Threads
*inside a JSON string* allow most of the vocabulary; for them the tokens that stay inside the
string are a row shared by all configurations (and grammars), and only tokens that contain a
quote are walked. A mask is one base row, possibly shared, and a list of further ids.

Every operation returns a non-negative result or a ``SIGNAL_*``: an array is full, a rule is
needed that has not been expanded, a limit is reached. Python then does what is asked and calls
again; everything already computed is kept, so repeating is cheap.

Rejected: one configuration for each accepting run (multiplies nodes by blanks), a union DFA of
lexemes (explodes), a token-edge table (a commit is a handful of byte steps anyway), recursion
(depth is up to the input).
"""

# Kernels are typed by numba, not by annotations.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, warn-return-any=False

from __future__ import annotations

from collections.abc import Callable

import numba

from ..jit import direct, helper, kernel, outlined
from .layout import (
    C_CONFIG_CAPACITY,
    C_CONFIG_COUNT,
    C_CONFIG_MASK,
    C_CONFIG_SIZE,
    C_CONFIG_START,
    C_CONFIG_TABLE,
    C_CONT_CAPACITY,
    C_CONT_CLOSURE,
    C_CONT_COUNT,
    C_CONT_DEPTH,
    C_CONT_MASK,
    C_CONT_PARENT,
    C_CONT_POSITION,
    C_CONT_TABLE,
    C_EDGE_ARGUMENT,
    C_EDGE_COUNT,
    C_EDGE_COUNTER,
    C_EDGE_KIND,
    C_EDGE_START,
    C_EDGE_TARGET,
    C_FINAL,
    C_LIMIT_CONFIGS,
    C_LIMIT_DEPTH,
    C_LIMIT_THREADS,
    C_LIVE,
    C_LIVE_READY,
    C_MASK_ID_CAPACITY,
    C_MASK_ID_COUNT,
    C_MASK_IDS,
    C_MASK_ROW,
    C_MASK_SIZE,
    C_MASK_START,
    C_MASK_STATE,
    C_NEXT,
    C_ROW_LEFT,
    C_ROW_NEXT,
    C_RULE_START,
    C_SCRATCH,
    C_SIGNAL,
    C_STORE,
    C_THREAD_CAPACITY,
    C_THREAD_COUNT,
    C_THREAD_COUNTER,
    C_THREAD_KEY,
    C_VOCABULARY,
    CODE_ARGUMENT,
    CODE_CLASSES,
    CODE_CLASSES_MASK,
    CODE_KIND,
    CONFIG_DEAD,
    CONFIG_END,
    CONFIG_UNKNOWN,
    CONTINUATION_END,
    CONTINUATION_START,
    COUNT_UNBOUNDED,
    DENSE_IDS,
    EDGE_EPSILON,
    EDGE_LEXEME,
    FLAG_ACCEPTING,
    FLAG_FINAL,
    FLAG_UNIVERSAL,
    FLAG_WIDE,
    GROW_CONFIGS,
    GROW_CONTINUATIONS,
    GROW_IDS,
    GROW_SCRATCH,
    GROW_THREADS,
    KIND_BYTE,
    KIND_CLASSED,
    KIND_COUNTED,
    KIND_LAST_BYTE,
    KIND_NONE,
    KIND_OVERRIDE,
    LIMIT_CONFIGS,
    LIMIT_DEPTH,
    LIMIT_THREADS,
    LIVE_EXACT,
    LIVE_ROUGH,
    NO_COUNTER,
    NOT_FORCED,
    OP_ACCEPT,
    OP_ACCEPTING,
    OP_ENTER,
    OP_FILL,
    OP_FILL_MANY,
    OP_FORCED,
    OP_MASK,
    OP_REHASH_CONFIGS,
    OP_REHASH_CONTINUATIONS,
    OP_START,
    OP_STEP,
    OP_UNION,
    POSITION_FINAL,
    POSITION_TAIL,
    S_CLASS_MAPS,
    S_CODE,
    S_LIVE,
    S_OVERRIDES,
    S_ROW,
    S_TRANSITIONS,
    SIGNAL_COUNTER_ROW,
    SIGNAL_GROW,
    SIGNAL_LIMIT,
    SIGNAL_OWNED_ROW,
    SIGNAL_ROW,
    SIGNAL_RULE,
    SIGNAL_STUCK,
    STATE_DEAD,
    STATE_END,
    T_BYTE,
    T_NODES,
    T_ROOTS,
    T_TOKENS,
    TRIE_ALL,
    TRIE_QUOTE,
    TRIE_SUFFIX,
    V_BLOB,
    V_COUNTER_ROWS,
    V_EOS,
    V_EOS_COUNT,
    V_MAX_CHARACTERS,
    V_OFFSETS,
    V_SIZE,
    V_SUFFIX_LENGTHS,
    V_WORDS,
    X_CALLS,
    X_CAPACITY,
    X_CLOSE_COUNTER,
    X_CLOSE_KEY,
    X_IDS,
    X_JOIN,
    X_QUEUE,
    X_STACK,
    X_STAMP,
    X_STAMPS,
    X_STEP_COUNTER,
    X_STEP_KEY,
    X_VISITED,
    X_VISITED_MASK,
    X_WALK_CONFIG,
    X_WALK_CONTINUATION,
    X_WALK_NODE,
)
from .memory import view_i32, view_i64, view_u8, view_u32

__all__ = ["engine", "write_mask"]


@helper("int64(int64[::1], int64, int64)")
def _signal(fsm, code, argument):
    fsm[C_SIGNAL] = argument
    return code


if numba.config.DISABLE_JIT:

    def _mix(key):
        # Python integers do not wrap around.
        key = int(key) & 0xFFFFFFFFFFFFFFFF
        key = ((key ^ (key >> 30)) * 0xBF58476D1CE4E5B9) & 0x7FFFFFFFFFFFFFFF
        return key ^ (key >> 27)

else:

    @helper("int64(int64)")
    def _mix(key):
        """Scramble 64 bits (the finalizer of splitmix64, with signed wrap-around)."""
        key ^= (key >> 30) & 0x3FFFFFFFF
        key *= -4658895280553007687
        key ^= (key >> 27) & 0x1FFFFFFFFF
        key *= -7723592293110705685
        key ^= (key >> 31) & 0x1FFFFFFFF
        return key


@helper("UniTuple(int64, 2)(int64[::1], int64, int64, int64)")
def _step_state(store, state, counter, byte):
    """One byte inside a lexeme -> (state, counter)."""
    codes = view_i64(store[S_CODE])
    code = codes[state]
    kind = code & CODE_KIND
    argument = code >> CODE_ARGUMENT
    if kind == KIND_BYTE:
        if argument == byte:
            return state + 1, counter
        return STATE_DEAD, counter
    if kind == KIND_LAST_BYTE:
        if argument == byte:
            return STATE_END, counter
        return STATE_DEAD, counter
    if kind == KIND_NONE:
        return STATE_DEAD, counter
    if kind == KIND_OVERRIDE:
        overrides = view_i32(store[S_OVERRIDES])
        count = overrides[argument + 1]
        for i in range(count):
            if overrides[argument + 2 + 2 * i] == byte:
                return overrides[argument + 3 + 2 * i], counter
        code = codes[overrides[argument]]
        kind = code & CODE_KIND
        argument = code >> CODE_ARGUMENT
    classes = view_u8(store[S_CLASS_MAPS])
    symbol = classes[((code >> CODE_CLASSES) & CODE_CLASSES_MASK) * 256 + byte]
    target = view_i32(store[S_TRANSITIONS])[argument + symbol]
    if kind == KIND_COUNTED and target != STATE_DEAD:
        needed = counter >> 32
        allowed = counter & COUNT_UNBOUNDED
        if target == STATE_END:
            if needed > 0:
                return STATE_DEAD, counter
            return STATE_END, NO_COUNTER
        if allowed == 0:
            return STATE_DEAD, counter
        if allowed != COUNT_UNBOUNDED:
            allowed -= 1
        if needed > 0:
            needed -= 1
        counter = (needed << 32) | allowed
    return target, counter


@helper("int64(int64[::1], int64, int64)")
def _intern_continuation(fsm, position, parent):
    """Number of ``(position, parent)``, or a signal.

    Of a join, the position is ``-1 -`` its first member, and the parent the join of the others.
    """
    outlined()
    positions = view_i32(fsm[C_CONT_POSITION])
    parents = view_i32(fsm[C_CONT_PARENT])
    table = view_i32(fsm[C_CONT_TABLE])
    mask = fsm[C_CONT_MASK]
    slot = _mix((position << 32) | parent) & mask
    while table[slot] != 0:
        found = table[slot]
        if positions[found] == position and parents[found] == parent:
            return found
        slot = (slot + 1) & mask
    count = fsm[C_CONT_COUNT]
    if count >= fsm[C_CONT_CAPACITY]:
        return _signal(fsm, SIGNAL_GROW, GROW_CONTINUATIONS)
    depths = view_i32(fsm[C_CONT_DEPTH])
    depth = depths[parent] + 1
    if position < 0:
        depth = max(depths[parent], depths[-1 - position])
    if depth > fsm[C_LIMIT_DEPTH]:
        return _signal(fsm, SIGNAL_LIMIT, LIMIT_DEPTH)
    positions[count] = position
    parents[count] = parent
    depths[count] = depth
    view_i32(fsm[C_CONT_CLOSURE])[count] = CONFIG_UNKNOWN
    table[slot] = count
    fsm[C_CONT_COUNT] = count + 1
    return count


@helper("int64(int64[::1], int64[::1], int64, int64)")
def _digest(keys, counters, start, size):
    """Hash of a sorted thread set."""
    digest = size
    for i in range(start, start + size):
        digest = _mix(digest ^ keys[i])
        if counters[i] != 0:
            digest = _mix(digest ^ counters[i])
    return digest


_FEW_ITEMS = 64
"""Items of a closure that are walked before it is watched for rules called again and again."""

_END_POSITION = 0x7FFFFFFF
"""Stands for the position of the end of the text, which has none, where joins are sorted."""


@helper("int64(int64[::1], int64, int64)")
def _sort(values, start, stop):
    """Sort values and drop repeated ones -> where they end."""
    for i in range(start + 1, stop):
        value = values[i]
        j = i
        while j > start and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
    end = min(stop, start + 1)
    for i in range(start + 1, stop):
        if values[i] != values[end - 1]:
            values[end] = values[i]
            end += 1
    return end


@helper("int64(int64[::1], int64[::1], int64, int64)")
def _flatten(fsm, values, at, continuation):
    """Write the members of a join, or a continuation itself -> where they end, or a signal."""
    positions = view_i32(fsm[C_CONT_POSITION])
    parents = view_i32(fsm[C_CONT_PARENT])
    capacity = view_i64(fsm[C_SCRATCH])[X_CAPACITY]
    while True:
        if at + 1 > capacity:
            return _signal(fsm, SIGNAL_GROW, GROW_SCRATCH)
        position = positions[continuation]
        if position >= 0:
            values[at] = continuation
            return at + 1
        values[at] = -1 - position
        at += 1
        continuation = parents[continuation]


@helper("int64(int64[::1], int64[::1], int64, int64)")
def _chain(fsm, values, start, stop):
    """The join of sorted continuations, or a signal."""
    joined = values[stop - 1]
    for i in range(stop - 2, start - 1, -1):
        joined = _intern_continuation(fsm, -1 - values[i], joined)
        if joined < 0:
            return joined
    return joined


@helper("int64(int64[::1], int64[::1], int64)")
def _join(fsm, values, end):
    """The join of continuations that are no joins, of which there are some, or a signal."""
    outlined()
    positions = view_i32(fsm[C_CONT_POSITION])
    parents = view_i32(fsm[C_CONT_PARENT])
    # By position, then by parent: what returns to one place stands together.
    for i in range(end):
        if values[i] == CONTINUATION_END:
            values[i] = _END_POSITION << 32
        else:
            values[i] = (int(positions[values[i]]) << 32) | parents[values[i]]
    end = _sort(values, 0, end)
    members = 0
    i = 0
    while i < end:
        position = values[i] >> 32
        parent = values[i] & 0xFFFFFFFF
        j = i + 1
        while j < end and values[j] >> 32 == position:
            j += 1
        if j - i > 1:
            work = end
            for k in range(i, j):
                work = _flatten(fsm, values, work, values[k] & 0xFFFFFFFF)
                if work < 0:
                    return work
            work = _sort(values, end, work)
            parent = _chain(fsm, values, end, work)
            if parent < 0:
                return parent
        if position == _END_POSITION:
            member = CONTINUATION_END
        else:
            member = _intern_continuation(fsm, position, parent)
        if member < 0:
            return member
        values[members] = member
        members += 1
        i = j
    members = _sort(values, 0, members)
    return _chain(fsm, values, 0, members)


@helper("int64(int64[::1], int64, int64)")
def _join_pair(fsm, one, other):
    """The join of two continuations, or a signal."""
    values = view_i64(view_i64(fsm[C_SCRATCH])[X_JOIN])
    end = _flatten(fsm, values, 0, one)
    if end >= 0:
        end = _flatten(fsm, values, end, other)
    return end if end < 0 else _join(fsm, values, end)


@helper("int64(int64[::1], int64[::1], int64[::1], int64)")
def _join_threads(fsm, keys, counters, size):
    """Make threads one that differ only in their continuations -> the set's size, or a signal."""
    values = view_i64(view_i64(fsm[C_SCRATCH])[X_JOIN])
    joined = 0
    i = 0
    while i < size:
        state = keys[i] >> 32
        alike = True
        j = i + 1
        while j < size and keys[j] >> 32 == state:
            alike = alike and counters[j] == counters[i]
            j += 1
        if alike and j - i > 1:
            end = 0
            for k in range(i, j):
                end = _flatten(fsm, values, end, keys[k] & 0xFFFFFFFF)
                if end < 0:
                    return end
            continuation = _join(fsm, values, end)
            if continuation < 0:
                return continuation
            keys[joined] = (state << 32) | continuation
            counters[joined] = counters[i]
            joined += 1
        else:
            for k in range(i, j):
                keys[joined] = keys[k]
                counters[joined] = counters[k]
                joined += 1
        i = j
    return joined


@helper("int64(int64[::1], int64[::1], int64[::1], int64)")
def _intern_config(fsm, keys, counters, size):
    """Sort, deduplicate, join and number a thread set, or a signal."""
    outlined()
    if size == 0:
        return CONFIG_DEAD
    # Shell sort: sets are small and nearly sorted already.
    gap = 1
    while gap < size // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, size):
            key = keys[i]
            counter = counters[i]
            j = i
            while j >= gap and (
                keys[j - gap] > key or (keys[j - gap] == key and counters[j - gap] > counter)
            ):
                keys[j] = keys[j - gap]
                counters[j] = counters[j - gap]
                j -= gap
            keys[j] = key
            counters[j] = counter
        gap //= 3
    unique = 1
    for i in range(1, size):
        if keys[i] != keys[unique - 1] or counters[i] != counters[unique - 1]:
            keys[unique] = keys[i]
            counters[unique] = counters[i]
            unique += 1
    size = unique
    for i in range(1, size):
        if keys[i] >> 32 == keys[i - 1] >> 32:
            size = _join_threads(fsm, keys, counters, size)
            if size < 0:
                return size
            break
    digest = _digest(keys, counters, 0, size)
    starts = view_i32(fsm[C_CONFIG_START])
    sizes = view_i32(fsm[C_CONFIG_SIZE])
    pool_keys = view_i64(fsm[C_THREAD_KEY])
    pool_counters = view_i64(fsm[C_THREAD_COUNTER])
    table = view_i32(fsm[C_CONFIG_TABLE])
    mask = fsm[C_CONFIG_MASK]
    slot = digest & mask
    while table[slot] != 0:
        found = table[slot]
        if sizes[found] == size:
            start = starts[found]
            same = True
            for i in range(size):
                if pool_keys[start + i] != keys[i] or pool_counters[start + i] != counters[i]:
                    same = False
                    break
            if same:
                return found
        slot = (slot + 1) & mask
    if size > fsm[C_LIMIT_THREADS]:
        return _signal(fsm, SIGNAL_LIMIT, LIMIT_THREADS)
    count = fsm[C_CONFIG_COUNT]
    if count >= fsm[C_LIMIT_CONFIGS]:
        return _signal(fsm, SIGNAL_LIMIT, LIMIT_CONFIGS)
    if count >= fsm[C_CONFIG_CAPACITY]:
        return _signal(fsm, SIGNAL_GROW, GROW_CONFIGS)
    start = fsm[C_THREAD_COUNT]
    if start + size > fsm[C_THREAD_CAPACITY]:
        return _signal(fsm, SIGNAL_GROW, GROW_THREADS)
    for i in range(size):
        pool_keys[start + i] = keys[i]
        pool_counters[start + i] = counters[i]
    fsm[C_THREAD_COUNT] = start + size
    starts[count] = start
    sizes[count] = size
    table[slot] = count
    fsm[C_CONFIG_COUNT] = count + 1
    return count


@helper("int64(int64[::1], int64, int64)")
def _resolve(fsm, position, continuation):
    """Where parsing goes on after a lexeme or call that leads to ``position``."""
    if view_u8(fsm[C_FINAL])[position] & POSITION_TAIL:
        return continuation
    return _intern_continuation(fsm, position, continuation)


@helper("int64(int64[::1], int64)")
def _closure(fsm, continuation):
    """Configuration of all lexemes that may come next, or a signal."""
    outlined()
    closures = view_i32(fsm[C_CONT_CLOSURE])
    if closures[continuation] != CONFIG_UNKNOWN:
        return closures[continuation]
    positions = view_i32(fsm[C_CONT_POSITION])
    parents = view_i32(fsm[C_CONT_PARENT])
    if positions[continuation] >= 0:
        return _plain_closure(fsm, continuation)
    # Of a join: first those of its members, which use the same buffers.
    member = continuation
    while positions[member] < 0:
        closure = _plain_closure(fsm, -1 - positions[member])
        if closure < 0:
            return closure
        member = parents[member]
    closure = _plain_closure(fsm, member)
    if closure < 0:
        return closure
    scratch = view_i64(fsm[C_SCRATCH])
    keys = view_i64(scratch[X_CLOSE_KEY])
    counters = view_i64(scratch[X_CLOSE_COUNTER])
    size = _append_threads(fsm, closure, keys, counters, 0)
    member = continuation
    while size >= 0 and positions[member] < 0:
        size = _append_threads(fsm, closures[-1 - positions[member]], keys, counters, size)
        member = parents[member]
    if size < 0:
        return size
    config = _intern_config(fsm, keys, counters, size)
    if config >= 0:
        closures[continuation] = config
    return config


@helper("int64(int64[::1], int64)")
def _plain_closure(fsm, continuation):
    """The same for a continuation that is no join."""
    outlined()
    closures = view_i32(fsm[C_CONT_CLOSURE])
    if closures[continuation] != CONFIG_UNKNOWN:
        return closures[continuation]
    scratch = view_i64(fsm[C_SCRATCH])
    keys = view_i64(scratch[X_CLOSE_KEY])
    counters = view_i64(scratch[X_CLOSE_COUNTER])
    stack = view_i64(scratch[X_STACK])
    visited = view_i64(scratch[X_VISITED])
    stamps = view_i64(scratch[X_STAMPS])
    calls = view_i64(scratch[X_CALLS])  # twice the join, and whether the rule is in the queue
    queue = view_i64(scratch[X_QUEUE])
    visited_mask = scratch[X_VISITED_MASK]
    capacity = scratch[X_CAPACITY]
    scratch[X_STAMP] += 1
    stamp = scratch[X_STAMP]
    positions = view_i32(fsm[C_CONT_POSITION])
    parents = view_i32(fsm[C_CONT_PARENT])
    edge_start = view_i32(fsm[C_EDGE_START])
    edge_count = view_i32(fsm[C_EDGE_COUNT])
    edge_kind = view_u8(fsm[C_EDGE_KIND])
    edge_argument = view_i32(fsm[C_EDGE_ARGUMENT])
    edge_target = view_i32(fsm[C_EDGE_TARGET])
    edge_counter = view_i64(fsm[C_EDGE_COUNTER])
    final = view_u8(fsm[C_FINAL])
    rule_start = view_i32(fsm[C_RULE_START])

    size = 0
    seen = 0
    height = 1
    queued = 0
    walked = 0
    stack[0] = (positions[continuation] << 32) | parents[continuation]
    while height > 0 or walked < queued:
        if height == 0:
            call = queue[walked]
            walked += 1
            calls[call] &= ~1
            stack[0] = (int(rule_start[-1 - visited[call]]) << 32) | (calls[call] >> 1)
            height = 1
        height -= 1
        item = stack[height]
        # The visited table and the stack share one capacity; the table is twice as large.
        slot = _mix(item) & visited_mask
        known = False
        while stamps[slot] == stamp:
            if visited[slot] == item:
                known = True
                break
            slot = (slot + 1) & visited_mask
        if known:
            continue
        stamps[slot] = stamp
        visited[slot] = item
        seen += 1
        position = item >> 32
        parent = item & 0xFFFFFFFF
        if position < 0:  # a join
            if height + 2 > capacity or seen + 1 > capacity:
                return _signal(fsm, SIGNAL_GROW, GROW_SCRATCH)
            other = -1 - position
            if parent == CONTINUATION_END or other == CONTINUATION_END:
                if size + 1 > capacity:
                    return _signal(fsm, SIGNAL_GROW, GROW_SCRATCH)
                keys[size] = 0
                counters[size] = 0
                size += 1
            if parent != CONTINUATION_END:
                stack[height] = (int(positions[parent]) << 32) | parents[parent]
                height += 1
            if other != CONTINUATION_END:
                stack[height] = (int(positions[other]) << 32) | parents[other]
                height += 1
            continue
        first = edge_start[position]
        count = edge_count[position]
        if size + count + 1 > capacity or height + count + 1 > capacity or seen + count > capacity:
            return _signal(fsm, SIGNAL_GROW, GROW_SCRATCH)
        # Backwards, so that the first alternative is popped first.
        for edge in range(first + count - 1, first - 1, -1):
            kind = edge_kind[edge]
            target = edge_target[edge]
            if kind == EDGE_EPSILON:
                stack[height] = (target << 32) | parent
                height += 1
                continue
            after = _resolve(fsm, target, parent)
            if after < 0:
                return after
            if kind == EDGE_LEXEME:
                keys[size] = (edge_argument[edge] << 32) | after
                counters[size] = edge_counter[edge]
                size += 1
            else:
                rule = edge_argument[edge]
                start = rule_start[rule]
                if start < 0:
                    return _signal(fsm, SIGNAL_RULE, rule)
                if seen > _FEW_ITEMS:
                    # Called on many ways, a rule returns to the join of them. It is walked
                    # when all else is, and again if that grows: not once for each way.
                    call = _mix(-1 - rule) & visited_mask
                    while stamps[call] == stamp and visited[call] != -1 - rule:
                        call = (call + 1) & visited_mask
                    if stamps[call] == stamp:
                        returns = _join_pair(fsm, calls[call] >> 1, after)
                        if returns < 0:
                            return returns
                        if returns == calls[call] >> 1:
                            continue
                        waits = calls[call] & 1
                        calls[call] = (returns << 1) | 1
                        if waits:
                            continue
                    else:
                        stamps[call] = stamp
                        visited[call] = -1 - rule
                        calls[call] = (after << 1) | 1
                        seen += 1
                    if queued + 1 > capacity:
                        return _signal(fsm, SIGNAL_GROW, GROW_SCRATCH)
                    queue[queued] = call
                    queued += 1
                    continue
                stack[height] = (start << 32) | after
                height += 1
        if final[position] & POSITION_FINAL:
            if parent == CONTINUATION_END:
                keys[size] = 0
                counters[size] = 0
                size += 1
            else:
                stack[height] = (positions[parent] << 32) | parents[parent]
                height += 1
    config = _intern_config(fsm, keys, counters, size)
    if config >= 0:
        closures[continuation] = config
    return config


@helper("int64(int64[::1], int64, int64[::1], int64[::1], int64)")
def _append_threads(fsm, config, keys, counters, size):
    """Add a configuration's threads to a set being built -> its size, or a signal."""
    scratch = view_i64(fsm[C_SCRATCH])
    start = view_i32(fsm[C_CONFIG_START])[config]
    count = view_i32(fsm[C_CONFIG_SIZE])[config]
    if size + count > scratch[X_CAPACITY]:
        return _signal(fsm, SIGNAL_GROW, GROW_SCRATCH)
    pool_keys = view_i64(fsm[C_THREAD_KEY])
    pool_counters = view_i64(fsm[C_THREAD_COUNTER])
    for i in range(count):
        keys[size + i] = pool_keys[start + i]
        counters[size + i] = pool_counters[start + i]
    return size + count


@helper("int64(int64[::1], int64, int64, int64, int64[::1], int64[::1], int64)")
def _step_thread(fsm, key, counter, byte, keys, counters, size):
    """Add what one thread becomes on a byte -> the set's size, or a signal."""
    outlined()
    store = view_i64(fsm[C_STORE])
    state, counter = _step_state(store, key >> 32, counter, byte)
    if state == STATE_DEAD:
        return size
    continuation = key & 0xFFFFFFFF
    if view_i64(store[S_CODE])[state] & FLAG_FINAL:
        closure = _closure(fsm, continuation)
        if closure < 0:
            return closure
        return _append_threads(fsm, closure, keys, counters, size)
    if size + 1 > view_i64(fsm[C_SCRATCH])[X_CAPACITY]:
        return _signal(fsm, SIGNAL_GROW, GROW_SCRATCH)
    keys[size] = (state << 32) | continuation
    counters[size] = counter
    return size + 1


@helper("int64(int64[::1], int64, int64)")
def _enter(fsm, position, continuation):
    """The configuration at a position (-1: none) that returns to a continuation, or a signal."""
    outlined()
    if position < 0:
        return _closure(fsm, continuation)
    entered = _resolve(fsm, position, continuation)
    return entered if entered < 0 else _closure(fsm, entered)


@helper("int64(int64[::1], int64, int64)")
def _union(fsm, one, other):
    """The configuration of the threads of two, or a signal."""
    outlined()
    scratch = view_i64(fsm[C_SCRATCH])
    keys = view_i64(scratch[X_STEP_KEY])
    counters = view_i64(scratch[X_STEP_COUNTER])
    size = _append_threads(fsm, one, keys, counters, 0)
    if size >= 0:
        size = _append_threads(fsm, other, keys, counters, size)
    return size if size < 0 else _intern_config(fsm, keys, counters, size)


@helper("void(int64[::1], int64)")
def _own_live_bytes(fsm, config):
    """Collect the bytes on which a configuration's own threads may have a transition.

    ``LIVE_EXACT`` if they do have one; counters and overrides are only asked when stepping.
    """
    outlined()
    store = view_i64(fsm[C_STORE])
    codes = view_i64(store[S_CODE])
    bits = view_i64(store[S_LIVE])
    keys = view_i64(fsm[C_THREAD_KEY])
    live = view_i64(fsm[C_LIVE])
    own = 4 * config
    exactness = LIVE_EXACT
    for w in range(4):
        live[own + w] = 0
    start = view_i32(fsm[C_CONFIG_START])[config]
    for i in range(start, start + view_i32(fsm[C_CONFIG_SIZE])[config]):
        state = keys[i] >> 32
        code = codes[state]
        kind = code & CODE_KIND
        if kind == KIND_BYTE or kind == KIND_LAST_BYTE:
            byte = code >> CODE_ARGUMENT
            live[own + (byte >> 6)] |= 1 << (byte & 63)
        elif kind != KIND_NONE:
            if kind != KIND_CLASSED:
                exactness = LIVE_ROUGH
            for w in range(4):
                live[own + w] |= bits[4 * state + w]
    view_u8(fsm[C_LIVE_READY])[config] = exactness


@helper("boolean(int64, int64)")
def _misses(code, byte):
    """Whether a state is in the middle of a literal that goes on with another byte.

    Among the names of a large object almost all threads drop out here, without a call.
    """
    kind = code & CODE_KIND
    return (kind == KIND_BYTE or kind == KIND_LAST_BYTE) and code >> CODE_ARGUMENT != byte


@helper("int64(int64[::1], int64, int64)")
def _step_closure(fsm, config, byte):
    """``next[config, byte]`` of a closure, whose threads never accept, or a signal."""
    outlined()
    transitions = view_i32(fsm[C_NEXT])
    known = transitions[config * 256 + byte]
    if known != CONFIG_UNKNOWN:
        return known
    if view_u8(fsm[C_LIVE_READY])[config] == 0:
        _own_live_bytes(fsm, config)
    if (view_i64(fsm[C_LIVE])[4 * config + (byte >> 6)] >> (byte & 63)) & 1 == 0:
        return CONFIG_DEAD
    scratch = view_i64(fsm[C_SCRATCH])
    keys = view_i64(scratch[X_STEP_KEY])
    counters = view_i64(scratch[X_STEP_COUNTER])
    pool_keys = view_i64(fsm[C_THREAD_KEY])
    pool_counters = view_i64(fsm[C_THREAD_COUNTER])
    start = view_i32(fsm[C_CONFIG_START])[config]
    codes = view_i64(view_i64(fsm[C_STORE])[S_CODE])
    size = 0
    for i in range(start, start + view_i32(fsm[C_CONFIG_SIZE])[config]):
        if _misses(codes[pool_keys[i] >> 32], byte):
            continue
        size = _step_thread(fsm, pool_keys[i], pool_counters[i], byte, keys, counters, size)
        if size < 0:
            return size
    target = _intern_config(fsm, keys, counters, size)
    if target >= 0:
        transitions[config * 256 + byte] = target
    return target


@helper("int64(int64[::1], int64)")
def _live_bytes(fsm, config):
    """Make a configuration's set of live bytes known -> 0, or a signal.

    Most bytes are dead in most configurations, and a walk asks for all of them: 32 bytes
    answer for a row of 1,024 that is then hardly touched. Implied closures are included.
    """
    outlined()
    ready = view_u8(fsm[C_LIVE_READY])
    if ready[config]:
        return 0
    codes = view_i64(view_i64(fsm[C_STORE])[S_CODE])
    keys = view_i64(fsm[C_THREAD_KEY])
    live = view_i64(fsm[C_LIVE])
    start = view_i32(fsm[C_CONFIG_START])[config]
    stop = start + view_i32(fsm[C_CONFIG_SIZE])[config]
    # Closures first: a signal must not leave a half-known set behind.
    for i in range(start, stop):
        if codes[keys[i] >> 32] & FLAG_ACCEPTING:
            closure = _closure(fsm, keys[i] & 0xFFFFFFFF)
            if closure < 0:
                return closure
            if ready[closure] == 0:
                _own_live_bytes(fsm, closure)
    _own_live_bytes(fsm, config)
    closures = view_i32(fsm[C_CONT_CLOSURE])
    for i in range(start, stop):
        if codes[keys[i] >> 32] & FLAG_ACCEPTING:
            closure = closures[keys[i] & 0xFFFFFFFF]
            for w in range(4):
                live[4 * config + w] |= live[4 * closure + w]
            ready[config] = max(ready[config], ready[closure])
    return 0


@helper("int64(int64[::1], int64, int64)")
def _step(fsm, config, byte):
    """``next[config, byte]``, computed if needed, or a signal."""
    outlined()
    transitions = view_i32(fsm[C_NEXT])
    known = transitions[config * 256 + byte]
    if known != CONFIG_UNKNOWN:
        return known
    if view_u8(fsm[C_LIVE_READY])[config] == 0:
        signal = _live_bytes(fsm, config)
        if signal < 0:
            return signal
    if (view_i64(fsm[C_LIVE])[4 * config + (byte >> 6)] >> (byte & 63)) & 1 == 0:
        return CONFIG_DEAD
    codes = view_i64(view_i64(fsm[C_STORE])[S_CODE])
    pool_keys = view_i64(fsm[C_THREAD_KEY])
    pool_counters = view_i64(fsm[C_THREAD_COUNTER])
    start = view_i32(fsm[C_CONFIG_START])[config]
    stop = start + view_i32(fsm[C_CONFIG_SIZE])[config]
    # Steps of implied closures first: they use the same buffers.
    implied = 0
    after = CONFIG_DEAD
    for i in range(start, stop):
        if codes[pool_keys[i] >> 32] & FLAG_ACCEPTING:
            closure = _closure(fsm, pool_keys[i] & 0xFFFFFFFF)
            if closure < 0:
                return closure
            target = _step_closure(fsm, closure, byte)
            if target < 0:
                return target
            if target != CONFIG_DEAD:
                implied += 1
                after = target
    scratch = view_i64(fsm[C_SCRATCH])
    keys = view_i64(scratch[X_STEP_KEY])
    counters = view_i64(scratch[X_STEP_COUNTER])
    size = 0
    for i in range(start, stop):
        if _misses(codes[pool_keys[i] >> 32], byte):
            continue
        size = _step_thread(fsm, pool_keys[i], pool_counters[i], byte, keys, counters, size)
        if size < 0:
            return size
    if implied == 1 and size == 0:
        target = after
    else:
        if implied > 0:
            for i in range(start, stop):
                if codes[pool_keys[i] >> 32] & FLAG_ACCEPTING:
                    closure = _closure(fsm, pool_keys[i] & 0xFFFFFFFF)
                    target = _step_closure(fsm, closure, byte)
                    if target != CONFIG_DEAD:
                        size = _append_threads(fsm, target, keys, counters, size)
                        if size < 0:
                            return size
        target = _intern_config(fsm, keys, counters, size)
        if target < 0:
            return target
    transitions[config * 256 + byte] = target
    return target


@helper("int64(int64[::1], int64)")
def _is_accepting(fsm, config):
    """1 if the text may end here, else 0, or a signal."""
    outlined()
    codes = view_i64(view_i64(fsm[C_STORE])[S_CODE])
    keys = view_i64(fsm[C_THREAD_KEY])
    start = view_i32(fsm[C_CONFIG_START])[config]
    size = view_i32(fsm[C_CONFIG_SIZE])[config]
    for i in range(start, start + size):
        if keys[i] == 0:
            return 1
        if codes[keys[i] >> 32] & FLAG_ACCEPTING:
            closure = _closure(fsm, keys[i] & 0xFFFFFFFF)
            if closure < 0:
                return closure
            # The end of the text has the smallest key.
            if closure != CONFIG_DEAD and keys[view_i32(fsm[C_CONFIG_START])[closure]] == 0:
                return 1
    return 0


@helper("int64(int64[::1], int64, int64)")
def _thread_config(fsm, state, continuation):
    """The configuration of one thread without a counter, or a signal."""
    scratch = view_i64(fsm[C_SCRATCH])
    keys = view_i64(scratch[X_STEP_KEY])
    counters = view_i64(scratch[X_STEP_COUNTER])
    keys[0] = (state << 32) | continuation
    counters[0] = NO_COUNTER
    return _intern_config(fsm, keys, counters, 1)


@helper("int64(int64[::1], int64)")
def _lone_thread(fsm, config):
    """The key of a configuration's only thread if its steps need no interning, else 0."""
    if view_i32(fsm[C_CONFIG_SIZE])[config] != 1:
        return 0
    first = view_i32(fsm[C_CONFIG_START])[config]
    key = view_i64(fsm[C_THREAD_KEY])[first]
    code = view_i64(view_i64(fsm[C_STORE])[S_CODE])[key >> 32]
    counter = view_i64(fsm[C_THREAD_COUNTER])[first]
    return key if counter == NO_COUNTER and _steps_alone(code) else 0


@helper("boolean(int64)")
def _steps_alone(code):
    """Whether a state's transitions depend on nothing but the byte, see :func:`_following`."""
    kind = code & CODE_KIND
    return kind == KIND_CLASSED or kind == KIND_BYTE or kind == KIND_LAST_BYTE


@helper("int64(int64[::1], int64, int64, int64, int32[::1], int64)")
def _walk(fsm, config, counter, trie, ids, count):
    """Append all tokens of a trie that keep a configuration alive -> count, or a signal.

    Children of a node are neighbours, so that the many dead ones cost a look at a few cache
    lines. ``counter`` is for the suffix trie, whose tokens have so many characters before the
    closing quote: those that leave a string too short or too long are dropped.

    Interning the configurations on the way would be most of the work, and most are never seen
    again. So a configuration of one thread is walked as that thread, by the transitions of its
    lexeme (the stack then holds its state, negated, and its continuation), and where a token
    ends and no longer one begins, a live byte is answer enough.
    """
    outlined()
    vocabulary = view_i64(fsm[C_VOCABULARY])
    byte = view_u8(vocabulary[trie + T_BYTE])
    records = view_i32(vocabulary[trie + T_NODES])
    tokens = view_i32(vocabulary[trie + T_TOKENS])
    lengths = view_i32(vocabulary[V_SUFFIX_LENGTHS])
    transitions = view_i32(fsm[C_NEXT])
    live = view_i64(fsm[C_LIVE])
    ready = view_u8(fsm[C_LIVE_READY])
    store = view_i64(fsm[C_STORE])
    codes = view_i64(store[S_CODE])
    scratch = view_i64(fsm[C_SCRATCH])
    nodes = view_i32(scratch[X_WALK_NODE])
    configs = view_i32(scratch[X_WALK_CONFIG])
    continuations = view_i32(scratch[X_WALK_CONTINUATION])
    filtered = trie == TRIE_SUFFIX
    needed = counter >> 32
    allowed = counter & COUNT_UNBOUNDED
    if filtered:
        # Tokens that end with the quote come before all nodes.
        for i in range(records[1]):
            if needed <= lengths[i] <= allowed:
                ids[count] = tokens[i]
                count += 1
    height = 0
    low = 0
    high = vocabulary[trie + T_ROOTS]
    continuation = 0
    while True:
        if config > 0:
            key = _lone_thread(fsm, config)
            if key != 0:
                config = -(key >> 32)
                continuation = key & 0xFFFFFFFF
        # Whose live bytes count: the configuration's, or those of the closure a thread implies.
        code = 0
        state = 0
        around = config
        if config < 0:
            state = -config
            code = codes[state]
            around = CONFIG_DEAD
            if code & FLAG_ACCEPTING:
                around = _closure(fsm, continuation)
                if around < 0:
                    return around
        if ready[around] == 0:
            signal = _live_bytes(fsm, around)
            if signal < 0:
                return signal
        exact = ready[around] == LIVE_EXACT
        own = around * 4
        for node in range(low, high):
            symbol = byte[node]
            alive = (live[own + (symbol >> 6)] >> (symbol & 63)) & 1 != 0
            following = STATE_DEAD
            if state != 0:
                following = _following(store, code, state, symbol)
            if not alive and following == STATE_DEAD:
                continue
            deeper = records[2 * node] < records[2 * node + 2]
            target = CONFIG_UNKNOWN
            if deeper or (following == STATE_DEAD and not exact):
                code_after = codes[following]
                if not alive and not code_after & FLAG_FINAL and _steps_alone(code_after):
                    target = -following
                else:
                    if not alive and code_after & FLAG_FINAL:
                        target = _closure(fsm, continuation)
                    elif not alive:
                        target = _thread_config(fsm, following, continuation)
                    else:
                        target = around
                        if following != STATE_DEAD:
                            target = _thread_config(fsm, state, continuation)
                        if target >= 0:
                            known = transitions[target * 256 + symbol]
                            if known == CONFIG_UNKNOWN:
                                known = _step(fsm, target, symbol)
                            target = known
                    if target < 0:
                        return target
                    if target == CONFIG_DEAD:
                        continue
            if filtered:
                for i in range(records[2 * node + 1], records[2 * node + 3]):
                    if needed <= lengths[i] <= allowed:
                        ids[count] = tokens[i]
                        count += 1
            else:
                for i in range(records[2 * node + 1], records[2 * node + 3]):
                    ids[count] = tokens[i]
                    count += 1
            if deeper:
                nodes[height] = node
                configs[height] = target
                continuations[height] = continuation
                height += 1
        if height == 0:
            return count
        height -= 1
        node = nodes[height]
        low = records[2 * node]
        high = records[2 * node + 2]
        config = configs[height]
        continuation = continuations[height]


@helper("int64(int64[::1], int64, int64, int64)")
def _following(store, code, state, byte):
    """The state after a byte, from one that steps alone."""
    kind = code & CODE_KIND
    argument = code >> CODE_ARGUMENT
    if kind == KIND_CLASSED:
        classes = view_u8(store[S_CLASS_MAPS])
        symbol = classes[((code >> CODE_CLASSES) & CODE_CLASSES_MASK) * 256 + byte]
        return view_i32(store[S_TRANSITIONS])[argument + symbol]
    if argument != byte:
        return STATE_DEAD
    return state + 1 if kind == KIND_BYTE else STATE_END


@helper("int64(int64[::1], int64)")
def _clamp(fsm, config):
    """The configuration with bounds that no single token can reach made unbounded.

    Both have the same mask, and far from its end a long string then shares one.
    """
    outlined()
    longest = view_i64(fsm[C_VOCABULARY])[V_MAX_CHARACTERS]
    start = view_i32(fsm[C_CONFIG_START])[config]
    size = view_i32(fsm[C_CONFIG_SIZE])[config]
    pool_keys = view_i64(fsm[C_THREAD_KEY])
    pool_counters = view_i64(fsm[C_THREAD_COUNTER])
    scratch = view_i64(fsm[C_SCRATCH])
    keys = view_i64(scratch[X_STEP_KEY])
    counters = view_i64(scratch[X_STEP_COUNTER])
    changed = False
    for i in range(size):
        counter = pool_counters[start + i]
        allowed = counter & COUNT_UNBOUNDED
        needed = counter >> 32
        if counter != NO_COUNTER:
            if allowed > longest and allowed != COUNT_UNBOUNDED:
                allowed = COUNT_UNBOUNDED
                changed = True
            if needed > longest + 1:
                needed = longest + 1
                changed = True
        keys[i] = pool_keys[start + i]
        counters[i] = (needed << 32) | allowed
    if not changed:
        return config
    return _intern_config(fsm, keys, counters, size)


@helper("int64(int64[::1], int64, boolean)")
def _subset(fsm, config, wide):
    """The configuration of only the wide (or only the narrow) threads, or a signal."""
    outlined()
    codes = view_i64(view_i64(fsm[C_STORE])[S_CODE])
    start = view_i32(fsm[C_CONFIG_START])[config]
    size = view_i32(fsm[C_CONFIG_SIZE])[config]
    pool_keys = view_i64(fsm[C_THREAD_KEY])
    pool_counters = view_i64(fsm[C_THREAD_COUNTER])
    scratch = view_i64(fsm[C_SCRATCH])
    keys = view_i64(scratch[X_STEP_KEY])
    counters = view_i64(scratch[X_STEP_COUNTER])
    count = 0
    for i in range(start, start + size):
        if ((codes[pool_keys[i] >> 32] & FLAG_WIDE) != 0) == wide:
            keys[count] = pool_keys[i]
            counters[count] = pool_counters[i]
            count += 1
    return _intern_config(fsm, keys, counters, count)


@helper("int64(int64[::1], int64, int64)")
def _inside_row(fsm, state, counter):
    """Address of the row of tokens that stay inside the string, or a signal."""
    store = view_i64(fsm[C_STORE])
    codes = view_i64(store[S_CODE])
    code = codes[state]
    if code & CODE_KIND == KIND_OVERRIDE:
        # The same tokens stay inside: an override only changes which names may close.
        state = view_i32(store[S_OVERRIDES])[code >> CODE_ARGUMENT]
        code = codes[state]
    if code & CODE_KIND == KIND_COUNTED:
        allowed = counter & COUNT_UNBOUNDED
        if allowed != COUNT_UNBOUNDED:
            vocabulary = view_i64(fsm[C_VOCABULARY])
            row = view_i64(vocabulary[V_COUNTER_ROWS])[allowed]
            if row == 0:
                return _signal(fsm, SIGNAL_COUNTER_ROW, allowed)
            return row
    row = view_i64(store[S_ROW])[state]
    if row == 0:
        return _signal(fsm, SIGNAL_ROW, state)
    return row


@helper("int64(int64[::1], int64)")
def _mask(fsm, config):
    """Compute a configuration's mask -> 0, or a signal."""
    states = view_u8(fsm[C_MASK_STATE])
    if states[config]:
        return 0
    rows = view_i64(fsm[C_MASK_ROW])
    starts = view_i32(fsm[C_MASK_START])
    sizes = view_i32(fsm[C_MASK_SIZE])
    clamped = _clamp(fsm, config)
    if clamped < 0:
        return clamped
    if clamped != config:
        signal = _mask_of_clamped(fsm, clamped)
        if signal < 0:
            return signal
        rows[config] = rows[clamped]
        starts[config] = starts[clamped]
        sizes[config] = sizes[clamped]
        states[config] = 1
        return 0
    return _mask_of_clamped(fsm, config)


@helper("int64(int64[::1], int64)")
def _mask_of_clamped(fsm, config):
    outlined()
    states = view_u8(fsm[C_MASK_STATE])
    if states[config]:
        return 0
    vocabulary = view_i64(fsm[C_VOCABULARY])
    codes = view_i64(view_i64(fsm[C_STORE])[S_CODE])
    pool_keys = view_i64(fsm[C_THREAD_KEY])
    pool_counters = view_i64(fsm[C_THREAD_COUNTER])
    start = view_i32(fsm[C_CONFIG_START])[config]
    size = view_i32(fsm[C_CONFIG_SIZE])[config]
    ids = view_i32(view_i64(fsm[C_SCRATCH])[X_IDS])

    wide = 0
    universal = 0
    base = 0
    several = False
    for i in range(start, start + size):
        state = pool_keys[i] >> 32
        if codes[state] & FLAG_WIDE:
            wide += 1
            if codes[state] & FLAG_UNIVERSAL:
                universal += 1
            row = _inside_row(fsm, state, pool_counters[i])
            if row < 0:
                return row
            if base != 0 and row != base:
                several = True
            base = row
    count = 0
    if wide < size:
        narrow = config
        if wide > 0:
            narrow = _subset(fsm, config, False)
            if narrow < 0:
                return narrow
        count = _walk(fsm, narrow, NO_COUNTER, TRIE_ALL, ids, count)
        if count < 0:
            return count
    if wide > 0:
        if wide == universal:
            for i in range(start, start + size):
                if codes[pool_keys[i] >> 32] & FLAG_UNIVERSAL:
                    # With several threads a token may be listed twice: bits do not mind, and
                    # the buffer holds a walk of the vocabulary beside them.
                    if count + vocabulary[V_SIZE] > 4 * vocabulary[V_SIZE] + 64:
                        count = _deduplicate(ids, count)
                    closure = _closure(fsm, pool_keys[i] & 0xFFFFFFFF)
                    if closure < 0:
                        return closure
                    state = pool_keys[i] >> 32
                    kind = codes[state] & CODE_KIND
                    counter = pool_counters[i] if kind == KIND_COUNTED else COUNT_UNBOUNDED
                    before = count
                    count = _walk(fsm, closure, counter, TRIE_SUFFIX, ids, count)
                    if kind == KIND_OVERRIDE and count > before:
                        count = _drop_declared(fsm, state, ids, before, count)
                    if count < 0:
                        return count
        else:
            inside = config
            if wide < size:
                inside = _subset(fsm, config, True)
                if inside < 0:
                    return inside
            count = _walk(fsm, inside, NO_COUNTER, TRIE_QUOTE, ids, count)
            if count < 0:
                return count
    accepting = _is_accepting(fsm, config)
    if accepting < 0:
        return accepting
    if accepting:
        eos = view_i32(vocabulary[V_EOS])
        for i in range(vocabulary[V_EOS_COUNT]):
            ids[count] = eos[i]
            count += 1
    if count == 0 and base == 0:
        return _signal(fsm, SIGNAL_STUCK, config)

    starts = view_i32(fsm[C_MASK_START])
    sizes = view_i32(fsm[C_MASK_SIZE])
    rows = view_i64(fsm[C_MASK_ROW])
    if several or count > DENSE_IDS:
        if fsm[C_ROW_LEFT] == 0:
            return _signal(fsm, SIGNAL_OWNED_ROW, 0)
        words = vocabulary[V_WORDS]
        address = fsm[C_ROW_NEXT]
        row_bits = view_u32(address)
        for w in range(words):
            row_bits[w] = 0
        for i in range(start, start + size):
            state = pool_keys[i] >> 32
            if codes[state] & FLAG_WIDE:
                source = view_u32(_inside_row(fsm, state, pool_counters[i]))
                for w in range(words):
                    row_bits[w] |= source[w]
        for i in range(count):
            token = ids[i]
            row_bits[token >> 5] |= 1 << (token & 31)
        fsm[C_ROW_NEXT] = address + 4 * words
        fsm[C_ROW_LEFT] -= 1
        rows[config] = address
        starts[config] = 0
        sizes[config] = 0
    else:
        first = fsm[C_MASK_ID_COUNT]
        if first + count > fsm[C_MASK_ID_CAPACITY]:
            return _signal(fsm, SIGNAL_GROW, GROW_IDS)
        pool = view_i32(fsm[C_MASK_IDS])
        for i in range(count):
            pool[first + i] = ids[i]
        fsm[C_MASK_ID_COUNT] = first + count
        rows[config] = base
        starts[config] = first
        sizes[config] = count
    states[config] = 1
    return 0


@helper("int64(int64[::1], int64, int32[::1], int64, int64)")
def _drop_declared(fsm, start, ids, first, count):
    """Drop the tokens that would close an undeclared key as a declared name -> count."""
    outlined()
    store = view_i64(fsm[C_STORE])
    codes = view_i64(store[S_CODE])
    overrides = view_i32(store[S_OVERRIDES])
    vocabulary = view_i64(fsm[C_VOCABULARY])
    blob = view_u8(vocabulary[V_BLOB])
    offsets = view_i64(vocabulary[V_OFFSETS])
    kept = first
    for k in range(first, count):
        token = ids[k]
        state = start
        for p in range(offsets[token], offsets[token + 1]):
            # Only names that are still a beginning of a declared one can become it.
            code = codes[state]
            state = STATE_END
            if code & CODE_KIND == KIND_OVERRIDE:
                record = code >> CODE_ARGUMENT
                for i in range(overrides[record + 1]):
                    if overrides[record + 2 + 2 * i] == blob[p]:
                        state = overrides[record + 3 + 2 * i]
            if state == STATE_END or state == STATE_DEAD:
                break
        if state != STATE_DEAD:
            ids[kept] = token
            kept += 1
    return kept


@helper("int64(int32[::1], int64)")
def _deduplicate(ids, count):
    """Sort a list of ids and drop repeats (only reached by many parallel free strings)."""
    outlined()
    gap = 1
    while gap < count // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            value = ids[i]
            j = i
            while j >= gap and ids[j - gap] > value:
                ids[j] = ids[j - gap]
                j -= gap
            ids[j] = value
        gap //= 3
    unique = 0
    for i in range(count):
        if unique == 0 or ids[i] != ids[unique - 1]:
            ids[unique] = ids[i]
            unique += 1
    return unique


@helper("int64(int64[::1], int64, int64)")
def _fill(fsm, config, address):
    """Write the mask of a configuration to a row of words -> 0, or a signal."""
    outlined()
    if view_u8(fsm[C_MASK_STATE])[config] == 0:
        signal = _mask(fsm, config)
        if signal < 0:
            return signal
    return _write(fsm, config, address)


@helper("int64(int64[::1], int64, int64)")
def _write(fsm, config, address):
    """Write a computed mask to a row of words."""
    words = view_i64(fsm[C_VOCABULARY])[V_WORDS]
    bits = view_u32(address)
    base = view_i64(fsm[C_MASK_ROW])[config]
    if base != 0:
        source = view_u32(base)
        for w in range(words):
            bits[w] = source[w]
    else:
        for w in range(words):
            bits[w] = 0
    start = view_i32(fsm[C_MASK_START])[config]
    ids = view_i32(fsm[C_MASK_IDS])
    for i in range(start, start + view_i32(fsm[C_MASK_SIZE])[config]):
        token = ids[i]
        bits[token >> 5] |= 1 << (token & 31)
    return 0


@helper("int64(int64[::1], int64, int64)")
def _accept(fsm, config, token):
    """The configuration after a token (``CONFIG_DEAD`` if not allowed), or a signal."""
    outlined()
    vocabulary = view_i64(fsm[C_VOCABULARY])
    blob = view_u8(vocabulary[V_BLOB])
    offsets = view_i64(vocabulary[V_OFFSETS])
    transitions = view_i32(fsm[C_NEXT])
    first = offsets[token]
    last = offsets[token + 1]
    if first == last:
        return CONFIG_DEAD
    for i in range(first, last):
        target = transitions[config * 256 + blob[i]]
        if target == CONFIG_UNKNOWN:
            target = _step(fsm, config, blob[i])
            if target < 0:
                return target
        if target == CONFIG_DEAD:
            return CONFIG_DEAD
        config = target
    return config


@helper("int64(int64[::1], int64)")
def _forced(fsm, config):
    """The one byte that may follow if the text may not end here, or NOT_FORCED, or a signal."""
    outlined()
    accepting = _is_accepting(fsm, config)
    if accepting != 0:
        return NOT_FORCED if accepting > 0 else accepting
    only = NOT_FORCED
    for byte in range(256):
        target = _step(fsm, config, byte)
        if target < 0:
            return target
        if target != CONFIG_DEAD:
            if only != NOT_FORCED:
                return NOT_FORCED
            only = byte
    return only


@helper("int64(int64[::1])")
def _rehash_configs(fsm):
    """Enter all configurations but the dead one into an empty table."""
    outlined()
    starts = view_i32(fsm[C_CONFIG_START])
    sizes = view_i32(fsm[C_CONFIG_SIZE])
    keys = view_i64(fsm[C_THREAD_KEY])
    counters = view_i64(fsm[C_THREAD_COUNTER])
    table = view_i32(fsm[C_CONFIG_TABLE])
    mask = fsm[C_CONFIG_MASK]
    for config in range(CONFIG_END, fsm[C_CONFIG_COUNT]):
        slot = _digest(keys, counters, starts[config], sizes[config]) & mask
        while table[slot] != 0:
            slot = (slot + 1) & mask
        table[slot] = config
    return 0


@helper("int64(int64[::1])")
def _rehash_continuations(fsm):
    """Enter all continuations but the two fixed ones into an empty table."""
    outlined()
    positions = view_i32(fsm[C_CONT_POSITION])
    parents = view_i32(fsm[C_CONT_PARENT])
    table = view_i32(fsm[C_CONT_TABLE])
    mask = fsm[C_CONT_MASK]
    for continuation in range(CONTINUATION_START + 1, fsm[C_CONT_COUNT]):
        slot = _mix((positions[continuation] << 32) | parents[continuation]) & mask
        while table[slot] != 0:
            slot = (slot + 1) & mask
        table[slot] = continuation
    return 0


@kernel("int64(int64, int64, int64)", nogil=False)
def _write_mask(block, config, address):
    return _write(view_i64(block), config, address)


@kernel("int64(int64, int64, int64, int64)")
def _engine(block, operation, x, y):
    if operation == OP_FILL_MANY:
        triples = view_i64(x)
        for i in range(y):
            signal = _fill(view_i64(triples[3 * i]), triples[3 * i + 1], triples[3 * i + 2])
            if signal < 0:
                return -1 - i
        return y
    fsm = view_i64(block)
    if operation == OP_FILL:
        return _fill(fsm, x, y)
    if operation == OP_ACCEPT:
        return _accept(fsm, x, y)
    if operation == OP_STEP:
        return _step(fsm, x, y)
    if operation == OP_ACCEPTING:
        return _is_accepting(fsm, x)
    if operation == OP_START:
        return _closure(fsm, CONTINUATION_START)
    if operation == OP_MASK:
        return _mask(fsm, x)
    if operation == OP_FORCED:
        return _forced(fsm, x)
    if operation == OP_ENTER:
        return _enter(fsm, x, y)
    if operation == OP_UNION:
        return _union(fsm, x, y)
    if operation == OP_REHASH_CONFIGS:
        return _rehash_configs(fsm)
    if operation == OP_REHASH_CONTINUATIONS:
        return _rehash_continuations(fsm)
    return 0


engine: Callable[[int, int, int, int], int] = direct(_engine)
"""``engine(block, operation, x, y)`` runs one operation on the FSM whose control block is at
address ``block`` -> a non-negative result or a ``SIGNAL_*`` (see :mod:`.layout`)."""

write_mask: Callable[[int, int, int], int] = direct(_write_mask)
"""``write_mask(block, configuration, address)`` writes a mask known to be computed to a row of
words. It keeps the GIL, so no table can be replaced meanwhile and no lock is needed: for a
node of which Python was told that its mask exists, everything it reads is complete."""
