"""Getting facts in and out: RDF files to columns of term ids and back, encoded data sets, made-up data.

``read`` and ``write`` know formats and compression; ``load_encoded`` and ``save_encoded`` keep ids as they
are; ``generate`` writes an ontology and its data.
Invariant: nothing here knows rules; a loader sees terms, ids and columns only.
"""

from corollary.loaders.encoded import load_encoded, save_encoded
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.loaders.generating import GENERATORS, generate
from corollary.loaders.ntriples import BadLine
from corollary.loaders.reading import Columns, Progress, read, read_index
from corollary.loaders.writing import write

__all__ = [
    "GENERATORS",
    "BadLine",
    "Columns",
    "EncodedDataSet",
    "Progress",
    "generate",
    "load_encoded",
    "read",
    "read_index",
    "save_encoded",
    "write",
]
