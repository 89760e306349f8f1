"""The operator under evaluation, for messages: its SPARQL keyword, and the triples of a pattern."""

from __future__ import annotations

from typing import Any

from corollary.sparql.algebra import (
    Distinct,
    Extend,
    Filter,
    Group,
    InGraph,
    Join,
    LeftJoin,
    Minus,
    Operator,
    OrderBy,
    Project,
    Reduced,
    Service,
    Slice,
    Subquery,
    Triples,
    Union,
    Values,
)
from corollary.sparql.tuning import MAX_CHARACTERS_SHOWN

KEYWORDS: dict[type[Operator], str] = {
    Triples: "pattern",
    Join: "JOIN",
    LeftJoin: "OPTIONAL",
    Union: "UNION",
    Minus: "MINUS",
    Filter: "FILTER",
    InGraph: "GRAPH",
    Service: "SERVICE",
    Extend: "BIND",
    Values: "VALUES",
    Subquery: "subquery",
    Group: "GROUP BY",
    OrderBy: "ORDER BY",
    Project: "SELECT",
    Distinct: "DISTINCT",
    Reduced: "REDUCED",
    Slice: "LIMIT",
}
"""The SPARQL keywords of algebra operators."""


class Place:
    """The operator under evaluation, for messages."""

    __slots__ = ("part",)

    def __init__(self, part: Operator) -> None:
        self.part = part

    def __str__(self) -> str:
        name = KEYWORDS[type(self.part)]
        listed = self.part.triples if isinstance(self.part, Triples) else ()
        triples = " . ".join(" ".join(map(_text, triple)) for triple in listed)
        shown = triples if len(triples) <= MAX_CHARACTERS_SHOWN else f"{triples[:MAX_CHARACTERS_SHOWN]} ..."
        return f"{name} {{ {shown} }}" if shown else name


def _text(term: Any) -> str:
    return str(term.n3())
