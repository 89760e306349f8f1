"""Synthetic graphs for programs that close relations: categories, places in cliques, a chain of places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from benchmarks.engine import Facts

from corollary.kernels.sorted import Column, Rows
from corollary.language.model import RDF
from corollary.terms.dictionary import TermDictionary

PREFIX = "https://corollary.example/graph#"

CATEGORIES = f"""
PREFIX : <{PREFIX}>
:Concept[?x], :Concept[?y] :- [?x, :broader, ?y] .
[?y, :narrower, ?x] :- [?x, :broader, ?y] .
[?x, :broaderTransitive, ?y] :- [?x, :broader, ?y] .
[?x, :narrowerTransitive, ?y] :- [?x, :narrower, ?y] .
[?x, :broaderTransitive, ?z] :- [?x, :broaderTransitive, ?y], [?y, :broaderTransitive, ?z] .
[?x, :narrowerTransitive, ?z] :- [?x, :narrowerTransitive, ?y], [?y, :narrowerTransitive, ?z] .
"""
"""The rules of SKOS for broader and narrower concepts."""

PLACES = f"""
PREFIX : <{PREFIX}>
[?x, :near, ?y] :- [?x, :sees, ?y] .
[?y, :near, ?x] :- [?x, :near, ?y] .
[?x, :near, ?z] :- [?x, :near, ?y], [?y, :near, ?z] .
"""
"""The symmetric-transitive closure of nearness, which consists of cliques."""

CATEGORIES_A_SCHEME = 100
STEPS = 6
"""A category is below most of this many categories before it in its chain."""


def categories(lengths: Sequence[int], seed: int = 0) -> Facts:
    """Categories in chains of the given lengths, and the scheme and the type of each category.

    A category is below the category before it, and with probability 0.9 below each of the five before that.
    Every fiftieth category of a chain is also below the category ten places after it, so chains longer than
    59 have cycles.
    """
    random = np.random.default_rng(seed)
    first = np.repeat(np.cumsum([0, *lengths[:-1]]), lengths)
    nodes = np.arange(first.size)
    last = first + np.repeat(lengths, lengths) - 1
    turning = nodes[((nodes - first) % 50 == 49) & (nodes + 10 <= last)]
    narrow, broad = [turning], [turning + 10]
    for step in range(1, STEPS + 1):
        below = nodes[nodes - first >= step]
        if step > 1:
            below = below[random.random(below.size) < 0.9]
        narrow.append(below)
        broad.append(below - step)
    dictionary = TermDictionary()
    ids = named(dictionary, "Category", nodes.size)
    schemes = named(dictionary, "Scheme", nodes.size // CATEGORIES_A_SCHEME + 1)
    broader, in_scheme, concept = (
        np.uint32(dictionary.encode(f"<{PREFIX}{name}>")) for name in ("broader", "inScheme", "Concept")
    )
    rdf_type = np.uint32(dictionary.encode(f"<{RDF}type>"))
    sources, targets = np.concatenate(narrow), np.concatenate(broad)
    predicates = np.repeat(np.array([broader, in_scheme, rdf_type]), [sources.size, nodes.size, nodes.size])
    objects = (ids[targets], schemes[nodes // CATEGORIES_A_SCHEME], np.full(nodes.size, concept))
    return Facts(dictionary, (np.concatenate((ids[sources], ids, ids)), predicates, np.concatenate(objects)))


def cliques(sizes: Sequence[int], seed: int = 0) -> Facts:
    """Places in connected groups: random trees, and half as many edges more; two properties alternate."""
    random = np.random.default_rng(seed)
    first = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)
    nodes = np.arange(first.size)
    later = nodes[nodes > first]
    more = random.integers(0, nodes.size, nodes.size // 2)
    other_ends = first[later] + random.integers(0, later - first[later])
    ends_of_more = first[more] + random.integers(0, np.repeat(sizes, sizes)[more])
    sources, targets = np.concatenate((later, more)), np.concatenate((other_ends, ends_of_more))
    return _edges(nodes.size, sources, targets, ["sees", "near"])


def chain_of_places(length: int) -> Facts:
    """A path of ``length`` places."""
    nodes = np.arange(length)
    return _edges(length, nodes[:-1], nodes[1:], ["near"])


def named(dictionary: TermDictionary, kind: str, count: int) -> Column:
    """The ids of ``count`` terms with numbered names."""
    return np.array([dictionary.encode(f"<{PREFIX}{kind}{i}>") for i in range(count)], np.uint32)


def _edges(size: int, sources: Rows, targets: Rows, properties: Sequence[str]) -> Facts:
    """Edges between ``size`` nodes; the properties alternate."""
    dictionary = TermDictionary()
    nodes = named(dictionary, "Node", size)
    ids = np.array([dictionary.encode(f"<{PREFIX}{name}>") for name in properties], np.uint32)
    return Facts(dictionary, (nodes[sources], np.resize(ids, sources.size), nodes[targets]))
