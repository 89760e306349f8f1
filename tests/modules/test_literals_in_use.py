"""The literals in use: at any time the pairs found are those whose values, all computed, are equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.strategies import thorough

from corollary.language import Literal, constant_text
from corollary.language.model import RDF, XSD
from corollary.modules.literals_in_use import LiteralsInUse
from corollary.terms import literal_forms
from corollary.terms.dictionary import TermDictionary
from corollary.terms.values import SUPPORTED_DATATYPES, value_of

LITERALS = [
    *(Literal(text) for text in ("a", "7", "b c")),
    *(Literal("a", None, language) for language in ("en", "de", "x-" + "y" * 9)),
    *(Literal(text, RDF + "PlainLiteral") for text in ("a@", "a@en", "a@EN", "none")),
    *(Literal(text, XSD + name) for text in ("a", "b c", "7") for name in ("token", "NCName", "anyURI")),
    *(
        Literal(text, XSD + name)
        for text in ("7", "07", "7.0", "-7", "300")
        for name in ("int", "byte", "decimal")
    ),
    *(
        Literal(text, XSD + name)
        for text in ("7.0", "7", "7e0", "-0.0", "0.0")
        for name in ("double", "float")
    ),
    *(
        Literal(f"2000-01-01T{time}", XSD + name)
        for time in ("00:00:00", "00:00:00.0", "00:00:00Z", "00:00:00+00:00", "24:00:00", "25:00:00")
        for name in ("dateTime", "dateTimeStamp")
    ),
    Literal("1999-12-31T24:00:00", XSD + "dateTime"),
    Literal("2000-01-01", XSD + "date"),
]

NEW_MARKER = [("7", "int"), ("7", "decimal"), ("-7", "decimal")]
"""Found: literals of a new marker were not looked up for others."""

steps = st.lists(st.tuples(st.booleans(), st.sets(st.integers(0, len(LITERALS) - 1))), max_size=6)


@pytest.mark.parametrize("many", [False, True])
@thorough(200)
@given(steps)
@example([(True, set(range(0, len(LITERALS), 2))), (True, set(range(len(LITERALS))))])
@example([(True, {0}), (True, set(range(1, len(LITERALS))))])
@example([(True, {LITERALS.index(Literal(text, XSD + name)) for text, name in NEW_MARKER})])
@example([(True, {6, 10}), (True, {0, 1})])
def test_pairs_are_those_of_equal_values(many: bool, steps: list[tuple[bool, set[int]]]) -> None:
    """``many``: the forms are found on columns."""
    dictionary = TermDictionary()
    in_use = LiteralsInUse(dictionary)
    values = [
        value_of(one.lexical, one.datatype, one.language)
        if (one.datatype or XSD + "string") in SUPPORTED_DATATYPES
        else None
        for one in LITERALS
    ]
    used: set[int] = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(literal_forms, "MIN_TEXTS_ON_COLUMNS", 2 if many else 1000)
        for comes, chosen in steps:
            changed = sorted(chosen - used if comes else chosen & used)
            ids = {dictionary.encode(constant_text(LITERALS[i])): i for i in changed}
            column = np.array(sorted(ids), np.uint64)
            if not comes:
                in_use.drop(column)
                used -= chosen
                continue
            used |= chosen
            same, ill_typed = in_use.take(column)
            number = {dictionary.encode(constant_text(LITERALS[i])): i for i in used}
            wanted = {
                (i, j) for i in used for j in used
                if i != j and values[i] is not None and values[i] == values[j] and {i, j} & set(changed)
            }  # fmt: skip
            found = {(number[key >> 32], number[key & 0xFFFFFFFF]) for key in same}
            assert wanted <= found
            assert all(i != j and values[i] is not None and values[i] == values[j] for i, j in found)
            assert {ids[literal] for literal, _ in ill_typed} == {
                i for i in changed if values[i] is None and LITERALS[i].datatype in SUPPORTED_DATATYPES
            }
        assert {dictionary.decode(int(i)) for i in in_use.all()} == {constant_text(LITERALS[i]) for i in used}
