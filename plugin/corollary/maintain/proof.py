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

from collections.abc import Sequence

from corollary.algebra.execute import Candidates, extend
from corollary.index.triples import TripleIndex
from corollary.maintain.facts import Facts, as_index, collected, count, less, put, united, without
from corollary.modules.module import Module


class TooMuch(Exception):
    """So many facts would have to be looked at that starting over is cheaper."""


class Prover:
    """What is certain, and what modules can prove from it."""

    def __init__(self, modules: Sequence[Module], certain: TripleIndex, budget: int) -> None:
        """At most ``budget`` facts are looked at; then ``TooMuch`` is raised."""
        self.certain = certain
        self._modules = modules
        self._budget = budget

    def unproved(self, candidates: Facts, facts: TripleIndex) -> Facts:
        """The candidates (none of them certain) without proof, and what else was found to have none.

        ``facts`` are all that there may still be: those that are gone are not among them.
        """
        checked: Facts = {}
        wanted = frontier = candidates
        while frontier:
            self._budget -= count(frontier)
            if self._budget < 0:
                raise TooMuch("proofs would look at too many facts")
            checked = united(checked, frontier)
            proved = self._prove(frontier, checked)
            if proved:
                checked, frontier, wanted = (less(part, proved) for part in (checked, frontier, wanted))
                if not wanted:
                    return {}
            read: Candidates = {}
            index = as_index(frontier)
            for module in self._modules:
                extend(read, module.premises(index, facts))
            frontier = without(less(collected(read, facts), checked), self.certain)
        return checked

    def _prove(self, frontier: Facts, checked: Facts) -> Facts:
        """What can be proved of the frontier, and what follows from that among the checked facts."""
        proved = self._derivable(frontier)
        recent = proved
        while recent:
            checked = less(checked, recent)
            if not checked:
                break
            if count(checked) < count(recent):  # the fewer facts ask for the others
                recent = self._derivable(checked)
            else:
                recent = self._carried(recent, checked)
            proved = united(proved, recent)
        return proved

    def _derivable(self, wanted: Facts) -> Facts:
        """What some rule derives from certain facts; that is certain too now."""
        derivable: Facts = {}
        index = as_index(wanted)
        for module in self._modules:
            found = collected(module.rederive(index, self.certain), index)
            if found:
                put(found, self.certain)
                derivable, wanted = united(derivable, found), less(wanted, found)
                if not wanted:
                    break
                index = as_index(wanted)
        return derivable

    def _carried(self, recent: Facts, checked: Facts) -> Facts:
        """What follows among the checked facts from facts that have just become certain."""
        index, news = as_index(checked), as_index(recent)
        derived: Candidates = {}
        for module in self._modules:
            extend(derived, module.consequences(self.certain, news, index))
        carried = collected(derived, index)
        put(carried, self.certain)
        return carried
