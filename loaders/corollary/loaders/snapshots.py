"""A snapshot file as the content of a data set, and back: see ``reasoner.snapshot_file``."""

from __future__ import annotations

import json
from pathlib import Path

from corollary.columns import TripleIndex
from corollary.evaluate.materialise import generalised_among
from corollary.language import CorollaryError
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.reasoner.options import Options
from corollary.reasoner.snapshot_file import MappedSnapshot
from corollary.reasoner.term_format import DEFAULT_GRAPH, NTriplesTerms


def data_set_in(place: Path, *, inferred: bool) -> EncodedDataSet:
    """The content of a snapshot. Without ``inferred``, skip the inferred facts.

    Raises CorollaryError if the file cannot be read, is damaged, or has N3 formulas.
    """
    snapshot = MappedSnapshot(place)
    version = snapshot.version(NTriplesTerms, Options("none"), None)
    if version.quads.formulas:
        raise CorollaryError(f"{place} has N3 formulas, which no data set has: open it as a store")
    quads, nothing = version.quads, TripleIndex()
    more = snapshot.facts.difference(quads.union) if inferred else nothing
    default = snapshot.dictionary.find(DEFAULT_GRAPH)
    return EncodedDataSet(
        snapshot.dictionary,
        quads.union,
        more.legal(),
        snapshot.closed.rules,
        None if quads.graphs.keys() <= {default} else quads.graphs,
        dict(json.loads(snapshot.others["prefixes"])),
        generalised_among(more),
        snapshot.closed.fingerprint,
        snapshot.facts,
    )
