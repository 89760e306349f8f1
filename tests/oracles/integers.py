"""The builtins over literals for the naive evaluator, where all literals are of two integer datatypes.

Invariant: nothing here is right for other datatypes; ontologies for the naive evaluator use no other.
"""

from __future__ import annotations

from itertools import product

from tests.oracles.naive import Pairs, Relations

from corollary.language.model import IRI, RDFS, XSD, Constant, Literal

LITERAL = IRI(RDFS + "Literal")
INTEGER, NATURAL = XSD + "integer", XSD + "nonNegativeInteger"


def is_of(literal: Literal, datatype: str) -> bool:
    """Whether the literal's value belongs to the datatype; those ill-typed have none."""
    least = 0 if NATURAL in (datatype, literal.datatype) else None
    try:
        value = int(literal.lexical)
    except ValueError:
        return False
    return least is None or value >= least


def values(literals: set[Literal]) -> Pairs:
    """VALUE, for the datatypes that occur."""
    occurring = {literal.datatype for literal in literals if literal.datatype}
    return {(v, IRI(datatype)) for v, datatype in product(literals, occurring) if is_of(v, datatype)}


def values_of_literal(literals: set[Literal]) -> Pairs:
    """VALUE where facts mention rdfs:Literal: all values belong to it, too."""
    found = values(literals)
    return found | {(v, LITERAL) for v, _ in found}


def ill_typed(literals: set[Literal]) -> Pairs:
    return {(v, IRI(v.datatype)) for v in literals if v.datatype and not is_of(v, v.datatype)}


def compared(literals: set[Literal], same: bool) -> Pairs:
    """SAME_VALUE or DIFFERENT_VALUE of two well-typed literals."""
    typed = [literal for literal in literals if literal.datatype and is_of(literal, literal.datatype)]
    found: set[tuple[Constant, Constant]] = set()
    for v, w in product(typed, typed):
        if v != w and (int(v.lexical) == int(w.lexical)) == same:
            found.add((v, w))
    return found


def same_value(literals: set[Literal]) -> Pairs:
    return compared(literals, True)


def different_value(literals: set[Literal]) -> Pairs:
    return compared(literals, False)


INTEGERS: Relations = {
    "VALUE": values,
    "ILL_TYPED": ill_typed,
    "SAME_VALUE": same_value,
    "DIFFERENT_VALUE": different_value,
}

INTEGERS_AND_LITERAL: Relations = {**INTEGERS, "VALUE": values_of_literal}
"""Those where facts mention rdfs:Literal."""
