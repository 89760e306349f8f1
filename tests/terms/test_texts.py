"""A table of texts is a dict from texts to numbers in order of arrival, whatever the texts are."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.kernels import byte_texts as kernels
from corollary.kernels.limits import Cancelled
from corollary.kernels.tuning import TEXTS_PER_HEAD
from corollary.terms import texts as module
from corollary.terms.texts import ABSENT, Texts, TextTable, hash_of

letters = st.text("ab\x00é", max_size=20)
batches = st.lists(st.lists(letters, max_size=12), max_size=6)


def append(table: TextTable, strings: list[str], base: int = 0) -> list[int]:
    """The numbers of strings, all of which begin with an x."""
    numbers = np.full(len(strings), 7, np.uint32)
    table.append(Texts.of_strings(strings), ord("x"), base, numbers)
    return numbers.tolist()


@settings(deadline=None)
@given(batches)
def test_a_table_is_a_dict(batches: list[list[str]]) -> None:
    table, model = TextTable(), dict[str, int]()
    for batch in batches:
        strings = [f"x{letters}" for letters in batch]
        expected = [model.setdefault(string, len(model)) for string in strings]
        assert append(table, strings) == expected
    for copied in (table, pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
        assert len(copied) == len(model)
        assert [copied.text(number) for number in range(len(model))] == list(model)
        assert {text: copied.find(text) for text in model} == model
        assert copied.find("xc") is None
        assert append(copied, ["xc"]) == [len(model)]


endings = st.sampled_from(["", *(ending.decode() for ending in kernels.ENDINGS), '"@e', 'x"@en', "#date>"])
texts_of_any_kind = st.lists(
    st.tuples(st.sampled_from(["", "a", "b" * 254, "b" * 300]), st.text('"é', max_size=3), endings).map(
        "".join
    ),
    unique=True,
    max_size=60,
)


@settings(deadline=None)
@given(texts_of_any_kind, st.sampled_from('<"'), st.data())
def test_what_is_coded_is_decoded(texts: list[str], first_byte: str, data: st.DataObject) -> None:
    """Texts that begin as their heads do, in more bytes than are shared, and that are such a beginning.

    Texts that end with an ending that has a code, and texts that are such an ending.
    """
    strings = [first_byte + text for text in texts]
    given = Texts.of_strings(strings)
    table = TextTable.of_parts([(given.data, given.lengths)])
    assert [table.text(number) for number in range(len(table))] == strings
    numbers = np.array(
        data.draw(st.lists(st.integers(0, len(texts) - 1)) if texts else st.just([])), np.int64
    )
    content, places = table.texts_of(numbers)
    chosen = [strings[number] for number in numbers.tolist()]
    assert _split(content, places) == table.strings(numbers) == chosen
    assert table.lengths_of(numbers).tolist() == [len(text.encode()) for text in chosen]
    parts = [text[1:].rpartition('"') for text in chosen]
    first, second = table.in_parts(numbers, ord('"'))
    assert _split(*first) == [before for before, _, _ in parts]
    assert _split(*second) == [after for _, _, after in parts]
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(texts))] * 2)))
    found = [text for part, lengths in table.parts(start, end) for text in _split(part, ends_of(lengths))]
    assert found == strings[start:end]
    pieces = [text.encode() for text in strings]
    for place in (0, 1, 2, 300) if first_byte == "<" else ():
        wanted = [piece[place] if place < len(piece) else 0 for piece in pieces]
        assert table.bytes_at(place).tolist() == wanted
    every = np.arange(len(table))
    assert table.end_with(every, ord('"')).tolist() == [piece.endswith(b'"') for piece in pieces]
    assert {text: table.find(text) for text in strings} == {text: n for n, text in enumerate(strings)}


def test_frequent_endings_take_one_byte() -> None:
    """Of those with a code; the text is there, too, if all but its first byte is an ending."""
    xsd = "http://www.w3.org/2001/XMLSchema#"
    strings = [f'"1"^^<{xsd}integer>', f'"11"^^<{xsd}int>', '"11"@en', '"11"@en-GB', '"@en', '""@en']
    given = Texts.of_strings(strings)
    table = TextTable.of_parts([(given.data, given.lengths)])
    assert table.coded().arena.tobytes() == b'"1\xf61\xfe1\xf51"@en-GB@en\xf5'
    assert [table.text(number) for number in range(len(table))] == strings
    assert [table.find(text) for text in strings] == [*range(len(strings))]


def ends_of(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(lengths)))


def _split(content: np.ndarray, places: np.ndarray) -> list[str]:
    pieces = content.tobytes()
    return [pieces[a:b].decode() for a, b in zip(places[:-1].tolist(), places[1:].tolist(), strict=True)]


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("hash_texts", "number_texts", "find_text", "enter_slots", "append_texts"):
        monkeypatch.setattr(module, name, getattr(kernels, name).plain)


@pytest.mark.usefixtures("no_compiler")
def test_without_a_compiler() -> None:
    table = TextTable()
    strings = [f"x{number % 700}" for number in range(1000)]
    assert append(table, strings) == [number % 700 for number in range(1000)]
    assert pickle.loads(pickle.dumps(table)).find("x699") == 699


def test_a_table_that_grows_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots are made a part at a time; a table whose growth was cancelled grows when it is used again."""
    strings = [f"x{number}" for number in range(3_000)]
    table = TextTable()
    append(table, strings[:700])
    looks: list[int] = []

    def check() -> None:
        looks.append(len(looks))
        if len(looks) == 3:
            raise Cancelled("this was cancelled")

    monkeypatch.setattr(module, "TEXTS_PER_PART", 16 * TEXTS_PER_HEAD)
    monkeypatch.setattr(module, "check", check)
    with pytest.raises(Cancelled):
        append(table, strings[700:])
    assert len(table) == 700
    assert append(table, strings) == list(range(3_000))
    assert [table.find(text) for text in (*strings[::500], "x3000")] == [*range(0, 3_000, 500), None]
    assert len(looks) > 5


def test_a_text_that_another_thread_enters_is_absent() -> None:
    """A look-up that met a free slot may read it again when it has the text number 3, of 3 known ones."""
    entered, free = np.uint32(4), np.uint32(0)
    found = [
        kernels._number_in(slot, np.uint64(8), size) for slot, size in ((entered, 3), (entered, 4), (free, 4))
    ]
    assert found == [-1, 3, -1]


def test_python_and_machine_code_hash_alike() -> None:
    strings = ["", "x", "x23456", "x2345678", "x23456789é" * 5]
    texts = Texts.of_strings([*strings, "x2345679", *strings])
    results = []
    for function in (kernels.hash_texts.plain, kernels.hash_texts.compile()):
        firsts, hashes, earlier = np.ones(11, np.uint8), np.zeros(11, np.uint32), np.zeros(11, np.int64)
        with np.errstate(over="ignore"):
            function(texts.data, texts.starts, texts.lengths, firsts, hashes, earlier, np.full(4096, -1))
        assert firsts.tolist() == [ord(text[0]) if text else 0 for text in (*strings, "x", *strings)]
        results.append((hashes.tolist(), earlier.tolist()))
    assert results[0] == results[1]
    assert len(set(results[0][0])) == 6
    assert results[0][0][1:6] == [hash_of(text.encode()) for text in (*strings[1:], "x2345679")]
    assert results[0][1] == [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30))
def test_texts_at_one_place_have_one_hash(rows: list[tuple[int, int]]) -> None:
    """Whatever places the rows have, hashes are those of texts one by one, and an earlier text is equal."""
    data = np.frombuffer(bytearray(b"abababababab"), np.uint8)
    starts, lengths = (np.array([row[end] for row in rows], np.int64) for end in (0, 1))
    texts = Texts.of(data, starts, lengths)
    strings = [data[start : start + length].tobytes().decode() for start, length in rows]
    assert texts.hashes.tolist() == [int(Texts.of_strings([string]).hashes[0]) for string in strings]
    assert all(
        hash_of(string.encode()) == hashed
        for string, hashed in zip(strings, texts.hashes, strict=True)
        if string
    )
    assert all(row <= place and strings[row] == strings[place] for place, row in enumerate(texts.earlier))


def test_texts_that_differ_in_one_byte() -> None:
    """At any place of texts of any length, which share what they can with the first of them."""
    for length in range(1, 40):
        same = "x" * length
        others = [same[:place] + "y" + same[place + 1 :] for place in range(1, length)]
        strings = [same, *others, same + "y"]
        table = TextTable()
        assert append(table, [*strings, *strings]) == [*range(len(strings))] * 2
        assert table.strings(np.arange(len(strings))) == strings


@given(st.lists(letters, max_size=30))
def test_an_earlier_text_is_an_equal_one(strings: list[str]) -> None:
    earlier = Texts.of_strings(strings).earlier.tolist()
    assert all(row <= place and strings[row] == strings[place] for place, row in enumerate(earlier))


def test_texts_of_other_kinds_are_left_alone() -> None:
    table, numbers = TextTable(), np.full(4, 7, np.uint32)
    table.append(Texts.of_strings(["x", "y", "", "xx"]), ord("x"), 10, numbers)
    assert numbers.tolist() == [10, 7, 7, 11]


def test_looking_up_adds_nothing() -> None:
    table, numbers = TextTable(), np.zeros(2, np.uint32)
    append(table, ["x1"])
    table.look_up(Texts.of_strings(["x2", "x1"]), ord("x"), 0, numbers)
    assert numbers.tolist() == [ABSENT, 0]
    assert len(table) == 1


def test_equal_hashes_are_no_equal_texts() -> None:
    table, numbers = TextTable(), np.zeros(3, np.uint32)
    texts = Texts.of_strings(["xa", "xb", "xa"])
    texts.hashes[:] = 0xFFFFFFFF  # the last slot: probing goes on at the first
    texts.earlier[:] = [0, 1, 2]
    table.append(texts, ord("x"), 0, numbers)
    assert numbers.tolist() == [0, 1, 0]


def test_read_only_texts_can_be_handed_in() -> None:
    lengths = np.array([2, 3])
    lengths.flags.writeable = False
    table = TextTable.of_parts([(np.frombuffer(b"xaxbc", np.uint8), lengths)])
    assert table.find("xbc") == 1
    assert append(table, ["xd", "xa"]) == [2, 0]


def test_readers_are_not_disturbed_by_a_writer() -> None:
    table = TextTable()
    strings = [f"x{number}" for number in range(60_000)]
    append(table, strings[:100])
    wrong: list[str] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            chosen = range(0, 100, 7)
            wrong.extend(text for n in chosen if table.find(text := f"x{n}") != n or table.text(n) != text)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for start in range(100, len(strings), 1000):
        append(table, strings[start : start + 1000])
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong
    assert len(table) == len(strings)
