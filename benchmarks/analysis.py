"""Program analyses: the rules of CSPA and CSDA, and their data, generated or from the corpus.

The rules are those of de Lima and Apinis, A Back-to-basics Empirical Study of Datalog Materialization,
examples 6.1 and 6.2. ``memoryAlias`` relates the places that are read through two aliases.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from benchmarks.engine import Facts
from numpy.typing import NDArray

from corollary.generators.program_graphs import VOCABULARY
from corollary.terms.dictionary import TermDictionary

CSPA = """
valueFlow(X,Y) :- assign(X,Y)
valueFlow(X,X) :- assign(X,Y)
valueFlow(Y,Y) :- assign(X,Y)
valueFlow(X,Z) :- assign(X,Y),memoryAlias(Y,Z)
valueFlow(X,Z) :- valueFlow(X,Y),valueFlow(Y,Z)
memoryAlias(X,X) :- assign(X,Y)
memoryAlias(Y,Y) :- assign(X,Y)
memoryAlias(X,W) :- dereference(Y,X),valueAlias(Y,Z),dereference(Z,W)
valueAlias(Y,Z) :- valueFlow(X,Y),valueFlow(X,Z)
valueAlias(Y,Z) :- valueFlow(X,Y),memoryAlias(X,W),valueFlow(W,Z)
"""
CSDA = """
null(X,Y) :- nullEdge(X,Y)
null(X,Z) :- null(X,Y),arc(Y,Z)
"""
"""The programs in the syntax of ``vlog``."""

TABLES = {"cspa": ("Assign", "Dereference"), "csda": ("NullEdge", "Arc")}
"""The tables of the corpus, by analysis."""

Table = NDArray[np.int64]


def of_corpus(corpus: Path, name: str) -> dict[str, Table]:
    """The tables of a data set of the corpus, such as ``cspa10k``: rows of two numbers, by property."""
    folder = corpus / "program-analysis" / "carac" / name / "facts"
    return {f"{table[0].lower()}{table[1:]}": _rows(folder, table) for table in TABLES[name[:4]]}


def _rows(folder: Path, table: str) -> Table:
    """The rows of a file, which may be compressed, without its header."""
    plain = folder / f"{table}.csv"
    content = (
        plain.read_bytes() if plain.exists() else gzip.decompress((folder / f"{table}.csv.gz").read_bytes())
    )
    return np.array(content.split(b"\n", 1)[1].split(), np.int64).reshape(-1, 2)


def facts_of(tables: dict[str, Table], prefix: str = VOCABULARY) -> Facts:
    """Tables as facts: a property for each table, a node for each number."""
    dictionary = TermDictionary()
    numbers = np.unique(np.concatenate([rows.ravel() for rows in tables.values()]))
    nodes = np.array([dictionary.encode(f"<{prefix}node{number}>") for number in numbers.tolist()], np.uint32)
    predicates = np.repeat(
        np.array([dictionary.encode(f"<{prefix}{name}>") for name in tables], np.uint32),
        [len(rows) for rows in tables.values()],
    )
    ends = nodes[np.searchsorted(numbers, np.concatenate(list(tables.values())))]
    return Facts(dictionary, (ends[:, 0].copy(), predicates, ends[:, 1].copy()))


def tables_of(facts: Facts) -> dict[str, Table]:
    """Facts as tables: the ids of subjects and objects, by the name of the property after ``#``."""
    subjects, predicates, objects = facts.columns
    names = np.unique(predicates).tolist()
    texts = facts.dictionary.decode_all(names)
    return {
        text.rsplit("#", 1)[1].rstrip(">"): np.stack((subjects[rows], objects[rows]), axis=1).astype(np.int64)
        for text, rows in ((text, predicates == name) for name, text in zip(names, texts, strict=True))
    }
