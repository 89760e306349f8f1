"""A compiled program: its rules over ids, and the predicates and classes that they name.

A rule over whole lists is a template: it is compiled once for every length of a short list in the data, and
once for all long lists. The engine treats properties and classes differently. So where a variable stands for
a property, a rule may need a variant with rdf:type in place of the variable (``about_rdf_type``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import count

from corollary.language import (
    RDF_TYPE,
    Builtin,
    Program,
    Rule,
    Triple,
    Variable,
    check,
    constant_text,
    substitute,
)
from corollary.language.list_patterns import (
    along,
    has_list_pattern,
    has_long_form,
    list_predicates,
    unroll,
    with_cells,
)
from corollary.language.tuning import MAX_ITEMS_UNROLLED
from corollary.program.compile import CompiledRule, compile_rule
from corollary.program.edges import OwnEdges, names_classes, nodes_derived, nodes_read
from corollary.terms.dictionary import TermDictionary

LIST_BUILTINS = frozenset(("MEMBER", "REPEATED", "READING", "CELL", "LONG"))
VALUE_BUILTINS = frozenset(("VALUE", "ILL_TYPED", "SAME_VALUE", "DIFFERENT_VALUE"))


@dataclass(frozen=True, slots=True)
class ProgramChange:
    """The new compiled program, the rules ``removed`` from the old one, and those ``inserted``.

    The changed rules are *leaves* if they are monotone, have heads and body atoms, name all their predicates
    and classes, and no rule with a head reads what they derive, in either program. A rule with a variable
    predicate may read anything: beside one, no rule is a leaf. Beside one that reads types by a variable
    class, no rule is that derives a type.
    """

    program: CompiledProgram
    removed: list[CompiledRule]
    inserted: list[CompiledRule]
    are_leaves: bool = field(init=False)

    def __post_init__(self) -> None:
        changed = (*self.removed, *self.inserted)
        are_leaves = all(map(self._is_simple, changed)) and self._is_unread(changed)
        object.__setattr__(self, "are_leaves", are_leaves)

    def _is_simple(self, rule: CompiledRule) -> bool:
        is_named = not rule.is_open and names_classes(rule, self.program.rdf_type)
        return is_named and rule.is_monotone and bool(rule.heads and rule.atoms)

    def _is_unread(self, changed: Sequence[CompiledRule]) -> bool:
        rdf_type = self.program.rdf_type
        derived = {node for rule in changed for node in nodes_derived(rule, rdf_type)}
        if any(rdf_type in rule.derives for rule in changed):
            derived.add(rdf_type)  # read by rules about any class
        others = (rule for rule in (*self.program.rules, *self.removed) if rule.heads)
        return all(not rule.is_open and derived.isdisjoint(nodes_read(rule, rdf_type)) for rule in others)


class CompiledProgram:
    """The rules of a program over the ids of one dictionary."""

    def __init__(self, program: Program, dictionary: TermDictionary, *, unrolls_all: bool = False) -> None:
        """Compile the rules. Raises what ``check`` raises if the program is unsafe.

        With ``unrolls_all``, list templates are unrolled for long lists, too.
        """
        check(program)
        self.max_unrolled = None if unrolls_all else MAX_ITEMS_UNROLLED
        self.source = program
        self._builtins = _builtins(program)
        self.dictionary = dictionary
        self.rdf_type = dictionary.encode(constant_text(RDF_TYPE))
        self._numbers = count()  # shared with changed programs: no two rules ever have the same number
        self._origins: dict[int, Rule] = {}
        self._templates: list[Rule] = []
        self._lengths: set[int] = set()
        self.rules: list[CompiledRule] = []
        self.own_edges: dict[int, OwnEdges] = {}  # filled by program.dependencies
        self._take(program)

    def _take(self, rules: Iterable[Rule]) -> list[CompiledRule]:
        """Compile rules and append them to ``rules``; a list template for every known length but 0."""
        new: list[CompiledRule] = []
        for rule in rules:
            if has_list_pattern(rule):
                self._templates.append(rule)
                forms = dict.fromkeys(self._form(rule, length) for length in sorted(self._lengths) if length)
                new += [self._of_form(rule, form) for form in forms]
            else:
                new.append(self._compile(with_cells(rule), rule))
        self.rules += new
        return new

    def _form(self, rule: Rule, length: int) -> int | None:
        """The length that a template is unrolled for, given that of a list; None: the form for long lists."""
        most = self.max_unrolled
        return length if most is None or length <= most or not has_long_form(rule) else None

    def _of_form(self, rule: Rule, form: int | None) -> CompiledRule:
        return self._compile(along(rule) if form is None else unroll(rule, form), rule)

    def _compile(self, rule: Rule, origin: Rule) -> CompiledRule:
        number = next(self._numbers)
        self._origins[number] = origin
        return compile_rule(rule, number, self.dictionary)

    def forms_of(self, rule: Rule) -> list[CompiledRule]:
        """The compiled forms of a rule of the program: several of a rule with a list pattern."""
        return [form for form in self.rules if self._origins[form.number] == rule]

    def changed(self, program: Program) -> ProgramChange:
        """The change from this program to another one over the same dictionary.

        Rules in both programs keep their numbers. Rules are equal if their heads and bodies are; object
        identity is compared first, because it is cheaper. Raises what ``check`` raises.
        """
        present = [*(self._origins[rule.number] for rule in self.rules), *self._templates]
        shared = set(map(id, present)) & set(map(id, program))
        others = [rule for rule in program if id(rule) not in shared]
        known, wanted = {rule for rule in present if id(rule) not in shared}, set(others)
        new = [rule for rule in others if rule not in known]
        check(Program(tuple(new)))

        def is_kept(rule: Rule) -> bool:
            return id(rule) in shared or rule in wanted

        other = copy(self)
        other.rules = [rule for rule in self.rules if is_kept(self._origins[rule.number])]
        other._templates = [rule for rule in self._templates if is_kept(rule)]
        other._origins = {rule.number: self._origins[rule.number] for rule in other.rules}
        other._lengths, other.source, other._builtins = set(self._lengths), program, _builtins(program)
        removed = [rule for rule in self.rules if rule.number not in other._origins]
        other.own_edges = {n: edges for n, edges in self.own_edges.items() if n in other._origins}
        return ProgramChange(other, removed, other._take(new))

    def without_forms(self) -> CompiledProgram:
        """This program as if it were compiled anew: without the forms of its rules with list patterns."""
        templates = set(map(id, self._templates))
        other = copy(self)
        other.rules = [rule for rule in self.rules if id(self._origins[rule.number]) not in templates]
        other._origins = {rule.number: self._origins[rule.number] for rule in other.rules}
        other._lengths = set()
        other.own_edges = {n: edges for n, edges in self.own_edges.items() if n in other._origins}
        return other

    def written(self, rule: CompiledRule) -> Rule:
        """The source of a compiled rule, with its list patterns."""
        return self._origins[rule.number]

    @property
    def has_strata(self) -> bool:
        """Whether a rule with a head has negation or aggregates."""
        return any(not rule.is_monotone and rule.heads for rule in self.rules)

    @property
    def lengths(self) -> frozenset[int]:
        """The list lengths for which templates were unrolled."""
        return frozenset(self._lengths)

    def unroll(self, lengths: Iterable[int]) -> list[CompiledRule]:
        """Compile the list templates for new lengths. Returns the new rules, which ``rules`` has, too.

        Templates are compared by identity: of two equal ones, ``changed`` may remove either.
        """
        new: list[CompiledRule] = []
        others = sorted(set(lengths) - self._lengths)
        if not others:
            return new
        known = {(id(rule), self._form(rule, length)) for rule in self._templates for length in self._lengths}
        for length in others:
            for rule in self._templates if length else ():
                form = self._form(rule, length)
                if (id(rule), form) not in known:
                    known.add((id(rule), form))
                    new.append(self._of_form(rule, form))
        self._lengths |= set(others)
        self.rules += new
        return new

    @property
    def unrolls_long_lists(self) -> bool:
        """Whether a template is unrolled for lists with more than ``max_unrolled`` items, too."""
        return self.max_unrolled is None or not all(map(has_long_form, self._templates))

    def about_rdf_type(self, rule: CompiledRule, variables: Iterable[int]) -> list[CompiledRule]:
        """One variant of the rule per variable, with rdf:type in its place. Constants are skipped.

        A variant covers a part of the rule's instances, and has the rule's number.
        """
        names = [Variable(rule.names[-1 - variable]) for variable in variables if variable < 0]
        return [
            compile_rule(substitute(rule.source, {name: RDF_TYPE}), rule.number, self.dictionary)
            for name in dict.fromkeys(names)
        ]

    def uses(self, builtins: frozenset[str]) -> bool:
        """Whether a rule mentions one of these relations. A list pattern mentions all ``LIST_BUILTINS``."""
        if builtins & LIST_BUILTINS and self._templates:
            return True
        return not builtins.isdisjoint(self._builtins)

    def types_literals(self) -> bool:
        """Whether the datatype in a rule's ``VALUE`` is a variable that no triple of the body binds."""
        for rule in self.source:
            named = {term for element in rule.body if isinstance(element, Triple) for term in element.terms}
            for element in rule.body:
                if isinstance(element, Builtin) and element.name == "VALUE":
                    datatype = element.arguments[1]
                    if isinstance(datatype, Variable) and datatype not in named:
                        return True
        return False

    def list_predicates(self) -> frozenset[int] | None:
        """The predicates whose objects the rules read as lists; None if any list cell may start a list."""
        found = {predicate for rule in self.source for predicate in list_predicates(rule)}
        if None in found:
            return None
        return frozenset(
            self.dictionary.encode(constant_text(p))
            for p in found
            if p is not None and not isinstance(p, Variable)
        )

    def predicates(self) -> set[int]:
        """The constant predicates of all positive body atoms."""
        return {atom.p for rule in self.rules for atom in rule.atoms if atom.p >= 0}

    def classes(self) -> set[int]:
        """The constant classes of all positive body atoms."""
        return {
            atom.o for rule in self.rules for atom in rule.atoms if atom.p == self.rdf_type and atom.o >= 0
        }


def _builtins(rules: Iterable[Rule]) -> set[str]:
    """The names of the virtual relations that the bodies mention."""
    return {
        element.name
        for rule in map(with_cells, rules)
        for element in rule.body
        if isinstance(element, Builtin)
    }
