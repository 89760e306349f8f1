"""The workloads about changes: their graphs are what they claim, and their tracks follow changes exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from benchmarks import graphs
from benchmarks.changes import ADD, BACKWARD_FORWARD, DRED, REMOVE, START_OVER, Track, drawn, without
from benchmarks.engine import BUILD, ENGINE, REASON, SORT, Facts
from benchmarks.measure import Measurement, Settings, Task
from benchmarks.workloads import lubm, maintenance, modular, transitive
from tests.kernels import twins

from corollary.columns import Columns
from corollary.columns.pairs import firsts, seconds
from corollary.evaluate import materialise
from corollary.language import RDF_TYPE, Program, parse_program
from corollary.maintain import AUTOMATIC, STRATEGIES

SMALL = Settings(repeat=1, peers=False, slow=False, small=True)
CATEGORIES, PLACES = parse_program(graphs.CATEGORIES), parse_program(graphs.PLACES)


@pytest.mark.slow
def test_every_small_case_is_measured_in_every_way() -> None:
    results = modular.run(SMALL)
    ways = {(m.size, m.engine) for m in results.measurements if m.what == REASON}
    sizes = {size for size, _ in ways} - {"chain of 400"}
    assert sizes == {"small DAG-R", "small categories", "small cliques"}
    assert {(size, modular.SEMI_NAIVE) for size in sizes} < ways
    for size in sizes:
        removals = Counter(
            m.engine for m in results.measurements if m.size == size and m.what.startswith(REMOVE)
        )
        assert set(removals.values()) == {2}
        assert len(removals) == 5
    (chain,) = (m for m in results.measurements if m.size == "chain of 400")
    assert chain.facts == 400 * 400
    assert results.demands[-1].holds == (chain.median <= 0.02)
    assert any("LUBM-LE is left out" in note for note in results.notes)


@pytest.mark.slow
def test_single_triples_and_shares_are_measured() -> None:
    results = maintenance.run(SMALL)
    what = [m.what for m in results.measurements if m.engine == ENGINE]
    shares = [f"{change} {percent} %" for percent in (1, 5, 10, 50) for change in (REMOVE, ADD)]
    shares.insert(2, maintenance.FROM_SCRATCH)
    assert what == [maintenance.ADD_ONE, maintenance.REMOVE_ONE, *shares]
    assert not results.demands
    whole = {m.facts for m in results.measurements if m.what.startswith(ADD)}
    assert len(whole) == 1, "what comes back is all that was there"


def cases() -> Iterator[tuple[str, Facts, Program]]:
    above = parse_program(transitive.RULE)
    yield "DAG-R", transitive.generate(30, 90), above
    yield "categories", graphs.categories([60, 8, 8, 8]), CATEGORIES
    yield "cliques", graphs.cliques([12, 5, 3, 3]), PLACES
    yield "chain", graphs.chain_of_places(15), PLACES


every_case = pytest.mark.parametrize(
    ("facts", "program"), [pytest.param(*case, id=name) for name, *case in cases()]
)


@every_case
def test_semi_naive_evaluation_closes_the_same(facts: Facts, program: Program) -> None:
    plain = materialise(facts.index(), program, facts.dictionary, modular=False)
    assert "transitive closure" not in {a.module for a in plain.engine.assignments}
    closed = facts.close(program)
    assert as_lists(plain.index.columns()) == as_lists(closed.index.columns())


def as_lists(columns: Columns) -> list[list[int]]:
    return [column.tolist() for column in columns]


@every_case
@pytest.mark.parametrize("with_modules", [True, False])
@pytest.mark.parametrize("strategy", [AUTOMATIC, *STRATEGIES])
def test_tracks_follow_exactly(facts: Facts, program: Program, strategy: str, with_modules: bool) -> None:
    changes = drawn(facts.columns, 5, 3)
    track = Track(facts, program, changes, strategy, modular=with_modules)
    remove, *add = track.tasks("case", "5")
    forced = strategy in (BACKWARD_FORWARD, DRED)
    assert len(add) == (0 if with_modules and forced else 1)
    for change in changes:
        left = materialise(without(facts.index(), change), program, facts.dictionary)
        assert facts_after(remove) == len(left.index)
        for task in add:
            assert facts_after(task) == len(facts.close(program).index)


def facts_after(task: Task) -> int | None:
    return task.run(task.prepare()).facts


def test_a_note_tells_what_was_used_instead() -> None:
    facts = graphs.chain_of_places(15)
    track = Track(facts, PLACES, drawn(facts.columns, 5, 3), START_OVER)
    remove, *_ = track.tasks("case", "5")
    facts_after(remove)
    assert not track.note()
    track = Track(facts, PLACES, drawn(facts.columns, 5, 3))
    remove, *_ = track.tasks("case", "5")
    facts_after(remove)
    assert track.note().startswith("corollary used ")
    assert track.note().endswith(" 1 times, in 1 turns.")


def test_changes_are_drawn_anew() -> None:
    facts = transitive.generate(30, 90)
    one, other = drawn(facts.columns, 20, 2)
    ((predicate, keys),) = one.items()
    assert (np.diff(keys.astype(np.int64)) > 0).all()
    assert facts.index().relation(predicate).contains(keys).all()
    assert keys.tolist() != other.keys(predicate).tolist()
    assert len(without(facts.index(), one)) == len(facts.index()) - keys.size


def edges(facts: Facts, name: str) -> set[tuple[int, int]]:
    """The pairs that a property joins."""
    keys = facts.index().relation(facts.dictionary.encode(f"<{graphs.PREFIX}{name}>")).pairs().keys
    return set(zip(firsts(keys).tolist(), seconds(keys).tolist(), strict=True))


def test_long_chains_of_categories_have_cycles() -> None:
    facts = graphs.categories([120, 20, 20])
    assert facts.columns[0].size == len(facts.index())
    closed = twins.closure(edges(facts, "broader"))
    lowest = max(node for node, _ in closed)
    sizes = Counter(node for node, _ in closed)
    assert sizes[lowest] == 19, "the last of a short chain is below all others of it"
    turning = {node for node, other in closed if node == other}
    assert len(turning) == 2 * 11
    assert Counter(edges(facts, "inScheme")).total() == 160


def test_cliques_are_connected_places() -> None:
    facts = graphs.cliques([12, 5, 3, 3])
    assert edges(facts, "sees")
    assert edges(facts, "near")
    near = facts.close(PLACES).index.relation(facts.dictionary.encode(f"<{graphs.PREFIX}near>"))
    assert len(near) == 12**2 + 5**2 + 3**2 + 3**2


@pytest.mark.corpus
def test_lubm_le_finds_all_its_terms_in_our_universities(corpus: Path) -> None:
    """Whatever our data state, but for names and interests, the rules in our terms read."""
    text = modular.in_our_terms((corpus / "programs" / "LUBM_LE.dlog").read_text())
    with lubm.files(None, 1) as (_, (_, *paths)):
        facts = Facts.of_files(paths)
    decode = facts.dictionary.decode
    rdf_type = facts.dictionary.encode(f"<{RDF_TYPE.value}>")
    classes = facts.index().relation(rdf_type).pairs().distinct_seconds().tolist()
    terms = {decode(term) for term in (*classes, *facts.index().predicates())} - {decode(rdf_type)}
    unread = {term.rpartition("#")[2].rstrip(">") for term in terms if term not in text}
    assert unread == {"Seminar", "name", "researchInterest"}


def measured(engine: str, what: str, seconds: float, size: str = "ten") -> Measurement:
    return Measurement("test", size, engine, what, (seconds,))


def test_demands_on_the_random_graph() -> None:
    times = {(ENGINE, REASON): 1.0, (ENGINE, BUILD): 0.1, ("numpy", SORT): 0.2}
    removal = f"{REMOVE} 1,000"
    times |= {(ENGINE, removal): 0.9, (ENGINE, f"{ADD} 1,000"): 1.1, ("other", removal): 7.0}
    relative, absolute = [(5.5, True), (0.9, True), (1.1, False)], [(1000, False), (900, False)]
    found = modular.demands([measured(*task, seconds) for task, seconds in times.items()])
    assert [(round(d.value, 2), d.holds) for d in found] == relative + absolute


def test_demands_on_universities() -> None:
    """On the CPU time of the engine's own changes, in milliseconds."""
    times = {
        (ENGINE, f"{REMOVE} 1,000"): 0.06,
        (ENGINE, f"{ADD} 1,000"): 0.01,
        ("other", f"{ADD} 1,000"): 7.0,
    }
    runs = [Measurement("test", "ten", *task, (9.0,), cpu=(seconds,)) for task, seconds in times.items()]
    few, many = modular.change_demands(10, runs), modular.change_demands(100, runs)
    assert [(d.value, d.holds) for d in (*few, *many)] == [(60, False), (10, True), (60, True), (10, True)]


def test_demands_on_single_updates() -> None:
    """On the last size in milliseconds, and against the first."""
    times = {("one", maintenance.ADD_ONE): 0.0005, ("one", maintenance.REMOVE_ONE): 0.001}
    times |= {("ten", maintenance.ADD_ONE): 0.0008, ("ten", maintenance.REMOVE_ONE): 0.003}
    found = maintenance.single_demands([measured(ENGINE, what, s, size) for (size, what), s in times.items()])
    assert [(d.value, d.holds) for d in found] == [(0.8, True), (3, False), (1.6, True), (3, False)]


def test_demands_on_shares() -> None:
    """The smallest share is to be much cheaper than starting over, all others not much dearer."""
    seconds = {1: (0.1, 0.04), 5: (0.4, 0.3), 10: (1.4, 0.6), 50: (1.6, 1.0)}
    times = [
        measured(engine, f"{what} {percent} %", 1.0 if engine == maintenance.MATERIALISE else seconds)
        for percent, both in seconds.items()
        for what, seconds in zip((REMOVE, ADD), both, strict=True)
        for engine in (ENGINE, maintenance.MATERIALISE)
    ]
    times.append(measured(ENGINE, maintenance.FROM_SCRATCH, 0.4))
    found = maintenance.share_demands(times)
    assert [d.holds for d in found] == [True, False, True, True, False, False] + 6 * [True] + [False, True]


def test_a_peer_is_compared_with_single_updates() -> None:
    singles = [measured(ENGINE, "add one triple", 0.001), measured(ENGINE, "add one triple", 0.002, "one")]
    text = maintenance.against(measured("other", REASON, 10), singles)
    assert text == "ten: other starts over; times as long as Corollary needs to add one triple: 10,000."
