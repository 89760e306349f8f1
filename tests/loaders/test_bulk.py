"""Large documents: the compiled way gives the ids, the blank nodes and the complaints of the other one."""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.columns import TripleIndex
from corollary.language.errors import InputError
from corollary.loaders import BadLine, files, gathering, read, read_index, reading
from corollary.loaders.documents import Document
from corollary.loaders.reading import document_rows
from corollary.terms.dictionary import Kind, TermDictionary

ANONYMOUS = "_:" + "a1" * 16

Read = tuple[list[list[int]], list[str], list[tuple[int, int, str]]]


@pytest.fixture
def bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything counts as large, and a chunk is a few lines."""
    monkeypatch.setattr(reading, "MIN_BYTES_TO_COMPILE", 0)
    monkeypatch.setattr(files.chunks_of_lines, "__defaults__", (200,))


def lines(seed: int, count: int) -> list[str]:
    """Triples with blank nodes, literals, escapes and comments."""
    random = Random(seed)
    things = [f"<http://x.org/{n}>" for n in range(9)] + ["_:a", "_:b", "_:c", ANONYMOUS, "<http://x.org/é>"]
    values = [*things, '"a"', '"\\u0041"', '"b"@en', '"b"@EN', '"7"^^<http://x.org/d>', '"é\\t"', "_:a.b"]
    made = [f"{random.choice(things)} {things[n % 5]} {random.choice(values)} ." for n in range(count)]
    return [f"{line} # comment" if n % 7 == 0 else line for n, line in enumerate(made)]


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def everything(paths: list[Path], skipped: list[BadLine] | None = None) -> Read:
    """Columns of ids, the terms they stand for, and the bad lines."""
    dictionary = TermDictionary()
    dictionary.encode("<http://x.org/3>")
    dictionary.encode("_:b")
    columns = [column.tolist() for column in read(paths, dictionary, skipped=skipped)]
    texts = [dictionary.decode(kind << 30 | n) for kind in Kind for n in range(dictionary.count(kind))]
    return columns, texts, [(bad.line, bad.column, bad.reason) for bad in skipped or ()]


def both_ways(monkeypatch: pytest.MonkeyPatch, paths: list[Path], *, skipping: bool = False) -> list[Read]:
    found = []
    for small, size in ((1 << 24, 1 << 20), (0, 200), (0, 1 << 20)):
        monkeypatch.setattr(reading, "MIN_BYTES_TO_COMPILE", small)
        monkeypatch.setattr(files.chunks_of_lines, "__defaults__", (size,))
        found.append(everything(paths, [] if skipping else None))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_the_same_ids_either_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int) -> None:
    paths = [written(tmp_path, f"{n}.nt", "\n".join(lines(seed + n, 60))) for n in range(3)]
    one, *others = both_ways(monkeypatch, paths)
    assert len(one[0][0]) == 180
    assert others == [one, one]


def test_the_same_lines_are_skipped_either_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    content = lines(0, 60)
    content[9], content[40], content[41] = "<x:a> <b> <x:c> .", '<x:a> <x:b> "c', "<x:a> <x:b> <x:c> <x:d> ."
    content.append("<x:a> <x:b> <<( <x:a> <x:b> <x:c> )>> .")
    one, *others = both_ways(monkeypatch, [written(tmp_path, "x.nt", "\n".join(content))], skipping=True)
    assert len(one[0][0]) == 57
    assert [line for line, _, _ in one[2]] == [10, 41, 42, 61]
    assert others == [one, one]


@pytest.mark.usefixtures("bulk")
def test_the_first_bad_line_stops_the_load(tmp_path: Path) -> None:
    content = lines(0, 60)
    content[30] = "<http://a> <http://b> <http://c d> ."
    content[50] = "nonsense"
    path = written(tmp_path, "x.nt", "\n".join(content))
    with pytest.raises(InputError) as raised:
        read([path], TermDictionary())
    message = str(raised.value)
    assert message.startswith(f"{path}:31:23: not N-Triples: ")
    assert "\n    <http://a> <http://b> <http://c d> .\n" in message
    assert "\n  help: " in message


@pytest.mark.usefixtures("bulk")
def test_labels_mean_something_in_their_file_only(tmp_path: Path) -> None:
    one = written(tmp_path, "one.nt", "_:x <http://p> _:x-2 .\n")
    two = written(tmp_path, "two.nt", f"_:x <http://p> _:x .\n_:x-2 <http://p> {ANONYMOUS} .\n")
    dictionary = TermDictionary()
    columns = read([one, two], dictionary)
    rows = list(zip(*(dictionary.decode_all(column.tolist()) for column in columns), strict=True))
    (a, _, b), (c, _, d), (e, _, f) = rows
    assert (a, b) == ("_:x", "_:x-2")
    assert c == d
    assert len({a, b, c, e, f}) == 5
    assert f.startswith("_:b")


def test_a_label_that_looks_like_a_changed_one_clashes_with_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one = written(tmp_path, "one.nt", "".join(f"_:x{n} <x:p> _:x{n} .\n" for n in range(5)))
    labels = ["x0", "x1-10", "x2-11", "x1", "x2", "x3-10", "x3", "x3-13"]  # x1 would be x1-10 ...
    two = written(tmp_path, "two.nt", "".join(f"_:{label} <x:p> _:{label} .\n" for label in labels))
    first, *others = both_ways(monkeypatch, [one, two])
    assert len(set(first[0][0])) == 13
    assert others == [first, first]


@pytest.mark.usefixtures("bulk")
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".zst"])
def test_compressed_files(tmp_path: Path, suffix: str) -> None:
    content = "\n".join(lines(0, 60)).encode()
    plain = written(tmp_path, "x.nt", content)
    compress: dict[str, Callable[[bytes], bytes]] = {
        "": bytes,
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".zst": lambda data: pyarrow.Codec("zstd").compress(data, asbytes=True),
    }
    path = written(tmp_path, f"y.nt{suffix}", compress[suffix](content))
    assert everything([path]) == everything([plain])
    if suffix:
        cut = written(tmp_path, f"z.nt{suffix}", path.read_bytes()[:-9])
        with pytest.raises(InputError, match="the compressed data end too early or are damaged"):
            everything([cut])


@pytest.mark.usefixtures("bulk")
def test_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    content = "\n".join(lines(0, 60))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    assert everything([Path("-")]) == everything([written(tmp_path, "x.nt", content)])


def test_a_folder_stands_for_its_files(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    paths = [
        written(tmp_path, "a.nt", "<x:1> <x:p> <x:1> .\n"),
        written(tmp_path / "below", "b.ttl", "<x:2> <x:p> <x:2> ."),
        written(tmp_path, "c.nt.gz", gzip.compress(b"<x:3> <x:p> <x:3> .\n")),
    ]
    written(tmp_path, "README.md", "not RDF")
    assert everything([tmp_path]) == everything(paths)


@pytest.mark.usefixtures("bulk")
def test_progress_tells_triples_and_the_share_of_all_files(tmp_path: Path) -> None:
    paths = [written(tmp_path, f"{n}.nt", "\n".join(lines(n, 60))) for n in range(2)]
    reported: list[tuple[str, int, float | None]] = []
    read(paths, TermDictionary(), lambda *what: reported.append(what))
    triples, shares = [n for _, n, _ in reported], [share or 0 for _, _, share in reported]
    assert triples == sorted(triples)
    assert shares == sorted(shares)
    assert reported[-1] == (f"reading {paths[1]}, 0 of 0 MB", 120, 1.0)


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 5)] * 3), max_size=40), st.integers(1, 9))
def test_an_index_is_that_of_the_columns(triples: list[tuple[int, int, int]], block: int) -> None:
    content = "".join(f"<x:{s}> <x:{p}> <x:{o}> .\n" for s, p, o in triples)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
        patch.setattr(gathering, "ROWS_PER_BLOCK", block)
        patch.setattr(reading, "TRIPLES_PER_CHUNK_READ", 3)
        one, two = TermDictionary(), TermDictionary()
        index = read_index(["-"], one)
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
        expected = TripleIndex.from_columns(*read(["-"], two))
    assert repr(one) == repr(two)
    for left, right in zip(index.columns(), expected.columns(), strict=True):
        assert left.tolist() == right.tolist()


QUADS = (
    "<x:a> <x:p> _:a <x:g> .\n<x:a> <x:p> <x:b> .\n_:a <x:p> <x:b> _:a .\n"
    '<x:a> <x:p> "\\u0041" <x:h> .\n<x:a> <x:p> "B" . # none\n'
)


@pytest.mark.parametrize("small", [0, 1 << 20])
def test_graphs_of_quads(tmp_path: Path, small: int) -> None:
    dictionary = TermDictionary()
    default = dictionary.encode("<x:default>")
    document = Document.in_file(str(written(tmp_path, "x.nq", QUADS)))
    labels = iter(["_:new1", "_:new2"])
    rows = document_rows(document, dictionary, graph=default, new_label=lambda: next(labels), small=small)
    ids = np.concatenate([part for part, _ in rows])
    assert [dictionary.decode_all(row) for row in ids.tolist()] == [
        ["<x:a>", "<x:p>", "_:new1", "<x:g>"],
        ["<x:a>", "<x:p>", "<x:b>", "<x:default>"],
        ["_:new1", "<x:p>", "<x:b>", "_:new1"],
        ["<x:a>", "<x:p>", '"A"', "<x:h>"],
        ["<x:a>", "<x:p>", '"B"', "<x:default>"],
    ]


@pytest.mark.usefixtures("bulk")
def test_names_of_graphs_are_no_terms_if_nobody_asks(tmp_path: Path) -> None:
    _, texts, _ = everything([written(tmp_path, "x.nq", QUADS)])
    assert "<x:g>" not in texts


@pytest.mark.usefixtures("bulk")
def test_the_name_of_a_graph_is_read_as_a_term_later(tmp_path: Path) -> None:
    """``read`` drops graphs: a term that named one in an earlier line has its own id all the same."""
    lines = '<x:a> <x:p> <x:b> <x:g> .\n<x:g> <x:p> <x:h> <x:h> .\n<x:a> <x:p> "\\u0041" <x:h> .\n'
    path = written(tmp_path, "x.nq", lines)
    dictionary = TermDictionary()
    columns = read([path], dictionary)
    assert [dictionary.decode_all(row) for row in np.stack(columns, axis=1).tolist()] == [
        ["<x:a>", "<x:p>", "<x:b>"],
        ["<x:g>", "<x:p>", "<x:h>"],
        ["<x:a>", "<x:p>", '"A"'],
    ]
