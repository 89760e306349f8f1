"""Folders that keep what follows: checkpoints, the journal after them, and every state between the two."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread, Timer
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import OWL, RDF, RDFS, Graph, Literal, Namespace, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from tests.folders import changed
from tests.strategies import examples
from tests.trust.operations import BEGUN, NAMED, NEW, PROGRAMS, check_closure, crash, seen

from corollary.columns.column_file import ColumnFile
from corollary.language import CorollaryError, parse_program
from corollary.profiles import load_profile
from corollary.reasoner import checkpoints, deriving, folder, journal
from corollary.reasoner.closed_under import ClosedUnder
from corollary.reasoner.folder_place import DATABASE
from corollary.reasoner.options import Options
from corollary.reasoner.snapshot_file import write_snapshot
from corollary.store import CorollaryStore, SuspendedRuleWarning

EX = Namespace("http://example.org/")


def tuned(least: int = 0, **constants: int) -> Any:
    """Checkpoints from ``least`` facts on, and other constants changed."""
    return changed(MIN_FACTS_TO_CHECKPOINT=least, **constants)


NEVER = 1 << 60

subjects = st.sampled_from((EX.a, EX.b, EX.c, EX.Dog))
triples = st.one_of(
    st.tuples(subjects, st.sampled_from((EX.over, EX["is"], EX.owns, EX.p)), subjects),
    st.tuples(subjects, st.sampled_from((RDF.type, RDFS.subClassOf)), st.sampled_from((EX.Dog, EX.Animal))),
    st.tuples(st.just(EX.owns), st.just(RDFS.subPropertyOf), st.just(EX.p)),
    st.tuples(subjects, st.just(EX.p), st.integers(0, 3).map(Literal)),
)
graphs = st.sampled_from((DATASET_DEFAULT_GRAPH_ID, EX.g, EX.h))
steps = st.one_of(
    st.tuples(st.just("add"), st.lists(triples, min_size=1, max_size=4), graphs),
    st.tuples(st.just("add"), st.lists(triples, min_size=1, max_size=4), graphs),
    st.tuples(st.just("remove"), triples, graphs),
    st.tuples(st.just("remove graph"), st.sampled_from((EX.g, EX.h))),
    st.tuples(st.just("add graph"), st.sampled_from((EX.g, EX.h, EX.i))),
    st.tuples(st.sampled_from(("read", "commit", "checkpoint", "reopen", "crash", "compact", "look"))),
    st.tuples(st.just("rules"), st.sampled_from(("rhodf", "strata"))),
)


def opened(place: Path, rules: Any = "rhodf", **options: Any) -> CorollaryStore:
    store = CorollaryStore(rules=rules)
    store.open(str(place), create=not options, **options)
    return store


def settle(store: CorollaryStore) -> None:
    """Wait for a snapshot in the background."""
    store.reasoner.versions.persistence().settle()  # type: ignore[union-attr]


def facts_of(store: CorollaryStore) -> set[Any]:
    """All triples, explicit and inferred."""
    return {triple for triple, _ in store.triples((None, None, None))}


def change(store: CorollaryStore, verb: str, *what: Any) -> None:
    match verb, *what:
        case "add", facts, graph:
            store.addN((*fact, Graph(store, graph)) for fact in facts)
        case "remove", fact, graph:
            store.remove(fact, Graph(store, graph))
        case "remove graph", name:
            store.remove_graph(Graph(store, name))
        case "add graph", name:
            store.add_graph(Graph(store, name))
        case "read", *_:
            check_closure(seen(store))
        case "commit" | "checkpoint" | "compact", *_:
            getattr(store, verb)()


@given(st.lists(steps, max_size=30), st.sampled_from((1, 4, 1 << 30)))
@settings(max_examples=examples(100), deadline=None)
def test_any_sequence_with_checkpoints_is_kept(script: list[tuple[Any, ...]], least: int) -> None:
    sizes = {"MIN_FACTS_PER_FACT_AFTER_CHECKPOINT": 1, "MIN_FACTS_PER_FACT_LEFT_AT_CLOSE": least}
    with (
        tempfile.TemporaryDirectory() as name,
        tuned(MAX_BYTES_PER_ROW=64, MIN_ROWS_TO_REWRITE=8, **sizes),
    ):
        place, rules = Path(name) / "store", "rhodf"
        store, twin = opened(place, PROGRAMS[rules]), CorollaryStore(rules=PROGRAMS[rules])
        store.commit()
        twin.commit()
        for verb, *what in [*script, ("reopen",)]:
            if verb in ("crash", "look"):
                crash(store)
                twin.rollback()
            elif verb in ("reopen", "rules"):
                store.close()
                twin.commit()
            else:
                change(store, verb, *what)
                change(twin, "commit" if verb == "checkpoint" else verb, *what)
            if verb == "rules":
                rules = what[0]
                twin.use_rules(PROGRAMS[rules])
                twin.commit()
            if verb == "look":
                store = opened(place, PROGRAMS[rules], read_only=True)
                assert seen(store) == seen(twin)
                store.close()
            if verb in ("crash", "look", "reopen", "rules"):
                store = opened(place, PROGRAMS[rules])
            assert seen(store) == seen(twin)
        check_closure(seen(store))
        verification = store.verify()
        assert verification.is_sound, str(verification)
        store.close()
        assert len(list(place.iterdir())) <= 3  # database, snapshot, SQLite's journal


def filled(place: Path, rules: Any = "rdfs") -> CorollaryStore:
    """A store with a checkpoint and one commit after it, open."""
    store = opened(place, rules)
    graph = Graph(store, EX.g)
    graph.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    for n in range(60):
        graph.add((EX[f"dog{n}"], RDF.type, EX.Dog))
    store.checkpoint()
    graph.add((EX.rex, RDF.type, EX.Dog))
    graph.remove((EX.dog0, RDF.type, EX.Dog))
    store.commit()
    return store


def animals(store: CorollaryStore) -> set[Any]:
    return {s for (s, _, _), _ in store.triples((None, RDF.type, EX.Animal), None)}


ANIMALS = {EX.rex, *(EX[f"dog{n}"] for n in range(1, 60))}


@contextmanager
def no_reasoning() -> Iterator[None]:
    def refuse(*_: Any) -> None:
        raise AssertionError("reasoned")

    with patch.object(deriving, "materialise", refuse):
        yield


def test_nothing_is_derived_again(tmp_path: Path) -> None:
    crash(filled(tmp_path))
    assert sorted(file.name for file in tmp_path.glob("*.snapshot")) == ["facts-2.snapshot"]
    with no_reasoning(), patch.object(folder, "read_all", side_effect=AssertionError("read everything")):
        store = opened(tmp_path, "rdfs")
        assert animals(store) == ANIMALS
        Graph(store, EX.g).add((EX.tom, RDF.type, EX.Dog))
        Graph(store, EX.g).remove((EX.dog1, RDF.type, EX.Dog))
        assert animals(store) == (ANIMALS | {EX.tom}) - {EX.dog1}
        store.close()
        assert animals(opened(tmp_path, "rdfs")) == (ANIMALS | {EX.tom}) - {EX.dog1}


def test_other_rules_derive_from_the_explicit_facts(tmp_path: Path) -> None:
    filled(tmp_path).close()
    for rules in ("none", "rhodf", "owl2rl", "rdfs"):
        store = opened(tmp_path, rules)
        assert animals(store) == (set() if rules == "none" else ANIMALS)
        assert store.verify().is_sound
        store.close()


def test_suspended_rules_are_derived_again(tmp_path: Path) -> None:
    ok = "PREFIX : <http://example.org/> :ok[?x, ?y] :- :p[?x, ?y], NOT :bad[?x, ?y] ."
    rules = [load_profile("rhodf"), parse_program(ok)]
    before = None
    for _ in range(3):
        store = opened(tmp_path, rules)
        Graph(store, EX.g).add((EX.a, EX.p, EX.b))
        Graph(store, EX.g).add((EX.ok, RDFS.subPropertyOf, EX.bad))
        with pytest.warns(SuspendedRuleWarning):
            len(store)
        store.checkpoint()
        assert before in (None, seen(store))
        before = seen(store)
        store.close()


def test_who_reads_only_uses_the_snapshot_and_changes_nothing(tmp_path: Path) -> None:
    filled(tmp_path).close()
    (tmp_path / ".facts-9.snapshot.1.part").write_bytes(b"rest")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with no_reasoning():
        stores = [opened(tmp_path, "rdfs", read_only=True) for _ in range(2)]
        for store in stores:
            assert animals(store) == ANIMALS
            with pytest.raises(CorollaryError, match="read only"):
                store.checkpoint()
            store.close()
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


# Under other rules


def inferred_by(place: Path, rules: Any) -> set[Any]:
    """What a store infers that has read the explicit triples of a folder, and no snapshot."""
    with patch.object(folder, "mapped", lambda *_: None):
        store = opened(place, rules, read_only=True)
    return facts_of(store)


def test_one_more_rule_is_followed(tmp_path: Path) -> None:
    crash(filled(tmp_path))
    rules = ["rdfs", parse_program(f"[?x, <{EX.barks}>, true] :- [?x, a, <{EX.Dog}>] .")]
    with no_reasoning():
        store = opened(tmp_path, rules)
        assert (EX.rex, EX.barks, Literal(True)) in facts_of(store)
        assert (EX.dog0, EX.barks, Literal(True)) not in facts_of(store)
        store.close()
    expected = inferred_by(tmp_path, rules)
    with no_reasoning():
        store = opened(tmp_path, "rdfs")
        assert animals(store) == (ANIMALS | {EX.rex}) - {EX.dog0}
        store.close()
    with no_reasoning():
        assert facts_of(opened(tmp_path, rules)) == expected


RULES = {**PROGRAMS, "rdfs": "rdfs", "rdfs-plus": "rdfs-plus", "none": "none"}


@pytest.mark.parametrize("after", RULES)
@pytest.mark.parametrize("before", RULES)
def test_a_folder_is_opened_under_other_rules(tmp_path: Path, before: str, after: str) -> None:
    store = opened(tmp_path, RULES[before])
    graph = Graph(store, EX.g)
    for triple in (*BEGUN, *NAMED, *NEW, (EX.over, RDF.type, OWL.TransitiveProperty)):
        graph.add(triple)
    len(store)
    store.checkpoint()
    graph.remove((EX.b, EX.over, EX.c))
    store.commit()
    crash(store)
    expected = inferred_by(tmp_path, RULES[after])
    store = opened(tmp_path, RULES[after])
    assert facts_of(store) == expected
    assert store.verify().is_sound
    store.close()


def test_a_stored_program_that_is_not_the_recorded_one_is_not_used(tmp_path: Path) -> None:
    for text in ("[?x, <urn:p>, ?y] :- [?y, <urn:p>, ?x] .", "no rule at all", "", None):
        closed = ClosedUnder("0" * 64, "rules", None, text=text)
        assert closed.program(Options("rdfs")) is None


# When


def test_checkpoints_that_are_not_asked_for(tmp_path: Path) -> None:
    with tuned(100):
        store = opened(tmp_path, "none")
        graph = Graph(store, EX.g)

        def commit(number: int) -> list[str]:
            for n in range(number):
                graph.add((EX[f"s{len(graph)}"], EX.p, EX[f"o{n}"]))
            store.commit()
            settle(store)
            return sorted(file.name for file in tmp_path.glob("*.snapshot"))

        assert commit(10) == []
        assert commit(190) == ["facts-3.snapshot"]
        assert commit(1) == ["facts-3.snapshot"]
        assert commit(200) == ["facts-6.snapshot"]
        commit(20)
        store.close()
        assert [file.name for file in tmp_path.glob("*.snapshot")] == ["facts-8.snapshot"]
        content = (tmp_path / DATABASE).read_bytes()
        store = opened(tmp_path, "none")
        store.close()
        assert (tmp_path / DATABASE).read_bytes() == content


@contextmanager
def held_up(store: CorollaryStore) -> Iterator[Callable[[], None]]:
    """Commits, and holds the snapshot up that is due. Yields a function that writes it, and waits for it."""
    begun, go_on = Event(), Event()
    place: Any = store.reasoner.versions.persistence()

    def waiting(*arguments: Any) -> int:
        begun.set()
        assert go_on.wait(60)
        return write_snapshot(*arguments)

    def written() -> None:
        go_on.set()
        place.settle()

    with tuned(), patch.object(folder, "write_snapshot", waiting):
        try:
            store.commit()
            assert begun.wait(60)
            yield written
        finally:
            go_on.set()


def check_reopened(store: CorollaryStore, place: Path) -> None:
    """The folder has what the store has, which is killed."""
    expected = facts_of(store)
    crash(store)
    store = opened(place, "rdfs")
    assert facts_of(store) == expected
    assert store.verify().is_sound
    store.close()


def test_commits_go_on_while_a_snapshot_is_written(tmp_path: Path) -> None:
    store = opened(tmp_path, "rdfs")
    graph = Graph(store, EX.g)
    graph.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    graph.add((EX.rex, RDF.type, EX.Dog))
    with held_up(store) as written:
        graph.add((EX.tom, RDF.type, EX.Dog))
        graph.remove((EX.rex, RDF.type, EX.Dog))
        store.commit()
        graph.add((EX.max, EX.name, Literal("a new term")))
        store.commit()
        assert not list(tmp_path.glob("facts-*.snapshot"))
        written()
        assert len(list(tmp_path.glob("facts-*.snapshot"))) == 1
    with no_reasoning():
        check_reopened(store, tmp_path)


def test_a_snapshot_of_rows_that_were_replaced_meanwhile_is_not_recorded(tmp_path: Path) -> None:
    store = opened(tmp_path, "rdfs")
    graph = Graph(store, EX.g)
    graph.add((EX.rex, RDF.type, EX.Dog))
    graph.add((EX.other, EX.p, EX.unused))
    with held_up(store) as written:
        graph.remove((EX.other, EX.p, EX.unused))
        with tuned(NEVER):
            assert store.compact()
        written()
    assert not list(tmp_path.glob("*facts-*"))
    check_reopened(store, tmp_path)


def test_a_lack_of_memory_in_the_background_is_a_warning(tmp_path: Path) -> None:
    store = opened(tmp_path, "rdfs")
    Graph(store, EX.g).add((EX.rex, RDF.type, EX.Dog))
    with tuned(), patch.object(folder, "write_snapshot", side_effect=MemoryError("too much")):
        store.commit()
        settle(store)
        with pytest.warns(UserWarning, match="not enough memory .too much."):
            store.commit()
        settle(store)
    crash(store)
    store = opened(tmp_path, "rdfs")
    assert (EX.rex, RDF.type, EX.Dog) in facts_of(store)
    store.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("can't start new thread")])
def test_a_thread_that_does_not_start_leaves_the_folder_usable(tmp_path: Path, error: BaseException) -> None:
    """Found: the store could not be closed, and its thread could open no other folder."""
    store = opened(tmp_path, "rdfs")
    Graph(store, EX.g).add((EX.rex, RDF.type, EX.Dog))
    noticed: Any = pytest.raises(KeyboardInterrupt)
    if isinstance(error, RuntimeError):
        noticed = pytest.warns(UserWarning, match="new thread")
    with tuned(), patch.object(Thread, "start", side_effect=error), noticed:
        store.commit()
    store.close()
    store = opened(tmp_path, "rdfs")
    assert (EX.rex, RDF.type, EX.Dog) in facts_of(store)
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")
def test_a_fork_while_a_snapshot_is_recorded_is_refused(tmp_path: Path) -> None:
    """Found: the child waited for a lock that a thread of its parent holds."""
    store = opened(tmp_path, "rdfs")
    Graph(store, EX.g).add((EX.rex, RDF.type, EX.Dog))
    store.commit()
    kept: Any = store.reasoner.versions.persistence()
    taken, let_go = Event(), Event()

    def hold() -> None:
        with kept._busy:
            taken.set()
            let_go.wait(60)

    holder = Thread(target=hold)
    holder.start()
    assert taken.wait(60)
    child = os.fork()
    if not child:
        signal.alarm(20)
        refused = 0
        for step in (store.commit, store.checkpoint):
            try:
                Graph(store, EX.g).add((EX.tom, RDF.type, EX.Dog))
                step()
            except CorollaryError as error:
                refused += "parent of this process" in str(error)
        os._exit(0 if refused == 2 else 1)
    status = os.waitpid(child, 0)[1]
    let_go.set()
    holder.join()
    assert status == 0
    store.close()


def test_closing_waits_for_the_snapshot(tmp_path: Path) -> None:
    store = opened(tmp_path, "rdfs")
    Graph(store, EX.g).add((EX.rex, RDF.type, EX.Dog))
    with held_up(store) as written:
        Timer(0.2, written).start()
        store.close()
    assert len(list(tmp_path.glob("facts-*.snapshot"))) == 1


def test_what_was_never_derived_is_not_kept(tmp_path: Path) -> None:
    with tuned():
        store = opened(tmp_path, "rdfs")
        Graph(store, EX.g).add((EX.rex, RDF.type, EX.Dog))
        with no_reasoning():
            store.close()
        assert not list(tmp_path.glob("*.snapshot"))
        store = opened(tmp_path, "rdfs")
        assert len(store)
        store.close()
        assert len(list(tmp_path.glob("*.snapshot"))) == 1


def test_a_saved_store_has_a_snapshot(tmp_path: Path) -> None:
    store = CorollaryStore(rules="rdfs")
    Graph(store, EX.g).add((EX.rex, RDF.type, EX.Dog))
    with tuned():
        len(store)
        store.save(tmp_path / "store")
    assert list((tmp_path / "store").glob("*.snapshot"))


def test_where_no_checkpoint_is_made(tmp_path: Path) -> None:
    store = CorollaryStore(rules="rdfs")
    with pytest.raises(CorollaryError, match="open one first"):
        store.checkpoint()
    store.open(str(tmp_path), create=True)
    with pytest.raises(CorollaryError, match="inside a transaction"), store.transaction():
        store.checkpoint()


def test_rows_that_are_rewritten_are_in_no_checkpoint(tmp_path: Path) -> None:
    store = filled(tmp_path)
    graph = Graph(store, EX.g)
    with tuned(NEVER, MIN_ROWS_TO_REWRITE=0, ROW_COST_IN_FACTS=1):
        for n in range(200):
            graph.add((EX[f"s{n}"], EX.p, EX.o))
            store.commit()
            graph.remove((EX[f"s{n}"], EX.p, EX.o))
        store.close()
        store = opened(tmp_path, "rdfs")
        assert not list(tmp_path.glob("*.snapshot"))
        assert animals(store) == ANIMALS
        store.close()


def test_a_folder_without_checkpoints_is_of_the_former_format_until_the_first(tmp_path: Path) -> None:
    with patch.object(journal, "FORMAT_VERSION", 2), tuned(NEVER):
        store = opened(tmp_path, "rdfs")
        Graph(store, EX.g).add((EX.rex, RDF.type, EX.Dog))
        store.close()
    with sqlite3.connect(tmp_path / DATABASE) as database:
        database.execute("PRAGMA user_version = 2")
    database.close()

    def version() -> int:
        return int.from_bytes((tmp_path / DATABASE).read_bytes()[60:64])

    store = opened(tmp_path, "rdfs")
    assert set(store.triples((EX.rex, None, None), Graph(store, EX.g)))
    assert version() == 2
    store.checkpoint()
    store.close()
    assert version() == 3


# Torn, damaged, foreign


def test_a_checkpoint_that_fails_leaves_the_former_one(tmp_path: Path) -> None:
    store = filled(tmp_path)
    full = sqlite3.OperationalError("disk is full")
    with (
        patch.object(journal.Journal, "describe", side_effect=full),
        pytest.raises(CorollaryError, match="disk is full"),
    ):
        store.checkpoint()
    assert [file.name for file in tmp_path.glob("facts*")] == ["facts-2.snapshot"]
    store.close()
    with no_reasoning():
        store = opened(tmp_path, "rdfs")
        assert animals(store) == ANIMALS
        store.checkpoint()
        store.close()


def test_a_commit_outlives_its_checkpoint(tmp_path: Path) -> None:
    store = opened(tmp_path, "rdfs")
    Graph(store, EX.g).add((EX.rex, RDF.type, EX.Dog))
    full = OSError(28, "No space left on device")
    with (
        tuned(),
        patch("corollary.columns.column_file.os.fsync", side_effect=full),
    ):
        store.commit()
        settle(store)
        with pytest.warns(UserWarning, match="which has all commits.*No space left"):
            store.commit()
        settle(store)
    crash(store)
    assert [file.name for file in tmp_path.iterdir() if "snapshot" in file.name] == []
    store = opened(tmp_path, "rdfs")
    assert set(store.triples((EX.rex, None, None), Graph(store, EX.g)))


def test_what_a_crash_leaves_is_removed(tmp_path: Path) -> None:
    crash(filled(tmp_path))
    shutil.copy(tmp_path / "facts-2.snapshot", tmp_path / "facts-4.snapshot")  # renamed, and not recorded
    shutil.copy(tmp_path / "facts-2.snapshot", tmp_path / "facts-1.snapshot")  # replaced, and not removed
    (tmp_path / ".facts-4.snapshot.77.part").write_bytes(b"rest")
    (tmp_path / "facts-notes.txt").write_text("mine")
    store = opened(tmp_path, "rdfs")
    assert {file.name for file in tmp_path.glob("*facts*")} == {"facts-2.snapshot", "facts-notes.txt"}
    assert animals(store) == ANIMALS
    store.destroy(str(tmp_path))
    assert [file.name for file in tmp_path.iterdir()] == ["facts-notes.txt"]


def flipped(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("how", ["header", "directory", "cut off", "another", "missing"])
def test_a_snapshot_that_cannot_be_used_is_not(how: str, tmp_path: Path) -> None:
    filled(tmp_path / "one").close()
    file = tmp_path / "one" / "facts-2.snapshot"
    match how:
        case "header":
            flipped(file, 20)
        case "directory":
            flipped(file, file.stat().st_size - 5)
        case "cut off":
            file.write_bytes(file.read_bytes()[:5000])
        case "another":
            store = filled(tmp_path / "two", "rhodf")
            store.close()
            shutil.copy(tmp_path / "two" / "facts-2.snapshot", file)
        case "missing":
            file.unlink()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        store = opened(tmp_path / "one", "rdfs")
    texts = [str(warning.message) for warning in caught if warning.category is UserWarning]
    assert len(texts) == (how != "missing") and all("what follows is derived again" in text for text in texts)
    assert animals(store) == ANIMALS
    store.checkpoint()
    store.close()
    with no_reasoning():
        assert animals(opened(tmp_path / "one", "rdfs")) == ANIMALS


@pytest.mark.filterwarnings("ignore:the journal is read")
@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_snapshot_that_was_lost_is_written_again(is_damaged: bool, tmp_path: Path) -> None:
    filled(tmp_path).close()
    (file,) = tmp_path.glob("*.snapshot")
    if is_damaged:
        flipped(file, 20)
    else:
        file.unlink()
    with tuned():
        store = opened(tmp_path, "rdfs")
        assert not file.exists() and animals(store) == ANIMALS
        store.close()
    assert len(list(tmp_path.glob("*.snapshot"))) == 1
    with no_reasoning():
        assert animals(opened(tmp_path, "rdfs")) == ANIMALS


def test_damage_that_is_met_later_names_the_remedy(tmp_path: Path) -> None:
    store = filled(tmp_path)
    store.addN((EX.rex, EX.p, Literal(f"{n}" * 90), Graph(store, EX.g)) for n in range(2000))
    store.checkpoint()
    store.close()
    (file,) = tmp_path.glob("*.snapshot")
    flipped(file, ColumnFile(file).section("terms.literal.texts", "u1").offset + 400_000)
    store = opened(tmp_path, "rdfs")
    assert animals(store) == ANIMALS
    with pytest.raises(CorollaryError, match="remove this file, and open the folder again"):
        seen(store)
    store.close(discard=True)
    file.unlink()
    store = opened(tmp_path, "rdfs")
    assert animals(store) == ANIMALS
    assert len(list(store.triples((EX.rex, EX.p, None), None))) == 2000


def test_verify_checks_the_snapshot_too(tmp_path: Path) -> None:
    store = filled(tmp_path)
    assert store.verify().is_sound
    flipped(tmp_path / "facts-2.snapshot", 4096 + 64)
    assert "facts-2.snapshot is damaged" in str(store.verify())
    assert checkpoints.REMEDY in str(store.verify())


def test_ids_of_terms_stay(tmp_path: Path) -> None:
    """Terms that only queries and rules know are in the snapshot, and are stored with it."""
    store = opened(tmp_path, "rdfs")
    graph = Graph(store, EX.g)
    graph.add((EX.rex, RDF.type, EX.Dog))
    store.commit()
    graph.add((EX.only, EX.here, EX.once))
    graph.remove((EX.only, EX.here, EX.once))
    store.checkpoint()
    graph.add((EX.later, EX.p, Literal("new")))
    store.commit()
    crash(store)
    found = []
    for _ in range(2):
        store = opened(tmp_path, "rdfs")
        found.append(seen(store))
        assert store.verify().is_sound
        store.close()
        (tmp_path / "facts-3.snapshot").unlink(missing_ok=True)
    assert found[0] == found[1]
    assert (URIRef(EX.later), EX.p, Literal("new"), EX.g) in found[0][0]


@pytest.mark.parametrize("has_checkpoint", [False, True])
def test_the_share_of_the_journal_that_is_read_is_known(tmp_path: Path, *, has_checkpoint: bool) -> None:
    """Of the rows after the last checkpoint; so bars show the time left."""
    with tuned(NEVER):
        store = opened(tmp_path, "rdfs")
        store.add((EX.Dog, RDFS.subClassOf, EX.Animal), Graph(store))
        store.commit()
        if has_checkpoint:
            store.checkpoint()
        for n in range(3):
            store.addN([(EX[f"dog{n}/{m}"], RDF.type, EX.Dog, Graph(store)) for m in range(10)])
            store.commit()
        store.close()
    calls: list[tuple[str, int, float | None]] = []
    reader = CorollaryStore(rules="rdfs")
    reader.open(f"{tmp_path};read_only=yes", progress=lambda *call: calls.append(call))
    texts, facts, shares = zip(*calls, strict=True)
    assert set(texts) == {"reading the journal"}
    assert facts[-1] == 30 + (not has_checkpoint)
    assert list(shares) == sorted(shares) and 0 < shares[0] < shares[-1] == 1
    animals = {(EX[f"dog{n}/{m}"], RDF.type, EX.Animal) for n in range(3) for m in range(10)}
    assert animals <= facts_of(reader)
