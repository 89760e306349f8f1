"""Facts as sorted columns: pairs, relations, the triple index, and sets of changed facts."""

from corollary.columns.delta import NOTHING, Candidates, Delta, KnownUnions
from corollary.columns.pairs import Pairs
from corollary.columns.relation import EMPTY, Relation
from corollary.columns.triples import FIRST_VIRTUAL, Columns, TripleIndex, grouped

__all__ = [
    "EMPTY",
    "FIRST_VIRTUAL",
    "NOTHING",
    "Candidates",
    "Columns",
    "Delta",
    "KnownUnions",
    "Pairs",
    "Relation",
    "TripleIndex",
    "grouped",
]
