"""The parts of an encoded data set: the names in its folder, and its content as a value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corollary.columns import TripleIndex
from corollary.columns.column_file import is_column_file
from corollary.terms.dictionary import INDEX_MASK, Kind, TermDictionary

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
    ``generalised`` are the inferred facts that RDF does not allow. ``fingerprint`` is that of the rules
    (``program.fingerprint``), if I can be adopted: then I is the disjoint union of ``explicit``, ``inferred``
    and ``generalised``.
    ``whole`` is I, if it is at hand in one piece.
    """

    dictionary: TermDictionary
    explicit: TripleIndex
    inferred: TripleIndex = field(default_factory=TripleIndex)
    rules: str | None = None
    graphs: Mapping[int, TripleIndex] | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)
    generalised: TripleIndex = field(default_factory=TripleIndex)
    fingerprint: str | None = None
    whole: TripleIndex | None = None


def is_encoded(path: str | os.PathLike[str]) -> bool:
    """Whether a path looks like an encoded data set.

    In one form a data set is a folder with a manifest and a folder of terms; in the other it is a snapshot.
    """
    try:
        is_folder = (Path(path) / MANIFEST).is_file() and (Path(path) / TERMS).is_dir()
        return is_folder or is_column_file(path)
    except (OSError, ValueError):  # no system has such a path
        return False


def is_manifest(content: Mapping[str, Any]) -> bool:
    """Whether all values that a reader uses are there, and of their types; no file is outside the folder."""
    parts: list[Any] = [content.get(name) for name in ("terms", "facts", "files")]
    terms, facts, files = parts
    prefixes = content.get("prefixes", {})
    if not all(isinstance(value, dict) for value in (*parts, prefixes)):
        return False
    kinds = [terms.get(name) for name in KIND_NAMES.values()]
    counts = [*kinds, facts.get("explicit"), facts.get("inferred"), *facts.values()]
    texts = [
        *prefixes.values(),
        *(content[n] for n in ("rules", "fingerprint") if content.get(n) is not None),
    ]
    for name, about in files.items():
        if not isinstance(about, dict) or name.startswith("/") or ".." in name.split("/"):
            return False
        counts.append(about.get("bytes"))
        texts += [] if about.get("sha256", 0) is None else [about.get("sha256")]
    are_counts = all(type(count) is int and count >= 0 for count in counts)
    are_ids = are_counts and all(count <= INDEX_MASK for count in kinds)
    return are_ids and all(isinstance(text, str) for text in texts)
