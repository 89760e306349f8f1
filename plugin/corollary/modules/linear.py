"""The linear closure module: a relation that a rule extends along the edges of another one.

It takes one rule of either form, for constant T and E:

    T[?x, ?z] :- T[?x, ?y], E[?y, ?z]      T[?x, ?z] :- E[?x, ?y], T[?y, ?z]

``T[?x, ?y] :- E[?x, ?y]`` mostly stands beside it and is a rule like any other: what it derives are facts
of T from outside, T0. Semi-naive evaluation would follow the edges step by step; here T is at once what T0
leads to over paths of edges. For every x that T0 relates to just what E does, that is the row of x in the
closure of E; for the others T0 makes edges from nodes of their own, and the same closure has their rows.
What the module derived itself is never looked at again (Hu, Motik, Horrocks, Modular Materialisation of
Datalog Programs, 2019, section 5: external against internal facts). The second form is the first one with
both relations turned round, and inside the module it is looked at that way.

When facts of T0 or edges come or go, only the rows are looked at that they are part of. Facts that other
rules derived may depend on what is derived from them: so a fact stays on account of these only if they are
certain.

Invariant: T is what ``_external`` leads to over ``_edges``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from corollary.closure.reachability import close_from, close_keys, edges_beyond, nodes_met, pairs_on_paths
from corollary.columns.delta import Candidates
from corollary.columns.pairs import (
    NO_KEYS,
    Pairs,
    among,
    difference,
    distinct,
    distinct_of_sorted,
    firsts,
    intersection,
    pack,
    seconds,
    sort_keys,
    sorted_unique,
    swap,
    union,
)
from corollary.columns.relation import EMPTY, Relation
from corollary.columns.triples import FIRST_VIRTUAL, TripleIndex
from corollary.execute.context import ExecutionContext
from corollary.kernels.sorted import Column, Keys, Rows
from corollary.modules.module import Module
from corollary.modules.rule_set import RuleSet
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import LinearShape, copied_predicates, linear_shape

NO_SHAPE = LinearShape(-1, -1, is_inverse=False)


class Linear(Module):
    """One linear rule; the relation that it closes is closed by no other module."""

    name = "linear closure"
    why = "a relation composed with another one at one end: closed as a graph"
    turn = 70
    has_one_rule = True

    def __init__(self, rdf_type: int) -> None:
        self.rules: list[CompiledRule] = []
        self._shape = NO_SHAPE
        self._is_based = False  # whether another rule copies the edges into the closed relation
        self._rdf_type = rdf_type
        self._external = EMPTY
        self._edges = EMPTY
        self._deleted = NO_KEYS
        self._deleted_edges = NO_KEYS
        self._doubtful = NO_KEYS
        self._waiting = True

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        """The first linear rule of every relation that no rule closes transitively."""
        taken = set(rules.closed)
        for rule in offered:
            shape = rules.recognised(linear_shape, rule, rules.rdf_type)
            if shape is not None and shape.closed not in taken:
                taken.add(shape.closed)
                yield rule

    @classmethod
    def minds(cls, rule: CompiledRule, rules: RuleSet) -> bool:
        """Whether it is linear, or copies what a linear rule may start from."""
        is_linear = rules.recognised(linear_shape, rule, rules.rdf_type) is not None
        return is_linear or rules.recognised(copied_predicates, rule) is not None

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> Linear:
        """Without its rule."""
        return cls(program.rdf_type)

    def add_rule(self, rule: CompiledRule) -> None:
        """Take in its rule."""
        shape = linear_shape(rule, self._rdf_type)
        assert shape is not None and not self.rules
        self.rules = [rule]
        self._shape = shape

    def review(self, rules: RuleSet) -> None:
        """See whether the edges are copied into the closed relation."""
        self._is_based = (self._shape.edges, self._shape.closed) in rules.copied

    def remove_rules(self, numbers: Collection[int], facts: TripleIndex) -> Candidates:
        """Let go of its rule, if it is among them; all facts of the closed relation then."""
        if not any(rule.number in numbers for rule in self.rules):
            return {}
        self.rules = []
        return {self._shape.closed: [facts.relation(self._shape.closed).pairs().keys]}

    @property
    def is_waiting(self) -> bool:
        """Whether the rule was not applied yet."""
        return self._waiting

    def reads(self, predicate: int) -> bool:
        """Whether facts of that predicate can make a difference."""
        return predicate in (self._shape.closed, self._shape.edges)

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """Of its own conclusions those come back to it that are from outside too, when they go."""
        external = self._facing(self._external)
        if len(new) < len(external):
            return Pairs(external.common(new.keys))
        return Pairs(intersection(external.pairs().keys, new.keys))

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Candidates:
        """The rows of the closed relation that need a recent fact."""
        before = self._edges
        closed, self._edges = self._both(facts)
        if self._waiting:
            self._waiting, self._external = False, closed
            return {self._shape.closed: [self._close()]}
        seeds, edges = (relation.pairs().keys for relation in self._both(recent))
        self._external = self._external.plus(seeds)
        if 2 * (seeds.size + edges.size) > len(self._external) + len(self._edges):
            return {self._shape.closed: [self._close()]}
        if (edges := _without_detour(edges, before)).size:
            rows, sources = closed.subjects_of(firsts(edges))
            longer = sorted_unique(pack(sources, seconds(edges)[rows]))
            seeds = union(seeds, longer[~closed.contains(longer)])
        return self._told(_followed(seeds, self._edges))

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Candidates:
        """What sources with a gone fact or edge on their ways do not reach over certain ones."""
        deleted_facts, deleted_edges = (relation.pairs().keys for relation in self._both(deleted))
        deleted_facts = self._external.common(deleted_facts)
        self._deleted, self._deleted_edges = (
            union(self._deleted, deleted_facts),
            union(self._deleted_edges, deleted_edges),
        )
        proved_closed, proved_edges = self._both(proved)
        cut = _without_detour(deleted_edges, proved_edges)
        before = nodes_met(self._edges, firsts(cut), backward=True)
        sources = distinct(np.concatenate((firsts(deleted_facts), self._external.subjects_of(before)[1])))
        if not sources.size:
            return {}
        rows = self._both(facts)[0].starting(sources)
        seeds = self._external.minus(self._deleted).starting(sources)
        edges = self._edges.minus(self._deleted_edges)
        lost = difference(rows, _led_to(rows, seeds, edges))
        self._doubtful = union(self._doubtful, lost)
        proved_seeds = proved_closed.starting(sources)
        if self._is_based:
            proved_seeds = union(proved_seeds, proved_edges.starting(sources))
        if (
            difference(seeds, proved_seeds).size
            or not proved_edges.contains(edges_beyond(edges, distinct(seconds(seeds)))).all()
        ):
            lost = difference(rows, _led_to(rows, proved_seeds, proved_edges))
        return self._told(lost)

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """The wanted facts that ``facts`` prove, if any of the recent ones has to do with them."""
        return self.rederive(wanted, facts) if any(map(len, self._both(recent))) else {}

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """The candidates that ``facts`` of the closed relation lead to."""
        wanted = self._both(candidates)[0].pairs()
        if not len(wanted):
            return {}
        closed, edges = self._both(facts)
        known = closed.starting(wanted.distinct_firsts())
        asked = union(known, wanted.keys)
        found = _led_to(asked, self._external.common(known), edges)
        beyond = difference(known, found)  # mostly none: the others follow from those from outside
        if beyond.size:
            found = union(found, _led_to(asked, beyond, edges))
        return self._told(intersection(wanted.keys, found))

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """What the candidates' sources have from outside, the edges on the ways from there, the last steps.

        What other facts of these sources follow from may be gone while they have other proofs: so they are
        premises too, all of them if they are few, else those one edge before a candidate.
        """
        wanted = self._both(candidates)[0].pairs()
        if not len(wanted):
            return {}
        closed, edges = self._both(facts)
        sources = wanted.distinct_firsts()
        seeds = self._external.starting(sources)
        near = edges.common(edges_beyond(self._edges, distinct(seconds(seeds))))
        if int(closed.subject_counts(sources).sum()) <= near.size:
            steps = closed.starting(sources)
        else:
            rows, before = edges.subjects_of(seconds(wanted.keys))
            steps = closed.common(pack(firsts(wanted.keys)[rows], before))
        return self._told(np.concatenate((closed.common(seeds), steps))) | self._told(near, self._shape.edges)

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """Let go of what is gone; facts that no path explains any more are from outside now."""
        closed, self._edges = self._both(facts)
        self._external = self._external.minus(self._both(deleted)[0].pairs().keys)
        doubtful = closed.common(self._doubtful)
        if doubtful.size:
            seeds = self._external.starting(distinct_of_sorted(firsts(doubtful)))
            self._external = self._external.plus(difference(doubtful, _led_to(doubtful, seeds, self._edges)))
        self._deleted = self._deleted_edges = self._doubtful = NO_KEYS

    def _close(self) -> Keys:
        """All that follows, as facts, sorted."""
        edges = self._facing(self._edges).pairs().keys
        seeds = self._facing(self._external).pairs().keys
        if difference(edges, seeds).size:
            paths, rest = NO_KEYS, self._external.pairs().keys
        else:  # a closure is the same whichever way round: this one comes in the order of facts
            paths, rest = (
                close_keys(edges, edges),
                self._external.minus(self._edges.pairs().keys).pairs().keys,
            )
        (others,) = self._told(_followed(rest, self._edges))[self._shape.closed]
        return union(paths, sort_keys(others) if self._shape.is_inverse else others)

    def _both(self, facts: TripleIndex) -> tuple[Relation, Relation]:
        """The closed relation and the edges, such that edges go on from the former's objects."""
        closed, edges = facts.relation(self._shape.closed), facts.relation(self._shape.edges)
        return self._facing(closed), self._facing(edges)

    def _facing(self, relation: Relation) -> Relation:
        return relation.inverse() if self._shape.is_inverse else relation

    def _told(self, keys: Keys, predicate: int | None = None) -> Candidates:
        """Facts of the closed relation, or of another, as they are outside of the module."""
        predicate = self._shape.closed if predicate is None else predicate
        return {predicate: [swap(keys) if self._shape.is_inverse else keys]}


def _followed(seeds: Keys, edges: Relation) -> Keys:
    """All (x, z) such that a path of edges, maybe of none, leads from y to z for a seed (x, y), sorted."""
    starts, graph = _rooted(seeds, edges)
    paths = close_from(graph, np.arange(FIRST_VIRTUAL, FIRST_VIRTUAL + starts.size, dtype=np.uint32))
    return pack(starts[firsts(paths) - FIRST_VIRTUAL], seconds(paths))


def _led_to(pairs: Keys, seeds: Keys, edges: Relation) -> Keys:
    """Those of some pairs (sorted) that ``_followed`` would find."""
    starts, graph = _rooted(seeds, edges)
    sources, rank = _ranked(firsts(pairs))
    root = np.searchsorted(starts, sources)
    asked = among(sources, starts)[rank]
    pairs, root = pairs[asked], root[rank[asked]]
    found = pairs_on_paths(pack((root + FIRST_VIRTUAL).astype(np.uint32), seconds(pairs)), graph)
    return pack(starts[firsts(found) - FIRST_VIRTUAL], seconds(found))


def _rooted(seeds: Keys, edges: Relation) -> tuple[Column, Relation]:
    """The first halves of seeds (sorted), and the graph with a node more for each: its edges are the seeds.

    The number of a term is never ``FIRST_VIRTUAL`` or above: from there on these nodes are numbered.
    """
    starts, rank = _ranked(firsts(seeds))
    roots = pack((rank + FIRST_VIRTUAL).astype(np.uint32), seconds(seeds))
    return starts, edges.plus_new(Pairs(roots))


def _ranked(column: Column) -> tuple[Column, Rows]:
    """The distinct values of an ascending column, and the rank of each value among them."""
    fresh = np.ones(column.size, np.bool_)
    np.not_equal(column[1:], column[:-1], out=fresh[1:])
    return column[fresh], np.cumsum(fresh) - 1


def _without_detour(edges: Keys, others: Relation) -> Keys:
    """The edges (sorted) whose ends no path over the others joins: all that make a difference beside them."""
    return difference(edges, pairs_on_paths(edges, others))
