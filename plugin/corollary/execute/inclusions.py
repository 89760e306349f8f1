"""Inclusions between classes and properties, closed: what single-atom rules copy where.

An inclusion is a row of the family of a rule that ``program.shapes.inclusion_shape`` recognises: the facts of
a source are copied to a target. The inclusion module and the cluster apply the closure to facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from corollary.closure.reachability import close_graph, close_keys
from corollary.columns import TripleIndex
from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import (
    NO_KEYS,
    NO_PAIRS,
    Pairs,
    distinct,
    firsts,
    follow,
    pack,
    seconds,
    sorted_unique,
    swap,
)
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import family_rows
from corollary.execute.tuning import MAX_CLASSES_COMPARED, MAX_SOURCES_COMPARED
from corollary.kernels.sorted import Keys
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import InclusionShape, inclusion_shape

End = tuple[int, bool]
"""The subjects of a property, or its objects (True). As a source of properties: its facts, or inverses."""


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets of a property: properties, inverse properties, its domains and its ranges.

    ``equivalent`` is the least property that is included in this one, and includes it; True: as its inverse.
    """

    properties: tuple[int, ...]
    inverses: tuple[int, ...]
    domains: tuple[int, ...]
    ranges: tuple[int, ...]
    equivalent: End

    def classes(self, *, inverse: bool) -> tuple[int, ...]:
        """The domains, or the ranges."""
        return self.ranges if inverse else self.domains


@dataclass(frozen=True, slots=True)
class Source:
    """A property that is included in a target; ``inverse``: as its inverse, or its objects in a class.

    ``within``: properties that include this one, and are sources of the target as well. Where one of them
    has all its facts, this source adds nothing.

        p ⊑ q, q ⊑ r, all copies of p in q are known: what is in r is seen from q
    """

    predicate: int
    inverse: bool
    within: frozenset[int]


@dataclass(frozen=True, slots=True)
class Inclusions:
    """Closed inclusions as pairs (source, target), one set for every kind.

    ``inverses`` are inclusions between properties that swap subject and object.
    """

    classes: Pairs = NO_PAIRS
    properties: Pairs = NO_PAIRS
    inverses: Pairs = NO_PAIRS
    domains: Pairs = NO_PAIRS
    ranges: Pairs = NO_PAIRS
    _targets: dict[int, Targets] = field(default_factory=dict, init=False, repr=False, compare=False)
    _sources: dict[int, Sequence[Source]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _ends: dict[int, Sequence[Source]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _copied: list[Set[int]] = field(default_factory=list, init=False, repr=False, compare=False)
    _least: dict[tuple[int, ...], tuple[int, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def kinds(self) -> tuple[Pairs, Pairs, Pairs, Pairs, Pairs]:
        return self.classes, self.properties, self.inverses, self.domains, self.ranges

    def without(self, other: Inclusions) -> Inclusions:
        """The inclusions that ``other`` does not have."""
        return Inclusions(*(new.minus(old) for new, old in zip(self.kinds, other.kinds, strict=True)))

    def __len__(self) -> int:
        size = self.classes.keys.size + self.properties.keys.size + self.inverses.keys.size
        return size + self.domains.keys.size + self.ranges.keys.size

    def copied(self) -> Set[int]:
        """The properties that have targets, looked up once."""
        if not self._copied:
            _, *kinds = self.kinds
            self._copied.append({name for kind in kinds for name in kind.distinct_firsts().tolist()})
        return self._copied[0]

    def targets(self, predicate: int) -> Targets:
        """The targets of a property, looked up once."""
        found = self._targets.get(predicate)
        if found is None:
            _, *kinds = self.kinds
            properties, inverses, domains, ranges = (tuple(kind.seconds_of(predicate)) for kind in kinds)
            same = [(other, False) for other in properties if self.properties.has(other << 32 | predicate)]
            same += [(other, True) for other in inverses if self.inverses.has(other << 32 | predicate)]
            least = min([(predicate, False), *same])
            found = self._targets[predicate] = Targets(properties, inverses, domains, ranges, least)
        return found

    def sources(self, target: int) -> Sequence[Source]:
        """The properties whose facts, or inverses, are copied to a property. Looked up once."""
        found = self._sources.get(target)
        if found is None:
            found = self._sources[target] = self._compared(
                self.properties.firsts_of(target), self.inverses.firsts_of(target), target
            )
        return found

    def ends(self, class_: int) -> Sequence[Source]:
        """The properties with a domain or a range (``inverse``). Looked up once."""
        found = self._ends.get(class_)
        if found is None:
            found = self._ends[class_] = self._compared(
                self.domains.firsts_of(class_), self.ranges.firsts_of(class_)
            )
        return found

    def _compared(
        self, straight: Sequence[int], inverse: Sequence[int], target: int = -1
    ) -> Sequence[Source]:
        """The sources of a target. More than ``MAX_SOURCES_COMPARED`` are not compared with each other.

        Of sources that include each other, all others are within the first. None is within the target.
        """
        ends = [*((source, False) for source in straight), *((source, True) for source in inverse)]
        larger: dict[End, set[End]] = {end: set() for end in ends}
        if len(ends) <= MAX_SOURCES_COMPARED:
            larger = {end: self._including(end) & larger.keys() for end in ends}
        return [
            Source(*end, frozenset({o[0] for o in found if o < end or end not in larger[o]} - {target}))
            for end, found in larger.items()
        ]

    def _including(self, end: End) -> set[End]:
        """The ends of other properties that have all terms of an end."""
        source, inverse = end
        targets = self.targets(source)
        straight = {(target, inverse) for target in targets.properties}
        return straight | {(target, not inverse) for target in targets.inverses}

    def least(self, classes: tuple[int, ...]) -> tuple[int, ...]:
        """Those of some classes from which inclusions lead to all others; of equivalent ones the first.

        All classes, if there are more than ``MAX_CLASSES_COMPARED``. Compared once.
        """
        if len(classes) > MAX_CLASSES_COMPARED:
            return classes
        found = self._least.get(classes)
        if found is None:
            left = list(classes)
            for class_ in reversed(classes):
                if any(other != class_ and self.classes.has(other << 32 | class_) for other in left):
                    left.remove(class_)
            found = self._least[classes] = tuple(left)
        return found


def closed_inclusions(
    rules: Iterable[tuple[CompiledRule, InclusionShape]],
    facts: TripleIndex,
    context: ExecutionContext,
    rdf_type: int,
) -> Inclusions:
    """The closure of the inclusions of some rules, given the guards among ``facts``."""
    rows: dict[tuple[bool, bool, bool], list[Keys]] = {}
    for rule, shape in rules:
        kind = (shape.from_class, shape.to_class, shape.is_inverse)
        rows.setdefault(kind, []).append(_rows(rule, shape, facts, context, rdf_type))

    def given(from_class: bool, to_class: bool, is_inverse: bool) -> Keys:
        return sorted_unique(np.concatenate(rows.get((from_class, to_class, is_inverse), [NO_KEYS])))

    classes = close_keys(given(True, True, False))
    classes = classes[firsts(classes) != seconds(classes)]
    properties, inverses = _close_properties(given(False, False, False), given(False, False, True))
    domains, ranges = given(False, True, False), given(False, True, True)
    # a property has the domains and ranges of the properties that include it, and their superclasses
    within, inverse_within = properties.by_object, inverses.by_object
    domains, ranges = (
        np.concatenate((domains, follow(within, domains), follow(inverse_within, ranges))),
        np.concatenate((ranges, follow(within, ranges), follow(inverse_within, domains))),
    )
    return Inclusions(
        Pairs(classes),
        properties,
        inverses,
        *(
            Pairs.of(np.concatenate((ends, follow(sort_keys(swap(ends)), classes))))
            for ends in (domains, ranges)
        ),
    )


def about_rdf_type(rule: CompiledRule, program: CompiledProgram) -> Sequence[CompiledRule]:
    """The rule with rdf:type in place of each variable property: such a rule is no inclusion."""
    shape = inclusion_shape(rule, program.rdf_type)
    assert shape is not None
    ends = [shape.source] * (not shape.from_class) + [shape.target] * (not shape.to_class)
    return program.about_rdf_type(rule, ends)


def _rows(
    rule: CompiledRule, shape: InclusionShape, facts: TripleIndex, context: ExecutionContext, rdf_type: int
) -> Keys:
    """The rows of a rule's family as pairs source << 32 | target; rdf:type is no property here."""
    rows = family_rows(rule, facts, context)
    if not rows.size:
        return NO_KEYS
    source, target = rows.column(shape.source), rows.column(shape.target)
    kept = np.ones(rows.size, np.bool_)
    if not shape.from_class:
        kept &= source != rdf_type
    if not shape.to_class:
        kept &= target != rdf_type
    return pack(source[kept], target[kept])


def _close_properties(straight: Keys, inverse: Keys) -> tuple[Pairs, Pairs]:
    """The closure of direct and of inverse inclusions between properties; two inverses make a direct one.

    Every property is two nodes of a graph: reached by an even or by an odd number of swaps. Direct inclusions
    of a property in itself are left out.
    """
    edges = np.concatenate((straight, inverse))
    nodes = distinct(np.concatenate((firsts(edges), seconds(edges))))
    is_inverse = np.repeat(np.array([0, 1]), [straight.size, inverse.size])
    start = 2 * np.searchsorted(nodes, firsts(edges))
    end = 2 * np.searchsorted(nodes, seconds(edges))
    starts, ends = (
        np.concatenate((start, start + 1)),
        np.concatenate((end + is_inverse, end + 1 - is_inverse)),
    )
    from_state, to_state = close_graph(2 * nodes.size, starts, ends)
    wanted = (from_state % 2 == 0) & (from_state != to_state)
    from_state, to_state = from_state[wanted], to_state[wanted]
    pairs, leads_to_inverse = pack(nodes[from_state // 2], nodes[to_state // 2]), to_state % 2 == 1
    return Pairs(sort_keys(pairs[~leads_to_inverse])), Pairs(sort_keys(pairs[leads_to_inverse]))
