"""Long lists: the cost of OWL's constructs over lists of 1,000, 10,000 and 100,000 members.

One ontology for each construct: one list, and the few individuals for whom its rule fires. Each is
materialised, with its inconsistencies; then the rdf:first of the middle cell is removed and added back. A
construct's time should grow as its list does: ten times the members take at most ``MOST_GROWTH`` times as
long: more than ten, because 100,000 members do not fit into the caches, but far from the hundred of quadratic
work. Times below ``LEAST_SECONDS`` are mostly the cost of starting, and are not compared.

Two shapes of data: in most ontologies every member is a class or property of its own; in ``chain of one`` all
members are one property. A list of 70 in a larger ontology (``university``) should cost nothing: it is
compared with the same data without the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from benchmarks.changes import Track, rows_of
from benchmarks.engine import ENGINE, Facts, reason_task
from benchmarks.measure import Demand, Measurement, Outcome, Results, Settings, Task, measure
from benchmarks.workloads import lubm

from corollary.columns import TripleIndex
from corollary.evaluate import materialise
from corollary.language.model import OWL, RDF
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary

NAME = "lists"
TITLE = "constructs over lists of up to 100,000 members"

MOST_GROWTH = 25.0
MOST_SECONDS = {10_000: 1.0, 100_000: 10.0}
MOST_OVER_NO_LIST = 1.5
LEAST_SECONDS = 0.05
SMALL_LIST = 70
CLASHES = "inconsistencies"

Triples = Iterator[tuple[str, str, str]]


def term(name: str) -> str:
    """An IRI of the benchmark."""
    return f"<https://corollary.example/lists#{name}>"


def owl(name: str) -> str:
    return f"<{OWL}{name}>"


FIRST, REST, NIL, TYPE = (f"<{RDF}{name}>" for name in ("first", "rest", "nil", "type"))


def list_of(subject: str, predicate: str, members: Sequence[str]) -> Triples:
    """A list; its cells come in order, two triples each."""
    cells = [f"_:l{i}" for i in range(len(members))]
    yield term(subject), owl(predicate), cells[0]
    for (cell, rest), member in zip(pairwise((*cells, NIL)), members, strict=True):
        yield cell, FIRST, term(member)
        yield cell, REST, rest


def numbered(letter: str, count: int) -> list[str]:
    return [f"{letter}{i}" for i in range(count)]


def union(n: int) -> Triples:
    """Ten individuals, each of one member."""
    yield from list_of("C", "unionOf", numbered("c", n))
    yield from ((term(f"x{i}"), TYPE, term(f"c{i * n // 10}")) for i in range(10))


def one_of(n: int) -> Triples:
    """The members are the individuals."""
    yield from list_of("C", "oneOf", numbered("x", n))


def intersection(n: int) -> Triples:
    """Three individuals of all members, and one of all but the last."""
    yield from list_of("C", "intersectionOf", numbered("c", n))
    yield from ((term(f"x{k}"), TYPE, term(f"c{i}")) for k in range(4) for i in range(n - (k == 3)))


def all_different(n: int) -> Triples:
    """Two members are the same."""
    yield from list_of("A", "distinctMembers", numbered("x", n))
    yield term("A"), TYPE, owl("AllDifferent")
    yield term("x1"), f"<{OWL}sameAs>", term("x2")


def all_disjoint(n: int) -> Triples:
    """One individual of three members."""
    yield from list_of("A", "members", numbered("c", n))
    yield term("A"), TYPE, owl("AllDisjointClasses")
    yield from ((term("x"), TYPE, term(f"c{i * n // 10}")) for i in range(3))


def key(n: int) -> Triples:
    """Two individuals with the same values of all members, and a third one with none."""
    yield from list_of("K", "hasKey", numbered("p", n))
    yield from ((term(f"x{k}"), TYPE, term("K")) for k in range(3))
    yield from ((term(f"x{k}"), term(f"p{i}"), term(f"v{i}")) for k in range(2) for i in range(n))


def chain(n: int) -> Triples:
    """Three paths along all members."""
    yield from list_of("p", "propertyChainAxiom", numbered("p", n))
    for k in range(3):
        yield from ((term(f"n{k}_{i}"), term(f"p{i}"), term(f"n{k}_{i + 1}")) for i in range(n))


def chain_of_one(n: int) -> Triples:
    """One property n times, and three paths."""
    yield from list_of("p", "propertyChainAxiom", ["q"] * n)
    yield from ((term(f"n{i}"), term("q"), term(f"n{i + 1}")) for i in range(n + 2))


CONSTRUCTS: dict[str, Callable[[int], Triples]] = {
    "unionOf": union,
    "oneOf": one_of,
    "intersectionOf": intersection,
    "AllDifferent": all_different,
    "AllDisjointClasses": all_disjoint,
    "hasKey": key,
    "chain": chain,
    "chain of one": chain_of_one,
}


def facts_of(triples: Triples) -> Facts:
    """The triples as columns of ids, in their order."""
    dictionary = TermDictionary()
    rows = np.array([[dictionary.encode(text) for text in triple] for triple in triples], np.uint32)
    subjects, predicates, objects = (np.ascontiguousarray(column) for column in rows.T)
    return Facts(dictionary, (subjects, predicates, objects))


def run(settings: Settings) -> Results:
    """Every construct with lists of every length; then a short list among other data."""
    results = Results()
    lengths = (20, 200) if settings.small else (1_000, 10_000, 100_000)
    program = load_profile("owl2rl")
    for name, made in CONSTRUCTS.items():
        tasks: list[Task] = []
        for length in lengths:
            facts, size = facts_of(made(length)), f"{name}, {length:,}"
            tasks.append(whole_task(facts, size))
            middle = rows_of(facts.columns, np.array([2 * (length // 2) + 1]))
            tasks += Track(facts, program, [middle]).tasks(size, "a member")
        measured = measure(NAME, tasks, settings.repeat)
        results.measurements += measured
        if not settings.small:
            results.demands += demands(name, lengths, measured)
    beside_data(settings, results)
    return results


def whole_task(facts: Facts, size: str) -> Task:
    """From loaded ids to the fixpoint and the inconsistencies."""
    rules = load_profile("owl2rl")

    def run(index: TripleIndex) -> Outcome:
        result = materialise(index, rules, facts.dictionary)
        _ = result.inconsistencies
        return Outcome(len(result.index))

    return Task(ENGINE, f"reason, {CLASHES}", facts.index, run, size, warm_up=True)


def demands(name: str, lengths: Sequence[int], measured: Sequence[Measurement]) -> list[Demand]:
    """Demands on the growth of each task from length to length, and on its seconds."""
    found = []
    for what in dict.fromkeys(m.what for m in measured):
        of_task = (m for m in measured if m.what == what)
        times = dict(zip(lengths, of_task, strict=True))
        for shorter, longer in pairwise(lengths):
            if times[shorter].median >= LEAST_SECONDS:
                text = f"{name}, {what}: {longer:,} members over {shorter:,}"
                found.append(Demand(NAME, text, times[longer].median / times[shorter].median, MOST_GROWTH))
        for length, most in MOST_SECONDS.items():
            text = f"{name}, {what}: {length:,} members"
            found.append(Demand(NAME, text, times[length].median, most, "s"))
    return found


def beside_data(settings: Settings, results: Results) -> None:
    """A list of distinct individuals in an ontology with data: over the same data without the list."""
    with lubm.files(None, 1) as (_, paths):
        plain, listed = Facts.of_files(paths), Facts.of_files(paths)
    more = list(list_of("A", "distinctMembers", numbered("x", SMALL_LIST)))
    more.append((term("A"), TYPE, owl("AllDifferent")))
    rows = np.array([[listed.dictionary.encode(text) for text in triple] for triple in more], np.uint32).T
    columns = (np.concatenate(parts) for parts in zip(listed.columns, rows, strict=True))
    subjects, predicates, objects = columns
    listed.columns = (subjects, predicates, objects)
    sizes = ("university-1", f"university-1 and a list of {SMALL_LIST}")
    tasks = [reason_task(facts, size) for facts, size in zip((plain, listed), sizes, strict=True)]
    without, with_list = measure(NAME, tasks, settings.repeat)
    results.measurements += [without, with_list]
    text = f"{sizes[1]}: over the time without the list"
    results.demands.append(Demand(NAME, text, with_list.median / without.median, MOST_OVER_NO_LIST))
