"""The tuning constants of Spark: what is limited, in which unit, and reasons.

No cluster was at hand to measure them.
"""

MAX_EDGES_BROADCAST = 2_000_000
"""The maximal number of edges of one relation that is broadcast to every executor. Not tuned: a bound on
memory, 16 MB for keys of 8 bytes."""

SOURCES_PER_CLOSURE = 4096
"""Number of start nodes of one reachability computation. Not tuned: a bound on the memory of a task."""

MAX_ROWS_PER_FILE = 4_000_000
"""Maximal number of rows that one task sorts and writes, unless the number of files is given. Not tuned: a
bound on the memory of a task, 48 MB for three ids."""

MIN_FACTS_PER_RECENT_FACT = 8
"""A round is expected to derive few facts if less than 1/8 of all facts are recent. Not tuned: an estimate of
a round."""

MAX_ROWS_BROADCAST = 500_000
"""The maximal number of rows that a join broadcasts to every executor. Larger sides are shuffled. Not tuned:
a bound on memory, 6 MB for three ids."""

MAX_VALUES_LISTED = 64
"""The maximal number of values in an IN condition. The condition lets Parquet skip most row groups. Not
tuned: it keeps the condition short."""

MAX_TERMS_LISTED = 1000
"""The maximal number of terms that one condition looks up. More are joined. Not tuned: the condition is
sent to every task."""

COPYING_THREADS = 8
"""Number of threads on the driver that copy files. Not tuned: they wait for storage."""

BYTES_PER_TASK = 1 << 27
"""Bytes of local files that one task reads at most, unless one compressed file has more. Not tuned: Spark's
own limit for a task."""

MIN_BYTES_PER_TASK = 1 << 22
"""Bytes of local files below which a task does not pay. Not tuned: what Spark takes the opening of a file to
cost."""

BYTES_PER_SHARE = 1 << 29
"""Bytes of documents for each share of terms. Not tuned: a bound on the memory of the task that numbers the
share, some 500 MB."""

MANY_TIMES = 8
"""A warning says that few files are asked for, where a task gets this many times what the default gives it.
Not tuned: then a worker takes some 4 GB."""

MAX_BYTES_PER_ROW = (1 << 31) - (1 << 16)
"""Bytes at most of a file that a task makes, which is one row. Not tuned: the limit of arrays in Java and of
Arrow, less room for the other columns."""

STATEMENTS_PER_CHUNK = 1 << 18
"""A chunk is emitted when it has this many statements. Not tuned: a bound on the memory of a task."""

BYTES_PER_CHUNK = 1 << 28
"""A chunk is emitted when it has read this many bytes: the offsets of a string column have 31 bits. Not
tuned: an eighth of them."""

MAX_BAD_LINES = 1000
"""Bad lines that a load tolerates, by default. Not tuned: ``--most-bad-lines`` sets it."""

MAX_BAD_LINES_LISTED = 5
"""Bad lines that an error message lists. Not tuned: they show what is wrong."""

MAX_FACTS_IN_ONE_TASK = 16_000_000
"""Explicit facts up to which one task, with the engine, loads or closes a data set, if the number of files is
not given. Not tuned: a bound on the memory of a Python worker, some 1 GB and as much for what follows."""

BYTES_PER_PIECE = 1 << 23
"""Bytes of a file that the worker returns in one row. Not tuned: a bound on the memory for a row."""

FACTS_PER_ROW = 1 << 20
"""Facts that one row of packed facts has at most. Not tuned: a bound on the memory for a row, 8 MB."""

FACTS_PER_CUT = 1 << 20
"""Rows of Arrow batches that a task takes up together, such as facts that are cut into partitions. Not tuned:
a bound on the memory of a task, 12 MB for ids."""

FACTS_PER_SAMPLE = 1 << 10
"""Facts for each fact of the sample that divides the inferred facts into files. Not tuned: a file of four
million rows has four thousand."""

MAX_RULES_CUT = 1000
"""Rules for partitions, where instances by guards are needed. Not tuned: every task compiles them."""

MAX_CUTS = 4
"""Times that a program is cut, before it is evaluated by joins. Not tuned: each may repeat all rounds; users'
rules with new properties need two."""

MAX_FACTS_REPLICATED = 1_000_000
"""Explicit facts of a predicate that every partition gets at most. Not tuned: a bound on the memory of a
task, 8 MB and as much for what follows."""

MAX_PAIRS_OF_STEP = 20_000_000
"""Pairs of explicit facts with one object at most, where a step of a join makes facts of them. Not tuned: a
bound on the memory of all tasks, 320 MB in both orders."""

MAX_EDGES_EXCHANGED = 1_000_000
"""Explicit facts of a relation up to which its transitive closure is found by exchanges. Not tuned: in a
partition it joins all predecessors of a node with all successors."""

MAX_FACTS_OF_CLASHES = 500_000
"""Facts that may take part in inconsistencies, which the driver collects at most. Not tuned: a bound on its
memory, some 100 MB with the texts of their terms."""

MAX_PAIRS_OF_ITEMS = 4_000_000
"""Pairs of items of lists that the driver lists at most, for constraints with PAIR. Not tuned: a bound on its
memory, 32 MB and as much for what it joins."""

MAX_FACTS_PER_PARTITION = 2_000_000
"""Explicit facts of a partition, if the number of files is not given. Not tuned: a bound on the memory of a
Python worker, some 500 MB with what follows."""

SECONDS_BETWEEN_CLASS_DATA = 24 * 3600
"""Seconds after which another session asks Java to write class data, if there are none: it was killed, or
cannot write them, where the class path has folders. Not tuned: asking in vain takes Java some seconds."""

MAX_CLASS_DATA = 3
"""Files of class data that are kept. Not tuned: they have 150 MB each."""
