"""The tuning constants of the execution of plans: what is limited, in which unit, and measurements."""

MAX_RELATIONS_TRIED = 64
"""Predicates. With more, a free predicate is looked up in the directories of subjects or objects."""

MIN_ROWS_TO_COMPOSE = 4096

MIN_WAYS_PER_PAIR = 4
"""``join_for`` composes relations instead of joining row by row if the batch has at least
``MIN_ROWS_TO_COMPOSE`` rows, and the join would return at least ``MIN_WAYS_PER_PAIR`` rows for each row of
its two inputs."""

MIN_ROWS_TO_ESTIMATE = 4096
"""Rows of a batch. With fewer, joins are run in the order of the plan."""

ROWS_SAMPLED = 256
"""Rows of a batch from which the rows of the next join are estimated, in about 10 µs."""

MIN_ROWS_SAVED = 4
"""Factor. A join comes before an earlier one of the plan if it returns at most one row for this many of its.
Measured: proofs of 350,000 facts of CSPA-100k had 34 million rows by the plan, and 3 million by estimates."""

MIN_ROWS_BY_FORM = 1000
"""Rows of a condition on datatypes that are decided by the forms of their literals, which may all have to be
looked at first. Deciding 1,000 rows by values takes some 8 ms."""

MAX_ANSWERS_CACHED = 1 << 16
"""Cache entries per condition, about 200 bytes each. A larger cache is emptied."""

MIN_FACTS_PER_GROUP = 4
"""Facts. Only the groups that the batch mentions are computed if every relation of the aggregate has more
facts than this for each of these groups."""

MAX_GUARD_FANOUT = 4
"""Rows that a guard probe may return on average per distinct predicate or class. With more, the direct plan
is run."""

MAX_ROWS_OF_CELLS = 1 << 20
"""Rows of one join of bindings with cells of long lists, before the atoms inside are joined. More bindings
than this are joined with one cell of each list at a time."""

MAX_TABLES_CACHED = 4
"""Tables of long lists that a rule caches: maintenance alternates between few sets of facts."""

FACTS_PER_JOIN = 1000
"""Facts that are joined in about the time of starting one more join."""

MIN_STEPS_TO_SQUARE = 8
"""Positions in a row with the same property. From this number on, paths take them by powers of the property
(its square, the square of that ...) instead of one by one."""

MAX_PAIRS_OF_POWER = 4
"""Pairs of nodes in a power of such a property, per fact of the property, or per path composed so far if
these are more. A power with more pairs is not used."""

MAX_CLASSES_COMPARED = 16
"""Classes that are compared with each other, to find those that lead to all others: some 0.1 ms (not
measured; the domains and ranges of a property in LUBM-10 and in our own generator are at most 5)."""
