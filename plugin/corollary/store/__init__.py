"""The rdflib store, an adapter of ``Reasoner``."""

from corollary.kernels.limits import Cancelled, LimitExceeded, Limits
from corollary.reasoner.invention_warnings import UnendingRuleWarning
from corollary.reasoner.suspension_warnings import SuspendedRuleWarning
from corollary.sparql.external import ExternalAccessRefused
from corollary.sparql.parsing import NestedTooDeep
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
    "NestedTooDeep",
    "SuspendedRuleWarning",
    "UnendingRuleWarning",
]
