"""The modules of an engine, and the rules of each."""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Sequence

from corollary.columns import Candidates, TripleIndex
from corollary.evaluate.assignment import FACT, Assignment
from corollary.execute.batches import Batch
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import emit, extend
from corollary.modules.module import Module
from corollary.modules.semi_naive import OtherRules
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import CompiledProgram


class RuleModules:
    """Modules in the order of their turns. A module is made for its first rule and removed with its last one.

    Modules that the program needs even without rules (``Module.is_needed``) are always there.
    Invariant: ``assignments`` has every rule of the program once, in the order of arrival; ``variants`` the
    parts of rules that are left to semi-naive evaluation.
    """

    def __init__(
        self, program: CompiledProgram, kinds: Sequence[type[Module]], context: ExecutionContext
    ) -> None:
        """Make the modules that are needed even without rules."""
        self._context = context
        self._kinds = {kind.name: kind for kind in kinds}
        self._by_rule: dict[int, Module] = {}
        self.assignments: list[Assignment] = []
        self.variants: list[Assignment] = []
        self.modules: list[Module] = []
        self._shared: dict[str, Module] = {}  # those that take any number of rules, by name
        for kind in kinds:
            if kind.is_needed(program):
                self._place(kind.make(program, self._context))

    def assign(self, rule: CompiledRule, name: str, program: CompiledProgram, stated: Candidates) -> None:
        """Add a rule to the module of that name. The heads of a rule without body are added to ``stated``."""
        self.assignments.append(Assignment(rule, name))
        if name == FACT:
            emit(rule.heads, Batch.start(), stated)
        elif name in self._kinds:
            module = self._module(name, program)
            module.add_rule(rule)
            self._by_rule[rule.number] = module
            for variant in module.variants(rule, program):
                self._module(OtherRules.name, program).add_rule(variant)
                self.variants.append(Assignment(variant, OtherRules.name))

    def unassign(self, removed: Collection[CompiledRule], facts: TripleIndex) -> Candidates:
        """Remove rules from their modules. Returns at least their conclusions from ``facts`` in one step."""
        numbers = {rule.number for rule in removed}
        lost: Candidates = {}
        for assignment in self.assignments:
            if assignment.module == FACT and assignment.rule.number in numbers:
                emit(assignment.rule.heads, Batch.start(), lost)
        for module in list(self.modules):
            if any(rule.number in numbers for rule in module.rules):
                extend(lost, module.remove_rules(numbers, facts))
                if not module.rules:
                    self.modules.remove(module)
                    if not module.has_one_rule:
                        del self._shared[module.name]
        self.assignments = [a for a in self.assignments if a.rule.number not in numbers]
        self.variants = [a for a in self.variants if a.rule.number not in numbers]
        for number in numbers:
            self._by_rule.pop(number, None)
        return lost

    def module_of(self, rule: CompiledRule) -> Module | None:
        """The module of a rule; None if no module has it."""
        return self._by_rule.get(rule.number)

    def keeps_state(self, name: str) -> bool:
        """Whether modules of that name keep state about facts; if so, a move of a rule affects facts."""
        return name not in self._kinds or self._kinds[name].keeps_state

    def _module(self, name: str, program: CompiledProgram) -> Module:
        """The module of that name for a new rule, made if there is none, or if it takes only one rule."""
        kind = self._kinds[name]
        if name in self._shared:
            return self._shared[name]
        module = kind.make(program, self._context)
        self._place(module)
        return module

    def _place(self, module: Module) -> None:
        """Insert a module by its turn, after those with the same turn."""
        insort(self.modules, module, key=lambda other: other.turn)
        if not module.has_one_rule:
            self._shared[module.name] = module
