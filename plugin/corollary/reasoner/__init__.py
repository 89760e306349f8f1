"""Reasoning without rdflib: facts in graphs, rules, transactions, and what follows.

Callers: programs, the rdflib store (``corollary.store``), which has a ``Reasoner``. Nothing here imports
rdflib.

    reasoner.py        Reasoner, the public class: everything below is behind it
    snapshot.py        one moment to read from
    version.py         one moment as a value: E by graph, pending changes, options; its derived State
    versions.py        the state machine: who sees which version, transactions, rollbacks
    quads.py           E, graph by graph, as a value
    pending.py         the log of single changes that are not yet in E
    deriving.py        version -> State, on demand, one thread at a time, by maintenance of the last State
    state.py           what a reader sees: views of E, of I, and of their difference
    options.py         rules, limits; rule_sources.py: how users name rules
    terms.py           TermView: terms as the reasoner's owner writes them (N-Triples texts, rdflib's terms)
    documents.py       loading files; datasets.py: encoded data sets
    persistence.py     the protocol of storage; folder.py, contents.py: a folder with an SQLite database;
                       opening.py: putting what it holds in place of what is here
    explaining.py, inconsistency.py, suspension.py, invention.py, statistics.py, summary.py, verification.py,
    compacting.py      one report or one chore each

The direction: ``reasoner`` uses everything of a version through ``versions``; a version knows E, options,
terms and its persistence; nothing here knows who calls it.
"""

from corollary.kernels.limits import Cancelled, LimitExceeded, Limits
from corollary.reasoner.invention_warnings import UnendingRuleWarning
from corollary.reasoner.reasoner import Reasoner
from corollary.reasoner.snapshot import Snapshot
from corollary.reasoner.suspension_warnings import SuspendedRuleWarning

__all__ = [
    "Cancelled",
    "LimitExceeded",
    "Limits",
    "Reasoner",
    "Snapshot",
    "SuspendedRuleWarning",
    "UnendingRuleWarning",
]
