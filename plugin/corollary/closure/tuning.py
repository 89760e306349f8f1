"""The tuning constants of closures: what is limited, in which unit, and measurements."""

MAX_EDGES_BY_PRODUCT = 4  # measured: 0.1 ms an edge in cliques of 20, 1 ms for any number by paths
"""New edges that are joined one by one with what reaches them and what they reach."""

MIN_FACTS_PER_NEW_FACT = 32
"""External facts and edges per new one. With fewer, the whole closure is computed anew."""

MIN_EDGES_PER_JOINED = 4
"""Edges per pair of a new edge and a source that reaches it. With fewer, the closures with and without the
new edges are compared. Measured: that is up to five times as fast with 10,000 nodes and 100,000 edges, and
takes ten times as long in a tree."""

MAX_WORDS_PER_EDGE = 16
"""64-bit words per edge of a reachability matrix that is computed without trying lists first."""

PAIRS_PER_WORD = 2
"""Pairs in lists of successors that take the time of one word of a matrix."""

WORDS_PER_STEP = 8
"""Words of a matrix that are computed in the time in which a walk reaches one more node."""

MIN_STEPS_WALKED = 1 << 12
"""Steps of a walk that are taken whatever a matrix costs. Measured: with 80 nodes in trees, walks before and
after a removal take 0.2 ms, matrices 2 ms."""

MAX_WORDS_PER_BLOCK = 1 << 22
"""Words of one block of a matrix that is read and discarded: 32 MB."""

MIN_WORDS_OF_DIFFERENCE = 1 << 16
"""Words with room for what two matrices differ in, at first. With more, they are compared twice."""

WORDS_UNPACKED_AT_ONCE = 1 << 12
"""Words whose bits become pairs at a time: up to 262,144, with some 10 MB of intermediate results."""

MAX_IDS_PER_TERM = 8
"""Ids between the least and the greatest term, per term. With more, binary search replaces a table.
Measured: among 100,000 nodes with 8 ids each, 0.7 ms by table and 9.8 by search; with 32 ids each, 2.6 and
11 ms; among 1,000 nodes with 32 ids each, 22 and 19 µs."""

MIN_PAIRS_COMPRESSED = 1 << 20
"""Pairs from which on a closure is compressed. With fewer, a list of pairs takes less than 8 MB."""

MIN_PAIRS_STAYING_COMPRESSED = MIN_PAIRS_COMPRESSED // 4
"""Pairs from which on a closure stays compressed that was so before: to compare a list with an index takes
more time than to compare two indices."""

MIN_PAIRS_PER_INTERVAL = 8
"""Pairs per interval, node and edge of a closure held as intervals. With fewer, a list is as small."""

MAX_INTERVALS_PER_EDGE = 4
"""Intervals per edge and node that are computed before a closure is listed instead."""

INTERVALS_MERGED_PER_EDGE = 64
"""Intervals per edge and node that are merged before a closure is listed instead."""

WORDS_PER_INTERVAL = 16
"""Words of a matrix that are computed in the time in which an interval is merged.
Measured: 28 ns an interval, 2 ns a word with 10,000 nodes and 100,000 edges."""

MIN_PAIRS_PER_WORD = 4
"""Pairs per 64-bit word of a closure held as bits. With fewer, a list is no more than four times as large."""

MIN_COPIES_PER_FACT = 8
"""Copies per fact of a relation that is held as facts and cliques of equal terms. With fewer, a list is as
small."""
