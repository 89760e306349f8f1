"""The parts of an encoded data set: the names in its folder, and its content as a value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from corollary.columns import TripleIndex
from corollary.terms.dictionary import Kind, TermDictionary

FORMAT = "corollary encoded data set"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
TERMS = "terms"
EXPLICIT = "facts/explicit"
INFERRED = "facts/inferred"
GENERALISED = "generalised"
GRAPHS = "facts/graphs"


KIND_NAMES = {Kind.IRI: "iri", Kind.BLANK_NODE: "blank_node", Kind.LITERAL: "literal"}
COLUMNS = ("predicate", "subject", "object")


@dataclass(frozen=True, slots=True)
class EncodedDataSet:
    """The content of a data set.

    ``rules`` is the name of the rules that ``inferred`` follows by; None if nothing was inferred. ``graphs``
    maps the id of each graph's name to the explicit facts of that graph; None if there is only one graph.
    ``fingerprint`` is that of the rules (``program.fingerprint``), if I can be adopted: then I is the union
    of ``explicit``, ``inferred`` and ``generalised``, which are the inferred facts that RDF does not allow.
    """

    dictionary: TermDictionary
    explicit: TripleIndex
    inferred: TripleIndex = field(default_factory=TripleIndex)
    rules: str | None = None
    graphs: Mapping[int, TripleIndex] | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)
    generalised: TripleIndex = field(default_factory=TripleIndex)
    fingerprint: str | None = None


def is_encoded(path: str | os.PathLike[str]) -> bool:
    """Whether a folder looks like an encoded data set: it has a manifest and a folder of terms."""
    return (Path(path) / MANIFEST).is_file() and (Path(path) / TERMS).is_dir()
