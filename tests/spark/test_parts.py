"""What executors do with batches, without Spark: parsing, values of literals, the archive of our code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.data import TextTriple

from corollary.language.errors import InputError
from corollary.loaders.spark import archive, encoding, packed_terms, parse_chunks, partition_task
from corollary.loaders.spark.literal_values import value_text
from corollary.terms.values import SUPPORTED_DATATYPES, value_of

LINES = [
    "<http://e/a> <http://e/p> <http://e/b> .\n",
    '<http://e/a> <http://e/p> "1" . # one\r\n',
    '<http://e/\\u00e9> <http://e/p> "\u00e9"@EN .\n',
    "_:x <http://e/p> _:y .\n",
    "\n",
    "no statement\n",
]
numbered_lines = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 1), st.sampled_from(LINES)), max_size=40
)


def batches(rows: list[tuple[int, int, str]], size: int) -> Iterator[pa.RecordBatch]:
    """Lines of documents and blocks, in order, in batches of some size."""
    rows = sorted(rows, key=lambda row: row[:2])
    for start in range(0, len(rows), size):
        keys, blocks, lines = zip(*rows[start : start + size], strict=True)
        yield pa.RecordBatch.from_pydict({"text": lines, "document": keys, "block": blocks})


@settings(max_examples=60, deadline=None)
@given(numbered_lines, st.integers(1, 7), st.integers(1, 9), st.integers(1, 4))
def test_chunks_have_all_statements_once(
    rows: list[tuple[int, int, str]], size: int, chunk: int, shares: int
) -> None:
    """However lines come in batches, however large chunks are, and however many shares of terms there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parse_chunks, "STATEMENTS_PER_CHUNK", chunk)
        task = parse_chunks._Task(7, parse_chunks._Parsing(dict.fromkeys((1, 2, 3), "nt"), "", shares))
        read = task.rows(batches(rows, size), {n: n for n in (1, 2, 3)})
        found = pa.Table.from_batches(read, parse_chunks._ARROW).to_pylist()
    names: dict[int, dict[int, str]] = {}
    for row in found:
        if row["what"] == "terms":
            assert 0 <= row["share"] < shares
            texts, counts = packed_terms.texts_in(pa.py_buffer(row["content"]))
            assert len(texts) == sum(counts) == row["number"]
            own = names.setdefault(row["chunk"], {})
            own.update(enumerate(texts.to_pylist(), row["position"]))
    statements: list[TextTriple] = []
    for row in found:
        if row["what"] == "facts":
            ids = parse_chunks.statements_in(row["content"], row["number"])
            own = names[row["chunk"]]
            assert sorted(own) == list(range(len(own)))
            statements += [(own[s], own[p], own[o]) for s, p, o in ids.T.tolist()]
    assert sorted(statements) == sorted(triple for row in rows for triple in triples(row))
    bad = [(row["document"], row["block"], row["number"]) for row in found if row["what"] == "bad"]
    blocks = [(row["document"], row["block"], row["number"]) for row in found if row["what"] == "block"]
    wanted_bad, wanted_blocks = places(rows)
    assert (sorted(bad), sorted(blocks)) == (wanted_bad, wanted_blocks)


def triples(row: tuple[int, int, str]) -> list[TextTriple]:
    """What a line says; blank nodes have the document's number."""
    document, _, line = row
    return {
        0: [("<http://e/a>", "<http://e/p>", "<http://e/b>")],
        1: [("<http://e/a>", "<http://e/p>", '"1"')],
        2: [("<http://e/\u00e9>", "<http://e/p>", '"\u00e9"@en')],
        3: [(f"_:x-{document}", "<http://e/p>", f"_:y-{document}")],
    }.get(LINES.index(line), [])


def places(rows: list[tuple[int, int, str]]) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]:
    """Where bad lines are, and how many lines each block has."""
    lines: dict[tuple[int, int], list[str]] = {}
    for document, block, line in sorted(rows, key=lambda row: row[:2]):
        lines.setdefault((document, block), []).append(line)
    bad = [
        (*where, n) for where, found in lines.items() for n, line in enumerate(found, 1) if line == LINES[5]
    ]
    return sorted(bad), sorted((*where, len(found)) for where, found in lines.items())


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=30), st.randoms())
def test_statements_are_looked_up(triples: list[tuple[int, int, int]], random: object) -> None:
    """Numbers of a chunk become ids, in whatever order the terms come."""
    numbers = np.array(triples, np.uint32).T
    packed = parse_chunks.packed_statements(numbers.T)
    pairs = [(n, 100 + n) for n in range(10)]
    random.shuffle(pairs)  # type: ignore[attr-defined]
    found = encoding._encoded(
        pa.table({"chunk": [1], "number": [len(triples)], "content": pa.array([packed], pa.binary())}),
        pa.table({"number": [n for n, _ in pairs], "id": [i for _, i in pairs]}),
    )
    columns = [found.column(name).to_pylist() for name in ("subject", "predicate", "object")]
    assert list(zip(*columns, strict=True)) == [tuple(100 + n for n in triple) for triple in triples]


lexical = st.text("0123456789+-.eE:TZ abtrufs", max_size=9) | st.sampled_from(
    [
        "1",
        "01",
        "1.0",
        "1.00",
        "-0",
        "0",
        "true",
        "1e0",
        "2000-01-01T00:00:00Z",
        "2000-01-01T00:00:00.0Z",
        "x",
    ]
)
datatypes = st.sampled_from(sorted(name for name in SUPPORTED_DATATYPES if "langString" not in name))


@settings(max_examples=400)
@given(lexical, datatypes, lexical, datatypes)
def test_equal_values_have_one_text(one: str, its: str, other: str, others: str) -> None:
    values = value_of(one, its), value_of(other, others)
    if values[0] is not None and values[1] is not None:
        assert (value_text(values[0]) == value_text(values[1])) == (values[0] == values[1])


def test_the_archive_has_all_of_the_package(tmp_path: Path) -> None:
    """Rule files and the namespace's parts are importable from it, without an installation."""
    code = (
        "import sys; is_ours = lambda p: p.startswith(sys.argv[2]) and not p.startswith(sys.prefix); "
        "sys.path = [sys.argv[1], *(p for p in sys.path if not is_ours(p))]; "
        "import corollary; corollary.__path__ = [sys.argv[1] + '/corollary']; "
        "import corollary.loaders.spark.parse_chunks as p, corollary.profiles as q; "
        "assert p.__file__.startswith(sys.argv[1]), p.__file__; print(len(q.load_profile('owl2rl')))"
    )
    project = str(Path(__file__).parents[2])
    found = subprocess.run(
        [sys.executable, "-c", code, archive(tmp_path), project], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) > 80


def test_a_graph_name_that_is_a_term_too() -> None:
    """The name is dropped, the term stays: it was once another row's."""
    lines = [f"<e:{n}> <e:p> <e:o{n % 7}> <e:g> .\n<e:g> <e:q> <e:{n}> <e:g> .\n" for n in range(50)]
    rows = pa.RecordBatch.from_pydict({"text": lines, "document": [1] * 50, "block": [0] * 50})
    task = parse_chunks._Task(7, parse_chunks._Parsing({1: "nq"}, "", 2))
    found = pa.Table.from_batches(task.rows(iter([rows]), {1: 1}), parse_chunks._ARROW).to_pylist()
    names: dict[int, str] = {}
    for row in (row for row in found if row["what"] == "terms"):
        texts, _ = packed_terms.texts_in(pa.py_buffer(row["content"]))
        names.update(enumerate(texts.to_pylist(), row["position"]))
    (facts,) = (row for row in found if row["what"] == "facts")
    ids = parse_chunks.statements_in(facts["content"], facts["number"])
    read = {(names[s], names[p], names[o]) for s, p, o in ids.T.tolist()}
    wanted = {(f"<e:{n}>", "<e:p>", f"<e:o{n % 7}>") for n in range(50)}
    assert read == wanted | {("<e:g>", "<e:q>", f"<e:{n}>") for n in range(50)}


def test_documents_without_blank_nodes_share_a_chunk() -> None:
    """A chunk ends with its document only where labels of blank nodes need that."""
    lines = [LINES[0], LINES[1], LINES[3], LINES[0], LINES[3]]
    rows = [(number, 0, line) for number, line in enumerate(lines, 1)]
    task = parse_chunks._Task(7, parse_chunks._Parsing(dict.fromkeys(range(1, 6), "nt"), "", 2))
    read = task.rows(batches(rows, 9), {number: number for number in range(1, 6)})
    found = pa.Table.from_batches(read, parse_chunks._ARROW).to_pylist()
    assert [row["number"] for row in found if row["what"] == "facts"] == [3, 2]


def test_few_files_for_much_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """From many times the size that suits a task on; and a file that no row can hold is refused."""
    said: list[str] = []
    for files in (None, 1, 2):
        encoding.warn_of_few_files(files, 16, said.append)
    assert len(said) == 1 and said[0].startswith("--files 1 is few for so much: 16 would suit")
    monkeypatch.setattr(partition_task, "MAX_BYTES_PER_ROW", 99)
    with pytest.raises(InputError, match=r"part-0.parquet has .* bytes, where 2 GB are the limit: give more"):
        partition_task.file_row("part-0.parquet", [pa.table({"id": [1]})])
