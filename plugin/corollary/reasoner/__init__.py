"""Reasoning without rdflib: facts in graphs, rules, transactions and the materialisation.

Symbols in this folder: E are the explicit facts, I is the materialisation (E and all inferred facts).

Callers: programs, and the rdflib store (``corollary.store``), which has a ``Reasoner``. No file here imports
rdflib.

    reasoner.py          Reasoner: the public class, the entry to all files below
    snapshot.py          Snapshot: a reader's view of one version
    version.py           Version: E by graph, pending changes, options, the derived State; a value
    versions.py          Versions: which thread sees which version; transactions, rollbacks
    quads.py             Quads: E by graph, as an immutable value
    pending.py           Pending: the log of single changes that are not in E yet
    deriving.py          Deriver: version -> State on demand, by maintenance of the last State
    state.py             State, View: what a reader sees of E, of I, and of I - E; subjects.py: I by subject
    options.py           rules, limits, visibility of inferred facts; rule_sources.py: how users name rules
    namespaces.py        the table of prefixes
    term_format.py       TermView: ids <-> terms of the reasoner's owner (N-Triples texts, rdflib's terms)
    persistence.py       the protocol of storage; folder.py, contents.py: a folder with an SQLite database;
                         checkpoints.py: the snapshot beside it; read_only_source.py: what is never written;
                         opening.py: replaces the version in memory by the stored one
    snapshot_file.py     a file with E and I that is mapped; snapshot_closures.py: its compressed relations;
                         closed_under.py: whether I may be adopted
    subscriptions.py     what came and went with each commit
    explaining.py, rule_warnings.py, statistics.py,
    summary.py, verification.py, compacting.py
                         one report or one maintenance task each

Dependencies: ``reasoner.py`` replaces the version only through ``versions.py``. A version knows E, its
options, its terms and its persistence. No file here knows its callers.
"""

from corollary.kernels.announcing import ListingWarning
from corollary.kernels.limits import Cancelled, LimitExceeded, Limits
from corollary.reasoner.reasoner import Reasoner
from corollary.reasoner.rule_warnings import SuspendedRuleWarning, UnendingRuleWarning
from corollary.reasoner.snapshot import Snapshot
from corollary.reasoner.subscriptions import FactChanges

__all__ = [
    "Cancelled",
    "FactChanges",
    "LimitExceeded",
    "Limits",
    "ListingWarning",
    "Reasoner",
    "Snapshot",
    "SuspendedRuleWarning",
    "UnendingRuleWarning",
]
