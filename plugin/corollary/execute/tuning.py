"""The tuning constants of the execution of plans: what is limited, in which unit, and measurements."""

MAX_RELATIONS_TRIED = 64
"""Predicates. With more, a free predicate is looked up in the directories of subjects or objects.
Measured on 200,000 facts: for 10,000 rows the directory takes 7 ms and relations 7 with 32 predicates, 9 and
12 with 64, 11 and 33 with 256, 16 and 120 with 1,024; to make the directory takes 3 to 7 ms, and 33."""

MAX_ROWS_JOINED_ONE_BY_ONE = 16
"""Rows of a query that are joined one by one. Measured in a market, a query of three patterns, and of three
optional ones: 4 rows take 200 and 258 µs, on columns 226 and 347; 16 rows 419 and 428, and 421 and 515; 32
rows 906 and 507, and 755 and 442; 128 rows 1,647 and 993, and 1,085 and 755."""

MAX_LOOK_UPS_ONE_BY_ONE = 1024
"""Look-ups in relations for few rows with a free predicate; with more, they are joined on columns, where a
LIMIT ends them early. Measured: 256 look-ups for 16 rows take 1.4 ms, on columns 2.0; 1,600 take 7.0 and 9.5;
4,800, for which columns have a directory, 19.4 and 7.3."""

MIN_ROWS_TO_COMPOSE = 4096

MIN_WAYS_PER_PAIR = 4
"""``join_for`` composes relations instead of joining row by row if the batch has at least
``MIN_ROWS_TO_COMPOSE`` rows, and the join would return at least ``MIN_WAYS_PER_PAIR`` rows for each row of
its two inputs. Measured: with 4 rows for each and hardly any duplicates, composing takes 0.9 to 1.1 times as
long as joining and sorting, with more targets than paths meet 1.4 times; with 10 to 28 rows for each and 17
to 30 paths for each pair a half to a sixth. Batches of 2,000 and 4,000 rows behave alike; with all batches or
none composed, CSPA-10k takes the same time within 10 %."""

MIN_ROWS_TO_ESTIMATE = 4096
"""Rows of a batch. With fewer, joins are run in the order of the plan. Measured: a join of 10,000 rows takes
280 µs, of 1,000 rows 22, an estimate 12."""

MIN_ROWS_PER_BINDING, ROWS_TESTED_FIRST = 32, 4
"""Rows for each binding of the wanted variables from which on some are tested first, and how many of each.
Measured: 57 candidates with 4,000 rows each take 40 to 70 ms if all rows are tested, 8 with four at first.
The rows from which on that is done are not tuned: an eighth of them is tested in vain at most."""

MIN_ROWS_TO_SHARE_TESTS = 4096
"""Rows of a batch of which only some variables decide whether the joins that are left match. From this number
on, each combination of these is tested once. Measured: eight times 1 % of CSPA-100k's assignments are removed
in 0.51 s of CPU time each, on the average, with 256, 4,096 and 32,768 rows, and in 0.58 if nothing is shared.
Two joins of 200,000 rows, with one match a row, three and ten: 1.6, 1.1 and 0.9 times as long where no two
rows share a combination; 0.65, 0.5 and 0.5 times where two rows do."""

MIN_ROWS_TO_MEET = 512
"""Rows of a batch. With fewer, two joins that bind the same variable follow each other. Measured with four
columns and four rows of the first join for each: 256 rows take 32 µs one after the other, and 29 at once,
1,000 rows 96 and 64, 4,000 rows 343 and 266."""

MIN_FANOUT_TO_MEET = 2
"""Rows that the first of two such joins returns for each row of the batch, by an estimate. With fewer, they
follow each other. Measured with 1,000 rows and fan-outs of 1, 2, 4, 8: 40, 59, 96 and 165 µs one after the
other, and 53, 57, 64 and 77 at once."""

MIN_ROWS_TO_MEET_HALFWAY = 1024
"""Rows of a batch from which paths between its ends are looked for at once. Not tuned. Measured: 90,595 rows
of CSPA-100k and a path of three atoms take 8 ms, and 32 joined row by row; of two atoms 3 and 6 ms."""

MAX_VALUES_MARKED_PER_ROW = 64
"""Values that are marked, or looked up, for each row; with more, joins are used. Not tuned: to mark a value
is one step on an array, a row of the joins is looked up, sorted and merged."""

MAX_TABLE_ENTRIES_PER_ROW = 64
"""Entries of the table of marks for each row. Not tuned: it bounds the memory of the table."""

MAX_FACTS_SORTED_PER_ROW = 8
"""Facts of a relation for each row of the batch, up to which its order by object is made for such a join. Not
tuned: to sort 8 facts takes as long as the join of one row with three."""

ROWS_SAMPLED = 256
"""Rows of a batch from which the rows of the next join are estimated. Measured: in 12 µs, half as
many in 7, twice as many in 27."""

ROWS_PER_SLICE = 1 << 20
"""Rows of a join that are joined on together: further rows are joined in another slice. Measured on a rule of
LUBM-LE with 5.5 million rows and 1.3 million conclusions: the materialisation takes 1.0 to 1.3 s and 400 MB
without slices, 0.8 to 0.9 s with a quarter of a million to two million rows, in 271, 271, 279 and 339 MB."""

MIN_ROWS_SAVED = 4
"""Factor. A join comes before an earlier one of the plan if it returns at most one row for this many of its.
Measured: proofs of 350,000 facts of CSPA-100k had 34 million rows by the plan, and 3 million by estimates."""

MIN_ROWS_BY_FORM = 1000
"""Rows of a condition on datatypes that are decided by the forms of their literals, which may all have to be
looked at first. Measured: to look at 20,000 literals takes 5 ms, and then 4,000 rows 0.15 ms; the test of
values alone takes 1.9 µs a row."""

MAX_ANSWERS_CACHED = 1 << 16
"""Cache entries per condition. A larger cache is emptied. Measured: an entry takes 120 bytes with one
variable, 190 with two, a full cache 8 to 13 MB."""

MIN_FACTS_PER_GROUP = 4
"""Facts. Only the groups that the batch mentions are computed if every relation of the aggregate has more
facts than this for each of these groups. Measured on 60,000 facts in 20,000 groups: with 600 facts for each
group asked for 2 ms instead of 3, with 10 facts 3.1 instead of 3.6, with 5 the same, with 3 5.4 and 4.6."""

MAX_GUARD_FANOUT = 4
"""Rows that a guard probe may return on average per distinct predicate or class. With more, the direct plan
is run. Measured on LUBM-1 under ``owl2rl`` and on CSPA-10k: materialising and removing one fact take the same
time within 10 %, the noise, with 2, 4, 8 and no limit."""

MAX_ROWS_OF_CELLS = 1 << 20
"""Rows of one join of bindings with cells of long lists, before the atoms inside are joined. More bindings
than this are joined with one cell of each list at a time. Not tuned: bounds memory, to 16 MB with four
columns."""

MAX_TABLES_CACHED = 4
"""Tables of long lists that a rule caches: maintenance alternates between few sets of facts.
Not tuned: facts before and after a change, the recent ones, and those of a layer."""

FACTS_PER_JOIN = 1000
"""Facts that are joined in about the time of starting one more join. Measured: a step of a path takes 8 µs
with 10 pairs and 30 µs with 2,000."""

MIN_STEPS_TO_SQUARE = 8
"""Positions in a row with the same property. From this number on, paths take them by powers of the property
(its square, the square of that ...) instead of one by one. Measured: 4 steps take the same time either way or
up to 1.4 times as long by powers, 8 steps 0.7 to 1.7 times, 16 steps 0.5 to 1.2 times, 64 steps 0.4 to 1.5
times."""

MAX_PAIRS_OF_POWER = 4
"""Pairs of nodes in a power of such a property, per fact of the property, or per path composed so far if
these are more. A power with more pairs is not used. Measured, 64 steps: along near edges 10 ms with 16
pairs, 24 with 4, 57 with 1; elsewhere 4 and 16 take the same time."""

MAX_CLASSES_COMPARED = 16
"""Classes that are compared with each other, to find those that lead to all others. Measured:
16 take 0.09 ms, 8 take 0.03; the domains and ranges of a property in LUBM-10 and in our own generator are at
most 5."""

MAX_SOURCES_COMPARED = 64
"""Sources of a property, or of a class, that are compared with each other, to find those that include others.
Measured: 8, 16, 32 and 64 in a chain take 0.05, 0.13, 0.42 and 1.6 ms, once for a state of the schema; the
classes of LUBM and of our universities have at most 42."""

MAX_VALUES_PER_ROW_JOINED = 3
"""Values on the first side of an intersection, for each row, up to which they are listed and then tested,
instead of two lists intersected. Measured on triangles of even graphs of 300,000 edges: 34 to 40 ms instead
of 51 to 60 with 1.8 for each row, 54 instead of 72 to 76 with 2.5; with 5, as long either way (44 to 90)."""

MAX_PATHS_PER_ROW = 2
"""Pairs of ends with a common value that are listed to count a cycle, for each row with two ends. Measured on
cycles of four in graphs of 300,000 edges: none, up to 2 and up to 8 for each row take 1.5, 0.27 and 0.28 s
(even, 20 for each node), 0.74, 0.20 and 0.19 s, and 11.4, 1.5 and 1.4 s (power laws); triangles, with 1.8 to
20 for each row, as long either way. With more, more memory is taken."""
