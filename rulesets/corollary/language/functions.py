"""The functions, operators and aggregates of expressions, with their arities.

The checks accept these calls only. The engine implements each of them (a test evaluates them all). Names are
written in any case and stored in lower case. Each is SPARQL's function of that name, with two exceptions: the
aggregate ``median``, and ``DATATYPE_CLASH(?v, ?d)``: the literal v denotes a value outside the datatype d.
"""

from __future__ import annotations

UNLIMITED_ARITY = 1 << 30
"""Maximum arity of a function without a limit on its arguments: a sentinel, larger than any call."""

FUNCTIONS: dict[str, tuple[int, int]] = {
    # numbers
    "abs": (1, 1),
    "ceil": (1, 1),
    "floor": (1, 1),
    "round": (1, 1),
    # strings
    "str": (1, 1),
    "strlen": (1, 1),
    "lcase": (1, 1),
    "ucase": (1, 1),
    "concat": (0, UNLIMITED_ARITY),
    "contains": (2, 2),
    "strstarts": (2, 2),
    "strends": (2, 2),
    "strbefore": (2, 2),
    "strafter": (2, 2),
    "substr": (2, 3),
    "replace": (3, 4),
    "regex": (2, 3),
    # terms
    "iri": (1, 1),
    "lang": (1, 1),
    "langmatches": (2, 2),
    "datatype": (1, 1),
    "strdt": (2, 2),
    "strlang": (2, 2),
    "isiri": (1, 1),
    "isblank": (1, 1),
    "isliteral": (1, 1),
    "isnumeric": (1, 1),
    "sameterm": (2, 2),
    "datatype_clash": (2, 2),
    # choice
    "bound": (1, 1),
    "if": (3, 3),
    "coalesce": (1, UNLIMITED_ARITY),
    # dates and times
    "year": (1, 1),
    "month": (1, 1),
    "day": (1, 1),
    "hours": (1, 1),
    "minutes": (1, 1),
    "seconds": (1, 1),
}
"""Function -> (minimum, maximum) number of arguments."""

OPERATORS: dict[str, tuple[int, int]] = {
    "||": (2, 2),
    "&&": (2, 2),
    "=": (2, 2),
    "!=": (2, 2),
    "<": (2, 2),
    "<=": (2, 2),
    ">": (2, 2),
    ">=": (2, 2),
    "in": (1, UNLIMITED_ARITY),
    "not in": (1, UNLIMITED_ARITY),
    "+": (1, 2),
    "-": (1, 2),
    "*": (2, 2),
    "/": (2, 2),
    "!": (1, 1),
}
"""Operator -> (minimum, maximum) number of operands. The operands of ``in`` are the value, then the list."""

AGGREGATES = ("count", "sum", "min", "max", "avg", "median")
"""The functions of ``AGGREGATE``. Only ``count`` accepts ``*`` as its argument."""
