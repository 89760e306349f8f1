"""Deletions level by level: relations that a module closes alone, beside rules that derive their facts.

Each program has a relation whose external facts come and go while paths over others still explain them, or
become external while paths explained them.
"""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests.engine import Fact, load
from tests.few_rows import followed_together
from tests.maintain.histories import History, assert_exact, histories, same_visible
from tests.modules import kinds
from tests.strategies import EXAMPLE, thorough

from corollary.columns import NOTHING, Delta, TripleIndex
from corollary.evaluate import MaterialisedView, materialise
from corollary.evaluate.precedence import Precedence
from corollary.execute import next_join, run_plan
from corollary.language import IRI, Literal, Program, parse_program
from corollary.language.model import OWL, RDF_TYPE, RDFS, XSD
from corollary.maintain import final_schema, maintain
from corollary.maintain.deletion import backward_forward
from corollary.maintain.deletion.halves import Halves
from corollary.maintain.deletion.prover import Prover
from corollary.maintain.deletion.routes import Routes
from corollary.maintain.tuning import MIN_CANDIDATES_TO_SIFT
from corollary.modules import guard_probes, halving, inclusion, transitive, triggers
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary

PROGRAMS = {
    "a symmetric closure over joins": """
        [?x, :t, ?y] :- [?x, :p, ?y] .
        [?x, :t, ?z] :- [?x, :t, ?y], [?y, :t, ?z] .
        [?x, :t, ?y] :- [?z, :q, ?x], [?z, :q, ?y] .
        [?x, :r, ?z] :- [?x, :t, ?y], [?y, :t, ?z], [?x, :q, ?z] .
        [?x, :r, ?z] :- [?x, :r, ?y], [?y, :r, ?z] .
        [?y, :r, ?x] :- [?x, :r, ?y] .
    """,
    "rules over a clique": """
        [?x, :t, ?y] :- [?x, :p, ?y] .
        [?x, :t, ?z] :- [?x, :t, ?y], [?y, :t, ?z] .
        [?y, :t, ?x] :- [?x, :t, ?y] .
        [?x, :q, ?y] :- [?x, :t, ?y], [?y, :r, ?z] .
        [?x, :s, ?z] :- [?x, :q, ?y], [?y, :p, ?z] .
    """,
    "a closure that leads to its own facts": """
        [?x, :t, ?z] :- [?x, :t, ?y], [?y, :t, ?z] .
        [?x, :t, ?y] :- [?x, :q, ?y], [?y, :t, ?z] .
        [?x, :q, ?y] :- [?y, :p, ?x] .
        [?x, :p, ?z] :- [?x, :r, ?y], [?y, :t, ?z] .
    """,
    "a closure but for loops": """
        [?x, :t, ?z] :- [?x, :t, ?y], [?y, :t, ?z], FILTER(?x != ?z) .
        [?x, :t, ?y] :- [?x, :q, ?y] .
        [?x, :q, ?y] :- [?y, :p, ?x], [?x, :r, ?y] .
        [?x, :r, ?y] :- [?y, :r, ?x] .
    """,
    "classes above properties": """
        [?x, :q, ?y] :- [?x, :p, ?y] .
        [?y, :r, ?x] :- [?x, :t, ?y] .
        [?y, :t, ?x] :- [?x, :r, ?y] .
        :C[?x] :- [?x, :r, ?y] .
        :D[?x] :- :C[?x], [?x, :p, ?y], :C[?y] .
        [?x, :s, ?y] :- :D[?x], [?x, :t, ?y] .
    """,
    "types by ends of properties that include each other": """
        [?y, :q, ?x] :- [?x, :p, ?y] .
        [?y, :p, ?x] :- [?x, :q, ?y] .
        [?x, :q, ?y] :- [?x, :r, ?y] .
        :C[?x] :- [?x, :q, ?y] .
        :D[?y] :- [?x, :q, ?y] .
        :E[?x] :- :C[?x], :D[?x] .
        [?x, :s, ?y] :- :E[?x], [?x, :t, ?y] .
    """,
    "types and properties by properties within others": """
        [?x, :q, ?y] :- [?x, :p, ?y] .
        [?y, :s, ?x] :- [?x, :q, ?y] .
        [?x, :q, ?y] :- [?y, :s, ?x] .
        [?y, :q, ?x] :- [?x, :r, ?y] .
        [?x, :u, ?y] :- [?x, :q, ?y] .
        [?x, :u, ?z] :- [?x, :t, ?y], [?y, :t, ?z] .
        [?x, :v, ?y] :- [?y, :u, ?x] .
        [?y, :v, ?x] :- [?x, :v, ?y] .
        [?x, :w, ?z] :- [?x, :w, ?y], [?y, :v, ?z] .
        [?x, :w, ?y] :- [?x, :v, ?y] .
        :C[?x] :- [?x, :s, ?y] .
        :D[?x] :- [?x, :v, ?y] .
        :C[?x] :- :D[?x], [?x, :p, ?y] .
        :D[?x] :- :C[?x] .
    """,
    "joins and a closure that lead to each other": """
        [?x, :t, ?y] :- [?x, :p, ?y] .
        [?x, :t, ?z] :- [?x, :p, ?y], [?y, :r, ?z] .
        [?x, :t, ?z] :- [?x, :t, ?y], [?y, :t, ?z] .
        [?x, :r, ?w] :- [?y, :q, ?x], [?y, :s, ?z], [?z, :q, ?w] .
        [?y, :s, ?z] :- [?x, :t, ?y], [?x, :t, ?z] .
        [?y, :s, ?z] :- [?x, :t, ?y], [?x, :r, ?w], [?w, :t, ?z] .
        [?x, :r, ?x] :- [?x, :p, ?y] .
    """,
    "relations that are symmetric by their rules": """
        [?y, :s, ?z] :- [?x, :p, ?y], [?x, :p, ?z] .
        [?y, :s, ?z] :- [?x, :q, ?y], [?x, :u, ?w], [?w, :q, ?z] .
        [?x, :u, ?w] :- [?x, :r, ?y], [?y, :s, ?z], [?w, :r, ?z] .
        [?x, :v, ?y] :- [?x, :u, ?y], [?y, :q, ?z] .
        [?x, :p, ?y] :- [?x, :v, ?y] .
        [?x, :t, ?z] :- [?x, :t, ?y], [?y, :t, ?z] .
        [?x, :t, ?z] :- [?x, :v, ?y], [?y, :t, ?z] .
    """,
    "rules that lead into inclusions": """
        [?x, :q, ?z] :- [?x, :p, ?y], [?y, :r, ?z] .
        [?x, :t, ?y] :- [?x, :q, ?y] .
        [?y, :s, ?x] :- [?x, :t, ?y] .
        [?y, :t, ?x] :- [?x, :s, ?y] .
        [?x, :u, ?y] :- [?x, :s, ?y] .
        :C[?x] :- [?x, :u, ?y] .
        :D[?x] :- :C[?x] .
        :D[?y] :- [?x, :t, ?y] .
        [?x, :v, ?y] :- :D[?x], [?x, :u, ?y] .
    """,
    "rules that lead into inclusions in a cycle": """
        [?x, :q, ?z] :- [?x, :t, ?y], [?y, :r, ?z] .
        [?x, :t, ?y] :- [?x, :q, ?y] .
        [?y, :s, ?x] :- [?x, :t, ?y] .
        [?y, :t, ?x] :- [?x, :s, ?y] .
        [?x, :s, ?y] :- [?x, :p, ?y] .
    """,
    "inclusions above a negation": """
        [?x, :q, ?y] :- [?x, :p, ?y], NOT [?x, :r, ?y] .
        [?x, :s, ?y] :- [?x, :q, ?y] .
        [?x, :s, ?z] :- [?x, :t, ?y], [?y, :t, ?z] .
        [?y, :u, ?x] :- [?x, :s, ?y] .
        [?y, :s, ?x] :- [?x, :u, ?y] .
        :C[?x] :- [?x, :u, ?y] .
    """,
    "types by ends of joins": """
        [?x, :q, ?z] :- [?x, :p, ?y], [?y, :t, ?z] .
        [?y, :q, ?x] :- [?x, :q, ?y] .
        [?x, :s, ?y] :- [?x, :q, ?y] .
        :C[?x] :- [?x, :q, ?y] .
        :C[?y] :- [?x, :t, ?y] .
        :D[?x] :- :C[?x], [?x, :s, ?y], :D[?y] .
        :D[?x] :- [?x, :r, ?y] .
    """,
}

names = st.sampled_from(["a", "b", "c", "d"]).map(lambda name: IRI(EXAMPLE + name))
properties = st.sampled_from(["p", "q", "r", "t"]).map(lambda name: IRI(EXAMPLE + name))
fact_sets: st.SearchStrategy[frozenset[Fact]] = st.frozensets(
    st.tuples(names, properties, names), min_size=2, max_size=14
)


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of candidates of the searches for proofs, one after the other."""
    sizes: list[int] = []
    search = Prover.unproved

    def noted(self: Prover, candidates: Delta, *others: Any) -> Delta:
        sizes.append(len(candidates))
        return search(self, candidates, *others)

    followed_together(monkeypatch)
    monkeypatch.setattr(Prover, "unproved", noted)
    return sizes


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do with few candidates, facts and rows what is done with many."""
    followed_together(monkeypatch)
    monkeypatch.setattr(guard_probes, "MAX_FACTS_ONE_BY_ONE", 0)
    monkeypatch.setattr(backward_forward, "MIN_CANDIDATES_TO_SIFT", 1)
    monkeypatch.setattr(backward_forward, "MAX_PAIRS_PER_FACT_TO_SIFT", inf)
    monkeypatch.setattr(transitive, "MIN_FACTS_TO_TRACE", 0)
    monkeypatch.setattr(inclusion, "MAX_FACTS_ONE_BY_ONE", 0)
    monkeypatch.setattr(inclusion, "MAX_TERMS_ONE_BY_ONE", 0)
    monkeypatch.setattr(triggers, "MAX_EXTENT_COMPARED", 0)
    monkeypatch.setattr(halving, "MIN_FACTS_TO_HALVE", 0)
    monkeypatch.setattr(next_join, "MIN_ROWS_TO_ESTIMATE", 2)
    monkeypatch.setattr(next_join, "MIN_ROWS_SAVED", 1)
    monkeypatch.setattr(run_plan, "MIN_ROWS_TO_SHARE_TESTS", 1)
    monkeypatch.setattr(run_plan, "MAX_ROWS_JOINED_ONE_BY_ONE", 0)


@pytest.mark.parametrize("name", PROGRAMS)
@thorough(40)
@given(histories(fact_sets))
def test_closed_relations(name: str, history: History) -> None:
    assert_exact(history, parse_program(kinds.PREFIX + PROGRAMS[name]))


@pytest.mark.parametrize("name", PROGRAMS)
@thorough(40)
@given(history=histories(fact_sets))
def test_sifted_candidates(few_are_many: None, name: str, history: History) -> None:
    assert_exact(history, parse_program(kinds.PREFIX + PROGRAMS[name]))


def facts(text: str) -> frozenset[Fact]:
    """Facts such as ``a p b, b p c``."""
    triples = (part.split() for part in text.split(","))
    return frozenset((IRI(EXAMPLE + s), IRI(EXAMPLE + p), IRI(EXAMPLE + o)) for s, p, o in triples)


def test_external_facts_that_paths_explain() -> None:
    """r(b, a) is external by the rule, although paths explained it first; it leads back to r(c, a)."""
    all_facts = facts("b q a, b q b, b r b, b r c, c q a, c r b, c r a, c r c")
    left = all_facts - facts("c r a, c r c")
    program = parse_program(kinds.PREFIX + PROGRAMS["a symmetric closure over joins"])
    assert_exact([all_facts, left, left - facts("b r c, c r b"), left], program)


@pytest.fixture
def always_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prove the schema of small graphs, too."""
    monkeypatch.setattr(final_schema, "MIN_FACTS_PER_SUPPORTING_FACT", 0)


ontologies = ontology.ontologies(
    ontology.rdfs_axioms, ontology.property_axioms, ontology.class_axioms, ontology.clash_axioms
)


@pytest.mark.parametrize("profile", ["rdfs", "owl2rl"])
@thorough(25)
@given(history=histories(ontologies))
def test_schema_that_few_facts_prove(always_tried: None, profile: str, history: History) -> None:
    assert_exact(history, load_profile(profile), same_visible)


def test_hopeless_candidates_are_not_searched_for(few_are_many: None, searched: list[int]) -> None:
    """b s c, and then b r d, have no instance left; only the cycle of e and f is searched for proofs."""
    program = """
        [?x, :s, ?y] :- [?x, :p, ?y] .
        [?x, :s, ?z] :- [?x, :r, ?y], [?y, :q, ?z] .
        [?x, :r, ?z] :- [?x, :s, ?y], [?y, :t, ?z] .
    """
    before = facts("b p c, c t d, d q g, e p f, f t e, e q f")
    assert_exact([before, before - facts("b p c, e p f")], parse_program(kinds.PREFIX + program))
    assert max(searched) <= 2


def test_types_are_searched_for_once(few_are_many: None, searched: list[int]) -> None:
    """x a A is no conclusion of a rule: B[x], which it leads to, is searched for together with B[y]."""
    program = """
        :B[?x] :- :A[?x] .
        :B[?x] :- [?x, :p, ?y], :C[?y] .
        :C[?x] :- [?x, :p, ?y], :B[?y] .
    """
    types = {(IRI(EXAMPLE + s), RDF_TYPE, IRI(EXAMPLE + c)) for s, c in ("xA", "zC", "uA")}
    before = facts("y p z, w p u") | types
    left = before - facts("y p z") - {(IRI(EXAMPLE + "x"), RDF_TYPE, IRI(EXAMPLE + "A"))}
    assert_exact([before, left], parse_program(kinds.PREFIX + program))
    assert set(searched) == {2}


SYMMETRIC = """
    [?y, :s, ?z] :- [?x, :p, ?y], [?x, :p, ?z] .
    [?y, :s, ?z] :- [?x, :p, ?y], [?x, :s, ?w], [?w, :p, ?z] .
"""


@pytest.mark.parametrize("many", [1, MIN_CANDIDATES_TO_SIFT])
@pytest.mark.parametrize(("more", "is_halved"), [("", True), (", e s f", False)])
def test_one_half_of_symmetric_facts_is_searched(
    monkeypatch: pytest.MonkeyPatch, many: int, more: str, is_halved: bool
) -> None:
    """If a fact of s is explicit, s need not be symmetric: all of its facts are searched for."""
    looked_at: list[tuple[int, int]] = []
    half = Halves.half

    def noted(self: Halves, facts: Delta) -> Delta:
        found = half(self, facts)
        looked_at.append((len(facts), len(found)))
        return found

    followed_together(monkeypatch)
    monkeypatch.setattr(Halves, "half", noted)
    monkeypatch.setattr(backward_forward, "MIN_CANDIDATES_TO_SIFT", many)
    before = facts("a p b, a p c, d p b, d p c, b p d, c p a, e p b" + more)
    left = before - facts("a p b")
    assert_exact([before, left, left - facts("d p c"), before], parse_program(kinds.PREFIX + SYMMETRIC))
    assert looked_at and any(found < asked for asked, found in looked_at) == is_halved


@pytest.mark.parametrize(("most_pairs", "are_searched"), [(2.5, 3), (1.0, 4)])
def test_paths_are_sifted(
    few_are_many: None,
    searched: list[int],
    monkeypatch: pytest.MonkeyPatch,
    most_pairs: float,
    are_searched: int,
) -> None:
    """b t c, and all paths over it, go at once; e t f, which keeps itself, a t b and c t d are searched.

    Of a dense closure, here one of more pairs than external facts, b t c is searched, too.
    """
    monkeypatch.setattr(backward_forward, "MAX_PAIRS_PER_FACT_TO_SIFT", most_pairs)
    program = """
        [?x, :t, ?y] :- [?x, :p, ?y], [?y, :q, ?z] .
        [?x, :t, ?y] :- [?x, :s, ?y], [?x, :r, ?y] .
        [?x, :s, ?y] :- [?x, :t, ?y], [?x, :r, ?y] .
        [?x, :t, ?z] :- [?x, :t, ?y], [?y, :t, ?z] .
    """
    before = facts("a p b, b p c, c p d, b q b, c q c, d q d, e p f, e r f, f q f")
    assert_exact([before, before - facts("c q c, f q f")], parse_program(kinds.PREFIX + program))
    assert searched and max(searched) == are_searched


@pytest.mark.parametrize("many", [1, MIN_CANDIDATES_TO_SIFT])
def test_candidates_that_were_proved_meanwhile(monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    """E[y], a candidate, loses another derivation together with D[z], and is seen to follow from y s o."""
    program = """
        [?x, :p, ?y] :- :C[?x], [?x, :q, ?y] .
        :E[?y] :- [?x, :p, ?y], [?y, :r, ?z] .
        :D[?y] :- [?x, :p, ?y], [?y, :t, ?z] .
        :E[?y] :- [?y, :s, ?z] .
        :C[?y] :- :E[?y] .
    """
    decided: list[int] = []
    decide = Prover.unproved

    def noted(self: Prover, candidates: Delta, *others: Any) -> Delta:
        assert not candidates & self.proved
        decided.append(len(candidates))
        return decide(self, candidates, *others)

    followed_together(monkeypatch)
    monkeypatch.setattr(Prover, "unproved", noted)
    monkeypatch.setattr(backward_forward, "MIN_CANDIDATES_TO_SIFT", many)
    types = {(IRI(EXAMPLE + s), RDF_TYPE, IRI(EXAMPLE + c)) for s, c in ("xC", "yE")}
    before = facts("x q y, x q z, y s o, y r o, z t o") | types
    left = before - facts("x q y, x q z") - {(IRI(EXAMPLE + "y"), RDF_TYPE, IRI(EXAMPLE + "E"))}
    assert_exact([before, left, before], parse_program(kinds.PREFIX + program))
    assert decided


LITERALS = (
    "",
    "[?x, :r, 5] :- :C[?x] . :C[?x] :- [?x, :r, ?y] .",
    "[?x, :r, ?n] :- :C[?x], BIND(2 + 3 AS ?n) . :C[?x] :- [?x, :r, ?y] .",
)
"""Rules that name, or compute, a literal. What they derive is decided together with types."""


@pytest.mark.parametrize("profile", ["rdfs", "owl2rl"])
@pytest.mark.parametrize("rule", LITERALS)
@pytest.mark.parametrize("are_many", [False, True])
def test_facts_of_lost_literals(
    request: pytest.FixtureRequest, profile: str, rule: str, are_many: bool
) -> None:
    """A literal's types go with its last explicit fact, unless a rule names or computes the literal."""
    if are_many:
        request.getfixturevalue("few_are_many")
    a, b, p, q = (IRI(EXAMPLE + name) for name in "abpq")
    five, seven, nine = (Literal(digit, XSD + "integer") for digit in "579")
    schema = {(p, IRI(RDFS + "subPropertyOf"), q), (q, IRI(RDFS + "range"), IRI(EXAMPLE + "C"))}
    states: list[set[Fact]] = [
        {(a, p, five), (a, p, nine), (b, p, seven), (b, q, nine), (a, p, b)},
        {(b, p, seven), (b, q, nine), (a, p, b)},
        {(a, p, b)},
        {(a, p, b), (a, p, five)},
        set(),
    ]
    visible = " [?x, :s, ?c] :- [?x, :r, ?y], [?y, a, ?c] ."
    program = Program((*load_profile(profile).rules, *parse_program(kinds.PREFIX + rule + visible).rules))
    assert_exact([frozenset(schema | state) for state in states], program, same_visible)


@pytest.mark.parametrize("profile", ["rdfs", "rdfs-plus", "owl2rl"])
@thorough(25)
@given(history=histories(ontologies))
def test_sifted_ontologies(few_are_many: None, profile: str, history: History) -> None:
    assert_exact(history, load_profile(profile), same_visible)


def test_modules_without_an_edge_from_a_predicate_do_not_receive_its_deletions() -> None:
    """Modules without rules may: values of literals depend on all predicates."""
    rules = "[?x, :q, ?y] :- [?x, :p, ?y] . [?x, :s, ?z] :- [?x, :r, ?y], [?y, :t, ?z] ."
    dictionary = TermDictionary()
    program = parse_program(kinds.PREFIX + rules)
    engine = materialise(load(facts("a p b, a r b, b t c"), dictionary), program, dictionary).engine
    index, modules = engine.fixpoint.index, engine.fixpoint.modules
    order = engine.precedence(index)
    found = {}
    for name in "pqrst":
        deleted = Delta.of(index).only(dictionary.encode(f"<{EXAMPLE}{name}>").__eq__)
        found[name] = {modules[number].name for number in engine.fixpoint.received(deleted, order)}
    assert found == {"p": {"inclusion"}, "q": set(), "r": {"rules"}, "s": set(), "t": {"rules"}}


def test_schema_facts_are_looked_up_again_when_some_come_or_go() -> None:
    dictionary, rules = TermDictionary(), load_profile("owl2rl")
    functional = (IRI(EXAMPLE + "p"), RDF_TYPE, IRI(OWL + "FunctionalProperty"))
    a_type = (IRI(EXAMPLE + "a"), RDF_TYPE, IRI(EXAMPLE + "C"))
    steps = [facts("a p b"), facts("a p b") | {a_type}, facts("a p b") | {a_type, functional}]
    before, seen = frozenset(steps[0]), []
    result = materialise(load(before, dictionary), rules, dictionary)
    for after in (*steps, steps[1], steps[0]):
        removed, added = (Delta.of(load(part, dictionary)) for part in (before - after, after - before))
        result, _ = maintain(result, load(after, dictionary), removed, added)
        before = frozenset(after)
        seen.append(result.engine.guards(result.index))
    assert seen[1] is seen[0], "data alone changed"
    assert [len(guards) - len(seen[0]) for guards in seen[2:4]] == [1, 0]
    assert seen[4] is seen[3]


def test_a_rule_that_comes_to_life_again_is_followed() -> None:
    """While no fact of ``q`` is left, the order is that of the facts before."""
    program = parse_program(kinds.PREFIX + "[?x, :r, ?y] :- [?x, :p, ?y], [?x, :q, ?y] .")
    both, one = frozenset(facts("a p b, a q b, c p d")), frozenset(facts("a p b, c p d"))
    assert_exact([both, one, one - facts("c p d"), both, both - facts("a p b"), both], program)


def test_modules_without_a_part_in_it_are_not_asked() -> None:
    """A type goes to the modules that read its class; those with live rules are asked for its proof.

    It does not go to the datatypes: no literal occurs in it, and it shows no datatype. owl:sameAs does.
    """
    before = facts("a p b, b p c") | {(IRI(EXAMPLE + "a"), RDF_TYPE, IRI(EXAMPLE + "C"))}
    dictionary = TermDictionary()
    rules = load_profile("owl2rl")
    engine = materialise(load(before, dictionary), rules, dictionary).engine
    modules, index = engine.fixpoint.modules, engine.fixpoint.index
    type_ = Delta.of(index).only(engine.compiled.rdf_type.__eq__)

    def names(deleted: Delta) -> set[str]:
        return {modules[number].name for number in engine.fixpoint.received(deleted)}

    assert names(type_) == {"inclusion", "rules"}
    of_literal = {(IRI(EXAMPLE + "a"), RDF_TYPE, IRI("http://www.w3.org/2001/XMLSchema#integer"))}
    same = {(IRI(EXAMPLE + "a"), IRI(OWL + "sameAs"), IRI(EXAMPLE + "b"))}
    for facts_ in (of_literal, same):
        assert "datatypes" in names(Delta.of(load(facts_, dictionary)))
    functional = {(IRI(EXAMPLE + "p"), RDF_TYPE, IRI(OWL + "FunctionalProperty"))}
    assert "functional" in names(Delta.of(load(functional, dictionary)))
    assert Routes(modules, None).deriving(type_) == tuple(modules)
    routes = Routes(modules, engine.precedence(index))
    assert [module.name for module in routes.deriving(type_)] == ["rules"]


def test_types_that_are_proved_are_not_released() -> None:
    """x is a subject of p no more. Its type by the domain of p is a candidate only if nothing else proves it.

    a to e and h to k are explicit instances of the domain, f of a subclass of it, g of another class: more
    terms than are looked at one by one.
    """
    domain, lower, other, p = (IRI(EXAMPLE + name) for name in "CDEp")
    schema = {(p, IRI(RDFS + "domain"), domain), (lower, IRI(RDFS + "subClassOf"), domain)}
    types = {(IRI(EXAMPLE + name), RDF_TYPE, domain) for name in "abcdehijk"}
    types |= {(IRI(EXAMPLE + "f"), RDF_TYPE, lower), (IRI(EXAMPLE + "g"), RDF_TYPE, other)}
    using = facts(", ".join(f"{name} p z" for name in "abcdefghijk"))
    dictionary = TermDictionary()
    result = materialise(load(using | schema | types, dictionary), load_profile("rdfs-plus"), dictionary)
    (inclusion,) = (m for m in result.engine.fixpoint.modules if m.name == "inclusion")
    name, rdf_type = dictionary.encode(f"<{EXAMPLE}p>"), result.engine.compiled.rdf_type
    lost = Delta.of(result.index).only(name.__eq__)
    left, proved = result.index.but_for([name]), load(schema | types, dictionary)
    inclusion.overdelete_in_order(result.index, lost, proved, lambda predicate, _: predicate == name)
    assert inclusion.holds_back
    released = Delta.gathered(inclusion.release(left, proved))
    g, class_ = dictionary.encode(f"<{EXAMPLE}g>"), dictionary.encode(f"<{EXAMPLE}C>")
    assert g << 32 | class_ in released.keys(rdf_type).tolist()
    assert {key >> 32 for key in released.keys(rdf_type).tolist()} == {g}


def test_the_last_fact_of_a_property(always_tried: None) -> None:
    """A proof of the schema is not taken to hold after a transaction that did not ask for it."""
    states = ["a p b, c p d, a r b, c r d", "a p b, c p d, c r d", "a p b, c p d", "a p b", "a p b, a q b"]
    assert_exact([facts(text) for text in states], load_profile("rdfs"), same_visible)


def precedence(program: str, text: str) -> tuple[Precedence, dict[str, int]]:
    """The precedence over the closure of some facts, and the levels by name."""
    dictionary = TermDictionary()
    result = materialise(load(facts(text), dictionary), parse_program(kinds.PREFIX + program), dictionary)
    found = result.engine.precedence(result.index)
    assert result.engine.precedence(result.index) is found, "it is kept"
    ids = {name: dictionary.encode(f"<{EXAMPLE}{name}>") for name in "pqrst"}
    return found, {name: found.level(number) for name, number in ids.items()}


def test_levels() -> None:
    found, level = precedence(PROGRAMS["rules over a clique"], "a p b, b r c, b p c")
    assert level["p"] < level["t"] < level["q"] < level["s"]
    assert level["r"] < level["q"]
    assert len(found.recursive) == 1


def test_levels_that_inclusions_connect_are_one() -> None:
    copies = "[?x, :q, ?y] :- [?x, :p, ?y] . [?y, :r, ?x] :- [?x, :q, ?y] . [?x, :q, ?y] :- [?y, :r, ?x] ."
    found, level = precedence(copies, "a p b, s s s")
    assert level["p"] == level["q"] == level["r"]
    assert level["s"] == -1
    assert len(found.recursive) == 3


def test_predicates_that_others_of_their_group_lead_to() -> None:
    """q is in the group of what it is copied to, and derived from lower predicates only."""
    copies = "[?x, :t, ?y] :- [?x, :q, ?y] . [?y, :s, ?x] :- [?x, :t, ?y] ."
    found, level = precedence("[?x, :q, ?z] :- [?x, :p, ?y], [?y, :r, ?z] ." + copies, "a p b, b r c")
    assert level["p"] < level["q"] == level["t"] == level["s"]
    (q,) = {p for p in found.recursive if p not in found.entered}
    assert found.level(q) == level["q"]
    assert len(found.group_of(q)) == 3


def test_what_one_step_decides_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies around a cycle prove each other, but only explicit facts and joins of lower ones prove them."""
    followed_together(monkeypatch)
    monkeypatch.setattr(Prover, "unproved", lambda *_: pytest.fail("a search"))
    program = parse_program(kinds.PREFIX + PROGRAMS["rules that lead into inclusions"])
    before = facts("a p b, b r c, d t e, f p b, c s f")
    assert_exact([before, before - facts("a p b"), facts("b r c, c s f"), facts("b r c")], program)


def test_rules_without_facts_are_no_edges() -> None:
    found, _ = precedence(
        "[?x, :p, ?z] :- [?x, :p, ?y], [?y, :r, ?z] . [?x, :q, ?y] :- [?x, :p, ?y] .", "a p b"
    )
    assert all(names == {"inclusion"} for names in found.recursive.values())


INTO_TYPES = [
    (IRI(EXAMPLE + "p"), IRI(RDFS + "subPropertyOf"), RDF_TYPE),
    (IRI(EXAMPLE + "r"), IRI(OWL + "inverseOf"), IRI(EXAMPLE + "p")),
    (IRI(EXAMPLE + "q"), IRI(RDFS + "subPropertyOf"), IRI(EXAMPLE + "r")),
    (IRI(EXAMPLE + "t"), IRI(RDFS + "domain"), IRI(EXAMPLE + "a")),
]
"""Properties from which rdf:type is copied."""


@pytest.mark.parametrize("profile", ["rdfs-plus", "owl2rl"])
@thorough(40)
@given(history=histories(fact_sets.map(lambda found: found | frozenset(INTO_TYPES))))
def test_types_copied_from_properties(profile: str, history: History) -> None:
    """Such copies are rules of the semi-naive module, although their rule is an inclusion."""
    assert_exact(history, load_profile(profile), same_visible)


def test_a_type_whose_domain_goes_and_whose_property_stays() -> None:
    before = facts("a r x, x t y, z t y") | frozenset(INTO_TYPES)
    assert_exact([before, before - facts("x t y")], load_profile("owl2rl"), same_visible)


def test_types_that_strata_share_prove_facts_of_higher_levels() -> None:
    """``a`` is an :A by :C, so [a, r, a] stays when ``e`` is no :A any more; :D is a class of a stratum."""
    program = parse_program(
        kinds.PREFIX
        + """
        :A[?x] :- :C[?x] .
        [?x, :r, ?y] :- [?x, :p, ?y], :A[?y] .
        [?x, :r, ?z] :- [?x, :r, ?y], [?y, :q, ?z] .
        :D[?x] :- :A[?x], NOT [?x, :q, ?x] .
        """
    )
    stays = facts("a p e, a p a") | {(IRI(EXAMPLE + "a"), RDF_TYPE, IRI(EXAMPLE + "C"))}
    before = stays | {(IRI(EXAMPLE + "e"), RDF_TYPE, IRI(EXAMPLE + "A"))}
    assert_exact([before, stays, before], program)


def test_conclusions_of_new_facts_of_lower_layers_are_not_overdeleted() -> None:
    """A rule of a stratum joins facts that go with new ones: its conclusions are not counted out."""
    program = parse_program(
        kinds.PREFIX
        + """
        [?x, :q, ?y] :- [?x, :p, ?y] .
        :C[?y] :- [?x, :p, ?y] .
        [?x, :s, ?y] :- [?x, :q, ?y], NOT [?y, :q, ?x] .
        [?x, :s, ?z] :- [?x, :s, ?y], [?y, :s, ?z] .
        [?x, :t, ?y] :- [?x, :s, ?y], :C[?y] .
        """
    )
    history = [facts("a p b, d p e"), facts("c s a, d p a, d q e"), facts("a p b, d p e")]

    def is_counted(result: MaterialisedView) -> bool:
        counted = TripleIndex.from_columns(*result.index.columns(legal=False))
        return len(result.index) == len(counted) and result.index.fact_count() == counted.fact_count()

    assert_exact(history, program, also=is_counted)


def test_the_modules_to_ask_are_kept_while_rules_and_schema_stay() -> None:
    """The second removal finds the answers of the first. A new guard makes others of them."""
    q = IRI(EXAMPLE + "q")
    everything = facts("a p b, b p c, a q b")
    dictionary = TermDictionary()
    result = materialise(load(everything, dictionary), load_profile("owl2rl"), dictionary)
    engine, kept = result.engine, []
    for gone in ("a p b", "b p c"):
        everything -= facts(gone)
        explicit = load(everything, dictionary)
        result, _ = maintain(result, explicit, Delta.of(load(facts(gone), dictionary)), NOTHING)
        kept.append(engine.routes)
    assert kept[0] is kept[1] is not None
    symmetric = {(q, RDF_TYPE, IRI(OWL + "SymmetricProperty"))}
    added = Delta.of(load(symmetric, dictionary))
    result, _ = maintain(result, load(everything | symmetric, dictionary), NOTHING, added)
    result, _ = maintain(result, load(symmetric, dictionary), Delta.of(load(everything, dictionary)), NOTHING)
    assert engine.routes is not kept[0]
    again = materialise(result.explicit, result.program, dictionary).index
    assert not result.index.difference(again).fact_count() and not again.difference(result.index).fact_count()
