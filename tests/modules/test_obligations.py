"""What ``Module`` asks of every module, checked against naive evaluation of its own rules.

Modules are made by the engine, for random programs; facts come and go in several steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from itertools import compress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests import strategies as some
from tests.engine import Fact, load
from tests.evaluate.test_against_naive import by_value, is_stratified
from tests.few_rows import joined_by_columns
from tests.maintain.histories import STRATEGIES, facts_by_id, follow
from tests.modules import kinds
from tests.modules.bench import Bench
from tests.modules.meaning import Meaning, Terms, ground, is_virtual, module_and_meaning, plain
from tests.modules.test_datatypes import SAME_AS
from tests.modules.test_datatypes import facts as value_facts
from tests.modules.test_inclusion import INCLUSIONS, punned, schema
from tests.modules.test_transitive import edges, transitive_properties
from tests.ontology_strategies import FIRST, NIL, REST
from tests.oracles import naive
from tests.strategies import thorough

from corollary.columns import TripleIndex
from corollary.evaluate import materialise
from corollary.evaluate.engine import Engine
from corollary.execute.run_plan import extend
from corollary.language import IRI, BlankNode, Literal, Program, Rule
from corollary.modules.functional import Functional
from corollary.modules.list_rules import ListRules
from corollary.modules.registry import MODULES
from corollary.profiles import load_profile
from corollary.program.compiled_program import CompiledProgram
from corollary.terms.dictionary import TermDictionary


@dataclass(frozen=True)
class Kind:
    """A kind of module, programs that have one, and facts for it.

    Facts from outside are closed under the rules ``beside``: such rules the module takes for granted.
    """

    module: str
    programs: st.SearchStrategy[Program]
    facts: st.SearchStrategy[frozenset[Fact]]
    beside: tuple[str, ...] = ()


def sets_of(*facts: st.SearchStrategy[Fact], most: int = 24) -> st.SearchStrategy[frozenset[Fact]]:
    return st.frozensets(st.one_of(*facts), min_size=min(10, most // 2), max_size=most)


@st.composite
def lists(draw: st.DrawFn) -> frozenset[Fact]:
    """Parts of lists whose cells have one rest each, and what leads to them."""
    cells = (*map(BlankNode, ("l0", "l1", "l2")), NIL)
    rests = [(cell, REST, draw(st.sampled_from(cells))) for cell in cells[:-1]]
    parts: st.SearchStrategy[Fact] = st.one_of(
        st.tuples(st.sampled_from(cells), st.just(FIRST), some.individuals),
        st.sampled_from(rests),
        st.tuples(some.individuals, st.just(kinds.HAS), st.sampled_from(cells)),
    )
    return draw(st.frozensets(parts, min_size=4, max_size=12))


def related(*names: str) -> st.SearchStrategy[frozenset[Fact]]:
    """Facts of some relations among four individuals, so that many follow in several ways."""
    nodes = st.sampled_from(some.INDIVIDUALS[:4])
    names_of = st.sampled_from([IRI(some.EXAMPLE + name) for name in names])
    return sets_of(st.tuples(nodes, names_of, nodes))


KINDS = {
    "lists": Kind("lists", kinds.programs_of(*kinds.LISTS), lists()),
    "lists, all": Kind("lists", st.just(kinds.rule_set(kinds.ANY_LIST)), lists()),
    "datatypes": Kind("datatypes", st.just(kinds.rule_set(kinds.ALL_VALUES)), sets_of(value_facts)),
    "transitive closure": Kind(
        "transitive closure",
        kinds.programs_of(*kinds.TRANSITIVITY, least=2),
        st.one_of(sets_of(edges, edges, edges, transitive_properties), related("p", "p", "q")),
    ),
    "symmetric closure": Kind(
        "transitive closure",
        kinds.programs_of(*kinds.SYMMETRY, beside=kinds.TRANSITIVITY[:2]),
        related("p", "p", "q"),
    ),
    "closure but for loops": Kind(
        "transitive closure",
        kinds.programs_of(*kinds.LOOPLESS, *kinds.SYMMETRY),
        related("p", "p", "q"),
    ),
    "linear closure": Kind("linear closure", kinds.programs_of(*kinds.LINEAR), related("q", "r")),
    "linear closure of edges": Kind(
        "linear closure",
        kinds.programs_of(*kinds.LINEAR, beside=kinds.BASES),
        related("q", "r"),
        kinds.BASES,
    ),
    "schema": Kind(
        "schema",
        kinds.programs_of(*kinds.SCHEMA, beside=kinds.INCLUSIONS[:6]),
        sets_of(schema, kinds.equivalences),
    ),
    "inclusion": Kind(
        "inclusion",
        kinds.programs_of(*kinds.INCLUSIONS, *INCLUSIONS, least=2),
        sets_of(schema, some.plain_facts, some.plain_facts, punned),
    ),
    "equality": Kind(
        "equality",
        kinds.programs_of(*kinds.EQUALITY, beside=kinds.EQUIVALENCE),
        sets_of(some.plain_facts, some.plain_facts, kinds.same, most=14),  # much follows, slowly
        kinds.EQUIVALENCE,
    ),
    "rules": Kind("rules", some.programs(), some.fact_sets),
    "rules with guards": Kind(
        "rules", kinds.programs_of(*kinds.JOINS, *kinds.INCLUSIONS), sets_of(schema, some.plain_facts, punned)
    ),
}


OTHER_TESTS = {
    Functional.name: "its answers are complete only with the closure of equality: see test_functional",
    ListRules.name: "its rules have as many atoms as a list has members: see test_long_lists",
}
"""Modules that are not tested here, and why."""


def bench_of(kind: Kind, program: Program) -> Bench | None:
    """The kind's module for a program, if it gets any rules."""
    terms = Terms(TermDictionary())
    made = module_and_meaning(program, kind.module, terms)
    if made is None:
        return None
    module, meaning = made
    sound = (
        Meaning((*meaning.rules, *map(plain, kinds.rule_set(frozenset(kind.beside)))))
        if kind.beside
        else meaning
    )
    return Bench(module, meaning, sound, terms)


def half_by_columns(test: Callable[[Kind, st.DataObject], None]) -> Callable[[Kind, st.DataObject], None]:
    """Half of the examples join few rows by columns."""

    @wraps(test)
    def tested(kind: Kind, data: st.DataObject) -> None:
        with joined_by_columns(data.draw(st.booleans(), "by columns")):
            test(kind, data)

    return tested


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@thorough(30)
@given(st.data())
@half_by_columns
def test_obligations(kind: Kind, data: st.DataObject) -> None:
    """Every call keeps its promise, and the facts are always the closure of those from outside."""
    bench = bench_of(kind, data.draw(kind.programs, "program"))
    assume(bench is not None)
    assert bench is not None
    beside = Meaning(map(plain, kinds.rule_set(frozenset(kind.beside))))
    pool = set(data.draw(kind.facts, "pool"))

    def few(facts: set[Fact], name: str) -> set[Fact]:
        chosen = sorted(facts, key=str)
        return set(data.draw(st.frozensets(st.sampled_from(chosen)), name)) if chosen else set()

    def half(facts: set[Fact], name: str) -> set[Fact]:
        drawn = data.draw(st.lists(st.booleans(), min_size=len(facts), max_size=len(facts)), name)
        return set(compress(sorted(facts, key=str), drawn))

    explicit: set[Fact] = set()
    for _ in range(data.draw(st.integers(1, 3), "rounds")):
        explicit |= pool - few(pool, "not added")
        outside = beside.closure(explicit)
        bench.add(outside)
        known = bench.facts
        candidates = few(known, "candidates")
        bench.check(candidates, known - candidates, half(known - candidates, "recent"))
        explicit -= few(explicit, "removed")
        stay = beside.closure(explicit)
        guards = bench.meaning.guards(known)
        # proofs end at guards: where these change, nothing can be proved
        is_settled = guards == bench.meaning.guards(bench.meaning.closure(stay))
        proves = is_settled and data.draw(st.booleans(), "proves")
        proved = half(stay, "proved") | (guards if proves else set())
        others = few({fact for fact in known if not is_virtual(fact[1])}, "derived by others until now")
        bench.remove(outside - stay | others, stay, proved, proves=proves)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@thorough(20)
@given(st.data())
@half_by_columns
def test_rules_come_and_go(kind: Kind, data: st.DataObject) -> None:
    """Rules that come to a module at work, or go, lead to the facts of an engine that starts anew."""
    whole = data.draw(kind.programs, "program")
    some_rules = data.draw(st.lists(st.booleans(), min_size=len(whole), max_size=len(whole)), "rules")
    part = replace(whole, rules=tuple(compress(whole, some_rules)))
    programs, facts = [part, whole, part], data.draw(kind.facts, "facts")
    for strategy in STRATEGIES:
        for program, (result, _) in zip(programs, follow([facts] * 3, programs, strategy), strict=True):
            scratch = materialise(load(facts, result.dictionary), program, result.dictionary)
            assert facts_by_id(result) == facts_by_id(scratch)


@thorough(30)
@given(
    some.number_fact_sets,
    some.number_fact_sets,
    some.programs(st.one_of(some.rules_with_not(), some.rules_with_aggregate())),
)
def test_what_strata_do_not_only_add(
    before: frozenset[Fact], after: frozenset[Fact], program: Program
) -> None:
    """Instances that come and go with negated facts, and with the facts that aggregates are over."""
    assume(is_stratified(program))
    terms = Terms(TermDictionary())
    engine = Engine(TripleIndex(), CompiledProgram(program, terms.dictionary))
    strata, _ = engine.stratify()
    engine.evaluate(strata)
    old, new, came, went = map(terms.index, (before, after, after - before, before - after))
    for module in engine.strata:
        rules = [rule.source for rule in module.rules]
        had, has = (set(instances(rules, facts)) for facts in (before, after))
        lost = module.overdelete(old, went, TripleIndex()).candidates
        extend(lost, module.deleted_by_negation(old, came))
        groups = [*module.touched(new, came), *module.touched(old, went)]
        extend(lost, module.grouped(old, groups))
        assert by_value({head for _, head in had - has}) <= by_value(terms.returned(lost))
        gained = module.propagate_proved(new, came, terms.index({head for _, head in has}))
        extend(gained, module.inserted_by_negation(new, went))
        extend(gained, module.grouped(new, groups))
        assert by_value({head for _, head in has - had}) <= by_value(terms.returned(gained))
        assert by_value(terms.returned(gained)) <= by_value({head for _, head in has})


def instances(rules: Iterable[Rule], facts: Iterable[Fact]) -> Iterator[tuple[object, Fact]]:
    """All ways to satisfy a body, and what they lead to."""
    known = naive.Facts(facts, {})
    for rule in rules:
        for binding in naive.solutions(rule, known):
            for head in rule.heads:
                yield (rule, frozenset(binding.items())), ground(head, binding)


def test_values_are_told_again() -> None:
    """Of a literal that owl:sameAs facts mention no more, and then again, as the only literal there is."""
    kind = KINDS["datatypes"]
    bench = bench_of(kind, kinds.rule_set(kinds.ALL_VALUES))
    assert bench is not None
    facts: set[Fact] = {(some.INDIVIDUALS[0], SAME_AS, Literal("a"))}
    for _ in range(2):
        bench.add(facts)
        assert len(bench.facts) > 1
        bench.remove(facts, set(), set(), proves=False)
        assert not bench.facts


def test_no_kind_is_left_out() -> None:
    """All registered modules, and those made for the largest profile, and for rules of every kind."""
    covered = {kind.module for kind in KINDS.values()} | OTHER_TESTS.keys()
    assert {module.name for module in MODULES} <= covered
    for program in (load_profile("owl2rl"), kinds.rule_set(frozenset(kinds.POSITIVE))):
        modules = Engine(TripleIndex(), CompiledProgram(program, TermDictionary())).fixpoint.modules
        assert {module.name for module in modules} <= covered
