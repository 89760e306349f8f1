"""The rdflib store."""

from corollary.kernels.limits import Cancelled, LimitExceeded, Limits
from corollary.store.external import ExternalAccessRefused
from corollary.store.invention import UnendingRuleWarning
from corollary.store.parsing import NestedTooDeep
from corollary.store.store import EXPLICIT, INFERRED, CorollaryStore, InferredTripleWarning
from corollary.store.suspension import SuspendedRuleWarning

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
