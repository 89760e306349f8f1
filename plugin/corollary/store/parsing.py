"""rdflib's SPARQL parser, one text at a time.

The parser finds out at a parse action's first call how many arguments it takes. Two threads that find
out together leave the grammar broken for good, so every text goes through one lock.
"""

from __future__ import annotations

from threading import RLock
from typing import Any

from rdflib.plugins.sparql.parser import parseQuery, parseUpdate

from corollary.kernels.interrupts import alone

_PARSER = RLock()


def parse_query(text: str) -> Any:
    """The parse tree of a query, for ``translateQuery``."""
    return alone(_PARSER, parseQuery, text)


def parse_update(text: Any) -> Any:
    """The parse tree of an update (text, bytes or a file), for ``translateUpdate``."""
    return alone(_PARSER, parseUpdate, text)
