"""Input and output: RDF documents to columns of term ids and back, and encoded data sets.

``read``, ``read_index`` and ``write`` handle RDF formats and compression. ``load_encoded`` and
``save_encoded`` read and write encoded data sets, and do not change ids. A ``TermDictionary`` maps terms to
ids. A ``TripleIndex`` holds facts over ids.

Invariant: the modules of this package handle terms, ids and columns, and derive nothing. Only the subpackage
``corollary.loaders.spark`` applies rules: its ``materialise`` reasons on a cluster.
"""

from corollary.columns import TripleIndex
from corollary.kernels.limits import Progress
from corollary.loaders.encoded import load_encoded, save_encoded
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.loaders.ntriples import BadLine
from corollary.loaders.reading import Columns, read, read_index
from corollary.loaders.writing import write
from corollary.terms.dictionary import TermDictionary

__all__ = [
    "BadLine",
    "Columns",
    "EncodedDataSet",
    "Progress",
    "TermDictionary",
    "TripleIndex",
    "load_encoded",
    "read",
    "read_index",
    "save_encoded",
    "write",
]
