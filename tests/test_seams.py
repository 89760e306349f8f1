"""What a file and a line in a registry add: toys that the engine runs with, and that every report shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

import pytest
from rdflib import Graph
from rdflib.plugins.sparql import prepareQuery
from tests.engine import Fact, facts_of, load, run
from tests.oracles import naive

from corollary.cli.updating import StrategyName
from corollary.columns import Pairs, TripleIndex
from corollary.columns.delta import NOTHING, Candidates, Delta
from corollary.columns.pairs import NO_PAIRS
from corollary.evaluate import MaterialisedView, adopt, materialise
from corollary.execute.context import ExecutionContext
from corollary.explain import explain
from corollary.language import IRI, Program, parse_program
from corollary.maintain import AUTOMATIC, Report, maintain
from corollary.maintain.deletion import STRATEGIES
from corollary.maintain.deletion.dred import DRedLayer
from corollary.maintain.strategy import Request
from corollary.maintain.transaction import LayerwiseStrategy, follow
from corollary.maintain.workspace import Workspace
from corollary.modules import registry
from corollary.modules.module import Answer, Module
from corollary.modules.rule_set import RuleSet
from corollary.plan import passes
from corollary.plan.explain import explanation_text
from corollary.plan.steps import Join, Plan, PlanContext
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import CompiledProgram
from corollary.sparql import query_passes
from corollary.sparql.algebra import Query, Union, rewritten
from corollary.store import CorollaryStore
from corollary.terms.dictionary import TermDictionary

EX = "http://example.org/"
PROGRAM = parse_program(
    f"""PREFIX : <{EX}>
    @name copied
    [?x, :q, ?y] :- [?x, :p, ?y] .
    @name composed
    [?x, :r, ?z] :- [?x, :q, ?y], [?y, :q, ?z] .
    @name back
    [?x, :p, ?y] :- [?x, :r, ?y] .
    """
)


class Copying(Module):
    """Takes rules that are named "copied", which copy a constant predicate."""

    name = "copying"
    why = "a toy"
    turn = 45

    def __init__(self) -> None:
        self.rules: list[CompiledRule] = []

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        return [rule for rule in offered if rule.label == "copied"]

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> Copying:
        return cls()

    def add_rule(self, rule: CompiledRule) -> None:
        self.rules.append(rule)
        self.is_waiting = True

    def remove_rules(self, numbers: Iterable[int], facts: TripleIndex) -> Candidates:
        overdeleted = self._copies(facts)
        self.rules = [rule for rule in self.rules if rule.number not in set(numbers)]
        return overdeleted

    def reads(self, predicate: int) -> bool:
        return any(rule.atoms[0].p == predicate for rule in self.rules)

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        return NO_PAIRS

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Answer:
        source, self.is_waiting = facts if self.is_waiting else recent, False
        return Answer(self._copies(source))

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Answer:
        return Answer(self._copies(deleted))

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        return self._copies(recent)

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        return (Delta.gathered(self._copies(facts)) & candidates).candidates()

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        ends = ((rule.atoms[0].p, candidates.relation(rule.heads[0].p)) for rule in self.rules)
        return {source: [facts.relation(source).common(wanted.pairs().keys)] for source, wanted in ends}

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        pass

    def _copies(self, facts: TripleIndex) -> Candidates:
        return {rule.heads[0].p: [facts.keys(rule.atoms[0].p)] for rule in self.rules}


class Toy:
    """DRed under another name."""

    name = "toy / strategy"

    def can_follow(self, request: Request) -> bool:
        return True

    def seconds(self, request: Request) -> float:
        return -1.0

    def carry_out(self, request: Request, report: Report) -> MaterialisedView:
        return follow(request, report, self)

    def fitting(self, engine: object) -> LayerwiseStrategy:
        return self

    def most_losses(self, request: Request) -> float:
        return inf

    def on_layer(self, work: Workspace, layer: int) -> DRedLayer:
        return DRedLayer(work, layer)


def last_join_first(plan: Plan, context: PlanContext) -> Plan:
    """A pass that undoes the work of the others: the joins of full plans in the opposite order."""
    if context.fixed:
        return plan
    joins = [step for step in plan if isinstance(step, Join)]
    return tuple(joins.pop() if isinstance(step, Join) else step for step in plan)


def right_branch_first(query: Query) -> Query:
    """A pass of queries: { A } UNION { B }  ->  { B } UNION { A }."""

    def turned(node: Any) -> Any:
        return Union(node.branches[::-1]) if isinstance(node, Union) else node

    found: Query = rewritten(query, turned)
    return found


def fact(s: str, p: str, o: str) -> Fact:
    return IRI(EX + s), IRI(EX + p), IRI(EX + o)


FACTS = frozenset(fact(f"n{i}", "p", f"n{i + 1}") for i in range(5))


def found(result: MaterialisedView) -> set[Fact]:
    return facts_of(result.index.columns(), result.dictionary)


@pytest.fixture
def with_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "MODULES", (Copying, *registry.MODULES))


@pytest.mark.usefixtures("with_toy")
def test_a_module_is_used_and_seen() -> None:
    """By reasoning, maintenance under every strategy, changes of rules, EXPLAIN, components and proofs."""
    result = run(FACTS, PROGRAM)
    assert found(result) == naive.closure(FACTS, PROGRAM)[0]
    assert [a.module for a in result.assignments] == ["copying", "rules", "inclusion"]
    text = explanation_text(result.explain_plan())
    assert "copying: copied\n    (a toy)" in text
    assert any("copying" in component.modules for component in result.components())
    s, p, o = (result.dictionary.encode(f"<{EX}{name}>") for name in ("n0", "q", "n1"))
    assert "copied" in str(explain(result, s, p, o))


@pytest.mark.usefixtures("with_toy")
@pytest.mark.parametrize("is_adopted", [False, True])
@pytest.mark.parametrize("strategy", [AUTOMATIC, *STRATEGIES])
def test_a_module_follows_changes(strategy: str, is_adopted: bool) -> None:
    dictionary = TermDictionary()
    all_facts, fewer = load(FACTS, dictionary), load(FACTS - {fact("n2", "p", "n3")}, dictionary)
    before = materialise(all_facts, PROGRAM, dictionary)
    if is_adopted:
        before = adopt(all_facts, before.index, PROGRAM, dictionary)
    deleted = Delta.of(all_facts) - fewer
    after, report = maintain(before, fewer, deleted, NOTHING, strategy)
    assert found(after) == naive.closure(FACTS - {fact("n2", "p", "n3")}, PROGRAM)[0]
    if report.strategy != "starting over":  # automatic may run out of time where the machine is busy
        assert "copying" in {stage.module for stage in report.stages}
    without = Program(tuple(rule for rule in PROGRAM if rule.name != "copied"))
    last, _ = maintain(after, all_facts, NOTHING, deleted, strategy, without)
    assert found(last) == naive.closure(FACTS, without)[0]
    again, _ = maintain(last, all_facts, NOTHING, NOTHING, strategy, PROGRAM)
    assert found(again) == naive.closure(FACTS, PROGRAM)[0]


@pytest.mark.parametrize("asked", [AUTOMATIC, Toy.name])
def test_a_deletion_strategy_is_used_and_seen(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the cost model, by name, in reports, and on the command line."""
    monkeypatch.setitem(STRATEGIES, Toy.name, Toy())
    dictionary = TermDictionary()
    all_facts, fewer = load(FACTS, dictionary), load(FACTS - {fact("n2", "p", "n3")}, dictionary)
    before = materialise(all_facts, PROGRAM, dictionary)
    after, report = maintain(before, fewer, Delta.of(all_facts) - fewer, NOTHING, asked)
    assert found(after) == naive.closure(FACTS - {fact("n2", "p", "n3")}, PROGRAM)[0]
    assert report.strategy == Toy.name
    assert str(report).startswith("toy / strategy: 1 explicit fact removed")
    assert StrategyName.names()["toy---strategy"] == Toy.name


def test_an_optimiser_pass_is_used_and_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """By reasoning, and in EXPLAIN."""
    plans = [run(FACTS, PROGRAM).explain_plan()]
    monkeypatch.setattr(passes, "PASSES", (*passes.PASSES, last_join_first))
    result = run(FACTS, PROGRAM)
    plans.append(result.explain_plan())
    assert found(result) == naive.closure(FACTS, PROGRAM)[0]
    steps = [
        next(rule["plans"][0]["steps"] for rule in plan["plans"] if rule["rule"] == "composed")
        for plan in plans
    ]
    assert steps[1] == [steps[0][1], steps[0][0], *steps[0][2:]]


@pytest.mark.parametrize("is_prepared", [False, True])
def test_a_pass_of_queries_is_used_and_seen(is_prepared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By queries, of texts and prepared by rdflib, and in EXPLAIN."""
    store = CorollaryStore(rules=PROGRAM)
    graph = Graph(store)
    graph.update(f"PREFIX : <{EX}> INSERT DATA {{ :n0 :p :n1 . :n1 :p :n2 }}")
    shown, answers = [], []
    for name in ("?before", "?after"):  # plans are cached by the text
        text = f"SELECT ?z {{ {{ {name} <{EX}r> ?z }} UNION {{ {name} <{EX}p> ?z }} }}"
        query = prepareQuery(text) if is_prepared else text
        steps = store.explain_query(query).as_dict()["inputs"][0]["inputs"][0]["inputs"]
        shown.append([step["inputs"][0]["operator"] for step in steps])
        answers.append([str(term) for row in graph.query(query).bindings for term in row.values()])
        monkeypatch.setattr(query_passes, "PASSES", (*query_passes.PASSES, right_branch_first))
    assert shown[1] == [line.replace("?before", "?after") for line in reversed(shown[0])]
    assert sorted(answers[0]) == sorted(answers[1])
    assert answers[0] != answers[1]
