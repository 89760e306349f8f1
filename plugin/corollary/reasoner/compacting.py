"""Dropping the terms that nothing uses any more: ``Reasoner.compact()``.

A dictionary only grows, and versions that readers hold need the ids that they know. So a version is made over
a new dictionary, which has the terms of its explicit facts, formulas and graphs, and takes the place of the
one there is, as any change does. What follows is derived anew: that brings the terms of rules, and those that
they compute.

Invariant: new ids are in the order of the old ones, so that sorted facts stay sorted.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from corollary.columns.pairs import distinct, firsts, pack, seconds
from corollary.columns.triples import TripleIndex
from corollary.kernels.sorted import Column, Keys
from corollary.reasoner.pending import Pending
from corollary.reasoner.quads import Quads
from corollary.reasoner.version import Version
from corollary.reasoner.versions import Versions
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, KIND_SHIFT, Kind, TermDictionary, kinds
from corollary.terms.texts import TextTable


def compact(versions: Versions, derive: Callable[[], object], forget: Callable[[], None]) -> int:
    """See ``Reasoner.compact``. ``derive`` derives what follows; ``forget`` drops what refers to old ids."""
    gone = 0
    for _ in versions.steps(derive):
        versions.current().to_be_written()
        derive()  # so that both dictionaries have what is derived
        before = versions.current().terms.dictionary
        forget()
        versions.change(compacted)
        derive()
        gone = len(before) - len(versions.current().terms.dictionary)
    persistence = versions.persistence()
    if persistence is not None:
        persistence.shrink()
    gc.collect()  # modules refer to each other: Python would keep them, and the old terms, until it looks
    return gone


def compacted(version: Version) -> Version:
    """The version over a dictionary that has only the terms it uses. Precondition: it is applied."""
    used = distinct(np.concatenate([np.array(column, np.uint32) for column in _ids(version)]))
    dictionary = version.terms.dictionary
    new = _Renumbering(used)
    smaller = TermDictionary.of_tables([_table(dictionary, used, kind) for kind in BULK_KINDS])
    terms = version.terms.renumbered(smaller, new.ids)
    return version.changed(
        terms=terms,
        quads=Quads.of(new.indexes(version.quads.graphs), new.indexes(version.quads.formulas)),
        named=frozenset(new.ids[graph] for graph in version.named),
        pending=Pending(),
    )


def _ids(version: Version) -> Iterator[Iterable[int]]:
    """The terms that a version uses, in parts."""
    terms, quads = version.terms, version.quads
    yield [*terms.used(), *version.named]
    for indexes in (quads.graphs, quads.formulas):
        yield list(indexes)
        for index in indexes.values():
            yield from index.columns(legal=False)


def _table(dictionary: TermDictionary, used: Column, kind: Kind) -> TextTable:
    """The texts of the used terms of one kind."""
    numbers = used[kinds(used) == kind] & np.uint32(INDEX_MASK)
    content, lengths = dictionary.texts_between(kind, 0, dictionary.count(kind))
    stays = np.zeros(lengths.size, np.bool_)
    stays[numbers] = True
    return TextTable.of_parts([content[np.repeat(stays, lengths)]], [lengths[stays]])


class _Renumbering:
    """From the ids that are used to those that have no gaps, kind by kind."""

    def __init__(self, used: Column) -> None:
        kind = kinds(used)
        first = np.searchsorted(kind, kind)  # of the same kind
        self._used = used
        self._new: Column = kind << np.uint32(KIND_SHIFT) | (np.arange(used.size) - first).astype(np.uint32)
        self.ids = dict(zip(used.tolist(), self._new.tolist(), strict=True))

    def indexes(self, indexes: Mapping[int, TripleIndex]) -> dict[int, dict[int, Keys]]:
        """The facts of graphs, by graph and predicate."""
        return {
            self.ids[graph]: {
                self.ids[p]: self._facts(relation.pairs().keys) for p, relation in index.relations()
            }
            for graph, index in indexes.items()
        }

    def _facts(self, keys: Keys) -> Keys:
        return pack(self._column(firsts(keys)), self._column(seconds(keys)))

    def _column(self, column: Column) -> Column:
        return self._new[np.searchsorted(self._used, column)]
