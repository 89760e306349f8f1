"""The encoded data set: terms and facts as a folder of Parquet files that any column engine can query.

``manifest.json`` says what there is; ``terms/`` holds ids and texts; ``facts/explicit/`` and
``facts/inferred/`` hold predicate, subject, object. docs/loading.md describes it for those who read or write
it themselves.

Invariant: a folder with a manifest is complete. We write the folder under another name, the manifest last,
and rename it; a reader looks for the manifest first and checks the files against it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corollary.index.pairs import Pairs, pack
from corollary.index.relation import Relation
from corollary.index.triples import TripleIndex
from corollary.kernels.sorted import Keys
from corollary.kernels.texts import Bytes, Places
from corollary.loaders.formats import input_error
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, KIND_SHIFT, Ids, Kind, TermDictionary
from corollary.terms.texts import TextTable

if TYPE_CHECKING:
    import pyarrow

FORMAT = "corollary encoded data set"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
TERMS = "terms"
EXPLICIT = "facts/explicit"
INFERRED = "facts/inferred"

ROWS_A_GROUP = 1 << 20
"""Rows of a Parquet row group: what a reader that looks for one predicate can pass over."""

_KIND_NAMES = {Kind.IRI: "iri", Kind.BLANK_NODE: "blank_node", Kind.LITERAL: "literal"}
_COLUMNS = ("predicate", "subject", "object")


@dataclass(frozen=True, slots=True)
class EncodedDataSet:
    """What a data set holds. ``rules`` names what ``inferred`` follows by; None if nothing was inferred."""

    dictionary: TermDictionary
    explicit: TripleIndex
    inferred: TripleIndex
    rules: str | None


def save_encoded(
    path: str | os.PathLike[str],
    dictionary: TermDictionary,
    explicit: TripleIndex,
    inferred: TripleIndex,
    rules: str | None = None,
) -> None:
    """Write a data set; ``inferred`` are facts that are not explicit. The folder appears whole or not at all.

    An older data set at that place is replaced. Raises InputError if something else is there, or the file
    system refuses.
    """
    target = Path(path).resolve()
    _check_target(target)
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        shutil.rmtree(partial, ignore_errors=True)  # of a process that had our number and was killed
        partial.mkdir()
        try:
            files = {
                **_write_terms(partial, dictionary),
                **_write_facts(partial, EXPLICIT, explicit),
                **_write_facts(partial, INFERRED, inferred),
            }
            counts = {_KIND_NAMES[kind]: dictionary.count(kind) for kind in BULK_KINDS}
            facts = {"explicit": explicit.fact_count(), "inferred": inferred.fact_count()}
            (partial / MANIFEST).write_text(manifest(counts, facts, files, rules))
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
) -> str:
    """The text of a manifest.

    ``terms`` are counts by kind (iri, blank_node, literal), ``facts`` by explicit and inferred; ``files``
    maps every path in the folder to its ``rows``, ``bytes``, and ``sha256`` (or None).
    """
    content = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "corollary": version("corollary"),
        "rules": rules,
        "terms": dict(terms),
        "facts": dict(facts),
        "files": {name: dict(about) for name, about in files.items()},
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _check_target(target: Path) -> None:
    if not target.parent.is_dir():
        raise input_error(
            f"{target}: there is no folder {target.parent}", f"make the folder {target.parent} first"
        )
    is_free = not target.exists() or (target.is_dir() and not any(target.iterdir()))
    if not is_free and not (target / MANIFEST).is_file():
        raise input_error(f"{target}: something else is there", "name a new folder, or an older data set")


def _replace(partial: Path, target: Path) -> None:
    """Put a complete folder in the place of an older one, or of none."""
    if target.exists():
        older = partial.with_suffix(".old")
        target.rename(older)
        partial.rename(target)
        shutil.rmtree(older, ignore_errors=True)
    else:
        partial.rename(target)


def _write_terms(folder: Path, dictionary: TermDictionary) -> dict[str, dict[str, Any]]:
    import pyarrow as pa

    files = {}
    for kind, table in zip(BULK_KINDS, dictionary.tables(), strict=True):
        ids = np.arange(len(table), dtype=np.uint32) + np.uint32(kind << KIND_SHIFT)
        buffers = [None, pa.py_buffer(table.offsets()), pa.py_buffer(table.content())]
        texts = pa.Array.from_buffers(pa.large_string(), len(table), buffers)
        name = f"{TERMS}/part-{int(kind):05}.parquet"
        files[name] = _write(folder, name, pa.table({"id": ids, "text": texts}))
    return files


def _write_facts(folder: Path, part: str, index: TripleIndex) -> dict[str, dict[str, Any]]:
    import pyarrow as pa

    subjects, predicates, objects = index.columns(legal=False)
    table = pa.table(dict(zip(_COLUMNS, (predicates, subjects, objects), strict=True)))
    name = f"{part}/part-00000.parquet"
    return {name: _write(folder, name, table)}


def _write(folder: Path, name: str, table: pyarrow.Table) -> dict[str, Any]:
    """Write one file for good; what the manifest says of it."""
    from pyarrow import parquet

    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(
        table, path, row_group_size=ROWS_A_GROUP, compression="zstd", use_dictionary=["predicate"]
    )
    with path.open("rb") as file:
        os.fsync(file.fileno())
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"rows": table.num_rows, "bytes": path.stat().st_size, "sha256": digest}


def load_encoded(path: str | os.PathLike[str]) -> EncodedDataSet:
    """Read a data set, whoever wrote it. InputError, with a remedy, if it is none, or not whole."""
    return _Reader(Path(path)).data_set()


class _Reader:
    """A data set on the way in: files are checked against the manifest, ids against the terms."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._manifest = self._read_manifest()
        counts = [self._manifest["terms"][_KIND_NAMES[kind]] for kind in BULK_KINDS]
        self._counts = np.array([*counts, 0], np.uint32)

    def data_set(self) -> EncodedDataSet:
        """Everything."""
        for name, about in self._manifest["files"].items():
            self._check_file(name, about)
        dictionary = TermDictionary.of_tables(self._term_tables())
        explicit, inferred = self._facts(EXPLICIT), self._facts(INFERRED)
        for name, index in (("explicit", explicit), ("inferred", inferred)):
            if index.fact_count() != self._manifest["facts"][name]:
                raise self._bad(f"{index.fact_count():,} {name} facts, not what the manifest says")
        return EncodedDataSet(dictionary, explicit, inferred, self._manifest["rules"])

    def _bad(self, what: str) -> Exception:
        return input_error(f"{self._folder}: {what}", "write the data set again")

    def _read_manifest(self) -> dict[str, Any]:
        try:
            content = json.loads((self._folder / MANIFEST).read_bytes())
        except OSError as error:
            complaint = f"{self._folder}: no encoded data set is here: {MANIFEST}: {error.strerror}"
            raise input_error(
                complaint, "a data set that was not written to the end has no manifest"
            ) from None
        except ValueError as error:
            raise self._bad(f"{MANIFEST} is damaged: {error}") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise self._bad(f"{MANIFEST} is not that of an encoded data set")
        if content["version"] != FORMAT_VERSION:
            complaint = f"{self._folder}: version {content['version']} of the format is not known"
            raise input_error(complaint, "a newer Corollary may read it")
        return content

    def _check_file(self, name: str, about: Mapping[str, Any]) -> None:
        path = self._folder / name
        if not path.is_file() or path.stat().st_size != about["bytes"]:
            raise self._bad(f"{name} is missing or cut off")
        if about["sha256"] is not None:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != about["sha256"]:
                    raise self._bad(f"{name} is not what was written: its checksum differs")

    def _tables(self, part: str, columns: tuple[str, ...]) -> list[pyarrow.Table]:
        """The tables of one part, in the order of their files' names."""
        import pyarrow as pa
        from pyarrow import parquet

        names = sorted(name for name in self._manifest["files"] if name.startswith(f"{part}/"))
        try:
            return [parquet.read_table(self._folder / name, columns=list(columns)) for name in names]
        except (pa.ArrowException, OSError) as error:
            raise self._bad(f"{part} cannot be read: {error}") from None

    def _term_tables(self) -> list[TextTable]:
        import pyarrow as pa

        arenas: list[list[Bytes]] = [[] for _ in BULK_KINDS]
        lengths: list[list[Places]] = [[] for _ in BULK_KINDS]
        counted = [0 for _ in BULK_KINDS]
        for table in self._tables(TERMS, ("id", "text")):
            for batch in table.to_batches():
                ids = _ids(batch.column("id"))
                texts = batch.column("text").cast(pa.large_string())
                _, offsets_buffer, content_buffer = texts.buffers()
                if not len(ids):
                    continue
                offsets = np.frombuffer(offsets_buffer, np.int64)[texts.offset : texts.offset + len(ids) + 1]
                content = np.frombuffer(content_buffer, np.uint8)
                bounds = np.searchsorted(ids, [kind << KIND_SHIFT for kind in Kind]).tolist()
                for kind in BULK_KINDS:
                    start, end = bounds[kind], bounds[kind + 1]
                    first = (kind << KIND_SHIFT) + counted[kind]
                    if not np.array_equal(ids[start:end], np.arange(first, first + end - start)):
                        raise self._bad(f"the ids of terms ({_KIND_NAMES[kind]}) are not without gaps")
                    counted[kind] += end - start
                    arenas[kind].append(content[offsets[start] : offsets[end]])
                    lengths[kind].append(np.diff(offsets[start : end + 1]))
        if counted != self._counts[: len(BULK_KINDS)].tolist():
            raise self._bad("there are not as many terms as the manifest says")
        return [_text_table(arenas[kind], lengths[kind]) for kind in BULK_KINDS]

    def _facts(self, part: str) -> TripleIndex:
        parts: dict[int, list[Keys]] = {}
        for table in self._tables(part, _COLUMNS):
            predicates, subjects, objects = (_ids(table.column(name)) for name in _COLUMNS)
            for column in (predicates, subjects, objects):
                if not (column & np.uint32(INDEX_MASK) < self._counts[column >> np.uint32(KIND_SHIFT)]).all():
                    raise self._bad(f"{part} has ids of no term")
            keys = pack(subjects, objects)
            changes = (np.flatnonzero(predicates[1:] != predicates[:-1]) + 1).tolist()
            for start, end in zip([0, *changes], [*changes, keys.size], strict=True):
                if start < end:
                    parts.setdefault(int(predicates[start]), []).append(keys[start:end])
        return TripleIndex({predicate: Relation(_pairs(keys)) for predicate, keys in parts.items()})


def _ids(column: Any) -> Ids:
    """A column of ids, stored as unsigned 32-bit integers or, by writers that have none, as wider ones."""
    ids: Ids = column.to_numpy(zero_copy_only=False) if hasattr(column, "buffers") else column.to_numpy()
    return ids.astype(np.uint32, copy=False)


def _text_table(arenas: list[Bytes], lengths: list[Places]) -> TextTable:
    offsets: Places = np.zeros(sum(part.size for part in lengths) + 1, np.int64)
    np.cumsum(np.concatenate([*lengths, np.empty(0, np.int64)]), out=offsets[1:])
    return TextTable(np.concatenate([*arenas, np.empty(0, np.uint8)]), offsets)


def _pairs(parts: list[Keys]) -> Pairs:
    """Facts that should be, but need not be, in order."""
    keys = np.concatenate(parts) if len(parts) > 1 else parts[0]
    return Pairs(keys) if bool((keys[1:] > keys[:-1]).all()) else Pairs.of(keys)
