"""What a folder stores beside terms and facts: names of graphs, formulas, prefixes.

A graph is stored as its id, a little-endian uint32; a fact of a formula as a row of four ids: subject,
predicate, object, formula. Prefixes are JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from corollary.columns import TripleIndex, grouped
from corollary.kernels.sorted import Keys
from corollary.reasoner.namespaces import Namespaces
from corollary.reasoner.quads import Quads
from corollary.reasoner.version import Version

NAMES = ("named", "empty", "formulas", "quoted", "prefixes")

NONSENSE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions that decoding may raise for contents that no store has written."""


def others_of(
    version: Version, before: Version | None = None, known: Mapping[str, bytes] | None = None
) -> Mapping[str, bytes]:
    """Encode the contents, by name as in ``NAMES``. Precondition: ``version`` is applied.

    ``known`` are the contents of ``before``, which has the same dictionary: they are returned if nothing of
    them has changed.
    """
    quads, default = version.quads, version.terms.default
    empty = _packed(sorted(_empty_graphs(quads) - {default}))
    if before is not None and known and known["empty"] == empty:
        is_same = version.named is before.named and version.namespaces is before.namespaces
        if is_same and not quads.formulas and not before.quads.formulas:
            return known
    quoted = [np.empty((0, 4), np.uint32)]
    for formula, index in sorted(quads.formulas.items()):
        s, p, o = index.columns(legal=False)
        quoted.append(np.column_stack((s, p, o, np.full(s.size, formula, np.uint32))))
    return {
        "named": _packed(sorted(version.named - {default})),
        "empty": empty,
        "formulas": _packed(sorted(quads.formulas)),
        "quoted": np.concatenate(quoted).astype("<u4").tobytes(),
        "prefixes": json.dumps(dict(version.namespaces)).encode(),
    }


def with_others(version: Version, others: Mapping[str, bytes]) -> Version:
    """Add the stored contents to a version of terms and facts. Of a new folder, ``others`` is empty."""
    if not others:
        return version
    quads = version.quads.with_graphs(_unpacked(others["empty"]))
    rows = np.frombuffer(others["quoted"], "<u4").reshape(-1, 4).astype(np.uint32)
    formulas: dict[int, dict[int, Keys]] = {graph: {} for graph in _unpacked(others["formulas"])}
    for graph, facts in grouped(rows[:, 3], np.arange(len(rows))):
        index = TripleIndex.from_columns(*(np.ascontiguousarray(rows[facts, n]) for n in range(3)))
        formulas[graph] = {p: relation.pairs().keys for p, relation in index.relations()}
    namespaces = Namespaces()
    for prefix, namespace in json.loads(others["prefixes"]).items():
        if not isinstance(namespace, str):
            raise TypeError(f"{namespace!r} is no namespace")
        namespaces = namespaces.bound(prefix, namespace)
    return replace(
        version,
        quads=replace(quads, formulas=Quads.of(formulas).graphs),
        named=version.named | set(_unpacked(others["named"])),
        namespaces=namespaces,
    )


def _empty_graphs(quads: Quads) -> set[int]:
    return {graph for graph, index in quads.graphs.items() if not index.fact_count()}


def _packed(ids: Sequence[int]) -> bytes:
    return np.array(ids, "<u4").tobytes() if ids else b""


def _unpacked(ids: bytes) -> list[int]:
    numbers: list[int] = np.frombuffer(ids, "<u4").tolist()
    return numbers
