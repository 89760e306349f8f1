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

from corollary.algebra.execute import Candidates, extend
from corollary.index.pairs import Pairs
from corollary.index.triples import TripleIndex
from corollary.maintain.facts import (
    Facts,
    as_index,
    collected,
    count,
    gathered,
    less,
    put,
    shared,
    united,
    within,
    without,
)
from corollary.modules.module import Module


class TooMuch(Exception):
    """So many facts would have to be looked at that starting over is cheaper."""


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
            is_first = not checked
            frontier, checked = self._prove(frontier, united(checked, frontier))
            wanted = checked if is_first else shared(wanted, checked)
            if not wanted:
                return {}
            read: Candidates = {}
            index = as_index(frontier)
            for module in self._modules:
                extend(read, module.premises(index, facts, self._known))
            frontier = within(less(without(gathered(read), self.certain), checked), facts)
        return checked

    def _prove(self, frontier: Facts, checked: Facts) -> tuple[Facts, Facts]:
        """Prove what can be proved of the frontier, and what follows from that among the checked facts.

        Returns what is left of both. Every module is asked for the frontier, and then told what others have
        proved that it reads; of what it has proved itself only what is to be ``returning``. It is asked again
        for all that is checked where that is less than what it would be told.
        """
        news: list[Facts] = [{} for _ in self._modules]
        asked = 0
        is_all = count(frontier) == count(checked)
        everything = as_index(checked)
        wanted = everything if is_all else as_index(frontier)
        while checked:
            number = next((n for n, told in enumerate(news) if told or n >= asked), None)
            if number is None:
                break
            module, told, news[number] = self._modules[number], news[number], {}
            if number >= asked:
                asked += 1
                found = gathered(module.rederive(wanted, self.certain))
                if told and wanted.fact_count() < everything.fact_count():
                    news[number] = told
            elif count(told) > everything.fact_count():
                found = gathered(module.rederive(everything, self.certain))
            else:
                found = collected(module.consequences(self.certain, as_index(told), everything), everything)
            if not found:
                continue
            put(found, self.certain)
            checked = less(checked, found)
            frontier = checked if is_all else less(frontier, found)
            everything = as_index(checked)
            wanted = everything if is_all else as_index(frontier)
            for number, other in enumerate(self._modules):
                part = {p: keys for p, keys in found.items() if other.reads(p)}
                if other is module:
                    part = {p: other.returning(p, Pairs(keys)).keys for p, keys in part.items()}
                news[number] = united(news[number], {p: keys for p, keys in part.items() if keys.size})
        return frontier, checked
