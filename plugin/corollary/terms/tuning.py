"""The tuning constants of terms: what is limited, in which unit, and measurements."""

MAX_RECENT_IDS = 1 << 16
"""Entries of the cache of ids found in the tables. The full cache is emptied. Measured: an entry with an
IRI of some 50 characters takes 171 bytes, a full cache 11 MB."""

MIN_TEXTS_TOGETHER = 256
"""Terms that are looked up together in the tables. One by one takes 10 us each, together 0.5 us."""

MIN_SLOTS = 1 << 10
"""Hash slots of the smallest table."""

MAX_RECENT_ROWS = 1 << 12
"""Entries of the cache of recent rows in which repeated texts are noticed. It fits the processor's cache:
32 KB. The number of entries was not varied."""

MAX_NUMBERS_CACHED = 4096
"""Entries of the cache of parsed numbers. Measured: a number is parsed in 0.9 (double), 1.9 (decimal) or
2.6 µs (integer), and found in the cache in 0.12 µs. The number of entries was not varied."""

MIN_TEXTS_ON_COLUMNS = 256
"""Literals whose forms are found on columns. Measured: alone 0.7 to 1.7 µs each; 64 together 0.5 µs
(plain) to 7.6 (numbers), 1,024 together 0.05 to 1.1."""

MAX_MARKERS_ON_COLUMNS = 64
"""Datatypes and languages in a chunk of literals that are looked for on columns; further ones one by one."""

LITERALS_PER_CHUNK = 1 << 18
"""Literals whose forms are looked at together: some 50 MB of intermediate results."""
