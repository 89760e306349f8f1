"""Inconsistencies: what satisfies the body of a constraint. Results, never exceptions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary.algebra.bindings import Batch
from corollary.plan.compile import CompiledRule, is_virtual
from corollary.terms.dictionary import TermDictionary

Fact = tuple[int, int, int]

MOST_CLASHES = 1000
"""So many clashes of one constraint are spelled out; the others are only counted."""


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """Facts that together contradict a rule, given by its name.

    Facts of virtual relations are among them: what lists and literals add to the explanation.
    """

    rule: str
    facts: tuple[Fact, ...]

    def text(self, dictionary: TermDictionary) -> str:
        """``rule: subject predicate object, NAME(first, second)`` in N-Triples terms."""

        def fact_text(fact: Fact) -> str:
            subject, predicate, value = map(dictionary.decode, fact)
            if is_virtual(fact[1]):
                return f"{predicate}({subject}, {value})"
            return f"{subject} {predicate} {value}"

        return f"{self.rule}: {', '.join(map(fact_text, self.facts))}"


def clashes(rule: CompiledRule, batch: Batch) -> tuple[list[Inconsistency], bool]:
    """The first clashes among the bindings of a constraint's body, and whether these are all.

    Bindings that come to the same facts, such as mirror images, are told once.
    """
    shown = batch.take(np.arange(min(batch.size, 2 * MOST_CLASHES)))
    found: dict[frozenset[Fact], Inconsistency] = {}
    columns = {variable: column.tolist() for variable, column in shown.columns.items()}
    for row in range(shown.size):
        facts = tuple(
            (
                atom.s if atom.s >= 0 else columns[atom.s][row],
                atom.p if atom.p >= 0 else columns[atom.p][row],
                atom.o if atom.o >= 0 else columns[atom.o][row],
            )
            for atom in rule.atoms
        )
        found.setdefault(frozenset(facts), Inconsistency(rule.label, tuple(dict.fromkeys(facts))))
    told = list(found.values())
    return told[:MOST_CLASHES], shown.size == batch.size and len(told) <= MOST_CLASHES
