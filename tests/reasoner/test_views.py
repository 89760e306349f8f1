"""Views that follow from those of earlier states show what views computed anew show."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rdflib import RDF, RDFS, Dataset, Graph, Literal, Namespace
from tests.strategies import thorough

from corollary.columns.mapped_pairs import PartOfPairs
from corollary.reasoner import state
from corollary.reasoner.state import View
from corollary.sparql.rdf_terms import INFERRED
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")

POOL = [
    (EX.p, RDFS.subPropertyOf, EX.q),
    (EX.p, RDFS.domain, EX.C),
    (EX.q, RDFS.range, EX.D),
    (EX.a, EX.p, Literal("a")),
    (EX.a, EX.p, Literal("b", lang="en")),
    (EX.a, EX.q, Literal("a")),
    (EX.b, EX.q, EX.a),
    (EX.b, EX.p, EX.a),
    (EX.a, RDF.type, EX.C),
    (EX.b, RDF.type, EX.D),
]

GRAPHS = [None, EX.g, EX.h]

steps = st.lists(
    st.tuples(
        st.booleans(),  # whether the views are read
        st.sets(
            st.tuples(st.sampled_from(GRAPHS), st.integers(0, len(POOL) - 1)), max_size=4
        ),  # quads to toggle
    ),
    min_size=1,
    max_size=8,
)


def shown(view: View) -> set[tuple[int, int, int]]:
    return {
        (int(key) >> 32, predicate, int(key) & 0xFFFFFFFF)
        for predicate, relation in view.shown.relations()
        for key in relation.pairs().keys
    }


def test_inferred_facts_are_found_by_predicate() -> None:
    """A query of the inferred graph reads the facts of its predicates, and no others."""
    store = CorollaryStore(rules="rdfs")
    graph = Graph(store)
    graph.add((EX.p, RDFS.subPropertyOf, EX.q))
    graph.add((EX.p, RDFS.subPropertyOf, EX.r))
    for fact in ((EX.b, EX.p, EX.c), (EX.c, EX.q, EX.a), (EX.c, EX.r, EX.a)):
        graph.add(fact)
    query = f"SELECT ?s ?o {{ GRAPH <{INFERRED}> {{ ?s <{EX.q}> ?o }} }}"
    assert list(graph.query(query)) == [(EX.b, EX.c)]
    version = store.reasoner.settled()
    view, terms = version.state.inferred, version.terms
    pairs = {terms[p]: relation.parts[0] for p, relation in view.shown.relations()}
    late = {p: one for p, one in pairs.items() if isinstance(one, PartOfPairs)}
    assert [p for p, one in late.items() if _has_keys(one)] == [EX.q]
    assert late.keys() == {EX.q, EX.r}
    assert len(view) == len(set(view.match(None, None, None))) == len(shown(view))


def _has_keys(pairs: PartOfPairs) -> bool:
    try:
        object.__getattribute__(pairs, "keys")
    except AttributeError:
        return False
    return True


@thorough(150)
@given(steps, st.booleans(), st.sampled_from(["rdfs", "owl2rl"]))
@example([(True, {(None, 3), (EX.g, 3)}), (True, {(None, 3)}), (True, {(EX.g, 3)})], False, "rdfs")
def test_views_follow(
    steps: list[tuple[bool, set[tuple[Namespace | None, int]]]], few: bool, rules: str
) -> None:
    """``few``: facts without a common base are never compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, "MAX_FACTS_COMPARED", 0 if few else 1 << 13)
        dataset = Dataset(CorollaryStore(rules=rules))
        present: set[tuple[object, int]] = set()
        for is_read, toggled in steps:
            for name, number in sorted(toggled, key=str):
                graph = dataset.default_graph if name is None else dataset.graph(name)
                if (name, number) in present:
                    graph.remove(POOL[number])
                else:
                    graph.add(POOL[number])
                present ^= {(name, number)}
            version = dataset.store.reasoner.settled()  # type: ignore[attr-defined]
            if is_read:
                now = version.state
                ids = [version.terms.default, *now.facts.graphs]
                for view in (now.everything, *map(now.home, ids)):
                    fresh = View(view.index, view.explicit, view.union)
                    assert shown(view) == shown(fresh)
                result = now.materialisation
                assert result is not None
                inferred = result.inferred()
                assert shown(now.inferred) == shown(View(inferred, inferred))
                assert set(now.inferred.match(None, None, None)) == shown(now.inferred)
                assert len(now.inferred) == len(shown(now.inferred))
