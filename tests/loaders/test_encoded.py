"""The encoded data set: what is written is read, and what is not whole is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from tests.strategies import examples

from corollary.columns import TripleIndex
from corollary.evaluate import materialise
from corollary.generators import generate
from corollary.language.errors import InputError
from corollary.loaders import encoded, read_index
from corollary.loaders.encoded import load_encoded, save_encoded
from corollary.loaders.encoded_format import GRAPHS, EncodedDataSet
from corollary.profiles import load_profile
from corollary.terms.dictionary import BULK_KINDS, Kind, TermDictionary

texts = st.integers(0, 9).flatmap(lambda n: st.sampled_from([f"<ex:{n}>", f"_:é{n}", f'"{n}"', f'"{n}"@en']))
triples = st.lists(st.tuples(texts, texts, texts), max_size=30)


def index_of(dictionary: TermDictionary, triples: list[tuple[str, str, str]]) -> TripleIndex:
    ids = [dictionary.encode(text) for triple in triples for text in triple]
    return TripleIndex.from_columns(*np.array(ids, np.uint32).reshape(-1, 3).T.copy())


def facts(index: TripleIndex) -> list[list[int]]:
    return [column.tolist() for column in index.columns(legal=False)]


def all_texts(dictionary: TermDictionary) -> list[str]:
    return [dictionary.decode(kind << 30 | n) for kind in BULK_KINDS for n in range(dictionary.count(kind))]


def assert_same(found: EncodedDataSet, dictionary: TermDictionary, *indexes: TripleIndex) -> None:
    assert all_texts(found.dictionary) == all_texts(dictionary)
    assert found.dictionary.literal_forms.markers == dictionary.literal_forms.markers
    assert repr(found.dictionary.literal_forms.all_codes()) == repr(dictionary.literal_forms.all_codes())
    assert facts(found.explicit) == facts(indexes[0])
    assert facts(found.inferred) == facts(indexes[1])


@settings(deadline=None, max_examples=examples(40))
@given(triples, triples)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    explicit: list[tuple[str, str, str]],
    inferred: list[tuple[str, str, str]],
) -> None:
    path = tmp_path_factory.mktemp("encoded") / "set"
    dictionary = TermDictionary()
    indexes = index_of(dictionary, explicit), index_of(dictionary, inferred)
    save_encoded(path, EncodedDataSet(dictionary, *indexes, rules="owl2rl"))
    found = load_encoded(path)
    assert found.rules == "owl2rl"
    assert_same(found, dictionary, *indexes)
    assert found.dictionary.encode("<ex:new>") == dictionary.count(Kind.IRI)
    save_encoded(path, EncodedDataSet(found.dictionary, found.explicit))  # over the older one
    assert load_encoded(path).rules is None


@pytest.fixture(scope="module")
def university(tmp_path_factory: pytest.TempPathFactory) -> tuple[TermDictionary, TripleIndex, TripleIndex]:
    """A university, and what follows by rdfs."""
    dictionary = TermDictionary()
    explicit = read_index(generate(1, tmp_path_factory.mktemp("university")), dictionary)
    result = materialise(explicit, load_profile("rdfs"), dictionary)
    return dictionary, explicit, result.index.difference(explicit)


University = tuple[TermDictionary, TripleIndex, TripleIndex]


@pytest.mark.parametrize("graphs", [None, {}])
def test_named_graphs_without_facts_are_read(graphs: dict[int, TripleIndex] | None, tmp_path: Path) -> None:
    """Without facts, a data set has named graphs or has none, as before."""
    save_encoded(tmp_path / "set", EncodedDataSet(TermDictionary(), TripleIndex(), graphs=graphs))
    assert load_encoded(tmp_path / "set").graphs == graphs
    assert (tmp_path / "set" / GRAPHS).exists() is (graphs is not None)


def test_a_materialised_university(university: University, tmp_path: Path) -> None:
    save_encoded(tmp_path / "set", EncodedDataSet(*university))
    assert_same(load_encoded(tmp_path / "set"), *university)
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_many_row_groups(university: University, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoded, "ROWS_PER_GROUP", 1000)
    save_encoded(tmp_path / "set", EncodedDataSet(*university))
    assert_same(load_encoded(tmp_path / "set"), *university)


def test_a_data_set_written_by_others(tmp_path: Path) -> None:
    """With signed ids of 64 bits, several files a part, one predicate in two of them, no checksums."""
    dictionary = TermDictionary()
    explicit = index_of(dictionary, [(f"<ex:{n}>", f"<ex:{n % 3}>", f'"{n}"') for n in range(30)])
    save_encoded(tmp_path / "set", EncodedDataSet(dictionary, explicit))
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    files = {}
    for name in list(manifest["files"]):
        table = parquet.read_table(tmp_path / "set" / name)
        wide = [column.cast(pa.int64()) if pa.types.is_integer(column.type) else column for column in table]
        table = pa.table(dict(zip(table.column_names, wide, strict=True)))
        (tmp_path / "set" / name).unlink()
        for number, start in enumerate(range(0, max(table.num_rows, 1), 7)):
            part = name.replace(".parquet", f"-{number:03}.parquet")
            parquet.write_table(table.slice(start, 7), tmp_path / "set" / part)
            size = (tmp_path / "set" / part).stat().st_size
            files[part] = {"rows": 7, "bytes": size, "sha256": None}
    (tmp_path / "set" / "manifest.json").write_text(json.dumps(manifest | {"files": files}))
    assert_same(load_encoded(tmp_path / "set"), dictionary, explicit, TripleIndex())


def damaged_manifest(change: Callable[[dict[str, dict[str, int]]], object]) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        content = json.loads((folder / "manifest.json").read_text())
        change(content)
        (folder / "manifest.json").write_text(json.dumps(content))

    return damage


def cut_off(folder: Path) -> None:
    path = folder / "facts/explicit/part-00000.parquet"
    path.write_bytes(path.read_bytes()[:-1])


def changed(folder: Path) -> None:
    path = folder / "terms/part-00000.parquet"
    content = bytearray(path.read_bytes())
    content[10] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda folder: (folder / "manifest.json").unlink(), "no encoded data set is here"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "manifest.json is damaged"),
        (lambda folder: (folder / "manifest.json").write_text("{}"), "not that of an encoded data set"),
        (damaged_manifest(lambda content: content.update(version={})), "of the format is not known"),
        (damaged_manifest(lambda content: content["terms"].update(iri=3)), "not as many terms"),
        (damaged_manifest(lambda content: content["facts"].update(explicit=2)), "1 explicit facts, not what"),
        (lambda folder: (folder / "terms/part-00000.parquet").unlink(), "is missing or cut off"),
        (cut_off, "is missing or cut off"),
        (changed, "its checksum differs"),
    ],
)
def test_what_is_not_whole_is_refused(
    tmp_path: Path, damage: Callable[[Path], object], complaint: str
) -> None:
    dictionary = TermDictionary()
    index = index_of(dictionary, [("<ex:a>", "<ex:b>", '"c"')])
    save_encoded(tmp_path / "set", EncodedDataSet(dictionary, index))
    damage(tmp_path / "set")
    with pytest.raises(InputError, match=complaint) as raised:
        load_encoded(tmp_path / "set")
    assert str(tmp_path / "set") in str(raised.value)
    assert "help: " in str(raised.value)


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
)


@settings(deadline=None, max_examples=examples(300))
@given(st.data())
def test_a_manifest_that_makes_no_sense(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Any value at any place: the data set is refused, or is what it was."""
    path = tmp_path_factory.mktemp("encoded") / "set"
    dictionary = TermDictionary()
    index = index_of(dictionary, [("<ex:a>", "<ex:b>", '"c"')])
    save_encoded(path, EncodedDataSet(dictionary, index, fingerprint="f", prefixes={"ex": "ex:"}))
    content = json.loads((path / "manifest.json").read_text())
    place, key = content, data.draw(st.sampled_from(sorted(content)))
    while isinstance(place[key], dict) and place[key] and data.draw(st.booleans()):
        place = place[key]
        key = data.draw(st.sampled_from(sorted(place)))
    if data.draw(st.booleans()):
        place[key] = data.draw(values)
    else:
        del place[key]
    (path / "manifest.json").write_text(json.dumps(content))
    try:
        found = load_encoded(path)
    except InputError:
        return
    assert all_texts(found.dictionary) in ([], all_texts(dictionary))
    assert facts(found.explicit) in (facts(TripleIndex()), facts(index))


@pytest.mark.parametrize("wrong", [[-1], [1 << 32], [None], [0.5], ["x"]])
@pytest.mark.parametrize("name", ["terms", "facts/explicit", "generalised"])
def test_columns_that_are_no_ids_are_refused(tmp_path: Path, name: str, wrong: list[object]) -> None:
    dictionary = TermDictionary()
    index = index_of(dictionary, [("<ex:a>", "<ex:b>", '"c"')])
    more = index_of(dictionary, [('"c"', "<ex:b>", '"c"')])
    save_encoded(tmp_path / "set", EncodedDataSet(dictionary, index, generalised=more, fingerprint="f"))
    file = tmp_path / "set" / name / "part-00000.parquet"
    table = parquet.read_table(file)
    for lacking in (False, True):
        column = table.num_columns - 1 if lacking else 0
        changed = (
            table.remove_column(column)
            if lacking
            else table.set_column(0, table.column_names[0], [wrong * table.num_rows])
        )
        parquet.write_table(changed, file)
        manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
        manifest["files"][f"{name}/part-00000.parquet"] = {"bytes": file.stat().st_size, "sha256": None}
        (tmp_path / "set" / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(InputError):
            load_encoded(tmp_path / "set")


@pytest.mark.parametrize(
    "text",
    [b'"x\xf5', b'"x\xff', b'"x\xf6"', b'"x\x80"', b'"x\xc3', b'"\xc0\x80"', b'"\xf4\x90\x80\x80"', None],
)
@pytest.mark.parametrize("surrogate", ["", "\ud800"])
def test_texts_that_are_not_utf_8_are_refused(tmp_path: Path, text: bytes | None, surrogate: str) -> None:
    """In memory, the bytes F5 to FF stand for datatypes and @en. Lone surrogates are read as written."""
    dictionary = TermDictionary()
    index = index_of(dictionary, [("<ex:a>", "<ex:b>", '"c"'), ("<ex:a>", "<ex:b>", f'"{surrogate}"')])
    save_encoded(tmp_path / "set", EncodedDataSet(dictionary, index))
    assert_same(load_encoded(tmp_path / "set"), dictionary, index, TripleIndex())
    name = "terms/part-00002.parquet"
    table = parquet.read_table(tmp_path / "set" / name)
    texts = pa.array([text, *table.column("text").cast(pa.binary()).to_pylist()[1:]], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(texts), texts.buffers())
    parquet.write_table(table.set_column(1, "text", texts), tmp_path / "set" / name)
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    manifest["files"][name] = {"bytes": (tmp_path / "set" / name).stat().st_size, "sha256": None}
    (tmp_path / "set" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="terms has texts that are none"):
        load_encoded(tmp_path / "set")


def test_ids_of_no_term_are_refused(tmp_path: Path) -> None:
    index = TripleIndex.from_columns(*np.array([[0], [0], [1]], np.uint32))
    dictionary = TermDictionary()
    dictionary.encode("<ex:a>")
    save_encoded(tmp_path / "set", EncodedDataSet(dictionary, index))
    with pytest.raises(InputError, match="ids of no term"):
        load_encoded(tmp_path / "set")


def test_other_things_are_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    for name in ("mine", "mine/thesis.txt"):
        with pytest.raises(InputError, match="something else is there"):
            save_encoded(tmp_path / name, EncodedDataSet(TermDictionary(), TripleIndex()))
    with pytest.raises(InputError, match="there is no folder"):
        save_encoded(tmp_path / "none" / "set", EncodedDataSet(TermDictionary(), TripleIndex()))
    (tmp_path / "empty").mkdir()
    save_encoded(tmp_path / "empty", EncodedDataSet(TermDictionary(), TripleIndex()))
    assert len(load_encoded(tmp_path / "empty").dictionary) == 0


def test_a_failed_write_leaves_the_older_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dictionary = TermDictionary()
    explicit = index_of(dictionary, [("<ex:a>", "<ex:b>", '"c"')])
    save_encoded(tmp_path / "set", EncodedDataSet(dictionary, explicit))

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(encoded, "_write_facts", fail)
    with pytest.raises(InputError, match="cannot be written: No space left"):
        save_encoded(tmp_path / "set", EncodedDataSet(dictionary, TripleIndex()))
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
    assert_same(load_encoded(tmp_path / "set"), dictionary, explicit, TripleIndex())


WRITER = """
import sys
import numpy as np
from corollary.columns import TripleIndex
from corollary.loaders.encoded import save_encoded
from corollary.loaders.encoded_format import GRAPHS, EncodedDataSet
from corollary.terms.dictionary import TermDictionary

dictionary = TermDictionary()
for number in range(20_000):
    dictionary.encode(f"<ex:{number}>")
ids = np.arange(20_000, dtype=np.uint32)
index = TripleIndex.from_columns(ids, ids % 7, ids[::-1].copy())
print("ready", flush=True)
for number in range(1000):
    save_encoded(sys.argv[1], EncodedDataSet(dictionary, index, index))
"""


@pytest.mark.slow
def test_a_killed_writer_leaves_nothing_that_is_half(tmp_path: Path) -> None:
    for number in range(6):
        path = tmp_path / f"set{number}"
        writer = subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.02 + 0.03 * number)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        if path.exists():
            assert load_encoded(path).explicit.fact_count() == 20_000
        else:
            with pytest.raises(InputError, match="no encoded data set is here"):
                load_encoded(path)
