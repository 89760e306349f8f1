"""The tuning constants of closures: what is limited, in which unit, and measurements."""

MAX_EDGES_BY_PRODUCT = 4  # measured: 0.1 ms an edge in cliques of 20, 1 ms for any number by paths
"""New edges that are joined one by one with what reaches them and what they reach."""

MIN_FACTS_PER_NEW_FACT = 32
"""External facts and edges per new one. With fewer, the whole closure is computed anew. Measured: following
one new edge in 32 takes half of the time of closing anew in a tree and a sparse graph, as long in a dense one
(15 ms), and 1.5 times as long where few edges join large parts; one in 8 takes 1.6 to 2.2 times as long."""

MIN_PAIRS_PER_FACT_IF_DENSE = 40
"""Pairs of a dense closure per external fact and edge. To sort them by objects, or to list most of them,
takes longer than to compute a dense closure anew. Measured: with 80 pairs each 2 ms instead of 4 to 5 (3,300
edges), with 65 1 ms instead of 6 to 8 (8,000 edges), with 490 22 instead of 140 (28,000 edges); but with 30
16 instead of 9 (chains of 60)."""

TIMES_CLOSED_BEFORE_SORTING = 6
"""Additions for which a dense closure is computed anew before it is sorted by objects, once for all that
follow. Measured: sorting takes 4 to 7 times as long as computing it anew, then an edge takes 0.6 ms instead
of 2 (8,000 edges), and 2.6 instead of 22 (28,000 edges)."""

MIN_EDGES_PER_JOINED = 4
"""Edges per pair of a new edge and a source that reaches it. With fewer, the closures with and without the
new edges are compared. Measured: that is up to five times as fast with 10,000 nodes and 100,000 edges, and
takes ten times as long in a tree."""

NODES_MET_AT_FIRST = 64
"""Nodes, beside twice those that it starts from, for which a search has room at first. With more, it begins
again with four times as much. Not tuned: the arrays of the first search take microseconds."""

MIN_EDGES_PER_NODE_MET = 16
"""Edges of a graph for each node that a search has room for. With fewer, the whole graph is numbered first.
Measured: 62,900 nodes of 284,300 edges take 15 ms, by search 30; 1,000 facts out of museums 0.16 to 0.2 s
with 16, 0.18 to 0.19 with 4, 0.2 to 0.21 with 1, 0.22 without."""

MAX_WORDS_PER_EDGE = 16
"""64-bit words per edge of a reachability matrix that is computed without trying lists first. Lists are given
up when they have more pairs than the matrix has words. Measured: with 27 words an edge, lists of 0.15 pairs a
word take 0.7 ms and the matrix 1.7; with 20, lists of two pairs a word 25 ms and the matrix 8, and lists that
are given up take at most half as long as the matrix. With 4 to 15 and up to 0.4 pairs a word, lists would
save up to half of 0.4 to 0.9 ms."""

WORDS_PER_STEP = 8
"""Words of a matrix that are computed in the time in which a walk reaches one more node. Measured, graphs of
5,000 nodes: a step for 7 words takes 1.5 ms by walks and 2.4 by matrices, a step for 3.3 words 4.7 and 3.6.
With a limit of 4 or 2, walks that are given up make it 8 and 9 ms instead of 5.5."""

MIN_STEPS_WALKED = 1 << 12
"""Steps of a walk that are taken whatever a matrix costs. Measured: with 80 nodes in trees, walks before and
after a removal take 0.2 ms, matrices 2 ms."""

MAX_WORDS_PER_BLOCK = 1 << 22
"""Words of one block of a matrix that is read and discarded: 32 MB. Measured: from 1/16 of this to twice as
many the same time within noise; with 1/64 it takes 1.1 to 1.9 times as long."""

MIN_WORDS_OF_DIFFERENCE = 1 << 16
"""Words with room for what two matrices differ in, at first: 1 MB. With more, they are compared twice.
Measured: comparing always twice takes up to 8 % longer; 1/16 and 16 times as many words take as long."""

WORDS_UNPACKED_AT_ONCE = 1 << 12
"""Words whose bits become pairs at a time: up to 262,144, with some 10 MB of intermediate results.
Measured: half and double take as long within 5 %, 16 and 256 times as many 1.1 to 1.2 times as long."""

MAX_IDS_PER_TERM = 8
"""Ids between the least and the greatest term, per term. With more, binary search replaces a table.
Measured: among 100,000 nodes with 8 ids each, 0.7 ms by table and 9.8 by search; with 32 ids each, 2.6 and
11 ms; among 1,000 nodes with 32 ids each, 22 and 19 µs."""

MAX_IDS_PER_TERM_FOUND = 64
"""Ids between the least and the greatest node, per term that is looked up. With more, binary search replaces
a table. Measured, 1,000 facts out: of twelve museums 67 ms with 16, 65 with 64, 63 with 256; of ten
universities 24, 22 and 22, and 23 with 1024."""

MIN_PAIRS_COMPRESSED = 1 << 20
"""Pairs from which on a closure is compressed. With fewer, a list of pairs takes less than 8 MB. Measured
with a million pairs: what one node reaches is read in 40 µs, from a list in 8; 20,000 pairs are looked up in
0.5 ms, in a list in 1.9. With 160,000 pairs: 33 and 5 µs, 0.4 and 0.8 ms. So memory decides."""

MIN_PAIRS_STAYING_COMPRESSED = MIN_PAIRS_COMPRESSED // 4
"""Pairs from which on a closure stays compressed that was so before: to compare a list with an index takes
more time than to compare two indices. Measured with 300,000 to a million pairs: 4 to 19 ms, and 0.03."""

MAX_PATHS_TRIED_FIRST = 4
"""Paths per node and edge of a sparse graph up to which they are listed before intervals are merged. Measured
with 100,000 edges: chains of 5 take 15 ms instead of 24 to 38, random graphs 25 and 31 instead of 45 and 58;
chains of 12, and trees with ten edges a node, 25 and 33 instead of 59 and 71, with a limit of 2 as long as
without; graphs of more paths take as long within noise."""

MAX_FACTS_BESIDE_PER_EDGE = 1 / 2
"""Facts listed beside a compressed closure, or missing in it, per edge. For more, it is computed anew.
Measured, twelve times 1,000 facts out, none back: of twelve museums under Claros-LE (87,000 edges, some
20,000 facts a time) 61 ms in the mean, 80 with 1/8, 85 with 1/32, 61 with 2; of ten universities under
LUBM-LE (156,000 edges) 22 to 24 ms with 1/8 to 2, 41 with 1/32. Reads with 1/8 and with 1, over none: objects
of 300 nodes 1.3 and 2.2 times as long (0.3 ms), single look-ups 1.6, pairs 1.1, counts of 20,000 nodes 1.9
and 3.6 times (0.2 ms)."""

MIN_PAIRS_PER_INTERVAL = 8
"""Pairs per interval, node and edge of a closure held as intervals. Measured: a list is as small with 2
pairs, and 4 to 6 times as large with 7 to 10."""

MAX_INTERVALS_PER_EDGE = 4
"""Intervals per edge and node that are computed before a closure is listed instead. Measured: graphs of near
edges have 1.1, and with a limit of 1 their 7 million pairs take 32 ms instead of 1.6. In random graphs and
trees, which are listed, a limit of 4 takes 1.3 to 1.5 times as long as a limit of 1, and one of 16 up to 1.7
times."""

INTERVALS_MERGED_PER_EDGE = 64
"""Intervals per edge and node that are merged before a closure is listed instead. Measured on 3,000 nodes
above two hubs with 3,000 scattered leaves: listed after 87 ms, with 16 after 45, with 128 after 144;
compressed without a limit after 178. In trees, grids and random graphs 16 to 256 make no difference."""

WORDS_PER_INTERVAL = 16
"""Words of a matrix that are computed in the time in which an interval is merged.
Measured: 28 ns an interval, 2 ns a word with 10,000 nodes and 100,000 edges."""

MIN_PAIRS_PER_WORD = 4
"""Pairs per 64-bit word of a closure held as bits. With fewer, a list is no more than four times as large.
Not tuned: a pair and a word take 8 bytes each."""

MIN_COPIES_PER_FACT = 8
"""Copies per fact of a relation that is held as facts and cliques of equal terms. With fewer, a list is
less than four times as large. Not tuned: in both orders a fact takes 32 bytes, a copy in a list 16."""

EDGES_PER_STEP = 1 << 16
"""Edges whose ends are numbered, and compared, at a time: a graph needs fewer columns as long as its edges.
Not tuned: columns that fit the processor's cache. Measured on 2.5 million edges: 80 MB less at the peak."""
