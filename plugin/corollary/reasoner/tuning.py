"""The tuning constants of the reasoner: what is limited, in which unit, and measurements."""

SECONDS_SLEPT_WHILE_OTHERS_DERIVE = 0.002
"""Seconds that a thread sleeps between two checks of its limits while another thread derives. Not tuned: a
read waits that much longer at most."""

FACTS_PER_CHUNK = 1 << 14
"""Facts of a scan that are unpacked at a time; limits are checked between chunks. Measured: 1,024, half,
this, double, and all at once take as long (55 to 57 ms for the types of a university, 20 ms of a market); the
first fact comes after 0.3, 0.5 and 0.8 ms with half, this and double."""

FACTS_SORTED_PER_LOOK_UP = 1 << 10
"""Facts that can be sorted by subject in the time of one look-up in the index. Measured for 256, 512 and
1,024: 200 look-ups among 192,590 facts of a university take 9, 9 and 14 ms, 400 15, 19 and 17, 800 32, 26 and
22, 3,000 62, 56 and 51; among 119,514 of a market 9, 9 and 10, 18, 16 and 14, 28, 22 and 19, 55, 50 and
47."""

MAX_FACTS_COMPARED = 1 << 13
"""Facts of a predicate in two states that are compared one with the other, to find what a view shows now. Of
more, only what changed on a common base is looked at; else the view is computed anew, 10 to 20 ns a fact. Not
tuned: by this time, at most 0.2 ms."""

SECONDS_TO_LOOK_AGAIN = 0.1
"""Seconds that a change waits for another thread's transaction before it checks whether that still runs. Not
tuned: a transaction that ends wakes it at once."""

MAX_BYTES_PER_ROW = 1 << 26
"""Bytes of the largest blob in one row. SQLite's own limit is a billion bytes. Not tuned: a bound on memory,
64 MB."""

ROW_COST_IN_FACTS = 16
"""The fixed cost of one row, in the unit "cost of one fact (or term) in a row". Measured: a commit of one
fact adds 30 µs to an opening, and 70 bytes to the file, a fact in a commit of many 0.14 µs and 24 bytes. The
value is between both ratios."""

MIN_ROWS_TO_REWRITE = 1 << 10
"""Rows. A table with fewer rows is not rewritten (``changes``: with a weight below their fixed cost).
Measured: 400, 1,024 and 2,048 commits of one fact are opened in 14, 32 and 62 ms."""

MAX_JOURNAL_BYTES = 1 << 20
"""Bytes of SQLite's rollback journal that stay allocated on the disk between commits. Not tuned: a bound on
disk space."""

MAX_LOGGED = 1 << 7
"""Facts and terms of a commit that goes to the log. Not tuned: some kilobytes of text."""

MAX_LINE_BYTES = 1 << 14
"""Bytes of a commit that goes to the log. Not tuned: a bound on the texts of its terms."""

MAX_LOG_BYTES = 1 << 18
"""Bytes of the log. A commit that would exceed them goes to the database, with all that is logged. Measured:
1,000 commits of one fact are 146 KB. Opening takes 110 to 140 ms after a crash; a row for each took 75 ms. In
the database they become a few rows, and opening takes 2 to 18 ms; a row for each took 150 ms."""

LOG_STEP_BYTES = 1 << 16
"""Zeros that are written at a time behind the lines of the log. Measured: commits of 250 bytes take as long
with 16 KB, 64 KB and 256 KB, and 15 % longer with 1 MB; the first one takes 0.4, 0.6, 1.2 and 3.2 ms."""

MIN_FACTS_TO_CHECKPOINT = 1 << 14
"""Facts of I. A folder with fewer gets no snapshot unless it is asked for: to read and derive so few takes
some hundredths of a second. Measured without and with a snapshot: 10,199 and 18,474 facts of a market are
opened in 49 and 74, and 11 and 12 ms, 23,874 of a university in 48 and 12; closing takes some 20 ms
longer."""

MAX_FACTS_LISTED_PER_FACT = 16
"""Facts of compressed relations that a snapshot must list, per other fact and explicit one. With more, a
folder gets no snapshot unless it is asked for. Not tuned: it bounds the size of a snapshot. The list of a
chain of 100,000, which is closed in 0.1 s, would take 80 GB."""

MIN_FACTS_PER_FACT_AFTER_CHECKPOINT = 2
"""Facts of I. A commit writes a checkpoint if there are fewer for each fact that was journalled after the
last one. So the facts of all checkpoints together are at most a few times those that were committed. Not
tuned: it sets this bound."""

MIN_FACTS_PER_FACT_LEFT_AT_CLOSE = 16
"""The same when a folder is closed: nothing waits for that, and the next opening follows what is left. Not
tuned: at most 1/16 of I is followed then."""

MAX_LINES_PRINTED = 10
"""Lines: at most this many predicates, and as many graphs, are printed. ``as_dict`` has all of them. Not
tuned: what fits a screen of 24 lines."""

MAX_CLASHES_SHOWN = 50
"""Inconsistencies in a notebook's table. Not tuned: some two screens."""

SECONDS_FOR_READERS, SECONDS_BETWEEN_ATTEMPTS = 2.0, 0.005
"""How long a writer waits for processes that read a folder at the same moment, and between two looks. Not
tuned: a reader of two million facts reads for some 40 ms."""
