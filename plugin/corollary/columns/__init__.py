"""Facts as sorted columns: pairs, relations, the triple index."""

from corollary.columns.pairs import Pairs
from corollary.columns.relation import Relation
from corollary.columns.triples import Columns, TripleIndex

__all__ = ["Columns", "Pairs", "Relation", "TripleIndex"]
