"""Strata."""

from __future__ import annotations

from dataclasses import dataclass

from corollary.index.triples import TripleIndex
from corollary.plan.program import CompiledProgram


@dataclass(frozen=True, slots=True)
class Strata:
    """Numbers of the rules that are not monotone, in the order in which they may join in."""

    rules: tuple[tuple[int, ...], ...]

    @staticmethod
    def none() -> Strata:
        return Strata(())

    def __bool__(self) -> bool:
        return bool(self.rules)


def stratify(program: CompiledProgram, facts: TripleIndex) -> Strata:
    return Strata((tuple(rule.number for rule in program.rules if not rule.is_monotone and rule.heads),))
