"""The precedence of predicates: the order in which deletions of facts are decided.

The live rules make a graph of predicates: an edge from each predicate that a data atom reads to each that
the rule derives. Its strongly connected components have levels, such that no edge leads to a lower level. If
no fact of a lower level is to be deleted any more, the facts of the lower levels are final, and a proof of a
fact of a level ends there. An edge between two components leads to a higher level, unless all modules that
connect them, or one of them with itself, follow rules backward in one step (``Module.closes_premises``).

    [?x, q, ?y] :- [?x, p, ?y] .   p: level 0, final when facts of q are decided, and q: level 1
    [?x, q, ?z] :- [?x, q, ?y], [?y, q, ?z] .   q depends on itself by this rule alone

Guards do not count: the schema is final before the data.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corollary.columns import NOTHING, Delta, TripleIndex
from corollary.columns.pairs import among
from corollary.evaluate.assignment import Assignment
from corollary.evaluate.concluded_classes import ConcludedClasses
from corollary.kernels.sorted import Column
from corollary.program.compile import Atom, CompiledRule, Tables, is_virtual
from corollary.program.dependencies import components_of

Edge = tuple[int, int]
"""The predicate that a rule reads, and the one that it derives."""

ANY_READ, ANY_DERIVED = 0xFFFFFFFF, 0xFFFFFFFE
"""The nodes of atoms whose predicate is a variable that no guard binds."""

LINKS, VALUES = "links", "values"
"""In place of a module: what links predicates to these nodes, and to virtual relations without rules."""


NO_NAMES: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Precedence:
    """The level of each predicate, and the modules whose rules it depends on itself by.

    Predicates of one level that edges connect, in either direction, form a *group*: they have the same number
    in ``groups``. Those of ``entered`` depend on predicates of their group, or on themselves. ``recursive``
    has the names of the modules of the edges within a predicate's group. Those of ``alone`` are components of
    their own. Predicates without a level are in no edge: their facts are explicit, and lead to nothing.
    ``derived_by`` has the names of the modules with live rules that derive facts of a predicate, or of
    ``ANY_DERIVED``. ``silent_on`` has the names of the modules with rules that derive nothing from facts of a
    predicate; ``silent`` are those for predicates that no live rule reads, and that have no guards.
    ``classes`` are those of which live rules conclude instances.
    """

    levels: Mapping[int, int]
    recursive: Mapping[int, frozenset[str]]
    alone: frozenset[int]
    derived_by: Mapping[int, frozenset[str]]
    groups: Mapping[int, int]
    entered: frozenset[int]
    silent_on: Mapping[int, frozenset[str]]
    silent: frozenset[str]
    classes: ConcludedClasses

    @cached_property
    def by_level(self) -> Sequence[Sequence[int]]:
        """The predicates of each level."""
        found: list[list[int]] = [[] for _ in range(1 + max(self.levels.values(), default=-1))]
        for predicate, level in self.levels.items():
            found[level].append(predicate)
        return found

    def level(self, predicate: int) -> int:
        """The level of a predicate, -1 if it is in no edge."""
        return self.levels.get(predicate, -1)

    def least(self, facts: Delta) -> int:
        """The least level of some facts. Precondition: there are facts."""
        levels = self.levels
        return min([levels.get(predicate, -1) for predicate in facts.all_predicates()])

    def beside(self, predicates: Collection[int]) -> set[int]:
        """The predicates on the levels of the given ones whose components have several predicates."""
        levels = {self.levels[predicate] for predicate in predicates if predicate in self.levels}
        return {p for p in self.recursive if p not in self.alone and self.levels[p] in levels}

    def group_of(self, predicate: int) -> Sequence[int]:
        """The predicates of the group of a predicate; a predicate without a level is alone."""
        group = self.groups.get(predicate)
        return [predicate] if group is None else self._by_group[group]

    @cached_property
    def _by_group(self) -> Mapping[int, Sequence[int]]:
        """The predicates of each group."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for predicate, group in self.groups.items():
            found[group].append(predicate)
        return found

    def precedes(self, predicate: int, other: int) -> bool:
        """Whether all facts of a predicate are decided before any fact of another one is."""
        levels = self.levels
        return levels.get(predicate, -1) < levels.get(other, -1)

    def modules_deriving(self, predicate: int) -> frozenset[str]:
        """The names of the modules that may derive facts of a predicate."""
        found, any_ = self.derived_by.get(predicate, NO_NAMES), self._deriving_any
        return found | any_ if any_ else found

    @cached_property
    def _deriving_any(self) -> frozenset[str]:
        return self.derived_by.get(ANY_DERIVED, NO_NAMES)

    def modules_silent_on(self, predicate: int) -> frozenset[str]:
        """The names of modules that derive nothing from facts of a predicate; some may be missing."""
        return self.silent_on.get(predicate, self.silent)

    def first(self, facts: Delta) -> tuple[Delta, Delta]:
        """The facts of the least level, and the others. Precondition: there are facts."""
        predicates = facts.all_predicates()
        if len(predicates) == 1:
            return facts, NOTHING
        least = self.least(facts)
        return (
            facts.only(lambda predicate: self.level(predicate) == least),
            facts.only(lambda predicate: self.level(predicate) > least),
        )


@dataclass(frozen=True)
class KnownPrecedence:
    """A precedence, and what it was made of: the rules' assignments, their guards, and the predicates."""

    precedence: Precedence
    assignments: tuple[Assignment, ...]
    guards: Delta
    predicates: frozenset[int]

    def holds_for(self, assignments: Collection[Assignment], guards: Delta, facts: TripleIndex) -> bool:
        """Whether it still holds: fewer predicates make no further rules live."""
        return (
            (self.predicates >= facts.known_predicates or self.predicates.issuperset(facts.all_predicates()))
            and self.assignments == tuple(assignments)
            and (self.guards.is_as(guards) or (len(self.guards) == len(guards) and not self.guards - guards))
        )


def precedence_of(
    assignments: Iterable[Assignment],
    facts: TripleIndex,
    tables: Tables,
    schema: Collection[int],
    closing: Collection[str],
    rdf_type: int,
) -> Precedence:
    """The precedence by the monotone rules that are live over ``facts``, and the predicates with facts.

    Virtual relations without rules, but for those of the ``schema``, depend on all other predicates.
    ``closing`` are the names of the modules with ``closes_premises``.
    """
    present = np.sort(np.array(facts.all_predicates(), np.uint32))
    by_module: dict[str, set[Edge]] = {}
    derived_by: dict[int, set[str]] = {}
    modules, guarding, classes = set[str](), set[int](), ConcludedClasses(rdf_type)
    for assignment in assignments:
        rule = assignment.rule
        if not (rule.source.body and rule.heads and rule.is_monotone):
            continue
        modules.add(assignment.module)
        guarding.update(rule.atoms[position].p for position in rule.guards)
        if _is_live(rule, facts):
            size, columns = _live_rows(rule, *tables(rule), present)
            edges, derived = _edges(rule, size, columns)
            classes.add(rule, size, columns)
            by_module.setdefault(assignment.module, set()).update(edges)
            for predicate in derived:
                derived_by.setdefault(predicate, set()).add(assignment.module)
    read, derived = ({edge[end] for edges in by_module.values() for edge in edges} for end in (0, 1))
    predicates = {*facts.all_predicates(), *derived} - {ANY_READ, ANY_DERIVED}
    virtual = {p for p in predicates if is_virtual(p)} - derived - set(schema)
    links = {(p, ANY_READ) for p in predicates if ANY_READ in read}
    links |= {(ANY_DERIVED, p) for p in predicates if ANY_DERIVED in derived}
    by_module[LINKS], by_module[VALUES] = links, {(p, v) for v in virtual for p in predicates - virtual}
    reading: dict[int, set[str]] = dict.fromkeys(guarding, modules)
    for module, edges in by_module.items():
        for source in {source for source, _ in edges}:
            reading[source] = reading.get(source, set()) | {module}
    silent = frozenset(modules - reading.get(ANY_READ, set()))
    return _levelled(
        by_module,
        closing,
        {predicate: frozenset(names) for predicate, names in derived_by.items()},
        {predicate: silent - names for predicate, names in reading.items()},
        silent,
        classes,
    )


def _levelled(
    by_module: Mapping[str, Collection[Edge]],
    closing: Collection[str],
    derived_by: Mapping[int, frozenset[str]],
    silent_on: Mapping[int, frozenset[str]],
    silent: frozenset[str],
    classes: ConcludedClasses,
) -> Precedence:
    """The precedence by the edges of each module."""
    edges = [(module, *edge) for module, found in by_module.items() for edge in sorted(found)]
    component_of = components_of([(source, target) for _, source, target in edges])
    sizes = Counter(component_of.values())
    between: dict[tuple[int, int], set[str]] = {}
    for module, source, target in edges:
        between.setdefault((component_of[source], component_of[target]), set()).add(module)
    costly = {
        source
        for (source, target), modules in between.items()
        if source == target and not modules.issubset(closing)
    }
    levels, group_of = dict.fromkeys(sizes, 0), list(range(len(sizes)))
    steps = sorted((source, target) for source, target in between if source != target)
    apart = {ends for ends in steps if not between[ends].issubset(closing) or not costly.isdisjoint(ends)}
    for source, target in steps:  # in topological order
        levels[target] = max(levels[target], levels[source] + ((source, target) in apart))
    for source, target in steps:
        if levels[source] == levels[target]:
            _unite(group_of, source, target)
    groups = {node: _root(group_of, component) for node, component in component_of.items()}
    inner: dict[int, set[str]] = {}
    entered: set[int] = set()
    for module, source, target in edges:
        if groups[source] == groups[target]:
            inner.setdefault(groups[source], set()).add(module)
            entered.add(target)
    return Precedence(
        {node: levels[component] for node, component in component_of.items()},
        {node: frozenset(inner[group]) for node, group in groups.items() if group in inner},
        frozenset(node for node, component in component_of.items() if sizes[component] == 1),
        derived_by,
        groups,
        frozenset(entered),
        silent_on,
        silent,
        classes,
    )


def _unite(parents: list[int], one: int, other: int) -> None:
    """Unite the sets of two numbers, in a union-find forest."""
    parents[_root(parents, one)] = _root(parents, other)


def _root(parents: list[int], number: int) -> int:
    """The number that stands for the set of a number."""
    while parents[number] != number:
        parents[number] = number = parents[parents[number]]
    return number


def _is_live(rule: CompiledRule, facts: TripleIndex) -> bool:
    """Whether all guards have a match, and all predicates of data atoms have facts."""
    guards = (rule.atoms[position] for position in rule.guards)
    return all(facts.has_match(atom.s, atom.p, atom.o) for atom in guards) and all(
        rule.atoms[position].p < 0 or len(facts.relation(rule.atoms[position].p)) for position in rule.data
    )


def _live_rows(
    rule: CompiledRule, size: int, columns: Mapping[int, Column], present: Column
) -> tuple[int, Mapping[int, Column]]:
    """The rows of a rule's family whose data atoms read predicates that are ``present`` (ascending).

    A rule without guards has one row, and no columns.
    """
    kept = [among(columns[p], present) for i in rule.data if (p := rule.atoms[i].p) in columns]
    if not kept:
        return size, columns
    mask = np.logical_and.reduce(kept)
    return int(mask.sum()), {variable: column[mask] for variable, column in columns.items()}


def _edges(rule: CompiledRule, size: int, columns: Mapping[int, Column]) -> tuple[set[Edge], set[int]]:
    """The edges of a rule's instances by some rows of its family, and the predicates that it derives."""
    data = [rule.atoms[position] for position in rule.data]
    edges: set[Edge] = set()
    derived: set[int] = set()
    for head in rule.heads if size else ():
        targets = _predicates(head, columns, ANY_DERIVED)
        derived.update(targets)
        for atom in data:
            found = _pairs(_predicates(atom, columns, ANY_READ), targets)
            if (atom.s, atom.o) == (head.s, head.o):  # in a row with one predicate, a fact derives itself
                found = {(source, target) for source, target in found if source != target}
            edges |= found
    return edges, derived


def _predicates(atom: Atom, columns: Mapping[int, Column], unbound: int) -> list[int]:
    """The predicate of an atom: one for all rows of a family's table, or one for each."""
    if atom.p in columns:
        return columns[atom.p].tolist()  # type: ignore[no-any-return]
    return [atom.p if atom.p >= 0 else unbound]


def _pairs(sources: list[int], targets: list[int]) -> set[Edge]:
    """The distinct pairs, row by row."""
    size = max(len(sources), len(targets))
    return {*zip(sources * (size // len(sources)), targets * (size // len(targets)), strict=True)}
