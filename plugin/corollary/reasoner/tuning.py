"""The tuning constants of the reasoner: what is limited, in which unit, and measurements."""

SECONDS_SLEPT_WHILE_OTHERS_DERIVE = 0.002
"""Seconds that a thread sleeps between two checks of its limits while another thread derives. Not tuned:
nobody sees so short a delay."""

FACTS_PER_CHUNK = 1 << 14
"""Facts of a scan that are unpacked at a time; limits are checked between chunks. Not tuned."""

FACTS_SORTED_PER_LOOK_UP = 256
"""Facts that can be sorted by subject in the time of one look-up in the index. Not tuned."""

MAX_FACTS_COMPARED = 1 << 13
"""Facts of a predicate in two states that are compared one with the other, to find what a view shows now. Of
more, only what changed on a common base is looked at; else the view is computed anew. Measured: 10 to 20 ns
a fact."""

SECONDS_TO_LOOK_AGAIN = 0.1
"""Seconds that a change waits for another thread's transaction before it checks whether that still runs. Not
tuned: nobody sees so short a delay."""

MAX_BYTES_PER_ROW = 1 << 26
"""Bytes of the largest blob in one row. SQLite's own limit is a billion bytes. Not tuned."""

ROW_COST_IN_FACTS = 16
"""The fixed cost of one row, in the unit "cost of one fact (or term) in a row". Not tuned."""

MIN_ROWS_TO_REWRITE = 1 << 10
"""Rows. A table with fewer rows is not rewritten (``changes``: with a weight below their fixed cost). Not
tuned."""

MAX_JOURNAL_BYTES = 1 << 20
"""Bytes of SQLite's rollback journal that stay allocated on the disk between commits. Not tuned."""

MIN_FACTS_TO_CHECKPOINT = 1 << 14
"""Facts of I. A folder with fewer gets no snapshot unless it is asked for: to read and derive so few takes
some hundredths of a second (not tuned; LUBM-10, 1.9 million, takes 0.2 s)."""

MIN_FACTS_PER_FACT_AFTER_CHECKPOINT = 2
"""Facts of I. A commit writes a checkpoint if there are fewer for each fact that was journalled after the
last one. So the facts of all checkpoints together are at most a few times those that were committed. Not
tuned."""

MIN_FACTS_PER_FACT_LEFT_AT_CLOSE = 16
"""The same when a folder is closed: nothing waits for that, and the next opening follows what is left. Not
tuned."""

MAX_LINES_PRINTED = 10
"""Lines: at most this many predicates, and as many graphs, are printed. ``as_dict`` has all of them. Not
tuned: what fits a screen."""

MAX_CLASHES_SHOWN = 50
"""Inconsistencies in a notebook's table. Not tuned: some two screens."""
