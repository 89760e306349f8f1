"""A store that reads a folder, or a snapshot, follows what another one writes: ``refresh``."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import RDF, RDFS, Graph, Literal
from tests.store.test_checkpoints import EX, NEVER, change, facts_of, opened, settle, steps, tuned
from tests.strategies import examples
from tests.trust.operations import PROGRAMS, check_closure, crash, seen

from corollary.language import CorollaryError
from corollary.reasoner import opening
from corollary.store import CorollaryStore

ANIMAL = (EX.rex, RDF.type, EX.Animal)


def reading(place: Path, rules: Any = "rdfs") -> CorollaryStore:
    """A reader, also beside a writer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return opened(place, rules, read_only=True)


def store_of(graph: Graph) -> CorollaryStore:
    assert isinstance(graph.store, CorollaryStore)
    return graph.store


def written(place: Path) -> Graph:
    """A folder with a class of animals, open for writing, with a checkpoint."""
    graph = Graph(store="Corollary")
    graph.open(f"{place};rules=rdfs", create=True)
    graph.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    store_of(graph).checkpoint()
    return graph


@given(st.lists(steps, max_size=25), st.sampled_from((1, NEVER)))
@settings(max_examples=examples(60), deadline=None)
def test_a_refreshed_reader_shows_what_a_new_one_shows(script: list[tuple[Any, ...]], least: int) -> None:
    """Beside a writer and after it, with checkpoints and without, whatever was written, and compacted."""
    rules = PROGRAMS["rhodf"]
    with tempfile.TemporaryDirectory() as name, tuned(MIN_FACTS_PER_FACT_LEFT_AT_CLOSE=least):
        place = Path(name) / "store"
        store = opened(place, rules)
        store.checkpoint()
        reader = reading(place, rules)
        for verb, *what in [*script, ("reopen",)]:
            if verb in ("crash", "look", "reopen", "rules"):
                crash(store) if verb == "crash" else store.close()
            else:
                change(store, verb, *what)
                settle(store)  # a checkpoint in the background would come between two looks
            if verb in ("crash", "look", "reopen", "rules", "checkpoint", "commit"):
                reader.refresh()
                fresh = reading(place, rules)
                assert seen(reader) == seen(fresh)
                assert facts_of(reader) == facts_of(fresh)
                check_closure(seen(reader))
                assert reader.refresh() is False
                fresh.close()
            if verb in ("crash", "look", "reopen", "rules"):
                store = opened(place, rules)
        reader.close()
        store.close()


def test_graphs_of_the_program_stay_what_they_are(tmp_path: Path) -> None:
    """Handles, the nameless graph, prefixes of the reader; an iteration goes on with what it reads."""
    graph = written(tmp_path)
    reader = Graph(store="Corollary")
    with pytest.warns(UserWarning, match="open for writing"):
        reader.open(f"{tmp_path};rules=rdfs;read_only=yes")
    named = Graph(reader.store, EX.g)
    reader.bind("mine", "http://mine/")
    before, running = set(reader), iter(reader)
    first = next(running)
    graph.add((EX.rex, RDF.type, EX.Dog))
    store_of(graph).addN([(EX.a, EX.p, Literal(f"text {n}"), Graph(graph.store, EX.g)) for n in range(300)])
    graph.commit()
    assert not store_of(reader).refresh() or ANIMAL not in reader, "beside a writer, its checkpoints are read"
    store_of(graph).checkpoint()
    assert store_of(reader).refresh()
    assert ANIMAL in reader and len(named) == 300
    assert {first, *running} == before and ANIMAL not in before
    assert list(reader.query("ASK { mine:x ?p ?o }")) == [False]
    with pytest.raises(CorollaryError, match="read only"):
        reader.add((EX.rex, EX.p, EX.rex))
    graph.remove((EX.rex, RDF.type, EX.Dog))
    graph.close()
    assert store_of(reader).refresh() and ANIMAL not in reader
    assert not store_of(reader).refresh()
    assert store_of(reader).verify().is_sound
    reader.close()


WRITER = """
import sys
from rdflib import RDF, Graph, URIRef

graph = Graph(store="Corollary")
graph.open(f"{sys.argv[1]};rules=rdfs")
for line in sys.stdin:
    graph.add((URIRef("http://example.org/rex"), RDF.type, URIRef("http://example.org/Dog")))
    graph.store.checkpoint()
    print("done", flush=True)
"""


def test_a_writer_in_another_process_is_followed(tmp_path: Path) -> None:
    written(tmp_path).close()
    reader = reading(tmp_path)
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"
        assert ANIMAL not in facts_of(reader)
        assert reader.refresh()
        assert ANIMAL in facts_of(reader)
        process.stdin.close()
    assert process.returncode == 0
    reader.close()


def test_a_snapshot_that_is_replaced_is_followed(tmp_path: Path) -> None:
    graph, place = written(tmp_path / "folder"), tmp_path / "x.snapshot"
    store_of(graph).save_snapshot(place)
    reader = reading(place)
    assert not reader.refresh()
    graph.add((EX.rex, RDF.type, EX.Dog))
    store_of(graph).save_snapshot(place)
    assert reader.refresh() and ANIMAL in facts_of(reader)
    place.write_bytes(place.read_bytes()[:5000])
    with pytest.raises(CorollaryError, match="damaged"):
        reader.refresh()
    place.unlink()
    with pytest.raises(CorollaryError, match="No such file"):
        reader.refresh()
    graph.close()


def test_only_readers_refresh(tmp_path: Path) -> None:
    in_memory = CorollaryStore()
    graph = written(tmp_path)
    for store in (in_memory, store_of(graph)):
        with pytest.raises(CorollaryError, match="read_only=yes"):
            store.refresh()
        with store.transaction(), pytest.raises(CorollaryError, match="inside a transaction"):
            store.refresh()
    graph.close()


@pytest.mark.parametrize("leave", [crash, CorollaryStore.close], ids=["killed", "closed"])
def test_the_last_commit_is_seen_when_its_writer_has_left(
    tmp_path: Path, leave: Callable[[CorollaryStore], None]
) -> None:
    """Though nothing is written then: the commit came before the last look, which sees checkpoints only."""
    graph = written(tmp_path)
    reader = reading(tmp_path)
    graph.add((EX.rex, RDF.type, EX.Dog))
    graph.commit()
    assert not reader.refresh() and ANIMAL not in facts_of(reader)
    leave(store_of(graph))
    assert reader.refresh() and ANIMAL in facts_of(reader)
    assert not reader.refresh()
    reader.close()


def test_a_reader_never_goes_back(tmp_path: Path) -> None:
    """It has seen a commit after the last checkpoint; beside a new writer only the checkpoint can be read."""
    with tuned(MIN_FACTS_PER_FACT_LEFT_AT_CLOSE=NEVER):
        graph = written(tmp_path)
        graph.add((EX.rex, RDF.type, EX.Dog))
        graph.close()
    reader = reading(tmp_path)
    assert ANIMAL in facts_of(reader)
    graph = Graph(store="Corollary")
    graph.open(f"{tmp_path};rules=rdfs")
    assert not reader.refresh() and ANIMAL in facts_of(reader)
    graph.add((EX.tom, RDF.type, EX.Dog))
    graph.commit()
    assert not reader.refresh() and ANIMAL in facts_of(reader)
    assert ANIMAL not in facts_of(reading(tmp_path)), "the checkpoint is before that commit"
    store_of(graph).checkpoint()
    assert reader.refresh() and {ANIMAL, (EX.tom, RDF.type, EX.Animal)} <= facts_of(reader)
    reader.close()
    graph.close()


def test_what_happens_while_a_reader_reads_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread changes the rules, then shows a later checkpoint: neither is taken back."""
    graph = written(tmp_path)
    reader = reading(tmp_path)
    works: list[Callable[[], object]] = []
    real = opening.later_version

    def later_version(*args: Any) -> Any:
        found = real(*args)
        if works:
            thread = Thread(target=works.pop())
            thread.start()
            thread.join()
        return found

    def show_more() -> None:
        graph.add((EX.tom, RDF.type, EX.Dog))
        store_of(graph).checkpoint()
        assert reader.refresh()

    graph.add((EX.rex, RDF.type, EX.Dog))
    store_of(graph).checkpoint()
    with monkeypatch.context() as patch:
        patch.setattr(opening, "later_version", later_version)
        works = [show_more, lambda: reader.use_rules("none")]
        reader.refresh()
    assert works == [] and (EX.tom, RDF.type, EX.Dog) in facts_of(reader)
    assert ANIMAL not in facts_of(reader)
    reader.close()
    graph.close()
