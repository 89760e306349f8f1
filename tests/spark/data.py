"""Encoded data sets as texts or as keys, which do not depend on how terms are numbered."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyoxigraph
from hypothesis import HealthCheck, Phase, settings
from tests.strategies import MORE_EXAMPLES

from corollary.columns import TripleIndex
from corollary.kernels.sorted import Column
from corollary.loaders import read_index
from corollary.terms.dictionary import BULK_KINDS, INDEX_MASK, KIND_SHIFT, Kind, TermDictionary

TextTriple = tuple[str, str, str]
Facts = tuple[TripleIndex, TermDictionary]

few = settings(
    max_examples=2 * MORE_EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # shrinking would take an hour
)
"""For tests on Spark, of which an example takes seconds."""

_SUFFIX = re.compile(r"(_:.*)-\d+")


def texts(index: TripleIndex, dictionary: TermDictionary) -> set[TextTriple]:
    """The facts of an index, those included that RDF does not allow."""
    columns = [dictionary.decode_all(column.tolist()) for column in index.columns(legal=False)]
    return set(zip(*columns, strict=True))


def read_texts(paths: Iterable[Path]) -> set[TextTriple]:
    """What the local reader makes of files."""
    dictionary = TermDictionary()
    return texts(read_index(paths, dictionary), dictionary)


def without_suffixes(triples: Iterable[TextTriple]) -> set[TextTriple]:
    """Facts with the labels of blank nodes as they stand in the documents."""
    return {tuple(_SUFFIX.sub(r"\1", term) for term in triple) for triple in triples}  # type: ignore[misc]


def canonical(triples: Iterable[TextTriple]) -> pyoxigraph.Dataset:
    """Facts in a form that is equal for sets that differ in labels of blank nodes only."""
    lines = "".join(f"{s} {p} {o} .\n" for s, p, o in triples)
    found = pyoxigraph.Dataset(pyoxigraph.parse(lines, pyoxigraph.RdfFormat.N_TRIPLES))
    found.canonicalize(pyoxigraph.CanonicalizationAlgorithm.RDFC_1_0)
    return found


def assert_equal_facts(found: Facts, wanted: Facts) -> None:
    """Two large sets of facts are equal, blank nodes by their labels."""
    assert_same_keys(renumbered(found, wanted[1]), *wanted)


def assert_isomorphic(found: Facts, wanted: Facts) -> None:
    """Two large sets of facts are equal, whatever labels their (few) blank nodes have."""
    ground, others = zip(*map(_parted, (found, wanted)), strict=True)
    assert_equal_facts((ground[0], found[1]), (ground[1], wanted[1]))
    assert canonical(texts(others[0], found[1])) == canonical(texts(others[1], wanted[1]))


def _parted(facts: Facts) -> tuple[TripleIndex, TripleIndex]:
    """The facts without blank nodes, and those with some."""
    columns = facts[0].columns(legal=False)
    is_blank = np.logical_or.reduce(
        [column >> np.uint32(KIND_SHIFT) == Kind.BLANK_NODE for column in columns]
    )
    parts = ([column[rows] for column in columns] for rows in (~is_blank, is_blank))
    ground, others = (TripleIndex.from_columns(*part) for part in parts)
    return ground, others


def renumbered(facts: Facts, dictionary: TermDictionary) -> TripleIndex:
    """An index of the same facts over another dictionary."""
    index, its = facts
    tables: list[Column] = []
    for kind in BULK_KINDS:
        ids = range(kind << KIND_SHIFT, (kind << KIND_SHIFT) + its.count(kind))
        tables.append(np.fromiter(map(dictionary.encode, its.decode_all(ids)), np.uint32, len(ids)))
    starts = np.cumsum([0, *map(len, tables[:-1])])
    table = np.concatenate(tables)
    return TripleIndex.from_columns(
        *(
            table[starts[column >> np.uint32(KIND_SHIFT)] + (column & np.uint32(INDEX_MASK))]
            for column in index.columns(legal=False)
        )
    )


def assert_same_keys(found: TripleIndex, wanted: TripleIndex, dictionary: TermDictionary) -> None:
    """Two indexes over one dictionary have the same facts."""
    for predicate in sorted({*found.predicates(), *wanted.predicates()}):
        ours, others = (index.keys(predicate) for index in (found, wanted))
        if not np.array_equal(ours, others):
            more, missing = np.setdiff1d(ours, others), np.setdiff1d(others, ours)
            some = [
                dictionary.decode_all([key >> 32, key & 0xFFFFFFFF])
                for key in (*more[:3].tolist(), *missing[:3].tolist())
            ]
            name = dictionary.decode(predicate)
            raise AssertionError(f"{name}: {more.size} too many, {missing.size} missing, such as {some}")
