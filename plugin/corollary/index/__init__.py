"""Facts as sorted columns: pairs, relations, the triple index."""

from corollary.index.pairs import Pairs
from corollary.index.relation import Relation
from corollary.index.triples import Columns, TripleIndex

__all__ = ["Columns", "Pairs", "Relation", "TripleIndex"]
