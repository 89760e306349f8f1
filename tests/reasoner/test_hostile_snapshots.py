"""Snapshots that no store has written: every use ends well, or with a CorollaryError; nothing else is raised.

The files have right checksums, so that all other checks are reached. Small inputs are interpreted by Python,
where an index that is out of bounds raises IndexError.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compression import compress_all
from tests.strategies import thorough

from corollary.closure.copy_index import CopyIndex
from corollary.closure.stored_closure import INDEXES
from corollary.columns import mapped_pairs
from corollary.columns.column_file import FIRST_BYTE, ColumnFile, DamagedFile, written
from corollary.language import CorollaryError
from corollary.reasoner import Reasoner, snapshot_file
from corollary.reasoner.snapshot_file import MappedSnapshot
from corollary.store import CorollaryStore

A = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SUB = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
OWL = "http://www.w3.org/2002/07/owl#"

Columns = dict[str, tuple[str, np.ndarray]]


@pytest.fixture(scope="module", autouse=True)
def small_chunks() -> Any:
    """Chunks of four keys, so that small relations have several."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (mapped_pairs, snapshot_file):
            patch.setattr(module, "KEYS_PER_CHUNK", 4)
        yield


@pytest.fixture(scope="module", params=["listed", "compressed"])
def good(
    tmp_path_factory: pytest.TempPathFactory, small_chunks: None, request: pytest.FixtureRequest
) -> Path:
    """A snapshot with graphs, literals, lists, equality and transitivity; listed, or with closures."""
    place = tmp_path_factory.mktemp("good") / "good.snapshot"
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "compressed":
            compress_all(patch)
        _save_good(place)
    assert (request.param == "compressed") == columns_of(place)[1]["closures.kind"][1].any()
    return place


def _save_good(place: Path) -> None:
    reasoner = Reasoner()
    for number in range(12):
        x = f"<urn:x{number}>"
        reasoner.add((x, A, "<urn:C>"), (x, "<urn:p>", f"<urn:x{number + 1}>"))
        reasoner.add((x, "<urn:q>", f'"{number}"'), graph="<urn:g>")
    reasoner.add(("<urn:C>", SUB, "<urn:D>"), ("<urn:p>", A, f"<{OWL}TransitiveProperty>"))
    reasoner.add(("<urn:x3>", f"<{OWL}sameAs>", "<urn:y>"), ("<urn:x3>", "<urn:q>", '"3"'))
    reasoner.add(("_:b", "<urn:q>", '"05"^^<http://www.w3.org/2001/XMLSchema#integer>'))
    reasoner.save_snapshot(place)


def columns_of(place: Path) -> tuple[dict[str, Any], Columns]:
    file = ColumnFile(place)
    sections = {name: file.section(name, found.dtype) for name, found in file._sections.items()}
    return file.about, {n: (s.dtype, file.column(n, s.dtype).copy()) for n, s in sections.items()}


def rewrite(place: Path, about: dict[str, Any], columns: Columns) -> None:
    with written(place) as file:
        for name, (dtype, column) in columns.items():
            file.add(name, dtype, [column])
        file.finish(about)


def use(place: Path, folder: Path) -> None:
    """Everything that a program may do with a snapshot."""
    with suppress(CorollaryError):
        MappedSnapshot(place).check_whole()
    reasoner = Reasoner()
    try:
        reasoner.open(place)
        for subject in ("<urn:x1>", "<urn:y>", "_:b"):
            list(reasoner.match(subject))
            list(reasoner.match(subject, "<urn:p>"))
            list(reasoner.match(None, None, subject))
        list(reasoner.match(None, A, "<urn:D>"))
        list(reasoner.match(None, "<urn:p>"))
        set(reasoner)
        set(reasoner.snapshot().explicit)
        set(reasoner.snapshot().inferred)
        set(reasoner.snapshot().graph("<urn:g>"))
        reasoner.inconsistencies()
        reasoner.verify()
        reasoner.save(folder)
        reasoner.add(("<urn:new>", A, "<urn:C>"), ("<urn:x0>", "<urn:p>", "<urn:new>"))
        set(reasoner)
        reasoner.remove(("<urn:x1>", "<urn:p>", "<urn:x2>"), ("<urn:x3>", f"<{OWL}sameAs>", "<urn:y>"))
        set(reasoner)
        reasoner.close()
    except CorollaryError:
        reasoner.close(discard=True)


def test_what_was_not_changed_is_good(good: Path, tmp_path: Path) -> None:
    about, columns = columns_of(good)
    rewrite(tmp_path / "x.snapshot", about, columns)
    MappedSnapshot(tmp_path / "x.snapshot").check_whole()
    use(tmp_path / "x.snapshot", tmp_path / "folder")


@thorough(300)
@given(st.data())
def test_a_hostile_column(good: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("bad")
    about, columns = columns_of(good)
    name = data.draw(st.sampled_from(sorted(columns)))
    dtype, column = columns[name]
    if name.endswith(".offsets") and data.draw(st.booleans()):
        dtype, column = "i8", column.astype(np.int64)
    how = data.draw(st.sampled_from(("value", "near", "swap", "cut", "longer", "copied")))
    if how in ("value", "near", "swap", "copied") and column.size:
        at = data.draw(st.integers(0, column.size - 1))
        other = data.draw(st.integers(0, column.size - 1))
        if how == "swap":
            column[[at, other]] = column[[other, at]]
        elif how == "copied":
            column[at] = column[other]
        elif how == "near":
            with np.errstate(over="ignore"):
                column[at] += column.dtype.type(data.draw(st.sampled_from((1, 2, 1 << 6))))
        else:
            limits = np.iinfo(column.dtype)
            column[at] = data.draw(st.integers(int(limits.min), int(limits.max)))
    elif how == "cut":
        column = column[: data.draw(st.integers(0, column.size))]
    elif how == "longer":
        column = np.concatenate((column, column[-3:]))
    columns[name] = dtype, column
    rewrite(folder / "x.snapshot", about, columns)
    use(folder / "x.snapshot", folder / "folder")


@thorough(300)
@given(st.data())
def test_hostile_closures(good: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Several numbers of the table and keys of closures are others."""
    folder = tmp_path_factory.mktemp("bad")
    about, columns = columns_of(good)
    names = [name for name in sorted(columns) if name.startswith("closures.") and columns[name][1].size]
    for name in data.draw(st.lists(st.sampled_from(names), max_size=4)) if names else ():
        column = columns[name][1]
        at, other = (data.draw(st.integers(0, column.size - 1)) for _ in range(2))
        if data.draw(st.booleans()):
            column[at] = column[other]
        else:
            column[at] = data.draw(st.integers(0, 3))
    rewrite(folder / "x.snapshot", about, columns)
    use(folder / "x.snapshot", folder / "folder")


def test_copies_of_another_member_are_refused(tmp_path: Path) -> None:
    """A fact that stands for its copies is of a member that is not the least one of its clique."""
    place = tmp_path / "x.snapshot"
    with pytest.MonkeyPatch.context() as patch:
        compress_all(patch)
        reasoner = Reasoner()
        reasoner.add(("<urn:a>", f"<{OWL}sameAs>", "<urn:b>"), ("<urn:a>", "<urn:q>", "<urn:v>"))
        reasoner.save_snapshot(place)
    about, columns = columns_of(place)
    _, keys = columns["closures.keys"]
    (row,) = np.flatnonzero(columns["closures.kind"][1] == INDEXES.index(CopyIndex))
    edge, members = (int(columns["closures.starts"][1][6 * row + part]) for part in (0, 3))
    keys[edge] = (keys[members + 1] >> np.uint64(32) << np.uint64(32)) | (keys[edge] & np.uint64(0xFFFFFFFF))
    rewrite(place, about, columns)
    reasoner = Reasoner()
    reasoner.open(place)
    with pytest.raises(DamagedFile, match="not of their least members"):
        list(reasoner.match(None, "<urn:q>"))


@thorough(60)
@given(st.data())
def test_a_hostile_directory(
    good: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("bad")
    about, columns = columns_of(good)
    names = sorted(columns)
    how = data.draw(st.sampled_from(("missing", "type", "about", "exchanged")))
    if how == "missing":
        del columns[data.draw(st.sampled_from(names))]
    elif how == "type":
        name = data.draw(st.sampled_from(names))
        columns[name] = data.draw(st.sampled_from(("u1", "u4", "u8", "i8"))), columns[name][1].view(np.uint8)
    elif how == "exchanged":
        one, other = data.draw(st.sampled_from(names)), data.draw(st.sampled_from(names))
        columns[one], columns[other] = columns[other], columns[one]
    else:
        values = st.none() | st.integers(-1, 1 << 70) | st.text(max_size=3) | st.lists(st.integers(-1, 40))
        about = {**about, data.draw(st.sampled_from(sorted(about))): data.draw(values)}
    rewrite(folder / "x.snapshot", about, columns)
    use(folder / "x.snapshot", folder / "folder")


@thorough(100)
@given(st.data())
def test_flipped_bytes(good: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("bad")
    content = bytearray(good.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.sampled_from((0, FIRST_BYTE, FIRST_BYTE, len(content) - 2000)))
        content[(at + data.draw(st.integers(0, 5000))) % len(content)] ^= data.draw(st.integers(1, 255))
    (folder / "x.snapshot").write_bytes(content)
    use(folder / "x.snapshot", folder / "folder")


def test_orders_with_other_pairs_are_refused(good: Path, tmp_path: Path) -> None:
    """Both orders are sorted, and of known terms; a fact differs."""
    about, columns = columns_of(good)
    starts = columns["facts.starts"][1]
    relation = int(np.argmax(np.diff(starts)))
    keys = columns["facts.by_object"][1]
    at = int(starts[relation + 1]) - 1
    keys[at] += np.uint64(1)
    rewrite(tmp_path / "x.snapshot", about, columns)
    snapshot = MappedSnapshot(tmp_path / "x.snapshot")
    pairs = snapshot.facts.relation(int(columns["facts.predicates"][1][relation])).pairs()
    with pytest.raises(DamagedFile, match=r"the two orders of facts differ|of unknown terms|not in order"):
        _ = pairs.by_object


@pytest.mark.parametrize("byte", [ord("x"), ord("@"), 0xFF])
def test_texts_that_are_no_terms_are_damage(good: Path, tmp_path: Path, byte: int) -> None:
    about, columns = columns_of(good)
    for name in ("terms.iri.texts", "terms.literal.texts"):
        dtype, column = columns[name]
        columns[name] = dtype, np.full_like(column, byte)
    rewrite(tmp_path / "x.snapshot", about, columns)
    store = CorollaryStore()
    with pytest.raises(CorollaryError):
        store.open(str(tmp_path / "x.snapshot"))
        list(store.triples((None, None, None)))
    with pytest.raises(CorollaryError):
        MappedSnapshot(tmp_path / "x.snapshot").dictionary.literal_forms  # noqa: B018 - made when first read
