"""The tuning constants of expressions: what is limited, in which unit, and measurements."""

SECONDS_PER_MATCH = 1.0
"""Seconds of processor time for a match in ``regex``, if neither the caller nor its limits set another. Not
tuned: one text must not delay all others for long."""

SECONDS_BEFORE_RE2 = (
    0.003  # measured: RE2 takes 0.7 to 3 ms to compile \w+, so a vain attempt costs about as much as its call
)
"""Seconds of processor time for a match in ``regex`` that RE2 could do instead."""

MAX_TEXTS_TRIED_FIRST = 64  # measured: 4 µs per text in ``regex``, up to 3 ms to compile for RE2
"""Texts per call up to which ``regex`` is tried first."""

MAX_ATOMS = 20_000  # measured: ``regex`` compiles this number of sets and back-references in 4 s and 66 MB
"""Atoms of a pattern. A repeated atom counts as often as it may be repeated."""

MAX_ATOMS_TRIED_FIRST = 200  # measured: 10 ms for 250 characters, 1 s for 1,000, cubic, whatever the timeout
"""Atoms up to which ``regex`` is tried first, and may search for a string that the pattern requires."""

MAX_STEPS = 10_000_000  # measured: RE2 makes at least 15 million per second, a?a?a?... with 20,000 atoms
MAX_STEPS_TRIED_FIRST = (
    200_000_000  # measured: at least 110 million per second, up to MAX_ATOMS_TRIED_FIRST atoms
)
"""Steps (atoms times characters of a text) of one RE2 call, which cannot be interrupted."""

MAX_RANGES = 200_000  # measured: 24 MB per pattern, 0.2 s
"""Ranges of code points processed while a pattern is parsed: 240 times those of \\w."""

MIN_CHARACTERS_TO_COUNT = 1 << 24
"""Characters: len(text) * len(replacement), above which the matches are counted to reserve memory. Measured:
counting makes a replacement of 4,096, 16,384 and 65,536 characters 1.6, 1.4 and 1.6 times as slow. The
product bounds what is added to the text: 16 million characters need no reserve."""

MAX_DEPTH = 100
"""Depth of nested groups, and of nested subtractions. ``regex`` parses both recursively. Not tuned: no
pattern is as deep. Measured: 400 groups and 400 subtractions are parsed in 1 and 5 ms."""

MAX_SETS_CACHED = 512
"""Sets of characters that are cached, by text and by name of a property: each is computed by matching all 1.1
million code points. Measured: 3 to 19 ms a set, with 72 to 843 ranges."""

MAX_PATTERNS_CACHED = 64
"""Patterns that are cached parsed and compiled. Measured: 7 kB a pattern, which takes 0.1 to 0.2 ms, and 4 µs
from the cache."""
