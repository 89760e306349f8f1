"""The ``corollary`` command.

This folder may import every other folder. Expensive imports are inside the functions that need them, so that
``corollary --help`` answers at once.

Invariant: a mistake of the user, a full device or too little memory ends in one message on standard error
and exit code 2, and leaves no output file. Exit code 1 means that ``check`` found inconsistencies, that
``query`` answers ASK with no, that the fact to ``explain`` does not hold, or that ``verify`` found damage.
"""

from corollary.cli.checking import check
from corollary.cli.commands import main
from corollary.cli.compacting import compact  # importing a command adds it to ``main``
from corollary.cli.converting import convert
from corollary.cli.doctoring import doctor
from corollary.cli.explaining import explain
from corollary.cli.generating import generate
from corollary.cli.rules import rules
from corollary.cli.serving import serve
from corollary.cli.spark import spark_generate, spark_load, spark_materialise, spark_update
from corollary.cli.verifying import verify
from corollary.cli.warming_up import warm_up

__all__ = [
    "check",
    "compact",
    "convert",
    "doctor",
    "explain",
    "generate",
    "main",
    "rules",
    "serve",
    "spark_generate",
    "spark_load",
    "spark_materialise",
    "spark_update",
    "verify",
    "warm_up",
]
