"""Termination check: rules that may compute new terms without end, because they read their own results.

A program terminates if it is *weakly acyclic* (Fagin, Kolaitis, Miller, Popa, Data Exchange: Semantics and
Query Answering, 2005): no position that receives computed values leads, by any rules, to a position that
these values are computed from. Here ``BIND`` computes values, and only functions in ``GROWING`` count.

A position with a variable predicate stands for the positions of all predicates. Rules that compute nothing
and have such a position are ignored: the profiles have many, and these would connect every position with
every other. So a cycle through the ontology (``owl:sameAs``, ``rdfs:subPropertyOf``) is not detected; a limit
ends it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from corollary.language import (
    RDF_TYPE,
    Bind,
    Call,
    Constant,
    Expression,
    Program,
    Rule,
    Triple,
    Variable,
    format_rule,
)
from corollary.language.model import Chain, Each
from corollary.language.variables import variables

GROWING = {"+", "-", "*", "/", "concat", "replace"}
"""Functions that yield new values without end when applied to their own results."""


class Place(NamedTuple):
    """A position: subject (``s``) or object (``o``) of a predicate, or subject of a class. None is any."""

    predicate: Constant | None
    end: str
    type: Constant | None = None

    def meets(self, other: Place) -> bool:
        """Whether the two places may hold the same value."""
        return self.end == other.end and all(
            None in pair or pair[0] == pair[1]
            for pair in ((self.predicate, other.predicate), (self.type, other.type))
        )


class Flow(NamedTuple):
    """A rule carries values from one place to another; with ``is_computed``, values computed from them."""

    rule: Rule
    source: Place
    target: Place
    is_computed: bool


def unending(program: Program) -> list[Rule]:
    """The rules that may read the values that they compute, by any number of rules."""
    computing = [rule for rule in program if any(map(_grows, rule.body))]
    flows = [
        flow
        for rule in (program if computing else ())
        if rule in computing
        or not any(place.predicate is None for place, _ in _places((*rule.heads, *rule.body)))
        for flow in _flows(rule)
    ]
    return list(dict.fromkeys(flow.rule for flow in flows if flow.is_computed and _returns(flow, flows)))


def complaint(rule: Rule, program: Program) -> str:
    """The warning for a rule in ``unending``."""
    name = f"{rule.name}: " if rule.name else ""
    return (
        f"{name}{format_rule(rule, program.prefixes)} may compute new terms without end, for it may be "
        "applied to what it derives; unless a FILTER ends that, a limit will (limits=, terms=)"
    )


def _returns(first: Flow, flows: Sequence[Flow]) -> bool:
    """Whether values of a flow return, by any number of flows, to the place that it reads."""
    met, waiting = {first.target}, [first.target]
    while waiting:
        place = waiting.pop()
        if place.meets(first.source):
            return True
        new = {flow.target for flow in flows if place.meets(flow.source)} - met
        met |= new
        waiting += new
    return False


def _grows(element: object) -> bool:
    return isinstance(element, Bind) and _is_growing(element.expression)


def _is_growing(expression: Expression) -> bool:
    if not isinstance(expression, Call):
        return False
    is_sum = expression.function in GROWING and len(expression.arguments) > 1
    return is_sum or any(map(_is_growing, expression.arguments))


def _places(elements: Iterable[object]) -> Iterator[tuple[Place, Variable]]:
    """The places of variables in triples, including the triples of list patterns."""
    for element in elements:
        triples = element.atoms if isinstance(element, Each) else ()
        if isinstance(element, Triple):
            triples = (element,)
        elif isinstance(element, Chain):  # a path over the properties of a list
            triples = (Triple(element.start, Variable("_"), element.end),)
        for subject, predicate, value in (triple.terms for triple in triples):
            known = None if isinstance(predicate, Variable) else predicate
            is_type = predicate == RDF_TYPE and not isinstance(value, Variable)
            if isinstance(subject, Variable):
                yield Place(known, "s", value if is_type else None), subject  # type: ignore[arg-type]
            if isinstance(value, Variable):
                yield Place(known, "o"), value


def _flows(rule: Rule) -> Iterator[Flow]:
    """The flows from body to heads, also through BIND."""
    found: dict[Variable, set[tuple[Place, bool]]] = defaultdict(set)
    for place, variable in _places(rule.body):
        found[variable].add((place, False))
    binds = [element for element in rule.body if isinstance(element, Bind)]
    for _ in binds:  # a BIND may be written before those that it reads
        for bind in binds:
            grows = _is_growing(bind.expression)
            for variable in variables(bind.expression):
                found[bind.variable] |= {(place, grows or was) for place, was in found[variable]}
    for target, variable in _places(rule.heads):
        for source, is_computed in found[variable]:
            yield Flow(rule, source, target, is_computed)
