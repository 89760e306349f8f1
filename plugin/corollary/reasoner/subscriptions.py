"""Subscriptions: after each commit, the facts that came and went, explicit and inferred.

The facts are the difference of two immutable states: of the commit that was reported to the subscriber last,
and of the present one. Relations that a transaction has not changed are shared by both, so the cost is that
of the change. Invariant: every committed change is reported to every subscriber once, by one call for one or
more commits, also where a callback commits, or raises an exception. In one thread the calls come in the order
of the commits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from threading import RLock
from typing import Any

from corollary.columns import TripleIndex
from corollary.columns.pairs import Pairs, gathered
from corollary.columns.relation import FIRST_LITERAL_KEY, Relation
from corollary.kernels.interrupts import held
from corollary.kernels.sorted import Keys
from corollary.reasoner.snapshot import Triple
from corollary.reasoner.state import State, View
from corollary.reasoner.version import Version
from corollary.terms.dictionary import FIRST_BLANK_NODE

Pattern = tuple[Any, Any, Any]
"""Subject, predicate and object in the terms of the reasoner's owner; None matches any term."""


@dataclass
class FactChanges:
    """The facts that match a pattern and came or went, as lists of triples.

    An inferred fact that becomes explicit is in ``explicit_added`` and in ``inferred_removed``.
    """

    explicit_added: list[Triple] = field(default_factory=list)
    explicit_removed: list[Triple] = field(default_factory=list)
    inferred_added: list[Triple] = field(default_factory=list)
    inferred_removed: list[Triple] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether anything changed."""
        return any(vars(self).values())


Callback = Callable[[FactChanges], object]


@dataclass
class Subscriber:
    """A callback, its pattern, and the version of the commit that was reported to it last."""

    pattern: Pattern
    callback: Callback
    last_reported: Version


class Subscriptions:
    """The subscribers of one reasoner. ``committed`` gives the version of the last commit, derived."""

    def __init__(self, committed: Callable[[], Version]) -> None:
        self._committed = committed
        self._subscribers: dict[int, Subscriber] = {}
        self._numbers = count()
        self._lock = RLock()

    def subscribe(self, pattern: Pattern, callback: Callback) -> Callable[[], None]:
        """See ``Reasoner.subscribe``."""
        number = next(self._numbers)
        self._subscribers[number] = Subscriber(pattern, callback, self._committed())

        def unsubscribe() -> None:
            self._subscribers.pop(number, None)

        return unsubscribe

    def report(self) -> None:
        """Call all subscribers with what was committed since their last call; then raise their errors."""
        errors: list[Exception] = []
        for number in list(self._subscribers):
            subscriber = self._subscribers.get(number)  # a callback may have cancelled it
            changes = None if subscriber is None else held(self._lock, self._advance, subscriber)
            if subscriber is not None and changes:
                try:
                    subscriber.callback(changes)
                except Exception as error:
                    errors.append(error)
        if len(errors) > 1:
            raise ExceptionGroup("subscribers raised exceptions", errors)
        if errors:
            raise errors[0]

    def _advance(self, subscriber: Subscriber) -> FactChanges | None:
        before, now = subscriber.last_reported, self._committed()
        changes = None if before.derived is now.derived else _changes(before, now, subscriber.pattern)
        subscriber.last_reported = now
        return changes


def _changes(before: Version, now: Version, pattern: Pattern) -> FactChanges:
    """The matching facts that only one of two versions has."""
    if before.terms is now.terms:
        found = [_matches(now, index, pattern) for index in differences(before.state, now.state)]
    else:  # after a compaction ids are others
        old, new = (
            [
                set(_matches(version, view.shown, pattern))
                for view in (version.state.explicit, version.state.inferred)
            ]
            for version in (before, now)
        )
        found = [list(facts) for i in range(2) for facts in (new[i] - old[i], old[i] - new[i])]
    return FactChanges(*found)


def _matches(version: Version, index: TripleIndex, pattern: Pattern) -> list[Triple]:
    terms = version.terms
    ids = [None if term is None else terms.find(term) for term in pattern]
    if any(term is not None and i is None for term, i in zip(pattern, ids, strict=True)):
        return []
    return [(terms[s], terms[p], terms[o]) for s, p, o in View(index, index).match(*ids)]


def differences(before: State, now: State) -> tuple[TripleIndex, TripleIndex, TripleIndex, TripleIndex]:
    """The explicit facts added and removed, and the inferred facts added and removed.

    Cost: O(predicates + |changed relations' differences| log |I|).
    """
    found: tuple[dict[int, Keys], ...] = ({}, {}, {}, {})
    known = (before.facts.union, now.facts.union, before.index, now.index)
    for p in {p for index in known for p in index.predicates()}:
        then, explicit, old, new = (index.relation(p) for index in known)
        if then is explicit and old is new:
            continue
        added, removed = explicit.less(then), then.less(explicit)
        parts = [part.pairs().keys for part in (added, removed, new.less(old), old.less(new))]
        touched = gathered(parts)
        if p >= FIRST_BLANK_NODE:
            touched = touched[:0]
        touched = touched[touched < FIRST_LITERAL_KEY]  # RDF allows no other inferred facts
        was = old.contains(touched) & ~then.contains(touched)
        is_inferred = new.contains(touched) & ~explicit.contains(touched)
        changed = (parts[0], parts[1], touched[is_inferred & ~was], touched[was & ~is_inferred])
        for facts, keys in zip(found, changed, strict=True):
            if keys.size:
                facts[p] = keys
    indexes = [TripleIndex({p: Relation(Pairs(keys)) for p, keys in facts.items()}) for facts in found]
    return indexes[0], indexes[1], indexes[2], indexes[3]
