"""What a folder promises: readers beside readers, damage that is named, and only what was committed."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from click.testing import CliRunner
from rdflib import RDF, RDFS, Dataset, Graph, Namespace, URIRef
from rdflib.store import NO_STORE, VALID_STORE
from tests.trust.operations import crash, seen

from corollary.cli import main
from corollary.language import CorollaryError
from corollary.reasoner import commit_log, folder
from corollary.reasoner.commit_log import LOG
from corollary.reasoner.folder import Folder
from corollary.reasoner.folder_place import DATABASE
from corollary.reasoner.journal import Journal
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")
TRIPLE = (EX.s, EX.p, EX.o)
SCHEMA = (EX.p, RDFS.domain, EX.Subject)


def written(place: Path, commits: int = 3) -> CorollaryStore:
    """A store in a folder, open."""
    store = CorollaryStore(rules="rdfs")
    store.open(str(place), create=True)
    graph = Graph(store, EX.g)
    graph.add(SCHEMA)
    for commit in range(commits):
        for n in range(40):
            graph.add((EX[f"s{commit}-{n}"], EX[f"p{n % 3}"], EX[f"o{n}"]))
        store.commit()
    return store


def reader(place: Path) -> CorollaryStore:
    store = CorollaryStore(rules="rdfs")
    assert store.open(f"{place};read_only=yes") == VALID_STORE
    return store


# Read only


def test_several_read_and_then_one_writes(tmp_path: Path) -> None:
    """A reader has all of the last commit when it is open: others may write, or remove the folder."""
    store = written(tmp_path)
    expected = seen(store)
    store.close()
    readers = [reader(tmp_path), reader(tmp_path)]
    code = (
        "import sys; from corollary.store import CorollaryStore\n"
        "store = CorollaryStore(rules='rdfs'); store.open(sys.argv[1], read_only=True); print(len(store))"
    )
    other = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert int(other.stdout) == len(readers[0])
    assert readers[0].verify().is_sound
    store = written(tmp_path)
    with pytest.raises(CorollaryError, match="open already"):
        readers[0].verify()
    with pytest.raises(CorollaryError, match="open already"):
        CorollaryStore().destroy(str(tmp_path))
    Graph(store, EX.g).remove((None, EX.p0, None))
    store.close()
    for one in readers:
        assert one.verify().is_sound, "there is a later commit, which is no defect"
        assert seen(one)[0::4] == expected[0::4]
    CorollaryStore().destroy(str(tmp_path))
    for one in readers:
        assert not one.verify().is_sound
        assert seen(one)[0::4] == expected[0::4]
        one.close()


def test_readers_beside_a_writer_see_its_last_checkpoint(tmp_path: Path) -> None:
    store = written(tmp_path)
    with pytest.raises(CorollaryError, match=r"has no checkpoint to read: call checkpoint\(\) there"):
        reader(tmp_path)
    readers, expected = [], []
    for number in range(3):
        Graph(store, EX.g).add((EX[f"late{number}"], EX.p0, EX.o))
        store.checkpoint()
        expected.append(seen(store))
        Graph(store, EX.g).add((EX[f"unseen{number}"], EX.p0, EX.o))
        store.commit()
        with pytest.warns(UserWarning, match="its last checkpoint is read"):
            readers.append(reader(tmp_path))
    with pytest.raises(CorollaryError, match="open already"):
        readers[0].verify()
    with pytest.warns(UserWarning, match="its last checkpoint is read"):
        result = CliRunner().invoke(main, ["verify", str(tmp_path)])
    assert result.exit_code == 2 and "open already" in result.output, "a checkpoint is not the folder"
    store.close()
    for one, content in zip(readers, expected, strict=True):
        assert seen(one) == content, "its file is gone, or there are later commits"
        assert one.verify().is_sound
        with pytest.raises(CorollaryError, match="another store writes it"):
            Graph(one).add(TRIPLE)
        one.close()


def test_readers_in_other_processes_see_whole_checkpoints(tmp_path: Path) -> None:
    """A writer checkpoints as fast as it can, and removes what it replaces; a commit adds seven triples."""
    code = (
        "import sys, warnings; from corollary.store import CorollaryStore\n"
        "warnings.simplefilter('ignore'); sizes = []\n"
        "for _ in range(40):\n"
        "    store = CorollaryStore(rules='rdfs'); store.open(sys.argv[1], read_only=True)\n"
        "    assert len(list(store.explicit())) % 7 == 0, len(store)\n"
        "    sizes.append(len(store)); store.close()\n"
        "assert sizes == sorted(sizes); print(len(set(sizes)))"
    )
    store = CorollaryStore(rules="rdfs")
    store.open(str(tmp_path), create=True)
    graph = Graph(store, EX.g)

    def commit(number: int) -> None:
        for n in range(7):
            graph.add((EX[f"s{number}-{n}"], EX.p, EX.o))
        store.checkpoint()

    commit(0)
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        number = 0
        while other.poll() is None:
            commit(number := number + 1)
        assert other.stdout is not None
        assert other.returncode == 0 and int(other.stdout.read()) > 1
    store.close()


def test_nothing_is_changed_by_readers(tmp_path: Path) -> None:
    written(tmp_path).close()
    content = (tmp_path / DATABASE).read_bytes()
    store = reader(tmp_path)
    graph, data = Graph(store, EX.g), Dataset(store)
    document = tmp_path / "data.nt"
    document.write_text("<urn:a> <urn:b> <urn:c> .\n")
    before = seen(store)
    changes: list[Callable[[], object]] = [
        lambda: graph.add(TRIPLE),
        lambda: graph.addN([(*TRIPLE, graph)]),
        lambda: graph.remove(SCHEMA),
        lambda: graph.remove((None, None, None)),
        lambda: store.removeN([(*SCHEMA, None)]),
        lambda: graph.update("INSERT DATA { <urn:a> <urn:b> <urn:c> }"),
        lambda: graph.update("CLEAR ALL"),
        lambda: graph.parse(document),
        lambda: store.load(document),
        lambda: store.add_graph(Graph(store, EX.new)),
        lambda: store.remove_graph(graph),
        lambda: data.graph(EX.new),
        lambda: store.destroy(str(tmp_path)),
    ]
    for change in changes:
        with pytest.raises(CorollaryError, match="read only"):
            change()
        assert seen(store)[:2] == before[:2]
    with pytest.raises(CorollaryError, match="read only"), store.transaction():
        graph.add(TRIPLE)
    # what is not in the folder may change, and reading needs it
    graph.bind("new", EX["new#"])
    store.use_rules("rhodf")
    assert len(list(data.graphs())) == 2
    assert graph.query(f"ASK {{ ?x <{EX.p0}> <urn:unheard> }}").askAnswer is False
    store.commit()
    store.rollback()
    store.close()
    assert (tmp_path / DATABASE).read_bytes() == content
    store.open(str(tmp_path))  # read_only holds for one opening
    graph.add(TRIPLE)
    store.close()


def test_a_reader_makes_no_folder(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="there is no store"):
        assert CorollaryStore().open(str(tmp_path / "none"), create=True, read_only=True) == NO_STORE
    assert not list(tmp_path.iterdir())
    with pytest.raises(CorollaryError, match="read_only=yes"):
        CorollaryStore(f"{tmp_path};read_only=maybe")


# Damage


def damaged(place: Path, *statements: str) -> None:
    """Change a folder as no store does."""
    database = sqlite3.connect(place / DATABASE, isolation_level=None)
    for statement in statements:
        database.execute(statement)
    database.close()


@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM changes WHERE sequence = 2"],
        ["DELETE FROM changes WHERE sequence = (SELECT max(sequence) FROM changes)"],
        ["DELETE FROM changes"],
        ["DELETE FROM terms WHERE sequence = (SELECT max(sequence) FROM terms)"],
        ["DELETE FROM others WHERE name = 'named'"],
        ["DELETE FROM others WHERE name = 'manifest'"],
        ["DELETE FROM others"],
        [
            "UPDATE changes SET sequence = -1 WHERE sequence = 1",
            "UPDATE changes SET sequence = 1 WHERE sequence = 2",
            "UPDATE changes SET sequence = 2 WHERE sequence = -1",
        ],
        ["UPDATE terms SET sequence = sequence + 1000"],
        ["UPDATE changes SET added = 0 WHERE sequence = 1"],
        ["UPDATE changes SET facts = zeroblob(8) WHERE sequence = 1"],
        ["UPDATE terms SET lengths = x'00'"],
        ["INSERT INTO changes SELECT 1000, graph, predicate, added, facts, checksum FROM changes LIMIT 1"],
        ["DROP TABLE others"],
        ["UPDATE others SET content = NULL WHERE name = 'prefixes'"],
    ],
)
def test_rows_that_are_missing_or_changed_are_noticed(tmp_path: Path, statements: list[str]) -> None:
    """Found: rows were taken out or swapped, and what was left came back without a word."""
    written(tmp_path).close()
    damaged(tmp_path, *statements)
    for read_only in (False, True):
        with pytest.raises(CorollaryError, match=str(tmp_path)):
            CorollaryStore().open(str(tmp_path), read_only=read_only)
    result = CliRunner().invoke(main, ["verify", str(tmp_path)])
    assert result.exit_code == 1 if "DROP" not in statements[0] else result.exit_code in (1, 2)
    assert str(tmp_path) in result.output


def test_ids_out_of_range_are_noticed(tmp_path: Path) -> None:
    """With checksums that fit, as a mistaken program would write them: no IndexError, no KeyError."""
    store = written(tmp_path, 1)  # all in the database
    folder = store.reasoner.versions.persistence()
    assert isinstance(folder, Folder)
    facts = ((1 << 29) << 32 | 5).to_bytes(8, "little")
    stored = folder._written.in_database
    rows = folder._journal.append("changes", stored.changes, 5, 6, 1, facts)
    folder._journal.insert("others", "manifest", replace(stored, changes=rows).manifest())
    assert not store.verify().is_sound
    folder.close()
    with pytest.raises(CorollaryError, match="terms that it does not have"):
        CorollaryStore().open(str(tmp_path))


def test_verify(tmp_path: Path) -> None:
    store = written(tmp_path / "store")
    found = store.verify()
    assert found.is_sound and not found.problems
    assert found.explicit == 121 and found.inferred == len(store.inferred())
    assert str(found).startswith("sound: 121 explicit and ")
    Graph(store, EX.h).add(TRIPLE)  # what is not committed is no damage
    assert store.verify().is_sound
    store.close()
    result = CliRunner().invoke(main, ["verify", str(tmp_path / "store"), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["explicit"] == 122
    result = CliRunner().invoke(main, ["verify", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert "there is no store" in result.stderr
    assert CorollaryStore().verify().is_sound


def test_verify_finds_what_is_wrong_in_memory(tmp_path: Path) -> None:
    store = written(tmp_path)
    version = store.reasoner.settled()
    (predicate,) = {p for p, r in version.quads.union.relations() if len(r) == 42}
    keys = version.quads.union.keys(predicate)
    keys[0], keys[1] = keys[1].copy(), keys[0].copy()
    found = store.verify()
    assert not found.is_sound
    assert any("not in order by subject" in problem for problem in found.problems)
    assert str(found).startswith(
        "1 problem: " if len(found.problems) == 1 else f"{len(found.problems)} problems: "
    )
    store.close(discard=True)


def test_a_closed_store_is_not_verified(tmp_path: Path) -> None:
    store = written(tmp_path)
    store.close()
    with pytest.raises(CorollaryError, match="is closed"):
        store.verify()


# What is left of an interruption


def test_new_parents_are_forced_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def sync(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("no /proc here to see which folder was synced")
    place = tmp_path / "a" / "b" / "store"
    written(place).close()
    assert {str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b")} <= set(synced)
    synced.clear()
    written(place).close()
    assert not synced


class Interrupting:
    """A database connection whose COMMIT is interrupted, before or after it takes place."""

    def __init__(self, database: sqlite3.Connection, *, commits: bool) -> None:
        self._database = database
        self._commits = commits

    def __getattr__(self, name: str) -> object:
        return getattr(self._database, name)

    def execute(self, statement: str, *arguments: Any) -> object:
        if statement != "COMMIT":
            return self._database.execute(statement, *arguments)
        if self._commits:
            self._database.execute(statement)
        raise KeyboardInterrupt


@contextmanager
def interrupted(store: CorollaryStore, *, commits: bool, in_log: bool) -> Iterator[None]:
    """The next commit is interrupted, before or after it takes place, in the database or in the log."""
    place = store.reasoner.versions.persistence()
    assert isinstance(place, Folder)
    journal = place._journal
    connection = journal._connection
    append = (commit_log, "_to_disk") if commits else (commit_log.CommitLog, "append")
    with pytest.raises(KeyboardInterrupt):
        if in_log:
            with patch.object(*append, side_effect=KeyboardInterrupt):
                yield
        else:
            journal._connection = Interrupting(connection, commits=commits)  # type: ignore[assignment]
            with patch.object(folder, "MAX_LOGGED", -1):
                yield
    journal._connection = connection


@pytest.mark.parametrize("in_log", [False, True])
def test_terms_keep_their_ids_after_an_interrupted_commit(tmp_path: Path, in_log: bool) -> None:
    """Found: most processes that were interrupted while they committed left a folder with other triples."""
    store = written(tmp_path)
    graph = Graph(store, EX.g)
    for number in range(3):
        graph.add((EX[f"new{number}"], EX.p, EX[f"value{number}"]))
        with interrupted(store, commits=True, in_log=in_log):
            store.commit()
        graph.add((EX[f"later{number}"], EX.p, EX[f"other{number}"]))
    store.rollback()  # the last commit took place
    assert (EX.new2, EX.p, EX.value2) in graph and (EX.later2, EX.p, EX.other2) not in graph
    expected = seen(store)
    crash(store)
    again = CorollaryStore(rules="rdfs")
    again.open(str(tmp_path))
    assert seen(again)[0] == expected[0]
    assert (EX.later1, RDF.type, EX.Subject) in Graph(again, EX.g)
    again.close()


@pytest.mark.parametrize("in_log", [False, True])
def test_an_interrupted_transaction_is_decided_by_the_folder(tmp_path: Path, in_log: bool) -> None:
    for is_committed in (False, True):
        store = written(tmp_path / str(is_committed))
        graph = Graph(store, EX.g)
        with interrupted(store, commits=is_committed, in_log=in_log), store.transaction():
            graph.add(TRIPLE)
            graph.bind("new", URIRef("urn:new#"))
        assert (TRIPLE in graph) is is_committed
        assert ("new" in dict(store.namespaces())) is is_committed
        expected = seen(store)
        store.rollback()
        assert seen(store) == expected
        crash(store)
        again = CorollaryStore(rules="rdfs")
        again.open(str(tmp_path / str(is_committed)))
        assert seen(again)[:3] == expected[:3]
        again.close()


def test_verify_does_not_disturb_a_commit(tmp_path: Path) -> None:
    """Found: it gave up the commit of another thread, and the folder was lost."""
    store = written(tmp_path)
    graph, stop, failures = Graph(store, EX.g), threading.Event(), list[BaseException]()

    def look() -> None:
        while not stop.is_set():
            try:
                assert store.verify().is_sound
            except BaseException as failure:
                failures.append(failure)
                return

    looking = threading.Thread(target=look)
    looking.start()
    for number in range(60):
        for n in range(100):
            graph.add((EX[f"new{number}-{n}"], EX.q, EX[f"o{n}"]))
        store.commit()
    stop.set()
    looking.join()
    assert not failures
    expected = seen(store)[0]
    store.close()
    assert seen(reader(tmp_path))[0] == expected


def test_a_copy_of_the_folder_does_not_let_others_in(tmp_path: Path) -> None:
    """Found: a process loses SQLite's lock when it reads the file otherwise, and two wrote at a time."""
    store = written(tmp_path / "store")
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    code = "import sys; from corollary.store import CorollaryStore; CorollaryStore(sys.argv[1])"
    other = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "store")], capture_output=True, text=True
    )
    assert "is open already" in other.stderr
    store.close()
    assert reader(tmp_path / "copy").verify().is_sound


def test_a_relation_of_several_rows_is_sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found: verify counted rows otherwise than the commit."""
    monkeypatch.setattr("corollary.reasoner.folder_rows.MAX_BYTES_PER_ROW", 64)
    store = written(tmp_path)
    assert store.verify().is_sound
    store.close()
    assert reader(tmp_path).verify().is_sound


def test_what_cannot_be_written_is_only_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path).close()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(CorollaryError, match="cannot be written by this process: open it with read_only"):
        CorollaryStore().open(str(tmp_path))
    assert len(reader(tmp_path).explicit()) == 121


def test_a_fork_that_ends_does_not_let_others_in(tmp_path: Path) -> None:
    """Found: the child gave the parent's lock back, and with a copy of the files a second store wrote."""
    store = written(tmp_path / "store")
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    code = (
        "import os, sys; from corollary.store import CorollaryStore; s = CorollaryStore(); "
        "s.open(sys.argv[1], create=True); pid = os.fork(); pid or sys.exit(); os.waitpid(pid, 0); "
        "open(sys.argv[1] + '/corollary.sqlite').close(); print('ready', flush=True); input(); s.close()"
    )
    place = str(tmp_path / "forked")
    with subprocess.Popen(
        [sys.executable, "-c", code, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None and other.stdin is not None
        assert other.stdout.readline() == "ready\n"
        with pytest.raises(CorollaryError, match="is open already"):
            CorollaryStore().open(place)
        other.stdin.write("\n")
    assert other.returncode == 0
    store.close()


@pytest.mark.parametrize("call", ["commit", "close"])
def test_a_folder_that_is_gone_or_replaced_is_noticed(call: str, tmp_path: Path) -> None:
    """Found: the commit returned, and wrote into a file that no folder has."""
    place = tmp_path / "store"
    for is_replaced in False, True:
        store = written(place)
        backup = (place / DATABASE).read_bytes()
        shutil.rmtree(place)
        if is_replaced:
            place.mkdir()
            (place / DATABASE).write_bytes(backup)
        Graph(store, EX.g).add(TRIPLE)
        with pytest.raises(
            CorollaryError, match="has been removed or replaced, and nothing is kept any more"
        ):
            getattr(store, call)()
        assert not store.verify().is_sound
        assert TRIPLE in Graph(store, EX.g)
        store.close(discard=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_that_closes_its_copy_leaves_the_log(tmp_path: Path) -> None:
    """SQLite's own log would be removed, and what the parent writes then would be lost."""
    store = written(tmp_path)
    for number in range(2):
        process = os.fork()
        if process == 0:
            try:
                store.close(discard=True)
            finally:
                os._exit(0)
        os.waitpid(process, 0)
        Graph(store, EX.g).add((EX.forked, EX.p, EX[f"o{number}"]))
        store.commit()
        assert (tmp_path / commit_log.LOG).stat().st_size
    expected = seen(store)
    crash(store)
    again = reader(tmp_path)
    assert seen(again)[0] == expected[0]


def test_a_log_that_is_lost_or_damaged_is_noticed(tmp_path: Path) -> None:
    store = written(tmp_path / "store")
    crash(store)
    line = (tmp_path / "store" / commit_log.LOG).read_bytes()
    for content, what in ((None, "is missing"), (line[:30] + b"?" + line[31:], "a line is damaged")):
        shutil.copytree(tmp_path / "store", tmp_path / "copy")
        log = tmp_path / "copy" / commit_log.LOG
        log.unlink() if content is None else log.write_bytes(content)
        for options in "", ";read_only=yes":
            with pytest.raises(CorollaryError, match=what):
                CorollaryStore().open(f"{tmp_path / 'copy'}{options}")
        shutil.rmtree(tmp_path / "copy")
    again = CorollaryStore(rules="rdfs")
    again.open(str(tmp_path / "store"))
    assert len(again.explicit()) == 121 and again.verify().is_sound
    again.close()
    assert [file.name for file in (tmp_path / "store").iterdir()] == [DATABASE]


def test_a_log_of_the_former_format_is_read(tmp_path: Path) -> None:
    """It has no zeros behind its lines. The former version must not read one that has."""
    store = written(tmp_path / "store")
    expected = seen(store)
    crash(store)
    assert (tmp_path / "store" / DATABASE).read_bytes()[60:64] == b"\0\0\0\5"
    log = tmp_path / "store" / commit_log.LOG
    log.write_bytes(log.read_bytes().rstrip(b"\0"))
    database = sqlite3.connect(tmp_path / "store" / DATABASE)
    database.execute("PRAGMA user_version = 4")
    database.close()
    assert seen(reader(tmp_path / "store"))[0] == expected[0]
    again = CorollaryStore(rules="rdfs")
    again.open(str(tmp_path / "store"))
    for number in range(3):
        Graph(again, EX.g).add((EX.after, EX.p, EX[f"o{number}"]))
        again.commit()
    expected = seen(again)
    assert again.verify().is_sound and log.read_bytes().endswith(b"\0")
    crash(again)
    assert seen(reader(tmp_path / "store"))[0] == expected[0]


def test_a_log_of_a_later_database_is_noticed(tmp_path: Path) -> None:
    """As in a copy that was made file by file beside a writer."""
    store = written(tmp_path / "store")
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    graph = Graph(store, EX.g)
    graph.addN((EX[f"t{n}"], EX.p, EX.o, graph) for n in range(200))
    store.commit()
    graph.add((EX.a, EX.p, EX.one))
    store.commit()
    crash(store)
    shutil.copyfile(tmp_path / "store" / commit_log.LOG, tmp_path / "copy" / commit_log.LOG)
    with pytest.raises(CorollaryError, match="a later state"):
        reader(tmp_path / "copy")


def test_a_log_beside_another_database_is_not_taken_for_its_own(tmp_path: Path) -> None:
    """Also not if the database gets into a state that the other one was in."""
    written(tmp_path / "store", 1).close()
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    for objects in ([EX.one, EX.two], [EX.one]):
        store = CorollaryStore(rules="rdfs")
        store.open(str(tmp_path / "store"))
        for thing in objects:
            Graph(store, EX.g).add((EX.a, EX.p, thing))
            store.commit()
        crash(store)
        expected = seen(store)
        if len(objects) > 1:
            shutil.copyfile(tmp_path / "copy" / DATABASE, tmp_path / "store" / DATABASE)
    assert seen(reader(tmp_path / "store"))[0] == expected[0]


def test_a_log_that_is_gone_is_not_replaced_by_an_empty_one(tmp_path: Path) -> None:
    """As long as the database lacks what it had."""
    store = written(tmp_path / "store")
    (tmp_path / "store" / commit_log.LOG).unlink()
    Graph(store, EX.g).add((EX.a, EX.p, EX.one))
    with patch.object(Journal, "describe", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        store.commit()
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    with pytest.raises(CorollaryError, match="is missing"):
        reader(tmp_path / "copy")
    store.commit()
    expected = seen(store)
    crash(store)
    assert seen(reader(tmp_path / "store"))[0] == expected[0]


def test_a_log_that_is_removed_or_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    """The database takes the commit, and those of the log."""
    store = written(tmp_path)
    graph = Graph(store, EX.g)
    graph.add((EX.a, EX.p, EX.one))
    store.commit()
    (tmp_path / commit_log.LOG).unlink()
    graph.add((EX.a, EX.p, EX.two))
    store.commit()
    graph.add((EX.a, EX.p, EX.three))
    store.commit()
    with patch.object(commit_log, "_to_disk", side_effect=OSError(28, "No space left on device")):
        graph.add((EX.a, EX.p, EX.four))
        store.commit()
    expected = seen(store)
    assert store.verify().is_sound
    crash(store)
    assert seen(reader(tmp_path))[0] == expected[0]


def test_what_others_wrote_is_not_written_over(tmp_path: Path) -> None:
    """Where there are no locks, as on some file systems, the manifest tells."""
    store = written(tmp_path)
    database = sqlite3.connect(f"file:{tmp_path / DATABASE}?nolock=1", uri=True)
    database.execute("UPDATE others SET content = x'7b7d' WHERE name = 'manifest'")
    database.commit()
    database.close()
    store.reasoner.versions.persistence()._journal.run("PRAGMA cache_size = 0")  # type: ignore[union-attr]
    Graph(store, EX.g).add(TRIPLE)
    with pytest.raises(CorollaryError):
        store.commit()
    store.close(discard=True)


@pytest.mark.slow
def test_a_folder_is_not_destroyed_while_it_is_opened(tmp_path: Path) -> None:
    """Found: the lock was given back before the files went, and a commit went nowhere."""
    place, code = (
        tmp_path / "store",
        (
            "import sys, time\nfrom corollary.language import CorollaryError\n"
            "from corollary.store import CorollaryStore\nend = time.monotonic() + 3\n"
            "while time.monotonic() < end:\n"
            "    try: CorollaryStore().destroy(sys.argv[1])\n"
            "    except CorollaryError as error: assert 'is open already' in str(error), error\n"
        ),
    )
    other = subprocess.Popen([sys.executable, "-c", code, str(place)])
    openings = 0
    while other.poll() is None:
        store = CorollaryStore()
        try:
            store.open(str(place), create=True)
        except CorollaryError as error:
            assert "is open already" in str(error)
            continue
        openings += 1
        Graph(store, EX.g).add(TRIPLE)
        store.commit()
        assert (place / DATABASE).is_file()
        store.close()
    assert other.returncode == 0
    assert openings


@pytest.mark.parametrize("prefixes", ["[]", "null", "{", '{"a": 5}', "[" * 100_000])
def test_prefixes_that_make_no_sense_are_damage(prefixes: str, tmp_path: Path) -> None:
    """An attacker has made checksums and manifest fit the hostile content."""
    store = written(tmp_path)
    version = store.reasoner.versions.current()
    folder = version.persistence
    assert isinstance(folder, Folder)
    others = {**(folder._written.others or {}), "prefixes": prefixes.encode()}
    folder._journal.run("BEGIN")
    folder._journal.insert("others", "prefixes", prefixes.encode())
    folder._journal.insert("others", "manifest", replace(folder._written, others=others).manifest())
    folder._journal.run("COMMIT")
    store.close(discard=True)
    with pytest.raises(CorollaryError, match="is damaged"):
        CorollaryStore().open(str(tmp_path))


@pytest.mark.parametrize("place", ["a\0b", "x" * 300])
def test_places_that_no_system_has(place: str, tmp_path: Path) -> None:
    with pytest.raises(CorollaryError, match="name a folder that can be written"):
        CorollaryStore().open(str(tmp_path / place), create=True)
    with pytest.raises(CorollaryError, match="name a folder that can be written"):
        CorollaryStore().save(tmp_path / place)
    if "\0" not in place:
        with pytest.raises(CorollaryError, match="name a folder that can be read"):
            CorollaryStore().open(str(tmp_path / place), read_only=True)
        with pytest.raises(CorollaryError, match="name a folder that can be written"):
            CorollaryStore().save_encoded(tmp_path / place)


def test_rules_that_do_not_exist_are_refused_at_opening(tmp_path: Path) -> None:
    """Found: the store was left with options by which it could neither be read nor written."""
    store = CorollaryStore()
    for configuration in ("rules=nonsense", f"{tmp_path};rules=nonsense"):
        with pytest.raises(CorollaryError):
            store.open(configuration, create=True)
        assert not len(store)
        store.commit()


def test_a_log_behind_a_link_is_not_emptied(tmp_path: Path) -> None:
    place, victim = tmp_path / "store", tmp_path / "letter.txt"
    written(place).close()
    victim.write_text("precious")
    (place / LOG).symlink_to(victim)
    store = CorollaryStore(rules="rdfs")
    store.open(str(place))
    for number in range(3):
        Graph(store, EX.g).add((EX.s, EX.p, EX[f"new{number}"]))
        store.commit()
    store.close()
    assert victim.read_text() == "precious"
    assert len(list(reader(place).triples((EX.s, EX.p, None)))) == 3


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    store = written(tmp_path / "store")
    store.checkpoint()
    Graph(store, EX.g).add(TRIPLE)
    store.commit()
    Graph(store, EX.g).remove(TRIPLE)
    store.commit()
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    count = len(store)
    store.close()
    (snapshot,) = (tmp_path / "copy").glob("*.snapshot")
    snapshot.unlink()
    os.mkfifo(snapshot)
    with pytest.warns(UserWarning, match="is no file"):
        assert len(reader(tmp_path / "copy")) == count
    (tmp_path / "copy" / LOG).unlink()
    os.mkfifo(tmp_path / "copy" / LOG)
    with pytest.raises(CorollaryError, match="is no file"):
        reader(tmp_path / "copy")
