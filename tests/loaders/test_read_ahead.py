"""Several documents, parsed ahead of each other: each of them gives what it gives alone."""

from __future__ import annotations

import gzip
import threading
from pathlib import Path
from typing import Any

import pytest

from corollary.kernels.limits import Cancellation, Limits, limited
from corollary.language.errors import InputError
from corollary.loaders import BadLine, files, read, reading
from corollary.store import CorollaryStore
from corollary.terms.dictionary import TermDictionary

DOCUMENTS = {
    "a.nt": "".join(f"<x:a> <x:p> _:b{n} .\n" for n in range(40)),
    "b.nt": "",
    "c.nt": "_:b1 <x:p> <x:a> .",  # no line feed at the end
    "d.nq": "<x:c> <x:p> <x:d> <x:g> .\n" * 9,
    "e.ttl": "<x:e> <x:p> <x:c>, <x:a> .",
    "f.nt.gz": "# nothing\n" * 30,
    "g.nt.gz": '_:b1 <x:p> "\\u0041" .\n' * 30,
    "h.nt": "\n<x:h> <x:p> <x:b\u00e9> .\r\n",
}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MIN_BYTES_TO_COMPILE", 0)
    monkeypatch.setattr(files.chunks_of_lines, "__defaults__", (100,))


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    for name, content in DOCUMENTS.items():
        data = content.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    return [tmp_path / name for name in DOCUMENTS]


def rows_of(
    paths: list[Path], dictionary: TermDictionary, threads: int, **kwargs: Any
) -> list[tuple[str, ...]]:
    columns = limited(Limits(threads=threads), Cancellation(), lambda: read(paths, dictionary, **kwargs))
    return list(zip(*(dictionary.decode_all(column.tolist()) for column in columns), strict=True))


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_together_as_one_by_one(paths: list[Path], threads: int) -> None:
    together, apart = TermDictionary(), TermDictionary()
    found = rows_of([*paths, paths[0]], together, threads)
    assert found == [row for path in [*paths, paths[0]] for row in rows_of([path], apart, 1)]
    assert len(found) == 40 + 1 + 9 + 2 + 30 + 1 + 40
    assert len({subject for subject, _, _ in found if subject.startswith("_:")}) == 2


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_bad_lines_count_within_their_document(paths: list[Path], threads: int) -> None:
    for path in (paths[0], paths[2]):
        path.write_text(DOCUMENTS[path.name] + "\nnonsense\n")
    skipped: list[BadLine] = []
    rows_of(paths, TermDictionary(), threads, skipped=skipped)
    assert [(Path(bad.name).name, bad.line) for bad in skipped] == [("a.nt", 42), ("c.nt", 2)]
    before = set(threading.enumerate())
    with pytest.raises(InputError, match=r"a\.nt:42:"):
        rows_of(paths, TermDictionary(), threads)
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("threads", [1, 2])
def test_a_damaged_document_is_named_after_those_before(paths: list[Path], threads: int) -> None:
    paths[6].write_bytes(paths[6].read_bytes()[:-9])
    with pytest.raises(InputError, match=r"g\.nt\.gz: the compressed data end too early"):
        rows_of(paths, TermDictionary(), threads)
    paths[0].write_text("nonsense\n")
    with pytest.raises(InputError, match=r"a\.nt:1:1"):
        rows_of(paths, TermDictionary(), threads)


def test_documents_of_other_parsers_stand_between(paths: list[Path]) -> None:
    """A store reads TriX by rdflib's parser, between documents that are read ahead."""
    trix = paths[0].with_name("d.trix")
    trix.write_text(
        '<TriX xmlns="http://www.w3.org/2004/03/trix/trix-1/"><graph><triple>'
        "<uri>x:t</uri><uri>x:p</uri><uri>x:a</uri></triple></graph></TriX>"
    )
    paths[1:3] = [trix, paths[2], paths[1]]
    together, apart = CorollaryStore(rules="none"), CorollaryStore(rules="none")
    together.load(*paths)
    for path in paths:
        apart.load(path)
    assert len(together) == len(apart) == 40 + 1 + 1 + 1 + 2 + 1 + 1
