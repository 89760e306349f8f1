"""Joins that no single variable holds together, as joins in steps.

The triples of ``[?x, :far, ?w] :- [?x, :a, ?y], [?y, :b, ?z], [?z, :c, ?w]`` share no variable. Those of each
of these rules do:

    [?x, :step, ?z] :- [?x, :a, ?y], [?y, :b, ?z] .
    [?x, :far, ?w] :- [?x, :step, ?z], [?z, :c, ?w] .

This eliminates a variable (bucket elimination: Dechter, Artificial Intelligence 113, 1999), as long as at
most two other variables are left of a step: then its result is a relation like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import combinations

from corollary.language import IRI, RDF_TYPE, Filter, Rule, Triple, Variable, variables

MAX_LEFT = 2
"""The variables of a step's result: a fact has a subject and an object."""


def in_steps(rule: Rule, name: Callable[[], IRI]) -> list[Rule] | None:
    """Rules that together conclude what one rule does; the triples of each share a subject or object.

    ``name`` gives new predicates, for the steps. Result: None if a step would have more than two variables.
    Precondition: the body has triples, with constant predicates, and filters; filters stay in the last rule.
    """
    triples = [element for element in rule.body if isinstance(element, Triple)]
    filters = tuple(element for element in rule.body if isinstance(element, Filter))
    used = {v for f in filters for v in variables(f.expression)} | _variables(rule.heads)
    steps: list[Rule] = []
    while not set.intersection(*map(_ends, triples)):
        found = min(_steps(triples, used), key=lambda step: (len(step[1]), -len(step[0])), default=None)
        if found is None:
            return None
        joined, left = found
        head = Triple(left[0], name(), left[-1])
        steps.append(Rule((head,), tuple(joined)))
        triples = [triple for triple in triples if triple not in joined] + [head]
    return [*steps, replace(rule, body=(*triples, *filters))]


def agreeing(rule: Rule) -> set[IRI]:
    """The predicates of which a rule joins two facts by their objects, as a key does."""
    triples = [element for element in rule.body if isinstance(element, Triple)]
    pairs = combinations([(t.predicate, t.object) for t in triples], 2)
    return {
        p
        for (p, end), other in pairs
        if (p, end) == other and isinstance(end, Variable) and isinstance(p, IRI)
    }


def _steps(triples: list[Triple], used: set[Variable]) -> Iterator[tuple[list[Triple], list[Variable]]]:
    """Triples that share a variable: all that have it, or two. With the variables that are left of them."""
    for shared in sorted(set.union(*map(_ends, triples)), key=lambda v: v.name):
        having = [triple for triple in triples if shared in _ends(triple)]
        for joined in (having, *map(list, combinations(having, 2))):
            others = _variables(triple for triple in triples if triple not in joined) | used
            left = sorted(_variables(joined) & others, key=lambda v: (v != shared, v.name))
            if len(joined) > 1 and 0 < len(left) <= MAX_LEFT:
                yield joined, left


def _ends(triple: Triple) -> set[Variable]:
    """The variables by which a triple is joined: not by a class."""
    ends = (triple.subject,) if triple.predicate == RDF_TYPE else (triple.subject, triple.object)
    return {end for end in ends if isinstance(end, Variable)}


def _variables(triples: Iterable[Triple]) -> set[Variable]:
    return {end for t in triples for end in (t.subject, t.object) if isinstance(end, Variable)}
