"""An encoded data set opened as a store: read only, with its inferred facts, and without reasoning.

The data set is never written. A store that was opened over one is changed after ``save`` has put it into a
folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from corollary.columns import TripleIndex
from corollary.language import CorollaryError
from corollary.loaders.decoding import Reader
from corollary.loaders.encoded import load_encoded
from corollary.loaders.reasoner_datasets import closed_facts, refuse_other_rules
from corollary.reasoner.options import Options
from corollary.reasoner.persistence import Reading
from corollary.reasoner.quads import Quads
from corollary.reasoner.term_format import TermView
from corollary.reasoner.version import Version
from corollary.terms.dictionary import TermDictionary


class DataSetSource:
    """The ``Persistence`` of a store over a data set: nothing is written, and nothing is locked."""

    read_only = True

    def __init__(self, place: Path) -> None:
        self.place = place

    @property
    def refusal(self) -> str:
        """Why nothing is written, and what to do."""
        return (
            f"{self.place} is a data set, which is never written: keep the store in a folder with "
            "store.save(folder), then change it"
        )

    def read(self, version_of: Reading[Version]) -> Version:
        """Never called: ``opened`` reads the data set."""
        raise AssertionError

    def write(self, version: Version) -> None:
        """Write nothing: no change gets here (``Version.to_be_written``)."""

    def has_written(self, version: Version) -> bool:
        """Nothing is ever written."""
        return False

    def shrink(self) -> None:
        """Nothing to do."""

    def findings(self) -> list[str]:
        """Compare the files with the manifest."""
        try:
            Reader(self.place).check_files()
        except CorollaryError as error:
            return [str(error)]
        return []

    def close(self) -> None:
        """Nothing to do."""


def opened(
    place: Path, options: Options, terms_over: Callable[[TermDictionary], TermView]
) -> tuple[Version, TripleIndex]:
    """A version of a data set's explicit facts, and its I without virtual relations.

    Raises InputError if the data set is damaged, or closed under other rules than those of the options.
    """
    refuse_other_rules(options, place)
    data = load_encoded(place)
    terms = terms_over(data.dictionary)
    graphs = {terms.default: data.explicit} if data.graphs is None else data.graphs
    quads = Quads.of(
        {
            graph: {predicate: relation.pairs().keys for predicate, relation in index.relations()}
            for graph, index in graphs.items()
        }
    )
    named = frozenset(graphs) - {terms.default}
    version = Version(terms, options, quads, named, persistence=DataSetSource(place))
    for prefix, namespace in data.prefixes.items():
        version = version.changed(namespaces=version.namespaces.bound(prefix, namespace, override=True))
    return version, closed_facts(data, quads.union, place)
