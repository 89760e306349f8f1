"""What all rules of a program tell together: which module suits each, and which facts are schema.

Whether a module may take a rule can depend on other rules: symmetry belongs to a transitive closure if the
predicate is transitive, replacement of terms to the equality module if the relation is an equivalence. So an
overview is made anew whenever rules come or go, and rules whose module is then another one move.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from corollary.language import Rule
from corollary.modules.datatypes import Interest
from corollary.modules.equality import Equality, replaced_end
from corollary.modules.guards import Guards
from corollary.modules.inclusion import Inclusion, inclusion_shape
from corollary.modules.linear import Linear, linear_shape, linear_shapes
from corollary.modules.transitive import (
    Transitive,
    closed_predicate,
    loopless_predicate,
    mirrored_predicate,
)
from corollary.plan.compile import CompiledRule
from corollary.plan.program import CompiledProgram

FACT, CONSTRAINT, STRATIFIED = "fact", "constraint", "stratified"
"""What takes the place of a module for rules that state facts, conclude false, or are not monotone."""

SCHEMA, RULES = "schema", "rules"
"""The two modules for semi-naive evaluation."""


@dataclass(frozen=True, slots=True)
class Form:
    """The predicates (ids, or guard variables) that a rule closes, closes but for loops, or makes symmetric,
    and the one by which it replaces terms; None where it does not.
    """

    closed: int | None
    loopless: int | None
    mirrored: int | None
    replacing: int | None


class Overview:
    """The rules of a program, seen together.

    ``transitive_constants`` are the constant predicates that are closed. ``schema`` are all guards, and what
    rules without guards derive them from. ``linear_shapes`` are those of the rules that close linearly.
    """

    def __init__(
        self,
        compiled: CompiledProgram,
        list_sources: Collection[int],
        *,
        modular: bool,
        unfit: Collection[Rule],
        before: Overview | None = None,
    ) -> None:
        """Facts of ``list_sources`` are schema too; what was found of single rules ``before`` is kept."""
        self._rdf_type = compiled.rdf_type
        self._modular = modular
        self._unfit = unfit
        self._forms: dict[int, Form] = {}
        if before is not None:  # a rule keeps its number, and no other one gets it
            numbers = {rule.number for rule in compiled.rules}
            self._forms = {number: form for number, form in before._forms.items() if number in numbers}
        forms = [self.form(rule) for rule in compiled.rules]
        closed = {form.closed for form in forms if form.closed is not None and form.closed >= 0}
        loopless = {form.loopless for form in forms if form.loopless is not None}
        replacing = {form.replacing for form in forms if form.replacing is not None}
        self.transitive_constants = closed | loopless
        self._same = min(replacing & {form.mirrored for form in forms} & closed, default=None)
        self.schema = Guards(compiled.rdf_type)
        deriving = [rule for rule in compiled.rules if rule.heads and rule.source.body]
        for rule in deriving:
            self.schema.add(rule)
        self.schema.predicates |= set(list_sources)
        plain = [rule for rule in deriving if not rule.guards]
        size = -1
        while size != (size := len(plain)):
            for rule in [rule for rule in plain if self._is_schema(rule)]:
                plain.remove(rule)
                self.schema.add_atoms(rule.atoms)
        self.linear_shapes = linear_shapes(plain, compiled.rdf_type, self.transitive_constants)

    def is_as(self, other: Overview) -> bool:
        """Whether rules that are in both have the same modules, and the schema is the same."""
        return (
            self.transitive_constants == other.transitive_constants
            and self._same == other._same
            and self.linear_shapes == other.linear_shapes
            and self.schema.is_as(other.schema)
        )

    def is_indifferent_to(self, rule: CompiledRule) -> bool:
        """Whether what all rules tell together is the same with a rule and without it."""
        return (
            len(rule.atoms) > 1  # it is no copy that a linear rule starts from
            and not rule.guards
            and self.form(rule) == Form(None, None, None, None)
            and linear_shape(rule, self._rdf_type) is None
            and not self._is_schema(rule)
        )

    def module_of(self, rule: CompiledRule) -> str:
        """The module that evaluates a rule, by name."""
        if not rule.heads:
            return CONSTRAINT
        if not rule.source.body:
            return FACT
        if not rule.is_monotone:
            return STRATIFIED
        if not self._modular:
            return RULES
        form = self.form(rule)
        if form.closed is not None or form.loopless is not None:
            return Transitive.name
        if form.mirrored in self.transitive_constants:
            return Transitive.name
        if form.replacing is not None and form.replacing == self._same:
            return Equality.name
        if self._is_schema(rule):
            return SCHEMA
        if inclusion_shape(rule, self._rdf_type) is not None:
            return Inclusion.name
        return Linear.name if rule.number in self.linear_shapes else RULES

    def form(self, rule: CompiledRule) -> Form:
        """What a rule by itself may be to modules."""
        if rule.number not in self._forms:
            end = replaced_end(rule)
            self._forms[rule.number] = Form(
                closed_predicate(rule),
                None if rule.source in self._unfit else loopless_predicate(rule),
                mirrored_predicate(rule),
                None if end is None else end[0],
            )
        return self._forms[rule.number]

    def _is_schema(self, rule: CompiledRule) -> bool:
        """Whether a rule leads from constant predicates to schema facts, and to nothing else."""
        return (
            not rule.guards
            and rule.is_monotone
            and all(atom.p >= 0 for atom in rule.atoms)
            and all(head.p >= 0 and self.schema.has(head) for head in rule.heads)
        )


def interest_in_types(compiled: CompiledProgram) -> Interest:
    """Whose types rules look for, if they give types to literals of any datatype.

    A rule that replaces terms by equal ones passes types on, and does not look at them.
    """
    if not compiled.types_literals():
        return Interest.IN_NAMED
    is_open = any(
        (atom.p < 0 and atom.p not in rule.guarded)
        or (atom.p == compiled.rdf_type and atom.o < 0 and atom.o not in rule.guarded)
        for rule in compiled.rules
        if rule.heads and replaced_end(rule) is None
        for atom in (rule.atoms[position] for position in rule.data)
    )
    return Interest.IN_ALL if is_open else Interest.IN_FACTS
