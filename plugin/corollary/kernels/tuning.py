"""The tuning constants of kernels: what is limited, in which unit, and measurements."""

MIN_ELEMENTS_TO_COMPILE = 30_000
"""Array elements, summed over all calls of a kernel. Above this number the kernel is compiled."""

MIN_ELEMENTS_TO_COMPILE_AFTER_NUMPY = 1 << 23
"""As ``MIN_ELEMENTS_TO_COMPILE``, for kernels with an interim function of NumPy: those take 2 to 40 ns an
element, and to import Numba takes half a second."""

ELEMENTS_PER_CALL_OF_NUMPY = 1 << 10
"""Array elements that a call of an interim function counts as, beside those it has: a call takes some 10
microseconds."""

MIN_ELEMENTS_FOR_THREAD = 1 << 22
"""Elements of the output array above which a kernel runs in a worker thread. Starting a thread costs 0.1 ms
(measured: 0.05 ms to start and join one that does nothing).
Filling this number of elements takes 5 to 50 ms."""

MIN_ELEMENTS_CUT = 1 << 18
"""Elements of an array that several threads may work on. Starting two takes some 0.15 ms, and this number
of elements 0.5 to 5 ms."""

MIN_ELEMENTS_PER_PIECE = MIN_ELEMENTS_CUT // 2
"""Elements for each of these threads."""

MIN_ELEMENTS_FOR_THREAD_TO_STOP = 1 << 16
"""As ``MIN_ELEMENTS_FOR_THREAD``, for stoppable kernels: their time is not bounded by the size of their
output."""

SECONDS_BETWEEN_CHECKS = 0.05
"""Seconds that ``undisturbed`` waits for its worker thread between two checks of the limits."""

SECONDS_BETWEEN_LOOKS = 0.1
"""Seconds between two readings of the memory in use. Measured: a reading takes 17 µs with a limit on
memory, 86 µs without."""

MAX_ROWS_UNRESERVED = 1 << 12
"""Rows. Arrays of at most this length are not reserved: reserving would cost as much as filling them."""

MAX_ROWS_UNANNOUNCED = 10_000_000
"""Rows of a compressed relation that are listed without a warning. To list as many takes about a second."""

BYTES_BETWEEN_LOOKS = 1 << 26
"""Bytes that may be reserved between two readings of the memory in use. Measured: a reading takes 17 µs with
a limit on memory, 86 µs without; filling 1 MB takes 20 µs."""

BYTES_TO_IMPORT_NUMBA = 240 << 20
"""Bytes of address space to import Numba and compile the first kernels (measured: glibc, two threads)."""

BYTES_PER_KERNEL = 40 << 20
"""Bytes of address space to compile one kernel when Numba is already imported."""

ENTRIES_SCANNED_PER_SORTED_KEY = 8
"""Array entries that are scanned in about the time of sorting one key."""

FIRST_STEPS_PER_DISTANCE = 4
"""First steps of a galloping search in the mean distance between probes, in keys."""

KEYS_PER_BLOCK, BLOCKS_SCANNED = 8, 8
"""Keys per block, and blocks that are scanned before galloping if probes are close together. The scan of a
block has no data-dependent branch, because the processor could not predict one."""

MAX_RATIO_MERGED = 8
"""Ratio of the sizes of two sorted arrays up to which they are merged element by element, without branches
that depend on the data: 4 ns an element instead of 10. With a higher ratio the processor predicts such
branches well, and whole stretches of the longer array are skipped."""

MIN_RATIO_COPIED = 16
"""Ratio of the sizes of two sorted arrays from which a difference copies what lies between the keys of the
shorter one. Measured on 12 million keys: with a ratio of 8, this takes 61 ms and merging 54, with 32 it takes
30 ms and merging 57."""

PROBES_IN_LOCKSTEP = 32
"""Probes that are searched in lockstep. Measured: 16 take 8 % longer, 64 as long."""

MIN_RATIO_IN_LOCKSTEP = 64
"""Keys for each probe from which probes are searched in lockstep: 40 to 60 ns a probe out of cache instead of
80 to 120. Closer probes read most of the keys' memory in order, which processors foresee."""

PROBES_SAMPLED = 64
"""Probes that are compared with the probe before. If more than a quarter are less, probes are in no order."""

MAX_INTERVALS_INSERTED = 32
"""Intervals that insertion sort orders faster than ``np.sort``."""

MIN_CHARACTERS_RESERVED, BYTES_PER_CHARACTER = 1 << 16, 64
"""Characters above which a text is reserved, and the bytes reserved for each (measured: what building a term
from a text takes)."""

MIN_BYTES_FREE_AFTER_ALLOCATION = 10, 10**9
"""Bytes that an allocation must leave free: 1/10 of the total, but at most 10**9 bytes. Not measured."""

MIN_BYTES_FREE_TO_GO_ON = 50, 10**8
"""Bytes that are free where work goes on: 1/50 of the total, but at most 10**8 bytes. Not measured."""

MAX_TERMS_COMPUTED = 100_000
"""Computed terms of one call: the default of the limit ``terms``. Not measured."""

MAX_DEPTH_COUNTED_IN_PART = 20
"""Depth of computed terms: terms of the data have depth 0, a term computed from terms of depth n has depth
n + 1. Each term that is deeper counts as one."""

MAX_DEPTH_UNCOUNTED, SHALLOW_TERMS_PER_TERM = 2, 10
"""Depth up to which computed terms are not counted, and the number of deeper ones, up to
``MAX_DEPTH_COUNTED_IN_PART``, that count as one."""
