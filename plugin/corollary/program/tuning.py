"""The tuning constants of programs: what is limited, and in which unit."""

MAX_NODES_NAMED = 12
"""Nodes of a component that a text or a picture names; a text has at most 10 times as many components. Not
tuned: what fits on a line."""
