"""Writing the facts of a reasoner to an encoded data set, and loading the facts of a data set.

A reasoner without facts adopts the dictionary of the data set. Any other reasoner translates the ids of the
facts to its own. In both cases blank nodes get new labels: two data sets never share a blank node.

Invariant: a data set that cannot be read changes nothing.
"""

from __future__ import annotations

import os

from corollary.columns import TripleIndex
from corollary.columns.pairs import NO_PAIRS, Pairs
from corollary.language import CorollaryError
from corollary.loaders.encoded import load_encoded, save_encoded
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.loaders.into_reasoner import Receiver
from corollary.loaders.translating import Translation, new_labels
from corollary.reasoner.quads import Quads
from corollary.reasoner.version import Version
from corollary.reasoner.versions import Versions
from corollary.terms.dictionary import Kind, TermDictionary

_UNNAMED = -1
"""Stands for the graph of a data set without named graphs; no graph has this id."""


def save(version: Version, path: str | os.PathLike[str], home: int) -> None:
    """Write E and I as a data set. If the default graph is empty, ``home`` takes its place.

    Precondition: ``version.state`` is derived. Raises CorollaryError if the version has formulas.
    """
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
    """Add the explicit facts of a data set. Returns the number of new facts."""
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
                known = facts.get((to, predicate), NO_PAIRS)  # two source graphs may have the same target
                facts[to, predicate] = known.plus(pairs)
        count = receiver.add(facts)
        receiver.bind([data.prefixes])
    return count


def _is_new(version: Version) -> bool:
    """Whether the dictionary can be replaced: in memory, nothing derived, no graphs but ``named`` ones."""
    quads = version.quads
    return version.persistence is None and not (version.derived.state or quads.graphs or quads.formulas)


def _with_terms(version: Version, dictionary: TermDictionary) -> Version:
    """The version over the dictionary of a data set. Precondition: ``_is_new(version)``."""
    terms = type(version.terms)(dictionary)
    named = frozenset(terms.id_of(version.terms[graph]) for graph in version.named)
    return version.changed(terms=terms, named=named, quads=Quads())
