"""Pieces into which an undirected graph falls: found by a search near the edges that it lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary.closure.node_numbers import numbers_of
from corollary.closure.strong_components import Components
from corollary.closure.tuning import MIN_EDGES_PER_NODE_MET, NODES_MET_AT_FIRST
from corollary.columns import Relation
from corollary.columns.pairs import counts, distinct, firsts, join, pack, seconds, sorted_unique, swap
from corollary.kernels.graph import Nodes, split
from corollary.kernels.sorted import Column, Keys, Mask


@dataclass(frozen=True, slots=True)
class Pieces:
    """Which of some pairs undirected edges join, and the pieces that were searched to their end.

    Node ``starts[i]`` of the pairs was met by the search ``labels[i]``, which began at ``starts[labels[i]]``.
    Pair i has the starts ``ones[i]`` and ``twos[i]``. ``nodes`` (ascending) are those of the pieces searched
    to their end, and ``numbers`` their searches. Of the other nodes, those that pairs lead to from one
    another are of one piece: if the pairs are edges that a graph has lost, those of one former piece.
    """

    edges: Relation
    starts: Column
    labels: Nodes
    ones: Nodes
    twos: Nodes
    nodes: Column
    numbers: Nodes

    @staticmethod
    def of(edges: Relation, pairs: Keys) -> Pieces | None:
        """The pieces of listed edges near some pairs; None if the search meets too many nodes.

        Cost: searches from the ends of the pairs, in turns, until all of a piece, or all but one of those
        that pairs lead to from one another, have ended or have met. Not more than one node for every
        ``MIN_EDGES_PER_NODE_MET`` edges is met.

            a cycle of 10,000 nodes that lost an edge to a path of 3 other nodes: fewer than 12 are met
        """
        starts = distinct(np.concatenate((firsts(pairs), seconds(pairs))))
        ones, twos = numbers_of(firsts(pairs), starts), numbers_of(seconds(pairs), starts)
        most = len(edges) // MIN_EDGES_PER_NODE_MET if MIN_EDGES_PER_NODE_MET else len(edges)
        room = NODES_MET_AT_FIRST + 2 * starts.size + most
        base, added, removed = edges.parts
        sides = (base.keys, added.keys, removed.keys, base.by_object, added.by_object, removed.by_object)
        heads, table = np.empty(starts.size, np.int64), np.zeros(2 << room.bit_length(), np.int64)
        met, labels = np.empty(room, np.uint64), np.empty(room, np.int64)
        met[: starts.size] = starts
        count = split(*sides, ones, twos, heads, table, met, labels)
        if count < 0:
            return None
        nodes, labels = met[:count].astype(np.uint32), labels[:count]
        has_ended = (heads[labels] < 0) | ~_have_edges(edges, nodes)
        order = np.flatnonzero(has_ended)[np.argsort(nodes[has_ended])]
        return Pieces(edges, starts, labels[: starts.size], ones, twos, nodes[order], labels[order])

    def are_joined(self) -> Mask:
        """Which of the pairs a path joins."""
        found: Mask = self.labels[self.ones] == self.labels[self.twos]
        loops = np.flatnonzero(self.ones == self.twos)
        found[loops] = _have_edges(self.edges, self.starts[self.ones[loops]])
        return found

    def cut_off(self, closed: Relation, most: int) -> Keys | None:
        """The pairs of a closure that it loses with the pairs, which were edges. Sorted.

        None if the nodes of the pieces have more than ``most`` pairs.
        """
        if int(closed.subject_counts(self.nodes).sum()) > most:
            return None
        rows, ends = closed.objects_of(self.nodes)
        place = numbers_of(ends, self.nodes)
        is_cut = (place < 0) | (self.numbers[place] != self.numbers[rows])
        is_cut |= ~_have_edges(self.edges, self.nodes)[rows]  # a node alone does not even reach itself
        return _both_ways(self.nodes[rows[is_cut]], ends[is_cut])

    def put_together(self, closed: Relation, most: int, most_read: int) -> Keys | None:
        """The pairs that a closure gains if the pairs become edges. Sorted, and maybe some known ones.

        ``closed`` has the closure of ``edges``, and at most facts that follow from these and the pairs. None
        if there are more than ``most`` pairs, or more than ``most_read`` facts to look at.
        """
        is_open = np.zeros(self.starts.size, np.bool_)
        is_open[self.labels] = True
        is_open[self.numbers] = False
        others = np.flatnonzero(is_open)  # a search for each larger piece
        terms = self.starts[others]
        if int(closed.subject_counts(terms).sum()) > most_read:
            return None
        rows, ends = closed.objects_of(terms)
        same = numbers_of(ends, terms)
        is_other = same >= 0
        sources = np.concatenate((self.labels[self.ones], others[rows[is_other]]))
        targets = np.concatenate((self.labels[self.twos], others[same[is_other]]))
        both = np.concatenate((sources, targets)), np.concatenate((targets, sources))
        part = Components.of(self.starts.size, *both).of_node.astype(np.uint32)
        members = sorted_unique(
            np.concatenate(
                (
                    pack(part[self.numbers], self.nodes),
                    pack(part[others[rows]], ends),
                    pack(part[others], terms),
                )
            )
        )
        if int(counts(members, part[self.numbers]).sum()) > most:
            return None
        rows, ends = join(members, part[self.numbers])
        return _both_ways(self.nodes[rows], ends)


def _both_ways(ones: Column, others: Column) -> Keys:
    """Pairs in both directions, sorted."""
    found = pack(ones, others)
    return sorted_unique(np.concatenate((found, swap(found))))


def _have_edges(edges: Relation, nodes: Column) -> Mask:
    """Which nodes begin or end an edge."""
    return (edges.subject_counts(nodes) > 0) | (edges.object_counts(nodes) > 0)
