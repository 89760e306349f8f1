"""Backward and forward: which facts can still be proved, given facts that are certain.

The idea is that of the Backward/Forward algorithm (Motik, Nenov, Piro, Horrocks, Incremental Update of
Datalog Materialisation, AAAI 2015), for whole sets of facts and for modules. To prove facts,
see which of them modules derive from what is certain; of the others look at the premises of every
instance that has them for its conclusion, and try to prove those, and so on backward. What is proved is
certain from then on, and is carried forward to what was waiting for it. When there is nothing left to
look at, what is not proved has no proof.

Invariant: every fact in ``certain`` has a proof from the explicit facts that stay.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from corollary.columns.delta import NOTHING, Candidates, Delta
from corollary.columns.triples import TripleIndex
from corollary.execute.run_plan import extend
from corollary.maintain.strategy import Budget
from corollary.modules.module import Module, feedback


class Prover:
    """What is certain, and what modules can prove from it."""

    def __init__(
        self, modules: Sequence[Module], certain: TripleIndex, budget: int, coming: Collection[int]
    ) -> None:
        """At most ``budget`` facts are looked at; then ``TooMuch`` is raised.

        Of the ``coming`` predicates some certain facts may not be there yet.
        """
        self.certain = certain
        self._known = certain.but_for(coming)
        self._modules = modules
        self._budget = Budget(budget, "proofs would look at too many facts")

    def unproved(self, candidates: Delta, facts: TripleIndex) -> Delta:
        """The candidates (none of them certain) without proof, and what else was found to have none.

        ``facts`` are all that there may still be: those that are gone are not among them.
        """
        checked = NOTHING
        wanted = frontier = candidates
        while frontier:
            self._budget.spend(len(frontier))
            is_first = not checked
            frontier, checked = self._prove(frontier, checked | frontier)
            wanted = checked if is_first else wanted & checked
            if not wanted:
                return NOTHING
            read: Candidates = {}
            for module in self._modules:
                extend(read, module.premises(frontier, facts, self._known))
            frontier = (Delta.gathered(read) - self.certain - checked) & facts
        return checked

    def _prove(self, frontier: Delta, checked: Delta) -> tuple[Delta, Delta]:
        """Prove what can be proved of the frontier, and what follows from that among the checked facts.

        Returns what is left of both. Every module is asked for the frontier, and then told what others have
        proved that it reads; of what it has proved itself only what is to be ``returning``. It is asked again
        for all that is checked where that is less than what it would be told.
        """
        news = [NOTHING for _ in self._modules]
        asked = 0
        is_all = len(frontier) == len(checked)
        while checked:
            number = next((n for n, told in enumerate(news) if told or n >= asked), None)
            if number is None:
                break
            module, told, news[number] = self._modules[number], news[number], NOTHING
            if number >= asked:
                asked += 1
                found = Delta.gathered(module.rederive(frontier, self.certain))
                if told and len(frontier) < len(checked):
                    news[number] = told
            elif len(told) > len(checked):
                found = Delta.gathered(module.rederive(checked, self.certain))
            else:
                found = Delta.among(module.propagate_proved(self.certain, told, checked), checked)
            if not found:
                continue
            self.certain.add_all(found)
            checked -= found
            frontier = checked if is_all else frontier - found
            for number, other in enumerate(self._modules):
                part = found.only(other.reads)
                news[number] |= feedback(other, part) if other is module else part
        return frontier, checked
