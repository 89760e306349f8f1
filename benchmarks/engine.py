"""Corollary as a task: from explicit facts, as columns of ids, to the materialisation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from benchmarks.measure import Outcome, Task

from corollary.columns import Columns, TripleIndex
from corollary.columns.pairs import pack
from corollary.evaluate import MaterialisedView, materialise
from corollary.generators import generate
from corollary.kernels.sorted import Keys
from corollary.language import Program
from corollary.loaders import read
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary

ENGINE = "corollary"
REASON = "reason"
BUILD = "build index"
SORT = "np.sort"


@dataclass(slots=True)
class Facts:
    """Facts as a loader returns them: a dictionary, and columns of its ids."""

    dictionary: TermDictionary
    columns: Columns

    @staticmethod
    def of_files(paths: Iterable[Path]) -> Facts:
        """The triples of some RDF files."""
        dictionary = TermDictionary()
        return Facts(dictionary, read(paths, dictionary))

    @staticmethod
    def generated(kind: str, parts: int, *, ontology: bool = False) -> Facts:
        """Some parts of a kind of synthetic data, with or without the ontology."""
        with TemporaryDirectory() as folder:
            paths = generate(parts, folder, kind)
            return Facts.of_files(paths if ontology else paths[1:])

    def index(self) -> TripleIndex:
        """A new index; its facts are in one order only, because the second order is computed lazily."""
        return TripleIndex.from_columns(*self.columns)

    def close(self, program: Program | None = None) -> MaterialisedView:
        """The materialisation under ``program``, by default ``owl2rl``."""
        return materialise(self.index(), program or load_profile("owl2rl"), self.dictionary)


def reason_task(facts: Facts, size: str, program: Program | None = None) -> Task:
    """From loaded ids to the fixpoint. Kernels are compiled; no other state is kept between runs."""
    rules = program or load_profile("owl2rl")

    def run(index: TripleIndex) -> Outcome:
        result = materialise(index, rules, facts.dictionary)
        return Outcome(len(result.index), result.seconds)

    return Task(ENGINE, REASON, facts.index, run, size, warm_up=True)


def build_task(facts: Facts, size: str) -> Task:
    """From unsorted columns of ids to an index."""

    def run(columns: Columns) -> Outcome:
        return Outcome(len(TripleIndex.from_columns(*columns)))

    return Task(ENGINE, BUILD, lambda: facts.columns, run, size)


def sort_task(result: TripleIndex, size: str) -> Task:
    """The lower bound for comparison: NumPy sorts the packed facts of a result from random order."""
    keys = shuffled_pairs(result)

    def run(shuffled: Keys) -> Outcome:
        return Outcome(int(np.sort(shuffled).size))

    return Task("numpy", SORT, lambda: keys, run, size, warm_up=True)


def shuffled_pairs(index: TripleIndex) -> Keys:
    """All facts as packed keys (subject << 32 | object), in random order."""
    subjects, _, objects = index.columns()
    return np.random.default_rng(0).permutation(pack(subjects, objects))
