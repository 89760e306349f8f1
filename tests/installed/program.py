"""A user's program for the type checker: it uses the public modules, and no expression has the type Any."""

from __future__ import annotations

from pathlib import Path

from rdflib import RDF, RDFS, Graph, URIRef

from corollary.generators import GENERATORS, generate
from corollary.language import Program, Rule, format_program, parse_program
from corollary.loaders import BadLine, EncodedDataSet, TermDictionary, load_encoded, read_index, save_encoded
from corollary.profiles import load_profile, load_rules, profile_names
from corollary.reasoner import Reasoner, Snapshot
from corollary.store import CorollaryStore, LimitExceeded, Limits

DOG, ANIMAL, REX = (URIRef(f"http://example.org/{name}") for name in ("Dog", "Animal", "rex"))


def rules() -> tuple[Program, list[str | None]]:
    """A profile, rules of one's own, and the names of both together."""
    program = load_profile("rdfs") + load_rules("owl2rl") + parse_program("")
    rule: Rule = program.rules[0]
    print(rule.name, len(program), format_program(program), *profile_names())
    return program, [rule.name for rule in program]


def store(folder: Path, program: Program) -> int:
    """Loading, reading, maintaining and asking a store for reasons."""
    store = CorollaryStore(rules=program, limits=Limits(seconds=10.0))
    graph = Graph(store=store)
    paths: list[Path] = generate(1, folder, compression=GENERATORS["university"].ontology_name[:0])
    loaded: int = store.load(*paths)
    graph.add((DOG, RDFS.subClassOf, ANIMAL))
    with store.transaction():
        graph.add((REX, RDF.type, DOG))
    try:
        store.materialise()
    except LimitExceeded as error:
        print(error)
    print(store.explain((REX, RDF.type, ANIMAL)))
    for inconsistency in store.inconsistencies():
        print(inconsistency)
    statistics = store.statistics()
    report = store.last_maintenance()
    print(statistics.explicit, report and report.strategy)
    added: Program = store.add_rules("rdfs")
    print(len(added), store.explain_plan(), len(store.explicit()), len(store.inferred()))
    store.remove_rules(added)
    store.close()
    return loaded


def reasoner(program: Program) -> Snapshot:
    """The same without rdflib."""
    reasoner = Reasoner(program, limits="seconds=10")
    reasoner.add(("<urn:rex>", RDF.type.n3(), "<urn:Dog>"))
    with reasoner.transaction():
        reasoner.remove(("<urn:rex>", RDF.type.n3(), "<urn:Dog>"))
    print(reasoner.explain(("<urn:rex>", RDF.type.n3(), "<urn:Animal>")), reasoner.last_maintenance())
    for subject, predicate, value in reasoner.match(None, RDF.type.n3(), None):
        print(subject, predicate, value)
    print(reasoner.inconsistencies(), reasoner.statistics().inferred)
    return reasoner.snapshot()


def files(folder: Path) -> EncodedDataSet:
    """Documents to columns and encoded data sets."""
    dictionary = TermDictionary()
    skipped: list[BadLine] = []
    index = read_index([folder / "university.ttl"], dictionary, skipped=skipped)
    print(len(index), [(line.name, line.line) for line in skipped])
    save_encoded(folder / "encoded", EncodedDataSet(dictionary, index))
    return load_encoded(folder / "encoded")
