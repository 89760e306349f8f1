"""Writing: what was written reads back the same, and a file is complete or not there."""

import bz2
import gzip
import io
from pathlib import Path

import numpy as np
import pytest

from corollary.language.errors import InputError
from corollary.loaders import Columns, read, write
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
