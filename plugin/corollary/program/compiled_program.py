"""A program compiled: its rules over ids, and what its constants say about the data it needs.

Rules over whole lists are compiled once for every list length that turns up. A rule that lets a
variable stand for a property gets a variant in which it is rdf:type where the engine treats
properties and classes apart (``about_rdf_type``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field

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
from corollary.language.list_patterns import has_list_pattern, list_predicates, unroll, with_cells
from corollary.program.compile import CompiledRule, compile_rule
from corollary.program.edges import OwnEdges
from corollary.terms.dictionary import TermDictionary

LIST_BUILTINS = frozenset(("MEMBER", "REPEATED", "READING", "CELL"))
VALUE_BUILTINS = frozenset(("VALUE", "ILL_TYPED", "SAME_VALUE", "DIFFERENT_VALUE"))


@dataclass(frozen=True, slots=True)
class ProgramChange:
    """A compiled program that takes the place of another, that one's rules that went, and those that came.

    The changed rules are *leaves* if they are monotone, name all predicates and no classes, and no rule of
    either program reads what they derive.
    """

    program: CompiledProgram
    gone: list[CompiledRule]
    came: list[CompiledRule]
    are_leaves: bool = field(init=False)

    def __post_init__(self) -> None:
        changed = (*self.gone, *self.came)
        are_leaves = all(map(self._is_simple, changed)) and self._is_unread(changed)
        object.__setattr__(self, "are_leaves", are_leaves)

    def _is_simple(self, rule: CompiledRule) -> bool:
        is_named = not rule.is_open and self.program.rdf_type not in rule.reads | rule.derives
        return is_named and rule.is_monotone and bool(rule.heads and rule.atoms)

    def _is_unread(self, changed: Sequence[CompiledRule]) -> bool:
        derived = {p for rule in changed for p in rule.derives}
        others = (rule for rule in (*self.program.rules, *self.gone) if rule.heads)
        return all(not rule.is_open and derived.isdisjoint(rule.reads) for rule in others)


class CompiledProgram:
    """The rules of a program over the ids of one dictionary."""

    def __init__(self, program: Program, dictionary: TermDictionary) -> None:
        """Raises what ``check`` raises if the program is unsafe."""
        check(program)
        self.source = program
        self._builtins = _builtins(program)
        self.dictionary = dictionary
        self.rdf_type = dictionary.encode(constant_text(RDF_TYPE))
        self._count = 0
        self._origins: dict[int, Rule] = {}
        self._templates: list[Rule] = []
        self._lengths: set[int] = set()
        self.rules: list[CompiledRule] = []
        self.own_edges: dict[int, OwnEdges] = {}  # found by plan.dependencies
        self._take(program)

    def _take(self, rules: Iterable[Rule]) -> list[CompiledRule]:
        """Compile rules as they stand, or for every list length so far; they join the others."""
        new: list[CompiledRule] = []
        for rule in rules:
            if has_list_pattern(rule):
                self._templates.append(rule)
                new += [self._compile(unroll(rule, n), rule) for n in sorted(self._lengths) if n]
            else:
                new.append(self._compile(with_cells(rule), rule))
        self.rules += new
        return new

    def _compile(self, rule: Rule, origin: Rule) -> CompiledRule:
        self._origins[self._count] = origin
        self._count += 1
        return compile_rule(rule, self._count - 1, self.dictionary)

    def changed(self, program: Program) -> ProgramChange:
        """Another program over the ids of the same dictionary; rules that stay keep their numbers.

        Raises what ``check`` raises. Rules are the same if heads and bodies are; most that stay are so as
        objects, and heads and bodies are looked at only where they are not.
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
        gone = [rule for rule in self.rules if rule.number not in other._origins]
        other.own_edges = {n: edges for n, edges in self.own_edges.items() if n in other._origins}
        return ProgramChange(other, gone, other._take(new))

    def written(self, rule: CompiledRule) -> Rule:
        """A rule of this program as it was written, with its list patterns."""
        return self._origins[rule.number]

    @property
    def has_strata(self) -> bool:
        """Whether there are rules with negation or aggregates."""
        return any(not rule.is_monotone and rule.heads for rule in self.rules)

    @property
    def lengths(self) -> frozenset[int]:
        """The list lengths that rules were unrolled for."""
        return frozenset(self._lengths)

    def unroll(self, lengths: Iterable[int]) -> list[CompiledRule]:
        """The rules over lists of these lengths that were not there yet; they join ``rules``."""
        new = [
            self._compile(unroll(rule, length), rule)
            for length in sorted(set(lengths) - self._lengths)
            if length
            for rule in self._templates
        ]
        self._lengths |= set(lengths)
        self.rules += new
        return new

    def about_rdf_type(self, rule: CompiledRule, variables: Iterable[int]) -> list[CompiledRule]:
        """For each of the variables (constants are passed over) the rule with rdf:type in its place.

        Such a variant stands for a part of the rule, and has its number.
        """
        names = [Variable(rule.names[-1 - variable]) for variable in variables if variable < 0]
        return [
            compile_rule(substitute(rule.source, {name: RDF_TYPE}), rule.number, self.dictionary)
            for name in dict.fromkeys(names)
        ]

    def uses(self, builtins: frozenset[str]) -> bool:
        """Whether a rule mentions any of these virtual relations, or a list pattern for those of lists."""
        if builtins & LIST_BUILTINS and self._templates:
            return True
        return not builtins.isdisjoint(self._builtins)

    def types_literals(self) -> bool:
        """Whether a rule asks for the VALUE of literals without a triple that names the datatype."""
        for rule in self.source:
            named = {term for element in rule.body if isinstance(element, Triple) for term in element.terms}
            for element in rule.body:
                if isinstance(element, Builtin) and element.name == "VALUE":
                    datatype = element.arguments[1]
                    if isinstance(datatype, Variable) and datatype not in named:
                        return True
        return False

    def list_predicates(self) -> frozenset[int] | None:
        """The predicates whose objects are taken for lists; None if any cell may be."""
        found = {predicate for rule in self.source for predicate in list_predicates(rule)}
        if None in found:
            return None
        return frozenset(
            self.dictionary.encode(constant_text(p))
            for p in found
            if p is not None and not isinstance(p, Variable)
        )

    def predicates(self) -> set[int]:
        """The constant predicates of all bodies."""
        return {atom.p for rule in self.rules for atom in rule.atoms if atom.p >= 0}

    def classes(self) -> set[int]:
        """The constant classes of all bodies."""
        return {
            atom.o for rule in self.rules for atom in rule.atoms if atom.p == self.rdf_type and atom.o >= 0
        }


def _builtins(rules: Iterable[Rule]) -> set[str]:
    """The names of the virtual relations that rules mention."""
    return {
        element.name
        for rule in map(with_cells, rules)
        for element in rule.body
        if isinstance(element, Builtin)
    }
