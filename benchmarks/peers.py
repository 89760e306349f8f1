"""Other reasoners on the same files, as tasks.

``reasonable`` (Rust, datafrog) returns the result of ``reason()`` as a Python list of rdflib terms, and
creating the terms takes most of the time. There is no other access to the result, so Corollary is compared
with this call. Two more tasks measure its parts: the same call while rdflib's classes are replaced by
functions that return the text (*no terms*), and another such call with nothing left to infer (*hand out*: the
list alone). The difference of the two is close to the time of the engine.

``owlrl`` (pure Python) works on an rdflib graph in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from unittest.mock import patch

import rdflib
from benchmarks.measure import Outcome, Task

from corollary.loaders.formats import FileKind, decompressed

REASONABLE = "reasonable"
OWLRL = "owlrl"

LOAD = "load"
REASON = "reason"
NO_TERMS = "reason, no terms"
HAND_OUT = "hand out, no terms"


def reasonable_tasks(paths: Sequence[Path], size: str) -> list[Task]:
    """Loading and reasoning, in this order. Precondition: all paths are N-Triples files."""
    loaded: list[Any] = []

    def load() -> Any:
        import reasonable

        reasoner = reasonable.PyReasoner()
        with as_turtle(paths) as name:
            reasoner.load_file(name)
        return reasoner

    def keep(_: None) -> Outcome:
        loaded[:] = [load()]
        return Outcome()

    def unused() -> Any:
        return loaded.pop() if loaded else load()

    used: list[Any] = []

    def reason(reasoner: Any) -> Outcome:
        used[:] = [reasoner]
        return Outcome(len(reasoner.reason()))

    def without_terms(call: Callable[[Any], list[Any]]) -> Callable[[Any], Outcome]:
        def run(reasoner: Any) -> Outcome:
            with no_terms():
                return Outcome(len(call(reasoner)))

        return run

    return [
        Task(REASONABLE, LOAD, lambda: None, keep, size),
        Task(REASONABLE, REASON, unused, reason, size),
        Task(REASONABLE, NO_TERMS, lambda: used[0], without_terms(lambda r: r.reason_full()), size),
        Task(REASONABLE, HAND_OUT, lambda: used[0], without_terms(lambda r: r.reason()), size),
    ]  # fmt: skip


def owlrl_task(paths: Sequence[Path], size: str) -> Task:
    """OWL 2 RL without the axiomatic triples."""

    def load() -> rdflib.Graph:
        graph = rdflib.Graph()
        for path in paths:
            graph.parse(data=content(path), format="nt")
        return graph

    def reason(graph: rdflib.Graph) -> Outcome:
        import owlrl

        semantics = owlrl.OWLRL_Semantics
        owlrl.DeductiveClosure(semantics, axiomatic_triples=False, datatype_axioms=False).expand(graph)
        return Outcome(len(graph))

    return Task(OWLRL, REASON, load, reason, size)


def content(path: Path) -> bytes:
    """The bytes of a file, decompressed."""
    with path.open("rb") as raw:
        return decompressed(raw, FileKind.of(path.name).compression).read()


@contextmanager
def as_turtle(paths: Sequence[Path]) -> Iterator[str]:
    """The name of a temporary Turtle file with the content of the N-Triples files, as reasonable needs it."""
    with NamedTemporaryFile(suffix=".ttl") as stream:
        for path in paths:
            stream.write(content(path))
        stream.flush()
        yield stream.name


@contextmanager
def no_terms() -> Iterator[None]:
    """Replace rdflib's term classes by functions that return their first argument."""

    def through(text: str, *_: object) -> str:
        return text

    with patch.multiple(rdflib, URIRef=through, BNode=through, Literal=through):
        yield
