"""For which datatypes the rules of a program look for types of literals."""

from __future__ import annotations

from enum import Enum

from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import replaced_end


class Interest(Enum):
    """For which datatypes rules look for VALUE facts."""

    IN_NAMED = "for datatypes that facts or rules name"
    IN_FACTS = "for others too if a fact is about rdf:type"
    IN_ALL = "for others too"


def interest_in_types(compiled: CompiledProgram) -> Interest:
    """For which datatypes the rules of a program look for VALUE facts.

    IN_NAMED unless a rule gives types to literals of any datatype. A rule that replaces terms by equal terms
    copies types, and does not count as looking for types.
    """
    if not compiled.types_literals():
        return Interest.IN_NAMED
    is_open = any(
        (atom.p < 0 and atom.p not in rule.guarded)
        or (atom.p == compiled.rdf_type and atom.o < 0 and atom.o not in rule.guarded)
        for rule in compiled.rules
        if rule.heads and replaced_end(rule) is None
        for atom in (rule.atoms[position] for position in rule.data)
    )
    return Interest.IN_ALL if is_open else Interest.IN_FACTS
