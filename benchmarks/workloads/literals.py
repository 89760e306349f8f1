"""Many different literals of one kind: labels with a language, numbers, dates; and what one more costs.

Each subject has one literal. Under ``owl2rl`` the engine finds literals that are written in two ways and
denote one value, and literals with a range that they are not in. The property has a range that all are in.
Each kind is compared with the same number of plain strings, which need neither; and one more literal among
all of them with one more among a hundredth of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from benchmarks.engine import ENGINE, Facts
from benchmarks.measure import Demand, Outcome, Results, Settings, Task, measure

from corollary.columns import TripleIndex
from corollary.columns.delta import NOTHING, Delta
from corollary.evaluate import MaterialisedView, materialise
from corollary.language.model import RDF, RDFS, XSD
from corollary.maintain import AUTOMATIC, maintain
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary
from corollary.terms.texts import Texts

NAME = "literals"
TITLE = "a million different literals of one kind"

LITERALS = 1_000_000
ONE_MORE = 100
"""Literals that are added and removed one by one."""

MOST_OVER_PLAIN = 4.0
MOST_GROWTH = 2.0
PLAIN = "plain strings"

PROPERTY = "<https://corollary.example/literals#p>"

KINDS: dict[str, tuple[str, Callable[[int], str]]] = {
    PLAIN: (XSD + "string", lambda i: f'"label {i}"'),
    "labels": (RDF + "langString", lambda i: f'"label {i}"@en'),
    "integers": (XSD + "integer", lambda i: f'"{i}"^^<{XSD}integer>'),
    "decimals": (XSD + "decimal", lambda i: f'"{i}.5"^^<{XSD}decimal>'),
    "doubles": (XSD + "double", lambda i: f'"{i / 1000:.3f}1"^^<{XSD}double>'),
    "dateTimes": (
        XSD + "dateTime",
        lambda i: f'"{1000 + i // 3600}-01-01T00:{i // 60 % 60:02}:{i % 60:02}"^^<{XSD}dateTime>',
    ),
}
"""The range of each kind, and its literals."""


def facts_of(kind: str, count: int) -> Facts:
    """One literal for each subject, and the range."""
    datatype, text = KINDS[kind]
    dictionary = TermDictionary()
    predicate, range_of = dictionary.encode(PROPERTY), dictionary.encode(f"<{RDFS}range>")
    target = dictionary.encode(f"<{datatype}>")
    subjects = _encoded(dictionary, (f"<https://corollary.example/literals#s{i}>" for i in range(count)))
    objects = _encoded(dictionary, map(text, range(count)))
    columns = (subjects, np.full(count, predicate, np.uint32), objects)
    more = (predicate, range_of, target)
    s, p, o = (np.append(column, np.uint32(one)) for column, one in zip(columns, more, strict=True))
    return Facts(dictionary, (s, p, o))


def _encoded(dictionary: TermDictionary, texts: Iterator[str]) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    found = Texts.of_strings(list(texts))
    ids = np.empty(found.starts.size, np.uint32)
    dictionary.encode_texts(found, ids)
    return ids


def run(settings: Settings) -> Results:
    """Every kind, closed with its inconsistencies; then single literals that come and go."""
    results = Results()
    sizes = (300, 3_000) if settings.small else (LITERALS // 100, LITERALS)
    tasks = [task for kind in KINDS for size in sizes for task in tasks_of(kind, size)]
    measured = measure(NAME, tasks, settings.repeat)
    results.measurements += measured
    if settings.small:
        return results
    times = {(found.size, found.what): found.median for found in measured}
    for kind in KINDS:
        few, many = (f"{size:,} {kind}" for size in sizes)
        if kind != PLAIN:
            plain = times[f"{sizes[1]:,} {PLAIN}", CLOSE]
            text = f"{many}, {CLOSE}: over {PLAIN}"
            results.demands.append(Demand(NAME, text, times[many, CLOSE] / plain, MOST_OVER_PLAIN))
        text = f"{kind}, {SINGLES}: {sizes[1]:,} over {sizes[0]:,}"
        results.demands.append(Demand(NAME, text, times[many, SINGLES] / times[few, SINGLES], MOST_GROWTH))
    return results


CLOSE = "reason, inconsistencies"
SINGLES = f"{ONE_MORE} literals one by one, in and out"


def tasks_of(kind: str, size: int) -> list[Task]:
    """Closing with the inconsistencies, and single changes of the result."""
    facts, rules, name = facts_of(kind, size), load_profile("owl2rl"), f"{size:,} {kind}"

    def close(index: TripleIndex) -> Outcome:
        fresh = Facts(facts.dictionary.copied(), facts.columns)  # the forms of its literals are not known yet
        result = materialise(index, rules, fresh.dictionary)
        _ = result.inconsistencies
        return Outcome(len(result.index))

    def closed() -> MaterialisedView:
        return materialise(facts.index(), rules, facts.dictionary)

    def change(before: MaterialisedView) -> Outcome:
        text, dictionary = KINDS[kind][1], facts.dictionary
        predicate, result, explicit = dictionary.encode(PROPERTY), before, facts.index()
        for i in range(ONE_MORE):
            subject, literal = facts.columns[0][i], dictionary.encode(text(size + i))
            one = Delta({predicate: np.array([int(subject) << 32 | literal], np.uint64)})
            more = explicit.snapshot()
            more.add_all(one)
            result, _ = maintain(result, more, NOTHING, one, AUTOMATIC)
            result, _ = maintain(result, explicit, one, NOTHING, AUTOMATIC)
        return Outcome(len(result.index))

    return [
        Task(ENGINE, CLOSE, facts.index, close, name, warm_up=True),
        Task(ENGINE, SINGLES, closed, change, name, warm_up=True),
    ]
