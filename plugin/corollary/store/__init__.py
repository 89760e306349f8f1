"""The rdflib store, an adapter of ``Reasoner``."""

from corollary.kernels.announcing import ListingWarning
from corollary.kernels.limits import Cancelled, LimitExceeded, Limits
from corollary.reasoner.rule_warnings import SuspendedRuleWarning, UnendingRuleWarning
from corollary.sparql.access import ExternalAccessRefused
from corollary.sparql.query_errors import NestedTooDeep, SparqlSyntaxError
from corollary.store.store import EXPLICIT, INFERRED, CorollaryStore, InferredTripleWarning

__all__ = [
    "EXPLICIT",
    "INFERRED",
    "Cancelled",
    "CorollaryStore",
    "ExternalAccessRefused",
    "InferredTripleWarning",
    "LimitExceeded",
    "Limits",
    "ListingWarning",
    "NestedTooDeep",
    "SparqlSyntaxError",
    "SuspendedRuleWarning",
    "UnendingRuleWarning",
]
