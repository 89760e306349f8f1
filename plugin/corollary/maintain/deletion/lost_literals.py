"""Facts of literals that no explicit fact has any more: they have no proof, and need not be searched for.

A proof begins with explicit facts, and each term of its conclusion comes from a premise or from a rule. So if
no rule names or computes literals, every literal of I is in an explicit fact. A search would take longer: the
types of a literal prove that the literal occurs, and follow from that.

    [:a, :name, "x"] removed: ["x", a, xsd:string] is all that has "x", and follows from the value of "x"
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from corollary.columns import NOTHING, Delta, TripleIndex
from corollary.columns.pairs import among, distinct, firsts
from corollary.columns.triples import FIRST_VIRTUAL
from corollary.kernels.sorted import Keys
from corollary.modules.datatypes import occur
from corollary.program.compile import CompiledRule
from corollary.terms.dictionary import FIRST_LITERAL


def introduce_literals(rules: Iterable[CompiledRule]) -> bool:
    """Whether a rule may conclude a fact of a literal that is in none of its premises."""
    return any(
        rule.groupings
        or any(condition.target is not None for condition in rule.conditions)
        or any(term >= FIRST_LITERAL for head in rule.heads for term in (head.s, head.o))
        for rule in rules
    )


def of_lost_literals(facts: Delta, explicit: TripleIndex) -> Delta:
    """The facts whose subject is a literal that no explicit fact has."""
    found: dict[int, Keys] = {}
    for predicate in facts.all_predicates():
        relation = facts.relation(predicate)
        if relation.is_compressed or relation.legal_count() == relation.size:
            continue
        keys = relation.pairs().keys[relation.legal_count() :]
        found[predicate] = keys[firsts(keys) < FIRST_VIRTUAL]
    if not found:
        return NOTHING
    literals = distinct(firsts(np.concatenate([*found.values()])))
    lost = literals[~occur(literals, explicit)]
    return Delta({predicate: keys[among(firsts(keys), lost)] for predicate, keys in found.items()})
