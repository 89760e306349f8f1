"""The transitive closure module: relations that a rule closes under composition.

It takes the rules

    R[?x, ?z] :- R[?x, ?y], R[?y, ?z]       R[?y, ?x] :- R[?x, ?y]

for a constant R (``scm-sco``, or one of a user), the second only beside the first, and the first for a
property bound by guards (``prp-trp``), or with ``FILTER(?x != ?z)`` for a constant R. ``closure.maintained``
follows each relation: R is the closure of its external facts, of every one in both directions if R is
symmetric (the cliques of Hu, Motik, Horrocks 2019, section 6).

An edge that other rules derived may depend on a fact that it leads to. So ``overdelete`` also returns every
unproved edge near a deleted edge. A path over such edges holds if all of them are proved; otherwise it is
checked again.

    p copies q, q copies p, q is transitive, E = {a q b}; remove a q b: a p b and a q b, which derive each
    other, are deleted

Under the filter a shortest path is composed from its edges as without it: its nodes are different, and so are
the ends of all that it is made of. What the rules derive is then the closure but for R[?x, ?x]. This holds as
long as ``!=`` tells terms apart: ``ModuleRejectsRule`` is raised if a literal becomes a subject of R.

Invariant: R is the closure of ``_closures[R].external``, but for R[?x, ?x] if only rules with the filter
close R.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from corollary.closure.maintained import MaintainedClosure
from corollary.closure.reachability import Paths
from corollary.columns import Candidates, Relation, TripleIndex
from corollary.columns.pairs import Pairs, among, firsts, seconds, union
from corollary.columns.relation import EMPTY
from corollary.execute.context import ExecutionContext
from corollary.execute.run_plan import family_rows
from corollary.kernels.limits import at
from corollary.kernels.sorted import Keys
from corollary.language import Rule
from corollary.modules.guards import Guards
from corollary.modules.module import Answer, External, Module, ModuleRejectsRule, NewModules
from corollary.modules.rule_set import RuleSet
from corollary.modules.semi_naive import SemiNaive
from corollary.modules.tuning import MIN_FACTS_TO_COMPARE_INVERSES, MIN_FACTS_TO_TRACE
from corollary.program.compile import Atom, CompiledRule
from corollary.program.compiled_program import CompiledProgram
from corollary.program.shapes import closed_predicate, loopless_predicate, symmetric_predicate
from corollary.terms.dictionary import FIRST_LITERAL

LOOPS = "a relation that rules close but for loops has some, or literals for subjects"


def _closing(rule: CompiledRule, rules: RuleSet) -> int | None:
    """The predicate that a rule closes, but for loops or with them."""
    closed = rules.recognised(closed_predicate, rule)
    return rules.recognised(loopless_predicate, rule) if closed is None else closed


class Transitive(Module):
    """All transitivity rules of a program; each of their predicates is closed by itself."""

    name = "transitive closure"
    why = "a relation composed with itself, or also inverted: closed as a graph"
    turn = 30
    derives_schema = True
    asks_for_external = True

    def __init__(self, context: ExecutionContext, rdf_type: int) -> None:
        self.rules: list[CompiledRule] = []
        self._predicates: list[int] = []
        self._symmetric: set[int] = set()
        self._loopless: set[int] = set()
        self._context = context
        self._guards = Guards(rdf_type)
        self._by_guards = SemiNaive("transitivity by its guards", context)
        self._rdf_type = rdf_type
        self._closures: dict[int, MaintainedClosure] = {}
        self._anew: dict[int, tuple[Keys, bool, Relation]] = {}  # facts, whether symmetric, and their closure
        self._losing: dict[int, tuple[Keys, Relation]] = {}  # the same, of those that lose facts
        self._may_compress: Callable[[int], bool] = lambda predicate: False
        self._unclosed: set[int] = set()  # closed anew in the next turn; until then as before a rule came
        self._external_proved: set[int] = set()  # of these, all facts in ``external`` are external
        self._reads_anew = False  # whether the next turn looks up what the rules close

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        """Rules that close a relation, and symmetry rules of a relation that is closed by another rule."""
        closing = [rule for rule in offered if _closing(rule, rules) is not None]
        closed = {_closing(rule, rules) for rule in closing}
        return [
            *closing,
            *(r for r in offered if rules.recognised(symmetric_predicate, r) in closed - {None}),
        ]

    @classmethod
    def minds(cls, rule: CompiledRule, rules: RuleSet) -> bool:
        """Whether it closes a relation, or makes one symmetric."""
        return _closing(rule, rules) is not None or rules.recognised(symmetric_predicate, rule) is not None

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> Transitive:
        """A module without rules."""
        return cls(context, program.rdf_type)

    def add_rule(self, rule: CompiledRule) -> None:
        """Take in a rule that closes a relation, or makes one symmetric."""
        closed, symmetric = closed_predicate(rule), symmetric_predicate(rule)
        predicate = loopless_predicate(rule) if closed is None else closed
        if predicate is not None:
            self._add_closing(rule, predicate)
        elif symmetric is not None:
            self._add_symmetry(rule, symmetric)

    def _add_closing(self, rule: CompiledRule, predicate: int) -> None:
        """Take in a rule that closes that predicate."""
        if rule.conditions:  # it closes but for loops
            others = zip(self.rules, self._predicates, strict=True)
            if not any(p == predicate and len(r.data) == 2 and not r.conditions for r, p in others):
                self._loopless.add(predicate)
        elif predicate in self._loopless:  # the loops are to come
            self._loopless.remove(predicate)
            self._unclosed.add(predicate)
        self.rules.append(rule)
        self._predicates.append(predicate)
        self._guards.add(rule)
        guards = tuple(rule.atoms[i] for i in sorted(rule.guards))
        marked = Atom(predicate, self._rdf_type, predicate)
        if guards:
            self._by_guards.add_rule(replace(rule, atoms=guards, guards=frozenset(), heads=(marked,)))
        self._reads_anew = self.is_waiting = True

    def _add_symmetry(self, rule: CompiledRule, predicate: int) -> None:
        """Take in a rule that makes a constant predicate symmetric; another rule closes it."""
        self.rules.append(rule)
        self._predicates.append(predicate)
        self._symmetric.add(predicate)
        self._unclosed.add(predicate)
        self._reads_anew = self.is_waiting = True

    def remove_rules(self, numbers: Collection[int], facts: TripleIndex) -> Candidates:
        """Remove rules. Returns all facts of predicates that no rule closes, or makes symmetric, any more."""
        affected = set()
        for rule in self.rules:
            if rule.number in numbers:
                affected.update(self._remove_rule(rule.number, facts))
        return {predicate: [facts.keys(predicate)] for predicate in sorted(affected)}

    def _remove_rule(self, number: int, facts: TripleIndex) -> list[int]:
        """Remove a rule. Returns the predicates that no remaining rule closes, or makes symmetric.

        So are those that only guards close from now on: the guards may follow from what the rule has closed.

            r transitive by a rule; [:r, a, :Transitive] :- [?x, :r, ?x]; a→b→a: without the rule 2 facts stay
        """
        lost = set(self._rows(facts, {number}))
        if any(facts.relation(predicate).is_compressed for predicate in lost):
            raise NewModules("a closure too large to list loses a rule")
        closed, symmetric, loopless = self._closures.keys(), self._symmetric, self._loopless
        kept = [(r, p) for r, p in zip(self.rules, self._predicates, strict=True) if r.number != number]
        self.rules, self._predicates = [rule for rule, _ in kept], [predicate for _, predicate in kept]
        self._symmetric = {p for rule, p in kept if symmetric_predicate(rule) is not None}
        self._loopless = self._without_loops()
        self._by_guards.drop_rules({number})
        self._guards = Guards(self._rdf_type)
        for rule in self.rules:
            self._guards.add(rule)
        rows = set(self._rows(facts))
        changed = (
            (symmetric - self._symmetric) | (self._loopless - loopless) | lost.difference(self._predicates)
        )
        affected = closed & ((closed - rows) | changed)
        for predicate in affected:
            del self._closures[predicate]
            self._external_proved.discard(predicate)
            if predicate in rows:
                self._closures[predicate] = MaintainedClosure(
                    facts.relation(predicate), symmetric=predicate in self._symmetric
                )
                self._refuse_literals(predicate, facts.keys(predicate))
        return sorted(affected)

    @property
    def closed_by_facts(self) -> Set[int]:
        """The predicates that are closed by guards."""
        return self._closures.keys() - set(self._predicates)

    def reads(self, predicate: int) -> bool:
        """Whether it is a closed relation, or has guards."""
        return (
            predicate in self._closures or predicate in self._guards.predicates or predicate == self._rdf_type
        )

    def objects_read(self, predicate: int) -> Set[int] | None:
        """Of rdf:type the classes that guards name, unless rdf:type is closed itself."""
        return None if predicate in self._closures else self._guards.objects_of(predicate)

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """Guards, and conclusions that are external too."""
        own = self._guards.part_of(predicate, new)
        if predicate in self._closures:
            own = own.plus(Pairs(self._closures[predicate].external.common(new.keys)))
        return own

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Answer:
        """The closures' facts that need a recent one."""
        candidates: Candidates = {}
        closed: dict[int, Relation] = {}
        whole: dict[int, Relation] = {}
        known = self._closures.keys() - self._unclosed
        self.is_waiting = False
        if self._reads_anew or self._guards.are_among(recent):
            self._reads_anew = False
            self.revision += 1
            for predicate in self._rows(facts):
                if predicate not in known:
                    self._open(predicate, facts, recent)
                    self._close(predicate, candidates, whole, closed)
            self._unclosed.clear()
        for predicate in known:
            new, closure = recent.keys(predicate), self._closures[predicate]
            if new.size or closure.is_waiting:
                self._refuse_literals(predicate, new)
                self._note(predicate)
                paths = closure.extend(new, new, facts.relation(predicate))
                if paths is None:
                    self._close(predicate, candidates, whole, closed, facts.relation(predicate))
                else:
                    candidates[predicate] = [self._derived(predicate, paths)]
        return Answer(candidates, whole)

    def restore(self, facts: TripleIndex, external: External) -> Candidates:
        """Begin to follow every relation, closed as it is, from its external facts, which may be stored.

        If these are not known, all facts take their place: then none counts as certainly external.
        """
        self._reads_anew = self.is_waiting = False
        self._unclosed.clear()
        self.revision += 1
        for predicate in self._rows(facts):
            stored = facts.relation(predicate).basis
            known = external(predicate) if stored is None else stored.external
            edges = Relation(Pairs(facts.keys(predicate))) if known is None else known
            self._closures[predicate] = MaintainedClosure(edges, symmetric=predicate in self._symmetric)
            self._refuse_literals(predicate, edges.pairs().keys)
            if known is not None and (stored is None or stored.is_certain):
                self._external_proved.add(predicate)
        return {}

    def review(self, rules: RuleSet) -> None:
        """Note which predicates may be compressed."""
        self._may_compress = rules.may_compress

    def prepare(self, facts: TripleIndex, explicit: TripleIndex) -> None:
        """Let searches for paths, and ``note_proved``, begin with what is known now."""
        for predicate, closure in self._closures.items():
            closure.prepare(facts.relation(predicate), explicit.relation(predicate))

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Answer:
        """The paths over deleted edges, and edges near these that are not proved.

        All facts of a predicate whose guards were deleted. Many losses of a compressed one are not listed.
        """
        candidates: Candidates = {}
        losses: dict[int, Relation] = {}
        dropped: set[int] = set()
        if self._guards.are_among(deleted):
            for keys in self._by_guards.overdelete(facts, deleted, proved).candidates.get(self._rdf_type, ()):
                dropped.update(firsts(keys).tolist())
        dropped &= self._closures.keys()
        for predicate in dropped:
            if facts.relation(predicate).is_compressed:
                raise NewModules("a closure too large to list is closed no more")
            keys = facts.keys(predicate)
            self._closures[predicate].doubt(keys)
            candidates[predicate] = [keys]
        for predicate in self._closures.keys() - dropped:
            if not len(deleted.relation(predicate)):
                continue
            self._note(predicate)
            found = self._cut_off(predicate, facts, deleted, proved)
            if found is None and self._loses_unlisted(predicate, facts.relation(predicate), deleted):
                losses |= self._losses(predicate, facts, proved)
                continue
            if found is None:
                lost, others = deleted.keys(predicate), proved.relation(predicate)
                found = union(*self._closures[predicate].lose(lost, lost, others, others, is_based=False))
            candidates[predicate] = [self._derived(predicate, found)]
        return Answer(candidates, losses)

    def spare(
        self, lost: Mapping[int, Relation], facts: TripleIndex, proved: TripleIndex
    ) -> Mapping[int, Relation]:
        """The losses again, from the closures of the facts that are proved now."""
        losses: dict[int, Relation] = {}
        for predicate in lost:
            del self._losing[predicate]
            losses |= self._losses(predicate, facts, proved)
        return losses

    def external(self, predicate: int) -> Relation | None:
        """The external facts of a closed predicate that were not deleted; None if some may be internal."""
        is_known = predicate in self._external_proved and predicate in self._closures
        return self._closures[predicate].remaining if is_known else None

    def basis(self, predicate: int) -> Relation | None:
        """The external facts of a closed predicate."""
        return self._closures[predicate].external if predicate in self._closures else None

    def note_external(self, predicate: int, external: Keys, internal: Keys) -> None:
        """Note which facts are external, and which paths over others explain."""
        self._closures[predicate].note_external(external, internal)

    def note_proved(self, predicate: int, proved: Relation, facts: Relation) -> None:
        """As ``Module.note_proved``. Facts of the last call are not looked up again."""
        self._closures[predicate].note_proved(proved, facts)

    def lose_track(self, predicate: int) -> None:
        """Some facts in ``external`` may be internal by now."""
        self._external_proved.discard(predicate)

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """The wanted facts that ``facts`` prove, of closed predicates with recent facts.

        Of many wanted facts only those are looked at whose subject is, or leads to, that of a recent fact.
        """
        parts: dict[int, Relation] = {}
        for predicate, closure in self._closures.items():
            news, edges = recent.relation(predicate), facts.relation(predicate)
            if len(news):
                parts[predicate] = asked = wanted.relation(predicate)
                if len(asked) > MIN_FACTS_TO_TRACE and not (news.is_compressed or edges.is_compressed):
                    before = Paths(edges, None, closure.symmetric).sources_of(news.subject_terms())
                    keys = asked.pairs().keys
                    parts[predicate] = Relation(Pairs(keys[among(firsts(keys), before)]))
        return self.rederive(TripleIndex(parts), facts)

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """The candidates that paths over ``facts`` lead to. Precondition: the guards hold."""
        derived: Candidates = {}
        for predicate, wanted in self._closed_among(candidates):
            edges = facts.relation(predicate)
            closure = self._closures[predicate]
            is_known = predicate in self._external_proved and not edges.is_compressed
            anew = self._anew.get(predicate) if is_known else None
            found = closure.joined(wanted, edges)
            if found is not None:
                pass
            elif anew is not None and not closure.is_listed_near(wanted, anew[2]):
                closed = self._closed_anew(predicate, edges.pairs().keys, anew[2])  # as ``_losses`` needs it
                found = closed.common(wanted)
            else:
                found = closure.rederive(wanted, edges, edges)
            derived[predicate] = [self._derived(predicate, found)]
        return derived

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """The external facts on the paths from the candidates' subjects."""
        read = {p: self._closures[p].premises(keys)[0] for p, keys in self._closed_among(candidates)}
        return {p: [facts.relation(p).common(keys)] for p, keys in read.items()}

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """The deletions are final. Facts that no path explains any more are external from now on."""
        if self._guards.are_among(deleted):
            rows = set(self._rows(facts))
            self._closures = {p: closure for p, closure in self._closures.items() if p in rows}
            self.revision += 1
        for predicate, closure in self._closures.items():
            edges = facts.relation(predicate)
            if predicate in self._losing:
                staying, after = self._losing[predicate]
                beside = edges.less(after).pairs().keys  # other rules proved these
                external = Relation(Pairs(union(staying, beside)))
                self._closures[predicate] = MaintainedClosure(
                    external, symmetric=closure.symmetric, restored=beside
                )
                if len(after.less(edges)):  # facts went that still follow
                    self._unclosed.add(predicate)
                    self._reads_anew = self.is_waiting = True
            else:
                closure.commit(deleted.keys(predicate), edges, edges)
            self.is_waiting = self.is_waiting or self._closures[predicate].is_waiting
        self._losing.clear()

    def _closed_among(self, candidates: TripleIndex) -> Iterator[tuple[int, Keys]]:
        """The closed predicates that have candidates, with these."""
        predicates = (p for p in candidates.all_predicates() if p in self._closures)
        return ((p, candidates.keys(p)) for p in predicates)

    def _open(self, predicate: int, facts: TripleIndex, recent: TripleIndex) -> None:
        """Begin to follow a relation, or begin again with its external and recent facts."""
        external = facts.relation(predicate)
        if predicate in self._closures:
            new = recent.keys(predicate)
            external = self._closures[predicate].external.plus(new)
        else:
            self._external_proved.add(predicate)
        self._closures[predicate] = MaintainedClosure(external, symmetric=predicate in self._symmetric)
        self._refuse_literals(predicate, external.pairs().keys)

    def _close(
        self,
        predicate: int,
        candidates: Candidates,
        whole: dict[int, Relation],
        closed: dict[int, Relation],
        known: Relation = EMPTY,
    ) -> None:
        """Add the closure of a predicate's external facts to ``whole`` or, if listed, to the candidates.

        ``known`` are facts of the closure, all external ones among them. ``closed`` has the closures of this
        turn.
        """
        self._note(predicate)
        closure = self._closures[predicate]
        is_whole = predicate not in self._loopless and self._may_compress(predicate)
        found = self._inverse(predicate, closed)
        if found is None:
            found = closure.closed(known) if is_whole else Relation(Pairs(closure.close()))
        closed[predicate] = found
        if is_whole:
            whole[predicate] = found
        else:
            candidates[predicate] = [self._derived(predicate, found.pairs().keys)]

    def _inverse(self, predicate: int, closed: Mapping[int, Relation]) -> Relation | None:
        """The inverse of a listed closure, if the predicate's external facts are the inverse of its own.

        They share their memory: r and its inverse, both transitive.
        """
        external = self._closures[predicate].external
        for other in closed if len(external) >= MIN_FACTS_TO_COMPARE_INVERSES else ():
            theirs = self._closures[other].external
            if len(theirs) != len(external) or not self._symmetric.isdisjoint((predicate, other)):
                continue
            is_inverse = np.array_equal(theirs.pairs().by_object, external.pairs().keys)
            if is_inverse and not closed[other].is_compressed:
                return closed[other].inverse()
        return None

    def _cut_off(
        self, predicate: int, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex
    ) -> Keys | None:
        """What a symmetric closed relation loses, if a search near the deleted facts tells; else None."""
        lost, known = deleted.relation(predicate), proved.relation(predicate)
        if predicate in self._losing or lost.is_compressed or known.is_compressed:
            return None
        return self._closures[predicate].cut_off(lost.pairs().keys, facts.relation(predicate), known)

    def _loses_unlisted(self, predicate: int, closed: Relation, deleted: TripleIndex) -> bool:
        """Whether a closed relation is compressed, and what it loses with deleted facts is not listed."""
        if not closed.is_compressed:
            return False
        if predicate in self._losing or predicate not in self._external_proved:
            return True
        listed = deleted.relation(predicate)
        closure = self._closures[predicate]
        return listed.is_compressed or not closure.is_listed_near(listed.pairs().keys, closed)

    def _losses(self, predicate: int, facts: TripleIndex, proved: TripleIndex) -> dict[int, Relation]:
        """What a compressed relation loses if only its proved facts stay, and what these lead to.

        By its predicate; nothing if an earlier call has returned it. Raises ``NewModules`` if further facts
        lost their proofs after an earlier call.
        """
        before = facts.relation(predicate)
        is_proved = predicate in self._external_proved  # ``note_external`` has received all of these facts
        staying = (self._closures[predicate].external if is_proved else before).common(proved.keys(predicate))
        if predicate in self._losing:
            if not np.array_equal(self._losing[predicate][0], staying):
                raise NewModules("a closure too large to list loses facts step by step")
            return {}
        after = self._closed_anew(predicate, staying, before)
        self._losing[predicate] = staying, after
        return {predicate: before.beyond(after)}

    def _closed_anew(self, predicate: int, edges: Keys, before: Relation) -> Relation:
        """The closure of some facts (sorted) of a compressed relation, which is kept until others come.

        ``before`` is the closure before the change, or of the facts that were asked for last.
        """
        known, symmetric = self._anew.get(predicate), self._closures[predicate].symmetric
        if known is None or known[1] != symmetric or not np.array_equal(known[0], edges):
            closure = MaintainedClosure(Relation(Pairs(edges)), symmetric=symmetric)
            known = edges, symmetric, closure.closed(before=before)
            self._anew[predicate] = known
        return known[2]

    def _note(self, predicate: int) -> None:
        """Name the predicate in the messages of limits."""
        at(f"{self.name} of {self._context.dictionary.decode(predicate)}")

    def _derived(self, predicate: int, paths: Keys) -> Keys:
        """The paths that the rules derive."""
        return paths[firsts(paths) != seconds(paths)] if predicate in self._loopless else paths

    def _without_loops(self) -> set[int]:
        """The predicates that only rules with a filter close."""
        closed = list(zip(self.rules, self._predicates, strict=True))
        loopless = {predicate for rule, predicate in closed if loopless_predicate(rule) is not None}
        return loopless - {predicate for rule, predicate in closed if closed_predicate(rule) is not None}

    def _refuse_literals(self, predicate: int, edges: Keys) -> None:
        """Raise ``ModuleRejectsRule`` if ``!=`` may find subjects alike that are different literals."""
        if predicate in self._loopless and edges.size:
            last = int(edges[-1]) >> 32
            if predicate in self._symmetric:
                last = max(last, int(seconds(edges).max()))
            if last >= FIRST_LITERAL:
                raise ModuleRejectsRule(self.name, self._rules_without_loops(predicate), LOOPS)

    def _rules_without_loops(self, predicate: int) -> frozenset[Rule]:
        return frozenset(rule.source for rule in self.rules if loopless_predicate(rule) == predicate)

    def _rows(self, facts: TripleIndex, numbers: Collection[int] | None = None) -> list[int]:
        """The predicates that the rules (all, or those with some numbers) close, given the present schema."""
        found: dict[int, None] = {}
        for rule, predicate in zip(self.rules, self._predicates, strict=True):
            if symmetric_predicate(rule) is not None or (numbers is not None and rule.number not in numbers):
                continue  # another rule closes it
            if predicate >= 0:
                found[predicate] = None
                continue
            rows = family_rows(rule, facts, self._context)
            if rows.size:
                bound = dict.fromkeys(rows.column(predicate).tolist())
                for both in self._loopless.intersection(bound):
                    raise ModuleRejectsRule(self.name, self._rules_without_loops(both), LOOPS)
                found.update(bound)
        return list(found)
