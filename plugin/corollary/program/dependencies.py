"""The dependency graph over predicates and classes, and its strongly connected components.

An edge leads from a node that a rule reads to a node that it derives. A family has edges for every row of
its table: the graph is that of the rule instances. Each class has its own node, so two classes of an
ontology depend on each other only if axioms say so.

Open nodes stand for a class or property that is a variable: *any class* and *any property*, read or
derived. A rule that copies the property of a fact (``eq-rep-s``) makes every property depend on itself
only, by two more open nodes. Where an open property may be rdf:type, the rule's variant with rdf:type
(``about_rdf_type``) has edges too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corollary.closure.strong_components import compressed
from corollary.columns import FIRST_VIRTUAL, TripleIndex
from corollary.columns.pairs import among, distinct, pack
from corollary.kernels.graph import strong_components
from corollary.kernels.sorted import Column
from corollary.language import RDF
from corollary.program.compile import Atom, CompiledRule, Tables
from corollary.program.compiled_program import VALUE_BUILTINS, CompiledProgram
from corollary.program.edges import (
    CLASS,
    COPIED_CLASS,
    COPIED_PROPERTY,
    DERIVED_CLASS,
    DERIVED_PROPERTY,
    OPEN_NODES,
    OPEN_PROPERTIES,
    READ_CLASS,
    READ_PROPERTY,
    Edge,
    Node,
    OwnEdges,
)
from corollary.program.recursion import recursive_aggregate


@dataclass(frozen=True, slots=True)
class DependencyGraph:
    """Edges, nodes, and the strongly connected components in topological order: sources before targets."""

    edges: tuple[Edge, ...]
    nodes: tuple[Node, ...]
    component_of: dict[Node, int]
    components: tuple[tuple[Node, ...], ...]


def live_edges(
    program: CompiledProgram, facts: TripleIndex, tables: Tables, without: Collection[int] = ()
) -> tuple[Edge, ...]:
    """The edges of the rule instances whose bodies can hold over these facts.

    An instance is live if each of its positive atoms has facts, or is derived by a live instance.
    Precondition: ``facts`` are closed under the monotone rules. ``tables`` gives the table of a family;
    ``without`` are the numbers of rules to leave out.
    """
    rdf_type = program.rdf_type
    waiting: list[tuple[CompiledRule, OwnEdges | None]] = []
    for rule in program.rules:
        if rule.heads and rule.source.body and rule.number not in without:
            by_itself = own_edges(program, rule)
            waiting.append((rule, None if by_itself.has_instances else by_itself))
            waiting += [(variant, None) for variant in by_itself.variants]
    known = _nodes_with_facts(facts, rdf_type)
    found: list[Edge] = []
    of_instances: dict[tuple[Node, Node, int, bool], Edge] = {}
    size = -1
    while size != (size := len(known)):
        left: list[tuple[CompiledRule, OwnEdges | None]] = []
        for rule, own in waiting:
            if own is not None and own.needs <= known:
                found += own.edges
                known |= own.targets
                continue
            left.append((rule, own))
            if own is None:
                for edge in _rule_edges(rule, tables, rdf_type, known):
                    of_instances.setdefault((edge.source, edge.target, rule.number, edge.negative), edge)
                    known.add(edge.target)
        waiting = left
    found += of_instances.values()
    return (*found, *_list_edges(found, program), *_open_edges(found, rdf_type))


def _list_edges(edges: Sequence[Edge], program: CompiledProgram) -> Iterator[Edge]:
    """Links from rdf:first and rdf:rest to every virtual relation of lists that a rule reads."""
    find = program.dictionary.find
    cells = [cell for name in ("first", "rest") if (cell := find(f"<{RDF}{name}>")) is not None]
    of_values = set(map(find, VALUE_BUILTINS))
    read = {edge.source: edge.rule for edge in edges if FIRST_VIRTUAL <= edge.source < CLASS}
    for relation, rule in read.items():
        if relation not in of_values:
            yield from (Edge(cell, relation, rule, False, True) for cell in cells)


def static_edges(program: CompiledProgram) -> tuple[Edge, ...]:
    """The edges that exist for all facts, whether or not a body can hold.

    An edge with an open node is left out if its rule has guards, or if the edge has an open property.
    """
    edges = [
        edge
        for rule in program.rules
        if rule.heads and rule.source.body
        for edge in own_edges(program, rule).edges
        if not (rule.guards or edge.source in OPEN_PROPERTIES or edge.target in OPEN_PROPERTIES)
        or not OPEN_NODES.keys() & {edge.source, edge.target}
    ]
    return (*edges, *_open_edges(edges, program.rdf_type))


def own_edges(program: CompiledProgram, rule: CompiledRule) -> OwnEdges:
    """The edges of a rule with its guarded variables left open. Cached in the program."""
    known = program.own_edges.get(rule.number)
    if known is None:
        found = _rule_edges(rule, lambda _: (1, {}), program.rdf_type, None)
        edges = tuple({(edge.source, edge.target, edge.negative): edge for edge in found}.values())
        positive = (*rule.atoms, *(atom for grouping in rule.groupings for atom in grouping.atoms))
        needs = {_node(atom, program.rdf_type, READ_CLASS, READ_PROPERTY) for atom in positive}
        free = {atom.p for atom in rule.atoms if atom.p < 0} - rule.guarded
        known = program.own_edges[rule.number] = OwnEdges(
            frozenset(needs - OPEN_NODES.keys()),
            frozenset(edge.target for edge in edges),
            edges,
            bool(rule.guards) or not all(condition.needs for condition in rule.conditions),
            tuple(program.about_rdf_type(rule, sorted(free))),
        )
    return known


def _nodes_with_facts(facts: TripleIndex, rdf_type: int) -> set[Node]:
    classes = facts.relation(rdf_type).pairs().distinct_seconds().tolist()
    return {*facts.all_predicates(), *(CLASS + c for c in classes)}


def _rule_edges(rule: CompiledRule, tables: Tables, rdf_type: int, known: set[Node] | None) -> Iterator[Edge]:
    """The edges of the instances whose positive atoms all have ``known`` nodes; of all instances if None.

    ``known`` nodes have facts, or are derived by a live instance. Open nodes count as known.
    """
    size, columns = tables(rule)
    if rule.along is not None and known is not None:
        size, columns = _whole_lists(rule, size, columns, rdf_type, known)
    if not size:
        return
    positive = [*rule.atoms, *(a for g in rule.groupings for a in g.atoms)]
    negative = [a for n in rule.negations for a in n.atoms]
    reads = len(positive) + len(negative)
    closed = closed_atoms(rule)
    aggregated = {i for i in range(len(rule.atoms), len(positive)) if positive[i] in closed}
    read = (*positive, *negative)
    for row in _rows(rule, read, columns, size, rdf_type):
        if known is not None and not known.issuperset({*row[: len(positive)]} - OPEN_NODES.keys()):
            continue
        for target_position, target in enumerate(row[reads:]):
            head = rule.heads[target_position]
            for position, source in enumerate(row[:reads]):
                atom = read[position]
                if atom.p < 0 and atom.p == head.p and source == READ_PROPERTY:
                    yield Edge(COPIED_PROPERTY, COPIED_PROPERTY, rule, False)
                    continue  # the head copies the property that the atom reads
                if source == READ_CLASS and target == DERIVED_CLASS and atom.o == head.o:
                    yield Edge(COPIED_CLASS, COPIED_CLASS, rule, False)
                    continue
                is_negative = position >= len(positive) or position in aggregated
                yield Edge(source, target, rule, is_negative)


def closed_atoms(rule: CompiledRule) -> list[Atom]:
    """The atoms whose facts must be complete before the rule is evaluated: negated, or in aggregates.

    A recursive aggregate reads its own conclusions as they come.
    """
    recursive = recursive_aggregate(rule)
    own = None if recursive is None else recursive.predicate
    negated = [atom for negation in rule.negations for atom in negation.atoms]
    inside = [atom for grouping in rule.groupings for atom in grouping.atoms]
    return [*negated, *(atom for atom in inside if atom.p != own)]


def _whole_lists(
    rule: CompiledRule, size: int, columns: Mapping[int, Column], rdf_type: int, known: set[Node]
) -> tuple[int, Mapping[int, Column]]:
    """The rows of a family over long lists whose list has, in every cell, an item with ``known`` nodes."""
    assert rule.along is not None
    cell, _, item = rule.atoms[rule.along.first].terms
    if cell not in columns or item not in columns:
        return size, columns  # the nodes are the same for all items
    nodes = np.sort(np.array([*known, *OPEN_NODES], np.int64))
    is_known = np.ones(size, np.bool_)
    for atom in (rule.atoms[i] for i in rule.along.inside):
        is_known &= among(_column(atom, columns, size, rdf_type, READ_CLASS, READ_PROPERTY), nodes)
    list_of = np.zeros(size, np.uint32)  # numbers the lists: the values of all variables outside
    for variable in {v for atom in rule.atoms[: rule.along.cell] for v in atom.variables} & columns.keys():
        keys = pack(list_of, columns[variable])
        list_of = np.searchsorted(distinct(keys), keys).astype(np.uint32)
    of_cell = pack(list_of, columns[cell])
    is_missing = ~among(of_cell, distinct(of_cell[is_known]))
    rows = is_known & ~among(list_of, distinct(list_of[is_missing]))
    return int(np.count_nonzero(rows)), {variable: column[rows] for variable, column in columns.items()}


def row_of(edge: Edge, size: int, columns: Mapping[int, Column], rdf_type: int) -> int | None:
    """The first row of the family's table whose instance has this edge; None without such a row."""
    rule = edge.rule
    read = [*rule.read]
    sources = [_column(atom, columns, size, rdf_type, READ_CLASS, READ_PROPERTY) for atom in read]
    targets = [_column(h, columns, size, rdf_type, DERIVED_CLASS, DERIVED_PROPERTY) for h in rule.heads]
    is_source = np.any([column == edge.source for column in sources], axis=0)
    is_target = np.any([column == edge.target for column in targets], axis=0)
    rows = np.flatnonzero(is_source & is_target)
    if not rows.size:  # a cycle of a rule that is not monotone may join two of its instances
        rows = np.flatnonzero(is_source)
    return int(rows[0]) if rows.size else None


def _rows(
    rule: CompiledRule, read: Sequence[Atom], columns: Mapping[int, Column], size: int, rdf_type: int
) -> list[list[Node]]:
    """For each row of a family, the nodes of the atoms read, then those of the heads; without duplicates."""
    if not columns:
        read_nodes = [_node(atom, rdf_type, READ_CLASS, READ_PROPERTY) for atom in read]
        return [read_nodes + [_node(h, rdf_type, DERIVED_CLASS, DERIVED_PROPERTY) for h in rule.heads]]
    read_columns = [_column(atom, columns, size, rdf_type, READ_CLASS, READ_PROPERTY) for atom in read]
    head_columns = [_column(h, columns, size, rdf_type, DERIVED_CLASS, DERIVED_PROPERTY) for h in rule.heads]
    rows = np.stack([*read_columns, *head_columns])
    rows = rows[:, np.lexsort(rows)]
    fresh = np.ones(rows.shape[1], np.bool_)
    fresh[1:] = (rows[:, 1:] != rows[:, :-1]).any(axis=0)
    found: list[list[Node]] = rows[:, fresh].T.tolist()
    return found


def _node(atom: Atom, rdf_type: int, any_class: Node, any_property: Node) -> Node:
    """The node of an atom with its guarded variables left open."""
    if atom.p == rdf_type:
        return any_class if atom.o < 0 else atom.o + CLASS
    return any_property if atom.p < 0 else atom.p


def _column(
    atom: Atom,
    columns: Mapping[int, Column],
    size: int,
    rdf_type: int,
    any_class: int,
    any_property: int,
) -> NDArray[np.int64]:
    """The node of an atom in every row of the family's table."""
    if atom.p == rdf_type and atom.o in columns:
        return columns[atom.o].astype(np.int64) + CLASS
    if atom.p in columns:
        return columns[atom.p].astype(np.int64)
    return np.full(size, _node(atom, rdf_type, any_class, any_property), np.int64)


def _open_edges(edges: Sequence[Edge], rdf_type: int) -> Iterator[Edge]:
    """Links between the open nodes and the nodes that they stand for, as far as edges mention them."""
    mentioned = {node for edge in edges for node in (edge.source, edge.target)}
    if max(mentioned, default=0) < READ_CLASS:
        return
    by = {node: edge.rule for edge in edges for node in (edge.source, edge.target)}
    classes = sorted(node for node in mentioned if CLASS <= node < READ_CLASS)
    properties = sorted(node for node in mentioned if node < CLASS and node != rdf_type)
    for opened, all_nodes in ((READ_CLASS, classes), (READ_PROPERTY, properties)):
        if opened in mentioned:
            yield from (Edge(node, opened, by[opened], False, True) for node in all_nodes)
    for opened, all_nodes in ((DERIVED_CLASS, classes), (DERIVED_PROPERTY, properties)):
        if opened in mentioned:
            yield from (Edge(opened, node, by[opened], False, True) for node in all_nodes)
    for opened, all_nodes in ((COPIED_CLASS, classes), (COPIED_PROPERTY, properties)):
        if opened in mentioned:
            yield from (Edge(node, node, by[opened], False, True) for node in all_nodes)
    if DERIVED_CLASS in mentioned and READ_CLASS in mentioned:
        yield Edge(DERIVED_CLASS, READ_CLASS, by[DERIVED_CLASS], False, True)
    if DERIVED_PROPERTY in mentioned and READ_PROPERTY in mentioned:
        yield Edge(DERIVED_PROPERTY, READ_PROPERTY, by[DERIVED_PROPERTY], False, True)


def with_components(edges: tuple[Edge, ...]) -> DependencyGraph:
    """The dependency graph of the edges."""
    component_of = components_of([(edge.source, edge.target) for edge in edges])
    members: list[list[Node]] = [[] for _ in range(max(component_of.values(), default=-1) + 1)]
    for node, number in component_of.items():
        members[number].append(node)
    return DependencyGraph(edges, tuple(component_of), component_of, tuple(map(tuple, members)))


def components_of(edges: Sequence[tuple[Node, Node]]) -> dict[Node, int]:
    """The number of each node's strongly connected component, numbered in topological order from 0.

    Nodes are in ascending order. Cost: O(nodes log nodes + edges log nodes), by Tarjan's algorithm.
    """
    ends = np.array(edges, np.int64).reshape(-1, 2)
    nodes = np.array(sorted(set(ends.ravel().tolist())), np.int64)
    offsets, targets = compressed(
        nodes.size, np.searchsorted(nodes, ends[:, 0]), np.searchsorted(nodes, ends[:, 1])
    )
    component = np.empty(nodes.size, np.int64)
    count = strong_components(offsets, targets, component) if nodes.size else 0
    numbered = (count - 1 - component).tolist()  # Tarjan's algorithm numbers sinks first
    return dict(zip(nodes.tolist(), numbered, strict=True))
