"""Rules that may compute terms without end: their results may come back to them.

A program ends if it is *weakly acyclic* (Fagin, Kolaitis, Miller, Popa, Data Exchange: Semantics and Query
Answering, 2005): no position of a predicate that gets computed values leads back, by any rules, to one that
these values are computed from. Here the values are computed by ``BIND``, and only by what can go on for ever:
sums, products, texts put together.

Positions whose predicate is a variable are all predicates' positions, but not in rules that compute nothing:
by those, which a profile is full of, everything would lead to everything. So what comes back by way of the
ontology (``owl:sameAs``, ``rdfs:subPropertyOf``) is not seen, and a limit has to end it.
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
"""Functions whose results, put into them again and again, may be new each time."""


class Place(NamedTuple):
    """An end of a predicate, ``s`` or ``o``; if it is the subject of a type, of which one. None: of any."""

    predicate: Constant | None
    end: str
    type: Constant | None = None

    def meets(self, other: Place) -> bool:
        """Whether a value at the one place may be at the other, too."""
        return self.end == other.end and all(
            None in pair or pair[0] == pair[1]
            for pair in ((self.predicate, other.predicate), (self.type, other.type))
        )


class Flow(NamedTuple):
    """A rule takes values from one place to another; or what it computes from them."""

    rule: Rule
    source: Place
    target: Place
    is_computed: bool


def unending(program: Program) -> list[Rule]:
    """The rules that compute values from what may follow from these values."""
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
    """What to say of such a rule of a program."""
    name = f"{rule.name}: " if rule.name else ""
    return (
        f"{name}{format_rule(rule, program.prefixes)} may compute new terms without end, for it may be "
        "applied to what it derives; unless a FILTER ends that, a limit will (limits=, terms=)"
    )


def _returns(first: Flow, flows: Sequence[Flow]) -> bool:
    """Whether values come back, by any number of rules, to the place that they were taken from."""
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
    """Where variables stand in triples, those of list patterns among them."""
    for element in elements:
        triples = element.atoms if isinstance(element, Each) else ()
        if isinstance(element, Triple):
            triples = (element,)
        elif isinstance(element, Chain):  # over properties that a list names
            triples = (Triple(element.start, Variable("_"), element.end),)
        for subject, predicate, value in (triple.terms for triple in triples):
            known = None if isinstance(predicate, Variable) else predicate
            is_type = predicate == RDF_TYPE and not isinstance(value, Variable)
            if isinstance(subject, Variable):
                yield Place(known, "s", value if is_type else None), subject  # type: ignore[arg-type]
            if isinstance(value, Variable):
                yield Place(known, "o"), value


def _flows(rule: Rule) -> Iterator[Flow]:
    """Where the values of a rule's heads come from."""
    found: dict[Variable, set[tuple[Place, bool]]] = defaultdict(set)
    for place, variable in _places(rule.body):
        found[variable].add((place, False))
    binds = [element for element in rule.body if isinstance(element, Bind)]
    for _ in binds:  # one may be written before those that it reads
        for bind in binds:
            grows = _is_growing(bind.expression)
            for variable in variables(bind.expression):
                found[bind.variable] |= {(place, grows or was) for place, was in found[variable]}
    for target, variable in _places(rule.heads):
        for source, is_computed in found[variable]:
            yield Flow(rule, source, target, is_computed)
