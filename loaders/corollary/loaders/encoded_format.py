"""What an encoded data set is made of: the names in its folder, and what it holds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from corollary.columns.triples import TripleIndex
from corollary.terms.dictionary import Kind, TermDictionary

FORMAT = "corollary encoded data set"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
TERMS = "terms"
EXPLICIT = "facts/explicit"
INFERRED = "facts/inferred"
GRAPHS = "facts/graphs"

ROWS_A_GROUP = 1 << 20
"""Rows of a Parquet row group: what a reader that looks for one predicate can pass over."""

KIND_NAMES = {Kind.IRI: "iri", Kind.BLANK_NODE: "blank_node", Kind.LITERAL: "literal"}
COLUMNS = ("predicate", "subject", "object")


@dataclass(frozen=True, slots=True)
class EncodedDataSet:
    """What a data set holds. ``rules`` names what ``inferred`` follows by; None if nothing was inferred.

    ``graphs`` has the explicit facts of each graph, by the id of its name; None if there is one graph only.
    """

    dictionary: TermDictionary
    explicit: TripleIndex
    inferred: TripleIndex = field(default_factory=TripleIndex)
    rules: str | None = None
    graphs: Mapping[int, TripleIndex] | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)


def is_encoded(path: str | os.PathLike[str]) -> bool:
    """Whether a folder is, or was meant to be, an encoded data set."""
    return (Path(path) / MANIFEST).is_file() and (Path(path) / TERMS).is_dir()
