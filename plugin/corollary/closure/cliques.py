"""The cliques of a symmetric, transitive relation, such as owl:sameAs: one least member for each."""

from __future__ import annotations

import numpy as np

from corollary.closure.node_numbers import numbers_of
from corollary.closure.reachability import Graph, Paths
from corollary.columns import Relation
from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import NO_KEYS, among, counts, firsts, join, pack, seconds, sorted_unique, swap
from corollary.kernels.sorted import Column, Keys, Mask, Rows


class Cliques:
    """Terms, and the least member of the clique of each. Any other term is the only member of its clique.

    Immutable. A clique of n members takes 16 n bytes.
    """

    def __init__(self, least: Keys) -> None:
        """From pairs (member, least member), sorted, of all members of cliques of two and more."""
        self._terms, self._least = firsts(least), seconds(least)
        self._members = sort_keys(swap(least))

    @staticmethod
    def of(same: Relation) -> Cliques:
        """All cliques of a relation. Cost: O(facts log facts); of the generators, if it is compressed."""
        edges = same.pairs().keys if len(same.missing()) else same.generators()
        if not edges.size:
            return NO_CLIQUES
        graph = Graph.of(sorted_unique(np.concatenate((edges, swap(edges)))))
        parts = graph.components
        least = np.minimum.reduceat(graph.nodes[parts.members], parts.member_offsets[:-1])
        is_member = np.diff(parts.member_offsets)[parts.of_node] > 1
        return Cliques(pack(graph.nodes, least[parts.of_node])[is_member])

    @staticmethod
    def of_terms(same: Relation, terms: Column) -> Cliques:
        """The cliques of some terms (ascending). Cost: their pairs. Of a compressed relation, all cliques."""
        if same.is_compressed:
            return Cliques.of(same)
        pairs = Paths(same, symmetric=True).starting(terms)
        if not pairs.size:
            return NO_CLIQUES
        starts = np.flatnonzero(np.append(True, firsts(pairs[1:]) != firsts(pairs[:-1])))
        least = np.minimum(seconds(pairs[starts]), firsts(pairs[starts]))
        named = np.repeat(least, np.diff(np.append(starts, pairs.size)))
        return Cliques(
            sorted_unique(np.concatenate((pack(seconds(pairs), named), pack(firsts(pairs[starts]), least))))
        )

    def __len__(self) -> int:
        """The number of terms."""
        return self._terms.size

    @property
    def pairs(self) -> Keys:
        """The pairs (member, least member) of all members, sorted."""
        return pack(self._terms, self._least)

    @property
    def terms(self) -> Column:
        """All terms in cliques of two or more, ascending."""
        return self._terms

    def have(self, terms: Column) -> Mask:
        """Whether each term is in a clique of two or more."""
        return among(terms, self._terms)

    def least(self, terms: Column) -> Column:
        """The least member of each term's clique."""
        numbers = numbers_of(terms, self._terms)
        found: Column = np.where(numbers < 0, terms, self._least[numbers]) if len(self) else terms
        return found

    def sizes(self, least: Column) -> Rows:
        """The number of members of the cliques with these least members."""
        return np.maximum(counts(self._members, least), 1)

    def members(self, least: Column) -> tuple[Rows, Column]:
        """All (row, member of the clique of least[row]), as two columns. Not sorted."""
        rows, members = join(self._members, least)
        alone = np.flatnonzero(counts(self._members, least) == 0)
        return np.concatenate((rows, alone)), np.concatenate((members, least[alone]))

    def include(self, other: Cliques) -> bool:
        """Whether every clique of ``other`` is in one of these."""
        return bool((self.least(other._terms) == self.least(other._least)).all())


NO_CLIQUES = Cliques(NO_KEYS)
