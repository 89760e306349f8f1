"""Explanations: why a fact holds, or what makes an inconsistency, as proofs that can be printed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import Any

from corollary.evaluate import Inconsistency, Materialisation
from corollary.explain.proof import FALSE, Fact, Proof
from corollary.explain.search import Search
from corollary.explain.ways import Ways
from corollary.index.triples import TripleIndex
from corollary.language import Program
from corollary.terms.dictionary import TermDictionary

Prefixes = tuple[tuple[str, str], ...]

FEW_WAYS = 100
"""Of a rule's instances for one fact so many are looked at first; all of them, if these lead nowhere."""


class Status(Enum):
    """What is known of a fact before anything is proved."""

    EXPLICIT = "explicit"
    INFERRED = "inferred"
    ABSENT = "absent"
    INCONSISTENCY = "inconsistency"


@dataclass(frozen=True)
class Explanation:
    """Proofs of a fact, the shortest first; those of an explicit fact do not use it.

    ``fact`` is in N-Triples terms; None for an inconsistency, whose constraint is ``rule``. If there is no
    proof, ``is_complete`` says whether that is certain: the search ends after some 100,000 rule instances.
    ``unknown`` are the terms that no fact mentions. ``str``, ``as_dict``, ``dot`` and ``html`` print it.
    """

    status: Status
    fact: tuple[str, str, str] | None
    rule: str
    proofs: tuple[Proof, ...]
    is_complete: bool
    unknown: tuple[str, ...]
    program: Program = field(repr=False)
    dictionary: TermDictionary = field(repr=False)
    prefixes: Prefixes = field(default=(), repr=False)

    def __str__(self) -> str:
        from corollary.explain.text import text

        return text(self)

    def as_dict(self) -> dict[str, Any]:
        """What ``docs/explanations.md`` describes: for JSON."""
        from corollary.explain.documents import document

        return document(self)

    def dot(self) -> str:
        """A Graphviz picture of all proofs."""
        from corollary.explain.dot import dot

        return dot(self)

    def html(self) -> str:
        """A piece of HTML: proofs to fold and unfold."""
        from corollary.explain.html import html

        return html(self)

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
        for rule in result.evaluation.compiled.rules
        if not rule.heads and rule.label == found.rule
        for way in Ways(result, None).to_false(rule, found.facts)
    ]
    assert ways, f"no constraint {found.rule} for these facts"
    proofs: tuple[Proof, ...] = ()
    is_complete = True
    for most in (FEW_WAYS, None):
        search = Search(FALSE, Ways(result, most), result.explicit, ways)
        proofs, is_complete = tuple(islice(search.proofs(), limit)), search.is_complete
        if proofs:
            break
    return _explanation(
        result, Status.INCONSISTENCY, None, found.rule, _by_size(proofs), is_complete, (), prefixes
    )


def _proofs(result: Materialisation, fact: Fact, limit: int) -> tuple[tuple[Proof, ...], bool]:
    """Proofs of a fact that holds, and whether there are none for certain if there are none."""
    for most in (FEW_WAYS, None):
        search = Search(fact, Ways(result, most), result.explicit)
        proofs = tuple(islice(search.proofs(), limit))
        if proofs or not search.is_complete:
            break
    return _by_size(proofs), search.is_complete


def _by_size(proofs: tuple[Proof, ...]) -> tuple[Proof, ...]:
    """The search counts what is used twice twice, a reader does not."""
    return tuple(sorted(proofs, key=lambda proof: proof.size))


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
