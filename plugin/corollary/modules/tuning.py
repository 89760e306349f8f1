"""The tuning constants of modules: what is limited, in which unit, and measurements."""

MAX_READS_KEPT = 4
"""States of the facts for which the list module keeps the facts of all readings. A removal reads the lists of
I before it, of the proved facts, and of I after it, each several times. Reading takes 2 µs for each cell."""
