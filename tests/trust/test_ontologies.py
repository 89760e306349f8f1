"""Random ontologies against the strict oracle: the short form of ``tests.trust.ontologies``."""

from __future__ import annotations

import pytest
from rdflib import OWL, RDFS, XSD, Graph, Literal, Namespace
from tests.strategies import examples
from tests.trust import ontologies

from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")


@pytest.mark.parametrize("program", ["owl2rl", "owl2rl-full"])
def test_what_follows_is_what_the_tables_say(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    """After every step of some histories, facts and clashes; one ontology in ten is about OWL itself."""
    assert not ontologies.main(["--states", str(examples(400)), "--seed", "3", "--program", program]), (
        capsys.readouterr().out
    )


@pytest.mark.parametrize("program", ["owl2rl", "owl2rl-full"])
def test_literals_do_not_keep_themselves_alive(program: str) -> None:
    """Shrunk: what followed from the value of a literal stayed when its last owl:sameAs fact went."""
    for stated, gone in (
        ({(EX.a, EX.p, Literal("5")), (EX.b, OWL.sameAs, Literal("a"))}, (EX.b, OWL.sameAs, Literal("5"))),
        ({(EX.a, EX.p, EX.b)}, (EX.b, OWL.sameAs, Literal("x", datatype=XSD.integer))),
        (
            {(EX.b, EX.p, EX.a), (EX.q, RDFS.subPropertyOf, OWL.sameAs)},
            (EX.a, EX.q, Literal("5", datatype=XSD.double)),
        ),
    ):
        graph, scratch = (Graph(CorollaryStore(rules=program)) for _ in range(2))
        graph += {*stated, gone}
        assert len(graph) > len(stated)
        graph.remove(gone)
        scratch += stated
        assert set(graph) == set(scratch)
        found, wanted = (store.store.inconsistencies() for store in (graph, scratch))  # type: ignore[attr-defined]
        assert found == wanted == []
