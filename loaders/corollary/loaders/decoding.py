"""Reading an encoded data set: files are checked against the manifest, ids against the terms.

A file is read row group by row group. While one row group is decoded, a thread reads the next. Keys
and texts are written directly into preallocated arrays.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corollary.columns import Relation, TripleIndex
from corollary.columns.pairs import Pairs, ascending
from corollary.kernels.byte_texts import Bytes, Places
from corollary.kernels.sorted import Keys
from corollary.language.errors import InputError
from corollary.loaders.encoded_format import (
    COLUMNS,
    EXPLICIT,
    FORMAT,
    FORMAT_VERSION,
    GENERALISED,
    GRAPHS,
    INFERRED,
    KIND_NAMES,
    MANIFEST,
    TERMS,
    EncodedDataSet,
    is_manifest,
)
from corollary.loaders.formats import input_error
from corollary.reasoner.closed_under import ClosedUnder
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, KIND_SHIFT, Ids, Kind, TermDictionary
from corollary.terms.texts import TextTable

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet

_NO_GRAPH = 0


def bad_data_set(folder: str | Path, what: str) -> InputError:
    """The error for a damaged data set; ``what`` is the defect."""
    return input_error(f"{folder}: {what}", "write the data set again")


def checked_manifest(text: str | bytes, folder: str | Path) -> dict[str, Any]:
    """Parse a manifest. Raises InputError if the text is no manifest, or its format version is unknown."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise bad_data_set(folder, f"{MANIFEST} is damaged: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise bad_data_set(folder, f"{MANIFEST} is not that of an encoded data set")
    if content.get("version") != FORMAT_VERSION:
        complaint = f"{folder}: version {content.get('version')} of the format is not known"
        raise input_error(complaint, "a newer Corollary may read it")
    if not is_manifest(content):
        raise bad_data_set(folder, f"{MANIFEST} is damaged: values are missing, or make no sense")
    return content


class Reader:
    """Reads the data set in one folder. ``closed``: by which rules it was closed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._manifest = checked_manifest(self._read_manifest(), folder)
        counts = [self._manifest["terms"][KIND_NAMES[kind]] for kind in BULK_KINDS]
        self._counts = np.array([*counts, 0], np.uint32)
        self.closed = ClosedUnder(*(self._manifest.get(n) for n in ("fingerprint", "rules", "corollary")))

    def check_files(self, *, inferred: bool = True) -> None:
        """Compare the files with the manifest; without ``inferred``, not those of the inferred facts."""
        for name, about in self._manifest["files"].items():
            if inferred or not name.startswith((INFERRED, GENERALISED)):
                self._check_file(name, about)

    def data_set(self, *, inferred: bool, by_graph: bool = True) -> EncodedDataSet:
        """Read the data set; without ``inferred``, skip the inferred facts.

        Without ``by_graph``, skip the facts by graph; their files are compared with the manifest even so.
        """
        self.check_files(inferred=inferred)
        dictionary = TermDictionary.of_tables(self._term_tables())
        explicit = self._indexes("explicit", EXPLICIT)
        derived = self._indexes("inferred", INFERRED) if inferred else {}
        has_more = inferred and "generalised" in self._manifest["facts"]
        generalised = self._indexes("generalised", GENERALISED) if has_more else {}
        has_graphs = by_graph and "graphs" in self._manifest["facts"]
        graphs = self._indexes("graphs", GRAPHS) if has_graphs else None
        return EncodedDataSet(
            dictionary,
            explicit.get(_NO_GRAPH, TripleIndex()),
            derived.get(_NO_GRAPH, TripleIndex()),
            self.closed.rules,
            graphs,
            self._manifest.get("prefixes", {}),
            generalised.get(_NO_GRAPH, TripleIndex()),
            self.closed.fingerprint,
        )

    def _bad(self, what: str) -> InputError:
        return bad_data_set(self._folder, what)

    def _read_manifest(self) -> bytes:
        try:
            return (self._folder / MANIFEST).read_bytes()
        except OSError as error:
            complaint = f"{self._folder}: no encoded data set is here: {MANIFEST}: {error.strerror}"
            raise input_error(
                complaint, "a data set that was not written to the end has no manifest"
            ) from None

    def _check_file(self, name: str, about: Mapping[str, Any]) -> None:
        path = self._folder / name
        if not path.is_file() or path.stat().st_size != about["bytes"]:
            raise self._bad(f"{name} is missing or cut off")
        if about["sha256"] is not None:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != about["sha256"]:
                    raise self._bad(f"{name} is not what was written: its checksum differs")

    def _files(self, part: str, columns: tuple[str, ...]) -> list[parquet.ParquetFile]:
        """The Parquet files of one part of the data set, in the order of their names.

        Raises InputError if they lack some of the columns.
        """
        import pyarrow as pa
        from pyarrow import parquet

        names = sorted(name for name in self._manifest["files"] if name.startswith(f"{part}/"))
        try:
            files = [parquet.ParquetFile(self._folder / name) for name in names]
        except (pa.ArrowException, OSError) as error:
            raise self._bad(f"{part} cannot be read: {error}") from None
        for file in files:
            if not set(columns) <= set(file.schema_arrow.names):
                raise self._bad(f"{part} lacks one of the columns {', '.join(columns)}")
        return files

    def _batches(
        self, part: str, files: list[parquet.ParquetFile], columns: tuple[str, ...]
    ) -> Iterator[pyarrow.RecordBatch]:
        """Yield the given columns of all rows of a part, in the order of files and rows."""
        import pyarrow as pa

        groups = [(file, number) for file in files for number in range(file.num_row_groups)]
        with ThreadPoolExecutor(1) as pool:

            def read(place: int) -> pyarrow.Table:
                file, number = groups[place]
                return file.read_row_group(number, columns=list(columns))

            coming = pool.submit(read, 0) if groups else None
            for place in range(len(groups)):
                assert coming is not None
                try:
                    table = coming.result()
                except (pa.ArrowException, OSError) as error:
                    raise self._bad(f"{part} cannot be read: {error}") from None
                coming = pool.submit(read, place + 1) if place + 1 < len(groups) else None
                yield from table.to_batches()

    # Terms

    def _term_tables(self) -> list[TextTable]:
        import pyarrow as pa

        files = self._files(TERMS, ("id", "text"))
        tables = [TextTable() for _ in BULK_KINDS]
        for batch in self._batches(TERMS, files, ("id", "text")):
            ids = self._ids(TERMS, batch, "id")
            try:
                _refuse_other_bytes(batch.column("text"))
                content, offsets = content_of(batch.column("text"))
            except (pa.ArrowException, UnicodeDecodeError) as error:
                raise self._bad(f"{TERMS} has texts that are none: {error}") from None
            bounds = np.searchsorted(ids, [kind << KIND_SHIFT for kind in Kind]).tolist()
            for kind, table in zip(BULK_KINDS, tables, strict=True):
                start, end = bounds[kind], bounds[kind + 1]
                first = (kind << KIND_SHIFT) + len(table)
                if not np.array_equal(ids[start:end], np.arange(first, first + end - start)):
                    raise self._bad(f"the ids of terms ({KIND_NAMES[kind]}) are not without gaps")
                if len(table) + end - start > self._counts[kind]:
                    raise self._bad(_MISCOUNTED)
                some = offsets[start : end + 1]
                table.extend(content[some[0] : some[-1]], np.diff(some))
        if [*map(len, tables)] != self._counts[: len(BULK_KINDS)].tolist():
            raise self._bad(_MISCOUNTED)
        return tables

    # Facts

    def _indexes(self, name: str, part: str) -> dict[int, TripleIndex]:
        """Read one part of the facts: an index by graph id, or all facts under ``_NO_GRAPH``."""
        columns = ("graph", *COLUMNS) if part == GRAPHS else COLUMNS
        files = self._files(part, columns)
        rows = sum(file.metadata.num_rows for file in files)
        keys: Keys = np.empty(rows, np.uint64)
        runs: dict[tuple[int, int], list[list[int]]] = {}  # starts and ends, by graph and predicate
        start = 0
        for batch in self._batches(part, files, columns):
            *names, subjects, objects = (self._ids(part, batch, column) for column in columns)
            fresh = np.flatnonzero(np.any([column[1:] != column[:-1] for column in names], axis=0)) + 1
            firsts = np.concatenate((np.zeros(min(len(subjects), 1), np.int64), fresh))
            for column in (*(column[firsts] for column in names), subjects, objects):
                self._check_ids(part, column)
            end = start + len(subjects)
            _pack_into(keys[start:end], subjects, objects)
            bounds = [*(firsts + start).tolist(), end]
            named = zip(*(column[firsts].tolist() for column in names), strict=True)
            for ids, run_start, run_end in zip(named, bounds[:-1], bounds[1:], strict=True):
                places = runs.setdefault((ids[0] if part == GRAPHS else _NO_GRAPH, ids[-1]), [])
                if places and places[-1][1] == run_start:
                    places[-1][1] = run_end
                else:
                    places.append([run_start, run_end])
            start = end
        relations: dict[int, dict[int, Relation]] = {}
        for (graph, predicate), places in runs.items():
            parts = [keys[run_start:run_end] for run_start, run_end in places]
            relations.setdefault(graph, {})[predicate] = Relation(_pairs(parts))
        indexes = {graph: TripleIndex(found) for graph, found in relations.items()}
        count = sum(index.fact_count() for index in indexes.values())
        if count != self._manifest["facts"][name]:
            raise self._bad(f"{count:,} {name} facts, not what the manifest says")
        return indexes

    def _ids(self, part: str, batch: pyarrow.RecordBatch, name: str) -> Ids:
        """A column of ids as uint32. Writers without unsigned types store ids as wider integers."""
        import pyarrow as pa

        column = batch.column(name)
        if not pa.types.is_integer(column.type) or column.null_count:
            raise self._bad(f"{part} has no ids in the column {name}")
        ids = column.to_numpy(zero_copy_only=False)
        found: Ids = ids.astype(np.uint32, copy=False)
        if found is not ids and not np.array_equal(found, ids):
            raise self._bad(f"{part} has ids of no term")
        return found

    def _check_ids(self, part: str, ids: Ids) -> None:
        largest = int(ids.max()) if ids.size else 0
        if largest <= INDEX_MASK:  # IRIs only, which is common for subjects
            is_good = not ids.size or largest < int(self._counts[Kind.IRI])
        else:
            is_good = bool((ids & np.uint32(INDEX_MASK) < self._counts[ids >> np.uint32(KIND_SHIFT)]).all())
        if not is_good:
            raise self._bad(f"{part} has ids of no term")


_MISCOUNTED = "there are not as many terms as the manifest says"


def _refuse_other_bytes(texts: pyarrow.Array) -> None:
    """Raise ArrowException or UnicodeDecodeError unless all texts are UTF-8, where surrogates may stand.

    Cost: 0.08 ns a byte; more if there are lone surrogates.
    """
    import pyarrow as pa

    if texts.null_count:
        raise pa.ArrowInvalid("a text is missing")
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:  # Arrow takes no surrogates, which Python's strings may have
        for text in texts.cast(pa.large_binary()):
            text.as_py().decode("utf-8", "surrogatepass")


def content_of(column: pyarrow.Array) -> tuple[Bytes, Places]:
    """The bytes of a column of texts, and the offsets of the texts in them. Both arrays are read-only."""
    import pyarrow as pa

    texts = column.cast(pa.large_string())
    _, offsets, content = texts.buffers()
    places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(content or b"", np.uint8), places


def column_of(content: Bytes, places: Places) -> pyarrow.Array:
    """A column of the texts that stand end to end, and begin and end at ``places``: see ``content_of``."""
    import pyarrow as pa

    buffers = [None, pa.py_buffer(places), pa.py_buffer(content)]
    return pa.Array.from_buffers(pa.large_string(), places.size - 1, buffers)


def _pack_into(keys: Keys, subjects: Ids, objects: Ids) -> None:
    keys[:] = subjects
    keys <<= np.uint64(32)
    keys |= objects


def _pairs(parts: list[Keys]) -> Pairs:
    """Facts as sorted pairs. Cost: O(facts) if the keys ascend already, else that of sorting them."""
    keys = np.concatenate(parts) if len(parts) > 1 else parts[0]
    return Pairs(ascending(keys))
