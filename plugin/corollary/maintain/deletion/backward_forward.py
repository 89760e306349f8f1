"""Backward/Forward: a candidate is deleted only if a search for another proof fails (``prover``).

Proofs in the data layer need a schema that is final. Where data leads to schema facts that are not proved
(``final_schema``), and in the layers of strata, DRed replaces this strategy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain

from corollary.columns import NOTHING, Candidates, Delta, Relation, TripleIndex
from corollary.evaluate import MaterialisedView
from corollary.evaluate.engine import Engine
from corollary.evaluate.precedence import Precedence
from corollary.execute.run_plan import extend
from corollary.kernels.limits import check
from corollary.maintain.cost_model import learnt_seconds, most_checks
from corollary.maintain.deletion.dred import DRed, DRedLayer
from corollary.maintain.deletion.halves import Halves
from corollary.maintain.deletion.lost_literals import introduce_literals, of_lost_literals
from corollary.maintain.deletion.prover import Prover
from corollary.maintain.deletion.routes import Routes
from corollary.maintain.final_schema import schema_is_final
from corollary.maintain.layers import DATA, SCHEMA
from corollary.maintain.one_by_one import FewDeletions
from corollary.maintain.report import Report
from corollary.maintain.strategy import Request
from corollary.maintain.transaction import LayerDeletion, LayerwiseStrategy, follow
from corollary.maintain.tuning import DELETIONS_PER_CHECK, MAX_PAIRS_PER_FACT_TO_SIFT, MIN_CANDIDATES_TO_SIFT
from corollary.maintain.workspace import Workspace
from corollary.modules.module import Module, NotFew


class BackwardForward:
    """Backward/Forward on schema and data, DRed on strata."""

    name = "backward/forward"

    def __init__(self, *, schema_is_proved: bool = False, otherwise: DRed | None = None) -> None:
        """``schema_is_proved``: in this transaction, although data leads to schema facts.

        ``otherwise`` takes the place of this strategy in this transaction if the schema is not proved.
        """
        self._schema_is_proved = schema_is_proved
        self._otherwise = DRed() if otherwise is None else otherwise

    def can_follow(self, request: Request) -> bool:
        """Whether the schema is final before the data is followed."""
        return schema_is_final(request)

    def seconds(self, request: Request) -> float:
        """The learnt estimate, which grows with the square root of |Δ⁻|: see ``cost_model``."""
        return learnt_seconds(request, self.name)

    def carry_out(self, request: Request, report: Report) -> MaterialisedView:
        """Follow the transaction layer by layer."""
        is_proved = request.engine.schema_depends_on_data and schema_is_final(request)
        strategy = BackwardForward(schema_is_proved=is_proved, otherwise=DRed.of(request))
        return follow(request, report, strategy)

    def fitting(self, engine: Engine) -> LayerwiseStrategy:
        """DRed if data leads to schema facts that are not proved, else this strategy."""
        return self._otherwise if engine.schema_depends_on_data and not self._schema_is_proved else self

    def most_losses(self, request: Request) -> float:
        """As many as proofs may check."""
        return most_checks(request)

    def on_layer(self, work: Workspace, layer: int) -> LayerDeletion:
        """DRed for a stratum, without a budget; else Backward/Forward."""
        if layer > DATA:
            return DRedLayer(work, layer)
        return BackwardForwardLayer(work, layer)


class BackwardForwardLayer:
    """Backward/Forward on one layer. In the data layer, candidates are decided in the order of levels.

    Without levels they are searched all at once: in the schema layer, and if some types are facts of strata.
    Then the types of the data layer are never final as a whole.

    When a level is decided, the facts of lower levels are final, and proved. So one step proves a candidate
    of a predicate that does not depend on itself. Neither is there anything to search for a predicate that
    one module closes, and that depends on itself by this module only: its external facts are proved, unless
    they are candidates. The other predicates are searched.
    """

    takes_compressed = True

    def __init__(self, work: Workspace, layer: int) -> None:
        engine = work.engine
        self.proved = work.proved_at_first(layer, with_schema=True)
        is_ordered = layer == DATA and work.layers.types_are_data
        self.order = engine.precedence(work.before) if is_ordered else None
        self._work = work
        self._modules = engine.schema_modules if layer == SCHEMA else work.modules
        if self.order is None:
            self._routes = Routes(self._modules, None)
        else:
            self._routes = Routes.of(engine, self.order, work.layers)
        self._settled = 0
        self._closed: set[int] = set()
        self._may_be_proved = False  # whether some candidates may be, before they are decided
        self._sifts = False
        self._hopeless: Delta = NOTHING  # what ``postponed`` found out about candidates to decide now
        self._types: Delta = NOTHING
        self._lost: Delta = NOTHING

    def followed_one_by_one(self, candidates: Delta) -> FewDeletions | None:
        """See ``FewDeletions``. Only in order: otherwise some premises are not final."""
        if self.order is None:
            return None
        found = FewDeletions(self._work.engine.fixpoint, self._routes.deriving_of, self.order, self.proved)
        try:
            found.follow(candidates)
        except NotFew:
            return None
        return found

    def may_postpone(self, candidates: Delta) -> bool:
        """If they are many, or once they were, in this layer."""
        self._sifts = self._sifts or len(candidates) >= MIN_CANDIDATES_TO_SIFT
        return self._sifts and self.order is not None

    def postponed(self, candidates: Delta) -> Delta:
        """Of many candidates to search for, all but those that are seen to have no proof.

        These are *hopeless*: types of classes that no rule concludes, facts of lost literals, and facts that
        no instance over I derives. They are deleted without a search. So are facts that lose their last
        instance by that, and so on; the search is left for the rest, and done once. For instances only
        predicates are sifted that modules without state derive, and closed ones: of these, paths over other
        facts are what counts. Most types follow from others in one step: that would look at them twice.
        """
        order = self.order
        if order is None or not self.may_postpone(candidates):
            return NOTHING
        searched = candidates.only(lambda predicate: self._may_wait(order, predicate))
        hopeless = searched.only(lambda predicate: self._is_sifted(order, predicate))
        half = self._halves.half(hopeless)
        for module in self._routes.deriving(half):
            if half and not module.keeps_state:
                check()
                found = Delta.gathered(module.rederive(half, self._work.index))
                half -= found
                hopeless -= self._halves.both(found)
        hopeless = self._left_without(order, hopeless)
        searched -= hopeless
        types = order.classes.no_conclusions(candidates, self._work.index)
        lost = self._of_lost_literals(searched - types)
        self._hopeless, self._types, self._lost = hopeless, types, lost
        return searched - types - lost

    def _may_wait(self, order: Precedence, predicate: int) -> bool:
        """Whether candidates of a predicate are searched for, and may be more when others are decided."""
        is_alone = predicate in order.alone and predicate != order.classes.rdf_type
        return predicate in order.recursive and not is_alone and not self._is_decided_in_one_step(predicate)

    def _is_sifted(self, order: Precedence, predicate: int) -> bool:
        """Whether only modules without state derive facts of a predicate, or one closes it to a sparse list.

        Paths over the other facts of a dense one pass many pairs for each node.
        """
        names = frozenset[str]() if predicate in order.alone else order.modules_deriving(predicate)
        keeping = [m for m in self._modules if m.name in names and m.keeps_state]
        if not keeping:
            return bool(names)
        relation = self._work.before.relation(predicate)
        bases = [basis for module in keeping if (basis := module.basis(predicate)) is not None]
        is_sparse = all(relation.size <= MAX_PAIRS_PER_FACT_TO_SIFT * basis.size for basis in bases)
        return bool(bases) and is_sparse and not relation.is_compressed

    def _left_without(self, order: Precedence, facts: Delta) -> Delta:
        """The facts but for those that modules with state derive from I without what is left of the facts.

        So facts that only each other derive are not left, and a loop does not keep a path of its own. All are
        asked again where more may follow from what was found; the module that closes it takes all steps.
        """
        keeping = [module for module in self._routes.deriving(facts) if module.keeps_state]
        names = {module.name for module in keeping}
        closed = facts.only(lambda p: not names.isdisjoint(order.modules_deriving(p)))
        is_open = bool(closed)
        while is_open:
            check()
            is_open, rest = False, self._work.index.snapshot()
            for predicate, relation in closed.all_relations():
                rest.remove_relation(predicate, relation)
            for module in keeping:
                found = Delta.gathered(module.rederive(closed, rest))
                closed, facts = closed - found, facts - found
                for predicate in found.all_predicates():
                    closing = {module.name} if module.basis(predicate) is not None else set[str]()
                    is_open = is_open or bool(names - order.modules_silent_on(predicate) - closing)
        return facts

    def undecided(self, candidates: Delta) -> Delta:
        """The candidates but for those that a module sees to follow from proved facts.

        Most single facts that lose a derivation have another one: none of them is searched for.
        """
        for module in self._routes.supporting if self.order is not None else ():
            found, candidates = candidates.parted(module.supported(candidates, self.proved))
            if found and any(candidates.relation(p).size for p in found.all_predicates()):
                self.proved.add_all(found)  # proofs of the others may need them
                self._may_be_proved = True  # if they were candidates already
        return candidates

    def unproved(self, candidates: Delta) -> Delta:
        """The candidates without a proof, and premises of theirs without a proof.

        Precondition: with an order, all candidates are of one level, and those of lower levels are decided.
        """
        order = self.order
        if order is None:
            return self._by_search(candidates, self._modules)
        if self._may_be_proved:
            candidates -= self.proved
            if not candidates:
                return NOTHING
        if not self._routes.deriving(candidates):
            return candidates
        self._settle(order, order.level(candidates.all_predicates()[0]))
        if self._sifts:
            found = self._types & candidates
        else:
            found = order.classes.no_conclusions(candidates, self._work.index)
        if found and not (candidates := candidates - found):
            return found
        plain = candidates.only(self._is_decided_in_one_step)
        found |= self._unproved_in_one_step(order, plain) if plain else NOTHING
        if plain is candidates:
            return found
        searched = candidates - plain
        for predicate in searched.all_predicates():
            wanted, module = searched.only(predicate.__eq__), self._closing(order, predicate)
            if module is not None:
                searched = searched.only(predicate.__ne__)
                found |= self._unproved_of_closed(order, module, predicate, wanted)
            elif self._work.before.relation(predicate).is_compressed:
                searched = searched.only(predicate.__ne__)
                found |= self._unproved_of_compressed(predicate, wanted - self.proved)
                searched -= self.proved
        found |= self._hopeless
        searched -= self._hopeless
        self._hopeless = NOTHING
        inner = {id(m): m for p in searched.all_predicates() for m in self._routes.inner(p)}
        return found | self._by_search(searched, [m for m in self._modules if id(m) in inner])

    def _is_decided_in_one_step(self, predicate: int) -> bool:
        """See ``Routes``."""
        return self._routes.is_decided_in_one_step(predicate, self._work.layers)

    def _unproved_in_one_step(self, order: Precedence, candidates: Delta) -> Delta:
        """The candidates without a proof in one step: first those that do not depend on their group.

        These are decided, so that all other facts of their predicates are proved.
        """
        rest = candidates.only(order.entered.__contains__)
        first = candidates - rest
        lost = self._after_one_step(first, self._routes.deriving(first)) if first else NOTHING
        if not rest:
            return lost
        groups = {other for predicate in rest.all_predicates() for other in order.group_of(predicate)}
        decided, index = groups - order.entered, self._work.index
        left = index.relations_of(decided)
        for predicate in left.keys() & lost.all_predicates():
            left[predicate] = left[predicate].minus_present(lost.relation(predicate).pairs())
        self.proved.complete_from(decided, TripleIndex(left))
        return lost | self._after_one_step(rest, self._routes.deriving(rest))

    def spares(self, module: Module, lost: Mapping[int, Relation]) -> bool:
        """Prove compressed facts that a module overdeletes, by one step of others from proved facts."""
        order = self.order
        if order is None:
            return False
        for predicate, relation in lost.items():
            names = order.modules_deriving(predicate) - {module.name}
            found = self._found_elsewhere(names, predicate, relation) - self.proved
            if found:
                self.proved.add_all(found)
                self._may_be_proved = True
                return True
        return False

    def _found_elsewhere(self, names: Collection[str], predicate: int, lost: Relation) -> Delta:
        """The lost facts that some modules derive from proved facts in one step, if these are found soon."""
        found = NOTHING
        for other in self._modules:
            if other.name not in names or not len(lost):
                continue
            if lost.is_compressed and not other.takes_compressed:
                if len(lost) > self._work.checks:
                    continue
                lost = Relation(lost.pairs())
            found |= Delta.gathered(other.rederive(TripleIndex({predicate: lost}), self.proved))
        return found

    def charge(self, deletions: int) -> None:
        """Do nothing: every strategy deletes the facts without a proof."""

    def restore(self, deleted: Delta) -> None:
        """Do nothing: no fact with a proof was deleted."""

    def _settle(self, order: Precedence, level: int) -> None:
        """Prove all facts of lower levels. Those without a level are explicit."""
        if level > self._settled:
            lower = chain.from_iterable(order.by_level[self._settled : level])
            self._settled, index = level, self._work.index
            self.proved.complete_from(self._work.layers.data_among(index.present_among(lower)), index)

    def _closing(self, order: Precedence, predicate: int) -> Module | None:
        """The module that closes a predicate alone and knows its external facts, if there is one."""
        inner = self._routes.inner(predicate) if predicate in order.alone else ()
        found = (module for module in inner if module.external(predicate) is not None)
        return next(found, None) if len(inner) == 1 else None

    def _unproved_of_closed(self, order: Precedence, module: Module, predicate: int, wanted: Delta) -> Delta:
        """The wanted facts without a proof, of a predicate that depends on itself by one module only."""
        request, engine = self._work.request, self._work.engine
        if predicate not in self._closed:
            external = module.external(predicate)
            assert external is not None
            self._closed.add(predicate)
            before = self._work.before.relation(predicate)
            if before.is_compressed:  # facts that it loses are not decided one by one: all of E must be known
                module.note_proved(predicate, self.proved.relation(predicate), before)
                external = module.external(predicate)
                assert external is not None
            remaining = TripleIndex({predicate: external.minus(wanted.keys(predicate))})
            self.proved.share((predicate,), remaining)
        given = (wanted & request.explicit) | (wanted & engine.axioms)
        self.proved.add_all(given)
        others = [other for other in self._routes.deriving(wanted) if other is not module]
        left = self._after_one_step(wanted - given, others)
        lost = self._after_one_step(left, [module])
        module.note_external(predicate, (wanted - left).keys(predicate), (left - lost).keys(predicate))
        return lost

    def _unproved_of_compressed(self, predicate: int, wanted: Delta) -> Delta:
        """The wanted facts without a proof, of a compressed predicate that other modules derive too.

        Of the facts from which all others follow, those are proved that other modules derive in one step from
        proved facts; then the closure of these is looked up. Facts that other modules may still derive are
        searched, until no search proves more. The rest is returned, also what a closure of more facts has:
        the module that closes the predicate adds such facts again when deletions are final. If no module
        closes the predicate, its compressed facts are copies by equality, and the wanted facts are searched.

            q symmetric and transitive, a q b explicit: b q a is proved by inverting it
        """
        self._lose_track(wanted)
        for module in self._modules:
            basis = module.basis(predicate)
            if basis is None or not wanted:
                continue
            others = [other for other in self._modules if other is not module]
            open_to = self._searched_beside(predicate, others)
            left = (wanted | Delta.of_relations({predicate: basis})) - self.proved
            left = self._after_one_step(left, others)
            self._after_one_step(left, [other for other in others if other not in open_to])
            while True:
                wanted = self._after_one_step(wanted - self.proved, [module])
                rest = self._work.index.snapshot()
                rest.remove(predicate, rest.relation(predicate).common(wanted.keys(predicate)))
                open_ = NOTHING
                for other in open_to:
                    open_ |= Delta.gathered(other.rederive(wanted, rest))
                lost = self._by_search(open_, self._routes.inner(predicate))
                if not open_ & self.proved:
                    return (wanted - open_) | lost
                self._after_one_step(wanted - self.proved, others)
        return self._by_search(wanted, self._routes.inner(predicate))  # copies, no paths

    def _searched_beside(self, predicate: int, others: Sequence[Module]) -> Sequence[Module]:
        """Of the modules beside that which closes a predicate, those whose conclusions may need a search.

        If the predicate depends on itself alone, copying rules only invert its facts. The inverse of a path
        is a path of inverses: one step from proved facts proves the inverses of all that need no path.
        """
        order = self.order
        is_alone = order is not None and len(order.group_of(predicate)) == 1
        return [other for other in others if not (is_alone and other.closes_premises)]

    def _lose_track(self, facts: Delta) -> None:
        """Notify the modules that facts of these predicates, and of those beside them, lose derivations."""
        predicates = self._routes.with_beside(facts)
        for module in self._routes.tracking:
            for predicate in predicates:
                module.lose_track(predicate)

    def _after_one_step(self, wanted: Delta, modules: Iterable[Module]) -> Delta:
        """The wanted facts that no module derives from proved facts in one step. The others are proved."""
        for module in modules:
            if not wanted:
                break
            check()
            found = Delta.gathered(module.rederive(wanted, self.proved))
            if found:
                self.proved.add_all(found)
                wanted -= found
        return wanted

    def _prove_some(self, witnesses: Delta) -> None:
        """Prove some witnesses by the first module that can."""
        for module in self._routes.deriving(witnesses):
            found = Delta.gathered(module.rederive(witnesses, self.proved))
            if found:
                self.proved.add_all(self._halves.both(found))
                return

    def _by_search(self, wanted: Delta, inner: Sequence[Module]) -> Delta:
        """The wanted facts without a proof, and premises of theirs without a proof, after a search.

        Only the ``inner`` modules derive facts that are searched from facts that are not proved yet.
        """
        if not wanted:
            return wanted
        self._lose_track(wanted)
        few: Candidates = {}  # also for what goes without a search: modules overdelete less by it
        for module in self._routes.witnessing:
            extend(few, module.witnesses(wanted, self._work.index, self.proved))
        if few:
            self._prove_some(Delta.among(few, self._work.index) - wanted - self.proved)
        lost = self._of_lost_literals(wanted)
        left = wanted - lost
        return lost | self._prover.unproved(left, self._work.index, inner) if left else lost

    @cached_property
    def _prover(self) -> Prover:
        """The search for proofs, which most removals of single facts do not need."""
        coming = self._work.start.added.all_predicates()
        clock, most = self._work.clock, self._work.checks

        def note(facts: int) -> None:
            clock.note("proofs", DELETIONS_PER_CHECK * facts)

        return Prover(self._modules, self.proved, most, coming, self._routes, self._halves, note)

    @cached_property
    def _halves(self) -> Halves:
        """The predicates of which one half is searched: their facts are symmetric before and afterwards."""
        work = self._work
        is_settled = not (work.engine.strata or work.start.strata.suspended)
        if not is_settled or work.request.program is not work.request.before.program:
            return Halves(())
        given = frozenset[int]()
        symmetric = self._routes.symmetric(given)
        while explicit := {p for p in symmetric if self._may_be_one_sided(p)}:
            given |= explicit
            symmetric = self._routes.symmetric(given)
        return Halves(symmetric)

    def _may_be_one_sided(self, predicate: int) -> bool:
        """Whether a fact of a predicate is, or was, explicit or an axiom; or one step proves its facts."""
        request, axioms = self._work.request, self._work.engine.axioms
        given = (request.explicit, request.removed, axioms)
        is_given = any(len(facts.relation(predicate)) for facts in given)
        return is_given or self._is_decided_in_one_step(predicate)

    def _of_lost_literals(self, wanted: Delta) -> Delta:
        """See ``lost_literals``; none if rules introduce literals."""
        known, routes = self._lost & wanted, self._routes
        found = of_lost_literals(wanted - known, self._work.request.explicit)
        if found and routes.introduce_literals is None:
            routes.introduce_literals = introduce_literals(self._work.engine.compiled.rules)
        return known if routes.introduce_literals else known | found
