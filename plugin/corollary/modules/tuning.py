"""The tuning constants of modules: what is limited, in which unit, and measurements."""

MAX_READS_KEPT = 4
"""States of the facts for which the list module keeps the facts of all readings. A removal reads the lists of
I before it, of the proved facts, and of I after it, each several times. Reading takes 2 µs for each cell.
Measured in a university: 40 facts that go and come take 102, 95, 97 and 96 ms with 1, 2, 4 and 8."""

MAX_EXTENT_COMPARED = 64
"""Subjects of a guard's class that are compared before each use of a kept table; with more, plans are run.
Also values of a trigger's variable, and of recent facts, that are looked up one by one. Measured in a
university: none, half, this, double and all differ by their noise (40 facts that go and come, 100 to 107
ms)."""

MAX_PREDICATE_SETS_KEPT = 16
"""Sets of predicates with facts for which the triggers that can match are kept. A removal has some five: I
before and after it, and the proved facts of each level. Measured in a university: 1, 4, 8 and 32 sets, and
all, differ by their noise (40 facts that go and come, 99 to 113 ms). It bounds the memory of a long run."""

MAX_WITNESSES = 4
"""Facts that may show one datatype, and whose proofs are looked for first. Measured in a university: 4, 8, 16
and 64 differ by their noise (40 facts that go and come, 97 to 104 ms); one takes 134."""

MAX_TERMS_ONE_BY_ONE = 4
"""Terms that are looked up one by one. Measured in a university and in a market: whether 1, 2, 4 and 8 terms
have facts takes 2 to 4, 3 to 6, 5 to 6, and 10 µs one by one, and 3 to 5 µs by a kernel; whole changes with
none, half, this and double differ by their noise."""

MIN_FACTS_TO_COMPARE_INVERSES = 1 << 12
"""Facts of a predicate from which on it is compared with its inverse. Fewer are copied in less time.
Measured: to compare 1,024, 4,096 and 16,384 facts takes 2, 3 and 5 µs, to sort them by object 30, 90 to 170,
and 280 to 930 µs."""

MAX_EQUATED_AT_ONCE = 1 << 20
"""Pairs of terms with a common value that are listed when a fact goes, if their equality is not listed. With
more, starting over takes less time and memory: n terms have n² pairs, and n links. Not tuned: a bound on
memory, 8 MB of pairs."""

MAX_FACTS_ONE_BY_ONE = 8
"""Facts that are looked at one by one. Measured: which of 1, 8, 16 and 32 types are guards takes 1.1, 1.6,
2.1 and 3.4 µs one by one, and 3.4 by numpy. What else is asked takes longer for each fact; whole changes with
half, this and double take 100 ms (40 facts of a university that go and come), with none 110."""

MAX_EXACT_FLOAT = 1 << 53
"""Magnitude up to which every integer is a float: with larger sums, Python's integers are used, 50 times as
slow. Not tuned: floats have 53 bits."""

MAX_SHARE_OF_EDGES_FOLLOWED = 1 / 16
"""Share of the edges of a recursive aggregate. A change that looks at more of them, one by one in Python,
takes longer than computing all values from nothing, on arrays. Measured: 1.8 µs an edge against 0.15 µs."""

MIN_EDGES_FOLLOWED = 1 << 12
"""Edges that a change may look at however few there are. Not tuned: at most some 7 ms, by the time of an edge
measured for ``MAX_SHARE_OF_EDGES_FOLLOWED``."""

MAX_COPIES_TOGETHER = 256
"""Copies of the facts of one predicate. Predicates with fewer are replaced together. Measured: individuals
with a key of 10,000 properties become equal in 0.6 instead of 1.9 s."""

MIN_FACTS_TO_TRACE = 256
"""Wanted facts of a closed relation. Of more, those are proved that recent facts lead to. Measured: proofs of
CSPA-100k, 1,500 wanted facts each time, took 131 ms for all, and 38 ms for these."""

LITERALS_BETWEEN_CHECKS = 1 << 10
"""Literals whose values are computed between two checks of the limits: some 10 ms. Not tuned: so soon a limit
is noticed."""

MIN_FACTS_TO_HALVE = 4096
"""Recent facts from which on only half of what follows about symmetric predicates is derived. Not tuned: with
fewer, a round costs little."""
