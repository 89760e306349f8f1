"""Hypothesis strategies for facts and rules over a vocabulary so small that things meet.

The idea: five individuals, three properties, three classes and a few numbers, so that rules feed
each other and themselves. Rules are safe by construction, and the atoms of a body hang together, so
that a naive evaluator can answer any of them. Rules with a special element (NOT, FILTER, BIND, AGGREGATE)
come in programs of two layers: mostly, they read both vocabularies and write the upper one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from corollary.language.model import (
    IRI,
    RDF_TYPE,
    XSD,
    Aggregate,
    AggregateBinding,
    Bind,
    BlankNode,
    BodyElement,
    Call,
    Constant,
    Expression,
    Filter,
    Literal,
    Not,
    Rule,
    Term,
    Triple,
    Variable,
)
from corollary.language.program import Program

Fact = tuple[Constant, Constant, Constant]

MORE_EXAMPLES = int(os.environ.get("MORE_EXAMPLES") or 1)
"""Factor: examples of a long run, over those of a full one. If it is not set, a run is not full."""

FEWER_EXAMPLES = 1 if "MORE_EXAMPLES" in os.environ else 5
"""Factor: examples in a full run, over those of a run by default."""


def examples(number: int) -> int:
    """How many examples a test has that has ``number`` of them in a full run."""
    return max(number * MORE_EXAMPLES // FEWER_EXAMPLES, 1)


def thorough(max_examples: int, *, full_in_ci: bool = False) -> settings:
    """Settings for a test that may be slow, and is worth a long run; with ``full_in_ci`` also in CI."""
    number = max_examples if full_in_ci and "CI" in os.environ else 0
    return settings(
        max_examples=max(examples(max_examples), number),
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


EXAMPLE = "http://example.org/"
INDIVIDUALS: tuple[Constant, ...] = (*(IRI(EXAMPLE + name) for name in "abcd"), BlankNode("e"))
PROPERTIES = tuple(IRI(EXAMPLE + name) for name in "pqr")
CLASSES = tuple(IRI(EXAMPLE + name) for name in "ABC")
NUMBERS = tuple(Literal(str(n), XSD + "integer") for n in range(4))
VARIABLES = tuple(map(Variable, "xyzu"))
VALUE = Variable("value")
HAS_VALUE = IRI(EXAMPLE + "value")

individuals = st.sampled_from(INDIVIDUALS)
properties = st.sampled_from(PROPERTIES)
classes = st.sampled_from(CLASSES)
numbers = st.sampled_from(NUMBERS)
variables = st.sampled_from(VARIABLES)

plain_facts: st.SearchStrategy[Fact] = st.one_of(
    st.tuples(individuals, properties, individuals),
    st.tuples(individuals, st.just(RDF_TYPE), classes),
)
number_facts: st.SearchStrategy[Fact] = st.tuples(individuals, properties, numbers)
punned_facts: st.SearchStrategy[Fact] = st.one_of(
    st.tuples(st.sampled_from(CLASSES + PROPERTIES), properties, individuals),
    st.tuples(individuals, properties, st.sampled_from(CLASSES + PROPERTIES)),
    st.tuples(properties, st.just(RDF_TYPE), classes),
)


def sets_of(facts: st.SearchStrategy[Fact], most: int = 20) -> st.SearchStrategy[frozenset[Fact]]:
    """Sets of facts, mostly large: left to itself, Hypothesis makes them too small to derive anything."""
    small = st.frozensets(facts, max_size=most // 2)
    large = st.frozensets(facts, min_size=most // 2, max_size=most)
    return st.one_of(small, large, large)


fact_sets = sets_of(st.one_of(plain_facts, plain_facts, plain_facts, number_facts, punned_facts))
"""Facts of individuals, with some numbers, and some classes and properties for individuals."""

number_fact_sets = sets_of(st.one_of(plain_facts, number_facts))
"""Facts of individuals, half of them of numbers."""


@dataclass(frozen=True)
class Vocabulary:
    """What rules may speak of; ``open`` if predicates and inferred classes may be variables too."""

    properties: tuple[IRI, ...]
    classes: tuple[IRI, ...]
    open: bool = False


UPPER = Vocabulary((IRI(EXAMPLE + "s"), IRI(EXAMPLE + "t")), (IRI(EXAMPLE + "D"),))
LOWER = Vocabulary(PROPERTIES, CLASSES)
BOTH = Vocabulary(LOWER.properties + UPPER.properties, LOWER.classes + UPPER.classes)
OPEN = Vocabulary(PROPERTIES, CLASSES, open=True)

KINDS = st.sampled_from(("edge", "edge", "edge", "edge", "edge", "class", "class", "any class", "open"))


@st.composite
def atoms(draw: st.DrawFn, vocabulary: Vocabulary, known: Sequence[Variable] = ()) -> Triple:
    """A triple pattern; if there are ``known`` variables, with at least one of them."""
    subject: Term = draw(st.one_of(variables, variables, variables, variables, individuals))
    object_: Term = draw(st.one_of(variables, variables, variables, variables, individuals))
    predicate: Term = RDF_TYPE
    kind = draw(KINDS)
    if kind == "open" and vocabulary.open:
        predicate = draw(variables)
    elif kind == "class":
        object_ = draw(st.sampled_from(vocabulary.classes))
    elif kind != "any class":
        predicate = draw(st.sampled_from(vocabulary.properties))
        object_ = draw(st.one_of(*[st.just(object_)] * 5, numbers))
    atom = Triple(subject, predicate, object_)
    if known and not set(atom.terms) & set(known):
        return Triple(draw(st.sampled_from(known)), predicate, object_)
    return atom


@st.composite
def bodies(draw: st.DrawFn, vocabulary: Vocabulary, max_size: int = 3) -> tuple[Triple, ...]:
    """One to three atoms that hang together; at most one has a variable for its predicate."""
    body: list[Triple] = []
    for _ in range(draw(st.integers(1, max_size))):
        opened = any(isinstance(atom.predicate, Variable) for atom in body)
        part = Vocabulary(vocabulary.properties, vocabulary.classes, vocabulary.open and not opened)
        body.append(draw(atoms(part, variables_of(body))))
    return tuple(body)


@st.composite
def heads(draw: st.DrawFn, vocabulary: Vocabulary, bound: Sequence[Variable]) -> Triple:
    """A head whose variables are among the bound ones."""
    terms: st.SearchStrategy[Term] = individuals
    if bound:
        terms = st.one_of(*[st.sampled_from(bound)] * 4, individuals)
    kind = draw(KINDS)
    if kind == "any class" and vocabulary.open:
        return Triple(draw(terms), RDF_TYPE, draw(terms))
    if kind == "open" and vocabulary.open and bound:
        return Triple(draw(terms), draw(st.sampled_from(bound)), draw(terms))
    if kind == "class":
        return Triple(draw(terms), RDF_TYPE, draw(st.sampled_from(vocabulary.classes)))
    return Triple(draw(terms), draw(st.sampled_from(vocabulary.properties)), draw(terms))


@st.composite
def positive_rules(draw: st.DrawFn, reads: Vocabulary = OPEN, writes: Vocabulary = OPEN) -> Rule:
    """Rules of triples alone; some are constraints, some have several heads."""
    body = draw(bodies(reads))
    if draw(st.integers(0, 9)) == 9:
        return Rule((), body)
    return Rule(tuple(draw(st.lists(heads(writes, variables_of(body)), min_size=1, max_size=2))), body)


upper_or_lower = st.sampled_from((UPPER, UPPER, UPPER, LOWER))


@st.composite
def rules_with_not(draw: st.DrawFn) -> Rule:
    """A rule with one or two negations, of one or two atoms, over what may be derived elsewhere."""
    body = draw(bodies(BOTH, max_size=2))
    bound = variables_of(body)
    negated = st.lists(atoms(BOTH, bound), min_size=1, max_size=2).map(lambda chosen: Not(tuple(chosen)))
    negations = draw(st.lists(negated, min_size=1, max_size=2))
    return Rule((draw(heads(draw(upper_or_lower), bound)),), (*body, *negations))


comparisons = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))


def expressions(bound: Sequence[Variable]) -> st.SearchStrategy[Expression]:
    """Small arithmetic over bound variables and numbers."""
    leaves: st.SearchStrategy[Expression] = st.one_of(numbers, st.sampled_from(bound)) if bound else numbers
    return st.one_of(
        leaves,
        st.builds(Call, st.sampled_from(("+", "-", "*")), st.tuples(leaves, leaves)),
    )


def conditions(bound: Sequence[Variable]) -> st.SearchStrategy[Expression]:
    """Comparisons of arithmetic, of terms, and their combinations."""
    simple = st.builds(Call, comparisons, st.tuples(expressions(bound), expressions(bound)))
    return st.one_of(
        simple,
        simple,
        st.builds(Call, st.sampled_from(("&&", "||")), st.tuples(simple, simple)),
        st.builds(Call, st.just("!"), st.tuples(simple)),
    )


@st.composite
def rules_with_filter(draw: st.DrawFn) -> Rule:
    """A rule with one or two conditions."""
    body = draw(bodies(BOTH, max_size=2))
    bound = variables_of(body)
    filters = draw(st.lists(st.builds(Filter, conditions(bound)), min_size=1, max_size=2))
    return Rule((draw(heads(draw(upper_or_lower), bound)),), (*body, *filters))


@st.composite
def rules_with_bind(draw: st.DrawFn) -> Rule:
    """A computed value, in a head of which nothing more is computed: numbers must not grow forever."""
    body = draw(bodies(BOTH, max_size=2))
    bound = variables_of(body)
    elements: tuple[BodyElement, ...] = (*body, Bind(draw(expressions(bound)), VALUE))
    if draw(st.booleans()):
        elements += (Filter(Call("<", (VALUE, NUMBERS[2]))),)
    subject = draw(st.sampled_from((*bound, INDIVIDUALS[0])))
    return Rule((Triple(subject, HAS_VALUE, VALUE),), elements)


@st.composite
def rules_with_aggregate(draw: st.DrawFn) -> Rule:
    """A group's count, sum, least, greatest, mean or median, sometimes joined with another atom."""
    inner: tuple[Triple | Filter, ...] = draw(bodies(BOTH, max_size=2).filter(variables_of))
    inside = st.sampled_from(variables_of(inner))
    group = tuple(draw(st.lists(inside, min_size=1, max_size=2, unique=True)))
    function = draw(st.sampled_from(("count", "sum", "min", "max", "avg", "median")))
    argument = draw(inside)
    binding = AggregateBinding(function, argument, VALUE, draw(st.booleans()))
    if function != "count":
        # Every value is to be a number: a group with anything else has no sum.
        inner += (Filter(Call(">=", (argument, NUMBERS[0]))),)
    elif draw(st.booleans()):
        binding = AggregateBinding("count", None, VALUE)
    elements: tuple[BodyElement, ...] = (Aggregate(inner, group, (binding,)),)
    if draw(st.booleans()):
        # What else is local to the aggregate means nothing outside of it.
        local: dict[Term, Term] = {name: Variable(name.name + "2") for name in VARIABLES if name not in group}
        outer = draw(atoms(BOTH, group))
        elements += (Triple(*(local.get(term, term) for term in outer.terms)),)
    return Rule((Triple(draw(st.sampled_from(group)), HAS_VALUE, VALUE),), elements)


def programs(special: st.SearchStrategy[Rule] | None = None) -> st.SearchStrategy[Program]:
    """Positive rules; if ``special`` rules are wanted, one or two of them between two layers of others."""
    if special is None:
        return lists_of(positive_rules(), 1, 6).map(program_of)
    return st.tuples(
        lists_of(positive_rules(LOWER, LOWER), 0, 3),
        lists_of(special, 1, 2),
        lists_of(positive_rules(BOTH, UPPER), 0, 2),
    ).flatmap(lambda layers: st.permutations([rule for layer in layers for rule in layer]).map(program_of))


def lists_of(rules: st.SearchStrategy[Rule], least: int, most: int) -> st.SearchStrategy[list[Rule]]:
    """Lists of rules, mostly of more than half the greatest size."""
    long = st.lists(rules, min_size=(least + most + 1) // 2, max_size=most)
    return st.one_of(st.lists(rules, min_size=least, max_size=most), long, long)


def program_of(rules: Sequence[Rule]) -> Program:
    """Each rule once, with a name of its own."""
    return Program(tuple(rule.named(f"rule-{i}") for i, rule in enumerate(dict.fromkeys(rules))))


def variables_of(body: Sequence[BodyElement]) -> tuple[Variable, ...]:
    """The variables of the body's triples, in order."""
    found = (term for atom in body if isinstance(atom, Triple) for term in atom.terms)
    return tuple(dict.fromkeys(term for term in found if isinstance(term, Variable)))
