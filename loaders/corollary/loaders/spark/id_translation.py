"""Translation of term ids and facts between the driver and the cluster, in both directions.

The ids of the data set are *global*. The engine on the driver has a dictionary of its own for the few terms
that it needs; its ids are *local*. Constants of the program that are not in the data set get the next free
global ids.

Invariant: virtual relations have the same id on both sides, and no text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corollary.columns import FIRST_VIRTUAL, Candidates, grouped
from corollary.columns.pairs import distinct, firsts, pack, seconds
from corollary.kernels.sorted import Column
from corollary.loaders.encoded_format import COLUMNS
from corollary.loaders.spark.encoded_tables import DistributedDataSet
from corollary.loaders.spark.tuning import MAX_TERMS_LISTED
from corollary.program.compile import Atom
from corollary.terms.dictionary import BULK_KINDS, KIND_SHIFT, TermDictionary, kind_of_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GlobalIds = NDArray[np.int64]


class IdTranslation:
    """Maps local ids to global ids and back. Unknown terms are looked up in the data set's table of terms.

    ``new`` has the global ids and texts of terms that the data set lacks.
    """

    def __init__(self, data: DistributedDataSet) -> None:
        self.dictionary = TermDictionary()
        self.new: list[tuple[int, str]] = []
        self._terms = data.terms
        self._spark = data.terms.sparkSession
        self._next = {kind: (kind << KIND_SHIFT) + data.counts[kind] for kind in BULK_KINDS}
        self._global: dict[int, int] = {}
        self._local: dict[int, int] = {}

    @property
    def terms(self) -> DataFrame:
        """All terms with global ids, new ones included: id, text."""
        if not self.new:
            return self._terms
        ids, texts = zip(*self.new, strict=True)
        more = pa.table({"id": pa.array(ids, pa.int64()), "text": pa.array(texts, pa.string())})
        return self._terms.unionAll(self._spark.createDataFrame(more))

    def outward(self, column: Column) -> GlobalIds:
        """Translate local ids to global ids."""
        names = distinct(column).tolist()
        self._settle(names)
        return _mapped(column, names, self._global)

    def inward(self, column: NDArray[np.integer]) -> Column:
        """Translate global ids to local ids."""
        names = distinct(column).tolist()
        self._learn(names)
        return _mapped(column, names, self._local).astype(np.uint32)

    def id(self, local: int) -> int:
        """The global id of one local id."""
        self._settle((local,))
        return self._global[local]

    def ids(self, texts: Iterable[str]) -> dict[str, int]:
        """The global ids of the given texts. New terms get an id."""
        local = {text: self.dictionary.encode(text) for text in texts}
        self._settle(local.values())
        return {text: self._global[term] for text, term in local.items()}

    def known(self, texts: Iterable[str]) -> dict[str, int]:
        """The global ids of those of the given texts that have one. Assigns no ids."""
        wanted = list(texts)
        found = {text: term_id for term_id, text in self._looked_up("text", pa.array(wanted, pa.string()))}
        return found | {text: term_id for term_id, text in self.new if text in set(wanted)}

    def atom(self, atom: Atom) -> Atom:
        """The atom with global ids for its constants."""
        return Atom(*(term if term < 0 else self.id(term) for term in atom.terms))

    def tables(self) -> list[GlobalIds]:
        """The global ids of all terms of the engine's dictionary, by kind."""
        self.settle_all()
        return [
            np.array(
                [self._global[(kind << KIND_SHIFT) + n] for n in range(self.dictionary.count(kind))], np.int64
            )
            for kind in BULK_KINDS
        ]

    def settle_all(self) -> None:
        """Look up the global ids of all terms of the engine's dictionary, with one join."""
        self._settle(
            (kind << KIND_SHIFT) + n for kind in BULK_KINDS for n in range(self.dictionary.count(kind))
        )

    def facts_inward(self, facts: DataFrame) -> Candidates:
        """Collect facts of the cluster as candidates with local ids. Precondition: they fit on the driver."""
        table = facts.select(*COLUMNS).toArrow()
        if not table.num_rows:
            return {}
        columns = [table.column(name).to_numpy() for name in COLUMNS]
        self._learn(distinct(np.concatenate(columns)).tolist())
        predicates, subjects, objects = map(self.inward, columns)
        return {predicate: [keys] for predicate, keys in grouped(predicates, pack(subjects, objects))}

    def facts_outward(self, candidates: Candidates) -> DataFrame | None:
        """Facts of the engine as a table with global ids; None if there are none."""
        parts: list[list[GlobalIds]] = []
        for predicate, found in candidates.items():
            keys = np.concatenate(found)
            if keys.size:
                ends = self.outward(firsts(keys)), self.outward(seconds(keys))
                parts.append([np.full(keys.size, self.id(predicate), np.int64), *ends])
        if not parts:
            return None
        columns = (np.concatenate(column) for column in zip(*parts, strict=True))
        return self._spark.createDataFrame(pa.table(dict(zip(COLUMNS, columns, strict=True))))

    def _settle(self, local: Iterable[int]) -> None:
        unknown = [term for term in local if term not in self._global]
        for term in [term for term in unknown if term >= FIRST_VIRTUAL]:
            self._pair(term, term)
        texts = {self.dictionary.decode(term): term for term in unknown if term < FIRST_VIRTUAL}
        if not texts:
            return
        for term_id, text in self._looked_up("text", pa.array(texts, pa.string())):
            self._pair(texts.pop(text), term_id)
        for text in sorted(texts):
            kind = kind_of_text(text)
            self.new.append((self._next[kind], text))
            self._pair(texts[text], self._next[kind])
            self._next[kind] += 1

    def _learn(self, ids: Iterable[int]) -> None:
        unknown = [term for term in ids if term not in self._local]
        for term in [term for term in unknown if term >= FIRST_VIRTUAL]:
            self._pair(term, term)
        wanted = [term for term in unknown if term < FIRST_VIRTUAL]
        if wanted:
            for term_id, text in self._looked_up("id", pa.array(wanted, pa.int64())):
                self._pair(self.dictionary.encode(text), term_id)

    def _looked_up(self, column: str, values: pa.Array) -> list[tuple[int, str]]:
        from pyspark.sql import functions as F

        if len(values) <= MAX_TERMS_LISTED:
            found = self._terms.where(F.col(column).isin(values.to_pylist())).toArrow()
        else:
            wanted = self._spark.createDataFrame(pa.table({column: values}))
            found = self._terms.join(F.broadcast(wanted), column).select("id", "text").toArrow()
        return sorted(zip(found.column("id").to_pylist(), found.column("text").to_pylist(), strict=True))

    def _pair(self, local: int, everywhere: int) -> None:
        self._global[local] = everywhere
        self._local[everywhere] = local


def _mapped(column: NDArray[np.integer], names: list[int], mapping: dict[int, int]) -> GlobalIds:
    values = np.array([mapping[name] for name in names], np.int64)
    mapped: GlobalIds = values[np.searchsorted(np.array(names, np.int64), column)]
    return mapped
