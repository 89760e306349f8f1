"""Translating the ids of a data set to those of another dictionary.

Blank nodes get new labels, unless they have such labels already: the scope of a blank node is its data set.
"""

from __future__ import annotations

from uuid import uuid4

import numpy as np

from corollary.columns.pairs import Pairs, firsts, pack, seconds
from corollary.kernels.sorted import Column
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, KIND_SHIFT, Ids, Kind, TermDictionary
from corollary.terms.texts import Texts, TextTable


def new_labels(count: int) -> TextTable:
    """``count`` labels of blank nodes with a random prefix, unique across all data sets."""
    prefix = f"_:N{uuid4().hex}n"
    texts = Texts.of_strings([f"{prefix}{number}" for number in range(count)])
    return TextTable.of_parts([(texts.data, texts.lengths)])


class Translation:
    """Maps the ids of ``source`` to those of ``target``. Terms that ``target`` lacks are added to it.

    Unless ``adds``, these terms have the id ``ABSENT``. With ``keeps_labels``, blank nodes are not renamed.
    """

    def __init__(
        self,
        source: TermDictionary,
        target: TermDictionary,
        *,
        adds: bool = True,
        keeps_labels: bool = False,
    ) -> None:
        self._ids: list[Ids] = []
        for kind, table in zip(BULK_KINDS, source.tables(), strict=True):
            if kind == Kind.BLANK_NODE and not keeps_labels:
                table = new_labels(len(table))
            ids: Ids = np.empty(len(table), np.uint32)
            done = 0
            for content, lengths in table.parts():
                texts, its = (
                    Texts.of(content, np.cumsum(lengths) - lengths, lengths),
                    ids[done : done + lengths.size],
                )
                if adds:
                    target.encode_texts(texts, its, (kind,))
                else:
                    target.find_texts(texts, its, kind)
                done += lengths.size
            self._ids.append(ids)

    def id(self, term: int) -> int:
        """One id, translated."""
        return int(self._ids[term >> KIND_SHIFT][term & INDEX_MASK])

    def pairs(self, pairs: Pairs) -> Pairs:
        """Facts, translated."""
        return Pairs.of(pack(self.column(firsts(pairs.keys)), self.column(seconds(pairs.keys))))

    def column(self, column: Column) -> Column:
        """A column of ids, translated."""
        translated: Column = np.empty_like(column)
        kinds = column >> np.uint32(KIND_SHIFT)
        for kind, ids in zip(BULK_KINDS, self._ids, strict=True):
            chosen = kinds == kind
            if chosen.all():
                return np.take(ids, column & np.uint32(INDEX_MASK))
            translated[chosen] = ids[column[chosen] & np.uint32(INDEX_MASK)]
        return translated
