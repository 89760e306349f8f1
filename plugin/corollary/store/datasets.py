"""A store's facts to an encoded data set, and from one into a store.

A store without facts takes over the terms of a data set as they are; another one gives them ids of its own,
and the facts are translated. Blank nodes get new labels either way, as with every document: two data sets
never mean the same one.

Invariant: a data set that cannot be read changes nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rdflib.graph import Graph
from rdflib.namespace import NamespaceManager
from rdflib.term import Node, URIRef

from corollary.index.pairs import NO_PAIRS, Pairs
from corollary.index.triples import TripleIndex
from corollary.language import CorollaryError
from corollary.store.quads import Quads
from corollary.terms.dictionary import Kind, TermDictionary

if TYPE_CHECKING:
    from corollary.store.store import CorollaryStore


def save(store: CorollaryStore, path: str | os.PathLike[str]) -> None:
    """What a store holds and what follows from it, as a data set."""
    from corollary.loaders.encoded import EncodedDataSet, save_encoded

    with store._lock:
        if store._quoted_graphs:
            raise CorollaryError("N3 formulas cannot be put into a data set: remove their graphs first")
        state = store._now()
        result = state.materialisation
        graphs = {graph: index for graph, index in state.facts.graphs.items() if index.fact_count()}
        home = store._target(None)
        if store._default not in graphs and home in graphs:
            graphs[store._default] = graphs.pop(home)
        data = EncodedDataSet(
            store._terms.dictionary,
            state.facts.union,
            TripleIndex() if result is None else result.inferred(),
            None if result is None else store._options.title(),
            None if graphs.keys() <= {store._default} else graphs,
            {prefix: str(name) for prefix, name in store.namespaces()},
        )
        save_encoded(path, data)


def load(store: CorollaryStore, path: str | os.PathLike[str], graph: Graph | Node | str | None) -> int:
    """Add the explicit facts of a data set, those of its default graph to ``graph``. How many were new."""
    from corollary.loaders.encoded import load_encoded
    from corollary.loaders.translating import Translation, new_labels

    data = load_encoded(path, inferred=False)
    for name in data.graphs or ():
        text = data.dictionary.decode(name)
        store.refuse_side(URIRef(text[1:-1]))
    with store._lock:
        if _is_new(store):
            tables = data.dictionary.tables()
            tables[Kind.BLANK_NODE] = new_labels(len(tables[Kind.BLANK_NODE]))
            _take_terms(store, TermDictionary.of_tables(tables))
            translated = None
        else:
            translated = Translation(data.dictionary, store._terms.dictionary)
        target = store._target(graph)
        facts: dict[tuple[int, int], Pairs] = {}
        for source, index in (data.graphs or {_UNNAMED: data.explicit}).items():
            name = source if translated is None or source == _UNNAMED else translated.id(source)
            to = target if name in (_UNNAMED, store._default) else name
            for predicate, relation in index.relations():
                pairs = relation.pairs()
                if translated is not None:
                    predicate, pairs = translated.id(predicate), translated.pairs(pairs)
                known = facts.get((to, predicate), NO_PAIRS)  # two graphs may go to the same one
                facts[to, predicate] = known.plus(pairs)
        count = store._log_facts(facts)
        if graph is None:
            store._home.fill()
    manager = NamespaceManager(Graph(store), "none")
    for prefix, namespace in data.prefixes.items():
        manager.bind(prefix, namespace, override=False)
    return count


_UNNAMED = -1
"""Stands for the only graph of a data set."""


def _is_new(store: CorollaryStore) -> bool:
    """Whether nobody has seen an id of a store that is in memory."""
    return (
        store._state is None
        and store._folder is None
        and not store._quads.is_changed
        and not store._quads.graphs
        and not store._quoted_graphs
    )


def _take_terms(store: CorollaryStore, dictionary: TermDictionary) -> None:
    """Give other ids to the terms of a store that is new."""
    graphs, prefixes = store._names()
    store._start(dictionary, Quads())
    for prefix, namespace in prefixes:
        store._namespaces.bind(prefix, namespace)
    store._named.update(map(store._terms.id_of, graphs))
