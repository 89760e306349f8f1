"""Loading and reasoning on Apache Spark, for what outgrows one machine.

Every function takes a SparkSession, the caller's own or one that ``session`` makes, and reads and writes
whatever file systems that session knows. What comes out is the encoded data set of ``loaders.encoded``.
Invariant: everything distributed is a DataFrame; nothing here opens a socket or moves data by itself.
"""

from corollary.loaders.spark.generating import generate
from corollary.loaders.spark.load import Loaded, load
from corollary.loaders.spark.materialise_tables import Materialised, materialise
from corollary.loaders.spark.session import archive, session, ship

__all__ = ["Loaded", "Materialised", "archive", "generate", "load", "materialise", "session", "ship"]
