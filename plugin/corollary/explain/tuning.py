"""The tuning constants of the search for proofs: what is limited, in which unit, and measurements."""

MAX_NODES_FOR_ALL_PATHS = 16
"""Nodes between two ends. With more, the first paths are enough: the fact has too many other instances.
Measured: 12 proofs of long paths take 144, 142, 179 and 332 ms with 8, 16, 32 and any number, 30 of a museum
53, 51, 52 and 243; there, any number makes the proofs longer."""

MAX_NODES_FOR_ALL_EDGES = 128
"""Nodes between two ends. With more, far edges are searched instead of all edges that other rules derive.
Measured: 0, 64, 128 and 256 nodes take 150, 152, 147 and 138 ms for 12 proofs of long paths, 102, 50, 50 and
50 for 6 of equal terms, whose proofs are longer with 0."""

MAX_NODES_FOR_DETOURS = 1024
"""Nodes between two ends. With more, no alternatives of a shortest path over near edges are searched, unless
several proofs are asked for. Measured: with half, this, double and any number, 12 proofs of long paths take
132, 139, 160 and 180 ms, and 30 of a museum 52, 58, 84 and 72."""

MAX_NODES_OF_DERIVED_EDGES = 1 << 14
"""Nodes between the ends of edges that other rules derive, in one round. Further ones get no paths. Measured:
with half, this, double and any number, 12 proofs of long paths take 150, 157, 165 and 174 ms, and are as
long; in a university and in a museum all take as long."""

NODES_PER_SEARCH = 512
"""The cost of the search for one such path, in nodes: 0.5 ms. Measured: with half, this and double, 12 proofs
of long paths take 148, 137 and 125 ms; others take as long."""

MAX_FAR_LEVELS = 8
"""Levels of far edges: rules that are applied to each other's conclusions. Measured: 1, 4, 8 and 16 differ by
the noise of four data sets; their proofs need one."""

MAX_FACTS_READ_PER_NODE = 16
"""Facts of a relation at the nodes of a path, per node. With more, far edges read only some of its facts.
Measured: half, this, double and any number differ by the noise of four data sets (12 proofs of long paths:
131 to 141 ms)."""

MAX_ROWS_OF_EDGES = 1 << 21
"""Edges that one run of the rules returns, as far as the runs before show. 2M edges: about 2 s, 100 MB. Not
tuned: a bound on memory and time."""

MIN_NODES_OF_EDGES = 64
"""Nodes whose edges the first run finds. Measured: a run for one node takes 1 ms, for 64 nodes 1.1 ms."""

NODES_AHEAD = 8
"""Nodes whose edges a run finds, for each node that the search has reached. Measured: 0, 4, 8 and 16 take
148, 138, 141 and 136 ms for 12 proofs of long paths; others differ by noise."""

MAX_EDGES_CACHED = 64
"""Sets of nodes whose edges are kept. Measured: half, this and double take as long; with one, 30 proofs of a
museum take 71 instead of 48 ms, 6 of equal terms 56 instead of 41."""

GROWTH_DIVISOR = 8
"""The graph grows by about 1/GROWTH_DIVISOR before the next choice, because each choice traverses it.
Measured: 4, 8 and 16 take 119, 115 and 118 ms for 12 proofs of long paths, 1 141."""

MAX_FACTS_EXPANDED_AT_ONCE = 2048
"""Facts between two looks at the budget, if eager: 0.1 s in a clique of 15 terms. Measured: half and double
differ by the noise of four data sets."""

MAX_DETOURS = 8
"""Alternatives of a shortest path that are searched, unless ``Effort.eager``. Measured: 0, 4, 8 and 16 take
105, 110, 121 and 157 ms for 12 proofs of long paths, which are as long."""

MAX_MATCHES_SHOWN = 10
"""Matches of an aggregate whose facts become premises. Not tuned: what a proof shows."""

BUDGET_PER_PREMISE = 32
"""Instances added to the budget of a search for each inferred premise of the longest instance: a path of
100,000. Measured: 0, half and double differ by noise for 12 proofs of paths up to 1,500 (109 to 115 ms)."""

ROWS_PER_INSTANCE = 128
"""Rows of joins that count as one instance. Measured: half and double take as long in three data sets; an
instance takes 10 µs, a row some 80 ns."""

NODES_PER_INSTANCE = 4
"""Nodes reached by searches of paths that count as one instance. Measured: half and double take 124 and 111
ms, this 120, for 12 proofs of long paths; a node takes some 2.5 µs."""

MAX_INSTANCES = 100_000
"""The budget of a search, and the instances of one rule for one fact in the last one: 1 to 3 s. Not tuned:
the time that a user waits."""

MAX_INSTANCES_IF_EXPLICIT = 10_000
"""The same for an explicit fact, which needs no proof: the searches take 1 to 2 s in a clique of 10,000. Not
tuned: the time that a user waits."""

MAX_FACTS_FOR_LEVELS = 4_096
"""Facts of a materialisation. With more, only facts that a search backward has met are proved by levels.
Measured: levels take 0.1 to 0.3 ms a fact, in chains and in cliques of equal terms."""

MAX_LEVELS = 64
"""Levels of proved facts: each is a run of all rules, 1 to 5 ms. Cliques of equal terms have up to 15.
Measured: half and double take as long in three data sets, which need fewer."""

INSTANCES_PER_AGGREGATED_FACT = 100
"""The cost of finding the matches of an aggregate for one fact, in instances: some 1 ms. Not tuned: the times
of both, rounded."""

MAX_LEVELS_OPEN = 2
"""Levels of a proof that a page shows before anything is opened. Not tuned: what fits a screen."""

MAX_INSTANCES_PER_FACT_LAZILY, MAX_INSTANCES_PER_FACT_EAGERLY = 100, 10
"""Instances of one rule for one fact in a search that expands facts as it needs them, and in one that expands
the whole graph first. Not tuned: instances that no proof needs take the budget of others."""

MAX_INSTANCES_LAZILY, MAX_COST_LAZILY = 3_000, 30_000
"""The budget of the first search, in instances, and the limit of its cost, in the same unit. Not tuned: at 10
µs an instance, 30 and 300 ms before the next search."""

MAX_COPIES_PROVED = 8
"""Copies of one inconsistency that are proved, to print the shortest proof: each takes 1 to 50 ms. Not tuned:
at most some 0.4 s."""

PREMISES_SHOWN_AT_ENDS = 6
"""Premises of one step that a page or a picture shows at the beginning and at the end, if there are more. Not
tuned: what fits a screen."""

MAX_FACTS_DRAWN = 40
"""Facts of one proof in a picture, unless all are asked for: more do not fit on a screen. Not tuned: for this
reason."""

MAX_NEAREST = 3
"""Rule instances that are printed for a fact that does not hold. Not tuned: what is read at a glance."""

MAX_FACTS_MISSING = 2
"""Facts that such an instance may miss: with more, nearly every rule of the profiles has one. Not tuned: for
this reason."""

MAX_LEVELS_MISSING = 3
"""Rules between a fact that does not hold and the facts that are named as missing. Not tuned: what a person
follows."""

MAX_FACTS_SEARCHED = 24
"""Missing facts whose own nearest instances are searched. Not tuned: a bound on time."""

MAX_MATCHES_TRIED, MAX_INSTANCES_TRIED = 16, 32
"""Facts that are tried for one atom, and partial instances that are kept after each atom, in this search. Not
tuned: at most 512 look-ups for an atom."""
