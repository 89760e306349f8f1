"""The dictionary: terms one by one and by the million get the same ids."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.terms.dictionary import (
    BULK_KINDS,
    FIRST_LITERAL,
    INDEX_MASK,
    Kind,
    TermDictionary,
    kind_of_text,
)
from corollary.terms.texts import ABSENT, Texts

numbers = st.integers(0, 12)
terms = (
    numbers.map("<ex:{}>".format)
    | numbers.map("_:b{}".format)
    | numbers.map('"{}"'.format)
    | numbers.map('"{}"@en'.format)
    | numbers.map('"{}"^^<ex:d>'.format)
)
reserved = numbers.map("ITEM_{}".format)
steps = st.lists((terms | reserved) | st.lists(terms, max_size=20), max_size=12)


def encode_together(dictionary: TermDictionary, texts: list[str]) -> list[int]:
    ids = np.full(len(texts), ABSENT, np.uint32)
    dictionary.encode_texts(Texts.of_strings(texts), ids)
    return ids.tolist()


@settings(deadline=None)
@given(steps)
def test_one_by_one_and_together_are_the_same(steps: list[str | list[str]]) -> None:
    single, mixed = TermDictionary(), TermDictionary()
    for step in steps:
        if isinstance(step, str):
            assert mixed.encode(step) == single.encode(step)
        else:
            assert encode_together(mixed, step) == [single.encode(text) for text in step]
    ids = [kind << 30 | number for kind in Kind for number in range(single.count(kind))]
    for copied in (mixed, pickle.loads(pickle.dumps(mixed)), copy.deepcopy(mixed)):
        assert repr(copied) == repr(single)
        assert len(copied) == len(single)
        assert copied.decode_all(ids) == single.decode_all(ids) == [copied.decode(i) for i in ids]
        assert [copied.find(text) for text in single.decode_all(ids)] == ids
        assert copied.literal_forms.markers == single.literal_forms.markers
        assert copied.literal_forms.all_codes().tolist() == single.literal_forms.all_codes().tolist()
        assert copied.find("<ex:unknown>") is None
        assert copied.encode("<ex:unknown>") == single.count(Kind.IRI)


def test_forms_are_in_the_order_of_the_literals() -> None:
    dictionary = TermDictionary()
    texts = ['"a"', '"a"@en', "<ex:a>", '"1"^^<ex:d>']
    ids = encode_together(dictionary, texts)
    assert [i & INDEX_MASK for i in ids if i >= FIRST_LITERAL] == [0, 1, 2]
    assert dictionary.literal_forms.all_codes().tolist() == [1, 3, 4]
    assert dictionary.literal_forms.markers == ["", "@en", "^^<ex:d>"]


def test_tables_hold_all_terms_of_data_and_make_a_dictionary() -> None:
    dictionary = TermDictionary()
    texts = ["<ex:a>", "MEMBER", "_:a", '"a"@en', "<ex:b>"]
    ids = [dictionary.encode(text) for text in texts]
    tables = dictionary.tables()
    assert [len(tables[kind]) for kind in BULK_KINDS] == [2, 1, 1]
    assert dictionary.find("MEMBER") == ids[1]
    other = TermDictionary.of_tables(tables)
    assert [other.find(text) for text in texts] == [ids[0], None, *ids[2:]]
    assert other.literal_forms.markers == ["", "@en"]


def test_texts_can_be_looked_up_without_being_entered() -> None:
    dictionary = TermDictionary()
    known = dictionary.encode("_:a")
    ids = np.zeros(2, np.uint32)
    dictionary.find_texts(Texts.of_strings(["_:b", "_:a"]), ids, Kind.BLANK_NODE)
    assert ids.tolist() == [ABSENT, known]


def test_what_was_found_of_late_does_not_grow_without_end(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("corollary.terms.dictionary.MAX_RECENT_IDS", 3)
    dictionary = TermDictionary()
    texts = [f"<ex:{number}>" for number in range(10)]
    ids = encode_together(dictionary, texts)
    assert [dictionary.find(text) for text in texts * 2] == ids * 2


def test_a_small_dictionary_needs_no_compiler() -> None:
    script = (
        "import sys\n"
        "from corollary.terms.dictionary import TermDictionary\n"
        "dictionary = TermDictionary()\n"
        "ids = [dictionary.encode(f'<ex:{i}>') for i in range(100)]\n"
        "assert dictionary.decode_all(ids)[7] == '<ex:7>'\n"
        "print(*(name for name in ('numba', 'pyarrow') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not done.stdout.strip()


def test_kinds() -> None:
    assert [kind_of_text(text) for text in ("<a:b>", "_:a", '"a"', "MEMBER")] == list(Kind)
