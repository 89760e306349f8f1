"""Rules over long lists: the same facts as unrolled, maintained, explained, printed and suspended.

Every list counts as long here, or every list of more than a few items, so that short lists of any shape try
what is made for long ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests import strategies as some
from tests.engine import Fact, close, facts_of, load
from tests.evaluate.test_against_naive import assert_same_visible
from tests.explain.test_levels import assert_explained_by_levels
from tests.explain.test_proofs import assert_explained
from tests.maintain.histories import (
    History,
    assert_exact,
    histories,
    histories_of_rules,
)
from tests.modules import kinds
from tests.oracles import naive
from tests.program.test_instances import assert_instances_do_the_same

from corollary.evaluate import MaterialisedView, materialise
from corollary.kernels.limits import Cancellation, LimitExceeded, Limits, limited
from corollary.language import IRI, BlankNode, Program, Rule, UnstratifiableError
from corollary.profiles import load_profile
from corollary.program import compiled_program
from corollary.terms.dictionary import TermDictionary


@contextmanager
def long_from(items: int) -> Iterator[None]:
    """Lists of at least ``items`` items are long."""
    with patch.object(compiled_program, "MAX_ITEMS_UNROLLED", items - 1):
        yield


def unrolled(facts: frozenset[Fact], program: Program) -> tuple[set[Fact], set[str]]:
    """As ``close``. Where all terms are equal, a chain of five properties may have many millions of rows:
    such examples are left out.
    """
    try:
        return limited(Limits(bytes=2_000_000_000), Cancellation(), close, facts, program)
    except LimitExceeded:
        reject()


thresholds = st.sampled_from((1, 1, 2, 3))

RULES = (
    "[?x, a, ?c] :- [?c, owl:intersectionOf, ?l], EACH ?d IN ?l ([?x, a, ?d]) .",
    "[?x, ?p, ?y] :- [?p, owl:propertyChainAxiom, ?l], CHAIN(?l, ?x, ?y) .",
    "[?x, owl:sameAs, ?y] :- [?c, owl:hasKey, ?l], [?x, a, ?c], [?y, a, ?c], FILTER(!sameTerm(?x, ?y)), "
    "EACH ?p IN ?l ([?x, ?p, ?z], [?y, ?p, ?z]) .",
    "[?x, :q, ?y] :- [?x, :has, ?l], EACH ?i IN ?l ([?i, :p, ?y]) .",
    "[?x, :r, ?l] :- [?x, :has, ?l], EACH ?i IN ?l ([?x, :p, ?i], [?i, :q, ?z]) .",
    ":A[?x] :- [?y, :has, ?l], [?x, :p, ?y], EACH ?i IN ?l ([?i, ?q, ?x]), FILTER(?x != ?y) .",
    ":B[?x] :- [?y, :has, ?l], EACH ?i IN ?l ([?z, :p, ?i]), [?y, :q, ?x] .",
    "[?x, :p, :a] :- [?p, owl:propertyChainAxiom, ?l], CHAIN(?l, ?x, ?x) .",
    "[?x, :q, ?x] :- [?p, owl:propertyChainAxiom, ?l], CHAIN(?l, :a, ?x) .",
    ":C[?y] :- [?p, owl:propertyChainAxiom, ?l], CHAIN(?l, ?x, ?y), [?y, :r, ?x], :A[?x] .",
    "[?x, :r, ?y], [?y, a, ?c] :- [?c, owl:intersectionOf, ?l], EACH ?d IN ?l ([?x, a, ?d]), [?x, :p, ?y] .",
    "owl:TransitiveProperty[?p] :- [?p, :has, ?l], EACH ?i IN ?l ([?i, a, ?c]) .",
    "[?c, rdfs:subClassOf, ?d] :- [?c, owl:unionOf, ?l], EACH ?e IN ?l ([?e, rdfs:subClassOf, ?d]) .",
)
ABSENCE = (
    ":D[?x] :- [?x, :p, ?y], NOT :C[?x] .",
    ":C[?x] :- [?x, :q, ?y], NOT :A[?y] .",
    "[?x, :s, ?y] :- [?x, :p, ?y], NOT [?y, :q, ?x] .",
    ":D[?x] :- [?y, :has, ?l], EACH ?i IN ?l ([?i, :p, ?x]), NOT :A[?x] .",
)


@st.composite
def list_axioms(draw: st.DrawFn, *, any_length: bool = False) -> ontology.Axiom:
    """A list of 2 to 12 items of few kinds, some of them more than once; its tail may be a list, too."""
    predicate, items = draw(
        st.sampled_from(
            (
                (ontology.owl("intersectionOf"), some.classes),
                (ontology.owl("unionOf"), some.classes),
                (ontology.owl("oneOf"), some.individuals),
                (ontology.owl("propertyChainAxiom"), some.properties),
                (ontology.owl("hasKey"), some.properties),
                (kinds.HAS, some.individuals),
            )
        )
    )
    subjects = {some.properties: some.properties, some.individuals: some.individuals}.get(items, some.classes)
    subject = draw(some.classes if predicate == ontology.owl("hasKey") else subjects)
    most = (
        (2, 3, 3, 4) if items is some.properties and not any_length else (2, 3, 3, 5, 12)
    )  # the oracle tries all paths
    chosen = draw(st.lists(items, min_size=2, max_size=draw(st.sampled_from(most))))
    tail = draw(st.one_of(st.none(), st.none(), st.tuples(subjects, st.integers(1, 11))))
    label = draw(st.sampled_from(("", "", "", "shared")))
    axiom = ontology.with_list(subject, predicate, chosen)

    def facts(prefix: str) -> set[Fact]:
        found = axiom(label or prefix)
        if tail is not None and tail[1] < len(chosen):
            found.add((tail[0], predicate, BlankNode(f"{label or prefix}l{tail[1]}")))
        return found

    return facts


data = some.sets_of(st.one_of(some.plain_facts, some.plain_facts, some.plain_facts, kinds.same), 16)
ontologies = ontology.ontologies(
    list_axioms(), list_axioms(), ontology.rdfs_axioms, ontology.property_axioms, data=data, max_size=4
)


long_ontologies = ontology.ontologies(
    list_axioms(any_length=True), ontology.class_axioms, ontology.property_axioms, data=data, max_size=5
)


def programs(*texts: str, least: int = 1, most: int = 5) -> st.SearchStrategy[Program]:
    return kinds.programs_of(*texts, least=least, most=most)


list_programs = programs(*RULES, *kinds.INCLUSIONS[:4], *kinds.LISTS[:3], kinds.JOINS[1], least=2)


@some.thorough(150)
@given(thresholds, ontologies, list_programs)
def test_any_rules_over_long_lists(items: int, facts: frozenset[Fact], program: Program) -> None:
    with long_from(items):
        assert close(facts, program)[0] == naive.closure(facts, program)[0]


@some.thorough(60)
@given(thresholds, histories(ontologies), list_programs)
def test_maintained(items: int, history: History, program: Program) -> None:
    with long_from(items):
        assert_exact(history, program)


@some.thorough(40)
@given(thresholds, histories_of_rules(ontologies, programs(*RULES, *kinds.INCLUSIONS[:3], least=2)))
def test_rules_over_long_lists_come_and_go(items: int, history: tuple[History, list[Program]]) -> None:
    with long_from(items):
        assert_exact(*history)


@pytest.mark.parametrize("items", [1, 9])
@pytest.mark.parametrize("kept", [0, 1])
def test_one_of_two_equal_rules_goes(items: int, kept: int) -> None:
    """In its form for long lists, and unrolled."""
    (rule,) = kinds.rule_set(frozenset({RULES[1]}))
    rules = [rule, replace(rule)]
    a, b, c = (IRI(some.EXAMPLE + name) for name in "abc")
    p = IRI(some.EXAMPLE + "p")
    chain = ontology.with_list(p, ontology.owl("propertyChainAxiom"), [p, p])("")
    facts = frozenset({*chain, (a, p, b), (b, p, c)})
    programs = [Program(tuple(rules)), Program((rules[kept],)), Program(())]
    with long_from(items):
        assert_exact([facts] * 3, programs)


@pytest.mark.parametrize("profile", ["owl2rl", "rdfs-plus", "owl2rl-full"])
@some.thorough(25)
@given(items=thresholds, facts=ontologies)
def test_profiles(profile: str, items: int, facts: frozenset[Fact]) -> None:
    with long_from(items):
        assert_same_visible(facts, load_profile(profile))


@pytest.mark.parametrize("profile", ["owl2rl", "rdfs-plus", "owl2rl-full"])
@some.thorough(40)
@given(items=thresholds, facts=long_ontologies)
def test_the_same_as_unrolled(profile: str, items: int, facts: frozenset[Fact]) -> None:
    wanted = unrolled(facts, load_profile(profile))
    with long_from(items):
        assert close(facts, load_profile(profile)) == wanted


@some.thorough(25)
@given(thresholds, histories(long_ontologies))
def test_owl2rl_maintained(items: int, history: History) -> None:
    """As from scratch and unrolled."""
    rules = load_profile("owl2rl")
    wanted = [unrolled(facts, rules)[0] for facts in history]
    with long_from(items):
        assert_exact(history, rules, wanted=wanted)


def outcome(facts: frozenset[Fact], program: Program) -> tuple[set[Fact], set[Rule]]:
    """All facts, and the rules that are suspended."""
    result = run(facts, program)
    found = facts_of(result.index.columns(legal=False), result.dictionary)
    return found, {suspended.rule for suspended in result.suspended}


def run(facts: frozenset[Fact], program: Program) -> MaterialisedView:
    dictionary = TermDictionary()
    return materialise(load(facts, dictionary), program, dictionary)


@some.thorough(120)
@given(thresholds, ontologies, programs(*RULES, least=2), programs(*ABSENCE, most=3))
def test_the_same_rules_are_suspended(
    items: int, facts: frozenset[Fact], rules: Program, absence: Program
) -> None:
    """An instance over a list is live if every item may have facts, and not if some item may."""
    program = rules + absence
    try:
        wanted = outcome(facts, program)
    except UnstratifiableError:
        reject()
    with long_from(items):
        assert outcome(facts, program) == wanted


@some.thorough(40)
@given(thresholds, ontologies, programs(*RULES, *kinds.INCLUSIONS[:4], least=2))
def test_explained(items: int, facts: frozenset[Fact], program: Program) -> None:
    with long_from(items):
        result = run(facts, program)
        assert_explained(result)
        assert_explained_by_levels(result)


@some.thorough(60)
@given(thresholds, ontologies, programs(*RULES, least=2))
def test_instances_printed(items: int, facts: frozenset[Fact], program: Program) -> None:
    with long_from(items):
        assert_instances_do_the_same(facts, program)
