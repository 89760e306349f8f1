"""Loading and reasoning on Apache Spark, for data that do not fit on one machine.

Every function takes a SparkSession, the caller's own or one that ``session`` makes, and reads and writes all
file systems of that session. Results are encoded data sets (``loaders.encoded``).
Invariant: all distributed data are DataFrames; no code here opens a socket or moves data itself.
"""

from corollary.loaders.spark.generate_parts import generate
from corollary.loaders.spark.load import Loaded, load
from corollary.loaders.spark.materialise_tables import Materialised, materialise
from corollary.loaders.spark.session import archive, session, ship
from corollary.loaders.spark.update_tables import Updated, update

__all__ = [
    "Loaded",
    "Materialised",
    "Updated",
    "archive",
    "generate",
    "load",
    "materialise",
    "session",
    "ship",
    "update",
]
