"""The tuning constants of programs: what is limited, and in which unit."""

MAX_NODES_NAMED = 12
"""Nodes of a component that a text or a picture names; a text has at most 10 times as many components."""

MAX_SECONDS_DRAWN = 10
"""Seconds that Graphviz may draw a picture for a notebook."""

MAX_COMPONENTS_DRAWN = 100
"""Components of such a picture. Measured: Graphviz draws 100 in 0.3 s; nobody can read more."""
