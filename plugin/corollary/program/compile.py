"""Rules over term ids: the input of the planner.

An ``Atom`` is three integers: a constant is its term id, a variable is a negative number. A virtual
relation is a predicate of kind RESERVED, so ``MEMBER(?l, ?x)`` and ``[?l, :member, ?x]`` compile to the
same kind of atom.

A body has two parts. *Guards* are the atoms that bind variables which other atoms use as predicate or
class: the schema part of a profile's template. The join of the guards is the table of the rule's
*family*: one row is one rule instance. All other atoms are *data* atoms. The split affects only the join
order and the unit in which instances are printed. Evaluation treats a guard like any other body atom.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from corollary.kernels.sorted import Column
from corollary.language import (
    Aggregate,
    Bind,
    Builtin,
    Chain,
    Each,
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
        object.__setattr__(self, "variables", _variables(min(self.s, 0), min(self.p, 0), min(self.o, 0)))

    @property
    def terms(self) -> tuple[int, int, int]:
        return (self.s, self.p, self.o)


@lru_cache(maxsize=1 << 10)
def _variables(*terms: int) -> frozenset[int]:
    """The variables among some terms, once for all atoms: a program has thousands of these."""
    return frozenset([term for term in terms if term < 0])


@dataclass(frozen=True, slots=True)
class Negation:
    """``NOT``: no facts match all ``atoms``. ``shared`` are the variables that the positive body binds."""

    atoms: tuple[Atom, ...]
    shared: frozenset[int]

    @property
    def needs(self) -> frozenset[int]:
        return self.shared


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Condition:
    """A FILTER, or a BIND to ``target``. ``needs`` are the variables of the expression."""

    element: Filter | Bind
    needs: frozenset[int]
    target: int | None = None


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Grouping:
    """An aggregate: the inner body, the group variables, and the variables that receive the results."""

    element: Aggregate
    atoms: tuple[Atom, ...]
    conditions: tuple[Condition, ...]
    group: tuple[int, ...]
    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Along:
    """The list pattern of a rule over long lists (``language.list_patterns.along``).

    ``long``, ``cell`` and ``first`` are the positions in ``atoms`` of LONG(l, k), CELL(k, c) and
    [c, rdf:first, x]; ``inside`` are those of the atoms that follow. For EACH these atoms hold for every
    cell. For CHAIN there is one, the edge, and ``ends`` are the ends of the path.
    """

    long: int
    cell: int
    first: int
    inside: tuple[int, ...]
    ends: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule over ids. ``number`` identifies and orders rules; ``guards`` are positions in ``atoms``, as are
    ``data``, the others.

    ``guarded`` are the variables of the guards, ``concluded`` those of the heads. ``needs`` are the
    predicates of ``atoms``, ``reads`` those of the body, ``derives`` those of the heads. The rule ``is_open``
    if ``reads`` or ``derives`` has a variable. A rule ``along`` long lists has the atoms for one cell, and
    holds if the list pattern does: for all cells.
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
    along: Along | None = None
    data: tuple[int, ...] = field(init=False, repr=False, compare=False)
    guarded: frozenset[int] = field(init=False, repr=False, compare=False)
    concluded: frozenset[int] = field(init=False, repr=False, compare=False)
    needs: frozenset[int] = field(init=False, repr=False, compare=False)
    reads: frozenset[int] = field(init=False, repr=False, compare=False)
    derives: frozenset[int] = field(init=False, repr=False, compare=False)
    is_open: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        data = [i for i in range(len(self.atoms)) if i not in self.guards]
        object.__setattr__(self, "data", tuple(data))
        guards = [self.atoms[i] for i in self.guards]
        for name, atoms in (("guarded", guards), ("concluded", self.heads)):
            object.__setattr__(self, name, _variables(*[term for atom in atoms for term in atom.variables]))
        needs = frozenset([atom.p for atom in self.atoms])
        object.__setattr__(self, "needs", needs)
        object.__setattr__(self, "reads", needs if self.is_monotone else frozenset([a.p for a in self.read]))
        object.__setattr__(self, "derives", frozenset([head.p for head in self.heads]))
        object.__setattr__(self, "is_open", min(self.reads | self.derives, default=0) < 0)

    def __str__(self) -> str:
        """The label, followed by the text of the rule."""
        return f"{self.label}: {format_rule(self.source)}"

    @property
    def label(self) -> str:
        """The rule's name; without a name, ``rule`` and the number, counted from 1."""
        return self.source.name or f"rule {self.number + 1}"

    @property
    def read(self) -> tuple[Atom, ...]:
        """All atoms of the body: positive, then negated, then those inside aggregates."""
        negated = (atom for negation in self.negations for atom in negation.atoms)
        inside = (atom for grouping in self.groupings for atom in grouping.atoms)
        return (*self.atoms, *negated, *inside)

    @property
    def is_monotone(self) -> bool:
        """Whether the rule is monotone: it has no negation and no aggregate."""
        return not self.negations and not self.groupings

    def slot(self, variable: Variable) -> int:
        """The number of a variable of the source rule."""
        return -1 - self.names.index(variable.name)


Tables = Callable[[CompiledRule], tuple[int, Mapping[int, Column]]]
"""From a rule to the table of its family: the number of rows, a column for each guarded variable."""


def compile_rule(rule: Rule, number: int, dictionary: TermDictionary) -> CompiledRule:
    """Compile a rule; its constants are added to the dictionary.

    Precondition: the rule has no list patterns (``unroll`` replaces them), or ``along`` made it.
    """
    names: dict[str, int] = {}
    rdf_type = dictionary.encode(RDF_TYPE_TEXT)

    def term(value: Term) -> int:
        if isinstance(value, Variable):
            return -1 - names.setdefault(value.name, len(names))
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
    along = _along(rule, term)
    return CompiledRule(
        number, rule, heads, atoms, guard_atoms(atoms, heads, rdf_type), conditions, tuple(negations),
        groupings, tuple(names), along,
    )  # fmt: skip


def _along(rule: Rule, term: Callable[[Term], int]) -> Along | None:
    """The list pattern of a rule over long lists; the atoms for one cell come after the pattern."""
    position = 0
    for element in rule.body:
        if isinstance(element, Each | Chain):
            count = sum(isinstance(e, Triple | Builtin) for e in rule.body)
            ends = (term(element.start), term(element.end)) if isinstance(element, Chain) else None
            return Along(position, position + 1, position + 2, tuple(range(position + 3, count)), ends)
        position += isinstance(element, Triple | Builtin)
    return None


def guard_atoms(atoms: tuple[Atom, ...], heads: tuple[Atom, ...], rdf_type: int) -> frozenset[int]:
    """The positions of the guards in ``atoms``.

    An atom *uses* a variable as its predicate, or as its class if the predicate is rdf:type; such an atom is
    no guard. An other atom is a guard if it shares a used variable, or a variable with a guard, and its
    further variables occur in no atom that uses variables (list cells, restrictions).

    In ``[?x, a, ?d] :- [?c, rdfs:subClassOf, ?d], [?x, a, ?c]`` the first atom of the body is a guard.
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
        return _variables()
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
    """Whether a predicate id names a virtual relation. Variables do not."""
    return predicate >= 0 and predicate >> KIND_SHIFT == Kind.RESERVED
