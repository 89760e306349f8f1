"""Wind turbines in chains, and the rule sets about them, after ZodiacEdge.

Xu and Curé, ZodiacEdge: a Datalog Engine With Incremental Rule Set Maintenance (2023). The rules are
equivalent to those of its appendices A, B and C. The data have the shape described in its section 6.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from benchmarks.engine import Facts
from benchmarks.graphs import PREFIX, named

from corollary.kernels.sorted import Column
from corollary.language import parse_program
from corollary.terms.dictionary import TermDictionary

CHAINS = (216, 200, 200, 184)
"""The lengths of the chains of p1, p2, p3 and p4: 800 turbines in total."""

OUTLIERS = 20
"""One in 20 turbines measures a temperature that is 10 degrees higher."""

RULE_SET_1 = parse_program(f"""
PREFIX : <{PREFIX}>
@name r1 [?x, :hasNeighbour, ?y] :- [?y, :hasNeighbour, ?x] .
@name r2 [?x, :hasNeighbour, ?y] :- [?x, :hasNeighbour, ?z], [?z, :hasNeighbour, ?y], FILTER(?x != ?y) .
@name r3 [?x, :neighboursMeasuring, ?n] :-
    AGGREGATE([?x, :hasNeighbour, ?y], [?y, :airTemperature, ?t] ON ?x BIND count(?t) AS ?n) .
@name r4 [?x, :medianNearby, ?m] :-
    AGGREGATE([?x, :hasNeighbour, ?y], [?y, :airTemperature, ?t] ON ?x BIND median(?t) AS ?m) .
@name r5 :AmongNeighbours[?x] :- [?x, :neighboursMeasuring, ?n], FILTER(?n >= 3) .
@name r6 :Anomalous[?x] :- [?x, :medianNearby, ?m], :AmongNeighbours[?x], [?x, :airTemperature, ?t],
    BIND(abs(?t - ?m) AS ?d), FILTER(?d > 5) .
""")

_BOTH = f"""
PREFIX : <{PREFIX}>
@name r1 [?x, :p11, ?y] :- [?x, :p1, ?y] .
@name r2 [?x, :p11, ?y] :- [?y, :p11, ?x] .
@name r3 [?x, :p11, ?y] :- [?x, :p11, ?z], [?z, :p11, ?y], FILTER(?x != ?y) .
@name r4 [?x, :p12, ?y] :- [?x, :p2, ?y] .
@name r5 [?x, :p12, ?y] :- [?x, :p12, ?z], [?z, :p12, ?y], FILTER(?x != ?y) .
@name r6 [?x, :p13, ?y] :- [?x, :p3, ?y] .
@name r7 [?x, :p14, ?y] :- [?x, :p13, ?y] .
@name r8 [?x, :p13, ?y] :- [?y, :p14, ?x] .
@name r9 [?x, :p20, ?y] :- [?x, :p11, ?y] .
@name r11 [?x, :p20, ?y] :- [?x, :p13, ?y] .
@name r12 [?x, :p21, ?y] :- [?x, :p20, ?y] .
@name r13 [?x, :p22, ?y] :- [?x, :p21, ?y] .
@name r14 [?x, :p20, ?y] :- [?x, :p22, ?y] .
@name r15 [?x, :p25, ?z] :- [?x, :p11, ?y], [?y, :p12, ?z], NOT [?y, :p5, ?z] .
@name r16 [?x, :p26, ?z] :- [?x, :p12, ?y], [?z, :p13, ?y], NOT [?z, :p5, ?y] .
@name r17 [?x, :p30, ?z] :- [?x, :p22, ?y], [?y, :p21, ?z] .
@name r18 [?x, :p31, ?z] :- [?x, :p25, ?y], [?y, :p26, ?z] .
"""
RULE_SET_2 = parse_program(_BOTH + "@name r10 [?x, :p20, ?y] :- [?x, :p12, ?y] .")
RULE_SET_3 = parse_program(_BOTH + "@name r10 [?x, :p20, ?y] :- [?x, :p12, ?y], NOT [?y, :p13, ?z] .")

RULE_SETS = {"RS1": RULE_SET_1, "RS2": RULE_SET_2, "RS3": RULE_SET_3}
"""The programs by their names in tables."""


def chain(length: int, seed: int = 0) -> Facts:
    """A chain of neighbours (data set 1), and the air temperature at each, in degrees Celsius."""
    random = np.random.default_rng(seed)
    dictionary = TermDictionary()
    turbines = named(dictionary, "Turbine", length)
    measured = np.round(random.normal(25, 1, length), 1)
    measured[random.integers(0, OUTLIERS, length) == 0] += 10
    temperatures = np.array([dictionary.encode(_decimal(value)) for value in measured], np.uint32)
    neighbour, temperature = _properties(dictionary, "hasNeighbour", "airTemperature")
    predicates = np.repeat(np.array([neighbour, temperature]), [length - 1, length])
    subjects = np.concatenate((turbines[:-1], turbines))
    return Facts(dictionary, (subjects, predicates, np.concatenate((turbines[1:], temperatures))))


def chains(lengths: Sequence[int] = CHAINS) -> Facts:
    """Four consecutive chains, of p1 to p4, and one p5 fact at the end of the first (data set 2)."""
    dictionary = TermDictionary()
    turbines = named(dictionary, "Turbine", sum(lengths) + 1)
    properties = _properties(dictionary, *(f"p{number}" for number in range(1, 6)))
    shared = lengths[0]
    subjects = np.append(turbines[:-1], turbines[shared])
    objects = np.append(turbines[1:], turbines[shared + 1])
    return Facts(dictionary, (subjects, np.repeat(properties, [*lengths, 1]), objects))


def _properties(dictionary: TermDictionary, *names: str) -> Column:
    return np.array([dictionary.encode(f"<{PREFIX}{name}>") for name in names], np.uint32)


def _decimal(value: float) -> str:
    return f'"{value:.1f}"^^<http://www.w3.org/2001/XMLSchema#decimal>'
