"""The rules of a program that modules may claim, and the shapes recognised in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from corollary.modules.guards import Guards
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import (
    closed_predicate,
    copied_predicates,
    loopless_predicate,
    replaced_end,
    symmetric_predicate,
)

Recognised = TypeVar("Recognised")


class RuleSet:
    """The monotone rules of a program with a body and a head, and the recognised shapes of single rules.

    ``schema`` has all guards, and the facts from which rules without guards derive guards.
    """

    def __init__(self, program: CompiledProgram, schema: Guards, before: RuleSet | None = None) -> None:
        """Shapes recognised by ``before`` are kept, for rules that both programs have."""
        self.program = program
        self.schema = schema
        self.rules = [rule for rule in program.rules if rule.heads and rule.source.body and rule.is_monotone]
        self._known: dict[int, dict[Callable[..., Any], Any]] = {}
        if before is not None:  # the number of a rule is never given to another rule
            numbers = {rule.number for rule in program.rules}
            self._known = {number: known for number, known in before._known.items() if number in numbers}

    @property
    def rdf_type(self) -> int:
        """The id of rdf:type."""
        return self.program.rdf_type

    def may_compress(self, predicate: int) -> bool:
        """Whether the facts of a predicate need not be listed. All must be if the program has strata."""
        return predicate not in self._listed and not self.program.has_strata

    @cached_property
    def equivalences(self) -> frozenset[int]:
        """The constant relations that rules make symmetric and transitive."""
        symmetric = {self.recognised(symmetric_predicate, rule) for rule in self.rules}
        closed = {self.recognised(closed_predicate, rule) for rule in self.rules}
        return frozenset({predicate for predicate in symmetric & closed if predicate is not None})

    @cached_property
    def equalities(self) -> frozenset[int]:
        """The equivalences by which rules replace terms."""
        ends = (self.recognised(replaced_end, rule) for rule in self.rules)
        return self.equivalences & {end[0] for end in ends if end is not None}

    @cached_property
    def _listed(self) -> frozenset[int]:
        """The predicates that must be listed: rdf:type, and those of guards.

        Guards of replacement rules do not count: they are equal terms, few of which are predicates.
        """
        ends = {rule.number: self.recognised(replaced_end, rule) for rule in self.rules}
        replacing = {number for number, end in ends.items() if end is not None and end[0] in self.equalities}
        rules = (rule for rule in self.program.rules if rule.number not in replacing)
        return frozenset({self.rdf_type, *(rule.atoms[i].p for rule in rules for i in rule.guards)})

    def recognised(
        self, recognise: Callable[..., Recognised], rule: CompiledRule, *arguments: Any
    ) -> Recognised:
        """The result of a function of ``program.shapes`` for a rule. It is computed once per rule."""
        known = self._known.setdefault(rule.number, {})
        if recognise not in known:
            known[recognise] = recognise(rule, *arguments)
        found: Recognised = known[recognise]
        return found

    def is_schema(self, rule: CompiledRule) -> bool:
        """Whether a monotone rule without guards and variable predicates concludes schema facts only."""
        return (
            not rule.guards
            and rule.is_monotone
            and all(atom.p >= 0 for atom in rule.atoms)
            and all(head.p >= 0 and self.schema.has(head) for head in rule.heads)
        )

    @cached_property
    def closed(self) -> frozenset[int]:
        """The constant predicates that a rule closes transitively, with or without ``FILTER(?x != ?z)``."""
        shapes = (closed_predicate, loopless_predicate)
        found = {self.recognised(shape, rule) for rule in self.rules for shape in shapes}
        return frozenset(p for p in found if p is not None and p >= 0)

    @cached_property
    def copied(self) -> frozenset[tuple[int, int]]:
        """The pairs (p, q) of constant predicates with a rule ``q[?x, ?y] :- p[?x, ?y]``."""
        found = {self.recognised(copied_predicates, rule) for rule in self.rules}
        return frozenset(pair for pair in found if pair is not None)
