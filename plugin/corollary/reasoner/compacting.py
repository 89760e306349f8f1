"""Garbage collection of terms: ``Reasoner.compact()``.

A dictionary never removes a term, because versions that readers hold refer to its ids. Compaction makes a new
version over a new dictionary. The new dictionary has the terms of the explicit facts, formulas and graphs.
The new version is published as any change is. The materialisation is derived from scratch, which encodes the
terms of the rules and the terms that rules compute.

Invariant: renumbering is monotone in each kind, so sorted keys stay sorted.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from corollary.columns import TripleIndex
from corollary.columns.pairs import distinct, firsts, pack, seconds
from corollary.kernels.sorted import Column, Keys
from corollary.reasoner.pending import Pending
from corollary.reasoner.quads import Quads
from corollary.reasoner.version import Version
from corollary.reasoner.versions import Versions
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, KIND_SHIFT, Kind, TermDictionary, kinds
from corollary.terms.texts import TextTable
from corollary.terms.tuning import TEXTS_PER_PART


def compact(versions: Versions, derive: Callable[[], object], forget: Callable[[], None]) -> int:
    """See ``Reasoner.compact``. ``derive`` materialises; ``forget`` drops references to old ids."""
    removed = 0
    for _ in versions.steps(derive):
        versions.current().to_be_written()
        derive()  # so that both dictionaries have the terms of the materialisation
        before = versions.current().terms.dictionary
        forget()
        versions.change(compacted)
        derive()
        removed = len(before) - len(versions.current().terms.dictionary)
    persistence = versions.persistence()
    if persistence is not None:
        persistence.shrink()
    gc.collect()  # modules form reference cycles, which keep the old dictionary alive until a collection
    return removed


def compacted(version: Version) -> Version:
    """The version over a dictionary of only its used terms. Precondition: ``version`` is applied."""
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
    """The ids that a version uses, in chunks, with duplicates."""
    terms, quads = version.terms, version.quads
    yield [*terms.used(), *version.named]
    for indexes in (quads.graphs, quads.formulas):
        yield list(indexes)
        for index in indexes.values():
            yield from index.columns(legal=False)


def _table(dictionary: TermDictionary, used: Column, kind: Kind) -> TextTable:
    """The texts of the used terms of one kind, in the order of their old ids."""
    numbers = used[kinds(used) == kind] & np.uint32(INDEX_MASK)
    table = dictionary.tables()[kind]
    texts = (
        table.texts_of(numbers[start : start + TEXTS_PER_PART].astype(np.int64))
        for start in range(0, numbers.size, TEXTS_PER_PART)
    )
    return TextTable.of_parts((content, np.diff(places)) for content, places in texts)


class _Renumbering:
    """Maps the used ids to consecutive ids of the same kind. Precondition: ``used`` is sorted and unique."""

    def __init__(self, used: Column) -> None:
        kind = kinds(used)
        first = np.searchsorted(kind, kind)  # position of the first used id of the same kind
        self._used = used
        self._new: Column = kind << np.uint32(KIND_SHIFT) | (np.arange(used.size) - first).astype(np.uint32)
        self.ids = dict(zip(used.tolist(), self._new.tolist(), strict=True))

    def indexes(self, indexes: Mapping[int, TripleIndex]) -> dict[int, dict[int, Keys]]:
        """The renumbered facts by graph and predicate: packed, sorted, unique."""
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
