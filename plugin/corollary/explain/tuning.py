"""The tuning constants of the search for proofs: what is limited, in which unit, and measurements."""

MAX_NODES_FOR_ALL_PATHS = 16
"""Nodes between two ends. With more, the first paths are enough: the fact has too many other instances.
Measured on 40 facts of a thesaurus: 2 and 16 take 2.1 s, 128 take 18 s; the proofs are as short."""

MAX_NODES_FOR_ALL_EDGES = 128
"""Nodes between two ends. With more, far edges are searched instead of all edges that other rules derive. Not
tuned."""

MAX_NODES_FOR_DETOURS = 1024
"""Nodes between two ends. With more, no alternatives of a shortest path over near edges are searched, unless
several proofs are asked for. Not tuned."""

MAX_NODES_OF_DERIVED_EDGES = 1 << 14
"""Nodes between the ends of edges that other rules derive, in one round. Further ones get no paths. Not
tuned."""

NODES_PER_SEARCH = 512
"""The cost of the search for one such path, in nodes. Measured: 0.5 ms."""

MAX_FAR_LEVELS = 8
"""Levels of far edges: rules that are applied to each other's conclusions. Not tuned."""

MAX_FACTS_READ_PER_NODE = 16
"""Facts of a relation at the nodes of a path, per node. With more, far edges read only some of its facts. Not
tuned."""

MAX_ROWS_OF_EDGES = 1 << 21
"""Edges that one run of the rules returns, as far as the runs before show. Measured: 2 million edges take
about 2 s and 100 MB."""

MIN_NODES_OF_EDGES = 64
"""Nodes whose edges the first run finds. Measured: a run for one node takes 1 ms, for 64 nodes 1.1 ms."""

NODES_AHEAD = 8
"""Nodes whose edges a run finds, for each node that the search has reached. Not tuned."""

MAX_EDGES_CACHED = 64
"""Sets of nodes whose edges are kept. Not tuned."""

GROWTH_DIVISOR = 8
"""The graph grows by about 1/GROWTH_DIVISOR before the next choice, because each choice traverses it. Not
tuned."""

MAX_FACTS_EXPANDED_AT_ONCE = 2048
"""Facts between two looks at the budget, if eager. Measured: 0.1 s in a clique of 15 terms."""

MAX_DETOURS = 8
"""Alternatives of a shortest path that are searched, unless ``Effort.eager``. Not tuned."""

MAX_MATCHES_SHOWN = 10
"""Matches of an aggregate whose facts become premises. Not tuned: what fits a screen."""

BUDGET_PER_PREMISE = 32
"""Instances added to the budget of a search for each inferred premise of the longest instance: a path of
100,000. Not tuned."""

ROWS_PER_INSTANCE = 128
"""Rows of joins that count as one instance. Measured: an instance takes 10 µs, a row some 80 ns."""

NODES_PER_INSTANCE = 4
"""Nodes reached by searches of paths that count as one instance. Measured: a node takes some 2.5 µs."""

MAX_INSTANCES = 100_000
"""The budget of a search, and the instances of one rule for one fact in the last one. Measured: 1 to 3 s."""

MAX_INSTANCES_IF_EXPLICIT = 10_000
"""The same for an explicit fact, which needs no proof. Measured: the searches take 1 to 2 s in a clique of
10,000."""

MAX_FACTS_FOR_LEVELS = 4_096
"""Facts of a materialisation. With more, only facts that a search backward has met are proved by levels.
Measured: levels take 0.1 to 0.3 ms a fact, in chains and in cliques of equal terms."""

MAX_LEVELS = 64
"""Levels of proved facts: each is a run of all rules. Measured: 1 to 5 ms. Cliques of equal terms have up to
15."""

INSTANCES_PER_AGGREGATED_FACT = 100
"""The cost of finding the matches of an aggregate for one fact, in instances. Measured: some 1 ms."""

MAX_LEVELS_OPEN = 2
"""Levels of a proof that a page shows before anything is opened. Not tuned: what fits a screen."""

MAX_INSTANCES_PER_FACT_LAZILY, MAX_INSTANCES_PER_FACT_EAGERLY = 100, 10
"""Instances of one rule for one fact in a search that expands facts as it needs them, and in one that expands
the whole graph first. Not tuned."""

MAX_INSTANCES_LAZILY, MAX_COST_LAZILY = 3_000, 30_000
"""The budget of the first search, in instances, and the limit of its cost, in the same unit. Not tuned."""

MAX_COPIES_PROVED = 8
"""Copies of one inconsistency that are proved, to print the shortest proof. Measured: each takes 1 to 50
ms."""

PREMISES_SHOWN_AT_ENDS = 6
"""Premises of one step that a page or a picture shows at the beginning and at the end, if there are more.
Not tuned: what fits a screen."""

MAX_FACTS_DRAWN = 40
"""Facts of one proof in a picture, unless all are asked for. Not tuned: more do not fit on a screen."""

MAX_NEAREST = 3
"""Rule instances that are printed for a fact that does not hold. Not tuned: what fits a screen."""

MAX_FACTS_MISSING = 2
"""Facts that such an instance may miss: with more, nearly every rule of the profiles has one. Not tuned."""

MAX_LEVELS_MISSING = 3
"""Rules between a fact that does not hold and the facts that are named as missing. Not tuned."""

MAX_FACTS_SEARCHED = 24
"""Missing facts whose own nearest instances are searched. Not tuned."""

MAX_MATCHES_TRIED, MAX_INSTANCES_TRIED = 16, 32
"""Facts that are tried for one atom, and partial instances that are kept after each atom, in this search. Not
tuned."""
