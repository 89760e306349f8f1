"""The fixpoint: modules take turns until no module derives a new fact.

Modules are ordered by ``Module.turn``: cheap modules, and those that others build on (lists, values, the
schema), come first. The first module with pending facts takes a turn: it receives all its pending facts as
recent. Its conclusions are sorted and deduplicated, known facts are removed, and the rest becomes pending for
all other modules that read it. A module receives a fact from elsewhere once, and of its own conclusions only
the ``feedback``. So the total number of recent facts does not depend on the number of rounds (algorithm
MAT-MOD of Hu, Motik, Horrocks 2019, with one worklist for all components of a monotone program). Exception:
a module that ``receives_again`` may receive a replaced relation whole.

Invariant: the index holds explicit facts and facts derived from them, and no others. All facts that a module
reads and has not received, but for own conclusions beside the ``feedback``, are among its pending facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from heapq import heappop, heappush
from time import perf_counter

from corollary.columns import Candidates, Delta, Relation, TripleIndex
from corollary.columns.pairs import Pairs
from corollary.evaluate.precedence import NO_NAMES, Precedence
from corollary.evaluate.tuning import MAX_FACTS_ROUTED, MIN_SHARE_RECEIVED_WHOLE
from corollary.kernels.limits import at, derived
from corollary.kernels.tuning import MAX_ROWS_UNRESERVED
from corollary.modules.module import Fact, Module, has_any


class Fixpoint:
    """All facts (``index``), the modules in order, and the pending facts of each module."""

    def __init__(
        self,
        index: TripleIndex,
        modules: Sequence[Module],
        name_of: Callable[[int], str] = str,
        watch: Callable[[Module | None, int, Pairs], None] = lambda origin, predicate, facts: None,
    ) -> None:
        """All facts of ``index`` are pending for the modules. ``name_of`` names a predicate in messages.

        ``watch`` is called with the facts of each predicate that come or go, but for ``Answer.relations``.
        ``origin`` is the module that derived them, or None.
        """
        self.index = index
        self.rounds = 0
        self.seconds: dict[str, float] = {}
        self.modules = list(modules)
        self.new_facts: Candidates = {}
        """Those since ``recording`` began; none outside of it."""
        self._is_recording = False
        self._watch = watch
        self._name_of = name_of
        self._routes: dict[int, list[tuple[int, Set[int] | None]]] = {}
        self._revision = 0  # the sum of the modules' revisions for which ``_routes`` hold
        self._by_predicate: dict[int, list[int]] = {}
        self._others: list[int] = []
        self._ignoring: set[int] = set()  # the positions of modules that may ignore losses
        self.refusing: set[int] = set()
        """The positions of the modules that may refuse losses."""
        self.holding: list[int] = []
        """The positions of the modules that may hold conclusions back."""
        self._find_readers()
        self._pending: list[dict[int, list[Relation]]] = [{} for _ in self.modules]
        for predicate in index.all_predicates():
            for position in self._positions(predicate):
                self._pending[position][predicate] = [index.relation(predicate)]
        self._turns: list[int] = []
        """A heap of positions: all of modules with pending facts, and others, in any number."""
        self._queue(range(len(self.modules)))

    def add_module(self, module: Module, before: Module | None = None) -> None:
        """Add a module, last or ``before`` another one, without pending facts.

        Rules that it has not started are applied to all facts in its first turn.
        """
        position = len(self.modules) if before is None else self.modules.index(before)
        self.modules.insert(position, module)
        self._pending.insert(position, {})
        self.reroute()

    def remove_module(self, module: Module) -> None:
        """Remove a module and its pending facts."""
        position = self.modules.index(module)
        del self.modules[position], self._pending[position]
        self.reroute()

    def skip(self, module: Module) -> None:
        """Drop the pending facts of a module."""
        self._pending[self.modules.index(module)] = {}

    def run(self, after: Callable[[], None] = lambda: None, waiting: int = 0) -> None:
        """Run turns up to the fixpoint. ``after`` is called after every turn that derived new facts.

        The last ``waiting`` modules take no turns; their pending facts are kept.
        """
        self._queue_waiting(range(len(self.modules)))
        while self._turns and self._turns[0] < len(self.modules) - waiting:
            position = heappop(self._turns)
            module, pending = self.modules[position], self._pending[position]
            if not pending and not module.is_waiting:
                continue
            at(module.name)
            self._pending[position] = {}
            started = perf_counter()
            candidates, relations, new = module.add(self.index, self.index.union(pending))
            if module.is_waiting:
                heappush(self._turns, position)
            candidates = _copied(candidates)  # the module may keep its own
            found = self._include_and_empty(candidates, module) if candidates else 0
            for predicate, facts in new.items():
                self.index.add(predicate, facts)
                found += self._announce(predicate, facts, module)
            if relations:
                found += self._include_relations(relations, module)
            self.seconds[module.name] = self.seconds.get(module.name, 0.0) + perf_counter() - started
            self.rounds += 1
            if found:
                after()
                self._queue_waiting(self._others)

    @property
    def is_at_rest(self) -> bool:
        """Whether no module has anything to do."""
        return not any(self._pending) and not any(module.is_waiting for module in self.modules)

    def _queue(self, positions: Iterable[int]) -> None:
        """Let the modules among these that have something to do take a turn."""
        for position in positions:
            if self._pending[position] or self.modules[position].is_waiting:
                heappush(self._turns, position)

    def _queue_waiting(self, positions: Iterable[int]) -> None:
        """As ``_queue``, for modules of which those with pending facts are in the queue already."""
        modules = self.modules
        for position in [position for position in positions if modules[position].is_waiting]:
            heappush(self._turns, position)

    def include(self, candidates: Candidates, origin: Module | None = None) -> int:
        """Add the new facts among the candidates to the index and to pending facts. Returns their number.

        ``origin`` is the module that derived them. Within ``recording``, all new facts are added to
        ``new_facts`` too.
        """
        return self._include_and_empty(_copied(candidates), origin)

    def _include_and_empty(self, candidates: Candidates, origin: Module | None) -> int:
        """As ``include``. Arrays that only the candidates have are freed as soon as they are included."""
        found = 0
        for predicate in list(candidates):
            new = self.index.add_new(predicate, candidates.pop(predicate))
            if len(new):
                found += self._announce(predicate, new, origin)
        return found

    def _announce(self, predicate: int, new: Pairs, origin: Module | None) -> int:
        """Record and distribute facts that were added to the index. Returns their number."""
        if self._is_recording:
            self.new_facts.setdefault(predicate, []).append(new.keys)
        if origin is not None:
            self._report(origin, predicate, len(new))
        self._watch(origin, predicate, new)
        self._distribute(predicate, new, origin)
        return len(new)

    def _distribute(self, predicate: int, new: Pairs, origin: Module | None) -> None:
        """Add new facts to the pending facts of the modules that read them. ``origin`` receives its feedback.

        Few facts are not added if the module reads none of their objects, or ignores their terms.
        """
        whole: Relation | None = None  # made for the first reader: ``new`` may be unlisted
        are_few = len(new) <= MAX_FACTS_ROUTED
        keys = new.keys.tolist() if are_few else []
        objects = {key & 0xFFFFFFFF for key in keys}
        terms = objects.union([key >> 32 for key in keys])
        modules = self.modules
        for position, read in self._readers(predicate):
            module = modules[position]
            if are_few and ((read is not None and read.isdisjoint(objects)) or module.ignores(terms)):
                continue
            if module is origin:
                part = Relation(module.feedback(predicate, new))
                if not len(part):
                    continue
            else:
                part = whole = Relation(new) if whole is None else whole
            self._pend(position, predicate, part)

    def _pend(self, position: int, predicate: int, part: Relation) -> None:
        """Add to the pending facts of a module."""
        if not self._pending[position]:
            heappush(self._turns, position)
        self._pending[position].setdefault(predicate, []).append(part)

    def received(self, facts: Delta, order: Precedence | None = None) -> dict[int, Delta]:
        """The deleted facts that each module receives, by its position: of predicates whose objects it reads.

        With an ``order``, only modules that may derive something from the predicate. Few facts are not
        received if the module ignores their loss.
        """
        found: dict[int, dict[int, Relation]] = {}
        predicates = facts.all_predicates()
        for predicate, relation in facts.all_relations():
            silent = NO_NAMES if order is None else order.modules_silent_on(predicate)
            for position, objects in self._readers(predicate):
                if self.modules[position].name in silent:
                    continue
                if objects is None or has_any(relation, objects):
                    found.setdefault(position, {})[predicate] = relation
        ignoring = found.keys() & self._ignoring
        terms = facts.few_terms(MAX_FACTS_ROUTED) if ignoring else None
        if terms is not None:
            for position in ignoring:
                if self.modules[position].ignores_loss(predicates, terms):
                    del found[position]
        received: dict[int, Delta] = {}
        for position in sorted(found):
            part = found[position]
            received[position] = facts if len(part) == len(predicates) else Delta.of_relations(part)
        return received

    def receiving(self, fact: Fact, order: Precedence) -> list[int]:
        """The positions of the modules that receive a deleted fact: as ``received``."""
        subject, predicate, value = fact
        silent = order.modules_silent_on(predicate)
        return [
            position
            for position, objects in self._readers(predicate)
            if (objects is None or value in objects)
            and self.modules[position].name not in silent
            and not self.modules[position].ignores_loss((predicate,), {subject, value})
        ]

    def _readers(self, predicate: int) -> list[tuple[int, Set[int] | None]]:
        """The positions of the modules that read a predicate, each with the objects that it reads."""
        revision, modules = 0, self.modules
        for position in self._others:
            revision += modules[position].revision
        if revision != self._revision:
            self._revision = revision
            self._routes = {}
        if predicate not in self._routes:
            self._routes[predicate] = [
                (position, self.modules[position].objects_read(predicate))
                for position in self._positions(predicate)
            ]
        return self._routes[predicate]

    def _positions(self, predicate: int) -> list[int]:
        """The positions of the modules that read a predicate, ascending."""
        asked = [position for position in self._others if self.modules[position].reads(predicate)]
        return sorted(self._by_predicate.get(predicate, []) + asked)

    def _find_readers(self) -> None:
        """Note the modules that read fixed predicates by these. The ``_others`` are asked.

        A program may have thousands of such modules, and of predicates.
        """
        self._by_predicate, self._others, self._ignoring = {}, [], set()
        self.refusing, self.holding = set(), []
        for position, module in enumerate(self.modules):
            kind = type(module)
            if kind.ignores_loss is not Module.ignores_loss:
                self._ignoring.add(position)
            if kind.refuse_loss is not Module.refuse_loss:
                self.refusing.add(position)
            if kind.holds_back is not Module.holds_back:
                self.holding.append(position)
            if module.only_reads is None:
                self._others.append(position)
            for predicate in module.only_reads or ():
                self._by_predicate.setdefault(predicate, []).append(position)

    def reroute(self) -> None:
        """Ask all modules again what they read: their rules have changed."""
        self._routes, self._turns = {}, []
        self._find_readers()
        self._queue(range(len(self.modules)))

    def _include_relations(self, relations: Mapping[int, Relation], origin: Module) -> int:
        """As ``include``, for relations that replace those in the index.

        A relation without new facts is replaced too: facts that came one by one are beside the old closure,
        and are within the new one. A module that ``receives_again`` gets a list of mostly new facts whole:
        separating the new ones would copy them.
        """
        found = 0
        for predicate, relation in relations.items():
            known = self.index.relation(predicate)
            count = len(relation) - len(known)
            is_whole = not relation.is_compressed and count >= MIN_SHARE_RECEIVED_WHOLE * len(relation)
            new: Relation | None = None
            self.index.replace(predicate, relation)
            if not count:
                continue
            found += count
            self._report(origin, predicate, count)
            self.index.schema_changes += 1  # they may be: not looked at one by one
            for position, _ in self._readers(predicate):
                module, pending = self.modules[position], self._pending[position]
                if module is origin:
                    continue
                if is_whole and module.receives_again:
                    pending.pop(predicate, None)
                    self._pend(position, predicate, relation)
                    continue
                new = relation.beyond(known) if new is None else new
                self._pend(position, predicate, new)
        return found

    def _report(self, origin: Module, predicate: int, count: int) -> None:
        """Count derived facts towards the limits, and name their origin if they are many."""
        if count > MAX_ROWS_UNRESERVED:
            at(f"{origin.name}, facts of {self._name_of(predicate)}")
        derived(count)

    @contextmanager
    def recording(self) -> Iterator[Candidates]:
        """Within the block all new facts are recorded in ``new_facts``."""
        self._is_recording = True
        yield self.new_facts
        self.new_facts, self._is_recording = {}, False  # an exception makes the engine worthless

    def exclude(self, predicate: int, removed: Relation) -> None:
        """Remove facts from the index and from pending facts. Precondition: they are in the index."""
        self.index.remove_relation(predicate, removed)
        if removed.is_compressed:
            self.index.schema_changes += 1
        else:
            self._watch(None, predicate, removed.pairs())
        for pending in self._pending:
            if predicate in pending:
                pending[predicate] = [part.less(removed) for part in pending[predicate]]


def _copied(candidates: Candidates) -> Candidates:
    """The same arrays in other lists, which may be emptied."""
    return {predicate: list(parts) for predicate, parts in candidates.items()}
