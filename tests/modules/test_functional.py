"""Functional properties: linked terms with a common value are closed to what all pairs lead to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compression import compress_all
from tests.engine import Fact, load, run
from tests.maintain.histories import assert_exact, histories, same_visible
from tests.modules.test_equality import CLIQUES, OTHERS, PLACES, SAME
from tests.strategies import EXAMPLE, thorough

from corollary.columns import NOTHING, Delta
from corollary.evaluate import materialise
from corollary.explain import explain
from corollary.explain.proof import Application
from corollary.language import IRI, RDF_TYPE, Literal, Program, parse_program
from corollary.maintain import maintain
from corollary.modules.functional import Functional
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary

OWL = "http://www.w3.org/2002/07/owl#"
FUNCTIONAL = parse_program(
    f"""
    PREFIX : <urn:>
    [?y, <{SAME}>, ?z] :- [?x, :p, ?y], [?x, :p, ?z], FILTER(!sameTerm(?y, ?z)) .
    [?z, <{SAME}>, ?y] :- [?y, :q, ?x], [?z, :q, ?x] .
    [?y, <{SAME}>, ?z] :- [?p, a, :F], [?x, ?p, ?y], [?x, ?p, ?z], FILTER(!sameTerm(?z, ?y)) .
    [?y, <{SAME}>, ?z] :- [?p, :is, ?c], [?c, a, :F], [?y, ?p, ?x], [?z, ?p, ?x] .
    """
).rules
OTHER_FORMS = parse_program(
    f"""
    PREFIX : <urn:>
    [?y, :other, ?z] :- [?x, :p, ?y], [?x, :p, ?z] .
    [?y, <{SAME}>, ?z] :- [?x, :p, ?y], [?x, :q, ?z] .
    [?y, <{SAME}>, ?z] :- [?x, :p, ?y], [?z, :p, ?x] .
    [?y, <{SAME}>, ?z] :- [?x, :p, ?y], [?x, :p, ?z], FILTER(?y != ?z) .
    [?y, <{SAME}>, ?z] :- [?x, :p, ?y], [?x, :p, ?z], [?x, :q, ?y] .
    [?y, <{SAME}>, ?z] :- [?y, a, ?c], [?z, a, ?c] .
    [?y, <{SAME}>, ?y] :- [?x, :p, ?y], [?x, :p, ?z] .
    [?y, <{SAME}>, ?z] :- [?x, :p, ?y], [?x, :p, ?z], NOT [?x, :q, ?y] .
    [:a, <{SAME}>, ?z] :- [?x, :p, :a], [?x, :p, ?z] .
    """
).rules

terms = st.sampled_from([IRI(f"urn:{name}") for name in "abcdef"])
values: st.SearchStrategy[IRI | Literal] = st.one_of(terms, st.sampled_from([Literal("u"), Literal("v")]))
properties = st.sampled_from([IRI("urn:p"), IRI("urn:q"), IRI("urn:r")])
guards: st.SearchStrategy[Fact] = st.one_of(
    st.tuples(properties, st.just(IRI(RDF_TYPE.value)), st.just(IRI("urn:F"))),
    st.tuples(st.just(IRI("urn:a")), st.just(IRI(RDF_TYPE.value)), st.just(IRI("urn:F"))),
    st.tuples(properties, st.just(IRI("urn:is")), st.just(IRI("urn:a"))),
)
data: st.SearchStrategy[Fact] = st.tuples(terms, properties, values)
equal: st.SearchStrategy[Fact] = st.tuples(terms, st.just(IRI(SAME)), terms)
fact_sets = st.frozensets(st.one_of(data, data, data, data, guards, equal), min_size=3, max_size=12)
some_rules = st.lists(st.sampled_from((*FUNCTIONAL, *FUNCTIONAL, *PLACES, *OTHERS)), unique=True, max_size=6)
programs = some_rules.map(lambda rules: Program((*CLIQUES, FUNCTIONAL[0], *rules)))
partial = st.lists(st.sampled_from((*CLIQUES, *FUNCTIONAL, *PLACES[:1], *OTHERS)), unique=True).map(
    lambda rules: Program(tuple(rules))
)


def claimed(program: Program) -> list[str]:
    """The module of every rule but those of the cliques."""
    found = run([(IRI("urn:a"), IRI(SAME), IRI("urn:b"))], program)
    made = {rule.number: module.name for module in found.engine.fixpoint.modules for rule in module.rules}
    return [made[number] for number in sorted(made) if program.rules[number] not in CLIQUES]


def test_the_rules_are_recognised() -> None:
    assert set(claimed(Program((*CLIQUES, *FUNCTIONAL)))) == {Functional.name}
    assert Functional.name not in claimed(Program((*CLIQUES, *OTHER_FORMS[:7], *OTHER_FORMS[8:])))
    assert Functional.name not in claimed(Program((CLIQUES[0], *FUNCTIONAL)))
    assert Functional.name not in claimed(Program((CLIQUES[1], *FUNCTIONAL)))


@pytest.mark.parametrize("profile", ["rdfs-plus", "owl2rl"])
def test_the_profiles_have_them(profile: str) -> None:
    program = load_profile(profile)
    modules = run([(IRI("urn:a"), IRI(SAME), IRI("urn:b"))], program).engine.fixpoint.modules
    (rules,) = (module.rules for module in modules if module.name == Functional.name)
    assert {rule.source.name for rule in rules} == {"prp-fp", "prp-ifp"}


@thorough(150)
@given(histories(fact_sets), programs)
def test_facts_come_and_go(history: list[frozenset[Fact]], program: Program) -> None:
    assert_exact(history, program)


@pytest.mark.parametrize("index", ["intervals", "bits"])
@thorough(100)
@given(histories(fact_sets), programs)
def test_compressed(index: str, history: list[frozenset[Fact]], program: Program) -> None:
    with pytest.MonkeyPatch.context() as patch:
        compress_all(patch, "intervals" if index == "intervals" else "bits")
        assert_exact(history, program)


@thorough(100)
@given(st.data(), histories(fact_sets), st.booleans())
def test_rules_come_and_go(drawn: st.DataObject, history: list[frozenset[Fact]], compressed: bool) -> None:
    """Also those that make the cliques: without these, all pairs must be derived."""
    programs = [drawn.draw(partial) for _ in history]
    with pytest.MonkeyPatch.context() as patch:
        if compressed:
            compress_all(patch)
        assert_exact(history, programs)


def test_a_rule_comes_while_a_fact_goes() -> None:
    """The rule has not been applied yet when its premises are deleted."""
    p, q, same_as = IRI("urn:p"), IRI("urn:q"), IRI(SAME)
    a, b, c, d = (IRI(f"urn:{name}") for name in "abcd")
    facts: frozenset[Fact] = frozenset({(a, same_as, b), (a, p, c), (a, p, d), (c, q, a), (d, q, a)})
    programs = [Program((*CLIQUES, *more)) for more in (FUNCTIONAL[1:2], FUNCTIONAL[:2])]
    with pytest.MonkeyPatch.context() as patch:
        compress_all(patch)
        for fact in facts:
            assert_exact([facts, facts - {fact}], programs)


between: st.SearchStrategy[Fact] = st.tuples(terms, properties, terms)
owl_facts: st.SearchStrategy[Fact] = st.one_of(
    between,
    between,
    between,
    equal,
    st.tuples(
        properties,
        st.just(IRI(RDF_TYPE.value)),
        st.sampled_from([IRI(OWL + "FunctionalProperty"), IRI(OWL + "InverseFunctionalProperty")]),
    ),
)


@pytest.mark.parametrize("profile", ["rdfs-plus", "owl2rl"])
@thorough(25)
@given(histories(st.frozensets(owl_facts, min_size=3, max_size=9)))
def test_profiles(profile: str, history: list[frozenset[Fact]]) -> None:
    assert_exact(history, load_profile(profile), same_visible)


def owners(number: int) -> list[Fact]:
    """Individuals that share a mailbox, and the property that makes them equal."""
    box, mail = IRI(EXAMPLE + "box"), IRI(EXAMPLE + "mail")
    facts: list[Fact] = [(IRI(f"{EXAMPLE}n{i}"), mail, box) for i in range(number)]
    return [*facts, (mail, IRI(RDF_TYPE.value), IRI(OWL + "InverseFunctionalProperty"))]


def test_many_owners_of_a_mailbox() -> None:
    """n individuals with a common value: their n² pairs are not listed, whatever comes and goes."""
    number, dictionary, program = 3_000, TermDictionary(), load_profile("owl2rl")
    everything = owners(number)
    explicit, one = (load(frozenset(facts), dictionary) for facts in (everything, everything[7:8]))
    change = Delta.of(one)
    left = explicit.snapshot()
    for predicate, keys in change.items():
        left.remove(predicate, keys)
    same = dictionary.encode(f"<{SAME}>")
    result = materialise(explicit, program, dictionary)
    for then, removed, added, size in (
        (explicit, NOTHING, NOTHING, number),
        (left, change, NOTHING, number - 1),
        (explicit, NOTHING, change, number),
    ):
        result, _ = maintain(result, then, removed, added)
        relation = result.index.relation(same)
        assert relation.is_compressed and len(relation) == size**2


def test_one_more_value_reads_only_what_it_meets() -> None:
    """The facts of a property are not copied for each change of one."""
    dictionary, program, mail = TermDictionary(), load_profile("owl2rl"), IRI(EXAMPLE + "mail")
    facts = [(IRI(f"{EXAMPLE}n{i}"), mail, IRI(f"{EXAMPLE}box{i}")) for i in range(1_000)]
    kind: Fact = (mail, IRI(RDF_TYPE.value), IRI(OWL + "InverseFunctionalProperty"))
    explicit, one = (
        load(frozenset(some), dictionary)
        for some in ([*facts, kind], [(*facts[3][:2], IRI(f"{EXAMPLE}box5"))])
    )
    result = materialise(explicit, program, dictionary)
    predicate = dictionary.encode(f"<{EXAMPLE}mail>")
    before = result.index.relation(predicate)
    explicit.add(predicate, one.relation(predicate).pairs())
    result, _ = maintain(result, explicit, NOTHING, Delta.of(one))
    assert result.index.relation(predicate).shares_base(before)


def test_explanations_name_the_common_value() -> None:
    """The rule explains a pair that no link connects."""
    result = run(owners(5), load_profile("owl2rl"))
    texts = f"<{EXAMPLE}n3>", f"<{SAME}>", f"<{EXAMPLE}n4>"
    (proof,) = explain(result, *map(result.dictionary.encode, texts), limit=1).proofs
    reasons = [step.reason for step in proof.steps]
    assert {why.rule.source.name for why in reasons if isinstance(why, Application)} == {"prp-ifp"}
