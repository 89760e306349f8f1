"""The assignment of rules to modules.

Modules claim rules in the order of the registry. A claim can depend on other rules: the transitive module
takes a symmetric rule if another rule closes its predicate. So all rules are assigned again when a rule is
added or removed that a module ``minds``, or that makes schema. Rules whose module changed then move to it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from corollary.language import Rule
from corollary.modules.guards import Guards
from corollary.modules.module import Module
from corollary.modules.recursive_aggregate import LeastValues
from corollary.modules.rule_set import RuleSet
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import CompiledProgram
from corollary.program.recursion import recursive_aggregate

FACT, CONSTRAINT, STRATIFIED = "fact", "constraint", "stratified"
"""Names in place of a module: for rules without body, constraints, and rules with negation or aggregates."""

REASONS = {
    FACT: "rules without a body: what they state",
    STRATIFIED: "negation or aggregates: after all that they depend on",
    LeastValues.name: LeastValues.why,
    CONSTRAINT: "no head: evaluated when inconsistencies are asked for",
}
"""EXPLAIN's reasons for these names."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A rule, and the name of the module that evaluates it."""

    rule: CompiledRule
    module: str


class ModuleAssignment:
    """For all rules of a program: the module of each, and the facts that are schema."""

    def __init__(
        self,
        program: CompiledProgram,
        kinds: Sequence[type[Module]],
        rejected: Collection[Rule],
        before: ModuleAssignment | None = None,
    ) -> None:
        """Let modules of these ``kinds`` claim the rules, in this order.

        ``rejected`` rules are not offered to optional modules. Shapes recognised ``before`` are reused.
        """
        self._kinds = kinds
        self._rejected = rejected
        self.schema = _schema(program, kinds)
        """The facts that are schema."""
        self.rules: RuleSet = RuleSet(program, self.schema, None if before is None else before.rules)
        self._module_of: dict[int, str] = {}
        self._claim(self.rules.rules)

    def module_of(self, rule: CompiledRule) -> str:
        """The name of the module that evaluates a rule.

        Precondition: the rule is in the program, or ``is_indifferent_to`` holds for it.
        """
        if not rule.heads:
            return CONSTRAINT
        if not rule.source.body:
            return FACT
        if not rule.is_monotone:
            return STRATIFIED if recursive_aggregate(rule) is None else LeastValues.name
        if rule.number not in self._module_of:
            self._claim([rule])
        return self._module_of[rule.number]

    def is_indifferent_to(self, rule: CompiledRule) -> bool:
        """Whether this rule affects neither the modules of other rules nor the schema."""
        makes_schema = bool(rule.guards) or self.rules.is_schema(rule)
        return not makes_schema and not any(kind.minds(rule, self.rules) for kind in self._kinds)

    def is_as(self, other: ModuleAssignment) -> bool:
        """Whether both have the same schema, and the same module for each rule that is in both."""
        both = self._module_of.keys() & other._module_of.keys()
        return self.schema.is_as(other.schema) and all(
            self._module_of[number] == other._module_of[number] for number in both
        )

    def _claim(self, offered: Sequence[CompiledRule]) -> None:
        """Offer rules to the modules in order; each takes some, the next is offered the rest."""
        for kind in self._kinds:
            eligible = offered
            if kind.is_optional and self._rejected:
                eligible = [rule for rule in offered if rule.source not in self._rejected]
            taken = {rule.number for rule in kind.claim(eligible, self.rules)}
            if taken:
                self._module_of.update(dict.fromkeys(taken, kind.name))
                offered = [rule for rule in offered if rule.number not in taken]


def _schema(program: CompiledProgram, kinds: Sequence[type[Module]]) -> Guards:
    """All guards, ``Module.schema_predicates``, and what leads to these by rules without guards.

    A fixpoint: the premises of a rule without guards are schema if all its conclusions are.
    """
    schema = Guards(program.rdf_type)
    deriving = [rule for rule in program.rules if rule.heads and rule.source.body]
    for rule in deriving:
        schema.add(rule)
    for kind in kinds:
        schema.predicates |= set(kind.schema_predicates(program))
    rules = RuleSet(program, schema)
    left = [rule for rule in deriving if not rule.guards]
    size = -1
    while size != (size := len(left)):
        for rule in [rule for rule in left if rules.is_schema(rule)]:
            left.remove(rule)
            schema.add_atoms(rule.atoms)
    return schema
