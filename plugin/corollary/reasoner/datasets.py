"""The facts of a reasoner to an encoded data set, and from one into a reasoner.

A reasoner without facts takes over the terms of a data set as they are; another one gives them ids of its
own, and the facts are translated. Blank nodes get new labels either way, as with every document: two data
sets never mean the same one.

Invariant: a data set that cannot be read changes nothing.
"""

from __future__ import annotations

import os

from corollary.columns.pairs import NO_PAIRS, Pairs
from corollary.columns.triples import TripleIndex
from corollary.language import CorollaryError
from corollary.reasoner.parsed_documents import Receiver
from corollary.reasoner.quads import Quads
from corollary.reasoner.version import Version
from corollary.reasoner.versions import Versions
from corollary.terms.dictionary import Kind, TermDictionary

_UNNAMED = -1
"""Stands for the only graph of a data set."""


def save(version: Version, path: str | os.PathLike[str], home: int) -> None:
    """E and what follows from it, as a data set; facts of the graph ``home`` go to its default graph.

    Precondition: what follows has been derived.
    """
    from corollary.loaders.encoded import save_encoded
    from corollary.loaders.encoded_format import EncodedDataSet

    state = version.state
    if version.quads.formulas:
        raise CorollaryError("N3 formulas cannot be put into a data set: remove their graphs first")
    result, default = state.materialisation, version.terms.default
    graphs = {graph: index for graph, index in state.facts.graphs.items() if index.fact_count()}
    if default not in graphs and home in graphs:
        graphs[default] = graphs.pop(home)
    data = EncodedDataSet(
        version.terms.dictionary,
        state.facts.union,
        TripleIndex() if result is None else result.inferred(),
        None if result is None else version.options.title(),
        None if graphs.keys() <= {default} else graphs,
        {prefix: str(name) for prefix, name in version.namespaces},
    )
    save_encoded(path, data)


def load(versions: Versions, path: str | os.PathLike[str], receiver: Receiver) -> int:
    """Add the explicit facts of a data set. Returns how many are new."""
    from corollary.loaders.encoded import load_encoded
    from corollary.loaders.translating import Translation, new_labels

    data = load_encoded(path, inferred=False)
    for name in data.graphs or ():
        receiver.refuse(data.dictionary.decode(name))
    for _ in versions.steps():
        version = versions.current().to_be_written()
        if _is_new(version):
            tables = data.dictionary.tables()
            tables[Kind.BLANK_NODE] = new_labels(len(tables[Kind.BLANK_NODE]))
            versions.change(_with_terms, TermDictionary.of_tables(tables))
            version, translated = versions.current(), None
        else:
            translated = Translation(data.dictionary, version.terms.dictionary)
        target = receiver.target(version)
        facts: dict[tuple[int, int], Pairs] = {}
        for source, index in (data.graphs or {_UNNAMED: data.explicit}).items():
            name = source if translated is None or source == _UNNAMED else translated.id(source)
            to = target if name in (_UNNAMED, version.terms.default) else name
            for predicate, relation in index.relations():
                pairs = relation.pairs()
                if translated is not None:
                    predicate, pairs = translated.id(predicate), translated.pairs(pairs)
                known = facts.get((to, predicate), NO_PAIRS)  # two graphs may go to the same one
                facts[to, predicate] = known.plus(pairs)
        count = receiver.add(facts)
        receiver.bind([data.prefixes])
    return count


def _is_new(version: Version) -> bool:
    """Whether nothing in memory has an id yet but graphs without facts."""
    quads = version.quads
    return version.persistence is None and not (version.derived.state or quads.graphs or quads.formulas)


def _with_terms(version: Version, dictionary: TermDictionary) -> Version:
    """A version without facts, over the terms of a data set."""
    terms = type(version.terms)(dictionary)
    named = frozenset(terms.id_of(version.terms[graph]) for graph in version.named)
    return version.changed(terms=terms, named=named, quads=Quads())
