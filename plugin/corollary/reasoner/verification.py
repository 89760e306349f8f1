"""Consistency checks of a reasoner's data: indexes, terms, facts by graph, I, folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from corollary.columns import Relation, TripleIndex
from corollary.columns.key_sort import sort_keys
from corollary.columns.pairs import Pairs, difference, intersection, swap
from corollary.evaluate import MaterialisedView, materialise
from corollary.kernels.limits import Progress, no_progress
from corollary.kernels.sorted import Keys
from corollary.reasoner.quads import Quads, differences
from corollary.reasoner.version import Version
from corollary.terms.dictionary import BULK_KINDS, FIRST_BYTES, INDEX_MASK, KIND_SHIFT, Kind, TermDictionary
from corollary.terms.texts import ABSENT, Texts


@dataclass(frozen=True)
class Verification:
    """The counts of checked facts and terms, and the problems found. Print it, or take ``as_dict()``."""

    explicit: int
    inferred: int
    terms: int
    folder: str | None
    problems: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        """Whether no problems were found."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """The verification in plain JSON types."""
        return {**asdict(self), "problems": list(self.problems), "is_sound": self.is_sound}

    def __str__(self) -> str:
        place = "in memory" if self.folder is None else f"in {self.folder}"
        triples = f"{self.explicit:,} explicit and {self.inferred:,} inferred triples"
        counts = f"{triples}, {self.terms:,} terms, {place}"
        if self.is_sound:
            return f"sound: {counts}"
        return "\n".join(
            (
                f"{len(self.problems):,} problem{'s'[: len(self.problems) != 1]}: {counts}",
                *(f"  {text}" for text in self.problems),
            )
        )


def verification(version: Version, progress: Progress = no_progress) -> Verification:
    """Check a version and its storage. Precondition: ``version.state`` is derived.

    I is compared with a materialisation from scratch. Cost: that of reasoning again.
    """
    state, quads, dictionary = version.state, version.quads, version.terms.dictionary
    problems = [*_of_facts(quads), *_of_terms(dictionary)]
    indexes = list(_indexes(quads, state.index))
    done, total = 0, sum(len(index.relation(p)) for _, index in indexes for p in index.all_predicates())
    for name, index in indexes:
        for predicate in index.all_predicates():
            relation = index.relation(predicate)
            problems += [f"{name}: {_name(dictionary, predicate)}: {text}" for text in _of_relation(relation)]
            terms = np.concatenate(([predicate], relation.subject_terms(), relation.object_terms()))
            if not _are_known(dictionary, terms.astype(np.uint64)):
                problems.append(f"{name}: {_name(dictionary, predicate)}: a term is unknown")
            done += len(relation)
            progress(f"checking {name}", done, done / total)
    if quads.union.difference(state.index).predicates():
        problems.append("what follows lacks explicit facts")
    if state.materialisation is not None:
        problems += _of_inferred(state.materialisation)
    if version.persistence is not None:
        problems += version.persistence.findings()
    return Verification(
        quads.union.fact_count(),
        state.inferred_count,
        len(dictionary),
        None if version.persistence is None else str(version.persistence.place),
        tuple(problems),
    )


def _of_inferred(result: MaterialisedView) -> Iterator[str]:
    """How I differs from what follows from E by the rules."""
    scratch = materialise(result.explicit, result.program, result.dictionary)
    for index, other, text in (
        (result.index, scratch.index, "do not follow by the rules"),
        (scratch.index, result.index, "follow by the rules, and are missing"),
    ):
        if count := index.difference(other).fact_count():
            yield f"all facts: {count:,} {text}"


def _indexes(quads: Quads, index: TripleIndex) -> Iterator[tuple[str, TripleIndex]]:
    yield "all facts", index
    yield "explicit facts", quads.union
    yield "shared facts", quads.shared
    for graph, facts in (*quads.graphs.items(), *quads.formulas.items()):
        yield f"graph {graph}", facts


def _of_facts(quads: Quads) -> Iterator[str]:
    """Problems of the invariants of ``Quads``: ``union`` and ``shared`` against the graphs."""
    graphs = {
        number: {predicate: relation.pairs().keys for predicate, relation in index.relations()}
        for number, index in quads.graphs.items()
    }
    expected = Quads.of(graphs)
    for name, known, right in (
        ("explicit", quads.union, expected.union),
        ("shared", quads.shared, expected.shared),
    ):
        if any(True for _ in differences(known, right)):
            yield f"the {name} facts are not those of the graphs"


def _of_relation(relation: Relation) -> Iterator[str]:
    """Problems of a relation: keys not sorted, orders that differ, an overlay that does not fit its base.

    Of a compressed relation, which is not listed, the facts are counted by subject and by object.
    """
    if relation.is_compressed:
        by_subject = relation.subject_counts(relation.subject_terms())
        by_object = relation.object_counts(relation.object_terms())
        if not len(relation) == by_subject.sum() == by_object.sum():
            yield "its size is not that of its facts"
        return
    base, added, removed = relation.parts
    for name, part in (("base", base), ("added", added), ("removed", removed)):
        if not _ascends(part.keys):
            yield f"{name}: not in order by subject"
        elif part.has_by_object and not _are_same(part):
            yield f"{name}: by object it is not what it is by subject"
    if intersection(added.keys, base.keys).size or difference(removed.keys, base.keys).size:
        yield "what was added is there, or what was removed is not"
    if len(relation) != relation.pairs().keys.size:
        yield "its size is not that of its facts"


def _ascends(keys: Keys) -> bool:
    return bool((keys[1:] > keys[:-1]).all())


def _are_same(pairs: Pairs) -> bool:
    return np.array_equal(sort_keys(swap(pairs.keys), by_first=True), pairs.by_object)


def _are_known(dictionary: TermDictionary, ids: Keys) -> bool:
    """Whether all ids are in the dictionary."""
    counts = np.array([dictionary.count(kind) for kind in Kind], np.uint64)
    return bool(((ids & np.uint64(INDEX_MASK)) < counts[ids >> np.uint64(KIND_SHIFT)]).all())


def _of_terms(dictionary: TermDictionary) -> Iterator[str]:
    """Problems of the term tables: each text must be found under its own id."""
    for kind, table in zip(BULK_KINDS, dictionary.tables(), strict=True):
        known = 0
        for content, lengths in table.parts():
            texts = Texts.of(content, np.cumsum(lengths) - lengths, lengths)
            numbers = np.full(lengths.size, ABSENT, np.uint32)
            table.look_up(texts, FIRST_BYTES[kind], 0, numbers)
            if not np.array_equal(numbers, np.arange(known, known + lengths.size, dtype=np.uint32)):
                yield f"{kind.name} terms: a text is there twice, or is not one"
                break
            known += lengths.size


def _name(dictionary: TermDictionary, predicate: int) -> str:
    known = (predicate & INDEX_MASK) < dictionary.count(Kind(predicate >> KIND_SHIFT))
    return dictionary.decode(predicate) if known else f"predicate {predicate}"
