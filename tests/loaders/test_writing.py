"""Writing: what was written reads back the same, and a file is complete or not there."""

import bz2
import gzip
import io
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corollary.columns import TripleIndex
from corollary.kernels.limits import Cancellation, Limits, limited
from corollary.language.errors import InputError
from corollary.loaders import Columns, gzip_members, line_texts, read, write, writing
from corollary.loaders.writing import replacing
from corollary.terms.dictionary import TermDictionary

TRIPLES = (
    ("<http://example.org/b>", "<http://example.org/p>", "<http://example.org/é>"),
    ("<http://example.org/a>", "<http://example.org/p>", '"line\\nbreak, \\"quote\\", \\\\ and é"@en-gb'),
    ("_:node", "<http://example.org/q>", '"7"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    ("<http://example.org/a>", "<http://example.org/q>", '"plain"'),
    ("<http://example.org/b>", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "<http://example.org/C>"),
)


def encoded(*triples: tuple[str, str, str]) -> tuple[Columns, TermDictionary]:
    dictionary = TermDictionary()
    ids = np.array([[dictionary.encode(term) for term in triple] for triple in triples], np.uint32)
    ids = ids.reshape(-1, 3)
    return (ids[:, 0], ids[:, 1], ids[:, 2]), dictionary


def read_back(path: Path) -> set[tuple[str, ...]]:
    dictionary = TermDictionary()
    columns = read([path], dictionary)
    return set(zip(*(dictionary.decode_all(column.tolist()) for column in columns), strict=True))


@pytest.mark.parametrize("suffix", ["nt", "nq", "ttl", "trig", "n3", "rdf", "owl", "jsonld"])
@pytest.mark.parametrize("compression", ["", ".gz", ".bz2"])
def test_round_trip(tmp_path: Path, suffix: str, compression: str) -> None:
    path = tmp_path / f"out.{suffix}{compression}"
    write(path, *encoded(*TRIPLES))
    assert read_back(path) == set(TRIPLES)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_compression_is_real(tmp_path: Path) -> None:
    columns, dictionary = encoded(*TRIPLES)
    for name in ("out.nt", "out.nt.gz", "out.nt.bz2"):
        write(tmp_path / name, columns, dictionary)
    text = (tmp_path / "out.nt").read_bytes()
    assert gzip.decompress((tmp_path / "out.nt.gz").read_bytes()) == text
    assert bz2.decompress((tmp_path / "out.nt.bz2").read_bytes()) == text


def test_lines_keep_the_order(tmp_path: Path) -> None:
    write(tmp_path / "out.nt", *encoded(*TRIPLES))
    expected = "".join(f"{s} {p} {o} .\n" for s, p, o in TRIPLES)
    assert (tmp_path / "out.nt").read_text() == expected


def test_nothing_to_write(tmp_path: Path) -> None:
    write(tmp_path / "out.nt", *encoded())
    assert (tmp_path / "out.nt").read_bytes() == b""


def test_same_facts_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.nt.gz", "two.nt.gz"):
        write(tmp_path / name, *encoded(*TRIPLES))
    assert (tmp_path / "one.nt.gz").read_bytes() == (tmp_path / "two.nt.gz").read_bytes()


def test_turtle_has_one_block_a_subject(tmp_path: Path) -> None:
    write(tmp_path / "out.ttl", *encoded(*TRIPLES))
    text = (tmp_path / "out.ttl").read_text()
    assert text.count("<http://example.org/a>") == 1
    assert "@prefix rdf:" in text


def test_a_format_given_beats_the_suffix(tmp_path: Path) -> None:
    write(tmp_path / "out.txt", *encoded(*TRIPLES), format="nt")
    assert (tmp_path / "out.txt").read_text().count(" .\n") == len(TRIPLES)


def test_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr("sys.stdout", stream)
    write("-", *encoded(*TRIPLES))
    stream.seek(0)
    assert stream.read().count(" .\n") == len(TRIPLES)


@pytest.mark.parametrize("name", ["out.nt", "out.nt.gz", "out.ttl", "out.rdf.bz2"])
def test_a_failure_leaves_the_old_file(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.loaders.writing.TRIPLES_PER_CHUNK_WRITTEN", 2)
    columns, dictionary = encoded(*TRIPLES)
    path = tmp_path / name
    path.write_text("old")
    calls = []

    def decode_all(ids: list[int]) -> list[str]:
        calls.append(ids)
        if len(calls) > 4:
            raise RuntimeError("in the middle")
        return [dictionary.decode(i) for i in ids]

    monkeypatch.setattr(dictionary, "decode_all", decode_all)
    with pytest.raises(RuntimeError, match="in the middle"):
        write(path, columns, dictionary)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "out.nt") as stream:
        stream.write(b"half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.nt").write_text("old")
    (tmp_path / "link.nt").symlink_to(tmp_path / "real.nt")
    write(tmp_path / "link.nt", *encoded(*TRIPLES))
    assert (tmp_path / "link.nt").is_symlink()
    assert (tmp_path / "real.nt").read_text().count(" .\n") == len(TRIPLES)


def test_a_device_is_written_to() -> None:
    write("/dev/null", *encoded(*TRIPLES), format="nt")
    assert Path("/dev/null").is_char_device()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"make the folder .* first"):
        write(tmp_path / "none" / "out.nt", *encoded(*TRIPLES))


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "out.nt").mkdir()
    with pytest.raises(InputError, match="this is a folder"):
        write(tmp_path / "out.nt", *encoded(*TRIPLES))
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.nt"]


def test_a_full_disk() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with pytest.raises(InputError, match="cannot be written: No space left"):
        write("/dev/full", *encoded(*TRIPLES), format="nt")


def test_an_unknown_suffix_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'\.csv' is no suffix"):
        write(tmp_path / "out.csv", *encoded(*TRIPLES))
    assert list(tmp_path.iterdir()) == []


def test_a_predicate_that_rdf_xml_cannot_write(tmp_path: Path) -> None:
    triples = (*TRIPLES, ("<http://a>", "<http://example.org/1>", '"x"'))
    with pytest.raises(InputError, match="ends in no XML name"):
        write(tmp_path / "out.rdf", *encoded(*triples))
    assert list(tmp_path.iterdir()) == []


ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})
texts = st.text(st.characters(codec="utf-8"), max_size=6)
terms = st.one_of(
    texts.map(lambda text: f"<urn:{quote(text)}é>"),
    texts.map(lambda text: f"_:b{len(text)}"),
    texts.map(lambda text: f'"{text.translate(ESCAPES)}"'),
    st.sampled_from(('"1"^^<http://www.w3.org/2001/XMLSchema#integer>', '"x"@en-gb', '""')),
)


@given(st.lists(st.tuples(terms, terms, terms), max_size=12), st.integers(1, 4), st.integers(1, 3))
def test_bytes_that_are_copied_are_those_that_are_joined(
    triples: list[tuple[str, str, str]], size: int, threads: int
) -> None:
    columns, dictionary = encoded(*triples)
    expected = "".join(f"{s} {p} {o} .\n" for s, p, o in triples).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_texts, "TRIPLES_PER_CHUNK_WRITTEN", size)
        s, p, o = columns
        halves = [(s[:5], p[:5], o[:5]), (s[5:], p[5:], o[5:])]
        found = limited(
            Limits(threads=threads), Cancellation(), lambda: list(line_texts.lines_of(halves, dictionary))
        )
    assert b"".join(text.tobytes() for text in found) == expected


def test_many_facts_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns, dictionary = encoded(*TRIPLES)
    index = TripleIndex.from_columns(*map(np.ascontiguousarray, columns))
    write(tmp_path / "joined.nt", index, dictionary)
    monkeypatch.setattr(writing, "MIN_TRIPLES_COPIED", 0)
    reports: list[tuple[str, int, float | None]] = []
    write(tmp_path / "copied.nt", index, dictionary, progress=lambda *report: reports.append(report))
    assert (tmp_path / "copied.nt").read_bytes() == (tmp_path / "joined.nt").read_bytes()
    assert [report[1] for report in reports] == sorted(report[1] for report in reports)
    assert reports[0] == ("write", 0, 0.0) and len(reports) > 1


@pytest.mark.parametrize("format", ["nt", "ttl", "rdf"])
def test_every_format_reports_its_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    columns, dictionary = encoded(*((f"<urn:{n}>", "<urn:p>", f'"{n}"') for n in range(10)))
    index = TripleIndex.from_columns(*map(np.ascontiguousarray, columns))
    write(tmp_path / "silent", index, dictionary, format)
    monkeypatch.setattr(writing, "TRIPLES_PER_CHUNK_WRITTEN", 4)
    monkeypatch.setattr(writing, "FACTS_PER_BATCH", 4)
    reports: list[tuple[str, int, float | None]] = []
    write(tmp_path / "out", index, dictionary, format, lambda *report: reports.append(report))
    assert reports == [("write", 0, 0.0), ("write", 4, 0.4), ("write", 8, 0.8)]
    assert (tmp_path / "out").read_bytes() == (tmp_path / "silent").read_bytes()


def test_lone_surrogates_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns, dictionary = encoded(("<urn:a>", "<urn:b>", '"\ud800"'))
    for least in (1 << 60, 0):
        monkeypatch.setattr(writing, "MIN_TRIPLES_COPIED", least)
        with pytest.raises(UnicodeError):
            write(tmp_path / "out.nt", columns, dictionary)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("length", [0, 1, 9, 10, 11, 20, 35])
def test_members_of_gzip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr(gzip_members, "BYTES_PER_GZIP_MEMBER", 10)
    content = bytes(range(length))

    def written(threads: int) -> bytes:
        path = tmp_path / f"{threads}.gz"
        with replacing(path) as stream:
            stream.writelines([content[:7], b"", content[7:]])
        return path.read_bytes()

    files = [limited(Limits(threads=n), Cancellation(), written, n) for n in (1, 2, 5)]
    assert gzip.decompress(files[0]) == content
    assert files[0] == files[1] == files[2]


def test_a_full_disk_while_members_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gzip_members, "BYTES_PER_GZIP_MEMBER", 10)

    class Full(io.RawIOBase):
        def write(self, data: object) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"), gzip_members.gzipped(Full()) as stream:  # type: ignore[arg-type]
        stream.write(bytes(1000))
