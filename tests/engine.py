"""The engine seen as a function from facts and rules to facts, for tests to compare with oracles."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from corollary.columns import TripleIndex
from corollary.columns.triples import Columns
from corollary.evaluate import MaterialisedView, materialise
from corollary.language import Constant, Program, constant_text, parse_constant
from corollary.terms.dictionary import TermDictionary

Fact = tuple[Constant, Constant, Constant]


def load(facts: Iterable[Fact], dictionary: TermDictionary) -> TripleIndex:
    """An index of the facts, whose terms get ids of the dictionary."""
    rows = [[dictionary.encode(constant_text(term)) for term in fact] for fact in facts]
    columns = np.array(rows, np.uint32).reshape(-1, 3).T
    return TripleIndex.from_columns(*(np.ascontiguousarray(column) for column in columns))


def run(facts: Iterable[Fact], program: Program) -> MaterialisedView:
    """The materialisation of facts under rules."""
    dictionary = TermDictionary()
    return materialise(load(facts, dictionary), program, dictionary)


def facts_of(columns: Columns, dictionary: TermDictionary) -> set[Fact]:
    """Columns of ids as facts."""
    texts = (dictionary.decode_all(column.tolist()) for column in columns)
    return {(term(s), term(p), term(o)) for s, p, o in zip(*texts, strict=True)}


term = lru_cache(100_000)(parse_constant)
"""A constant as it is written, parsed once."""


def close(facts: Iterable[Fact], program: Program) -> tuple[set[Fact], set[str]]:
    """All facts that hold, those included that RDF does not allow, and the violated constraints' names."""
    result = run(facts, program)
    names = {inconsistency.rule for inconsistency in result.inconsistencies}
    return facts_of(result.index.columns(legal=False), result.dictionary), names
