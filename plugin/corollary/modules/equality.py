"""The equality module: what holds of a term holds of all that are the same.

It takes the rules ``eq-rep-s``, ``eq-rep-p`` and ``eq-rep-o``, in the form

    [?y, ?p, ?o] :- [?x, Q, ?y], [?x, ?p, ?o]

for the subject, likewise for predicate and object, over a constant relation Q that other rules make
symmetric and transitive (owl:sameAs): its components are cliques. Semi-naive evaluation would replace
one term at a time, and look at every replaced fact again, once for each other member of its cliques. Here
a fact gets all its replacements in one step, and these never come back.

Virtual relations are no triples: nothing is replaced in them.

Cliques are materialised. To keep only one representative of each (Motik, Nenov, Piro, Horrocks, Handling
owl:sameAs via Rewriting, 2015) would be smaller, but every reader of the index would have to undo it:
patterns, counts, FILTERs on IRIs, bag semantics of SPARQL, rules with built-ins, and explicit facts that
have to be told from inferred ones. Here they all see plain facts.

Invariant: after a turn, the facts are closed under replacement by the pairs of Q that were given.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from corollary.closure.reachability import Paths
from corollary.columns.delta import Candidates
from corollary.columns.pairs import NO_KEYS, NO_PAIRS, Pairs, distinct, firsts, join, pack, seconds
from corollary.columns.relation import Relation
from corollary.columns.triples import TripleIndex
from corollary.execute.context import ExecutionContext
from corollary.execute.filters import number_keys
from corollary.execute.run_plan import extend
from corollary.kernels.limits import at
from corollary.kernels.sorted import Column, Keys, Mask
from corollary.modules.module import Module
from corollary.modules.rule_set import RuleSet
from corollary.modules.semi_naive import SemiNaive
from corollary.program.compile import CompiledRule, is_virtual
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import closed_predicate, replaced_end, symmetric_predicate


class Equality(Module):
    """All replacement rules over one relation."""

    name = "equality"
    why = "facts about what is the same: told of whole cliques in one step"
    turn = 60

    def __init__(self, context: ExecutionContext) -> None:
        self.rules: list[CompiledRule] = []
        self._same = -1
        self._places: set[int] = set()
        self._context = context
        self._one_step = SemiNaive("replacement of one term", context)
        self._waiting = False

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        """Rules that replace terms by a relation that others close and mirror."""
        ends = [(rule, rules.recognised(replaced_end, rule)) for rule in offered]
        symmetric = {rules.recognised(symmetric_predicate, rule) for rule in rules.rules}
        closed = {rules.recognised(closed_predicate, rule) for rule in rules.rules}
        same = min({end[0] for _, end in ends if end is not None} & symmetric & closed, default=None)
        return [rule for rule, end in ends if end is not None and end[0] == same]

    @classmethod
    def minds(cls, rule: CompiledRule, rules: RuleSet) -> bool:
        """Whether it replaces terms."""
        return rules.recognised(replaced_end, rule) is not None

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> Equality:
        """Without rules."""
        return cls(context)

    def add_rule(self, rule: CompiledRule) -> None:
        """Take in a rule for which ``replaced_end`` names the relation of the others."""
        end = replaced_end(rule)
        assert end is not None and (not self.rules or end[0] == self._same)
        self.rules.append(rule)
        self._same = end[0]
        self._places.add(end[1])
        same = {position for position, atom in enumerate(rule.atoms) if atom.p >= 0}
        self._one_step.add_rule(rule, same)
        self._waiting = True

    def remove_rules(self, numbers: Collection[int], facts: TripleIndex) -> Candidates:
        """Let go of rules; all that they derived in one step, given the facts."""
        derived = self._one_step.remove_rules(numbers, facts)
        self.rules = [rule for rule in self.rules if rule.number not in numbers]
        self._places = {end[1] for end in map(replaced_end, self.rules) if end is not None}
        return derived

    @property
    def is_waiting(self) -> bool:
        """Whether there are rules that were not applied yet."""
        return self._waiting

    def reads(self, predicate: int) -> bool:
        """Whether facts of that predicate can make a difference."""
        return bool(self.rules) and not is_virtual(predicate)

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """Only what is the same comes back to it: a replaced fact has all its replacements beside it."""
        return new if predicate == self._same else NO_PAIRS

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Candidates:
        """All replacements in recent facts, and by recent pairs in all facts."""
        candidates: Candidates = {}
        if self._waiting:
            self._waiting = False
            self._replace(facts, facts, candidates)
            return candidates
        self._replace(recent, facts, candidates)
        self._replace_by(recent.relation(self._same), facts, candidates)
        return candidates

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Candidates:
        """All replacements in gone facts, and by gone pairs in all facts."""
        candidates: Candidates = {}
        self._replace(deleted, facts, candidates)
        self._replace_by(deleted.relation(self._same), facts, candidates)
        return candidates

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """The wanted facts that replacements in ``facts`` lead to."""
        return self.rederive(wanted, facts)

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """The candidates that replacements in ``facts``, over what these say is the same, lead to.

        Candidates with the same cliques at all places are looked for together: any fact with these will do.
        """
        derived: Candidates = {}
        cliques = self._cliques(candidates, facts)
        if cliques.size:
            for group in self._groups(candidates, cliques):
                self._rederive(group, candidates, facts, cliques, derived)
        return derived

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """The facts in which one term is replaced, and what says that the terms are the same."""
        if not len(facts.relation(self._same)):
            return {}
        return self._one_step.premises(candidates, facts, proved)

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """Nothing is kept."""

    def _replace(self, recent: TripleIndex, facts: TripleIndex, candidates: Candidates) -> None:
        """Replace in all recent facts."""
        if self.rules and len(facts.relation(self._same)):
            for predicate in recent.predicates():
                self._replace_in(predicate, recent.relation(predicate).pairs().keys, facts, candidates)

    def _replace_by(self, same: Relation, facts: TripleIndex, candidates: Candidates) -> None:
        """Replace in all facts by some pairs, and then in what comes of that: it does not come back."""
        if not len(same):
            return
        first = self._one_step.overdelete(facts, TripleIndex({self._same: same}), facts)
        indexed = {predicate: Pairs.of(np.concatenate(parts)) for predicate, parts in first.items()}
        extend(candidates, {predicate: [pairs.keys] for predicate, pairs in indexed.items()})
        for predicate, pairs in indexed.items():
            self._replace_in(predicate, pairs.keys, facts, candidates)

    def _replace_in(self, predicate: int, keys: Keys, facts: TripleIndex, candidates: Candidates) -> None:
        """Replace at every place, by all members of the cliques; of Q itself only the predicate."""
        at(f"{self.name}, in facts of {self._context.dictionary.decode(predicate)}")
        same = facts.relation(self._same)
        replaced = [keys]
        if 0 in self._places and predicate != self._same:
            rows, others = same.objects_of(firsts(keys))
            replaced.append(pack(others, seconds(keys[rows])))
        if 2 in self._places and predicate != self._same:
            for part in tuple(replaced):
                rows, others = same.objects_of(seconds(part))
                replaced.append(pack(firsts(part[rows]), others))
        more = [part for part in replaced[1:] if part.size]
        if more:
            candidates.setdefault(predicate, []).extend(more)
        if 1 in self._places:
            for other in same.objects(predicate):
                candidates.setdefault(other, []).extend([keys, *more])

    def _cliques(self, candidates: TripleIndex, facts: TripleIndex) -> Keys:
        """Pairs (term, member of its clique, itself included), sorted, for the candidates' terms."""
        same = facts.relation(self._same)
        if not self.rules or not len(same):
            return NO_KEYS
        predicates = candidates.predicates()
        terms = [np.array(predicates, np.uint32)]
        for predicate in predicates:
            pairs = candidates.relation(predicate).pairs()
            terms += [pairs.distinct_firsts(), pairs.distinct_seconds()]
        return Paths(same, symmetric=True).starting(distinct(np.concatenate(terms)))

    def _groups(self, candidates: TripleIndex, cliques: Keys) -> Iterator[list[int]]:
        """The predicates of the candidates, those of a clique together."""
        groups: dict[int, list[int]] = {}
        for predicate in candidates.predicates():
            name = int(self._named(1, np.array([predicate], np.uint32), cliques)[0])
            groups.setdefault(name, []).append(predicate)
        yield from groups.values()

    def _rederive(
        self,
        group: list[int],
        candidates: TripleIndex,
        facts: TripleIndex,
        cliques: Keys,
        derived: Candidates,
    ) -> None:
        """The derivable candidates of predicates that are the same."""
        parts = [candidates.relation(predicate).pairs().keys for predicate in group]
        keys = np.concatenate(parts)
        names = pack(self._named(0, firsts(keys), cliques), self._named(2, seconds(keys), cliques))
        first, number = number_keys(names)
        rows = np.arange(first.size)
        subjects, objects = firsts(keys[first]), seconds(keys[first])
        for place in (0, 2):
            if place in self._places:
                more, others = join(cliques, subjects if place == 0 else objects)
                rows = np.concatenate((rows, rows[more]))
                inverse = (others, objects[more]) if place == 0 else (subjects[more], others)
                subjects, objects = (
                    np.concatenate(p) for p in zip((subjects, objects), inverse, strict=True)
                )
        wanted = pack(subjects, objects)
        order = np.argsort(wanted)  # ascending probes are found faster
        wanted, rows = wanted[order], rows[order]
        found: Mask = np.zeros(first.size, np.bool_)
        predicates = [group[0]]
        if 1 in self._places:
            predicates += join(cliques, np.array(group[:1], np.uint32))[1].tolist()
        for predicate in predicates:
            found[rows[facts.relation(predicate).contains(wanted)]] = True
        is_derived = found[number]
        start = 0
        for predicate, part in zip(group, parts, strict=True):
            derived.setdefault(predicate, []).append(part[is_derived[start : start + part.size]])
            start += part.size

    def _named(self, place: int, terms: Column, cliques: Keys) -> Column:
        """A name for each term's clique, the least member; the term itself where nothing is replaced."""
        if place not in self._places:
            return terms
        known = firsts(cliques)
        rows = np.minimum(np.searchsorted(known, terms), known.size - 1)  # where the members of a term begin
        least = np.minimum(seconds(cliques[rows]), terms)
        return np.where(known[rows] == terms, least, terms).astype(np.uint32)
