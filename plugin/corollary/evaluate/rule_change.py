"""What a change of the program does to the rules and the facts of an engine, before anything changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from corollary.columns import TripleIndex
from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import swap
from corollary.evaluate.assignment import ModuleAssignment
from corollary.evaluate.tuning import MAX_FACTS_PER_LOST_FACT, MIN_FACTS_SAMPLED, MIN_SHARE_AFFECTED
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import ProgramChange
from corollary.program.dependencies import closed_atoms
from corollary.program.edges import CLASS, Node, names_classes, nodes_derived, nodes_of, nodes_read
from corollary.program.shapes import symmetric_predicate


@dataclass(frozen=True)
class RuleChange:
    """A change of the program, and the ``assignment`` of the new one.

    ``emptied`` predicates and classes are truncated, and the rules ``again`` derive their facts again.
    ``moved`` rules go to another module, where the old or the new one keeps state; ``passed`` ones where
    neither does.
    ``keeps_little``: materialising from scratch costs less than to follow the change.
    """

    change: ProgramChange
    assignment: ModuleAssignment
    emptied: frozenset[Node]
    again: Sequence[CompiledRule]
    moved: Sequence[CompiledRule]
    passed: Sequence[CompiledRule]
    keeps_little: bool


class AffectedFacts:
    """The facts of I that depend on changed rules of a program without guards.

    ``explicit`` is E after the transaction. Facts are those of *nodes*: of a predicate, or of a class, if all
    rules name the classes that they are about; else those of rdf:type are of one node. Then a rule that leads
    to a class affects nothing that follows from other classes:

        :A[?x] :- [?x, :p, ?y] .  :B[?x] :- [?x, :q, ?y] .  Removing the second affects types by :B only.
    """

    def __init__(
        self, change: ProgramChange, index: TripleIndex, explicit: TripleIndex, axioms: TripleIndex
    ) -> None:
        self._index = index
        self._explicit = explicit
        self._axioms = axioms
        self._rdf_type = change.program.rdf_type
        self._removed = [rule for rule in change.removed if rule.heads]
        self._staying = [rule for rule in change.program.rules if rule.heads]
        self._rules = [*self._staying, *self._removed]
        self.are_known = not any(rule.guards or rule.is_open for rule in self._rules)
        """Whether the nodes that depend on others are known: no rule has guards, or is open."""
        self._names_classes = self.are_known and all(
            names_classes(rule, self._rdf_type) for rule in self._rules
        )

    def _read(self, rule: CompiledRule) -> frozenset[Node]:
        return nodes_read(rule, self._rdf_type) if self._names_classes else rule.reads

    def _derived(self, rule: CompiledRule) -> frozenset[Node]:
        return nodes_derived(rule, self._rdf_type) if self._names_classes else rule.derives

    def _needed(self, rule: CompiledRule) -> frozenset[Node]:
        """The nodes of the positive body."""
        names_classes = self._names_classes and self._rdf_type in rule.needs
        return nodes_of(rule.atoms, self._rdf_type) if names_classes else rule.needs

    def derives(self, rule: CompiledRule, nodes: Set[Node]) -> bool:
        """Whether a rule derives facts of some of the nodes."""
        return bool(nodes) and not nodes.isdisjoint(self._derived(rule))

    def nodes(self, rules: Iterable[CompiledRule]) -> set[Node]:
        """The nodes that rules derive, and all that depend on these."""
        found = {node for rule in rules for node in self._derived(rule)}
        edges = [(self._read(rule), self._derived(rule)) for rule in self._rules] if found else []
        size = -1
        while size != (size := len(found)):
            for read, derived in edges:
                if not found.isdisjoint(read):
                    found |= derived
        return found

    def worth_emptying(self) -> frozenset[Node]:
        """The nodes that depend on removed rules, unless few facts may be lost.

        See ``MAX_FACTS_PER_LOST_FACT``.
        """
        found = self.nodes(self._removed)
        needs = [(self._needed(rule), self._derived(rule)) for rule in self._staying]
        named = found.union(*[nodes for edge in needs for nodes in edge])
        fed = {node for node in named if self._size(node, self._explicit) or self._size(node, self._axioms)}
        size = -1
        while size != (size := len(fed)):
            for needed, derived in needs:
                if needed <= fed:
                    fed |= derived
        lost = self._count(found - fed)
        for rule in self._removed:
            most = self._count(self._derived(rule))
            lost += min(most, self._count(self._needed(rule))) if len(rule.atoms) == 1 else most
        return frozenset(found if MAX_FACTS_PER_LOST_FACT * lost >= self._count(found) else ())

    def doubling(self, inserted: Iterable[CompiledRule]) -> list[CompiledRule]:
        """The inserted rules that make a predicate symmetric, few of whose facts have their inverse in I.

        Of many facts, some are looked up.
        Only if a stratum negates or aggregates what depends on the predicate: it is evaluated from scratch.
        """
        found = []
        for rule in inserted:
            predicate = symmetric_predicate(rule)
            if predicate is not None and self._leads_to_strata(rule):
                facts = self._index.relation(predicate)
                some = facts.pairs().keys[:: len(facts) // MIN_FACTS_SAMPLED or 1]
                if 2 * facts.common(sort_keys(swap(some))).size <= some.size:
                    found.append(rule)
        return found

    def _leads_to_strata(self, rule: CompiledRule) -> bool:
        found = self.nodes([rule])
        return any(not found.isdisjoint(self._closed(rule)) for rule in self._staying)

    def _closed(self, rule: CompiledRule) -> frozenset[Node]:
        """The nodes that a rule negates, or aggregates over."""
        atoms = closed_atoms(rule)
        return nodes_of(atoms, self._rdf_type) if self._names_classes else frozenset([a.p for a in atoms])

    def are_most(self, nodes: set[Node]) -> bool:
        """Whether I has few facts of other nodes: see ``MIN_SHARE_AFFECTED``."""
        return self._count(nodes) >= MIN_SHARE_AFFECTED * self._index.fact_count()

    def are_all_inferred(self, nodes: set[Node]) -> bool:
        """Whether all facts of other nodes are explicit."""
        classes = [node for node in nodes if node >= CLASS]
        for predicate in self._index.all_predicates():
            if predicate not in nodes:
                more = self._size(predicate, self._index) - self._size(predicate, self._explicit)
                if predicate == self._rdf_type:
                    more -= self._count(classes) - sum(self._size(c, self._explicit) for c in classes)
                if more > 0:
                    return False
        return True

    def _count(self, nodes: Iterable[Node]) -> int:
        return sum(self._size(node, self._index) for node in nodes)

    def _size(self, node: Node, facts: TripleIndex) -> int:
        """The number of facts of a node."""
        if node < CLASS:
            return len(facts.relation(node))
        return facts.relation(self._rdf_type).count_of_object(node - CLASS)
