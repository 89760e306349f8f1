"""An encoded data set opened as a store: read only, with its inferred facts, and without reasoning.

The data set is never written. A store that was opened over one is changed after ``save`` has put it into a
folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from corollary.columns import TripleIndex
from corollary.loaders.decoding import Reader
from corollary.loaders.encoded import closed_under, load_encoded
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.loaders.reasoner_datasets import closed_facts
from corollary.reasoner.contents import others_of
from corollary.reasoner.options import Options
from corollary.reasoner.quads import Quads
from corollary.reasoner.read_only_source import ReadOnlySource
from corollary.reasoner.snapshot_file import Contents
from corollary.reasoner.term_format import NTriplesTerms, TermView
from corollary.reasoner.version import Version
from corollary.terms.dictionary import TermDictionary


def opened(
    place: Path, options: Options, terms_over: Callable[[TermDictionary], TermView]
) -> tuple[Version, TripleIndex]:
    """A version of a data set's explicit facts, and its I without virtual relations.

    Raises InputError if the data set is damaged, or closed under other rules than those of the options.
    """
    reader = Reader(place)
    reader.closed.refuse_others(options, place)
    data = load_encoded(place)
    version = _version_of(data, options, terms_over)
    source = ReadOnlySource.of_file(place, "a data set", reader.check_files)
    return version.changed(persistence=source), closed_facts(data, version.quads.union, place)


def contents_of_data_set(place: Path) -> Contents:
    """The content of a data set, to be written as a snapshot. Raises InputError if it is damaged."""
    data, closed = load_encoded(place), closed_under(place)
    version = _version_of(data, Options("none"), NTriplesTerms)
    facts = closed_facts(data, version.quads.union, place)
    return Contents(data.dictionary, facts, version.quads, others_of(version), closed)


def explicit_version(place: Path) -> Version:
    """A version of a data set's explicit facts, without rules. Blank nodes keep their labels."""
    return _version_of(load_encoded(place, inferred=False), Options("none"), NTriplesTerms)


def _version_of(
    data: EncodedDataSet, options: Options, terms_over: Callable[[TermDictionary], TermView]
) -> Version:
    """A version of a data set's explicit facts, in memory."""
    terms = terms_over(data.dictionary)
    graphs = {terms.default: data.explicit} if data.graphs is None else data.graphs
    quads = Quads.of(
        {
            graph: {predicate: relation.pairs().keys for predicate, relation in index.relations()}
            for graph, index in graphs.items()
        }
    )
    version = Version(terms, options, quads, frozenset(graphs) - {terms.default})
    for prefix, namespace in data.prefixes.items():
        version = version.changed(namespaces=version.namespaces.bound(prefix, namespace, override=True))
    return version
