"""The rdflib store."""

from corollary.store.store import EXPLICIT, INFERRED, CorollaryStore, InferredTripleWarning
from corollary.store.suspension import SuspendedRuleWarning

__all__ = ["EXPLICIT", "INFERRED", "CorollaryStore", "InferredTripleWarning", "SuspendedRuleWarning"]
