"""The encoded data set: terms and facts as a folder of Parquet files that any column engine can query.

``manifest.json`` describes the data set. ``terms/`` has ids and texts. ``facts/explicit/`` and
``facts/inferred/`` have predicate, subject, object. ``facts/graphs/`` has the facts of each graph if there
are several. ``generalised/`` has the inferred facts that RDF does not allow, if I can be adopted.
docs/loading.md specifies the format.

Invariant: a folder with a manifest is complete. The writer fills a folder under a temporary name, writes the
manifest last, and renames the folder. A reader requires the manifest and checks the files against it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corollary.columns import Columns, TripleIndex
from corollary.columns.column_file import is_column_file
from corollary.kernels.limits import Progress, no_progress
from corollary.loaders.decoding import Reader, column_of
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
)
from corollary.loaders.formats import input_error
from corollary.loaders.snapshots import data_set_in
from corollary.loaders.tuning import ROWS_PER_GROUP
from corollary.reasoner.closed_under import ClosedUnder
from corollary.reasoner.snapshot_file import MappedSnapshot
from corollary.terms.dictionary import BULK_KINDS, KIND_SHIFT, TermDictionary

if TYPE_CHECKING:
    import pyarrow

    from corollary.terms.texts import TextTable


def save_encoded(
    path: str | os.PathLike[str], data: EncodedDataSet, progress: Progress = no_progress
) -> None:
    """Write a data set to the folder ``path``. The folder appears complete or not at all.

    Precondition: ``data.inferred`` and ``data.explicit`` are disjoint. An older data set at ``path`` is
    replaced. Raises InputError if something else is at ``path``, or the file system reports an error.
    """
    target = Path(path).resolve()
    _check_target(target)
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        shutil.rmtree(partial, ignore_errors=True)  # left by a killed process with the same process id
        partial.mkdir()
        try:
            reported = _reporter(data.explicit.fact_count() + data.inferred.fact_count(), progress)
            files = {
                **_write_terms(partial, data.dictionary),
                **_write_facts(partial, EXPLICIT, data.explicit, reported),
                **_write_facts(partial, INFERRED, data.inferred, reported),
            }
            facts = {"explicit": data.explicit.fact_count(), "inferred": data.inferred.fact_count()}
            if data.fingerprint is not None:
                files |= _write_facts(partial, GENERALISED, data.generalised)
                facts["generalised"] = data.generalised.fact_count()
            if data.graphs is not None:
                files |= _write_graphs(partial, data.graphs)
                facts["graphs"] = sum(graph.fact_count() for graph in data.graphs.values())
            terms = {KIND_NAMES[kind]: data.dictionary.count(kind) for kind in BULK_KINDS}
            (partial / MANIFEST).write_text(
                manifest(terms, facts, files, data.rules, data.prefixes, data.fingerprint)
            )
            _replace(partial, target)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    except OSError as error:
        raise input_error(f"{path}: cannot be written: {error.strerror or error}") from None


def manifest(
    terms: Mapping[str, int],
    facts: Mapping[str, int],
    files: Mapping[str, Mapping[str, Any]],
    rules: str | None,
    prefixes: Mapping[str, str] | None = None,
    fingerprint: str | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> str:
    """The text of a manifest.

    ``terms`` has the number of terms by kind (iri, blank_node, literal). ``facts`` has the number of facts by
    part: explicit, inferred and, if there are several graphs, graphs; generalised, if there is a
    ``fingerprint``. ``files`` maps every path in the folder to its ``rows``, ``bytes`` and ``sha256`` (or
    None). ``inputs`` are the checksums of what the data set was made from, if they are known.
    """
    content = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "corollary": version("corollary"),
        "rules": rules,
        "fingerprint": fingerprint,
        "terms": dict(terms),
        "facts": dict(facts),
        "prefixes": dict(prefixes or {}),
        "files": {name: dict(about) for name, about in files.items()},
        **({} if inputs is None else {"inputs": dict(inputs)}),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _check_target(target: Path) -> None:
    if not target.parent.is_dir():
        raise input_error(
            f"{target}: there is no folder {target.parent}", f"make the folder {target.parent} first"
        )
    try:
        is_free = not target.exists() or (target.is_dir() and not any(target.iterdir()))
        is_usable = is_free or (target / MANIFEST).is_file()
    except OSError as error:  # it may not be looked at; its name is too long
        raise input_error(f"{target}: {error.strerror}", "name a folder that can be written") from None
    if not is_usable:
        raise input_error(f"{target}: something else is there", "name a new folder, or an older data set")


def _replace(partial: Path, target: Path) -> None:
    """Rename a complete folder to its final name; an older folder of that name is replaced."""
    if target.exists():
        older = partial.with_suffix(".old")
        target.rename(older)
        partial.rename(target)
        shutil.rmtree(older, ignore_errors=True)
    else:
        partial.rename(target)


def _write_terms(folder: Path, dictionary: TermDictionary) -> dict[str, dict[str, Any]]:
    files = {}
    for kind, table in zip(BULK_KINDS, dictionary.tables(), strict=True):
        name = f"{TERMS}/part-{int(kind):05}.parquet"
        files[name] = _write(folder, name, _term_rows(table, kind << KIND_SHIFT))
    return files


def _term_rows(table: TextTable, first: int) -> Iterator[pyarrow.Table]:
    """Yield the terms of a table with their ids, from ``first`` on; at least one table of rows."""
    import pyarrow as pa

    nothing = np.empty(0, np.uint8), np.empty(0, np.int64)
    for content, lengths in chain([nothing], table.parts()):
        ids = np.arange(first, first + lengths.size, dtype=np.uint32)
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
        yield pa.table({"id": ids, "text": column_of(content, offsets)})
        first += lengths.size


def _reporter(total: int, progress: Progress) -> Callable[[Columns], Columns]:
    """A function that returns columns as they are, and reports the facts so far."""
    done = 0

    def reported(columns: Columns) -> Columns:
        nonlocal done
        done += columns[0].size
        progress("writing facts", done, done / total)
        return columns

    return reported


def _write_facts(
    folder: Path, part: str, index: TripleIndex, reported: Callable[[Columns], Columns] = lambda c: c
) -> dict[str, dict[str, Any]]:
    name = f"{part}/part-00000.parquet"
    tables = map(_fact_table, map(reported, index.batches(ROWS_PER_GROUP, legal=False)))
    return {name: _write(folder, name, chain([_fact_table(TripleIndex().columns())], tables))}


def _write_graphs(folder: Path, graphs: Mapping[int, TripleIndex]) -> dict[str, dict[str, Any]]:
    import pyarrow as pa

    def rows(graph: int, columns: Columns) -> pa.Table:
        names = pa.array(np.full(columns[0].size, graph, np.uint32))
        return _fact_table(columns).add_column(0, "graph", names)

    def tables() -> Iterator[pa.Table]:
        yield rows(0, TripleIndex().columns())
        for graph, index in sorted(graphs.items()):
            for columns in index.batches(ROWS_PER_GROUP, legal=False):
                yield rows(graph, columns)

    name = f"{GRAPHS}/part-00000.parquet"
    return {name: _write(folder, name, tables())}


def _fact_table(columns: Columns) -> pyarrow.Table:
    import pyarrow as pa

    subjects, predicates, objects = columns
    return pa.table(dict(zip(COLUMNS, (predicates, subjects, objects), strict=True)))


def _write(folder: Path, name: str, tables: Iterable[pyarrow.Table]) -> dict[str, Any]:
    """Write one file, a table at a time, and flush it to disk. Returns its rows, bytes and checksum.

    Precondition: there is a table, and all have the same schema.
    """
    from pyarrow import parquet

    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    parts, rows = of_size(tables, ROWS_PER_GROUP), 0
    first = next(parts)
    options: dict[str, Any] = {"compression": "zstd", "use_dictionary": ["graph", "predicate"]}
    with parquet.ParquetWriter(path, first.schema, **options) as file:
        for table in chain([first], parts):
            file.write_table(table, ROWS_PER_GROUP)
            rows += table.num_rows
    with path.open("rb") as raw:
        os.fsync(raw.fileno())
        digest = hashlib.file_digest(raw, "sha256").hexdigest()
    return {"rows": rows, "bytes": path.stat().st_size, "sha256": digest}


def of_size(tables: Iterable[pyarrow.Table], size: int) -> Iterator[pyarrow.Table]:
    """The rows of tables in tables of at least ``size`` rows, but for the last one, which may be empty."""
    import pyarrow as pa

    waiting: list[pyarrow.Table] = []
    rows = 0
    for table in tables:
        waiting.append(table)
        rows += table.num_rows
        if rows >= size:
            yield pa.concat_tables(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def load_encoded(path: str | os.PathLike[str], *, inferred: bool = True) -> EncodedDataSet:
    """Read a data set, also one that another program wrote, or a snapshot (``Reasoner.save_snapshot``).

    Without ``inferred``, skip the inferred facts. Raises CorollaryError, with a remedy, if there is no data
    set, or the data set is incomplete or damaged.
    """
    if is_column_file(path):
        return data_set_in(Path(path), inferred=inferred)
    return Reader(Path(path)).data_set(inferred=inferred)


def closed_under(path: str | os.PathLike[str]) -> ClosedUnder:
    """By which rules a data set or a snapshot is closed. Raises what ``load_encoded`` does."""
    if is_column_file(path):
        return MappedSnapshot(Path(path)).closed
    return Reader(Path(path)).closed
