"""Facts, schema, rules and profiles change on a live store, in any order and together.

After every transaction the store shows what the naive evaluator makes of its explicit facts and of the rules
it has by then, from scratch. A transaction removes and adds facts, and maybe does something with rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import cast

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st
from rdflib import Graph
from rdflib.term import Identifier, Node
from rdflib.util import from_n3
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.evaluate.test_against_naive import by_value, is_literal_and_more, is_stratified
from tests.oracles.integers import INTEGERS, INTEGERS_AND_LITERAL, LITERAL
from tests.oracles.naive import closure, visible
from tests.strategies import Fact, thorough

from corollary.language import (
    IRI,
    OWL,
    RDF_TYPE,
    RDFS,
    XSD,
    BlankNode,
    Literal,
    Program,
    Rule,
    Triple,
    UnsafeRuleError,
    UnstratifiableError,
    Variable,
    constant_text,
    format_program,
    parse_constant,
    parse_program,
)
from corollary.profiles import load_profile
from corollary.store import CorollaryStore

PROFILES = ("rhodf", "rdfs", "rdfs-plus", "owl2rl")
CIRCULAR = parse_program(
    f"""
    PREFIX : <{some.EXAMPLE}>
    @name first
    [?x, :s, ?x] :- [?x, :p, ?y], NOT [?x, :t, ?x] .
    @name second
    [?x, :t, ?y] :- [?x, :s, ?y] .
    """
)
NOTHING_BINDS_IT = Rule((Triple(Variable("x"), some.PROPERTIES[0], Variable("nowhere")),), ())


class Twin:
    """A store, and what it should be: explicit facts and rules. Facts are compared as ``seen``."""

    def __init__(self, rules: Program | str, seen: Callable[[set[Fact]], object] = frozenset) -> None:
        self.store = CorollaryStore(rules=rules)
        self.facts: set[Fact] = set()
        self.rules = load_profile(rules) if isinstance(rules, str) else rules
        self._graph = Graph(self.store)
        self._seen = seen

    def change(self, gone: Iterable[Fact], come: Iterable[Fact]) -> None:
        """Remove and add facts; the store looks at them with whatever comes next."""
        for fact in gone:
            self._graph.remove(_triple(fact))
            self.facts.discard(fact)
        for fact in come:
            self._graph.add(_triple(fact))
            self.facts.add(fact)

    def add(self, rules: Sequence[Rule], *, as_text: bool) -> None:
        """Add rules, given as a program or as text."""
        program = Program(tuple(dict.fromkeys(rules)))
        new = tuple(rule for rule in program if rule not in set(self.rules))
        added = self.store.add_rules(format_program(program) if as_text and len(program) else program)
        assert added.rules == new
        self.rules = replace(self.rules, rules=(*self.rules.rules, *new))

    def remove(self, rules: Sequence[Rule]) -> None:
        """Remove rules; those that are not there are harmless."""
        removed = self.store.remove_rules(Program(tuple(rules)))
        assert set(removed) == set(rules) & set(self.rules)
        self.rules = replace(self.rules, rules=tuple(r for r in self.rules if r not in set(rules)))

    def exchange(self, data: st.DataObject, rules: Sequence[Rule], most: int) -> None:
        """Add or remove some of the rules; the store is exact then."""
        chosen = data.draw(st.lists(st.sampled_from(rules), max_size=most, unique=True))
        if data.draw(st.booleans()):
            self.add(chosen, as_text=False)
        else:
            self.remove(chosen)
        self.assert_exact()

    def use(self, *names: str) -> None:
        """Switch to profiles."""
        self.store.use_rules(*names)
        self.rules = reduce(add, map(load_profile, names), Program(()))

    def assert_exact(self) -> None:
        """The store shows what follows, and has the rules."""
        wanted = closure(self.facts, self.rules, INTEGERS)[0]
        if any(LITERAL in fact for fact in wanted):
            wanted = closure(self.facts, self.rules, INTEGERS_AND_LITERAL)[0]
        if any(map(is_literal_and_more, wanted)):
            reject()
        found = {_fact(triple) for triple, _ in self.store.triples((None, None, None))}
        assert self._seen(found) == self._seen(visible(wanted) | self.facts), self.store.last_maintenance()
        assert set(self.store.rules()) == set(self.rules)
        assert set(map(_fact, self.store.explicit())) == self.facts


def _triple(fact: Fact) -> tuple[Node, Node, Node]:
    s, p, o = (cast(Node, from_n3(constant_text(term))) for term in fact)
    return s, p, o


def _fact(triple: tuple[Node, Node, Node]) -> Fact:
    s, p, o = (parse_constant(cast(Identifier, term).n3()) for term in triple)
    return s, p, o


def some_of(data: st.DataObject, facts: Iterable[Fact], most: int = 3) -> list[Fact]:
    known = sorted(facts, key=str)
    return data.draw(st.lists(st.sampled_from(known), max_size=most, unique=True)) if known else []


def rules_of(program: Program) -> list[Rule]:
    """A program's rules without their names: two programs give other rules the same one."""
    return [replace(rule, name="") for rule in program]


schemas = ontology.ontologies(ontology.rdfs_axioms, ontology.property_axioms, ontology.class_axioms)


@thorough(60)
@given(st.data())
def test_rules_schema_and_profiles_change(data: st.DataObject) -> None:
    draw = data.draw
    twin = Twin(draw(st.sampled_from(PROFILES)))
    pool = draw(schemas) | draw(some.sets_of(some.plain_facts))
    known = [rule for _ in range(2) for rule in rules_of(draw(some.programs()))]
    for _ in range(draw(st.integers(2, 6))):
        twin.change(some_of(data, twin.facts), some_of(data, pool, 8))
        match draw(st.sampled_from(("facts", "add", "remove", "use"))):
            case "add":
                rules = draw(st.lists(st.sampled_from(known), max_size=3))
                twin.add(rules, as_text=draw(st.booleans()))
            case "remove":
                present = sorted(twin.rules, key=str)
                twin.remove(draw(st.lists(st.sampled_from(present or known), max_size=3)))
            case "use":
                twin.use(*draw(st.lists(st.sampled_from(PROFILES), max_size=2, unique=True)))
        twin.assert_exact()


def test_a_profile_that_mentions_a_datatype_comes() -> None:
    """The axioms of rdfs mention rdfs:Literal: so "1" is of that class, whose type a rule then derives."""
    twin = Twin("rhodf")
    one = Literal("1", XSD + "nonNegativeInteger")
    twin.change((), [(BlankNode("x"), IRI(OWL + "maxCardinality"), one)])
    twin.use("rdfs", "owl2rl")
    twin.add(parse_program("<urn:A>[?y] :- [?x, a, ?y] .").rules, as_text=True)
    twin.assert_exact()


special = st.one_of(
    some.rules_with_not(), some.rules_with_filter(), some.rules_with_bind(), some.rules_with_aggregate()
)


@thorough(120)
@given(st.data())
def test_rules_of_the_whole_language_change(data: st.DataObject) -> None:
    """Only rules that a naive evaluator finds circular may be refused; if they are not, they go again."""
    draw = data.draw
    twin = Twin(Program(()), by_value)
    pool = draw(some.number_fact_sets)
    known = [rule for _ in range(2) for rule in rules_of(draw(some.programs(special)))]
    assume(known)
    for _ in range(draw(st.integers(2, 6))):
        twin.change(some_of(data, twin.facts), some_of(data, pool, 8))
        chosen = draw(st.lists(st.sampled_from(known), max_size=3))
        if draw(st.integers(0, 2)):
            is_legal = is_stratified(replace(twin.rules, rules=(*twin.rules.rules, *chosen)))
            try:
                twin.add(chosen, as_text=draw(st.booleans()))
            except UnstratifiableError as error:
                assert not is_legal
                assert " -> " in str(error)
            if not is_legal:
                twin.remove(chosen)
        else:
            twin.remove(chosen)
        twin.assert_exact()


@thorough(40)
@given(st.data())
def test_refused_rules_leave_everything_as_it_was(data: st.DataObject) -> None:
    """Also the changes that waited for the same transaction: they are there, and the rules are not."""
    draw = data.draw
    twin = Twin(Program(tuple(rules_of(draw(some.programs(special))))), by_value)
    assume(is_stratified(twin.rules))
    pool = draw(some.number_fact_sets)
    twin.change((), pool)
    if draw(st.booleans()):
        twin.assert_exact()
    twin.change(some_of(data, pool), ())
    more = rules_of(draw(some.programs()))
    with pytest.raises(UnsafeRuleError, match=r"\?nowhere"):
        twin.store.add_rules(Program((*more, replace(NOTHING_BINDS_IT, body=more[0].body))))
    twin.assert_exact()
    with pytest.raises(UnsafeRuleError, match=r"\?nowhere"):
        twin.store.use_rules("rhodf", Program((NOTHING_BINDS_IT,)))
    twin.assert_exact()
    twin.change(some_of(data, twin.facts), ())
    with pytest.raises(UnstratifiableError, match=r"negates what depends on its own conclusion: .* -> "):
        twin.store.add_rules(Program((*more, *CIRCULAR)))
    twin.assert_exact()


CLOSURES = rules_of(
    parse_program(
        f"""
        PREFIX : <{some.EXAMPLE}>
        [?x, :p, ?y] :- [?y, :p, ?x] .
        [?x, :p, ?y] :- [?x, :p, ?z], [?z, :p, ?y] .
        [?x, :p, ?y] :- [?x, :p, ?z], [?z, :p, ?y], FILTER(?x != ?y) .
        [?x, :p, ?y] :- [?x, :q, ?y] .
        [?x, :q, ?y] :- [?x, :q, ?z], [?z, :p, ?y] .
        """
    )
)
nodes = st.sampled_from(some.INDIVIDUALS[:4])
edges = st.tuples(nodes, st.sampled_from([IRI(some.EXAMPLE + "p"), IRI(some.EXAMPLE + "q")]), nodes)


@thorough(100)
@given(st.data())
def test_closures_change_with_their_edges(data: st.DataObject) -> None:
    """Edges come and go in the transaction that gives a closure other rules."""
    draw = data.draw
    twin = Twin(Program(()))
    pool = draw(st.frozensets(edges, min_size=3, max_size=10))
    for _ in range(draw(st.integers(2, 5))):
        twin.change(some_of(data, twin.facts), some_of(data, pool, 6))
        twin.exchange(data, CLOSURES, 3)


def test_edges_go_when_symmetry_comes() -> None:
    """What the edges would have led to with the new rule never was there, so nothing of it stays."""
    symmetry, closure = CLOSURES[:2]
    twin = Twin(Program(()))
    a, p, b = (IRI(some.EXAMPLE + name) for name in "apb")
    twin.change([], [(a, p, a), (a, p, b)])
    twin.add([closure], as_text=False)
    twin.assert_exact()
    twin.change([(a, p, a), (a, p, b)], [])
    twin.add([symmetry], as_text=False)
    twin.assert_exact()


TYPES = parse_program(
    """
    PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
    [?v, a, ?d] :- VALUE(?v, ?d) .
    [?y, a, ?c] :- [?p, rdfs:range, ?c], [?x, ?p, ?y] .
    [?x, ?q, ?y] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y] .
    """
)
ANY_PROPERTY = rules_of(parse_program(f"[?y, <{some.EXAMPLE}valueOf>, ?x] :- [?x, ?p, ?y] ."))
IS, CLASS = IRI(some.EXAMPLE + "is"), IRI(some.EXAMPLE + "Class")
about_types = st.sampled_from(
    [
        (RDF_TYPE, IRI(RDFS + "range"), CLASS),
        (RDF_TYPE, IRI(RDFS + "subPropertyOf"), IS),
        (IS, IRI(RDFS + "range"), CLASS),
    ]
)
numbers = [Literal(n, XSD + datatype, None) for n in "12" for datatype in ("integer", "nonNegativeInteger")]
valued = st.tuples(nodes, st.sampled_from(some.PROPERTIES), st.sampled_from(numbers))


@thorough(60)
@given(st.data())
def test_types_of_literals_are_seen_where_anybody_looks(data: st.DataObject) -> None:
    """A rule reads facts of any property, or a fact is about rdf:type: what literals are of may show."""
    draw = data.draw
    twin = Twin(TYPES)
    pool = draw(st.frozensets(st.one_of(about_types, valued), min_size=2, max_size=7))
    for _ in range(draw(st.integers(1, 5))):
        twin.change(some_of(data, twin.facts), some_of(data, pool, 4))
        match draw(st.sampled_from(("facts", "add", "remove"))):
            case "add":
                twin.add(ANY_PROPERTY, as_text=False)
            case "remove":
                twin.remove(ANY_PROPERTY)
        twin.assert_exact()


KIND = IRI(some.EXAMPLE + "kind")
NAMING = rules_of(
    parse_program(
        f"""
        PREFIX : <{some.EXAMPLE}>
        PREFIX xsd: <{XSD}>
        [?x, :seen, ?d] :- [?x, :kind, ?d] .
        [?x, :p, ?v] :- [?x, :kind, ?d], [?x, :q, ?v] .
        :Counted[?x] :- [?x, :p, ?v], xsd:integer[?v] .
        :Valued[?x] :- [?x, :q, ?v], :Class[?v] .
        """
    )
)
kinds = st.tuples(nodes, st.just(KIND), st.sampled_from([RDF_TYPE, IRI(XSD + "integer"), CLASS]))


@thorough(60)
@given(st.data())
def test_rules_name_predicates_and_datatypes(data: st.DataObject) -> None:
    """Rules that come name what no rule did: a datatype, or a predicate whose facts are about one."""
    draw = data.draw
    twin = Twin(TYPES)
    always = {(KIND, KIND, number) for number in numbers[:2]}  # the oracle knows datatypes by their literals
    twin.change((), always)
    pool = draw(st.frozensets(st.one_of(about_types, valued, kinds), min_size=3, max_size=8))
    for _ in range(draw(st.integers(2, 5))):
        twin.change(some_of(data, twin.facts - always), some_of(data, pool, 4))
        twin.exchange(data, NAMING, 2)


def test_rules_with_new_names_are_followed() -> None:
    """Where literals have datatypes too: a rule that names a predicate does not start everything over."""
    twin = Twin("owl2rl")
    a, b = some.INDIVIDUALS[:2]
    twin.change((), [(a, KIND, CLASS), (b, KIND, CLASS), (a, some.PROPERTIES[0], numbers[0])])
    twin.assert_exact()
    twin.add(NAMING[:2], as_text=False)
    twin.assert_exact()
    known = twin.store.reasoner.settled().state.materialisation
    assert known is not None
    known.engine.seconds = 600.0  # no slow machine makes a removal start over
    twin.remove(NAMING[:1])
    twin.assert_exact()
    report = twin.store.last_maintenance()
    assert report is not None
    assert report.strategy == "backward/forward"
    twin.add(NAMING[2:3], as_text=False)  # the integers among the literals get VALUE facts now
    twin.assert_exact()
    report = twin.store.last_maintenance()
    assert report is not None
    assert str(report).startswith("starting over (the rules ask for values")
