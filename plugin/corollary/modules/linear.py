"""The linear closure module: a relation that a rule extends along the edges of another one.

It takes one rule of either form, for constant T and E:

    T[?x, ?z] :- T[?x, ?y], E[?y, ?z]      T[?x, ?z] :- E[?x, ?y], T[?y, ?z]

``closure.maintained`` follows T = S ∘ E*, where S are the external facts of T: explicit, or derived by other
rules (mostly by ``T[?x, ?y] :- E[?x, ?y]``). The second form is the first one for the inverses of T and E;
inside the module both relations are inverted then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from corollary.closure.maintained import MaintainedClosure
from corollary.columns import EMPTY, Candidates, Relation, TripleIndex
from corollary.columns.pairs import Pairs, intersection, swap, union
from corollary.execute.context import ExecutionContext
from corollary.kernels.sorted import Keys
from corollary.modules.module import Answer, External, Module
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
    asks_for_external = True

    def __init__(self, rdf_type: int) -> None:
        self.rules: list[CompiledRule] = []
        self._shape = NO_SHAPE
        self._is_based = False  # whether another rule copies the edges into the closed relation
        self._rdf_type = rdf_type
        self._closure = MaintainedClosure(EMPTY, EMPTY)
        self.is_waiting = True
        self._is_applied = False

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
        """A module without its rule."""
        return cls(program.rdf_type)

    def add_rule(self, rule: CompiledRule) -> None:
        """Set the rule."""
        shape = linear_shape(rule, self._rdf_type)
        assert shape is not None and not self.rules
        self.rules = [rule]
        self._shape = shape
        self.only_reads = frozenset((shape.closed, shape.edges))

    def review(self, rules: RuleSet) -> None:
        """See whether the edges are copied into the closed relation."""
        self._is_based = (self._shape.edges, self._shape.closed) in rules.copied

    def remove_rules(self, numbers: Collection[int], facts: TripleIndex) -> Candidates:
        """Remove the rule if it is among these. Returns all facts of T then."""
        if not any(rule.number in numbers for rule in self.rules):
            return {}
        self.rules = []
        return {self._shape.closed: [facts.keys(self._shape.closed)]}

    def reads(self, predicate: int) -> bool:
        """Whether it is T or E."""
        return predicate in (self.only_reads or ())

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """Conclusions that are external too."""
        external = self._facing(self._closure.external)
        if len(new) < len(external):
            return Pairs(external.common(new.keys))
        return Pairs(intersection(external.pairs().keys, new.keys))

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Answer:
        """The facts of T that need a recent fact of T or E."""
        closed, edges = self._both(facts)
        self.is_waiting = False
        if not self._is_applied:
            self._is_applied, self._closure = True, MaintainedClosure(closed, edges)
            paths = None
        else:
            new, new_edges = (relation.pairs().keys for relation in self._both(recent))
            paths = self._closure.extend(new, new_edges, closed)
        if paths is None:
            return Answer({self._shape.closed: [self._closure.close(inverse=self._shape.is_inverse)]})
        return Answer(self._answer(paths))

    def restore(self, facts: TripleIndex, external: External) -> Candidates:
        """Begin to follow T, closed as it is, from its external facts; from all, if these are not known."""
        closed, edges = self._both(facts)
        known = external(self._shape.closed)
        self._closure = MaintainedClosure(closed if known is None else self._facing(known), edges)
        self._is_applied, self.is_waiting = True, False
        return {}

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Answer:
        """The paths over deleted facts and edges, and near them external facts that are not proved.

        Where edges near them are not proved: all paths there that proved facts and edges do not explain.
        """
        deleted_facts, deleted_edges = (relation.pairs().keys for relation in self._both(deleted))
        if not deleted_facts.size and not self._closure.leads_over(deleted_edges, self._both(facts)[0]):
            return Answer({})
        paths, near = self._closure.lose(
            deleted_facts, deleted_edges, *self._both(proved), is_based=self._is_based
        )
        return Answer(self._answer(union(paths, near)))

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """The wanted facts that ``facts`` prove, if a recent fact is of T or E."""
        return self.rederive(wanted, facts) if any(map(len, self._both(recent))) else {}

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """The candidates that ``facts`` of T lead to over ``facts`` of E."""
        wanted = self._both(candidates)[0].pairs().keys
        return self._answer(self._closure.rederive(wanted, *self._both(facts))) if wanted.size else {}

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """The external facts of the candidates' sources, and the edges on the paths from there."""
        wanted = self._both(candidates)[0].pairs().keys
        if not wanted.size:
            return {}
        external, edges = self._closure.premises(wanted)
        closed, known = self._both(facts)
        return self._answer(closed.common(external)) | self._answer(known.common(edges), self._shape.edges)

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """The deletions are final. Facts that no path explains any more are external from now on."""
        self._closure.commit(self._both(deleted)[0].pairs().keys, *self._both(facts))
        self.is_waiting = self.is_waiting or self._closure.is_waiting

    def _both(self, facts: TripleIndex) -> tuple[Relation, Relation]:
        """T and E, inverted for the second form."""
        closed, edges = facts.relation(self._shape.closed), facts.relation(self._shape.edges)
        return self._facing(closed), self._facing(edges)

    def _facing(self, relation: Relation) -> Relation:
        return relation.inverse() if self._shape.is_inverse else relation

    def _answer(self, keys: Keys, predicate: int | None = None) -> Candidates:
        """Facts of T, or of another predicate, as they are outside the module."""
        predicate = self._shape.closed if predicate is None else predicate
        return {predicate: [swap(keys) if self._shape.is_inverse else keys]}
