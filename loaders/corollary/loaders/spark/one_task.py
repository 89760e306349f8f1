"""Data of moderate size in one task: a Python worker numbers all terms, or closes all facts with the engine.

A round of joins takes seconds, however few facts it derives. One task gets all rows as Arrow batches, works
as on one machine, and returns the files of the data set, compressed, in pieces: some 3 bytes a fact. The
driver writes them. So a task that is killed, repeated or speculative leaves nothing, on every file system.

Invariant: the files are those that ``save_encoded`` writes on one machine.
Cost: the memory of one worker, some 60 bytes a fact and the texts of all terms. The files pass through the
driver.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from corollary.columns import TripleIndex
from corollary.evaluate import materialise as materialise_here
from corollary.language import Program
from corollary.language.errors import CorollaryError
from corollary.loaders.decoding import content_of
from corollary.loaders.encoded import save_encoded
from corollary.loaders.encoded_format import COLUMNS, KIND_NAMES, MANIFEST, EncodedDataSet
from corollary.loaders.spark.encoded_tables import DistributedDataSet, Files
from corollary.loaders.spark.encoding import ids_of_statements
from corollary.loaders.spark.storage import Storage
from corollary.loaders.spark.tuning import BYTES_PER_PIECE
from corollary.program.fingerprint import fingerprint
from corollary.program.stratify import called, verb
from corollary.terms.dictionary import BULK_KINDS, KIND_SHIFT, Ids, Kind, TermDictionary
from corollary.terms.texts import TextTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Batches = Iterator[pa.RecordBatch]

Function = Callable[[Batches], tuple[EncodedDataSet, dict[str, Any]]]
"""What the worker does with all rows: a data set, and a report that becomes JSON."""

PIECES = "name string, content binary"
"""The rows that the task returns: pieces of files in their order, then ``REPORT``; or one ``ERROR``."""

REPORT, ERROR = "report", "error"

_ARROW = pa.schema([("name", pa.string()), ("content", pa.binary())])

_CHUNKS = pa.schema(
    [("chunk", pa.int64()), ("number", pa.int64()), ("text", pa.string()), ("statements", pa.binary())]
)
_ROWS = pa.schema([("id", pa.int64()), ("text", pa.string()), *((name, pa.int64()) for name in COLUMNS)])


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: terms by kind, and the manifest's files and fingerprint; and the task's report."""

    counts: dict[Kind, int]
    files: Files
    fingerprint: str | None
    report: dict[str, Any]


def number(chunks: DataFrame, folder: str) -> Written:
    """Write the terms and the explicit facts of a table of chunks (see ``parse_chunks``).

    Ids and facts are those of ``encoding.write_terms`` and ``encoding.encode``.
    """
    rows = chunks.where("what IN ('term', 'facts')").select("chunk", "number", "text", "statements")
    return _carried_out(rows, _numbered, folder)


def close(data: DistributedDataSet, program: Program, folder: str) -> Written:
    """Write a data set with its inferred facts. The report has ``rounds`` and ``suspended``, in words.

    Graphs are not written. Raises what ``evaluate.materialise`` raises.
    """
    no_fact = [f"CAST(NULL AS long) AS {name}" for name in COLUMNS]
    no_term = "CAST(NULL AS long) AS id", "CAST(NULL AS string) AS text"
    rows = data.terms.selectExpr("id", "text", *no_fact)
    return _carried_out(
        rows.unionByName(data.explicit.selectExpr(*no_term, *COLUMNS)),
        lambda batches: _closed(batches, program),
        folder,
    )


def _carried_out(rows: DataFrame, function: Function, folder: str) -> Written:
    """Run a function over all rows in one task, and write the files of the data set that it returns."""
    storage = Storage(rows.sparkSession)
    pieces = rows.coalesce(1).mapInArrow(lambda batches: _pieces(function, batches), PIECES)
    told: dict[str, bytes] = {}
    with storage.writing(folder) as write:
        for name, content in pieces.toLocalIterator():
            if name in (MANIFEST, REPORT, ERROR):
                told[name] = told.get(name, b"") + bytes(content)
            else:
                write(name, content)
    if ERROR in told:
        raise pickle.loads(told[ERROR])
    manifest = json.loads(told[MANIFEST])
    counts = {kind: int(manifest["terms"][KIND_NAMES[kind]]) for kind in BULK_KINDS}
    return Written(counts, manifest["files"], manifest["fingerprint"], json.loads(told[REPORT]))


def _pieces(function: Function, batches: Batches) -> Batches:
    """The files of a data set, in pieces. An error of the rules is returned as a value."""
    try:
        data, report = function(batches)
    except CorollaryError as error:
        yield _piece(ERROR, pickle.dumps(error))
        return
    with TemporaryDirectory() as name:
        folder = Path(name) / "set"
        save_encoded(folder, data)
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            with path.open("rb") as file:
                while content := file.read(BYTES_PER_PIECE):
                    yield _piece(path.relative_to(folder).as_posix(), content)
    yield _piece(REPORT, json.dumps(report).encode())


def _piece(name: str, content: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"name": [name], "content": [content]}, schema=_ARROW)


def _whole(batches: Batches, schema: pa.Schema) -> pa.Table:
    """All batches as a table. Without any, Spark says nothing of their schema."""
    found = list(batches)
    return pa.Table.from_batches(found) if found else schema.empty_table()


def _numbered(batches: Batches) -> tuple[EncodedDataSet, dict[str, Any]]:
    """The data set of all chunks: terms have the rows' ``chunk``, ``number`` and ``text``."""
    table = _whole(batches, _CHUNKS)
    is_term = compute.is_valid(table.column("text"))
    terms, statements = table.filter(is_term), table.filter(compute.invert(is_term))
    encoded = compute.dictionary_encode(terms.column("text").cast(pa.large_string())).combine_chunks()
    dictionary, ids_of = _ranked(encoded.dictionary)
    chunks, numbers = (terms.column(name).to_numpy() for name in ("chunk", "number"))
    ids = ids_of[encoded.indices.to_numpy()]
    order = np.lexsort((numbers, chunks))
    chunks, numbers, ids = chunks[order], numbers[order], ids[order]
    parts = []
    whole = (statements.column(name).to_pylist() for name in ("chunk", "statements"))
    for chunk, packed in zip(*whole, strict=True):
        start, end = np.searchsorted(chunks, [chunk, chunk + 1])
        parts.append(ids_of_statements(packed, numbers[start:end].astype(np.uint32), ids[start:end]))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    explicit = TripleIndex.from_columns(*columns) if columns else TripleIndex()
    return EncodedDataSet(dictionary, explicit), {}


def _ranked(texts: pa.Array) -> tuple[TermDictionary, Ids]:
    """A dictionary of distinct texts, with ranks by kind and text as ids; and the id of each text."""
    first = compute.utf8_slice_codeunits(texts, 0, 1)
    are = [compute.equal(first, "<"), compute.equal(first, "_"), compute.equal(first, '"')]
    ids: Ids = np.zeros(len(texts), np.uint32)
    tables = []
    for kind, mask in zip(BULK_KINDS, are, strict=True):
        places = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
        own = texts.take(pa.array(places))
        order = compute.sort_indices(own.cast(pa.large_binary())).to_numpy()
        ids[places[order]] = np.arange(places.size, dtype=np.uint32) + np.uint32(kind << KIND_SHIFT)
        tables.append(_table(own.take(pa.array(order))))
    return TermDictionary.of_tables(tables), ids


def _table(texts: pa.Array) -> TextTable:
    content, offsets = content_of(texts)
    return TextTable.of_parts([(content[offsets[0] : offsets[-1]], np.diff(offsets))])


def _closed(batches: Batches, program: Program) -> tuple[EncodedDataSet, dict[str, Any]]:
    """The materialisation of rows that are terms (``id``, ``text``) or facts."""
    table = _whole(batches, _ROWS)
    is_term = compute.is_valid(table.column("text"))
    terms, facts = table.filter(is_term).sort_by("id"), table.filter(compute.invert(is_term))
    ids = terms.column("id").to_numpy()
    texts = terms.column("text").cast(pa.large_string()).combine_chunks()
    bounds = np.searchsorted(ids, [kind << KIND_SHIFT for kind in Kind]).tolist()
    tables = [_table(texts.slice(bounds[k], bounds[k + 1] - bounds[k])) for k in BULK_KINDS]
    dictionary = TermDictionary.of_tables(tables)
    predicates, subjects, objects = (facts.column(name).to_numpy().astype(np.uint32) for name in COLUMNS)
    result = materialise_here(TripleIndex.from_columns(subjects, predicates, objects), program, dictionary)
    suspended = [
        f"{called(rule)} is suspended: it {verb(rule)} what by these facts follows from it"
        for rule in result.compiled.rules
        if rule.number in result.strata.suspended
    ]
    closed = EncodedDataSet(
        dictionary,
        result.explicit,
        result.inferred(),
        program.name,
        generalised=result.generalised(),
        fingerprint=None if suspended else fingerprint(program),
    )
    return closed, {"rounds": result.rounds, "suspended": suspended}
