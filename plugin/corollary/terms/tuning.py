"""The tuning constants of terms: what is limited, in which unit, and measurements."""

MAX_RECENT_IDS = 1 << 16
"""Entries of the cache of ids found in the tables. The full cache is emptied. Measured: an entry with an
IRI of some 50 characters takes 171 bytes, a full cache 11 MB."""

MIN_TEXTS_TOGETHER = 256
"""Terms that are looked up together in the tables. Measured: one by one they take 13 to
16 µs each, 32 together 6, 256 together 1.7, 1,024 together 1. Each search together moves the
young terms into the tables."""

MIN_SLOTS = 1 << 10
"""Hash slots of the smallest table: 4 KB. Not tuned: a table grows by ``GROWTH_OF_SLOTS``."""

MAX_TEXTS_PER_SLOT = 0.75
"""Texts for each hash slot from which on a table gets more slots. Measured on the 1.6 million terms of 5.5
million triples: look-ups take 0.52, 0.48 to 0.53 and 0.50 s with 0.6, this and 0.85; the dictionary has 9.1,
8.6 and 8.4 bytes a triple."""

HASHES_AT_ONCE = 1 << 10
"""Hashes that are computed before the slots of their texts are looked for, so that the processor waits for
many slots at once. Not tuned: 4 KB."""

GROWTH_OF_SLOTS = 1.5
"""Hash slots of a larger table, for each of the smaller one. Measured on these terms: to enter them again
takes 0.18, 0.09 and 0.06 s with 1.25, this and 2; the dictionary has 8.5, 8.6 and 9.2 bytes a triple."""

ROOM_IN_FILE = 1 / 16
"""Texts that may be appended to those of a snapshot, for each of them, before the hash slots are made anew.
Not tuned: as much as appended texts may well be, and 0.05 bytes a fact of an encyclopaedia."""

MAX_SPARE_SLOTS = 1 << 16
"""Hash slots beyond those that a snapshot needs, from which on it gets fewer. Measured: to enter a text takes
34 ns; these are 256 KB. An encyclopaedia of 503,000 terms has 1.72 bytes of slots a fact instead of 2.42."""

TEXTS_PER_PART = 1 << 18
"""Texts that are decoded, or entered in hash slots, together where all texts of a table are read. A multiple
of ``TEXTS_PER_HEAD``. Measured: the terms of LUBM-10 are
numbered in another dictionary in 24, 19, 18, 19 and 20 ms with 16,384, half, this, double, and all, those of
a market in 10, 6, 6, 6 and 6."""

MAX_RECENT_ROWS = 1 << 12
"""Entries of the cache of recent rows in which repeated texts are noticed. It fits the processor's cache:
32 KB. Measured on 200,000 rows of 2,000 to 200,000 texts: with 256 to 65,536 entries the same time within
5 %, with one entry 5 to 14 % more."""

MAX_NUMBERS_CACHED = 4096
"""Entries of the cache of parsed numbers. Measured: a number is parsed in 0.9 (double), 1.9 (decimal) or
2.6 µs (integer), and found in the cache in 0.12 µs. The number of entries was not varied."""

MIN_TEXTS_ON_COLUMNS = 256
"""Literals whose forms are found on columns. Measured: alone 0.7 to 1.7 µs each; 64 together 0.5 µs
(plain) to 7.6 (numbers), 1,024 together 0.05 to 1.1."""

MAX_MARKERS_ON_COLUMNS = 64
"""Datatypes and languages in a chunk of literals that are looked for on columns; further ones one by one.
Measured on 50,000 literals: of 30 languages 32 and more take 10 ms, 16 take 22; of 100 languages 32 take 34,
64 take 27, 128 take 22; of 300 languages 16 to 1,000 take 43 to 47. 1,000 literals take the same time with 4
to 64, and up to twice as long with 1,000."""

LITERALS_PER_CHUNK = 1 << 18
"""Literals whose forms are looked at together. Measured: 23 MB of intermediate results where literals have 36
characters, 6 MB for a quarter as many, which take 80 ns each instead of 100."""

MAX_DIGITS_AT_ONCE = 2_000
"""Digits of a year that ``int`` reads at once. Not tuned: Python allows to set the limit of ``int`` to 640 at
least, to 4,300 by default. Measured: 300,000 digits take 0.3 s, at once 8 s."""

MAX_CHARACTERS_OF_XML_AT_ONCE = 1_024
"""Characters of an XML literal that are read between two checks of the limits. Measured: of 100,000 elements
within each other, 1,024 characters take up to 0.2 s, 8,192 up to 1.9 s; flat XML takes the same time."""
