"""The rdflib store."""

from corollary.store.external import ExternalAccessRefused
from corollary.store.parsing import NestedTooDeep
from corollary.store.store import EXPLICIT, INFERRED, CorollaryStore, InferredTripleWarning
from corollary.store.suspension import SuspendedRuleWarning

__all__ = [
    "EXPLICIT",
    "INFERRED",
    "CorollaryStore",
    "ExternalAccessRefused",
    "InferredTripleWarning",
    "NestedTooDeep",
    "SuspendedRuleWarning",
]
