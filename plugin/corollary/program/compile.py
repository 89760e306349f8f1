"""Rules with terms turned into ids: what plans are made from.

In an ``Atom`` a constant is its term id and a variable is a negative number, so that an atom is
three integers. Virtual relations are predicates of kind RESERVED, hence ``MEMBER(?l, ?x)`` and
``[?l, :member, ?x]`` are the same kind of atom.

A body is split in two. *Guards* are atoms that bind what other atoms use as predicate or class:
the schema part of a profile's template. What they match is the table of a family: one row is one
rule instance. All other atoms are over *data*. The split steers only the order of joins and what is
printed as one instance; evaluation treats guards as the body atoms they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from corollary.kernels.sorted import Column
from corollary.language import (
    Aggregate,
    Bind,
    Builtin,
    Filter,
    Not,
    Rule,
    Term,
    Triple,
    Variable,
    constant_text,
    format_rule,
    variables,
)
from corollary.terms.dictionary import KIND_SHIFT, Kind, TermDictionary

RDF_TYPE_TEXT = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


@dataclass(frozen=True, slots=True)
class Atom:
    """``[s, p, o]``: an id where it is >= 0, the variable number -1 - x where it is negative."""

    s: int
    p: int
    o: int
    variables: frozenset[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", frozenset(term for term in self.terms if term < 0))

    @property
    def terms(self) -> tuple[int, int, int]:
        return (self.s, self.p, self.o)


@dataclass(frozen=True, slots=True)
class Negation:
    """No facts match these atoms, given the shared variables."""

    atoms: tuple[Atom, ...]
    shared: frozenset[int]

    @property
    def needs(self) -> frozenset[int]:
        return self.shared


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Condition:
    """A filter or, with ``target``, a binding; ``needs`` are the variables it reads."""

    element: Filter | Bind
    needs: frozenset[int]
    target: int | None = None


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Grouping:
    """An aggregate: its inner body, the group variables, and the variables its results go to."""

    element: Aggregate
    atoms: tuple[Atom, ...]
    conditions: tuple[Condition, ...]
    group: tuple[int, ...]
    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule over ids. ``number`` tells rules apart and orders them; ``guards`` index ``atoms``.

    ``needs`` are the predicates of its atoms, ``reads`` those of the whole body, ``derives`` those of the
    heads; the rule ``is_open`` if one of these is a variable.
    """

    number: int
    source: Rule
    heads: tuple[Atom, ...]
    atoms: tuple[Atom, ...]
    guards: frozenset[int]
    conditions: tuple[Condition, ...]
    negations: tuple[Negation, ...]
    groupings: tuple[Grouping, ...]
    names: tuple[str, ...]
    guarded: frozenset[int] = field(init=False, repr=False, compare=False)
    concluded: frozenset[int] = field(init=False, repr=False, compare=False)
    needs: frozenset[int] = field(init=False, repr=False, compare=False)
    reads: frozenset[int] = field(init=False, repr=False, compare=False)
    derives: frozenset[int] = field(init=False, repr=False, compare=False)
    is_open: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "guarded", frozenset(v for i in self.guards for v in self.atoms[i].variables)
        )
        object.__setattr__(self, "concluded", frozenset(v for head in self.heads for v in head.variables))
        for name, atoms in (("needs", self.atoms), ("reads", self.read), ("derives", self.heads)):
            object.__setattr__(self, name, frozenset(atom.p for atom in atoms))
        object.__setattr__(self, "is_open", min(self.reads | self.derives, default=0) < 0)

    def __str__(self) -> str:
        """The rule's name, and the rule."""
        return f"{self.label}: {format_rule(self.source)}"

    @property
    def label(self) -> str:
        """The rule's name, or ``rule`` and its number if it has none."""
        return self.source.name or f"rule {self.number + 1}"

    @property
    def data(self) -> tuple[int, ...]:
        """The positions of the atoms that are no guards."""
        return tuple(i for i in range(len(self.atoms)) if i not in self.guards)

    @property
    def read(self) -> tuple[Atom, ...]:
        """The atoms of the whole body, those in negations and aggregates included."""
        negated = (atom for negation in self.negations for atom in negation.atoms)
        inside = (atom for grouping in self.groupings for atom in grouping.atoms)
        return (*self.atoms, *negated, *inside)

    @property
    def is_monotone(self) -> bool:
        """Whether more facts can never mean fewer conclusions."""
        return not self.negations and not self.groupings

    def slot(self, variable: Variable) -> int:
        """The number of a variable of the source rule."""
        return -1 - self.names.index(variable.name)


Tables = Callable[[CompiledRule], tuple[int, Mapping[int, Column]]]
"""Gives the rows of a rule's family: how many, and a column for every variable that guards bind."""


def compile_rule(rule: Rule, number: int, dictionary: TermDictionary) -> CompiledRule:
    """A rule without list patterns (see ``unroll``), over the ids of that dictionary."""
    names: list[str] = []
    rdf_type = dictionary.encode(RDF_TYPE_TEXT)

    def term(value: Term) -> int:
        if isinstance(value, Variable):
            if value.name not in names:
                names.append(value.name)
            return -1 - names.index(value.name)
        return dictionary.encode(constant_text(value))

    def atom(element: Triple | Builtin) -> Atom:
        if isinstance(element, Builtin):
            first, second = element.arguments
            return Atom(term(first), dictionary.encode(element.name), term(second))
        return Atom(term(element.subject), term(element.predicate), term(element.object))

    def condition(element: Filter | Bind) -> Condition:
        needs = frozenset(map(term, variables(element.expression)))
        return Condition(element, needs, term(element.variable) if isinstance(element, Bind) else None)

    def grouping(element: Aggregate) -> Grouping:
        return Grouping(
            element,
            tuple(atom(part) for part in element.body if isinstance(part, Triple)),
            tuple(condition(part) for part in element.body if isinstance(part, Filter | Bind)),
            tuple(term(variable) for variable in element.group),
            tuple(term(binding.variable) for binding in element.bindings),
        )

    atoms = tuple(atom(e) for e in rule.body if isinstance(e, Triple | Builtin))
    groupings = tuple(grouping(e) for e in rule.body if isinstance(e, Aggregate))
    conditions = tuple(condition(e) for e in rule.body if isinstance(e, Filter | Bind))
    positive = {v for a in atoms for v in a.variables}
    positive |= {c.target for c in conditions if c.target is not None}
    positive |= {v for g in groupings for v in (*g.group, *g.targets)}
    negations = []
    for element in rule.body:
        if isinstance(element, Not):
            negated = tuple(map(atom, element.atoms))
            inside = frozenset(v for a in negated for v in a.variables)
            negations.append(Negation(negated, inside & positive))
    heads = tuple(map(atom, rule.heads))
    return CompiledRule(
        number, rule, heads, atoms, guard_atoms(atoms, heads, rdf_type), conditions, tuple(negations),
        groupings, tuple(names),
    )  # fmt: skip


def guard_atoms(atoms: tuple[Atom, ...], heads: tuple[Atom, ...], rdf_type: int) -> frozenset[int]:
    """Which atoms are guards.

    An atom *uses* a variable as predicate, or as class if its predicate is rdf:type. Guards are the
    atoms with a constant predicate that bind a variable used so elsewhere in the rule, and those
    that hang on guards by variables which no data atom mentions (list cells, restrictions).
    """

    def used(atom: Atom) -> set[int]:
        found = {atom.p} if atom.p < 0 else set()
        if atom.p == rdf_type and atom.o < 0:
            found.add(atom.o)
        return found

    using = [used(atom) for atom in atoms]
    schema = set().union(*using, *map(used, heads))
    open_atoms = {i for i, atom in enumerate(atoms) if using[i]}
    if not open_atoms:
        return frozenset()
    on_data = {v for i in open_atoms for v in atoms[i].variables - using[i]}
    guards: set[int] = set()
    known = set(schema)
    grown = True
    while grown:
        grown = False
        for i, atom in enumerate(atoms):
            if i in guards or i in open_atoms:
                continue
            if atom.variables & known and not (atom.variables & on_data - known):
                guards.add(i)
                known |= atom.variables
                grown = True
    return frozenset(guards)


def is_virtual(predicate: int) -> bool:
    """Whether a predicate id is one of the engine's own relations."""
    return predicate >= 0 and predicate >> KIND_SHIFT == Kind.RESERVED
