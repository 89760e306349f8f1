"""A module at work alone: every call is checked against what ``Module`` asks of it.

The bench stands for the fixpoint, for the maintenance, and for all other modules: facts *from outside*
are those that they derive, or that are explicit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from tests.engine import Fact
from tests.modules.meaning import Meaning, Terms

from corollary.columns import Pairs, Relation, TripleIndex
from corollary.columns.delta import Candidates
from corollary.execute.context import ExecutionContext
from corollary.maintain.deletion.prover import Prover
from corollary.modules.module import Answer, Module
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import CompiledProgram

Judge = Callable[[set[Fact]], set[Fact]]
"""Which facts go of those that lost a derivation, and what goes with them."""


@dataclass
class Bench:
    """A module, the meaning of its own rules, what is ``sound`` to answer, and the facts there are."""

    module: Module
    meaning: Meaning
    sound: Meaning
    terms: Terms
    index: TripleIndex = field(default_factory=TripleIndex)
    given: set[Fact] = field(default_factory=set)

    @property
    def facts(self) -> set[Fact]:
        return self.terms.facts(self.index)

    def add(self, outside: set[Fact], returning: set[Fact] | None = None) -> None:
        """Facts come from outside, and of its own some that are to return."""
        recent = outside - self.facts
        self.put(recent)
        recent = self.heeded(self.read(recent | (returning or set())))
        while recent or self.module.is_waiting:
            self.given |= recent
            known = self.facts
            candidates, relations, new = self.module.add(self.index, self.terms.index(recent))
            more = dict(relations) | {predicate: Relation(pairs) for predicate, pairs in new.items()}
            answer = self.terms.returned(candidates) | self.terms.facts(TripleIndex(more))
            assert self.meaning.needing(known, recent) <= known | answer, "add leaves something out"
            assert answer <= self.sound.closure(known), "add invents something"
            self.put(answer - known)
            recent = self.returning(answer - known)
        assert self.facts == self.meaning.closure(self.facts), "more of its answers should have returned"

    def remove(self, lost: set[Fact], stay: set[Fact], proved: set[Fact], *, proves: bool) -> None:
        """Facts lose derivations from outside: still derived there are those that ``stay``.

        Of these some are ``proved``. The maintenance ``proves`` what it can, or it follows DRed.
        """
        index = self.terms.index(proved)
        prover = Prover([self.module, Outside(self.terms.index(stay))], index, 1_000_000, ())
        judge: Judge = self.judging(prover) if proves else set.copy
        deleted = self.delete(judge(lost - proved), index, judge)
        self.module.commit_deletions(self.index, self.terms.index(deleted))
        found: set[Fact] = set()
        if proves:
            assert stay <= self.facts, "something from outside was not proved"
        else:
            found = self.rederive(deleted, self.facts)
            self.put(found)
        self.add(stay, self.returning(found))
        assert self.facts == self.meaning.closure(stay), "the change was not followed"

    def delete(self, lost: set[Fact], proved: TripleIndex, judge: Judge) -> set[Fact]:
        """Facts go, and what is judged to go with them: all that went."""
        universe, known = self.index.snapshot(), self.facts
        deleted: set[Fact] = set()
        named: set[Fact] = set()
        reported = lost
        while lost:
            self.drop(lost)
            deleted |= lost
            reported = self.read(reported)
            if not reported:
                break
            candidates = self.module.overdelete(universe, self.terms.index(reported), proved).candidates
            answer = self.terms.returned(candidates)
            named |= answer
            lost = judge((answer & self.facts) - self.terms.facts(proved))
            reported = (lost - answer) | self.returning(lost & answer)
        lost = self.lost(known, deleted & self.given, self.terms.facts(proved))
        assert lost <= deleted | named, "delete leaves something out"
        self.given -= deleted
        return deleted

    def lost(self, facts: set[Fact], deleted: set[Fact], proved: set[Fact]) -> set[Fact]:
        """What loses an instance in whose place proved facts and its other premises prove nothing."""
        decided: dict[frozenset[Fact], set[Fact]] = {}  # an oracle takes its time: nothing is closed twice

        def proves(others: set[Fact], head: Fact) -> bool:
            premises = frozenset(others - closed)
            if premises not in decided:
                decided[premises] = self.sound.closure(closed | premises)
            return head in decided[premises]

        closed = self.sound.closure(proved)
        lost = more = deleted
        while more:
            more = {
                head
                for head, others in self.meaning.losing(facts, lost)
                if head not in lost and not proves(others, head)
            }
            lost = lost | more
        return lost

    def judging(self, prover: Prover) -> Judge:
        """Proofs decide."""

        def judge(candidates: set[Fact]) -> set[Fact]:
            unproved = prover.unproved(self.terms.packed(candidates), self.index)
            return self.terms.returned(unproved.candidates())

        return judge

    def check(self, candidates: set[Fact], facts: set[Fact], recent: set[Fact]) -> None:
        """What is asked of a module between changes, about candidates and facts without them.

        Some of the facts are recent. All guards are known, and seen by the module.
        """
        guards = self.meaning.guards(self.facts)
        self.rederive(candidates - guards, facts | guards)
        self.carry(candidates - guards, facts | guards, recent - guards)
        known = facts & self.given | guards
        self.search(candidates, known, guards)
        self.search(candidates, known, known & recent | guards)

    def rederive(self, candidates: set[Fact], facts: set[Fact]) -> set[Fact]:
        """The candidates that follow from facts without them."""
        answer = self.terms.returned(self.module.rederive(*map(self.terms.index, (candidates, facts))))
        assert candidates & self.meaning.step(facts) <= answer, "rederive leaves something out"
        assert answer <= candidates & self.sound.closure(facts), "rederive invents something"
        few = self.terms.returned(self.module.supported(*map(self.terms.index, (candidates, facts))))
        assert few <= answer, "supported invents something"
        return answer

    def carry(self, wanted: set[Fact], facts: set[Fact], recent: set[Fact]) -> None:
        """What follows from recent facts."""
        answer = self.terms.returned(
            self.module.propagate_proved(*map(self.terms.index, (facts, recent, wanted)))
        )
        assert wanted & self.meaning.needing(facts, recent) <= answer, "consequences are left out"
        assert wanted & answer <= self.sound.closure(facts), "consequences are invented"

    def search(self, candidates: set[Fact], known: set[Fact], proved: set[Fact]) -> None:
        """What proofs of candidates from known facts start from, proved ones among them."""
        facts, there = self.facts, self.terms.index(proved)
        checked = frontier = candidates
        while frontier:
            read = self.terms.returned(self.module.premises(self.terms.index(frontier), self.index, there))
            assert read <= facts, "premises that are no facts"
            frontier = read - checked
            checked = checked | frontier
        closed = self.meaning.closure(known & checked | proved | self.meaning.guards(facts))
        assert candidates & self.meaning.closure(known) <= closed, "premises are left out"

    def put(self, facts: set[Fact]) -> None:
        for predicate, keys in self.terms.packed(facts).items():
            self.index.add(predicate, Pairs(keys))

    def drop(self, facts: set[Fact]) -> None:
        for predicate, keys in self.terms.packed(facts).items():
            self.index.remove(predicate, keys)

    def read(self, facts: set[Fact]) -> set[Fact]:
        """The facts that the module reads: those that are given to it, and no others."""
        return {(s, p, o) for s, p, o in facts if self.is_read(self.terms.encode(p), self.terms.encode(o))}

    def heeded(self, facts: set[Fact]) -> set[Fact]:
        """The facts whose terms the module does not ignore."""
        encode = self.terms.encode
        return {(s, p, o) for s, p, o in facts if not self.module.ignores({encode(s), encode(o)})}

    def is_read(self, predicate: int, value: int) -> bool:
        objects = self.module.objects_read(predicate)
        return self.module.reads(predicate) and (objects is None or value in objects)

    def returning(self, own: set[Fact]) -> set[Fact]:
        """Of its own conclusions, those that come back to it."""
        packed = self.terms.packed(own)
        returning = {p: [self.module.feedback(p, Pairs(keys)).keys] for p, keys in packed.items()}
        return self.read(self.terms.returned(returning))


@dataclass
class Outside(Module):
    """A module that derives some facts from nothing."""

    facts: TripleIndex
    name = "outside"
    why = "all other modules"
    turn = 100
    is_waiting = False

    def __post_init__(self) -> None:
        self.rules: list[CompiledRule] = []

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> Outside:
        return cls(TripleIndex())

    def reads(self, predicate: int) -> bool:
        return False

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        return Pairs(np.empty(0, np.uint64))

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Answer:
        return Answer({})

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Answer:
        return Answer({})

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        return {}

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        return {
            predicate: [self.facts.relation(predicate).common(candidates.keys(predicate))]
            for predicate in candidates.all_predicates()
        }

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        return {}

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        pass
