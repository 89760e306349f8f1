"""The tuning constants of kernels: what is limited, in which unit, and measurements."""

MIN_ELEMENTS_TO_COMPILE = 30_000
"""Array elements, summed over all calls of a kernel. Above this number the kernel is compiled. Measured:
Python takes 0.15 to 0.3 µs an element where the work is linear; to
import Numba and to load a kernel takes 0.4 s."""

MIN_ELEMENTS_TO_COMPILE_AFTER_NUMPY = 1 << 23
"""As ``MIN_ELEMENTS_TO_COMPILE``, for kernels with an interim function of NumPy. Measured: those take 6 to 25
ns an element of a thousand to a million, 50 to 200 ms for this number; to import Numba and to load a kernel
takes 0.4 s."""

MIN_ELEMENTS_TO_COMPILE_BESIDE_NUMBA = 1 << 20
"""As ``MIN_ELEMENTS_TO_COMPILE_AFTER_NUMPY``, where Numba is imported already. Measured: to load a kernel
takes 2 to 5 ms; a call with few elements takes some 20 µs by NumPy (``follow``), 2 µs compiled."""

ELEMENTS_PER_CALL_OF_NUMPY = 1 << 10
"""Array elements that a call of an interim function counts as, beside those it has. Measured: a call takes 2
to 5 µs with one element, and 12 to 28 µs with 2,000."""

MIN_ELEMENTS_FOR_THREAD = 1 << 22
"""Elements of the output array above which a kernel runs in a worker thread. Starting a thread costs 0.1 ms
(measured: 0.05 ms to start and join one that does nothing).
Filling this number of elements takes 5 to 50 ms."""

MIN_ELEMENTS_CUT = 1 << 18
"""Elements of an array that several threads may work on. Measured beside other work on two cores: 32,768
elements take 0.35 to 0.5 ms in two threads and 0.15 in one; this number 1.4 to 1.6 and 1.0; a union of 4
million 22 and 71."""

MIN_ELEMENTS_PER_PIECE = MIN_ELEMENTS_CUT // 2
"""Elements for each of these threads. Not tuned: two threads have work from ``MIN_ELEMENTS_CUT`` on."""

MIN_ELEMENTS_FOR_THREAD_TO_STOP = 1 << 16
"""As ``MIN_ELEMENTS_FOR_THREAD``, for stoppable kernels: their time is not bounded by the size of their
output. Not tuned: to start a thread takes 0.05 ms."""

MIN_BYTES_FOR_ARROW_THREAD = 1 << 22
"""Bytes of columns from which on Arrow's functions run in a worker thread. Measured: a thread takes 0.05 ms;
46 MB of texts are copied in 5 ms, searched for escapes in 4, dictionary-encoded in 31; regular expressions
take up to 100 times as long."""

SECONDS_BETWEEN_CHECKS = 0.05
"""Seconds that ``undisturbed`` waits for its worker thread between two checks of the limits. Measured: a
second of waiting takes 5 ms of processor time, with 0.1 s 5, with 0.005 s 12."""

SECONDS_BETWEEN_LOOKS = 0.1
"""Seconds between two readings of the memory in use, without a limit on it. Measured: a reading takes 86
µs."""

SECONDS_BETWEEN_LOOKS_AT_LIMIT, LOOKS_PER_LIMIT = 0.02, 16
"""As ``SECONDS_BETWEEN_LOOKS``, with a limit on memory; and the readings while as many bytes are reserved as
the limit allows. Measured: a reading takes 17 µs; new memory is filled at some 1 GB a second, so that up to
20 MB may be missed, instead of 100."""

MAX_ROWS_UNRESERVED = 1 << 12
"""Rows. Arrays of at most this length are not reserved: Measured: to reserve takes 0.1 µs without limits; a
union or join of 512 keys takes 10 µs, of 4,096 60 to 75 µs, the same within noise whether reserved or not.
Reading the memory in use takes 17 to 86 µs."""

MAX_ROWS_UNANNOUNCED = 10_000_000
"""Rows of a compressed relation that are listed without a warning. Not tuned: 160 MB in both orders."""

BYTES_BETWEEN_LOOKS = 1 << 26
"""Bytes that may be reserved between two readings of the memory in use. Measured: a reading takes 17 µs with
a limit on memory, 86 µs without; filling 1 MB takes 20 µs."""

MIN_BYTES_IN_SCRATCH = 1 << 25
"""Bytes of an array that is moved to a scratch file. Not tuned: glibc's malloc gives arrays of this size to
the system again when they are freed, smaller ones it may keep for others."""

BYTES_PER_WRITE = 1 << 26
"""Bytes that are written to a scratch file at a time, between which a signal is seen. Not tuned: 30 to 130
ms."""

BYTES_TO_IMPORT_NUMBA = 240 << 20
"""Bytes of address space to import Numba and compile the first kernels (measured: glibc, two threads)."""

BYTES_PER_KERNEL = 40 << 20
"""Bytes of address space to compile one kernel when Numba is already imported. Measured after each of 22
kernels: 0 to 8 MB more, the peak is unknown."""

ENTRIES_SCANNED_PER_SORTED_KEY = 8
"""Array entries that are scanned in about the time of sorting one key. Measured: where a third of all pairs
exist, a composition takes 32 ms with 8 and more, 49 to 65 with 2 and 4; where 1/20 of them do, 530 ms with 2
to 8, 650 with 16, 770 with 64."""

FIRST_STEPS_PER_DISTANCE = 4
"""First steps of a galloping search in the mean distance between probes, in keys. Measured: 2 take as long
within 8 %, 8 take 1.3 to 1.5 times as long with 8 keys for each probe."""

KEYS_PER_BLOCK, BLOCKS_SCANNED = 8, 8
"""Keys per block, and blocks that are scanned before galloping if probes are close together. The scan of a
block has no data-dependent branch, because the processor could not predict one. Measured with 8 to 64 keys
for each probe: without scans, 0.9 to 1.6 times as long; with blocks of 4 keys 0.9 to 1.7 times; with blocks
of 16 or 16 blocks 0.75 to 1.2 times; with 4 blocks 1.7 times for 64 keys each, else as long."""

MAX_STEPS_TO_TABLE = 4
"""Keys, and ids between the least and the greatest first half, for each probe, up to which a table tells
where the keys of each first half are. Measured with 1 and with 4 for each, among 300,000 keys: probes in any
order take 7.6 and 15 ns each by table and 59 and 88 by search, ascending ones 6.5 and 14, and 20 and 40, in
runs of forty equal ones 5.6 and 7.9, and 5.4 and 6.9; among 3 million keys 10 and 15 ns instead of 130 and
127, 5.3 and 10 instead of 14 and 38, 5.4 and 10 instead of 6.2 and 8.8."""

MAX_RATIO_MERGED = 8
"""Ratio of the sizes of two sorted arrays up to which they are merged element by element, without branches
that depend on the data: 4 ns an element instead of 10. With a higher ratio the processor predicts such
branches well, and whole stretches of the longer array are skipped. Measured on 4 million keys, ratios 3, 6,
12, 24: a look-up takes 9, 7, 6, 5 ms merged and 23, 14, 9, 5 by branches; a union 13, 12, 12, 12 merged and
15, 9, 6, 4.5 by branches."""

MIN_RATIO_COPIED = 16
"""Ratio of the sizes of two sorted arrays from which a difference copies what lies between the keys of the
shorter one. Measured on 12 million keys: with a ratio of 8, this takes 61 ms and merging 54, with 32 it takes
30 ms and merging 57."""

PROBES_IN_LOCKSTEP = 32
"""Probes that are searched in lockstep. Measured: 16 take 8 % longer, 64 as long."""

MIN_RATIO_IN_LOCKSTEP = 64
"""Keys for each probe from which probes are searched in lockstep at first: 40 to 60 ns a probe out of cache
instead of 80 to 120. Closer probes read most of the keys' memory in order, which processors foresee. Measured
on 16 million keys: with 24 keys for each probe 27 ns without lockstep and 45 in lockstep, with 48 43 and 59,
with 100 105 and 75; on a million, in cache, with 24 25 and 12, with 100 51 and 15."""

MAX_PROBES_PER_FAR, MIN_DISTANCE_IN_LOCKSTEP = 4, 2 * MIN_RATIO_IN_LOCKSTEP
"""Probes for each that is less than the one before, or found more keys behind it than the second number: up
to so many, of the last ``PROBES_IN_LOCKSTEP`` that were searched, the next are searched in lockstep. Measured
on 80,000 and 800,000 probes of 4 million keys, evenly spread and by Zipf's law: probes in runs of 10 to 1,000
take 65 to 90 ns each, 210 to 520 by galloping alone. With 2 instead of 4, 67,000 probes in runs of 3 over
21,000 keys take 93 ns instead of 13. With half the distance, 80,000 sorted probes take 61 ns instead of
38."""

MAX_INTERVALS_INSERTED = 32
"""Intervals that insertion sort orders faster than ``np.sort``. Measured on random graphs with 2 to 50
intervals for each node: 16 take as long within 8 %, 8 up to 1.25 times as long, 64 take 0.8 to 1.1 times as
long."""

MIN_CHARACTERS_RESERVED, BYTES_PER_CHARACTER = 1 << 16, 64
"""Characters above which a text is reserved, and the bytes reserved for each (measured: what building a term
from a text takes)."""

MIN_BYTES_FREE_AFTER_ALLOCATION = 10, 10**9
"""Bytes that an allocation must leave free: 1/10 of the total, but at most 10**9 bytes. Not tuned: leaves
other programs room, and is no trade of time."""

MIN_BYTES_FREE_TO_GO_ON = 50, 10**8
"""Bytes that are free where work goes on: 1/50 of the total, but at most 10**8 bytes. Not tuned: a part of
the room above, so that work that allocates little ends."""

MAX_TERMS_COMPUTED = 100_000
"""Computed terms of one call: the default of the limit ``terms``. Not tuned: ends rules that compute terms
without end."""

MAX_DEPTH_COUNTED_IN_PART = 20
"""Depth of computed terms: terms of the data have depth 0, a term computed from terms of depth n has depth n
+ 1. Each term that is deeper counts as one. Not tuned: rules that end compute few terms from terms of this
depth."""

MAX_DEPTH_UNCOUNTED, SHALLOW_TERMS_PER_TERM = 2, 10
"""Depth up to which computed terms are not counted, and the number of deeper ones, up to
``MAX_DEPTH_COUNTED_IN_PART``, that count as one. Not tuned: see there."""

TEXTS_PER_HEAD = 16
"""Texts of a table that are stored by what they share with the first of them. Measured: the bytes that are
stored of an IRI of 63 bytes are 13.3 with 8 texts, 11.3 with 16, 11.2 with 32 and 12.0 with 64
(universities), of 62 bytes 21.8, 18.9 and 17.5 (an encyclopaedia); of a literal of 38 bytes 20.9, 20.4, 20.6
and 21.6."""
