"""The tuning constants of programs: what is limited, and in which unit."""

MAX_NODES_NAMED = 12
"""Nodes of a component that a text or a picture names; a text has at most 10 times as many components. Not
tuned: what fits on a line."""

MAX_SECONDS_DRAWN = 10
"""Seconds after which a notebook stops Graphviz, and shows no picture. Not tuned: nobody waits longer."""

MAX_COMPONENTS_DRAWN = 100
"""Components of a program that a notebook draws as a picture; a program with more gets a table only.
Measured: Graphviz draws 100 components in 0.3 s. More are too small to read."""

MAX_ANONYMOUS_IN_A_TEXT = 64
"""Blank nodes in the text of an anonymous class that are written as their definitions, further ones as blank
nodes. Without a limit, 26 classes of which each has the next one twice have a text of 2^26 parts, and 3,000
nested ones exceed Python's stack. Not tuned: such a text fills a screen."""

MAX_ATOMS_MATCHED = 6
"""Atoms in the body of a rule of which a counterpart is looked for, see ``symmetry``. Not tuned: all orders
of the atoms may be tried, 720 of 6 and 3.6 million of 10; rules of symmetric relations have few."""
