"""The tuning constants of modules: what is limited, in which unit, and measurements. *Varied* constants were
measured with an eighth and eight times as many, on two universities (owl2rl, rdfs) and a thesaurus: closing,
single triples and 1 % of the facts out and in take as long, within the noise of 15 %."""

MAX_READS_KEPT = 4
"""States of the facts for which the list module keeps the facts of all readings. A removal reads the lists of
I before it, of the proved facts, and of I after it, each several times. Measured: reading takes 2 µs for each
cell. Varied."""

MAX_EXTENT_COMPARED = 64
"""Subjects of a guard's class that are compared before each use of a kept table; with more, plans are run.
Also values of a trigger's variable, and of recent facts, that are looked up one by one. Measured: varied."""

MAX_PREDICATE_SETS_KEPT = 16
"""Sets of predicates with facts for which the triggers that can match are kept. A removal has some five: I
before and after it, and the proved facts of each level. Measured: varied."""

MAX_WITNESSES = 8
"""Facts that may show one datatype, and whose proofs are looked for first. Measured: varied."""

MAX_TERMS_ONE_BY_ONE = 4
"""Terms that are looked up one by one. A kernel call for many takes as long as some five look-ups. Measured:
varied."""

MIN_FACTS_TO_COMPARE_INVERSES = 1 << 12
"""Facts of a predicate from which on it is compared with its inverse. Fewer are copied in less time.
Measured: varied."""

MAX_EQUATED_AT_ONCE = 1 << 20
"""Pairs of terms with a common value that are listed when a fact goes, if their equality is not listed. With
more, starting over takes less time and memory: n terms have n² pairs, and n links. Measured: varied."""

MAX_FACTS_ONE_BY_ONE = 8
"""Facts that are looked at one by one. For more, numpy takes less time: 5 µs, whatever their number.
Measured: varied."""

MAX_EXACT_FLOAT = 1 << 53
"""Magnitude up to which every integer is a float: with larger sums, Python's integers are used, 50 times as
slow. Not tuned: the precision of a float."""

MAX_SHARE_OF_EDGES_FOLLOWED = 1 / 16
"""Share of the edges of a recursive aggregate. A change that looks at more of them, one by one in Python,
takes longer than computing all values from nothing, on arrays. Measured: 1.8 µs an edge against 0.15 µs."""

MIN_EDGES_FOLLOWED = 1 << 12
"""Edges that a change may look at however few there are. Measured: varied."""

MAX_COPIES_TOGETHER = 256
"""Copies of the facts of one predicate. Predicates with fewer are replaced together.
Measured: individuals with a key of 10,000 properties become equal in 0.6 instead of 1.9 s."""

MIN_FACTS_TO_TRACE = 256
"""Wanted facts of a closed relation. Of more, those are proved that recent facts lead to. Measured: proofs of
CSPA-100k, 1,500 wanted facts each time, took 131 ms for all, and 38 ms for these."""

LITERALS_BETWEEN_CHECKS = 1 << 10
"""Literals whose values are computed between two checks of the limits. Measured: some 10 ms. Varied."""
