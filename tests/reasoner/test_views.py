"""Views that follow from those of earlier states show what views computed anew show."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rdflib import RDF, RDFS, Dataset, Literal, Namespace
from tests.strategies import thorough

from corollary.reasoner import state
from corollary.reasoner.state import View
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
