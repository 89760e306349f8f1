"""Half of the work on symmetric predicates: of p(x, y) and p(y, x) one is derived, and both are returned.

Let S be predicates that are symmetric by a module's rules (``program.symmetry``), and let all facts of S be
symmetric, the recent ones too. Then the rules derive p(y, x) in one step from these facts if they derive
p(x, y). So of a conclusion and its inverse, the one with the lesser subject stands for both. If a rule is its
own counterpart, two more things are spared:

- Of two triggers that are counterparts of each other, the latter one: it finds what the former one finds,
  with the ends of the conclusions exchanged.
- Half of the recent facts, for a trigger that becomes itself with its ends exchanged.

    [?y, :alias, ?z] :- [?x, :flows, ?y], [?x, :same, ?w], [?w, :flows, ?z] .

The first and the third atom are counterparts, :same becomes itself. Proof that no conclusion is lost: let A
be the atoms that an instance matches with recent facts. Its mirror image, an instance for the inverse
conclusion, matches the counterparts of A with recent facts. Where facts before the trigger are old, the least
atom of A finds the instance. If its trigger is left out, the mirror image is found: its least atom comes
before, and neither is left out nor becomes itself, because A has no atom before its least one. If the trigger
becomes itself, either the instance or its mirror image has a recent fact in the half; if that is the mirror
image and an earlier atom finds it, the same holds of that atom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from corollary.columns import Candidates, Pairs, Relation, TripleIndex
from corollary.columns.pairs import HALF, LOW_HALF, gathered, pack, with_inverses
from corollary.execute.batches import Batch
from corollary.execute.run_plan import emit
from corollary.kernels.limits import reserve
from corollary.modules.triggers import Trigger
from corollary.modules.tuning import MIN_FACTS_TO_HALVE
from corollary.plan.steps import Age
from corollary.program.compile import CompiledRule
from corollary.program.symmetry import Counterpart, own_counterparts, symmetric_by_rules


class Halving(NamedTuple):
    """The symmetric predicates, and what the atoms of rules that are their own counterparts become."""

    predicates: frozenset[int] = frozenset()
    counterparts: Mapping[int, Sequence[Counterpart]] = {}
    """By the identity of the rule."""

    @staticmethod
    def of(rules: Sequence[CompiledRule], predicates: frozenset[int]) -> Halving:
        """Those of the predicates that are symmetric by the rules."""
        symmetric = symmetric_by_rules(rules, predicates)
        whole = [rule for rule in rules if not (symmetric.isdisjoint(rule.derives) or rule.guards)]
        return Halving(symmetric, {id(rule): own_counterparts(rule, symmetric) for rule in whole})

    def needs(self, trigger: Trigger) -> bool:
        """Whether the trigger finds more than the mirror image of what another one finds."""
        atoms = self.counterparts.get(id(trigger.rule))
        return not atoms or atoms[trigger.position].place >= trigger.position

    def ages(self, trigger: Trigger, ages: Mapping[Age, TripleIndex]) -> Mapping[Age, TripleIndex]:
        """The facts by age, of which the recent ones are those that the trigger needs."""
        atoms, predicate = self.counterparts.get(id(trigger.rule)), trigger.atom.p
        if not atoms or atoms[trigger.position] != (trigger.position, True):
            return ages
        keys = ages[Age.RECENT].keys(predicate)
        half = Relation(Pairs(keys[keys >> HALF <= keys & LOW_HALF]))
        return {**ages, Age.RECENT: TripleIndex({predicate: half})}

    def emit(
        self, rule: CompiledRule, batch: Batch, candidates: Candidates, *, are_all: bool = False
    ) -> None:
        """As ``run_plan.emit``. Of a symmetric conclusion, that with the lesser subject stands for both.

        ``are_all``: the batch has all conclusions of the rule, and so those of its counterpart.
        """
        if self.predicates.isdisjoint(rule.derives):
            emit(rule.heads, batch, candidates)
            return
        if not batch.size:
            return
        head = rule.heads[0]
        reserve(16 * batch.size)
        one, other = batch.column(head.s), batch.column(head.o)
        if are_all and self.counterparts.get(id(rule)):
            keys = pack(one, other)[one <= other]
        else:
            keys = pack(np.minimum(one, other), np.maximum(one, other))
        candidates.setdefault(head.p, []).append(keys)

    def take(self, candidates: Candidates, known: TripleIndex) -> dict[int, Pairs]:
        """Take the symmetric predicates out of the candidates. Returns what is not known, with inverses."""
        found: dict[int, Pairs] = {}
        for predicate in [predicate for predicate in candidates if predicate in self.predicates]:
            keys = known.unknown(predicate, gathered(candidates.pop(predicate)))
            if keys.size:
                both = with_inverses(keys)
                found[predicate] = Pairs(both, both)
        return found


NOT_HALVED = Halving()


class Halvings:
    """How the work on some rules is halved, for the facts at hand."""

    def __init__(self, rules: Sequence[CompiledRule]) -> None:
        """Precondition: each body atom of a rule is a trigger."""
        self._rules = rules
        self._known: dict[frozenset[int], Halving] = {}

    def over(self, facts: TripleIndex, recent: TripleIndex) -> Halving:
        """By those predicates whose facts are symmetric, all of them and the recent ones."""
        if recent.fact_count() < MIN_FACTS_TO_HALVE:
            return NOT_HALVED
        heads = frozenset([head.p for rule in self._rules for head in rule.heads])
        possible = self._of(heads).predicates
        return self._of(possible.difference([p for p in possible if not _are_symmetric(p, facts, recent)]))

    def _of(self, predicates: frozenset[int]) -> Halving:
        found = self._known.get(predicates)
        if found is None:
            found = self._known[predicates] = Halving.of(self._rules, predicates)
        return found


def _are_symmetric(predicate: int, facts: TripleIndex, recent: TripleIndex) -> bool:
    relations = facts.relation(predicate), recent.relation(predicate)
    return not any(r.is_compressed for r in relations) and all(r.is_symmetric() for r in relations)
