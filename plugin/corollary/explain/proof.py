"""Proofs as data: a list of steps, each of which concludes a fact from the facts of earlier steps.

A proof is a list and not a tree: a fact that is used twice is proved once, no proof is circular, and none is
too deep for a traversal. Invariant: the premises of a step are numbers of earlier steps, and the last step
has the fact that is proved.
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
"""The conclusion of a proof of an inconsistency."""


@dataclass(frozen=True, slots=True)
class Given:
    """The fact is explicit."""


@dataclass(frozen=True, slots=True)
class Group:
    """The matches of an aggregate's inner body: their ``count``, and the facts of the first ones."""

    element: Aggregate
    count: int
    shown: tuple[tuple[Fact, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Application:
    """A rule instance: a rule, and the ids that are bound to its variables, by name.

    The premises are the facts that match the body's atoms, each once, then the facts of its groups. With
    ``is_path`` the rule closes a predicate transitively and was applied along a whole path: the premises are
    the facts that match the rule's guards, then the edges in order.
    """

    rule: CompiledRule
    bindings: Mapping[str, int]
    groups: tuple[Group, ...] = ()
    is_path: bool = False

    def value(self, term: int) -> int:
        """The id of a term of the rule's atoms under the bindings; an unbound variable stays negative."""
        return term if term >= 0 else self.bindings.get(self.rule.names[-1 - term], term)

    def fact(self, atom: Atom) -> Fact:
        """The fact of an atom under the bindings."""
        return self.value(atom.s), self.value(atom.p), self.value(atom.o)

    def guards(self) -> tuple[Fact, ...]:
        """The facts that match the rule's guards."""
        return tuple(self.fact(self.rule.atoms[i]) for i in sorted(self.rule.guards))


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The reason of a virtual fact about an RDF list: its cells, and one item of each cell.

    The premises are the rdf:first and rdf:rest facts of the cells that the fact depends on.
    """

    list: int
    cells: tuple[int, ...]
    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Meaning:
    """The reason of a virtual fact about the values of literals: it needs no proof."""


Reason = Given | Application | Reading | Meaning


@dataclass(frozen=True, slots=True)
class Step:
    """A fact, its reason, and the numbers of the steps that have the premises."""

    fact: Fact
    reason: Reason
    premises: tuple[int, ...] = ()


@dataclass(frozen=True)
class Proof:
    """Steps in topological order: premises first, the proved fact last."""

    steps: tuple[Step, ...]

    @property
    def conclusion(self) -> Step:
        return self.steps[-1]

    @cached_property
    def size(self) -> int:
        """The number of rule applications; a path counts as one."""
        return sum(isinstance(step.reason, Application) for step in self.steps)

    @cached_property
    def height(self) -> int:
        """The largest number of rule applications on a chain of premises."""
        heights: list[int] = []
        for step in self.steps:
            below = max((heights[i] for i in step.premises), default=0)
            heights.append(below + isinstance(step.reason, Application))
        return heights[-1]

    def facts(self) -> tuple[Fact, ...]:
        """The explicit facts that the proof uses."""
        return tuple(step.fact for step in self.steps if isinstance(step.reason, Given))

    def __repr__(self) -> str:
        facts = [fact for fact in self.facts() if not is_virtual(fact[1])]
        return f"Proof({self.size:,} steps from {len(facts):,} explicit facts)"
