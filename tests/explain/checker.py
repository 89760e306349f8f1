"""Checks proofs step by step, by substitution: shares nothing with the search but the rules as data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from tests.engine import Fact, facts_of
from tests.oracles.expressions import evaluate, is_true
from tests.oracles.naive import Binding, Facts, groups, solutions, solve, substitute

from corollary.evaluate import MaterialisedView
from corollary.explain import FALSE, Application, Given, Meaning, Proof, Reading, Step
from corollary.language import (
    IRI,
    RDF,
    Aggregate,
    Bind,
    Builtin,
    Constant,
    Filter,
    Not,
    Program,
    Triple,
    Variable,
    constant_text,
    parse_constant,
)
from corollary.language.list_patterns import has_list_pattern, unroll
from corollary.program.compile import is_virtual

FIRST, REST, NIL = (IRI(RDF + name) for name in ("first", "rest", "nil"))
Ids = tuple[int, int, int]


class Checker:
    """Checks proofs over one materialisation."""

    def __init__(self, result: MaterialisedView) -> None:
        self._result = result
        self.facts = Facts(facts_of(result.index.columns(legal=False), result.dictionary), {})
        self.explicit = facts_of(result.explicit.columns(legal=False), result.dictionary)

    def check(self, proof: Proof, goal: Ids) -> None:
        """AssertionError for a step that is wrong, missing or of no use."""
        assert proof.conclusion.fact == goal
        assert not isinstance(proof.conclusion.reason, Given)
        facts = [step.fact for step in proof.steps]
        assert len(set(facts)) == len(facts), "a fact is proved twice"
        used = {number for step in proof.steps for number in step.premises}
        assert used == set(range(len(proof.steps) - 1)), "a step is of no use"
        for number, step in enumerate(proof.steps):
            assert all(premise < number for premise in step.premises), "circular"
            self._check_step(step, [proof.steps[premise].fact for premise in step.premises])

    def _check_step(self, step: Step, premises: list[Ids]) -> None:
        match step.reason:
            case Given():
                assert self.constants(step.fact) in self.explicit
                assert not premises
            case Meaning():
                assert self._is_virtual_fact(step.fact)
                assert not premises
            case Reading():
                self._check_reading(step, step.reason, premises)
            case Application(is_path=True):
                self._check_path(step, step.reason, premises)
            case Application():
                self._check_application(step, step.reason, premises)

    def _check_application(self, step: Step, reason: Application, premises: list[Ids]) -> None:
        rule = reason.rule.source
        assert is_rule_of(self._result.program, reason)
        values = {Variable(name): term for name, term in reason.bindings.items()}
        binding = {v: parse_constant(self._decode(t)) for v, t in values.items() if not is_virtual(t)}
        if step.fact != FALSE:
            heads = [tuple(substitute(term, binding) for term in head.terms) for head in rule.heads]
            assert self.constants(step.fact) in heads
        else:
            assert not rule.heads
        read: list[Ids] = []
        for element in rule.body:
            match element:
                case Triple():
                    read.append(self._ids(tuple(substitute(term, binding) for term in element.terms)))
                case Builtin(name, (first, second)):
                    read.append(
                        (self._id(first, values), self._id(element, values), self._id(second, values))
                    )
                    assert name == self._decode(read[-1][1])
                case Not(atoms):
                    assert not any(True for _ in solve(atoms, self.facts, binding, set()))
                case Filter(expression):
                    assert is_true(expression, binding)
                case Bind(expression, variable):
                    assert evaluate(expression, binding) == binding[variable]
                case Aggregate():
                    self._check_aggregate(element, reason, binding, read)
        assert set(read) == set(premises)
        assert all(map(self._holds, premises))

    def _check_aggregate(
        self, element: Aggregate, reason: Application, binding: Binding, read: list[Ids]
    ) -> None:
        group = next(group for group in reason.groups if group.element == element)
        names = (*element.group, *(wanted.variable for wanted in element.bindings))
        assert {name: binding[name] for name in names} in list(groups(element, self.facts))
        known = {name: binding[name] for name in element.group}
        rows = list(solve(element.body, self.facts, known, set()))
        assert group.count == len(rows)
        assert len(group.shown) == min(len(rows), 10)
        triples = [atom for atom in element.body if isinstance(atom, Triple)]
        bodies = [{tuple(substitute(t, row) for t in atom.terms) for atom in triples} for row in rows]
        for facts in group.shown:
            assert {self.constants(fact) for fact in facts} in bodies
            read += facts

    def _check_path(self, step: Step, reason: Application, premises: list[Ids]) -> None:
        rule = reason.rule
        assert is_rule_of(self._result.program, reason)
        edges = [rule.source.body[i] for i in rule.data]
        (head,) = rule.source.heads
        assert len(edges) == 2 and isinstance(edges[0], Triple) and isinstance(edges[1], Triple)
        first, second = edges if edges[0].subject == head.subject else edges[::-1]
        assert isinstance(first, Triple) and isinstance(second, Triple)
        assert first.predicate == second.predicate == head.predicate
        assert (first.subject, second.object, first.object) == (head.subject, head.object, second.subject)
        guards = [reason.fact(rule.atoms[i]) for i in sorted(rule.guards)]
        assert set(premises[: len(set(guards))]) == set(guards)
        path = premises[len(set(guards)) :]
        assert len(path) >= 2
        assert reason.fact(rule.heads[0]) == step.fact
        nodes = [path[0][0], *(edge[2] for edge in path)]
        assert (nodes[0], nodes[-1]) == (step.fact[0], step.fact[2])
        assert all(edge[0] == node for edge, node in zip(path, nodes, strict=False))
        assert all(edge[1] == step.fact[1] for edge in path)
        for end in nodes[2:]:
            ends = {head.subject: self._constant(nodes[0]), head.object: self._constant(end)}
            binding = {v: value for v, value in ends.items() if isinstance(v, Variable)}
            assert all(is_true(e.expression, binding) for e in rule.source.body if isinstance(e, Filter))
        assert all(map(self._holds, premises))

    def _check_reading(self, step: Step, reason: Reading, premises: list[Ids]) -> None:
        """The premises are a list of the facts' own cells, which says what the fact says."""
        assert self._is_virtual_fact(step.fact)
        subject, predicate, value = step.fact
        name, _, number = self._decode(predicate).partition("_")
        triples = {self.constants(fact) for fact in premises}
        assert all(map(self._holds, premises))
        if name == "ITEM":
            assert triples == {
                (self._constant(reason.cells[0]), FIRST, self._constant(value)),
            }
            return
        assert reason.list == subject == reason.cells[0]
        cells: list[Constant] = [*map(self._constant, reason.cells), NIL]
        items = [self._constant(item) for item in reason.items]
        wanted = {
            *zip(cells, [FIRST] * len(items), items, strict=False),
            *zip(cells, [REST] * len(items), cells[1:], strict=False),
        }
        assert triples == wanted
        if name == "LIST":
            assert int(number) == len(items)
        else:
            assert items.count(self._constant(value)) >= (2 if name == "REPEATED" else 1)

    def _holds(self, fact: Ids) -> bool:
        return self._is_virtual_fact(fact) if is_virtual(fact[1]) else self.constants(fact) in self.facts.all

    def _is_virtual_fact(self, fact: Ids) -> bool:
        """Whether a virtual fact holds; LIST_n and ITEM_i are not derived for long lists."""
        subject, predicate, value = fact
        name, _, number = self._decode(predicate).partition("_")
        relation, encode = self._result.index.relation, self._result.dictionary.encode
        if name == "LIST":
            return relation(encode("READING")).has(subject, value) and len(self._result.cells[value]) == int(
                number
            )
        if name == "ITEM":
            cell = self._result.cells[subject][int(number) - 1]
            return relation(encode("CELL")).has(subject, cell) and relation(encode(constant_text(FIRST))).has(
                cell, value
            )
        return relation(predicate).has(subject, value)

    def _id(self, term: object, values: dict[Variable, int]) -> int:
        if isinstance(term, Variable):
            return values[term]
        text = term.name if isinstance(term, Builtin) else None
        return self._result.dictionary.encode(text) if text else self._ids((term, term, term))[0]

    def _ids(self, terms: Iterable[object]) -> Ids:
        s, p, o = (self._result.dictionary.encode(constant_text(term)) for term in terms)  # type: ignore[arg-type]
        return s, p, o

    def constants(self, fact: Ids) -> Fact:
        """The terms of a fact."""
        s, p, o = map(self._constant, fact)
        return s, p, o

    def _constant(self, term: int) -> Constant:
        return parse_constant(self._decode(term))

    def _decode(self, term: int) -> str:
        return self._result.dictionary.decode(term)


def is_rule_of(program: Program, reason: Application) -> bool:
    """Whether the rule is one of the program, or one of its list rules for lists of some length."""
    rule = reason.rule.source
    if rule in program.rules:
        return True
    lengths = [
        int(element.name.removeprefix("LIST_"))
        for element in rule.body
        if isinstance(element, Builtin) and element.name.startswith("LIST_")
    ]
    return any(
        unroll(template, length) == rule
        for template in program
        if has_list_pattern(template)
        for length in lengths
    )


def cost(proof: Proof) -> int:
    """How many rules the proof has as a tree: those for a fact used twice count twice."""
    costs: list[int] = []
    for step in proof.steps:
        costs.append(isinstance(step.reason, Application) + sum(costs[i] for i in step.premises))
    return costs[-1]


def least_costs(explicit: Iterable[Fact], closure: Iterable[Fact], program: Program) -> dict[Fact, int]:
    """The least cost of any proof of each fact, by going over all instances until nothing gets better."""
    facts = Facts(closure, {})
    instances: list[tuple[Fact, set[Fact]]] = []
    for rule in program:
        for binding in solutions(rule, facts):
            premises = {ground(atom, binding) for atom in rule.body if isinstance(atom, Triple)}
            instances += [(ground(head, binding), premises) for head in rule.heads]
    costs: dict[Fact, int] = dict.fromkeys(explicit, 0)
    while True:
        before = dict(costs)
        for head, premises in instances:
            if premises <= costs.keys():
                total = 1 + sum(costs[premise] for premise in premises)
                costs[head] = min(costs.get(head, total), total)
        if costs == before:
            return costs


def ground(atom: Triple, binding: Binding) -> Fact:
    """An atom with the binding put in."""
    s, p, o = (substitute(term, binding) for term in atom.terms)
    assert not any(isinstance(term, Variable) for term in (s, p, o))
    return cast("Fact", (s, p, o))
