"""The tuning constants of the search for proofs: what is limited, in which unit, and measurements."""

MAX_NODES_FOR_ALL_PATHS = 16
"""Nodes between two ends. With more, the first paths are enough: the fact has too many other instances."""

MAX_NODES_FOR_ALL_EDGES = 128
"""Nodes between two ends. With more, only explicit and near edges are searched."""

MAX_NODES_FOR_NEAR_EDGES = 1024
"""Nodes between two ends. With more, only explicit edges are searched."""

GROWTH_DIVISOR = 8
"""The graph grows by about 1/GROWTH_DIVISOR before the next choice, because each choice traverses it."""

MAX_DETOURS = 8
"""Alternatives of a shortest path that are searched, unless ``Effort.eager``."""

MAX_MATCHES_SHOWN = 10
"""Matches of an aggregate whose facts become premises."""
