"""The tuning constants of maintenance: what is limited, in which unit, and measurements."""

MIN_REMOVED_FACTS_TO_LEARN = 1000
"""Removed facts. A transaction with fewer is not used as a measurement. Not tuned: below, the time does not
depend on the number of facts alone."""

MIN_REMOVED_FACTS_IF_SLOW = 10
"""Removed facts, as above, of a transaction that took more than MAX_SHARE_OF_RECOMPUTING: the next ones have
a budget that is enough, or recompute. Measured: 50 of 10,000 edges with a million pairs are followed in 4 ms,
and closed in 2 ms; 999 of CSPA's assignments (100 k) are followed in 0.6 of the time of recomputing."""

PENALTY_AFTER_ABORT = 2
"""Factor. After an aborted removal that had the time of recomputing, the strategy's estimate for that size is
set to this many times the estimate for recomputing, so that the next removals recompute at once. Not tuned:
any factor above 1 has this effect; the less it is, the sooner the strategy is tried again
(``ESTIMATE_KEPT``)."""

PENALTY_IF_CUT_SHORT = 2 / 3
"""Factor, as above, after an aborted removal whose budget was less than the time of recomputing: times
ESTIMATES_ALLOWED, the next one may take all of that time. Measured: 1 % of CSPA's assignments (100 k) are
followed in 0.6 of the time of recomputing, 5 % of ten universities of our own in 0.56, where the first budget
is a quarter. A strategy that takes longer than recomputing costs 1.25, 2, 1, 1 and 1 times that in its first
five transactions; with a budget of a half in between 1.25, 1.5, 2, 1 and 1."""

MIN_SHARE_TO_JUDGE = 3 / 4
"""Share of the time of recomputing. An aborted removal that had at least as much is not tried again at once.
Not tuned: below 1, because a removal of a few facts less than the last one has a little less than all of the
time; well above MAX_SHARE_OF_RECOMPUTING."""

ESTIMATE_KEPT = 0.8
"""Share of each estimate that is left after a transaction that recomputes, so that a strategy is tried again.
Not tuned: computed. A strategy that takes r times as long as recomputing is tried once in 1 + ln r / 0.22
transactions: on the average they take at most 1.25 times as long for r up to 2, where the budget of time ends
a large one."""

MAX_SHARE_OF_RECOMPUTING = 0.25
"""Share of the time of recomputing. A strategy that has spent it deletes no further, and the transaction is
recomputed: following and recomputing together take at most 1.3 times as long as recomputing alone. Not tuned:
this bound is the promise."""

MAX_SHARE_IF_CLIQUES = 1.3
"""Share, as above, if only facts of symmetric closures are removed that are not listed. Measured, 1 % of a
property declared symmetric and transitive removed for the first time: 0.65 to 0.85 of the time of recomputing
(350,000 facts in trees of 150), then 0.4 to 0.7; 1.0 in groups with more edges than trees."""

ESTIMATES_ALLOWED = 1.5
"""Factor. A strategy that followed a large transaction may take this many times its estimate, but no longer
than recomputing. Not tuned: the loss is at most the time of recomputing."""

MAX_STEP_PER_LARGEST = 3 / 4
"""Share of the largest step of a phase. A step up to this size says that the phase becomes smaller. Not
tuned. Measured: the first removal of 1 % of CSPA's assignments (100 k), which takes 0.6 to 0.9 of the time of
recomputing, has such a step after 0.25 of it, when 2/3 of the deletions are done."""

STEPS_EXTRAPOLATED = 3
"""The last steps of a phase whose mean estimates those that are left. Not tuned. Measured, the same removals:
estimates after each step of 0.45 to 1.25 of the time that all takes."""

MAX_SHARE_EXTENDED = 1.25
"""Share of the time of recomputing up to which a budget is extended. An estimate beyond it ends a strategy
that has used more than its first budget. Measured as above: up to 1.2 where all took 0.97 in the end. Steps
that stay as large as they are end after 0.63 of the time of recomputing."""

MIN_FACTS_TO_ESTIMATE = 1000
"""Facts of all steps below which nothing is estimated. Not tuned: at DELETIONS_PER_CHECK, 1 ms."""

DELETIONS_PER_CHECK = 8
"""Facts that are deleted in the time in which one is searched for a proof. Measured: 1 % of CSPA's
assignments (100 k) delete 380,000 facts in 400 ms, and search 18,000 in 140."""

SECONDS_OF_FIRST_USE = 0.05
"""Seconds beyond the budget until the strategy is measured: modules that Python loads, plans and tables of
the first time may take as long. Measured: 1 % of LUBM-10 is removed in 22 to 40 ms the first time, and in 18
ms from then on."""

SECONDS_AT_FIRST = 0.2e-3
"""Seconds, times the square root of |Δ⁻|: the estimate for a strategy before anything is measured. Measured,
1 % removed: 0.16 ms (LUBM-10), 0.5 ms (ten universities of our own), 7 ms (a random graph with a million
pairs, which is closed in 2 ms)."""

SECONDS_PER_CHECK = 0.4e-6  # measured: proofs on LUBM-10
"""Seconds to check one fact in a proof."""

SECONDS_PER_DELETION = 3e-6  # measured: DRed on LUBM-10, overdeletion and rederivation
"""Seconds to delete one fact under DRed, and to rederive it."""

MIN_BUDGET_FACTS = 10_000
"""Facts that may be checked, or deleted, even if materialising took less time than that. Not tuned: at
``SECONDS_PER_CHECK`` 4 ms, at ``SECONDS_PER_DELETION`` 30 ms."""

MAX_FACTS_PER_CHANGED_FACT = 3
"""Facts. A stratum is evaluated from scratch if it reads at most this many facts for each changed fact.
Measured on 60,000 facts, changed share 1/10, 1/3, 1/2, 4/5: a negation is followed in 3, 5, 5, 6 ms and
evaluated in 8, 6, 6, 5; a count by group is followed in 5, 6, 5, 5 ms and evaluated in 3 or less: a
compromise between these."""

MAX_FACTS_PER_DELETED_FACT = 2
"""Facts. The relations of the last stratum are truncated if they have at most this many facts for each
overdeleted fact: deleting row by row would cost more. Measured in the same runs: a count by group takes 2.2
and 1.7 ms instead of 2.7 and 2.1 where 1/2 and 4/5 of the facts changed; otherwise the times are equal within
10 %."""

MIN_CANDIDATES_TO_SIFT = 1000
"""Candidates. Of this number or more at once, those without any instance are deleted before proofs of the
others are searched, in this layer. Measured: for 1,000 removed facts of CSPA-100k, 2 searches for 22,000
facts instead of 16 for 450,000; 4 for 38,000 if the relation that is closed is not sifted."""

MAX_PAIRS_PER_FACT_TO_SIFT = 2.5
"""Pairs of a closed relation per external fact. Of a relation with more, candidates are not sifted. Measured,
the time with sifting over that without: 0.6 to 0.8 with 1.2 pairs (CSPA-100k); 0.9 with 1.6 and 2.4, 1.0 to
1.1 with 3, 1.3 with 4.4, 1.7 with 12, 2 with 18 (1,000 facts out of trees of broader concepts, ``skos``);
2.5 to 8 with 20 (out of 5 million facts of categories)."""

REDERIVED_PER_PROPAGATED = 2
"""Checked facts that are rederived in the time in which one proved fact is propagated. Measured in turns:
with 1, 0.5 and 1 % of CSPA's assignments (100 k) out take 1.1 to 1.2 times as long, 2 % 1.0, 1 % of CSPA 10 k
and of a generated graph 1.0 to 1.05; with 1.5, 3 and 4 within 5 %, with 8 some 5 % longer."""

MIN_CHECKED_TO_WAIT = 4096
"""Checked facts of a search from which on facts that other frontiers than the first prove are propagated
after the last one. Not tuned. Measured: for 1,000 removed facts of CSPA-100k, 57 steps of propagation instead
of 398, while a few per cent more facts are checked. If facts of the first frontier wait, too, a search for
types of LUBM-10 (1 % removed) takes 28 ms instead of 13; that of CSPA-100k checks as many facts."""

MIN_FACTS_PER_SUPPORTING_FACT = 16
"""Explicit facts for each of the few that may prove the schema: with fewer, this is not tried, because
materialising the few would take a noticeable part of the time of starting over. Not tuned: in linear time,
1/16 of it."""

MIN_FACTS_PER_REMOVED_FACT = 4
"""Explicit facts that stay for each one removed: with fewer, where data leads to schema facts, large removals
start over. Measured: half of LUBM-1 under ``rdfs`` is followed in twice the time of starting over."""

WITNESSES_TRIED = 4
"""Facts of a predicate, or instances of a class, of which the first that is still explicit is taken. Not
tuned: if 1/10 of the facts were removed, four given ones were with a probability of 1/10,000."""

SECONDS_PER_DERIVATION = 0.1e-6  # measured: counting anew on LUBM-1, categories (0.05) and a random DAG (0.3)
"""Seconds to count one derivation."""

MAX_DERIVATIONS = 200_000_000
"""Derivations that one transaction counts or subtracts if counting was asked for: some 20 seconds. Not tuned:
at ``SECONDS_PER_DERIVATION``."""

MAX_ROUTES_KEPT = 1000
"""Sets of predicates for which the modules to ask are kept. Not tuned: removals have a few dozen sets; this
bounds the memory of a long run."""

MAX_CANDIDATES_ONE_BY_ONE = 8
"""Removed facts of a transaction that are followed one by one. Not tuned: most transactions remove one.
Measured for one, against deciding candidates together: 0.70 of the time in ten universities, 0.78 in LUBM-10
(medians)."""

MAX_FACTS_DELETED_ONE_BY_ONE = 32
"""Facts that are deleted one by one; with more, the transaction goes on with all at once. Not tuned: it
bounds what is done in vain."""

MAX_FACTS_PROVED_ONE_BY_ONE = 128
"""Facts of which proofs are searched one by one. Not tuned: as the bound above."""
