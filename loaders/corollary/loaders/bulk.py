"""Large N-Triples and N-Quads documents to rows of term ids: parsed by threads, numbered in order.

Invariant: ids depend on the documents only, not on the number of threads. Terms of a document that failed to
load may stay in the dictionary. No fact refers to such terms.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from corollary.kernels.byte_texts import Places
from corollary.loaders.documents import Document
from corollary.loaders.labels import ANONYMOUS_LENGTHS, free_label, is_anonymous, label_like
from corollary.loaders.line_kernel import TERMS
from corollary.loaders.ntriples import BadLine, Statements
from corollary.terms.dictionary import FIRST_BYTES, Ids, Kind, TermDictionary
from corollary.terms.texts import ABSENT, Texts, TextTable

_GRAPH = 3
_UNDERSCORE = FIRST_BYTES[Kind.BLANK_NODE]


class Numbering:
    """Numbers the terms of one document, whose chunks come in order.

    With ``graph`` rows have four columns: the last is the graph name, and ``graph`` for triples of the
    default graph. If ``new_label`` is given, it makes the labels of all blank nodes. Bad lines are added to
    ``skipped``. If ``skipped`` is None, the first bad line raises InputError.
    """

    def __init__(
        self,
        document: Document,
        dictionary: TermDictionary,
        *,
        graph: int | None = None,
        new_label: Callable[[], str] | None = None,
        skipped: list[BadLine] | None = None,
    ) -> None:
        self._format = document.format
        self._dictionary = dictionary
        self._graph = graph
        self._skipped = skipped
        self._blank_nodes = _BlankNodes(dictionary, new_label)
        self._lines = 0

    def rows(self, statements: Statements) -> Ids:
        """The statements of the next chunk as a uint32 array of shape (n, 3): subject, predicate, object."""
        for bad in statements.bad:
            placed = replace(bad, line=bad.line + self._lines)
            if self._skipped is None:
                raise placed.error(self._format)
            self._skipped.append(placed)
        self._lines += statements.lines
        texts = statements.texts
        ids: Ids = np.empty(texts.starts.size, np.uint32)
        ids[0] = self._graph or 0
        self._dictionary.encode_texts(texts, ids, (Kind.IRI, Kind.LITERAL))
        self._blank_nodes.encode(texts, ids)
        columns = statements.places.reshape(-1, TERMS).T
        return ids.take(columns[:_GRAPH] if self._graph is None else columns).T


class _BlankNodes:
    """Maps the blank node labels of one document to ids."""

    def __init__(self, dictionary: TermDictionary, new_label: Callable[[], str] | None) -> None:
        self._dictionary = dictionary
        self._new_label = new_label
        self._labels = TextTable()
        self._ids = array("I")

    def encode(self, texts: Texts, ids: Ids) -> None:
        """Write the ids of the blank nodes among ``texts`` into ``ids``."""
        is_label = texts.firsts == _UNDERSCORE
        if not is_label.any():
            return
        known = len(self._labels)
        numbers: Ids = np.empty(texts.starts.size, np.uint32)
        self._labels.append(texts, _UNDERSCORE, 0, numbers)
        if len(self._labels) > known:
            self._ids.frombytes(self._ids_of_new(known).tobytes())
        ids[is_label] = np.frombuffer(self._ids, np.uint32)[numbers[is_label]]

    def _ids_of_new(self, known: int) -> Ids:
        """Ids for the labels from number ``known`` on: those that an assignment label by label would give."""
        dictionary, numbers = self._dictionary, range(known, len(self._labels))
        ids: Ids = np.empty(len(numbers), np.uint32)
        if self._new_label is not None:
            names = Texts.of_strings([self._new_label() for _ in numbers])
            dictionary.encode_texts(names, ids, (Kind.BLANK_NODE,))
            return ids
        content, places = self._labels.texts_of(np.arange(known, len(self._labels)))
        lengths: Places = np.diff(places)
        labels = Texts.of(content, places[:-1].copy(), lengths)
        is_taken = self._are_known(labels)
        is_suspect = (lengths >= ANONYMOUS_LENGTHS.start) & (lengths < ANONYMOUS_LENGTHS.stop) & ~is_taken
        for row in np.flatnonzero(is_suspect).tolist():
            is_taken[row] = is_anonymous(self._labels.text(known + row))
        if is_taken.any():
            first = dictionary.count(Kind.BLANK_NODE) + 1
            texts = list(map(self._labels.text, numbers))
            for row in np.flatnonzero(is_taken).tolist():
                texts[row] = label_like(texts[row], first + row)
            labels = Texts.of_strings(texts)
            if len(set(texts)) < len(texts) or self._are_known(labels).any():
                return np.array([self._free_id(number) for number in numbers], np.uint32)
        dictionary.encode_texts(labels, ids, (Kind.BLANK_NODE,))
        return ids

    def _are_known(self, labels: Texts) -> NDArray[np.bool_]:
        ids: Ids = np.empty(labels.starts.size, np.uint32)
        self._dictionary.find_texts(labels, ids, Kind.BLANK_NODE)
        known: NDArray[np.bool_] = ids != ABSENT
        return known

    def _free_id(self, number: int) -> int:
        return self._dictionary.encode(free_label(self._labels.text(number), self._dictionary))
