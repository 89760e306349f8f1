"""Data of moderate size in one task: a Python worker numbers terms, closes facts or follows a change of them.

A round of joins takes seconds, however few facts it derives. One task gets all rows as Arrow batches, but
reads a local data set from its files. It works as on one machine, and returns the files of the result,
compressed, in pieces: some 3 bytes a fact. The driver writes them. So a task that is killed, repeated or
speculative leaves nothing, on every file system.

Invariant: the files are those that ``save_encoded`` writes on one machine.
Cost: the memory of one worker, some 60 bytes a fact and the texts of all terms. The files pass through the
driver.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from corollary.columns.delta import Delta
from corollary.evaluate import CannotAdopt, MaterialisedView, adopt
from corollary.evaluate import materialise as materialise_here
from corollary.language import Program
from corollary.language.errors import CorollaryError
from corollary.loaders import encoded_format
from corollary.loaders.encoded import save_encoded
from corollary.loaders.encoded_format import COLUMNS, KIND_NAMES, MANIFEST, EncodedDataSet
from corollary.loaders.spark.changed_facts import ChangedFacts
from corollary.loaders.spark.encoded_tables import DistributedDataSet, Files
from corollary.loaders.spark.storage import Storage, local_path
from corollary.loaders.spark.task_content import (
    ADDED,
    EXPLICIT,
    GENERALISED,
    GRAPHS,
    INFERRED,
    REMOVED,
    TERMS,
    TaskContent,
)
from corollary.loaders.spark.tuning import BYTES_PER_PIECE
from corollary.maintain import maintain
from corollary.maintain.deletion import FALLBACK
from corollary.program.fingerprint import fingerprint
from corollary.program.stratify import called, verb
from corollary.terms.dictionary import BULK_KINDS, Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Batches = Iterator[pa.RecordBatch]

Function = Callable[[Batches], tuple[EncodedDataSet, dict[str, Any]]]
"""What the worker does with all rows: a data set, and a report that becomes JSON."""

PIECES = "name string, content binary"
"""The rows that the task returns: pieces of files in their order, then ``REPORT``; or one ``ERROR``."""

REPORT, ERROR = "report", "error"

_ARROW = pa.schema([("name", pa.string()), ("content", pa.binary())])


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: terms by kind, and the manifest's files and fingerprint; and the task's report."""

    counts: dict[Kind, int]
    files: Files
    fingerprint: str | None
    report: dict[str, Any]


def number(chunks: DataFrame, folder: str, *, by_graph: bool) -> Written:
    """Write the terms and the explicit facts of a table of chunks (see ``parse_chunks``), also by graph.

    The id of a term is its rank by kind and text.
    """
    return _carried_out(
        _of_chunks(chunks, ADDED), lambda batches: _numbered(batches, by_graph=by_graph), folder
    )


def close(data: DistributedDataSet, program: Program, folder: str) -> Written:
    """Write a data set with its inferred facts.

    The report has ``rounds``, the number of ``inconsistencies``, and ``suspended``, in words.

    Graphs are not written. Raises what ``evaluate.materialise`` raises.
    """
    here = local_path(data.folder)
    if here is not None:
        row = data.terms.sparkSession.range(0, 1, 1, 1)
        return _carried_out(row, lambda _: _closed(TaskContent(iter(()), here), program), folder)
    rows = _together(_of_terms(data), _of_facts(data.explicit, EXPLICIT))
    return _carried_out(rows, lambda batches: _closed(TaskContent(batches), program), folder)


def follow(
    data: DistributedDataSet, wanted: DataFrame, unwanted: DataFrame, program: Program, folder: str
) -> Written:
    """Write a closed data set after a change: without the facts of some chunks, and with those of others.

    The inferred facts are maintained. New terms get the next ids. The report has ``rounds``,
    ``suspended``, the counts of ``ChangedFacts``, the ``strategy`` of ``maintain``, and the ``reason`` if it
    recomputed.
    """
    here = local_path(data.folder)
    rows = _together(
        _of_chunks(wanted, ADDED), _of_chunks(unwanted, REMOVED), *(_rows_of(data) if here is None else ())
    )
    by_graph = data.has_graphs
    return _carried_out(
        rows, lambda batches: followed(TaskContent(batches, here), program, by_graph=by_graph), folder
    )


def _rows_of(data: DistributedDataSet) -> Iterator[DataFrame]:
    """The terms and all facts of a data set."""
    yield _of_terms(data)
    for name, part in FACTS.items():
        yield _of_facts(data.facts_of(name), part)
    if data.has_graphs:
        yield data.graphs.selectExpr(f"{GRAPHS} AS part", "graph", *COLUMNS)


FACTS = {encoded_format.EXPLICIT: EXPLICIT, encoded_format.INFERRED: INFERRED}
FACTS[encoded_format.GENERALISED] = GENERALISED
"""The parts of a data set's facts, as they are called in rows."""


def _of_terms(data: DistributedDataSet) -> DataFrame:
    return data.terms.selectExpr(f"{TERMS} AS part", "id", "text")


def _of_facts(facts: DataFrame, part: int) -> DataFrame:
    return facts.selectExpr(f"{part} AS part", *COLUMNS)


def _of_chunks(chunks: DataFrame, part: int) -> DataFrame:
    rows = chunks.where("what IN ('terms', 'facts')")
    return rows.selectExpr(f"{part} AS part", "chunk", "share", "number AS id", "content")


def _together(*tables: DataFrame) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), tables)


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
    with TemporaryDirectory(dir=_place_of_worker()) as name:
        folder = Path(name) / "set"
        save_encoded(folder, data)
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            with path.open("rb") as file:
                while content := file.read(BYTES_PER_PIECE):
                    yield _piece(path.relative_to(folder).as_posix(), content)
    yield _piece(REPORT, json.dumps(report).encode())


def _place_of_worker() -> str | None:
    """A folder that Spark deletes in the end (within ``spark.local.dir``): workers may be killed."""
    return os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0] or None


def _piece(name: str, content: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"name": [name], "content": [content]}, schema=_ARROW)


def _numbered(batches: Batches, *, by_graph: bool) -> tuple[EncodedDataSet, dict[str, Any]]:
    data = TaskContent(batches).documents(ADDED)
    return (data if by_graph else replace(data, graphs=None)), {}


def _closed(content: TaskContent, program: Program) -> tuple[EncodedDataSet, dict[str, Any]]:
    data = content.data_set(only_explicit=True)
    view = materialise_here(data.explicit, program, data.dictionary)
    result, report = _result(view)
    return result, {**report, "inconsistencies": view.inconsistency_count}


def followed(
    content: TaskContent, program: Program, *, by_graph: bool = False
) -> tuple[EncodedDataSet, dict[str, Any]]:
    """The data set after a change, and the report: see ``follow``. ``by_graph``: it has named graphs."""
    data = content.data_set()
    dictionary = data.dictionary
    unwanted, wanted = (content.documents(part) for part in (REMOVED, ADDED))
    graphs = (data.graphs or {}) if by_graph else None
    facts = ChangedFacts.of(data.explicit, graphs, unwanted, wanted, dictionary)
    change = facts.change
    try:
        whole = reduce(Delta.__or__, map(Delta.of, (data.explicit, data.inferred, data.generalised)))
        before = adopt(data.explicit, whole, program, dictionary)
    except CannotAdopt as error:
        after = materialise_here(change.explicit, program, dictionary)
        strategy, reason = FALLBACK.name, str(error)
    else:
        after, done = maintain(before, change.explicit, change.removed, change.added)
        strategy, reason = done.strategy, done.reason
    result, report = _result(after)
    return replace(result, graphs=facts.graphs), {
        **report,
        **facts.counts,
        "strategy": strategy,
        "reason": reason,
    }


def _result(view: MaterialisedView) -> tuple[EncodedDataSet, dict[str, Any]]:
    """The data set of a materialisation, and what is reported."""
    program = view.program
    suspended = [
        f"{called(rule)} is suspended: it {verb(rule)} what by these facts follows from it"
        for rule in view.compiled.rules
        if rule.number in view.strata.suspended
    ]
    closed = EncodedDataSet(
        view.dictionary,
        view.explicit,
        view.inferred(),
        program.name,
        generalised=view.generalised(),
        fingerprint=None if suspended else fingerprint(program),
    )
    return closed, {"rounds": view.rounds, "suspended": suspended}
