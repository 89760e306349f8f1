"""The tuning constants of columns: what is limited, in which unit, and measurements."""

MAX_KEYS_FOR_NP_SORT = 2000
"""Keys up to which ``np.sort`` is at least as fast as the radix sort. Measured, ids below
1,000 and below 100,000: 1,000 keys take 13 and 14 µs, by radix sort 26 and 30; 2,000 keys 35 and 37, by radix
sort 35 and 47; 4,000 keys 91 and 86, by radix sort 50 and 76."""

KEYS_SAMPLED = 1 << 10
"""Keys from which the parts are estimated that several threads sort. Measured on 2 million keys:
the middle key of the sample is off by at most 3.5 % of all keys (with 256 keys 6.5 %, with 4,096 keys 1.6 %);
taking the sample costs 0.1 ms (0.08, 0.2 ms)."""

MAX_KEYS_NOT_MERGED = 400
"""Keys of several sorted arrays up to which they are sorted together faster than they are merged. Measured:
two arrays of 128 keys take 3 µs to sort and 6 to merge, two of 400 take 14 and 8, four of 400 82 and 40."""

SLOW_SECONDS_PER_KEY = 20e-9
"""Seconds per key of ``np.sort`` on a small array. On slower processors the radix sort is preferred.
Measured on 8,000 keys where ``np.sort`` is slow: it takes 26 to 28 ns a key, the radix sort 12 to 18. Where
it takes 9 to 16, a key of 100,000 with 36 bits takes 13 to 17 ns by ``np.sort`` and 12 to 18 by the radix
sort, one of 1.8 million 16 to 18 and 27."""

SLOW_SECONDS_PER_KEY_BY_FIRST = 4e-9
"""As above, for keys with the same first half that ascend in the second half. Measured on a processor where
``np.sort`` takes 2 to 3 ns a key for 2,000 to 64,000 keys, and 3.7 to 6.1 for 256,000 to 4 million: the radix
sort takes 17 to 3.5, and 3.4 to 9.9."""

MIN_BASE_PER_OVERLAY = 4
"""The overlay is folded into the base when MIN_BASE_PER_OVERLAY * |overlay| > |base|. Measured, 60 batches
added with look-ups between them: batches of 100 to 200,000 facts, and of 1,000 to 2 million, take the same
time within 10 % for 2 to 32; batches of 2,000 to 200,000 take 22 ms with 2, 27 with 8, 30 with 32, 41 with
128. 1 % of CSPA's assignments (100 k), removed and added again in turns, change up to an eighth of the
largest relation: to fold it takes 80 ms of 550, every second time with 8, and never with 4."""

MAX_COPIES_PER_BASE = 4
"""Facts of overlays that updates copy, for each fact of the base, until the overlay is folded. Measured
for 1, 4, 16 and no limit: one more of 100,000 facts takes 4.7, 4.6, 4.9 and 5.7 µs, ten more of 2
million 12, 12, 13 and 16, a thousand of 2 million 206, 175, 165 and 164."""

MAX_IDS_IN_TABLE, MAX_IDS_PER_ROW = 1 << 26, 64
"""Ids below which ``grouped`` uses a table indexed by id, of at most 256 MB, instead of binary searches; and
ids for each row. Measured: a million rows take 46 ms by table and 72 by search with 16 ids each, 55 and 72
with 64; 100,000 rows 3.6 and 5.0 with 42 ids each, 5.0 and 4.6 with 168; 1,000 rows 2.7 and 0.5
with 67,000."""

MAX_ARRAYS_MERGED = 8
"""Arrays of candidates. Up to this many are merged as sorted runs, more are concatenated and sorted.
Measured on 100,000 and on a million keys: 3 arrays are merged in a quarter to a half of the time of sorting,
8 in 60 to 80 %, 16 in as much, 32 in 1.3 to 1.7 times as much."""

KEYS_PER_STEP = 1 << 15
"""Keys whose halves are exchanged, and ids that are looked up in a table, at a time, so that intermediate
results stay in the cache. Measured: 2 ns a key instead of 3, 1.2 ns an id instead of 2.7."""

KEYS_PER_BLOCK = 1 << 8
"""Keys of a block that is not read if its first key and that of the next block have the same first half.
Measured: 2,232 values among 24.6 million keys are found in 8 ms, by reading all keys in 24."""

KEYS_READ_ONE_BY_ONE = 4
"""Keys of one half that a look-up reads one by one before it searches for their end. Measured, a million:
one takes 0.7 µs, three 0.8, five 1.7, ten 2.2; with a slice of four keys instead 1.0, 1.0, 1.6, 2.2."""

MIN_KEYS_MERGED = 1 << 14
"""Keys from which on a difference has a kernel of its own. Measured: 4.5 ns a key instead of 10 to 13 with
64,000 and a million keys, 6 instead of 8 with 16,000; to load the kernel takes 5 ms. From as many on,
distinct values are looked for in a table, and candidates that are more than the known facts are merged with
these."""

MIN_RATIO_SIEVED, ENTRIES_PER_WANTED_KEY = 4, 8
"""Keys for each wanted one from which a table of hashes leaves out most others, before the rest is sorted;
and entries of the table for each wanted key. Measured: 300,000 keys are looked up in 7 ns each; of those that
are not among 20,000 wanted ones, 7 % are left."""

MAX_RATIO_OF_DIFFERENCE = 512
"""Ratio of the sizes of two sets of keys up to which a difference is made by a kernel; else the keys of the
smaller set are searched and left out. Measured: 12 million keys less 23,000 take 24 and 29 ms."""

MAX_ROWS_NUMBERED_ONE_BY_ONE = 1 << 4
"""Rows up to which distinct values are numbered value by value. Measured: 1 row takes 3 µs, on columns 13; 8
rows 5 to 8 and 22, or 12 to 15 if they ascend; 32 rows 15 to 18 and 22, or 12 to 22."""

MIN_ROWS_FOR_TABLE, MAX_TABLE_ENTRIES_PER_ROW = 1 << 10, 8
"""Rows from which on distinct values are numbered, and looked for, by a table, and its entries for each row.
Measured on 312,000 rows: 2.5 ms with a table of 300,000 entries, 11 ms with 1.5 million, 28 ms by sorting.
Twelve million ids are looked for among 20 in 15 ms, by binary search in 225."""

PAIRS_TURNED_FIRST = 64
"""Pairs of a relation whose inverses are looked up before all pairs are sorted by object, to see whether it
is symmetric. Not tuned: in a relation that is not, 64 pairs hardly ever have all their inverses."""

MIN_DROPS_FOR_TABLE = 64
"""Sorted parts of a column. With fewer, a table has at most one entry for each row: sorting joins 2 parts of
312,000 rows in 3 to 7 ms, 64 parts in 11 to 14 ms. Measured with 5 entries for each row: 2 parts take 4 ms by
sorting and 18 by table, 64 parts 12 and 21, 256 parts 20 by either, 2,048 parts 25 and 19."""

MIN_CHUNKS_SKIPPED = 8
"""Chunks of a mapped column between those that are read. If fewer are, those between are read, too, and
nothing is copied. Not tuned: eight chunks of 32,768 keys are 2 MB, checked in about 2 ms, copied in 0.5."""

FACTS_PER_RELATION_LOOKED_UP = 128
"""Facts that enter a directory of predicates in the time of one look-up in a relation. Measured on two closed
data sets of 1.9 and 3.3 million facts: 1.2 µs a look-up by subject, 4 to 7 ns a fact; more where pages of a
file are read first."""

SLOTS_AT_ONCE = 32
"""Slots of a mapped table that are checked and read together when a text is looked for. Measured on 216,000
texts: one that is not there takes 1.38 µs with 8, 1.24 with 16, 1.19 with 32; one that is there 3.4 to
3.6."""

SLOTS_PER_FIND = 1024
"""Mapped texts of which slots and codes are checked in the time in which one text is found in the file.
Measured on
541,000 literals: 28 to 56 ns a text; 200 µs to find one where blocks are read first, 11 where not."""

MAX_LOOKS_BEFORE_SORTING, MIN_KEYS_PER_HALF_LOOKED_FOR, MIN_KEYS_PER_KEY_FOUND = 4, 64, 8
"""Looks at all keys, for those with few second halves, before the keys are sorted by these; the keys for each
half that is looked for; and for each that is found. Measured on 1.3 million keys, of which a relation had
five a half: a look for 4 halves takes 5.5 ms, for 1,500 9, for 6,500 13, for 81,000 40; sorting takes 46. On
2.4 million keys with halves up to 3 million: 9 ms for 4, 14 for 1,500, 35 for 6,500, 133 for 38,000; sorting
60 to 80. The relations of CSPA-100k are looked at once each before they are replaced."""

MIN_ROWS_TURNED, MIN_RATIO_TURNED = 512, 8
"""Rows (subject, object) from which on it is asked by which order they are looked up; and how many times as
often as the objects the subjects change from row to row, if it is that by object. Measured on 385,000 types
by few classes: 128 rows take 38 µs by subject and 40 by object, 512 75 and 57, 4,096 320 and 186; beside an
overlay 44 and 58, 100 and 94, 537 and 402. The ratio is not tuned: that of types is some hundreds."""
