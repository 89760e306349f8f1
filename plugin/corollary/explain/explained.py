"""The result of an explanation as data: the proofs, and the status of the fact."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from corollary.columns import TripleIndex
from corollary.explain.nearest import Near
from corollary.explain.proof import Proof
from corollary.language import Program
from corollary.program.components import Prefixes
from corollary.terms.dictionary import TermDictionary


class Status(Enum):
    """Whether the fact is explicit, inferred or absent, or an inconsistency is explained."""

    EXPLICIT = "explicit"
    INFERRED = "inferred"
    ABSENT = "absent"
    INCONSISTENCY = "inconsistency"


@dataclass(frozen=True)
class Explained:
    """Proofs of a fact, the shortest first. Proofs of an explicit fact do not use the fact itself.

    ``fact`` has N-Triples terms, or is None for an inconsistency, whose constraint is ``rule``. Without
    proofs, ``is_complete`` says whether there are none; if False, the search was given up at its limit:
    ``tuning.MAX_INSTANCES`` rule instances, ``MAX_INSTANCES_IF_EXPLICIT`` for an explicit fact. ``unknown``
    are the terms of an absent fact that occur in no fact. ``facts`` are the explicit facts, which define
    anonymous classes. ``place`` is the place of an inconsistency among others, such as "1 of 14". ``near``
    are the rule instances nearest to an absent fact.
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
    facts: TripleIndex = field(default_factory=TripleIndex, repr=False)
    place: str = ""
    near: tuple[Near, ...] = ()

    @property
    def is_absent(self) -> bool:
        """Whether the fact does not hold."""
        return self.status is Status.ABSENT
