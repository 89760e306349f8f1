"""What a change of the program does to the rules and the facts of an engine, before anything changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corollary.columns import TripleIndex
from corollary.evaluate.assignment import ModuleAssignment
from corollary.evaluate.tuning import MAX_FACTS_PER_LOST_FACT, MIN_SHARE_AFFECTED
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import ProgramChange
from corollary.program.dependencies import closed_atoms
from corollary.program.shapes import symmetric_predicate


@dataclass(frozen=True)
class RuleChange:
    """A change of the program, and the ``assignment`` of the new one.

    ``emptied`` predicates are truncated, and the rules ``again`` derive their facts again. ``moved`` rules go
    to another module, where the old or the new one keeps state; ``passed`` ones where neither does.
    ``keeps_little``: materialising from scratch costs less than to follow the change.
    """

    change: ProgramChange
    assignment: ModuleAssignment
    emptied: frozenset[int]
    again: Sequence[CompiledRule]
    moved: Sequence[CompiledRule]
    passed: Sequence[CompiledRule]
    keeps_little: bool


class AffectedFacts:
    """The facts of I that depend on changed rules of a program without guards.

    ``explicit`` is E after the transaction.
    """

    def __init__(
        self, change: ProgramChange, index: TripleIndex, explicit: TripleIndex, axioms: TripleIndex
    ) -> None:
        self._index = index
        self._explicit = explicit
        self._axioms = axioms
        self._removed = [rule for rule in change.removed if rule.heads]
        self._staying = [rule for rule in change.program.rules if rule.heads]
        self._rules = [*self._staying, *self._removed]
        self.are_known = not any(rule.guards or rule.is_open for rule in self._rules)
        """Whether the predicates that depend on others are known: no rule has guards, or is open."""

    def predicates(self, rules: Iterable[CompiledRule]) -> set[int]:
        """The predicates that rules derive, and all that depend on these."""
        found = {head.p for rule in rules for head in rule.heads}
        size = -1
        while size != (size := len(found)):
            for rule in self._rules:
                if not found.isdisjoint(rule.reads):
                    found |= rule.derives
        return found

    def worth_emptying(self) -> frozenset[int]:
        """The predicates that depend on removed rules, unless few facts may be lost.

        See ``MAX_FACTS_PER_LOST_FACT``.
        """
        index, found = self._index, self.predicates(self._removed)
        fed = {*self._explicit.all_predicates(), *self._axioms.all_predicates()}
        size = -1
        while size != (size := len(fed)):
            for rule in self._staying:
                if rule.needs <= fed:
                    fed |= rule.derives
        lost = self._count(found - fed)
        for rule in self._removed:
            most = self._count(head.p for head in rule.heads)
            lost += min(most, len(index.relation(rule.atoms[0].p))) if len(rule.atoms) == 1 else most
        return frozenset(found if MAX_FACTS_PER_LOST_FACT * lost >= self._count(found) else ())

    def doubling(self, inserted: Iterable[CompiledRule]) -> list[CompiledRule]:
        """The inserted rules that make a predicate symmetric, few of whose facts have their inverse in I.

        Only if a stratum negates or aggregates what depends on the predicate: it is evaluated from scratch.
        """
        found = []
        for rule in inserted:
            predicate = symmetric_predicate(rule)
            if predicate is not None and self._leads_to_strata(rule):
                facts = self._index.relation(predicate)
                if 2 * facts.common(facts.inverse().pairs().keys).size <= len(facts):
                    found.append(rule)
        return found

    def _leads_to_strata(self, rule: CompiledRule) -> bool:
        found = self.predicates([rule])
        return any(atom.p in found for other in self._staying for atom in closed_atoms(other))

    def are_most(self, predicates: set[int]) -> bool:
        """Whether I has few facts of other predicates: see ``MIN_SHARE_AFFECTED``."""
        return self._count(predicates) >= MIN_SHARE_AFFECTED * self._index.fact_count()

    def are_all_inferred(self, predicates: set[int]) -> bool:
        """Whether all facts of other predicates are explicit."""
        others = (p for p in self._index.all_predicates() if p not in predicates)
        return all(len(self._index.relation(p)) <= len(self._explicit.relation(p)) for p in others)

    def _count(self, predicates: Iterable[int]) -> int:
        return sum(len(self._index.relation(predicate)) for predicate in predicates)
