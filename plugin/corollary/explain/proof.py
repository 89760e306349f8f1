"""Proofs as data: steps in order, each from facts that earlier steps have.

A proof is a list, not a tree: what is used twice is proved once, nothing can be circular, and no proof is too
deep to be walked through. Invariant: the premises of a step are numbers of earlier steps, and the last step
is what is proved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from corollary.language import Aggregate
from corollary.program.compile import Atom, CompiledRule, is_virtual

Fact = tuple[int, int, int]
"""Subject, predicate, object as term ids."""

FALSE: Fact = (-1, -1, -1)
"""What an inconsistency is the proof of."""


@dataclass(frozen=True, slots=True)
class Given:
    """The fact is explicit."""


@dataclass(frozen=True, slots=True)
class Group:
    """What an aggregate was computed from: ``count`` matches in all, the first with their facts."""

    element: Aggregate
    count: int
    shown: tuple[tuple[Fact, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Application:
    """A rule, and what its variables stand for (ids by name).

    The premises are the facts that match the body's atoms, each once, then those of its groups. With
    ``is_path`` the rule closes a predicate transitively and was applied along a whole path: the premises are
    what the rule's guards match, then the edges in order.
    """

    rule: CompiledRule
    bindings: Mapping[str, int]
    groups: tuple[Group, ...] = ()
    is_path: bool = False

    def value(self, term: int) -> int:
        """A term of the rule's atoms with the bindings put in; a variable without one stays negative."""
        return term if term >= 0 else self.bindings.get(self.rule.names[-1 - term], term)

    def fact(self, atom: Atom) -> Fact:
        """An atom with the bindings put in."""
        return self.value(atom.s), self.value(atom.p), self.value(atom.o)

    def guards(self) -> tuple[Fact, ...]:
        """What matches the rule's guards."""
        return tuple(self.fact(self.rule.atoms[i]) for i in sorted(self.rule.guards))


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The fact says something of an RDF list: its cells, and of each cell the item that is looked at.

    The premises are the cells' rdf:first and rdf:rest facts, as far as they matter.
    """

    list: int
    cells: tuple[int, ...]
    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Meaning:
    """The fact says what literals denote, which needs no proof."""


Reason = Given | Application | Reading | Meaning


@dataclass(frozen=True, slots=True)
class Step:
    """A fact, why it holds, and the numbers of the steps that this rests on."""

    fact: Fact
    reason: Reason
    premises: tuple[int, ...] = ()


@dataclass(frozen=True)
class Proof:
    """Steps in an order in which each follows from earlier ones. The last is what is proved."""

    steps: tuple[Step, ...]

    @property
    def conclusion(self) -> Step:
        return self.steps[-1]

    @cached_property
    def size(self) -> int:
        """How many times a rule was applied; a path counts as one."""
        return sum(isinstance(step.reason, Application) for step in self.steps)

    @cached_property
    def height(self) -> int:
        """How many rules were applied one after the other, at most."""
        heights: list[int] = []
        for step in self.steps:
            below = max((heights[i] for i in step.premises), default=0)
            heights.append(below + isinstance(step.reason, Application))
        return heights[-1]

    def facts(self) -> tuple[Fact, ...]:
        """The explicit facts that the proof rests on."""
        return tuple(step.fact for step in self.steps if isinstance(step.reason, Given))

    def __repr__(self) -> str:
        facts = [fact for fact in self.facts() if not is_virtual(fact[1])]
        return f"Proof({self.size:,} steps from {len(facts):,} explicit facts)"
