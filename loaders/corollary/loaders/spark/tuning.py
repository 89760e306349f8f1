"""The tuning constants of Spark: what is limited, in which unit, and measurements."""

MAX_EDGES_BROADCAST = 2_000_000
"""The maximal number of edges of one relation that is broadcast to every executor."""

SOURCES_PER_CLOSURE = 4096
"""Number of start nodes of one reachability computation."""

MAX_ROWS_PER_FILE = 4_000_000
"""Maximal number of rows that one task sorts and writes, unless the number of files is given."""

MIN_FACTS_PER_RECENT_FACT = 8
"""A round is expected to derive few facts if less than 1/8 of all facts are recent."""

MAX_ROWS_BROADCAST = 500_000
"""The maximal number of rows that a join broadcasts to every executor. Larger sides are shuffled."""

MAX_VALUES_LISTED = 64
"""The maximal number of values in an IN condition. The condition lets Parquet skip most row groups."""

COPYING_THREADS = 8
"""Number of threads on the driver that copy files."""

STATEMENTS_PER_CHUNK = 1 << 18
"""A chunk is emitted when it has this many statements."""

BYTES_PER_CHUNK = 1 << 28
"""A chunk is emitted when it has read this many bytes: the offsets of a string column have 31 bits."""

MAX_BAD_LINES = 1000
"""Bad lines that a load tolerates, by default. Not measured."""

MAX_BAD_LINES_LISTED = 5
"""Bad lines that an error message lists."""
