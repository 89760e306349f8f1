"""Killed processes: the short form of ``tests.trust.kills``, and that its checker notices a wrong state."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from rdflib import RDF, Graph, URIRef
from tests.trust import kills
from tests.trust.kills import EX, GRAPHS, Failure, Finding, Story

from corollary.store import CorollaryStore

PROJECT = Path(__file__).parents[2]

pytestmark = pytest.mark.filterwarnings("ignore:there is no store")

Change = Callable[[CorollaryStore], object]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forks")
def test_a_killed_process_leaves_the_last_commit_or_the_one_under_way() -> None:
    command = [sys.executable, "-m", "tests.trust.kills", "--kills", "40", "--seed", "1"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


class Enough(Exception):
    pass


def perform(story: Story, place: Path, commits: int) -> None:
    """Perform the first ``commits`` commits of a story in a folder."""

    def report(number: int) -> None:
        if number == commits:
            raise Enough

    with suppress(Enough):
        kills.work(story, place, report)
    gc.collect()  # the store that was left open


@pytest.mark.parametrize("number", [0, 1])
def test_the_checker_accepts_the_last_commit_and_the_next(tmp_path: Path, number: int) -> None:
    story, place = Story(7, number), tmp_path / "store"
    assert kills.check(story, place, kills.NOTHING, read_only=True) == Finding(kills.NOTHING)
    perform(story, place, 12)
    for reported in (12, 11):
        assert kills.check(story, place, reported, read_only=True) == Finding(12)
    for reported in (10, 13):
        with pytest.raises(Failure, match=f"holds 12 commits, and {reported} were reported"):
            kills.check(story, place, reported, read_only=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda store: store.add((EX.a, RDF.type, EX.b), Graph(store, GRAPHS[0])), "quads"),
        (lambda store: store.remove((None, EX.p0, None)), "quads"),
        (lambda store: store.add_graph(Graph(store, EX.unheard)), "graphs"),
        (lambda store: store.bind("unheard", URIRef(EX.unheard)), "prefixes"),
    ],
)
def test_the_checker_notices_what_a_commit_did_not_make(tmp_path: Path, change: Change, message: str) -> None:
    story = Story(7, 0)
    perform(story, tmp_path, 12)
    store = CorollaryStore(rules="none")
    store.open(str(tmp_path))
    change(store)
    store.close()
    with pytest.raises(Failure, match=f"{message}: lacks"):
        kills.check(story, tmp_path, 12, read_only=False)


def test_the_checker_notices_a_store_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="no store any more"):
        kills.check(Story(7, 0), tmp_path, 0, read_only=False)
