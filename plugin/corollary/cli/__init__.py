"""The ``corollary`` command: files in, consequences out.

This is where everything is put together, so it may import every other folder; the heavy ones only
inside the functions that need them, so that ``corollary --help`` answers at once.

Invariant: a mistake of the user, a full device or too little memory ends in one message on standard error
and exit code 2, and leaves no output file; exit code 1 means that ``check`` found inconsistencies, that
``query`` answers ASK with no, that the fact to ``explain`` does not hold, or that ``verify`` found damage.
"""

from corollary.cli.commands import main
from corollary.cli.compacting import compact  # it adds its command
from corollary.cli.explaining import explain  # it too
from corollary.cli.generating import generate  # it too
from corollary.cli.rules import rules  # it too
from corollary.cli.spark import spark_generate, spark_load, spark_materialise  # and these
from corollary.cli.verifying import verify  # and this

__all__ = [
    "compact",
    "explain",
    "generate",
    "main",
    "rules",
    "spark_generate",
    "spark_load",
    "spark_materialise",
    "verify",
]
