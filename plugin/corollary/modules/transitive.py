"""The transitive closure module: relations that a rule closes under composition.

It takes the rules

    R[?x, ?z] :- R[?x, ?y], R[?y, ?z]       R[?y, ?x] :- R[?x, ?y]

for a constant R (``scm-sco``, or one a user wrote), the second only beside the first, and the first for
a property bound by guards (``prp-trp``), or with ``FILTER(?x != ?z)`` for a constant R. Semi-naive evaluation
would consider every way to split every path; here the facts that came from outside are closed as a graph,
and what the module derived itself is never looked at again (Hu, Motik, Horrocks, Modular Materialisation of
Datalog Programs, 2019, section 5: external against internal facts). A symmetric relation is the same with
every edge both ways: its strong components are the cliques of their section 6.

When edges come or go, only the part of the graph is looked at that leads to them or is reached from there,
and the facts are handed on that appear or vanish. An edge that other rules derived may depend on a fact
that it leads to. So where an edge goes, those edges nearby that are not certain are handed on too: facts
that paths over them join stay if all these edges turn out to have proofs, and else they are looked at again.

A fact that is derived here and by other rules too is no edge, until no path over edges explains it any more.
Then what it leads to may have gone already, and is derived once more.

Under the filter a shortest path is composed from its edges as without it: its nodes are different, and so are
the ends of all that it is made of. What the rules derive is then the closure but for R[?x, ?x]. This holds as
long as ``!=`` tells terms apart: ``ModuleRejectsRule`` is raised if a literal becomes a subject of R.

Invariant: the closure of ``_external[R]`` (and its mirror image, if R is symmetric) is R, but for R[?x, ?x]
if only rules with the filter close R.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from functools import reduce

import numpy as np

from corollary.closure.reachability import (
    Part,
    close_keys,
    closure_difference,
    edges_beyond,
    nodes_met,
    pairs_on_paths,
)
from corollary.columns.delta import Candidates
from corollary.columns.pairs import (
    NO_KEYS,
    Pairs,
    contains,
    difference,
    distinct,
    distinct_of_sorted,
    firsts,
    pack,
    seconds,
    sorted_unique,
    swap,
    union,
)
from corollary.columns.relation import Relation
from corollary.columns.triples import TripleIndex
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import family_rows
from corollary.kernels.limits import at
from corollary.kernels.sorted import Column, Keys
from corollary.language import Rule
from corollary.modules.guards import Guards
from corollary.modules.module import Module, ModuleRejectsRule
from corollary.modules.rule_set import RuleSet
from corollary.modules.semi_naive import SemiNaive
from corollary.program.compile import Atom, CompiledRule
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import closed_predicate, loopless_predicate, symmetric_predicate
from corollary.terms.dictionary import FIRST_LITERAL

FEW_EDGES = 4
"""So many new edges are joined with what reaches them."""

FEW_PARTS = 32
"""With more than one new edge in so many the graph is closed anew."""


LOOPS = "a relation that rules close but for loops has some, or literals for subjects"


def _closing(rule: CompiledRule, rules: RuleSet) -> int | None:
    """The predicate that a rule closes, but for loops or with them."""
    closed = rules.recognised(closed_predicate, rule)
    return rules.recognised(loopless_predicate, rule) if closed is None else closed


class Transitive(Module):
    """All transitivity rules of a program; each of their predicates is closed by itself."""

    name = "transitive closure"
    why = "a relation composed with itself, or turned round beside that: closed as a graph"
    turn = 30
    derives_schema = True

    def __init__(self, context: ExecutionContext, rdf_type: int) -> None:
        self.rules: list[CompiledRule] = []
        self._predicates: list[int] = []
        self._constants: frozenset[int] = frozenset()
        self._symmetric: set[int] = set()
        self._loopless: set[int] = set()
        self._context = context
        self._guards = Guards(rdf_type)
        self._by_guards = SemiNaive("transitivity by its guards", context)
        self._rdf_type = rdf_type
        self._external: dict[int, Relation] = {}
        self._deleted: dict[int, Keys] = {}
        self._doubtful: dict[int, Keys] = {}
        self._restored: dict[int, Keys] = {}
        self._unclosed: set[int] = set()  # until the next turn their edges are followed as they were
        self._waiting = False

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        """Rules that close a relation, and those that mirror one that is closed by another rule."""
        closing = [rule for rule in offered if _closing(rule, rules) is not None]
        closed = {_closing(rule, rules) for rule in closing}
        return [
            *closing,
            *(r for r in offered if rules.recognised(symmetric_predicate, r) in closed - {None}),
        ]

    @classmethod
    def minds(cls, rule: CompiledRule, rules: RuleSet) -> bool:
        """Whether it closes or mirrors a relation."""
        return _closing(rule, rules) is not None or rules.recognised(symmetric_predicate, rule) is not None

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> Transitive:
        """Without rules."""
        return cls(context, program.rdf_type)

    def add_rule(self, rule: CompiledRule) -> None:
        """Take in a rule that closes, or mirrors, a relation."""
        closed, symmetric = closed_predicate(rule), symmetric_predicate(rule)
        predicate = loopless_predicate(rule) if closed is None else closed
        if predicate is not None:
            self._add_closing(rule, predicate)
        elif symmetric is not None:
            self._add_symmetry(rule, symmetric)

    def _add_closing(self, rule: CompiledRule, predicate: int) -> None:
        """Take in a rule that closes that predicate."""
        if rule.conditions:  # it closes but for loops
            others = zip(self.rules, self._predicates, strict=True)
            if not any(p == predicate and len(r.data) == 2 and not r.conditions for r, p in others):
                self._loopless.add(predicate)
        elif predicate in self._loopless:  # the loops are to come
            self._loopless.remove(predicate)
            self._unclosed.add(predicate)
        self.rules.append(rule)
        self._predicates.append(predicate)
        self._constants |= {predicate}
        self._guards.add(rule)
        guards = tuple(rule.atoms[i] for i in sorted(rule.guards))
        marked = Atom(predicate, self._rdf_type, predicate)
        if guards:
            self._by_guards.add_rule(replace(rule, atoms=guards, guards=frozenset(), heads=(marked,)))
        self._waiting = True

    def _add_symmetry(self, rule: CompiledRule, predicate: int) -> None:
        """Take in a rule that makes a constant predicate symmetric; another rule closes it."""
        self.rules.append(rule)
        self._predicates.append(predicate)
        self._constants |= {predicate}
        self._symmetric.add(predicate)
        self._unclosed.add(predicate)
        self._waiting = True

    def remove_rules(self, numbers: Collection[int], facts: TripleIndex) -> Candidates:
        """Let go of rules; all facts of the predicates that were closed or symmetric by these alone."""
        affected = set()
        for rule in self.rules:
            if rule.number in numbers:
                affected.update(self._remove_rule(rule.number, facts))
        return {predicate: [facts.relation(predicate).pairs().keys] for predicate in sorted(affected)}

    def _remove_rule(self, number: int, facts: TripleIndex) -> list[int]:
        """Let go of a rule; the predicates that were closed or symmetric by it alone."""
        closed, symmetric, loopless = self._external.keys(), self._symmetric, self._loopless
        kept = [(r, p) for r, p in zip(self.rules, self._predicates, strict=True) if r.number != number]
        self.rules, self._predicates = [rule for rule, _ in kept], [predicate for _, predicate in kept]
        self._constants = frozenset(self._predicates)
        self._symmetric = {p for rule, p in kept if symmetric_predicate(rule) is not None}
        self._loopless = self._without_loops()
        self._by_guards.drop_rules({number})
        self._guards = Guards(self._rdf_type)
        for rule in self.rules:
            self._guards.add(rule)
        rows = set(self._rows(facts))
        affected = closed & ((closed - rows) | (symmetric - self._symmetric) | (self._loopless - loopless))
        for predicate in affected:
            del self._external[predicate]
            if predicate in rows:
                self._external[predicate] = facts.relation(predicate)
        return sorted(affected)

    @property
    def closed_by_facts(self) -> Set[int]:
        """The predicates that are closed by guards."""
        return self._external.keys() - self._constants

    @property
    def is_waiting(self) -> bool:
        """Whether there are rules, or edges, that were not applied yet."""
        return self._waiting or bool(self._restored)

    def reads(self, predicate: int) -> bool:
        """Whether facts of that predicate can make a difference."""
        return (
            predicate in self._external or predicate in self._guards.predicates or predicate == self._rdf_type
        )

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """The guards among its own conclusions come back to it, and edges from outside that go with them."""
        own = self._guards.part_of(predicate, new)
        if predicate in self._external:
            own = own.plus(Pairs(self._external[predicate].common(new.keys)))
        return own

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Candidates:
        """The closures' facts that need a recent one."""
        candidates: Candidates = {}
        for predicate, edges in self._restored.items():
            external, starts = self._external[predicate], self._ends(predicate, edges)
            symmetric = predicate in self._symmetric
            paths = closure_difference(external, external.minus(edges), starts, symmetric=symmetric)
            candidates[predicate] = [self._told(predicate, paths)]
        self._restored.clear()
        known = [predicate for predicate in self._external if predicate not in self._unclosed]
        if self._waiting or self._guards.are_among(recent):
            self._waiting = False
            for predicate in self._rows(facts):
                if predicate not in known:
                    external = facts.relation(predicate)
                    if predicate in self._external:  # the rest follows from these
                        new = recent.relation(predicate).pairs().keys
                        external = self._external[predicate].plus(new)
                    self._external[predicate] = external
                    self._refuse_literals(predicate, external.pairs().keys)
                    candidates[predicate] = [self._told(predicate, self._close(predicate))]
            self._unclosed.clear()
        for predicate in known:
            new = recent.relation(predicate).pairs().keys
            if new.size:
                self._refuse_literals(predicate, new)
                restored = candidates.get(predicate, [])  # paths that are not among the facts yet
                closure = reduce(Relation.plus, restored, facts.relation(predicate))
                longer = self._extend(predicate, new, closure)
                candidates.setdefault(predicate, []).append(self._told(predicate, longer))
        return candidates

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Candidates:
        """What paths lose by gone edges, and the edges on the other paths there; all, if a guard went."""
        candidates: Candidates = {}
        dropped: set[int] = set()
        if self._guards.are_among(deleted):
            for keys in self._by_guards.overdelete(facts, deleted, proved).get(self._rdf_type, ()):
                dropped.update(firsts(keys).tolist())
        for predicate in dropped:
            self._doubtful[predicate] = facts.relation(predicate).pairs().keys
            candidates[predicate] = [self._doubtful[predicate]]
        for predicate in self._external.keys() - dropped:
            deleted_edges = self._external[predicate].common(deleted.relation(predicate).pairs().keys)
            if deleted_edges.size:
                self._deleted[predicate] = union(deleted_edges, self._deleted.get(predicate, NO_KEYS))
                lost = self._lost(predicate, proved.relation(predicate))
                candidates[predicate] = [self._told(predicate, lost)]
        return candidates

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """The wanted facts of relations with a recent fact that ``facts`` prove."""
        parts = {p: wanted.relation(p) for p in self._external if len(recent.relation(p))}
        return self.rederive(TripleIndex(parts), facts)

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """The candidates that paths over ``facts`` lead to; guards are taken for settled."""
        derived: Candidates = {}
        for predicate in self._closed_among(candidates):
            keys = candidates.relation(predicate).pairs().keys
            edges, external = facts.relation(predicate), self._external[predicate]
            lost = self._doubtful.get(predicate, NO_KEYS)
            if not edges.contains(lost).any():
                keys = difference(keys, lost)  # without one of them no path leads to another
            if not keys.size:
                continue
            if len(external) < len(edges):
                sources = distinct_of_sorted(firsts(keys))
                if edges.contains(self._beyond(predicate, sources, external)).all():
                    edges = external  # what is there beside the edges follows from them
            derived[predicate] = [self._told(predicate, self._on_paths(predicate, keys, edges))]
        return derived

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """The edges from outside on the ways from the candidates' subjects."""
        read: Candidates = {}
        for predicate in self._closed_among(candidates):
            keys = candidates.relation(predicate).pairs().keys
            lost = self._doubtful.get(predicate, NO_KEYS)
            if contains(keys, lost).all():
                keys = difference(keys, lost)  # proofs of these start from another of them
            sources = distinct_of_sorted(firsts(keys))
            read[predicate] = [self._beyond(predicate, sources, self._external[predicate])]
        return read

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """Let go of the edges that are gone; facts that no path explains any more are edges now."""
        rows = set(self._rows(facts)) if self._guards.are_among(deleted) else set(self._external)
        for predicate in list(self._external):
            if predicate not in rows:
                del self._external[predicate]
                self._restored.pop(predicate, None)
                continue
            external = self._external[predicate].minus(deleted.relation(predicate).pairs().keys)
            doubtful = self._doubtful.get(predicate, NO_KEYS)
            doubtful = difference(doubtful, deleted.relation(predicate).pairs().keys)
            doubtful = facts.relation(predicate).common(doubtful)  # new rules may have made paths of no facts
            edges = difference(doubtful, self._on_paths(predicate, doubtful, external))
            if edges.size:
                self._restored[predicate] = union(edges, self._restored.get(predicate, NO_KEYS))
                external = external.plus(edges)
            self._external[predicate] = external
        self._deleted.clear()
        self._doubtful.clear()

    def _closed_among(self, candidates: TripleIndex) -> Iterator[int]:
        return (p for p in candidates.all_predicates() if p in self._external)

    def _close(self, predicate: int) -> Keys:
        """The closure of the edges from outside, without these."""
        self._note(predicate)
        known = edges = self._external[predicate].pairs().keys
        if predicate in self._symmetric:
            edges = np.concatenate((edges, swap(edges)))
        return close_keys(edges, known)

    def _note(self, predicate: int) -> None:
        """Note what is at work."""
        at(f"{self.name} of {self._context.dictionary.decode(predicate)}")

    def _told(self, predicate: int, paths: Keys) -> Keys:
        """What the rules derive of some paths."""
        return paths[firsts(paths) != seconds(paths)] if predicate in self._loopless else paths

    def _without_loops(self) -> set[int]:
        """The predicates that only rules with a filter close."""
        closed = list(zip(self.rules, self._predicates, strict=True))
        loopless = {predicate for rule, predicate in closed if loopless_predicate(rule) is not None}
        return loopless - {predicate for rule, predicate in closed if closed_predicate(rule) is not None}

    def _refuse_literals(self, predicate: int, edges: Keys) -> None:
        """Raise ``ModuleRejectsRule`` if ``!=`` may find subjects alike that are different literals."""
        if predicate in self._loopless and edges.size:
            last = int(edges[-1]) >> 32
            if predicate in self._symmetric:
                last = max(last, int(seconds(edges).max()))
            if last >= FIRST_LITERAL:
                raise ModuleRejectsRule(self.name, self._rules_without_loops(predicate), LOOPS)

    def _rules_without_loops(self, predicate: int) -> frozenset[Rule]:
        return frozenset(rule.source for rule in self.rules if loopless_predicate(rule) == predicate)

    def _on_paths(self, predicate: int, pairs: Keys, edges: Relation) -> Keys:
        """Those of some pairs (sorted) that paths over edges of a predicate join."""
        return pairs_on_paths(pairs, edges, symmetric=predicate in self._symmetric)

    def _beyond(self, predicate: int, sources: Column, edges: Relation) -> Keys:
        """The edges that walks from sources go over."""
        return edges_beyond(edges, sources, symmetric=predicate in self._symmetric)

    def _lost(self, predicate: int, proved: Relation) -> Keys:
        """The paths that need an edge that is gone, and edges nearby that are not certain."""
        self._note(predicate)
        external, deleted = self._external[predicate], self._deleted[predicate]
        symmetric, starts = predicate in self._symmetric, self._ends(predicate, deleted)
        sources = nodes_met(external, starts, backward=True, symmetric=symmetric)
        before = Part.beyond(external, sources, symmetric=symmetric)
        staying = before.within(external.minus(deleted), symmetric=symmetric)
        lost = before.paths_lost(staying, sources)
        self._doubtful[predicate] = union(lost, self._doubtful.get(predicate, NO_KEYS))
        edges = external.common(sorted_unique(staying.edges))
        return union(lost, edges[~proved.contains(edges)])

    def _ends(self, predicate: int, edges: Keys) -> Column:
        """The ends of edges that paths may go on from."""
        starts = (
            np.concatenate((firsts(edges), seconds(edges))) if predicate in self._symmetric else firsts(edges)
        )
        return distinct(starts)

    def _rows(self, facts: TripleIndex) -> list[int]:
        """The predicates that the rules close, given the present schema."""
        found: dict[int, None] = {}
        for rule, predicate in zip(self.rules, self._predicates, strict=True):
            if symmetric_predicate(rule) is not None:
                continue  # another rule closes it
            if predicate >= 0:
                found[predicate] = None
                continue
            rows = family_rows(rule, facts, self._context)
            if rows.size:
                bound = dict.fromkeys(rows.column(predicate).tolist())
                for both in self._loopless.intersection(bound):
                    raise ModuleRejectsRule(self.name, self._rules_without_loops(both), LOOPS)
                found.update(bound)
        return list(found)

    def _extend(self, predicate: int, new: Keys, closure: Relation) -> Keys:
        self._note(predicate)
        before = self._external[predicate]
        self._external[predicate] = external = before.plus(new)
        if len(new) > FEW_EDGES:
            if FEW_PARTS * len(new) > len(external):
                return self._close(predicate)
            symmetric, starts = predicate in self._symmetric, self._ends(predicate, new)
            return closure_difference(external, before, starts, symmetric=symmetric)
        if predicate in self._symmetric:
            new = np.concatenate((new, swap(new)))
        paths = np.empty(0, np.uint64)
        for edge in new:
            closure = closure.plus(paths)
            paths = union(paths, _through(edge, closure))
        return paths


def _through(edge: np.uint64, closure: Relation) -> Keys:
    """All paths over one edge (u, v): from u and what reaches it to v and what it reaches."""
    ends = np.array([int(edge) >> 32, int(edge) & 0xFFFFFFFF], np.uint32)
    _, before = closure.subjects_of(ends[:1])
    _, after = closure.objects_of(ends[1:])
    before, after = np.append(before, ends[0]), np.append(after, ends[1])
    paths = pack(np.repeat(before, after.size), np.tile(after, before.size))
    return Pairs.of(paths).keys
