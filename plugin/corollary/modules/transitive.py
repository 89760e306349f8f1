"""The transitive closure module: relations that a rule closes under composition.

It takes the rules

    R[?x, ?z] :- R[?x, ?y], R[?y, ?z]

for a constant R (``scm-sco``, or one a user wrote) and for a property bound by guards
(``prp-trp``). Semi-naive evaluation would consider every way to split every path; here the facts
that came from outside are closed as a graph, and what the module derived itself is never looked at
again (Hu, Motik, Horrocks, Modular Materialisation of Datalog Programs, 2019, section 5: external
against internal facts).

Invariant: ``_external[R]`` holds every fact of R that this module did not derive first.
"""

from __future__ import annotations

import numpy as np

from corollary.algebra.execute import Candidates, family_rows
from corollary.index.closure import close_keys
from corollary.index.pairs import Pairs, pack, union
from corollary.index.relation import Relation
from corollary.index.triples import TripleIndex
from corollary.kernels.sorted import Keys
from corollary.modules.guards import Guards
from corollary.plan.compile import Atom, CompiledRule
from corollary.terms.dictionary import TermDictionary

FEW_EDGES = 4
"""So many new edges are joined with what reaches them; with more the graph is closed anew."""


def closed_predicate(rule: CompiledRule) -> int | None:
    """The predicate (an id, or a guard variable) that a rule closes transitively, or None."""
    if len(rule.heads) != 1 or len(rule.data) != 2 or rule.conditions or not rule.is_monotone:
        return None
    first, second = (rule.atoms[i] for i in rule.data)
    head = rule.heads[0]
    if first.s == second.o:
        first, second = second, first
    x, y, z = first.s, first.o, second.o
    if len({x, y, z}) < 3 or max(x, y, z) >= 0:
        return None
    guarded = rule.guarded
    if guarded & {x, y, z}:
        return None
    p = first.p
    if (first, second, head) != (Atom(x, p, y), Atom(y, p, z), Atom(x, p, z)):
        return None
    return p if p >= 0 or p in guarded else None


class Transitive:
    """All transitivity rules of a program; each of their predicates is closed by itself."""

    name = "transitive closure"

    def __init__(self, dictionary: TermDictionary, rdf_type: int) -> None:
        self.rules: list[CompiledRule] = []
        self._predicates: list[int] = []
        self._dictionary = dictionary
        self._guards = Guards(rdf_type)
        self._rdf_type = rdf_type
        self._external: dict[int, Keys] = {}
        self._waiting = False

    def add_rule(self, rule: CompiledRule, predicate: int) -> None:
        """Take in a rule that closes that predicate."""
        self.rules.append(rule)
        self._predicates.append(predicate)
        self._guards.add(rule)
        self._waiting = True

    @property
    def is_waiting(self) -> bool:
        """Whether there are rules that were not applied yet."""
        return self._waiting

    def reads(self, predicate: int) -> bool:
        """Whether facts of that predicate can make a difference."""
        return (
            predicate in self._external or predicate in self._guards.predicates or predicate == self._rdf_type
        )

    def predicates(self) -> list[int]:
        """The predicates that are closed at present."""
        return list(self._external)

    def returning(self, predicate: int, new: Pairs) -> Pairs:
        """The guards among its own conclusions come back to it: they may bring new instances."""
        return self._guards.part_of(predicate, new)

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Candidates:
        """The closures' facts that need a recent one."""
        candidates: Candidates = {}
        known = list(self._external)
        if self._waiting or self._guards.are_among(recent):
            self._waiting = False
            for predicate in self._rows(facts):
                if predicate not in self._external:
                    self._external[predicate] = facts.relation(predicate).pairs().keys
                    candidates[predicate] = [close_keys(self._external[predicate])]
        for predicate in known:
            new = recent.relation(predicate)
            if len(new):
                candidates[predicate] = [self._extend(predicate, new.pairs(), facts.relation(predicate))]
        return candidates

    def _rows(self, facts: TripleIndex) -> list[int]:
        """The predicates that the rules close, given the present schema."""
        found: dict[int, None] = {}
        for rule, predicate in zip(self.rules, self._predicates, strict=True):
            if predicate >= 0:
                found[predicate] = None
                continue
            rows = family_rows(rule, facts, self._dictionary)
            if rows.size:
                found.update(dict.fromkeys(rows.column(predicate).tolist()))
        return list(found)

    def _extend(self, predicate: int, new: Pairs, closure: Relation) -> Keys:
        self._external[predicate] = union(self._external[predicate], new.keys)
        if len(new) > FEW_EDGES:
            return close_keys(self._external[predicate])
        paths = np.empty(0, np.uint64)
        for edge in new.keys:
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
