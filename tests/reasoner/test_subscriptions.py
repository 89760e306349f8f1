"""Subscriptions: what is reported after each commit is the difference of the states."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from rdflib import RDF, RDFS, Graph, Namespace
from tests.strategies import examples

from corollary.reasoner import FactChanges, Reasoner
from corollary.store import CorollaryStore

TYPE, SUB = f"<{RDF.type}>", f"<{RDFS.subClassOf}>"
A, B, C, X, Y = (f"<urn:{name}>" for name in "abcxy")
EX = Namespace("urn:x:")

CLASSES = (A, B, C)
FACTS = [(c, SUB, d) for c in CLASSES for d in CLASSES] + [(x, TYPE, c) for x in (X, Y) for c in CLASSES]
STEPS = ["add", "add", "remove", "commit", "transaction", "rollback", "read", "compact", "rules"]

steps = st.tuples(st.sampled_from(STEPS), st.sampled_from(FACTS))


class Mirror:
    """The facts that a subscriber knows of."""

    def __init__(self, reasoner: Reasoner) -> None:
        snapshot = reasoner.snapshot()
        self.explicit: set[Any] = set(snapshot.explicit)
        self.inferred: set[Any] = set(snapshot.inferred)
        self.cancel = reasoner.subscribe((None, None, None), self.notify)

    def notify(self, changes: FactChanges) -> None:
        assert changes
        for facts, added, removed in (
            (self.explicit, changes.explicit_added, changes.explicit_removed),
            (self.inferred, changes.inferred_added, changes.inferred_removed),
        ):
            assert not facts & set(added) and set(removed) <= facts
            assert len(set(added)) == len(added) and len(set(removed)) == len(removed)
            facts -= set(removed)
            facts |= set(added)


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(steps, max_size=14))
def test_a_mirror_has_the_facts_of_each_commit(history: list[tuple[str, Any]]) -> None:
    reasoner = Reasoner("rdfs")
    mirror = Mirror(reasoner)
    for step, fact in history:
        match step:
            case "add":
                reasoner.add(fact)
            case "remove":
                reasoner.remove(fact)
            case "read":
                assert (fact in reasoner) in (True, False)
            case "rollback":
                reasoner.rollback()
            case "compact":
                reasoner.compact()
            case "commit":
                reasoner.commit()
            case "rules":
                reasoner.use_rules("rdfs" if len(reasoner.rules()) == 0 else "none")
            case "transaction":
                with reasoner.transaction():
                    reasoner.remove(fact)
                    reasoner.add((X, TYPE, fact[2]))
        if step in ("commit", "compact", "transaction"):
            snapshot = reasoner.snapshot()
            assert mirror.explicit == set(snapshot.explicit) and mirror.inferred == set(snapshot.inferred)


def test_patterns_and_forms() -> None:
    reasoner = Reasoner("rdfs")
    of_x: list[FactChanges] = []
    unknown: list[FactChanges] = []
    cancel = reasoner.subscribe((X, TYPE, None), of_x.append)
    reasoner.subscribe(("<urn:never>", None, None), unknown.append)
    reasoner.add((A, SUB, B), (X, TYPE, A), (Y, TYPE, A))
    assert not of_x
    reasoner.commit()
    (changes,) = of_x
    assert changes.explicit_added == [(X, TYPE, A)]
    assert (X, TYPE, B) in changes.inferred_added and not changes.explicit_removed
    reasoner.add((X, TYPE, B))
    reasoner.commit()
    assert of_x[1] == FactChanges([(X, TYPE, B)], [], [], [(X, TYPE, B)])
    reasoner.remove((Y, TYPE, A))
    reasoner.commit()
    reasoner.commit()
    cancel()
    reasoner.remove((X, TYPE, A))
    reasoner.commit()
    assert len(of_x) == 2 and not unknown


def test_terms_of_rdflib_and_changes_by_a_callback() -> None:
    graph = Graph(CorollaryStore(rules="rdfs"))
    store: Any = graph.store
    seen: list[Any] = []

    def answer(changes: FactChanges) -> None:
        seen.append(changes.explicit_added)
        for subject, _, _ in changes.explicit_added:
            graph.add((subject, EX.seen, EX.yes))
        store.commit()

    store.subscribe((None, RDF.type, None), answer)
    graph.add((EX.tom, RDF.type, EX.Cat))
    store.commit()
    assert seen[0] == [(EX.tom, RDF.type, EX.Cat)] and not any(seen[1:])
    assert (EX.tom, EX.seen, EX.yes) in graph


def test_an_error_of_a_callback_comes_after_the_commit() -> None:
    reasoner = Reasoner("none")

    def fail(changes: FactChanges) -> None:
        raise ValueError("mine")

    reasoner.subscribe((None, None, None), fail)
    with pytest.raises(ValueError, match="mine"), reasoner.transaction():
        reasoner.add((X, TYPE, A))
    reasoner.rollback()
    assert (X, TYPE, A) in reasoner


def test_a_callback_that_commits_leaves_the_order_of_the_others() -> None:
    reasoner = Reasoner("rdfs")

    def take_back(changes: FactChanges) -> None:
        reasoner.remove((X, TYPE, A))
        reasoner.commit()

    reasoner.subscribe((X, TYPE, A), take_back)
    mirror = Mirror(reasoner)
    reasoner.add((X, TYPE, A), (A, SUB, B))
    reasoner.commit()
    snapshot = reasoner.snapshot()
    assert (X, TYPE, A) not in reasoner
    assert mirror.explicit == set(snapshot.explicit) and mirror.inferred == set(snapshot.inferred)


def test_all_are_called_though_some_raise() -> None:
    reasoner = Reasoner("none")
    names = iter("abc")

    def fail(changes: FactChanges) -> None:
        raise ValueError(next(names))

    cancel = reasoner.subscribe((None, None, None), fail)
    mirror = Mirror(reasoner)
    reasoner.add((X, TYPE, A))
    with pytest.raises(ValueError, match="a"):
        reasoner.commit()
    assert mirror.explicit == {(X, TYPE, A)}
    reasoner.subscribe((None, None, None), fail)
    reasoner.add((X, TYPE, B))
    with pytest.raises(ExceptionGroup) as raised:
        reasoner.commit()
    assert list(map(str, raised.value.exceptions)) == ["b", "c"]
    cancel()
    assert mirror.explicit == {(X, TYPE, A), (X, TYPE, B)}


def test_an_interrupted_report_goes_on_with_the_next_commit() -> None:
    reasoner = Reasoner("none")

    def interrupt(changes: FactChanges) -> None:
        cancel()
        raise KeyboardInterrupt

    cancel = reasoner.subscribe((None, None, None), interrupt)
    mirror = Mirror(reasoner)
    reasoner.add((X, TYPE, A))
    with pytest.raises(KeyboardInterrupt):
        reasoner.commit()
    reasoner.remove((X, TYPE, A))
    reasoner.add((X, TYPE, B))
    reasoner.commit()
    assert mirror.explicit == {(X, TYPE, B)}


def test_a_callback_cancels_another_one() -> None:
    reasoner = Reasoner("none")
    seen: list[FactChanges] = []
    reasoner.subscribe((None, None, None), lambda _: cancel())
    cancel = reasoner.subscribe((None, None, None), seen.append)
    reasoner.add((X, TYPE, A))
    reasoner.commit()
    assert not seen
