"""Edges of random graphs: numbers of edges, degrees, chains, cycles and connected groups."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.generators.shapes_of_graphs import Pair, cycles, groups, reachable, size

from corollary.generators import drawn_edges
from corollary.generators.drawn_edges import Edges, random_of_part
from corollary.generators.numbered_lines import numbered_lines


def random() -> np.random.Generator:
    return np.random.default_rng(0)


def named(edges: Edges) -> list[Pair]:
    """Edges between names."""
    return [(str(source), str(target)) for source, target in zip(*map(np.ndarray.tolist, edges), strict=True)]


@pytest.mark.parametrize(("nodes", "edges"), [(2, 0), (10, 22), (300, 1000)])
def test_acyclic_graphs_have_exactly_the_number_of_edges_asked_for(nodes: int, edges: int) -> None:
    drawn = named(drawn_edges.acyclic(nodes, edges, random()))
    assert len(drawn) == len(set(drawn)) == edges
    assert all(0 <= int(source) < int(target) < nodes for source, target in drawn)
    assert not cycles(reachable(drawn))


def test_uniform_graphs_have_the_share_of_pairs() -> None:
    drawn = named(drawn_edges.uniform(300, 0.1, random()))
    assert len(drawn) == len(set(drawn))
    assert 0.095 < len(drawn) / (300 * 299) < 0.105
    assert all(source != target for source, target in drawn)
    degrees = Counter(source for source, _ in drawn)
    assert max(degrees.values()) < 2.5 * 30


def test_recursive_matrices_have_few_nodes_with_many_edges() -> None:
    drawn = named(drawn_edges.rmat(1000, 5000, random()))
    assert len(drawn) == len(set(drawn)) == 5000
    assert all(source != target and int(source) < 1000 > int(target) for source, target in drawn)
    degrees = sorted(Counter(source for source, _ in drawn).values(), reverse=True)
    assert degrees[0] > 4 * 5
    assert sum(degrees[:200]) > 0.4 * 5000  # of a uniform graph, 0.3
    both = [number for edge in drawn for number in map(int, edge)]
    assert sum(number < 512 for number in both) / len(both) > 0.55  # quadrants a and b, or a and c: 60 %


def test_chains_have_cycles_from_sixty_nodes_on() -> None:
    drawn = named(drawn_edges.chains((59, 60, 160, 1), 0, 0.0, random()))
    assert len(drawn) == 58 + 60 + 162
    assert groups(drawn) == [160, 60, 59]
    # Nodes 49 to 59 of a chain form a cycle, and 99 to 109, 149 to 159.
    assert cycles(reachable(drawn)) == [11] * 4
    acyclic = 59 * 58 // 2
    assert size(reachable(named(drawn_edges.chains((59,), 0, 0.0, random())))) == acyclic


def test_further_edges_of_chains_add_nothing_to_their_closure() -> None:
    few, many = (named(drawn_edges.chains((120, 7), 3, share, random())) for share in (0.0, 0.7))
    assert reachable(few) == reachable(many)
    assert len(few) < len(many) == len(set(many))


def test_groups_are_connected() -> None:
    drawn = named(drawn_edges.groups((40, 7, 2, 2), random()))
    assert groups([edge for edge in drawn if edge[0] != edge[1]]) == [40, 7, 2, 2]
    assert len(drawn) == 51 - 4 + 51 // 2


def test_distinct_edges_are_sorted_and_no_loops() -> None:
    ones, others = drawn_edges.distinct(np.array([3, 1, 3, 2, 1]), np.array([0, 1, 0, 1, 4]))
    assert (ones.tolist(), others.tolist()) == ([1, 2, 3], [4, 1, 0])


def test_every_seed_gives_other_numbers() -> None:
    drawn = {random_of_part(number, seed).integers(1 << 60) for number in (1, 2) for seed in (-1, 0, 1)}
    assert len(drawn) == 6


def test_numbers_in_lines() -> None:
    lines = numbered_lines("<urn:é{}> {}\n", np.array([5, 120_304]), np.array([0, 999_999]))
    assert lines.decode() == "<urn:é000005> 000000\n<urn:é120304> 999999\n"
    assert numbered_lines("a{}\n", np.empty(0, np.int64)) == b""
