"""Explanations: why a fact holds, or what makes an inconsistency, as proofs that can be printed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

from corollary.columns.triples import TripleIndex
from corollary.evaluate import Inconsistency, Materialisation
from corollary.explain import dot, html, json_format, text
from corollary.explain.explained import Explained, Status
from corollary.explain.proof import FALSE, Fact, Proof
from corollary.explain.search import Effort, Search
from corollary.explain.ways import Way, Ways
from corollary.program.components import Prefixes

EFFORTS = (Effort(100, 3_000, False), Effort(10, 100_000, True), Effort(None, 100_000, True))
"""One after the other, until one finds a proof."""


@dataclass(frozen=True)
class Explanation(Explained):
    """Proofs of a fact, to be printed by ``str``, ``as_dict``, ``dot`` and ``html``."""

    def __str__(self) -> str:
        return text.text(self)

    def as_dict(self) -> dict[str, Any]:
        """What ``docs/explanations.md`` describes: for JSON."""
        return json_format.document(self)

    def dot(self) -> str:
        """A Graphviz picture of all proofs."""
        return dot.dot(self)

    def html(self) -> str:
        """A piece of HTML: proofs to fold and unfold."""
        return html.html(self)

    def _repr_html_(self) -> str:
        return self.html()


def explain(
    result: Materialisation, s: int, p: int, o: int, *, limit: int = 1, prefixes: Prefixes | None = None
) -> Explanation:
    """Why the fact (s, p, o) holds: up to ``limit`` proofs.

    A fact that does not hold has none. ``prefixes`` shorten what is printed; by default the program's.
    """
    fact = (s, p, o)
    status = Status.ABSENT
    proofs: tuple[Proof, ...] = ()
    is_complete = True
    if result.index.relation(p).has(s, o):
        status = Status.EXPLICIT if result.explicit.relation(p).has(s, o) else Status.INFERRED
        proofs, is_complete = _proofs(result, fact, limit)
    decode = result.dictionary.decode
    texts = decode(s), decode(p), decode(o)
    unknown = _unknown(result.index, fact) if status == Status.ABSENT else []
    names = tuple(map(decode, unknown))
    return _explanation(result, status, texts, "", proofs, is_complete, names, prefixes)


def explain_inconsistency(
    result: Materialisation, found: Inconsistency, *, limit: int = 1, prefixes: Prefixes | None = None
) -> Explanation:
    """Why the facts of an inconsistency hold, up to ``limit`` proofs, and by which constraint they clash."""
    ways = [
        way
        for rule in result.compiled.rules
        if not rule.heads and rule.label == found.rule
        for way in Ways(result, None, 0).to_false(rule, (*found.facts, *found.cells))
    ]
    assert ways, f"no constraint {found.rule} for these facts"
    proofs, is_complete = _proofs(result, FALSE, limit, ways)
    return _explanation(result, Status.INCONSISTENCY, None, found.rule, proofs, is_complete, (), prefixes)


def _proofs(
    result: Materialisation, fact: Fact, limit: int, ways_to_false: list[Way] | None = None
) -> tuple[tuple[Proof, ...], bool]:
    """Proofs of a fact that holds, and whether there are none for certain if there are none.

    The search counts what is used twice twice; a reader does not, so the proofs are put in order once more.
    """
    for effort in EFFORTS:
        search = Search(fact, result, effort, ways_to_false)
        proofs = tuple(islice(search.proofs(), limit))
        if proofs:
            break
    return tuple(sorted(proofs, key=lambda proof: proof.size)), search.is_complete


def _explanation(
    result: Materialisation,
    status: Status,
    fact: tuple[str, str, str] | None,
    rule: str,
    proofs: tuple[Proof, ...],
    is_complete: bool,
    unknown: tuple[str, ...],
    prefixes: Prefixes | None,
) -> Explanation:
    known = result.program.prefixes if prefixes is None else prefixes
    return Explanation(
        status, fact, rule, proofs, is_complete, unknown, result.program, result.dictionary, known
    )


def _unknown(index: TripleIndex, fact: Fact) -> list[int]:
    """The terms of a fact that no fact mentions."""
    return [
        term
        for term in dict.fromkeys(fact)
        if not len(index.relation(term))
        and not any(
            relation.has_subject(term) or relation.has_object(term) for _, relation in index.relations()
        )
    ]
