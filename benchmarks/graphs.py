"""Synthetic graphs for programs that close relations: categories, places in cliques, a chain of places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from benchmarks.engine import Facts

from corollary.generators import drawn_edges
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
FURTHER, SHARE = 5, 0.9
"""A category is below the one before it, and with probability SHARE below each of the FURTHER before that."""


def categories(lengths: Sequence[int], seed: int = 0) -> Facts:
    """Categories in chains of the given lengths, and the scheme and the type of each category.

    Chains longer than 59 have cycles: see ``drawn_edges.chains``.
    """
    random = np.random.default_rng(seed)
    sources, targets = drawn_edges.chains(lengths, FURTHER, SHARE, random)
    nodes = np.arange(sum(lengths))
    dictionary = TermDictionary()
    ids = named(dictionary, "Category", nodes.size)
    schemes = named(dictionary, "Scheme", nodes.size // CATEGORIES_A_SCHEME + 1)
    broader, in_scheme, concept = (
        np.uint32(dictionary.encode(f"<{PREFIX}{name}>")) for name in ("broader", "inScheme", "Concept")
    )
    rdf_type = np.uint32(dictionary.encode(f"<{RDF}type>"))
    predicates = np.repeat(np.array([broader, in_scheme, rdf_type]), [sources.size, nodes.size, nodes.size])
    objects = (ids[targets], schemes[nodes // CATEGORIES_A_SCHEME], np.full(nodes.size, concept))
    return Facts(dictionary, (np.concatenate((ids[sources], ids, ids)), predicates, np.concatenate(objects)))


def cliques(sizes: Sequence[int], seed: int = 0) -> Facts:
    """Places in connected groups: random trees, and half as many edges more; two properties alternate."""
    sources, targets = drawn_edges.groups(sizes, np.random.default_rng(seed))
    return _edges(sum(sizes), sources, targets, ["sees", "near"])


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
