"""Values for the placeholders of query templates, chosen by the sizes of relations and of their joins.

The names are those of Sparqloscope's templates, and so is what a placeholder stands for: a large predicate,
two predicates whose join is large but not too large, the median of the numbers. A placeholder without a value
is missing from the result.

Join sizes are sums of products of counts: with S[p, x] the number of facts of predicate p and subject x, the
join of two predicates on their subjects has (S Sᵀ)[p, q] rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.columns import TripleIndex
from corollary.columns.pairs import firsts, seconds
from corollary.terms.dictionary import TermDictionary

XSD = "http://www.w3.org/2001/XMLSchema#"
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"

NUMERIC = tuple(f"^^<{XSD}{name}>" for name in ("integer", "decimal", "double", "float"))
DATE = f"^^<{XSD}date>"

SAMPLED = 500
"""Objects of a predicate that are looked at to tell its datatype."""

SMALL, LEAST_JOIN, MANY = 1000, 1000, 25
"""Facts of a small predicate, at most; rows of a join, at least; predicates of the longest join."""

TERMS_AT_ONCE = 200_000

Sizes = NDArray[np.float64]


@dataclass(frozen=True)
class Predicates:
    """The predicates of a data set, the largest first, with the sizes of their joins.

    ``by_subject[p, q]`` is the size of the join of the subjects, ``by_object`` of the objects.
    ``chained[p, q]`` is the size of the join of the objects of p with the subjects of q. ``kinds``: "number",
    "date", "text" or "" by the objects.
    """

    names: list[str]
    sizes: Sizes
    objects: Sizes
    kinds: list[str]
    by_subject: Sizes
    by_object: Sizes
    chained: Sizes

    @staticmethod
    def of(index: TripleIndex, dictionary: TermDictionary) -> Predicates:
        relations = sorted(index.relations(), key=lambda pair: (-len(pair[1]), pair[0]))
        keys = [relation.keys() for _, relation in relations]
        counted = [[np.unique(ends(k), return_counts=True) for k in keys] for ends in (firsts, seconds)]
        by_subject, by_object, chained = _joins(*counted)
        return Predicates(
            names=[dictionary.decode(p) for p, _ in relations],
            sizes=np.array([len(k) for k in keys], np.float64),
            objects=np.array([ids.size for ids, _ in counted[1]], np.float64),
            kinds=[_kind(ids, dictionary) for ids, _ in counted[1]],
            by_subject=by_subject,
            by_object=by_object,
            chained=chained,
        )

    def first(self, accept: Callable[[int], Any]) -> int | None:
        """The largest predicate that is accepted; of equally large ones, that with more distinct objects."""
        found = [p for p in range(len(self.names)) if accept(p)]
        return max(found, key=lambda p: (self.sizes[p], self.objects[p]), default=None)


def _joins(subjects: list[Any], objects: list[Any]) -> tuple[Sizes, Sizes, Sizes]:
    """The sizes of all joins of two relations: by subject, by object, object to subject."""
    count = len(subjects)
    by_subject, by_object, chained = (np.zeros((count, count)) for _ in range(3))
    terms = np.unique(np.concatenate([ids for ids, _ in (*subjects, *objects)]))
    for start in range(0, terms.size, TERMS_AT_ONCE):
        some = terms[start : start + TERMS_AT_ONCE]
        s, o = _dense(subjects, some), _dense(objects, some)
        by_subject += s @ s.T
        by_object += o @ o.T
        chained += o @ s.T
    return by_subject, by_object, chained


def _dense(counted: list[Any], terms: NDArray[np.uint32]) -> Sizes:
    """The counts of some ascending terms, a row for each relation."""
    dense = np.zeros((len(counted), terms.size))
    for row, (ids, counts) in enumerate(counted):
        low, high = np.searchsorted(ids, terms[0]), np.searchsorted(ids, terms[-1], "right")
        dense[row, np.searchsorted(terms, ids[low:high])] = counts[low:high]
    return dense


def _kind(ids: NDArray[np.uint32], dictionary: TermDictionary) -> str:
    """The kind of the literals that are a predicate's only objects, by a sample."""
    texts = [dictionary.decode(term) for term in ids[:: max(1, ids.size // SAMPLED)].tolist()]
    if all(text.endswith(NUMERIC) for text in texts):
        return "number"
    if all(text.endswith(DATE) for text in texts):
        return "date"
    return "text" if all(text[0] == '"' and "^^<" not in text for text in texts) else ""


def placeholders(
    index: TripleIndex, dictionary: TermDictionary, ask: Callable[[str], Any]
) -> dict[str, str | list[str]]:
    """The values of all placeholders that have one. ``ask`` answers a query, with rdflib's terms."""
    known = Predicates.of(index, dictionary)
    found: dict[str, str | list[str]] = {"LIMIT": "10"}
    for name, chosen in (*_single(known), *_joined(known), *_of_paths(known)):
        if chosen is not None:
            found[name] = known.names[chosen]
    small = [name for name, size in zip(known.names, known.sizes, strict=True) if size <= SMALL]
    found["SMALL_PREDICATE_FOR_XLARGE_JOIN"] = small[:MANY]
    if "PREDICATE_LARGE_WITH_NUMERIC" in found:
        predicate = dictionary.encode(str(found["PREDICATE_LARGE_WITH_NUMERIC"]))
        for number, value in enumerate(_percentiles(index, predicate, dictionary), 1):
            found[f"VALUE_FOR_NUMERIC_BIN_SEARCH_{number}"] = value
    if "PREDICATE_TRANSITIVE_PATH" in found:
        path = found["PREDICATE_TRANSITIVE_PATH"]
        text = f"SELECT ?s (COUNT(*) AS ?n) {{ ?s {path}+ ?o }} GROUP BY ?s ORDER BY DESC(?n) LIMIT 1"
        found["FIXED_SUBJECT_FOR_TRANSITIVE_PATH"] = next(iter(ask(text)))[0].n3()
    return found


Choice = tuple[str, int | None]


def _single(known: Predicates) -> Iterator[Choice]:
    """The placeholders that stand for one predicate, by its size and its objects."""
    count = len(known.names)
    for name, place in (("LARGE_1", 0), ("LARGE_2", 1), ("MEDIUM_1", 10), ("MEDIUM_2", 11)):
        yield f"PREDICATE_{name}", place if place < count else None
    small = [p for p in range(count) if known.sizes[p] <= SMALL][:2]
    for number, chosen in enumerate(small, 1):
        yield f"PREDICATE_SMALL_{number}", chosen
    text = known.first(lambda p: known.kinds[p] == "text")
    labels = known.names.index(LABEL) if LABEL in known.names else None
    is_label = labels is not None and known.sizes[labels] > SMALL
    yield "PREDICATE_LARGE_WITH_LITERAL", labels if is_label else text
    yield "PREDICATE_LARGE_STRING", text
    yield "PREDICATE_LARGE_WITH_NUMERIC", known.first(lambda p: known.kinds[p] == "number")
    yield "PREDICATE_LARGE_WITH_DATE", known.first(lambda p: known.kinds[p] == "date")
    yield "PREDICATE_LOW_MULTIPLICITY", int(np.argmax(known.objects))
    yield "PREDICATE_HIGH_MULTIPLICITY", int(np.argmax(known.sizes / known.objects))


def _joined(known: Predicates) -> Iterator[Choice]:
    """The placeholders that stand for predicates with joins of certain sizes."""
    n, pairs, chained = known.sizes, known.by_subject, known.chained
    every = range(len(known.names))
    two = [(p, q) for p, q in product(every, every) if p != q and pairs[p, q]]

    def reasonable(sizes: Sizes, p: int, q: int, most: float) -> bool:
        return bool(0 < sizes[p, q] <= most * (n[p] + n[q]))

    yield from _named("PREDICATE_FOR_LARGEST_SUBJ_JOIN", "12", two, lambda p, q: pairs[p, q])
    large = [pair for pair in two if reasonable(pairs, *pair, 3)]
    yield from _named("PREDICATE_FOR_LARGE_SUBJ_JOIN", "12", large, lambda p, q: pairs[p, q])
    small = [(p, q) for p, q in two if pairs[p, q] > LEAST_JOIN and n[p] < n[q]]
    yield from _named("LARGE_PREDICATE_FOR_SMALL_SUBJ_JOIN", "12", small, lambda p, q: n[p] / pairs[p, q])
    grouped = [(p, q) for p, q in two if known.objects[p]]
    yield from _named(
        "LARGE_PREDICATE_FOR_GROUP_BY", "12", grouped, lambda p, q: pairs[p, q] / known.objects[p]
    )
    star = [
        (p, q, r)
        for p, q in two
        for r in every
        if r not in (p, q) and all(reasonable(pairs, *pair, 1) for pair in ((p, q), (q, r), (p, r)))
    ]
    yield from _named("PREDICATE_FOR_SUBJ_STAR_JOIN", "123", star, lambda p, q, r: pairs[p, q] + pairs[q, r])
    links = [(p, q) for p, q in product(every, every) if p != q and reasonable(chained, p, q, 3)]
    chain = [(p, q, r) for p, q in links for q2, r in links if q == q2 and p != r]
    yield from _named("PREDICATE_FOR_CHAIN_JOIN", "123", chain, lambda p, q, r: chained[p, q] + chained[q, r])
    columns = [(p, q) for p, q in two if min(pairs[p, q], known.by_object[p, q]) >= LEAST_JOIN]
    for name, sign in (("PREDICATE_LARGE_MULTICOL_JOIN", 1), ("PREDICATE_SMALL_MULTICOL_JOIN", -1)):
        yield from _named(
            name, "12", columns, lambda p, q, s=sign: s * min(pairs[p, q], known.by_object[p, q])
        )
    three = [(p, r, q) for p, q in two for r in every if r not in (p, q) and pairs[q, r]]
    small_union = [(p, r, q) for p, r, q in three if pairs[p, q] > LEAST_JOIN and n[p] < n[q]]
    yield from _named(
        "PREDICATES_FOR_UNION_CONSTRAINT_SMALL",
        ("U1", "U2", "J"),
        small_union,
        lambda p, r, q: (n[p] / pairs[p, q], pairs[q, r]),
    )
    large_union = [
        (p, r, q)
        for p, r, q in three
        if pairs[p, q] > LEAST_JOIN
        and n[q] < min(n[p], n[r])
        and reasonable(pairs, p, q, 3)
        and reasonable(pairs, q, r, 3)
    ]
    yield from _named(
        "PREDICATES_FOR_UNION_CONSTRAINT_LARGE",
        ("U1", "U2", "J"),
        large_union,
        lambda p, r, q: (pairs[p, q], pairs[q, r]),
    )


def _named(name: str, suffixes: Any, choices: list[Any], key: Callable[..., Any]) -> Iterator[Choice]:
    """The best choice, a placeholder for each of its predicates."""
    if choices:
        best = max(choices, key=lambda choice: key(*choice))
        yield from ((f"{name}_{suffix}", p) for suffix, p in zip(suffixes, best, strict=True))


def _of_paths(known: Predicates) -> Iterator[Choice]:
    """The predicate with most paths of two steps, and those that lead to its paths."""
    steps = np.diagonal(known.chained)
    if not steps.any():
        return
    path = int(np.argmax(steps))
    yield "PREDICATE_TRANSITIVE_PATH", path
    before = known.chained[:, path].copy()
    before[path] = 0
    if before.any():
        yield "PREDICATE_LARGE_JOIN_FOR_TRANSITIVE_PATH", int(np.argmax(before))
        least = min(LEAST_JOIN, before.max())
        before[before < least] = np.inf
        yield "PREDICATE_SMALL_JOIN_FOR_TRANSITIVE_PATH", int(np.argmin(before))


def _percentiles(index: TripleIndex, predicate: int, dictionary: TermDictionary) -> Iterator[str]:
    """The numbers at 50, 70 and 95 per cent of a predicate's facts, as they are written."""
    ids, counts = np.unique(seconds(index.relation(predicate).keys()), return_counts=True)
    texts = [dictionary.decode(term) for term in ids.tolist()]
    order = np.argsort([float(text[1:].partition('"')[0]) for text in texts], kind="stable")
    reached = np.cumsum(counts[order])
    for share in (0.5, 0.7, 0.95):
        yield texts[order[np.searchsorted(reached, share * reached[-1], "right")]]
