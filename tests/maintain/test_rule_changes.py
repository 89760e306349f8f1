"""Rules that come and go among strata, as leaves, and from one module to another."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests import ontology_strategies as ontology
from tests.engine import Fact, facts_of, load, run
from tests.evaluate.test_against_naive import is_stratified
from tests.maintain.histories import History, assert_exact, histories, same_values, same_visible
from tests.oracles import naive
from tests.strategies import EXAMPLE, NUMBERS, sets_of, thorough

from corollary.columns import relation
from corollary.columns.delta import NOTHING, Delta
from corollary.evaluate import MaterialisedView, materialise, rule_change
from corollary.execute.context import ExecutionContext
from corollary.language import IRI, RDF_TYPE, Constant, Program, UnstratifiableError, parse_program
from corollary.language.model import OWL, RDF, RDFS
from corollary.maintain import maintain
from corollary.maintain.deletion import recompute
from corollary.maintain.transaction import LITTLE_STAYS
from corollary.modules.list_rules import ListRules
from corollary.modules.semi_naive import SemiNaive
from corollary.profiles import load_profile
from corollary.program.compile import compile_rule
from corollary.terms.dictionary import TermDictionary


@pytest.fixture(autouse=True, scope="module")
def overlays() -> Iterator[None]:
    """Let small relations keep an overlay, as larger ones do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation, "MIN_BASE_PER_OVERLAY", 1)
        yield


PREFIX = f"PREFIX : <{EXAMPLE}>\n"
CLOSURE = (
    "[?x, :near, ?y] :- [?x, :edge, ?y] .",
    "[?x, :near, ?y] :- [?y, :near, ?x] .",
    "[?x, :near, ?z] :- [?x, :near, ?y], [?y, :near, ?z], FILTER(?x != ?z) .",
)
STRATA = (
    "[?x, :count, ?n] :- AGGREGATE([?x, :near, ?y], [?y, :value, ?v] ON ?x BIND count(?v) AS ?n) .",
    "[?x, :most, ?n] :- AGGREGATE([?x, :near, ?y], [?y, :value, ?v] ON ?x BIND max(?v) AS ?n) .",
    """[?x, :sum, ?n] :- [?x, :edge, ?z],
        AGGREGATE([?x, :near, ?y], [?y, :value, ?v] ON ?x BIND sum(?v) AS ?n) .""",
    "[?x, :top, ?n] :- AGGREGATE([?x, :near, ?y], [?y, :count, ?v] ON ?x BIND max(?v) AS ?n) .",
    "[?x, :apart, ?y] :- [?x, :value, ?v], [?y, :value, ?v], NOT [?x, :near, ?y] .",
    "[?x, :apart, ?z] :- [?x, :apart, ?y], [?y, :edge, ?z], NOT [?x, :near, ?z] .",
    "[?x, :mixed, ?y] :- [?x, :edge, ?y], NOT :Many[?y] .",
    "[?x, :mixed, ?y] :- [?x, :edge, ?y], NOT [?y, :near, ?x] .",
    ":Few[?x] :- [?x, :edge, ?y], NOT :Many[?x] .",
    ":Few[?y] :- [?x, :edge, ?y], NOT [?y, :near, ?x] .",
)
MORE = (
    "[?x, :count, ?v] :- [?x, :value, ?v] .",
    ":Many[?x] :- [?x, :count, ?n], FILTER(?n >= 2) .",
    ":Many[?x] :- [?x, :edge, ?y], [?x, :value, ?v] .",
    "[?x, :mixed, ?y] :- [?x, :near, ?y], [?y, :value, ?v] .",
    "[?x, :is, ?c] :- [?x, a, ?c] .",
    "[?x, :leaf, ?z] :- [?x, :near, ?y], [?y, :apart, ?z] .",
    "[?x, :leaf, ?y] :- [?x, :mixed, ?y] .",
    "[?x, :leaf, ?z] :- [?x, :near, ?y], [?y, :top, ?z] .",
    "[?x, :beyond, ?y] :- [?x, :leaf, ?y] .",
)
RULES = parse_program(PREFIX + "\n".join((*CLOSURE, *STRATA, *MORE))).rules

NAMES = tuple(IRI(EXAMPLE + name) for name in "abcd")


def facts(*predicates: str, objects: tuple[Constant, ...] = NAMES) -> st.SearchStrategy[Fact]:
    named = st.sampled_from([IRI(EXAMPLE + name) for name in predicates])
    return st.tuples(st.sampled_from(NAMES), named, st.sampled_from(objects))


CLASSES = tuple(IRI(EXAMPLE + name) for name in ("Many", "Few"))
typed = st.tuples(st.sampled_from(NAMES), st.just(RDF_TYPE), st.sampled_from(CLASSES))
edges = facts("edge", "edge", "edge", "near")
values = facts("value", "value", "count", "most", objects=NUMBERS)
fact_sets = sets_of(st.one_of(edges, edges, values, facts("apart", "mixed", "leaf"), typed), 24)


@st.composite
def changes(draw: st.DrawFn) -> tuple[History, list[Program]]:
    """Facts change a little; of all rules but a few, one or two go and come at a time."""
    history = draw(histories(fact_sets))
    numbers = st.sampled_from(range(len(RULES)))
    lacking = draw(st.frozensets(numbers, max_size=len(RULES) // 2))
    programs = []
    for _ in history:
        programs.append(Program(tuple(rule for i, rule in enumerate(RULES) if i not in lacking)))
        lacking ^= draw(st.frozensets(numbers, max_size=2))
    return history, programs


@thorough(150)
@given(changes())
def test_rules_of_strata_come_and_go(both: tuple[History, list[Program]]) -> None:
    history, programs = both
    assume(all(map(is_stratified, programs)))
    assert_exact(history, programs, same_values, also=lambda state: state.engine.is_ordered_by(state.strata))


ABOUT_CLASSES = parse_program(
    PREFIX
    + """
    :A[?x] :- [?x, :edge, ?y] .
    :B[?x] :- :A[?x], [?x, :near, ?y] .
    :B[?y] :- [?x, :near, ?y] .
    :C[?x] :- :B[?x], :A[?x] .
    :A[?y] :- :C[?x], [?x, :edge, ?y] .
    [?x, :near, ?y] :- :B[?x], [?x, :edge, ?y] .
    [?x, :near, ?y] :- [?y, :near, ?x] .
    :D[?x] :- :C[?x], NOT :B[?x] .
    :D[?x] :- [?x, :value, ?v], NOT :A[?x] .
    :E[?x] :- [?x, :edge, ?x] .
    :E[?x] :- :D[?x], [?x, :edge, ?y] .
    [?x, :leaf, ?y] :- :E[?x], [?x, :near, ?y] .
    [?x, :is, ?c] :- [?x, :near, ?y], [?y, a, ?c] .
    """
).rules
types = st.tuples(
    st.sampled_from(NAMES), st.just(RDF_TYPE), st.sampled_from([IRI(EXAMPLE + name) for name in "ABCDE"])
)


@thorough(200)
@given(histories(sets_of(st.one_of(edges, values, types, types), 16)), st.data())
def test_rules_about_classes_come_and_go(history: History, data: st.DataObject) -> None:
    """Classes that depend on changed rules are emptied, and no others; with the last rule, all types are."""
    numbers = st.sampled_from(range(len(ABOUT_CLASSES)))
    lacking = data.draw(st.frozensets(numbers, max_size=5))
    programs = []
    for _ in history:
        programs.append(Program(tuple(rule for i, rule in enumerate(ABOUT_CLASSES) if i not in lacking)))
        lacking ^= data.draw(st.frozensets(numbers, min_size=1, max_size=2))
    assert_exact(history, programs)


ontologies = ontology.ontologies(
    ontology.rdfs_axioms, ontology.property_axioms, ontology.class_axioms, ontology.clash_axioms
)


@pytest.mark.parametrize("profile", ["rhodf", "rdfs"])
@thorough(40)
@given(histories(ontologies), st.data())
def test_rules_of_a_profile_move(profile: str, history: History, data: st.DataObject) -> None:
    """Without rules that read the schema, rules that derive it go to another module."""
    rules = load_profile(profile).rules
    names = [
        data.draw(st.frozensets(st.sampled_from(["rdfs2", "rdfs7", "rdfs9", "rdfs11"]))) for _ in history
    ]
    programs = [Program(tuple(rule for rule in rules if rule.name not in lacking)) for lacking in names]
    assert_exact(history, programs, same_visible)


@pytest.mark.parametrize("profile", ["rhodf", "owl2rl"])
@thorough(40)
@given(explicit=ontologies)
def test_so_much_is_lost_at_least(profile: str, explicit: frozenset[Fact]) -> None:
    result = run(explicit, load_profile(profile))
    engine = result.engine
    for rule in engine.compiled.rules:
        context = ExecutionContext(result.dictionary)
        context.readings = dict(result.cells)
        module = SemiNaive("one rule", context) if rule.along is None else ListRules(context)
        module.add_rule(compile_rule(rule.source, rule.number, result.dictionary))
        conclusions = module.remove_rules({rule.number}, result.index)
        derived = Delta.among(conclusions, result.index)
        least = engine.lost_at_least([rule], result.explicit) + engine.axioms.fact_count()
        assert 0 <= least <= len(derived - result.explicit)


@pytest.mark.parametrize("modular", [True, False])
def test_guards_of_a_rule_that_comes_are_schema(modular: bool) -> None:
    """Also where semi-naive evaluation takes all rules."""
    dictionary = TermDictionary()
    names = {name: IRI(EXAMPLE + name) for name in ("a", "b", "p", "q", "below")}
    guard = (names["p"], names["below"], names["q"])
    facts = frozenset({guard, (names["a"], names["p"], names["b"])})
    copies = parse_program(f"PREFIX : <{EXAMPLE}>\n[?x, ?q, ?y] :- [?p, :below, ?q], [?x, ?p, ?y] .")
    explicit, fewer = load(facts, dictionary), load(facts - {guard}, dictionary)
    before = materialise(explicit, Program(()), dictionary, modular=modular)
    came, _ = maintain(before, explicit, NOTHING, NOTHING, program=copies)
    below = dictionary.find(f"<{EXAMPLE}below>")
    assert below in came.engine.schema.predicates
    assert facts_of(came.index.columns(), dictionary) == naive.closure(facts, copies)[0]
    after, _ = maintain(came, fewer, Delta.of(explicit) - fewer, NOTHING)
    assert facts_of(after.index.columns(), dictionary) == facts - {guard}


def test_schema_that_schema_rules_derive_does_not_depend_on_data() -> None:
    """Without ``prp-dom``, facts of rdfs:domain are data. They follow from the schema all the same."""
    dictionary, whole = TermDictionary(), load_profile("owl2rl")
    part = Program(tuple(rule for rule in whole if rule.name != "prp-dom"))
    names = {name: IRI(EXAMPLE + name) for name in ("a", "b", "p", "q", "C")}
    facts = frozenset(
        {
            (names["p"], IRI(RDFS + "subPropertyOf"), names["q"]),
            (names["q"], IRI(RDFS + "domain"), names["C"]),
            (names["a"], names["p"], names["b"]),
        }
    )
    explicit = load(facts, dictionary)
    before = materialise(explicit, part, dictionary)
    came, report = maintain(before, explicit, NOTHING, NOTHING, program=whole)
    assert report.strategy == "backward/forward"
    assert not came.engine.schema_depends_on_data
    domains = came.index.relation(dictionary.encode(f"<{RDFS}domain>"))
    assert len(domains) == 2
    assert_exact([facts, facts], [part, whole], same_visible)


def test_rules_by_which_every_type_is_schema_come_as_if_they_had_always_been_there() -> None:
    dictionary = TermDictionary()
    rules = program_of("[?x, :p, ?x] :- [?x, a, ?x] .", "[?x, a, :D] :- [?x, :p, ?x], [?x, a, ?x] .")
    facts = frozenset({(NAMES[0], IRI(EXAMPLE + "p"), NAMES[0])})
    explicit = load(facts, dictionary)
    at_once = materialise(explicit, rules, dictionary)
    came, _ = maintain(
        materialise(explicit, Program(()), dictionary), explicit, NOTHING, NOTHING, program=rules
    )
    assert at_once.engine.schema.has_any_class
    assert came.engine.schema_depends_on_data
    assert at_once.engine.schema_depends_on_data
    assert_exact([facts, facts], [Program(()), rules])


NEGATED = "[?c, :below, ?d] :- [?c, a, ?d], NOT [?c, :apart, ?d] ."
COUNTED = "[?c, :below, ?n] :- AGGREGATE([?x, a, ?c] ON ?c BIND count(?x) AS ?n) ."
FEW = ":Few[?x] :- [?x, :edge, ?y], NOT [?x, :apart, ?y] ."
COPIED = "[?x, a, ?d] :- [?c, :copy, ?d], [?x, a, ?c] ."
UPWARD = "[?x, :is, ?d] :- [?c, :below, ?d], [?x, a, ?c] ."
BOTH_WAYS = "[?x, a, ?d] :- [?c, :below, ?d], [?x, a, ?c] ."


@pytest.mark.parametrize(
    ("before", "coming"),
    [
        pytest.param((NEGATED,), BOTH_WAYS, id="negation"),
        pytest.param((COUNTED,), UPWARD, id="an aggregate"),
        pytest.param((FEW, COPIED), "[?x, :is, ?p] :- :Many[?p], [?x, ?p, ?y] .", id="indirectly"),
    ],
)
def test_facts_of_a_stratum_become_schema(before: tuple[str, ...], coming: str) -> None:
    """The schema changes with the data from then on: it may not be taken for complete before the strata."""
    few, many, gone = CLASSES[1], CLASSES[0], {(NAMES[0], RDF_TYPE, CLASSES[0])}
    gone |= {(NEAR, IRI(EXAMPLE + "edge"), NAMES[0])}
    staying = {(NAMES[0], RDF_TYPE, few), (many, RDF_TYPE, few), (few, IRI(EXAMPLE + "copy"), many)}
    facts = frozenset(gone | staying | PATH)
    program, after = program_of(*before), program_of(*before, coming)
    dictionary = TermDictionary()
    explicit = load(facts, dictionary)
    state = materialise(explicit, program, dictionary)
    came, _ = maintain(state, explicit, NOTHING, NOTHING, "backward/forward", after)
    assert came.engine.schema_depends_on_data
    assert came.engine.schema_depends_on_strata
    assert_exact([facts, facts, facts - gone, facts], [program, after, after, after], same_values)
    assert_exact([facts, facts - gone, facts], [program, after, after], same_values)


def started_over(facts: Collection[Fact], before: Program, after: Program) -> tuple[bool, MaterialisedView]:
    """Change the rules. Returns whether that started over at once, and the materialisation."""
    dictionary = TermDictionary()
    explicit = load(facts, dictionary)
    state = materialise(explicit, before, dictionary)
    result, report = maintain(state, explicit, NOTHING, NOTHING, program=after)
    assert facts_of(result.index.columns(), dictionary) == naive.closure(facts, after)[0]
    return report.reason == LITTLE_STAYS, result


def program_of(*rules: str) -> Program:
    return parse_program(PREFIX + "\n".join(rules))


NEAR = IRI(EXAMPLE + "near")
INVERSE, JOINED, COUNT = CLOSURE[1], CLOSURE[2], STRATA[0].replace(":value", ":near")
PATH = frozenset((a, NEAR, b) for a, b in pairwise(NAMES))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param((INVERSE,), (INVERSE, JOINED), id="a rule moves beside one that comes"),
        pytest.param((INVERSE, JOINED), (INVERSE,), id="a rule moves beside one that goes"),
        pytest.param((JOINED, COUNT), (INVERSE, JOINED, COUNT), id="a relation under a stratum is doubled"),
        pytest.param((INVERSE, JOINED, COUNT), (JOINED, COUNT), id="all that is inferred depends on a rule"),
    ],
)
def test_rules_that_most_facts_depend_on(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    """Starting over costs less than to delete and derive again. Rules that stay are not compiled again."""
    at_once, result = started_over(PATH, program_of(*before), program_of(*after))
    assert at_once
    assert {rule.number for rule in result.compiled.rules} & set(range(len(before)))


@pytest.mark.parametrize(
    ("facts", "before", "after"),
    [
        pytest.param(PATH, (JOINED,), (INVERSE, JOINED), id="no stratum"),
        pytest.param(
            PATH,
            (JOINED, "[?x, :apart, ?y] :- [?x, :near, ?y], NOT [?x, :edge, ?y] ."),
            (INVERSE, JOINED, "[?x, :apart, ?y] :- [?x, :near, ?y], NOT [?x, :edge, ?y] ."),
            id="a stratum negates something else",
        ),
        pytest.param(
            PATH | {(b, p, a) for a, p, b in PATH}, (COUNT,), (INVERSE, COUNT), id="it is symmetric already"
        ),
        pytest.param(
            PATH | {(a, IRI(EXAMPLE + "other"), b) for a in NAMES for b in NAMES},
            (INVERSE,),
            (INVERSE, JOINED),
            id="other facts are many",
        ),
        pytest.param(PATH, (COUNT,), (COUNT, STRATA[3].replace(":value", ":near")), id="nothing moves"),
    ],
)
def test_rules_that_few_facts_depend_on(
    facts: frozenset[Fact], before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    assert not started_over(facts, program_of(*before), program_of(*after))[0]


@pytest.mark.parametrize("is_symmetric", [False, True])
def test_that_a_relation_is_doubled_is_seen_from_some_facts(
    is_symmetric: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_change, "MIN_FACTS_SAMPLED", 7)
    nodes = [IRI(f"{EXAMPLE}n{i:02}") for i in range(11)]
    facts = frozenset((a, NEAR, b) for a in nodes for b in nodes if is_symmetric or str(a) < str(b))
    assert started_over(facts, program_of(COUNT), program_of(INVERSE, COUNT))[0] is not is_symmetric


def test_starting_over_forgets_the_forms_for_lists_that_are_gone() -> None:
    """Rules over lists are unrolled for the lengths of the lists at hand."""
    dictionary, program = TermDictionary(), load_profile("owl2rl")
    names = {name: IRI(EXAMPLE + name) for name in ("a", "k", "l", "C", "D", "E")}
    rest, first = IRI(RDF + "rest"), IRI(RDF + "first")
    both = (names["E"], IRI(OWL + "intersectionOf"), names["k"])
    cells = {(names["k"], first, names["C"]), (names["k"], rest, names["l"]), (names["l"], first, names["D"])}
    facts = frozenset(
        {both, *cells, (names["l"], rest, IRI(RDF + "nil")), (names["a"], RDF_TYPE, names["E"])}
    )
    explicit, fewer = load(facts, dictionary), load(facts - {both}, dictionary)
    before = materialise(explicit, program, dictionary)
    gone = Delta.of(explicit) - fewer
    after, _ = maintain(before, fewer, gone, NOTHING, "starting over")
    scratch = materialise(fewer, program, dictionary)
    assert after.compiled.lengths == scratch.compiled.lengths != before.compiled.lengths
    assert after.index.fact_count() == scratch.index.fact_count()
    again, _ = maintain(after, explicit, NOTHING, gone, "starting over")
    assert again.compiled.lengths == before.compiled.lengths
    assert facts_of(again.index.columns(), dictionary) == facts_of(before.index.columns(), dictionary)


def test_starting_over_refuses_what_compiling_refuses() -> None:
    dictionary = TermDictionary()
    explicit, odd = load(PATH, dictionary), program_of(JOINED, ":Odd[?x] :- [?x, :near, ?y], NOT :Odd[?y] .")
    state = materialise(explicit, program_of(JOINED), dictionary)
    for strategy in ("automatic", "starting over"):
        with pytest.raises(UnstratifiableError):
            maintain(state, explicit, NOTHING, NOTHING, strategy, odd)
    assert state.engine.version == state.version


def test_a_change_that_is_given_up_leaves_nothing_to_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rules were looked at already: other rules are not taken for them."""
    dictionary, before = TermDictionary(), program_of(INVERSE)
    after = program_of(INVERSE, "[?x, :near, ?z] :- [?y, :edge, ?x], [?y, :edge, ?z] .")
    facts = PATH | {(NAMES[0], IRI(EXAMPLE + "edge"), NAMES[3])}
    explicit = load(facts, dictionary)
    state = materialise(explicit, before, dictionary)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(recompute, "rematerialise", interrupted)
        with pytest.raises(KeyboardInterrupt):
            maintain(state, explicit, NOTHING, NOTHING, program=program_of(INVERSE, JOINED))
    result, _ = maintain(state, explicit, NOTHING, NOTHING, program=after)
    assert facts_of(result.index.columns(), dictionary) == naive.closure(facts, after)[0]
