"""The tuning constants of the engine: what is limited, in which unit, and measurements."""

MAX_LATE_FACTS_LISTED = 3
"""Late facts that a message names for a suspended rule. Not tuned: the length of a message."""

MAX_FACTS_PER_LOST_FACT = 32
"""Facts. When rules are removed, the affected predicates are emptied and derived again if they have at most
this many facts for each fact that may be lost. Otherwise a deletion strategy follows these facts. Measured on
a closure: where 57,000 facts become 19,000, 3 ms instead of 17; 25,000 and 17,000, 3 instead of 7; 16,200 and
16,100, 3.0 instead of 2.2."""

MIN_SHARE_AFFECTED = 0.75
"""Share of the facts of I. If at least this share depends on rules that move between modules, a change of
rules starts over: what moved rules conclude is deleted, and derived again. So it does if this share depends
on a rule that doubles a relation under a stratum, or on removed rules while all other facts are explicit.
Measured on chains of turbines, starting over and following: 3.8 and 4.9 ms, 18.8 and 19.8 where 80 % depend
on a moved rule, 6.9 and 7.3 where 95 % do; 4.0 and 4.7 where 96 % depend on a doubled relation; 3.1 and 3.5
where all inferred facts depend on removed rules. Where 95 % of these do, 6.3 and 5.8."""

MIN_FACTS_SAMPLED = 1024
"""Facts of a relation that are looked up, at equal distances, to estimate a share of them. Not tuned: the
standard error of a share of a half is 0.016. Measured: of 80,000 facts, some take 0.03 ms and all 1.8."""

MIN_SHARE_RECEIVED_WHOLE = 0.5
"""Share of new facts in a closure from which on a module that ``receives_again`` gets all facts, not only the
new ones. Separating new facts costs one scan of all facts, and one copy. Measured on a museum of 2.5 million
facts under ``owl2rl``: 54 to 66 ms whether all, some or none are received whole, which is the noise."""

MAX_CLASHES_LISTED = 1000
"""Clashes of one constraint that are listed. Further ones are only counted. Measured: to list 1,000 takes 20
ms, 500 take 11 and 10,000 take 370."""

ROWS_PER_CHUNK = 1 << 20
"""Facts of a compressed relation that a constraint is joined with at once: some tens of megabytes. Not tuned:
12 MB for rows of three ids, and as much again for each join."""

MIN_PAIRS_BY_DATA = 1 << 16
"""Pairs of items. A constraint with PAIR over lists with more pairs than this, and than there are facts, is
joined from item to item by data. Not tuned: to join as many pairs takes some 7 ms, 0.1 µs for each."""

FACTS_JOINED_AT_FIRST = 1 << 12
"""Changed facts whose rule instances are counted first. The number of further ones follows from the rows.
Measured on CSPA-10k: 256 to 262,144 take the same time within 2 %."""

MAX_ROWS_JOINED = 1 << 23
"""Rows of all joins for the changed facts that are counted at a time: some hundred megabytes, 12 bytes for
each row of three ids. Measured on CSPA-10k: 65,536 to 8 million take the same time within 10 %, which is the
noise."""

MAX_FACTS_ROUTED = 8
"""New facts of a predicate whose objects are compared with those that modules read. More facts go to all
modules that read the predicate. Measured on LUBM-1 under ``owl2rl``: 0 to 64 take the same time within noise
(0.3 to 0.4 ms to add one fact, 0.8 to 1.0 for 16)."""

SECONDS_TO_MAKE_RULES = 6e-3
"""Seconds: the part of the estimate for starting over that does not depend on facts. Measured: ``owl2rl``."""

SECONDS_PER_FACT_ADOPTED = 1e-7
"""Seconds per fact of I: the estimate for starting over while I was adopted, and never computed. Measured:
0.08 µs (ten universities, owl2rl), 0.14 µs (pointers), 0.19 µs (ten universities, rdfs)."""
