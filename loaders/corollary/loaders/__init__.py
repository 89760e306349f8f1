"""Getting facts in and out: RDF files to columns of term ids and back, and made-up universities.

``read`` and ``write`` know formats and compression; ``generate`` writes an ontology and its data.
Invariant: nothing here knows rules; a loader sees terms, ids and columns only.
"""

from corollary.loaders.ntriples import BadLine
from corollary.loaders.reading import Columns, Progress, read, read_index
from corollary.loaders.university import generate
from corollary.loaders.writing import write

__all__ = ["BadLine", "Columns", "Progress", "generate", "read", "read_index", "write"]
