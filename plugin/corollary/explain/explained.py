"""What was explained, as data: proofs, and what is known of the fact."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from corollary.explain.proof import Proof
from corollary.language import Program
from corollary.program.components import Prefixes
from corollary.terms.dictionary import TermDictionary


class Status(Enum):
    """What is known of a fact before anything is proved."""

    EXPLICIT = "explicit"
    INFERRED = "inferred"
    ABSENT = "absent"
    INCONSISTENCY = "inconsistency"


@dataclass(frozen=True)
class Explained:
    """Proofs of a fact, the shortest first; those of an explicit fact do not use it.

    ``fact`` is in N-Triples terms; None for an inconsistency, whose constraint is ``rule``. If there is no
    proof, ``is_complete`` says whether that is certain: the search ends after some 100,000 rule instances.
    ``unknown`` are the terms that no fact mentions.
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

    @property
    def is_absent(self) -> bool:
        """Whether the fact does not hold."""
        return self.status is Status.ABSENT
