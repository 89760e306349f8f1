"""The tuning constants of the engine: what is limited, in which unit, and measurements."""

MAX_LATE_FACTS_LISTED = 3
"""Late facts that a message names for a suspended rule."""

MAX_FACTS_PER_LOST_FACT = 32
"""Facts. When rules are removed, the affected predicates are emptied and derived again if they have at most
this many facts for each fact that may be lost. Otherwise a deletion strategy follows these facts."""

MIN_SHARE_RECEIVED_WHOLE = 0.5
"""Share of new facts in a closure from which on a module that ``receives_again`` gets all facts, not only the
new ones. Separating new facts costs one scan of all facts, and one copy."""

MAX_CLASHES_LISTED = 1000
"""Clashes of one constraint that are listed. Further ones are only counted."""

ROWS_PER_CHUNK = 1 << 20
"""Facts of a compressed relation that a constraint is joined with at once: some tens of megabytes."""

MIN_PAIRS_BY_DATA = 1 << 16
"""Pairs of items. A constraint with PAIR over lists with more pairs than this, and than there are facts, is
joined from item to item by data. Joining the pairs takes 0.1 µs for each."""

FACTS_JOINED_AT_FIRST = 1 << 12
"""Changed facts whose rule instances are counted first. The number of further ones follows from the rows."""

MAX_ROWS_JOINED = 1 << 23
"""Rows of all joins for the changed facts that are counted at a time: some hundred megabytes."""

MAX_FACTS_ROUTED = 8
"""New facts of a predicate whose objects are compared with those that modules read, in 1 µs for each module.
More facts go to all modules that read the predicate."""

SECONDS_TO_MAKE_RULES = 6e-3
"""Seconds: the part of the estimate for starting over that does not depend on facts. Measured: ``owl2rl``."""

SECONDS_PER_FACT_ADOPTED = 1e-7
"""Seconds per fact of I: the estimate for starting over while I was adopted, and never computed. Measured:
0.08 µs (ten universities, owl2rl), 0.14 µs (pointers), 0.19 µs (ten universities, rdfs)."""
