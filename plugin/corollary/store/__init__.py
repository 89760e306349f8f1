"""The rdflib store."""

from corollary.store.store import EXPLICIT, INFERRED, CorollaryStore, InferredTripleWarning

__all__ = ["EXPLICIT", "INFERRED", "CorollaryStore", "InferredTripleWarning"]
