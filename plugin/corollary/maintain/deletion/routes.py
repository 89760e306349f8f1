"""Which modules a search for proofs asks, looked up by the predicates of its candidates.

The answers depend on the precedence, the modules and the strata. Most transactions change none of these, so
that the engine keeps the answers for the next one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import TypeVar

from corollary.columns import Delta
from corollary.evaluate.engine import Engine
from corollary.evaluate.precedence import VALUES, Precedence
from corollary.maintain.layers import Layers
from corollary.maintain.tuning import MAX_ROUTES_KEPT
from corollary.modules.module import Module
from corollary.program.compile import is_virtual
from corollary.program.symmetry import symmetric_by_rules

Found = TypeVar("Found")

ANY = -1
"""In place of a predicate: a module may derive facts of any."""


def may_derive(module: Module, predicates: Set[int]) -> bool:
    """Whether a module may derive facts of some predicates: unknown, so true, unless it has one rule."""
    return not module.has_one_rule or any(
        head.p < 0 or head.p in predicates for rule in module.rules for head in rule.heads
    )


def _keep(known: dict[frozenset[int], Found], predicates: frozenset[int], found: Found) -> None:
    """Add an answer to those known, which are forgotten once they are ``MAX_ROUTES_KEPT``."""
    if len(known) >= MAX_ROUTES_KEPT:
        known.clear()
    known[predicates] = found


class Routes:
    """The modules that are asked, by predicate. Without an ``order`` all are asked for everything."""

    def __init__(self, modules: Sequence[Module], order: Precedence | None, strata: object = None) -> None:
        self.modules = tuple(modules)
        self._order = order
        self._strata = strata
        self._deriving: dict[frozenset[int], Sequence[Module]] = {}
        self._deriving_one: dict[int, Sequence[Module]] = {}
        self._beside: dict[frozenset[int], Set[int]] = {}
        self._inner: dict[int, Sequence[Module]] = {}
        self._one_step: dict[int, bool] = {}
        self._symmetric: dict[frozenset[int], frozenset[int]] = {}
        self.introduce_literals: bool | None = None  # whether rules do; not looked up yet
        self.tracking = [m for m in modules if type(m).lose_track is not Module.lose_track]
        self.supporting = [m for m in modules if type(m).supported is not Module.supported]
        self.witnessing = [m for m in modules if type(m).witnesses is not Module.witnesses]

    @staticmethod
    def of(engine: Engine, order: Precedence, layers: Layers) -> Routes:
        """Those of the last transaction, if they hold for this one."""
        known, modules = engine.routes, engine.fixpoint.modules
        if isinstance(known, Routes) and known._hold_for(modules, order, layers):
            return known
        engine.routes = routes = Routes(modules, order, layers.strata)
        return routes

    def _hold_for(self, modules: Sequence[Module], order: Precedence, layers: Layers) -> bool:
        return self._order is order and self._strata is layers.strata and self.modules == tuple(modules)

    def deriving(self, facts: Delta) -> Sequence[Module]:
        """The modules that may derive some of the facts. Modules without rules derive virtual facts."""
        return self._deriving_any_of(frozenset(facts.all_predicates()))

    def deriving_of(self, predicate: int) -> Sequence[Module]:
        """The modules that may derive facts of a predicate."""
        found = self._deriving_one.get(predicate)
        if found is None:
            found = self._deriving_one[predicate] = self._deriving_any_of(frozenset((predicate,)))
        return found

    def _deriving_any_of(self, predicates: frozenset[int]) -> Sequence[Module]:
        order = self._order
        if order is None:
            return self.modules
        found = self._deriving.get(predicates)
        if found is None:
            names = set[str]().union(*map(order.modules_deriving, predicates))
            has_virtual = any(map(is_virtual, predicates))
            found = [
                module
                for module in self._among(predicates)
                if (module.name in names and may_derive(module, predicates))
                or (has_virtual and not module.rules)
            ]
            _keep(self._deriving, predicates, found)
        return found

    def symmetric(self, given: frozenset[int]) -> frozenset[int]:
        """The predicates that depend on themselves and are symmetric by their rules, but for ``given`` ones.

        All of their rules are those of modules without state, which derive nothing else.
        """
        order = self._order
        if order is None:
            return frozenset()
        found = self._symmetric.get(given)
        if found is None:
            plain = [module for module in self.modules if not module.keeps_state]
            names = {module.name for module in plain}
            own = {p for p in order.recursive if order.modules_deriving(p) <= names} - given
            found = symmetric_by_rules([rule for module in plain for rule in module.rules], own)
            _keep(self._symmetric, given, found)
        return found

    def _among(self, predicates: Iterable[int]) -> Iterator[Module]:
        """The modules but those whose one rule derives facts of other predicates, in their order."""
        places = sorted({place for p in (ANY, *predicates) for place in self._places.get(p, ())})
        return (self.modules[place] for place in places)

    @cached_property
    def _places(self) -> Mapping[int, Sequence[int]]:
        """The places of the modules whose one rule derives facts of a predicate; all others are at ANY."""
        places: defaultdict[int, list[int]] = defaultdict(list)
        for place, module in enumerate(self.modules):
            heads = {head.p for rule in module.rules for head in rule.heads} if module.has_one_rule else {ANY}
            for predicate in {ANY} if not heads or min(heads) < 0 else heads:
                places[predicate].append(place)
        return places

    def with_beside(self, facts: Delta) -> Set[int]:
        """The predicates of the facts, and those beside them in the order."""
        predicates = frozenset(facts.all_predicates())
        if self._order is None:
            return predicates
        found = self._beside.get(predicates)
        if found is None:
            found = predicates | self._order.beside(predicates)
            _keep(self._beside, predicates, found)
        return found

    def inner(self, predicate: int) -> Sequence[Module]:
        """The modules by whose rules a predicate depends on predicates of its group."""
        order = self._order
        assert order is not None
        key = order.groups.get(predicate, predicate)
        if key not in self._inner:
            names, group = order.recursive[predicate], set(order.group_of(predicate))
            self._inner[key] = [
                module
                for module in self._among(group)
                if (module.name in names and may_derive(module, group))
                or (VALUES in names and not module.rules)
            ]
        return self._inner[key]

    def is_decided_in_one_step(self, predicate: int, layers: Layers) -> bool:
        """Whether one step from proved facts proves all that follows, of a predicate of the present level.

        True if the predicate does not depend on itself. Also if its group only depends on itself by modules
        that follow their rules in one step: from explicit facts, and from predicates that are not entered.
        """
        order = self._order
        assert order is not None
        if predicate not in order.recursive:
            return True
        if predicate not in self._one_step:
            group = order.group_of(predicate)
            closing = {module.name for module in self.modules if module.closes_premises}
            self._one_step[predicate] = len(layers.data_among(group)) == len(group) and all(
                other not in order.entered or order.modules_deriving(other) <= closing for other in group
            )
        return self._one_step[predicate]
