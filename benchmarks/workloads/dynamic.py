"""Universities whose facts, rules and ontology change: DYRE's experiment, and edits of a schema.

De Lima, Kramer, Apinis, Micinski: Incremental Evaluation of Dynamic Datalog Programs as a Higher-order DBSP
Program (2024), section 5.2, materialise most of the facts, add the rest, and remove the rest: 99 % and 1 %,
50 % and 50 %, under RDFS and OWL 2 RL. Here rules are removed and added back, too. Two edits change one axiom
of a schema: a class with few instances gets a superclass, and the property of a chain becomes transitive.
Their cost should be proportional to their consequences, independent of the size of the store.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from benchmarks.changes import Track, drawn, rows_of
from benchmarks.engine import Facts, reason_task
from benchmarks.graphs import PREFIX, named
from benchmarks.measure import Demand, Measurement, Results, Settings, measure
from benchmarks.programs import ADD, REMOVE, RuleTrack, without
from benchmarks.workloads.lubm import files

from corollary.columns import Columns
from corollary.kernels.sorted import Column
from corollary.language.model import OWL, RDF, RDFS
from corollary.profiles import load_profile

NAME = "dynamic"
TITLE = "universities: facts, rules and axioms come and go, followed and from scratch"

SHARES = (1, 50)
"""Percentages of the facts that are removed and added."""

RULES = {
    "rhodf": ("rdfs2", "rdfs7", "rdfs9"),
    "rdfs": ("rdfs2", "rdfs7", "rdfs9"),
    "owl2rl": ("prp-dom", "prp-spo1", "prp-inv1", "prp-trp", "cls-svf1", "cax-sco"),
}
"""Rules that are removed and added, by profile."""

CHAINS = (100, 400)
"""Lengths of the chains that become transitive: the closure of the second has 16 times the facts."""

LEAST_INSTANCES = 100
"""Minimal number of instances of the class that gets a superclass; of such classes, the smallest is taken."""

MOST_AXIOM_MS = 20.0
LEAST_GAIN = 1.0  # as in ``rules``
MOST_GROWTH_WITH_STORE = 2.0


@dataclass(frozen=True, slots=True)
class Universities:
    """Universities: their name in tables, the ontology's number of facts, and all facts, ontology first."""

    size: str
    schema: int
    facts: Facts

    def with_facts(self, subjects: Column, predicate: str, objects: Column) -> Facts:
        """The facts, with more facts appended."""
        p = np.full(subjects.size, self.facts.dictionary.encode(predicate), np.uint32)
        more: Columns = (subjects, p, objects)
        s, p, o = (np.concatenate(both) for both in zip(self.facts.columns, more, strict=True))
        return Facts(self.facts.dictionary, (s, p, o))


def run(settings: Settings) -> Results:
    """Changes of facts, rules and an axiom on ten universities; chains on one and on ten."""
    results = Results()
    chains: dict[int, list[float]] = {length: [] for length in CHAINS}
    numbers = (1,) if settings.small else (1, 10)
    for number in numbers:
        universities = load(settings, number)
        if number == numbers[-1]:
            follow_facts(universities, settings, results)
            follow_rules(universities, settings, results)
            follow_axiom(universities, settings, results)
        for length in CHAINS:
            chains[length].append(sum(m.median for m in chain(universities, length, settings, results)))
    short, long = (chains[length][-1] for length in CHAINS)
    growth = (CHAINS[1] / CHAINS[0]) ** 2
    text = f"transitive and plain again, closure {growth:g} times as large"
    results.demands.append(Demand(NAME, text, long / short, growth))
    if len(numbers) > 1:
        text = f"transitive and plain again, chain of {CHAINS[1]}, ten universities over one"
        value = chains[CHAINS[1]][1] / chains[CHAINS[1]][0]
        results.demands.append(Demand(NAME, text, value, MOST_GROWTH_WITH_STORE))
    return results


def load(settings: Settings, number: int) -> Universities:
    """Load ``number`` universities."""
    with files(settings.corpus, number) as (size, paths):
        ontology = Facts.of_files(paths[:1])
        return Universities(size, ontology.columns[0].size, Facts.of_files(paths))


def follow_facts(universities: Universities, settings: Settings, results: Results) -> None:
    """DYRE's steps: materialise all but a share of the data from scratch, add that share, remove it."""
    facts = universities.facts
    data: Columns = tuple(column[universities.schema :] for column in facts.columns)  # type: ignore[assignment]
    for profile in RULES:
        program = load_profile(profile)
        for share in SHARES:
            size = f"{universities.size}, {profile}"
            number = data[0].size * share // 100
            changes = drawn(data, number, settings.repeat + 1)
            kept = np.random.default_rng(0).random(facts.columns[0].size) >= share / 100
            kept[: universities.schema] = True
            s, p, o = (column[kept] for column in facts.columns)
            scratch = reason_task(Facts(facts.dictionary, (s, p, o)), f"{size}, {100 - share} %", program)
            track = Track(facts, program, changes)
            remove, add, first = measured = measure(
                NAME, [*track.tasks(size, f"{share} %"), scratch], settings.repeat
            )
            results.measurements += measured
            if note := track.note():
                results.notes.append(f"{size}, {share} %: {note}")
            if share == min(SHARES):
                demand_gain(f"{size}: add {share} %", first, add, results)
                demand_gain(f"{size}: remove {share} %", first, remove, results)


def follow_rules(universities: Universities, settings: Settings, results: Results) -> None:
    """Remove and add back single rules."""
    for profile, names in RULES.items():
        program = load_profile(profile)
        size = f"{universities.size}, {profile}"
        for name in names:
            case = RuleTrack(universities.facts, program, without(program, [name])).case(
                NAME, size, name, settings.repeat
            )
            results.measurements += case.measurements
            results.notes += [case.note] if case.note else []
            for what, gain in zip((ADD, REMOVE), case.gains, strict=True):
                text = f"{size}, {what} {name}: from scratch over following"
                results.demands.append(Demand(NAME, text, gain, LEAST_GAIN, at_least=True))


def follow_axiom(universities: Universities, settings: Settings, results: Results) -> None:
    """Add and remove a superclass of a class with few instances."""
    dictionary = universities.facts.dictionary
    types = universities.facts.index().relation(dictionary.encode(f"<{RDF}type>"))
    classes = types.pairs().distinct_seconds()
    instances = types.object_counts(classes)
    few = instances >= LEAST_INSTANCES
    rare = classes[few][np.argmin(instances[few])].reshape(1)
    facts = universities.with_facts(rare, f"<{RDFS}subClassOf>", named(dictionary, "Above", 1))
    what = "a subClassOf axiom"
    for m in follow_last(facts, f"{universities.size}, owl2rl", what, settings, results):
        results.demands.append(Demand(NAME, f"{m.size}: {m.what}", 1000 * m.median, MOST_AXIOM_MS, "ms"))


def chain(universities: Universities, length: int, settings: Settings, results: Results) -> list[Measurement]:
    """Make the property of a chain transitive, and undo it."""
    things = named(universities.facts.dictionary, "Thing", length)
    following = f"<{PREFIX}following>"
    row = replace(universities, facts=universities.with_facts(things[:-1], following, things[1:]))
    names = (following, f"<{OWL}TransitiveProperty>")
    subject, kind = (np.array([universities.facts.dictionary.encode(name)], np.uint32) for name in names)
    facts = row.with_facts(subject, f"<{RDF}type>", kind)
    return follow_last(facts, f"{universities.size}, owl2rl", f"chain of {length}", settings, results)


def follow_last(
    facts: Facts, size: str, what: str, settings: Settings, results: Results
) -> list[Measurement]:
    """Measure removing the last fact, and adding it back."""
    last = rows_of(facts.columns, np.array([facts.columns[0].size - 1]))
    track = Track(facts, load_profile("owl2rl"), [last])
    measured = measure(NAME, track.tasks(size, what), settings.repeat)
    results.measurements += measured
    if note := track.note():
        results.notes.append(f"{size}, {what}: {note}")
    return measured


def demand_gain(text: str, scratch: Measurement, followed: Measurement, results: Results) -> None:
    """Demand that maintenance is not slower than materialising from scratch."""
    text, gain = f"{text}: from scratch over following", scratch.median / followed.median
    results.demands.append(Demand(NAME, text, gain, LEAST_GAIN, at_least=True))
