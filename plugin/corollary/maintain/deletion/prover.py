"""The search for proofs: which candidates follow from proved facts.

This is the Backward/Forward algorithm (Motik, Nenov, Piro, Horrocks, Incremental Update of Datalog
MaterialisedView, AAAI 2015), for sets of facts at a time, and by modules instead of rules. A candidate is
proved if a module derives it from proved facts. For the other candidates, the premises of all their instances
are checked next, and so on backward. Proved facts are propagated forward to the checked facts that depend on
them. When no facts are left to check, the candidates that are not proved have no proof.

    q symmetric, [a, q, b] explicit: each of [a, q, b] and [b, q, a] is a premise of the other.
    Remove [a, q, b]: neither has a proof from E, so both are deleted.

Invariant: every fact in ``proved`` has a proof from E after the transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from heapq import heappop, heappush

from corollary.columns import NOTHING, Candidates, Delta, TripleIndex
from corollary.execute.run_plan import extend
from corollary.kernels.limits import check
from corollary.maintain.deletion.halves import Halves
from corollary.maintain.deletion.routes import Routes
from corollary.maintain.strategy import Budget
from corollary.maintain.tuning import MIN_CHECKED_TO_WAIT, REDERIVED_PER_PROPAGATED
from corollary.modules.module import Module, feedback, received


class Prover:
    """Proves candidates by modules, from a growing set of ``proved`` facts."""

    def __init__(
        self,
        modules: Sequence[Module],
        proved: TripleIndex,
        budget: int,
        coming: Collection[int],
        routes: Routes | None = None,
        halves: Halves | None = None,
        note: Callable[[int], None] = lambda facts: None,
    ) -> None:
        """At most ``budget`` facts are checked; beyond that, ``TooMuch`` is raised.

        ``coming`` are the predicates of Δ⁺: some of their proved facts may not be in I yet. With ``routes``,
        only modules that derive facts of a predicate are asked for them. With ``halves``, of each fact of
        theirs and its inverse only one is checked; precondition: both are proved, or neither is.
        ``note`` is called with the number of facts that are checked next.
        """
        self.proved = proved
        self._routes = Routes(modules, None) if routes is None else routes
        self._halves = Halves(()) if halves is None else halves
        self._coming = coming
        self._modules = modules
        self._note = note
        self._numbers = {id(module): number for number, module in enumerate(modules)}
        self._budget = Budget(budget, "proofs would look at too many facts")

    def unproved(self, candidates: Delta, facts: TripleIndex, inner: Sequence[Module] | None = None) -> Delta:
        """The candidates without a proof, and other checked facts without one.

        The ``inner`` modules (None: all) may derive candidates from facts that are not proved yet. For the
        others, all premises that are not candidates are proved.
        Preconditions: no candidate is in ``proved``; ``facts`` is I without the facts deleted so far.
        Returns nothing if all candidates are proved.
        """
        inner = self._modules if inner is None else inner
        checked = NOTHING
        news: dict[int, Delta] = {}
        known = self.proved.but_for(self._coming) if self._coming else self.proved
        wanted = frontier = self._halves.half(candidates)
        while frontier or news:
            self._budget.spend(len(frontier))
            self._note(len(frontier))
            is_first = not checked
            frontier, checked = self._prove(frontier, checked | frontier, inner, news)
            wanted = checked if is_first else wanted & checked
            if not wanted:
                return NOTHING
            read: Candidates = {}
            for module in self._routes.deriving(frontier):
                if module not in inner:
                    continue
                check()
                extend(read, module.premises(frontier, facts, known))
            read = {p: keys for p, keys in read.items() if facts.relation(p).size > known.relation(p).size}
            frontier = self._halves.half(Delta.gathered(read)) - checked - self.proved
        return self._halves.both(checked)

    def _prove(
        self, frontier: Delta, checked: Delta, inner: Sequence[Module], news: dict[int, Delta]
    ) -> tuple[Delta, Delta]:
        """Prove facts of the frontier, and checked facts that follow from these. Returns the rest of both.

        Each module that may derive facts of the frontier first rederives these. Then inner modules that may
        derive checked facts receive the facts that other modules proved, and of their own the ``feedback``,
        and propagate them; or they rederive the checked facts, if that seems to cost less. ``news`` are the
        facts that modules have not received yet, by the number of the module. While many facts are checked,
        they wait for the last frontier, but for those that the first one proves.
        """
        to_ask = {self._numbers[id(module)] for module in self._routes.deriving(frontier)}
        receiving: list[int] | None = None  # found when something is proved, and something is left
        is_all = len(frontier) == len(checked)
        waits = bool(frontier) and not is_all and len(checked) >= MIN_CHECKED_TO_WAIT
        turns = sorted(to_ask if waits else to_ask | news.keys())  # a heap
        while checked and turns:
            check()
            number = heappop(turns)
            module = self._modules[number]
            if number in to_ask:
                to_ask.remove(number)
                derived = module.rederive(frontier, self.proved)
                if len(frontier) == len(checked):
                    news.pop(number, None)
                elif number in news and not waits:
                    heappush(turns, number)
            else:
                derived = self._propagated(module, news.pop(number), checked)
            found, checked = checked.parted(derived)
            if not found:
                continue
            frontier = checked if is_all else frontier - found
            self.proved.add_all(found := self._halves.both(found))
            if not checked:
                break
            if receiving is None:
                receivers = (other for other in self._routes.deriving(checked) if other in inner)
                receiving = [self._numbers[id(other)] for other in receivers]
            for number in receiving:
                other = self._modules[number]
                part = received(other, found)
                part = feedback(other, part) if other is module else part
                if part:
                    if not (waits or number in news or number in to_ask):
                        heappush(turns, number)
                    news[number] = news.get(number, NOTHING) | part
        return frontier, checked

    def _propagated(self, module: Module, returned: Delta, checked: Delta) -> Candidates:
        """At least the checked facts that a module derives from ``returned`` and other proved facts.

        All checked facts are rederived if that seems to cost less. For a module that closes its rules in one
        step it does not.
        """
        if not module.closes_premises and REDERIVED_PER_PROPAGATED * len(returned) > len(checked):
            return module.rederive(checked, self.proved)
        return module.propagate_proved(self.proved, returned, checked)
