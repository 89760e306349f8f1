"""Which module evaluates which rule of a program.

Modules claim rules in the order of the registry. What a module claims can depend on other rules: symmetry
belongs to a transitive closure if another rule closes the predicate. So all rules are assigned anew whenever
one comes or goes that a module ``minds``, and rules whose module is another one then move.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from corollary.language import Rule
from corollary.modules.guards import Guards
from corollary.modules.module import Module
from corollary.modules.rule_set import RuleSet
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import CompiledProgram

FACT, CONSTRAINT, STRATIFIED = "fact", "constraint", "stratified"
"""What takes the place of a module for rules that state facts, conclude false, or are not monotone."""

REASONS = {
    FACT: "rules without a body: what they state",
    STRATIFIED: "negation or aggregates: after all that they depend on",
    CONSTRAINT: "no head: evaluated when inconsistencies are asked for",
}
"""What EXPLAIN says of these."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The module that evaluates a rule, by name."""

    rule: CompiledRule
    module: str


class ModuleAssignment:
    """The rules of a program, seen together: which are schema, and which module takes which."""

    def __init__(
        self,
        program: CompiledProgram,
        kinds: Sequence[type[Module]],
        rejected: Collection[Rule],
        before: ModuleAssignment | None = None,
    ) -> None:
        """``kinds`` of modules; those that are optional are not offered ``rejected`` rules.

        What was recognised ``before`` of single rules is kept.
        """
        self._kinds = kinds
        self._rejected = rejected
        schema = _schema(program, kinds)
        self.rules: RuleSet = RuleSet(program, schema, None if before is None else before.rules)
        self._module_of: dict[int, str] = {}
        self._claim(self.rules.rules)

    @property
    def schema(self) -> Guards:
        """Which facts are schema."""
        return self.rules.schema

    def module_of(self, rule: CompiledRule) -> str:
        """The name of the module that evaluates a rule, which may be one that no other rule minds."""
        if not rule.heads:
            return CONSTRAINT
        if not rule.source.body:
            return FACT
        if not rule.is_monotone:
            return STRATIFIED
        if rule.number not in self._module_of:
            self._claim([rule])
        return self._module_of[rule.number]

    def is_indifferent_to(self, rule: CompiledRule) -> bool:
        """Whether all other rules have the same modules, and the schema is the same, without a rule."""
        makes_schema = bool(rule.guards) or self.rules.is_schema(rule)
        return not makes_schema and not any(kind.minds(rule, self.rules) for kind in self._kinds)

    def is_as(self, other: ModuleAssignment) -> bool:
        """Whether rules that are in both have the same modules, and the schema is the same."""
        both = self._module_of.keys() & other._module_of.keys()
        return self.schema.is_as(other.schema) and all(
            self._module_of[number] == other._module_of[number] for number in both
        )

    def _claim(self, offered: Sequence[CompiledRule]) -> None:
        """Let modules take rules."""
        for kind in self._kinds:
            eligible = offered
            if kind.is_optional and self._rejected:
                eligible = [rule for rule in offered if rule.source not in self._rejected]
            taken = {rule.number for rule in kind.claim(eligible, self.rules)}
            if taken:
                self._module_of.update(dict.fromkeys(taken, kind.name))
                offered = [rule for rule in offered if rule.number not in taken]


def _schema(program: CompiledProgram, kinds: Sequence[type[Module]]) -> Guards:
    """All guards, and what rules without guards derive them from."""
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
