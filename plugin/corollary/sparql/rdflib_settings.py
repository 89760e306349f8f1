"""rdflib's settings of SPARQL, read without importing its SPARQL package.

rdflib builds its grammar when that package is imported, which takes longer than most queries. A program that
changes a setting has imported the package. Else the settings have their defaults.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from rdflib.plugin import all_entry_points

ENTRY_POINTS = "rdf.plugins.sparqleval"
"""The group of entry points by which packages add custom evaluation functions to rdflib."""


def _package() -> Any:
    """rdflib's SPARQL package; None if it is not imported."""
    return sys.modules.get("rdflib.plugins.sparql")


def has_custom_evaluation() -> bool:
    """Whether custom functions evaluate parts of queries (``CUSTOM_EVALS``)."""
    package = _package()
    return _is_extended() if package is None else bool(package.CUSTOM_EVALS)


@cache
def _is_extended() -> bool:
    """Whether an installed package adds evaluation functions when rdflib's SPARQL package is imported."""
    return bool(all_entry_points.select(group=ENTRY_POINTS))


def loads_graphs() -> bool:
    """Whether FROM and LOAD read documents (``SPARQL_LOAD_GRAPHS``)."""
    return bool(getattr(_package(), "SPARQL_LOAD_GRAPHS", True))


def default_graph_is_union() -> bool:
    """Whether the default graph of a union shows all graphs (``SPARQL_DEFAULT_GRAPH_UNION``)."""
    return bool(getattr(_package(), "SPARQL_DEFAULT_GRAPH_UNION", True))
