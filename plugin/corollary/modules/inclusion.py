"""The inclusion module: chains of copy, inverse, domain and range rules, closed in one step.

A rule with a single data atom and no condition says that one class or property is included in
another, as it stands or turned round:

    D[?x] :- C[?x]
    q[?x, ?y] :- p[?x, ?y]      q[?y, ?x] :- p[?x, ?y]
    D[?x] :- p[?x, ?y]          D[?y] :- p[?x, ?y]

Class hierarchies, property hierarchies, inverses, domains and ranges are all made of such
inclusions, and usually most of an ontology is. They form a graph over classes and properties, whose
edges between properties carry one bit: whether subject and object change places. Its closure is
computed on arrays, once for a state of the schema; a new fact then gets all its targets at once, and
of what the module derives only new guards ever come back to it.

Invariant: ``_included`` is the closure of the inclusions of all rows of all its rules, and every
fact ever handed in (or present when an inclusion arrived) has been given its targets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary.algebra.execute import Candidates, family_rows
from corollary.index.closure import close_graph, close_keys
from corollary.index.pairs import (
    NO_KEYS,
    Pairs,
    difference,
    distinct,
    distinct_of_sorted,
    firsts,
    follow,
    pack,
    seconds,
    sorted_unique,
    swap,
)
from corollary.index.triples import TripleIndex
from corollary.kernels.sorted import Column, Keys
from corollary.modules.guards import Guards
from corollary.plan.compile import Atom, CompiledRule
from corollary.terms.dictionary import TermDictionary


@dataclass(frozen=True, slots=True)
class Shape:
    """An inclusion rule: its ends (an id, or a guard variable), what they are, and whether it flips."""

    source: int
    target: int
    from_class: bool
    to_class: bool
    flips: bool


def inclusion_shape(rule: CompiledRule, rdf_type: int) -> Shape | None:
    """The shape of a rule that is an inclusion, or None.

    Rules about rdf:type as a property are none (a copy of it would feed every class).
    """
    if len(rule.heads) != 1 or len(rule.data) != 1 or rule.conditions or not rule.is_monotone:
        return None
    body, head = rule.atoms[rule.data[0]], rule.heads[0]
    guarded = rule.guarded

    def end(atom: Atom) -> tuple[int, bool, tuple[int, ...]] | None:
        """The class or property of an atom, which of the two it is, and the atom's free variables."""
        if atom.p == rdf_type:
            settled = atom.o >= 0 or atom.o in guarded
            free = atom.s < 0 and atom.s not in guarded
            return (atom.o, True, (atom.s,)) if settled and free else None
        settled = atom.p >= 0 or atom.p in guarded
        free = atom.s < 0 and atom.o < 0 and atom.s != atom.o and not {atom.s, atom.o} & guarded
        return (atom.p, False, (atom.s, atom.o)) if settled and free else None

    source, target = end(body), end(head)
    if source is None or target is None or not set(target[2]) <= set(source[2]):
        return None
    if source[1] and not target[1]:
        return None
    flips = target[2][0] != source[2][0]
    return Shape(source[0], target[0], source[1], target[1], flips)


@dataclass(slots=True)
class Inclusions:
    """What includes what, closed: source << 32 | target, sorted, one array for every kind of inclusion."""

    classes: Keys
    properties: Keys
    inverses: Keys
    domains: Keys
    ranges: Keys

    @staticmethod
    def none() -> Inclusions:
        return Inclusions(NO_KEYS, NO_KEYS, NO_KEYS, NO_KEYS, NO_KEYS)

    def without(self, other: Inclusions) -> Inclusions:
        """What is new against an earlier state."""
        return Inclusions(
            difference(self.classes, other.classes),
            difference(self.properties, other.properties),
            difference(self.inverses, other.inverses),
            difference(self.domains, other.domains),
            difference(self.ranges, other.ranges),
        )

    def __len__(self) -> int:
        return sum(
            len(keys) for keys in (self.classes, self.properties, self.inverses, self.domains, self.ranges)
        )


class Inclusion:
    """All inclusion rules of a program, evaluated together."""

    name = "inclusion"

    def __init__(self, dictionary: TermDictionary, rdf_type: int) -> None:
        self.rules: list[CompiledRule] = []
        self._shapes: list[Shape] = []
        self._dictionary = dictionary
        self._rdf_type = rdf_type
        self._guards = Guards(rdf_type)
        self._included = Inclusions.none()
        self._waiting = False

    def add_rule(self, rule: CompiledRule, shape: Shape) -> None:
        """Take in a rule of that shape."""
        self.rules.append(rule)
        self._shapes.append(shape)
        self._guards.add(rule)
        self._waiting = True

    @property
    def is_waiting(self) -> bool:
        """Whether there are rules that were not applied yet."""
        return self._waiting

    def reads(self, predicate: int) -> bool:
        """Whether facts of that predicate can make a difference."""
        return bool(self.rules)  # which properties are included in others only the schema tells

    def returning(self, predicate: int, new: Pairs) -> Pairs:
        """The guards among its own conclusions come back to it: they may bring new instances."""
        return self._guards.part_of(predicate, new)

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Candidates:
        """Everything that the inclusions make of the recent facts, and new inclusions of all facts."""
        candidates: Candidates = {}
        if self._waiting or self._guards.are_among(recent):
            self._waiting = False
            included = self._closure(facts)
            self._apply(included.without(self._included), facts, candidates)
            known, self._included = self._included, included
        else:
            known = self._included
        self._apply(known, recent, candidates)
        return candidates

    def _closure(self, facts: TripleIndex) -> Inclusions:
        """The closed inclusions of the present schema, kind by kind."""
        rows: dict[tuple[bool, bool, bool], list[Keys]] = {}
        for rule, shape in zip(self.rules, self._shapes, strict=True):
            kind = (shape.from_class, shape.to_class, shape.flips)
            rows.setdefault(kind, []).append(self._rows(rule, shape, facts))

        def given(from_class: bool, to_class: bool, flips: bool) -> Keys:
            return sorted_unique(np.concatenate(rows.get((from_class, to_class, flips), [NO_KEYS])))

        classes = close_keys(given(True, True, False))
        classes = classes[firsts(classes) != seconds(classes)]
        properties, inverses = _close_turning(given(False, False, False), given(False, False, True))
        domains, ranges = given(False, True, False), given(False, True, True)
        # a property has the domains and ranges of those it is included in, and their superclasses
        within, turned_within = np.sort(swap(properties)), np.sort(swap(inverses))
        domains, ranges = (
            np.concatenate((domains, follow(within, domains), follow(turned_within, ranges))),
            np.concatenate((ranges, follow(within, ranges), follow(turned_within, domains))),
        )
        return Inclusions(
            classes,
            properties,
            inverses,
            *(
                sorted_unique(np.concatenate((ends, follow(np.sort(swap(ends)), classes))))
                for ends in (domains, ranges)
            ),
        )

    def _rows(self, rule: CompiledRule, shape: Shape, facts: TripleIndex) -> Keys:
        """The rows of a rule's family as pairs source << 32 | target."""
        rows = family_rows(rule, facts, self._dictionary)
        if not rows.size:
            return NO_KEYS
        source, target = rows.column(shape.source), rows.column(shape.target)
        kept = np.ones(rows.size, np.bool_)
        if not shape.from_class:
            kept &= source != self._rdf_type
        if not shape.to_class:
            kept &= target != self._rdf_type
        return pack(source[kept], target[kept])

    def _apply(self, included: Inclusions, facts: TripleIndex, candidates: Candidates) -> None:
        """Give the facts their targets."""
        if not len(included):
            return
        types = [follow(facts.relation(self._rdf_type).pairs().swapped, included.classes)]
        for keys, turned in ((included.properties, False), (included.inverses, True)):
            for source, target in zip(firsts(keys).tolist(), seconds(keys).tolist(), strict=True):
                relation = facts.relation(source)
                if len(relation):
                    copied = relation.pairs().keys
                    candidates.setdefault(target, []).append(swap(copied) if turned else copied)
        for keys, turned in ((included.domains, False), (included.ranges, True)):
            types.append(follow(_ends(facts, distinct_of_sorted(firsts(keys)), turned), keys))
        candidates.setdefault(self._rdf_type, []).extend(types)


def _close_turning(straight: Keys, turned: Keys) -> tuple[Keys, Keys]:
    """The closure of inclusions between properties, as they stand and turned round: two of these cancel.

    Every property is two nodes of a graph, reached either way. That it is included in itself is left out.
    """
    edges = np.concatenate((straight, turned))
    nodes = distinct(np.concatenate((firsts(edges), seconds(edges))))
    flips = np.repeat(np.array([0, 1]), [straight.size, turned.size])
    start = 2 * np.searchsorted(nodes, firsts(edges))
    end = 2 * np.searchsorted(nodes, seconds(edges))
    starts, ends = np.concatenate((start, start + 1)), np.concatenate((end + flips, end + 1 - flips))
    from_state, to_state = close_graph(2 * nodes.size, starts, ends)
    wanted = (from_state % 2 == 0) & (from_state != to_state)
    from_state, to_state = from_state[wanted], to_state[wanted]
    pairs, is_turned = pack(nodes[from_state // 2], nodes[to_state // 2]), to_state % 2 == 1
    return np.sort(pairs[~is_turned]), np.sort(pairs[is_turned])


def _ends(facts: TripleIndex, predicates: Column, turned: bool) -> Keys:
    """Pairs (predicate, subject) of the facts of some predicates, ascending; (.., object) if ``turned``."""
    parts = []
    for predicate in predicates.tolist():
        relation = facts.relation(predicate)
        if len(relation):
            pairs = relation.pairs()
            ends = pairs.distinct_seconds() if turned else pairs.distinct_firsts()
            parts.append(pack(np.full(ends.size, predicate, np.uint32), ends))
    return np.concatenate(parts or [NO_KEYS])
