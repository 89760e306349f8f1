"""Encoded data sets as sets of texts, which do not depend on how terms are numbered."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from corollary.index import TripleIndex
from corollary.loaders import read_index
from corollary.terms.dictionary import TermDictionary

TextTriple = tuple[str, str, str]

_SUFFIX = re.compile(r"(_:.*)-\d+")


def texts(index: TripleIndex, dictionary: TermDictionary) -> set[TextTriple]:
    """The facts of an index, those included that RDF does not allow."""
    columns = [dictionary.decode_all(column.tolist()) for column in index.columns(legal=False)]
    return set(zip(*columns, strict=True))


def read_texts(paths: Iterable[Path]) -> set[TextTriple]:
    """What the local reader makes of files."""
    dictionary = TermDictionary()
    return texts(read_index(paths, dictionary), dictionary)


def without_suffixes(triples: Iterable[TextTriple]) -> set[TextTriple]:
    """Facts with the labels of blank nodes as they stand in the documents."""
    return {tuple(_SUFFIX.sub(r"\1", term) for term in triple) for triple in triples}  # type: ignore[misc]
