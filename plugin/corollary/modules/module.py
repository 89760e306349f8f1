"""The protocol of modules: the methods that the fixpoint and the maintenance call.

The methods are the functions of Hu, Motik, Horrocks, Modular Materialisation of Datalog Programs, 2019,
section 4, and those that Backward/Forward needs. A method that differs from the paper says so.
``tests/modules/test_obligations.py`` checks every module against this protocol.

Words, for a module M:
- I is the materialisation: all facts that hold;
- the *own* rules of M are the rules that M claimed;
- an *instance* is an own rule with terms substituted for its variables; the facts of its body are its
  *premises*, the facts of its head its *conclusions*;
- a fact *follows* from a set of facts if finitely many instances derive it;
- a fact is *external* to M if it is explicit or another module derived it, *internal* if only M derived it;
- *guards* are facts that add instances to a rule (``program.compile``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from typing import ClassVar, NamedTuple, Protocol

from corollary.columns import NOTHING, Candidates, Delta, Pairs, Relation, TripleIndex
from corollary.columns.pairs import NO_KEYS
from corollary.execute.context import ExecutionContext
from corollary.kernels.sorted import Keys
from corollary.language import Rule
from corollary.modules.rule_set import RuleSet
from corollary.modules.tuning import MAX_FACTS_ONE_BY_ONE
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import CompiledProgram, ProgramChange


class NewModules(Exception):
    """The modules cannot follow a change of the program or of the facts: the materialisation starts over."""


class ModuleRejectsRule(Exception):
    """The facts do not allow a module to evaluate ``rules``: other modules must take these rules."""

    def __init__(self, module: str, rules: frozenset[Rule], why: str) -> None:
        super().__init__(f"{module}: {why}")
        self.rules = rules


External = Callable[[int], Relation | None]
"""The facts of a predicate that are explicit, or that other modules derive in one step; None: not known."""


Fact = tuple[int, int, int]
"""Subject, predicate, object."""


class NotFew(Exception):
    """A change cannot be followed fact by fact, or takes longer in this way than all at once."""


class Answer(NamedTuple):
    """What ``Module.add`` and ``Module.overdelete`` return."""

    candidates: Candidates
    relations: Mapping[int, Relation] = {}
    """Facts that are not listed among the candidates, because they are too many.

    Of ``add``: relations with all facts of their predicates. Of ``overdelete``: the overdeleted facts of
    compressed predicates. The module does not receive these facts: they are closed under its rules. Only
    modules with ``derives_schema`` return schema facts in this way.
    """

    new: Mapping[int, Pairs] = {}
    """Of ``add``: further candidates, none of which is in I. They are in none of the other answers."""


Precedes = Callable[[int, int], bool]
"""Whether all facts of a predicate are decided before any fact of another one is."""


def feedback(module: Module, own: Delta) -> Delta:
    """The part of a module's own conclusions that the module must receive again."""
    found: dict[int, Relation] = {}
    for predicate, relation in own.all_relations():
        if not relation.is_compressed:
            pairs = relation.pairs()
            part = module.feedback(predicate, pairs)
            if part is pairs:
                found[predicate] = relation
            elif len(part):
                found[predicate] = Relation(part)
    return Delta.of_relations(found) if found else NOTHING


def received(module: Module, facts: Delta) -> Delta:
    """The facts of those predicates of which the module reads at least one object of the facts."""
    return facts.only(lambda p: module.reads(p) and has_any(facts.relation(p), module.objects_read(p)))


def has_any(facts: Relation, objects: Set[int] | None) -> bool:
    """Whether facts have one of the objects; None: any. Compressed facts are not looked up: True."""
    if objects is None or facts.is_compressed:
        return True
    if len(facts) <= MAX_FACTS_ONE_BY_ONE:
        return not objects.isdisjoint([key & 0xFFFFFFFF for key in facts.pairs().keys.tolist()])
    return bool(objects) and not objects.isdisjoint(facts.object_terms().tolist())


class Module(Protocol):
    """An algorithm that evaluates its own rules.

    All answers are packed pairs by predicate, in any order, with duplicates. An answer may contain known
    facts and, except for ``rederive``, facts that the caller did not ask about. No method changes its
    arguments. Apart from caches, only ``add``, ``restore``, ``prepare``, ``overdelete``, ``release``,
    ``spare``, ``note_external``, ``note_proved``, ``lose_track``, ``commit_deletions`` and the methods about
    rules change the module.

    Only ``SemiNaive`` and ``LeastValues`` handle negation and aggregates, one stratum at a time: the paper's
    datasets for negated atoms and its function Diff (definition 5) are ``SemiNaive.deleted_by_negation``,
    ``inserted_by_negation`` and ``grouped``.

    To add a module: a class with these members in a file of its own, and a line in ``modules.registry``.
    """

    # Which rules it takes

    name: str
    """The module's name in reports and in EXPLAIN."""

    why: ClassVar[str]
    """The reason that EXPLAIN prints for the module's rules."""

    turn: ClassVar[int]
    """The module's position in the fixpoint: modules that are cheap, or that others build on, come first."""

    is_optional: ClassVar[bool] = True
    """Whether semi-naive evaluation could evaluate the module's rules instead.

    A module without rules is optional: without it, its virtual relations are empty.
    """

    has_one_rule: ClassVar[bool] = False
    """Whether every claimed rule gets a module of its own."""

    derives_schema: ClassVar[bool] = False
    """Whether the module derives schema facts from schema facts, and so takes part in the schema's layer."""

    keeps_state: ClassVar[bool] = True
    """Whether the module remembers facts.

    A rule can move between two modules without state as it is; otherwise it is applied to all facts again.
    """

    concludes_facts: ClassVar[bool] = False
    """Whether all answers of ``overdelete`` and ``release`` are facts of I, once the own rules were applied:
    not those of rules that only help a module."""

    closes_premises: ClassVar[bool] = False
    """Whether one call of ``premises`` follows the own rules backward as far as they lead.

    Predicates that only such modules connect have one level (``evaluate.precedence``): their candidates are
    decided together.
    """

    takes_compressed: ClassVar[bool] = False
    """Whether ``rederive`` lists no compressed candidates."""

    receives_again: ClassVar[bool] = False
    """Whether ``add`` may receive facts that it received before, because it keeps none."""

    asks_for_external: ClassVar[bool] = False
    """Whether ``restore`` asks for external facts. Modules that do not ask are restored first."""

    is_waiting: bool = False
    """Whether ``add`` would derive something without recent facts.

    True if a rule has not been applied yet, or if ``commit_deletions`` found that facts are missing. ``add``
    ends it.
    """

    revision: int = 0
    """The number of times that facts changed the answers of ``reads`` or ``objects_read``."""

    only_reads: Set[int] | None = None
    """The predicates for which ``reads`` is true, if the module's one rule names them; else None.

    Such a module keeps ``revision``, and begins to wait only where its rule is added, or by
    ``commit_deletions``.
    """

    rules: list[CompiledRule]
    """The module's own rules."""

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        """The rules among ``offered`` that the module takes.

        Precondition: ``offered`` are monotone, and no earlier module of the registry has claimed them.
        """
        return ()

    @classmethod
    def minds(cls, rule: CompiledRule, rules: RuleSet) -> bool:
        """Whether adding or removing ``rule`` may change which other rules the module claims."""
        return False

    @classmethod
    def is_needed(cls, program: CompiledProgram) -> bool:
        """Whether the program needs the module even without own rules: for the module's virtual relations."""
        return False

    @classmethod
    def schema_predicates(cls, program: CompiledProgram) -> Collection[int]:
        """Further predicates whose facts the module needs in the schema's layer."""
        return ()

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> Module:
        """A module without rules."""

    def add_rule(self, rule: CompiledRule) -> None:
        """Add a claimed rule. A later ``add`` applies it to all facts; ``is_waiting`` until then."""
        self.rules.append(rule)
        self.is_waiting = True

    def variants(self, rule: CompiledRule, program: CompiledProgram) -> Sequence[CompiledRule]:
        """The parts of a rule that are left to semi-naive evaluation, as rules with the same number."""
        return ()

    def remove_rules(self, numbers: Collection[int], facts: TripleIndex) -> Candidates:
        """Remove the own rules with these numbers; other numbers are ignored.

        Returns at least the conclusions of the removed rules' instances over ``facts``.
        """
        self.rules = [rule for rule in self.rules if rule.number not in numbers]
        return {}

    def take_up(self, change: ProgramChange, facts: TripleIndex) -> None:
        """Replace the program by ``change.program``.

        Raises ``NewModules`` if the module's state does not serve the new program.
        """
        return

    def review(self, rules: RuleSet) -> None:
        """Receive the program's rules, after rules of this or another module were added or removed."""
        return

    def new_rules(self, program: CompiledProgram) -> Sequence[CompiledRule]:
        """The rules that the facts received so far add to the program."""
        return ()

    def derives_at_least(self, rule: CompiledRule, facts: TripleIndex, explicit: TripleIndex) -> int:
        """A lower bound on the number of non-explicit facts that an own rule derives; 0 if unknown."""
        return 0

    @property
    def closed_by_facts(self) -> Set[int]:
        """The predicates that the module closes because facts, and not rules alone, say so."""
        return frozenset()

    # What it derives

    @abstractmethod
    def reads(self, predicate: int) -> bool:
        """Whether facts of a predicate may be premises. The module receives facts of these predicates only.

        If a new guard makes the module read another predicate, the module looks up its earlier facts itself.
        Only rules, and facts that change ``revision``, change the answer.
        """

    def objects_read(self, predicate: int) -> Set[int] | None:
        """The objects of the facts of a predicate that may be premises; None: any.

        Of a predicate that it reads, the module may not receive facts with other objects.
        """
        return None

    def ignores(self, terms: Set[int]) -> bool:
        """Whether ``add`` would change nothing for facts with these subjects and objects.

        Of few facts that were added, the module may not receive those that it ignores.
        """
        return False

    def ignores_loss(self, predicates: Iterable[int], terms: Set[int]) -> bool:
        """Whether ``overdelete`` returns nothing for deleted facts with these predicates and terms.

        Of few facts that were deleted, the module may not receive those that it ignores.
        """
        return False

    @abstractmethod
    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """The part of the module's own conclusions ``new`` that the module must receive again.

        ``new`` are either new facts from the answers of ``add`` and ``rederive``, which go to ``add``, or
        deleted facts from the answers of ``overdelete``, which go to its next call. The paper needs no
        feedback (algorithms 2 and 3), since its functions close the rules. Here a module that applies its
        rules once returns all of ``new``. A module that closes its rules returns only the guards, and of
        deleted facts also the external ones.
        """

    @abstractmethod
    def add(self, facts: TripleIndex, recent: TripleIndex) -> Answer:
        """The conclusions from recent facts: definition 3.

        Preconditions: ``recent`` ⊆ ``facts``, and ``recent`` are the facts that the module reads and has not
        received yet. Without ``recent``, and without rules not yet applied, ``facts`` are closed under the
        own rules.

        Returns at least the conclusions of all instances over ``facts`` with a recent premise, and all
        conclusions of rules not yet applied; at most the facts that follow from ``facts``. Repeated calls
        with the feedback of the answers close ``facts``.
        """

    def restore(self, facts: TripleIndex, external: External) -> Candidates:
        """Restore what the module remembers of facts that are closed already, instead of deriving them.

        Preconditions: the module has its rules, and has received no facts; ``facts`` are I, without the
        virtual relations of this module and of those with a later turn. Afterwards the module behaves as if
        it had received ``facts`` by ``add``, and ``is_waiting`` is False.

        Returns at least the facts of the module's virtual relations. This default evaluates all rules.
        """
        return self.add(facts, facts).candidates

    def prepare(self, facts: TripleIndex, explicit: TripleIndex) -> None:
        """Make ready for changes of I (``facts``), which was materialised from ``explicit`` facts.

        Cost: little beside that of the materialisation.
        """
        return

    @abstractmethod
    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Answer:
        """The facts that lose a derivation: definition 6, with proved facts instead of counters.

        Preconditions: ``facts`` is I before the transaction, in every call. ``deleted`` are the facts that
        the module reads and that were deleted since the last call. ``proved`` facts stay, and grow from call
        to call.

        Returns, in all calls together, at least the conclusions of instances over ``facts`` with a deleted
        premise that is external, or that is itself such a conclusion. Conclusions that follow from
        ``proved``, alone (the paper's lower bound) or with the other premises of the instance, may be left
        out. There is no upper bound: the caller proves every returned fact, or deletes and rederives it.
        """

    def refuse_loss(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """Raise ``NewModules`` if deleted facts lead to losses that no answer of ``overdelete`` can be.

        ``facts`` is I before the transaction. Called before any module overdeletes by these facts, so that
        little work is in vain. ``overdelete`` refuses what is not seen here.
        """
        return

    def spare(
        self, lost: Mapping[int, Relation], facts: TripleIndex, proved: TripleIndex
    ) -> Mapping[int, Relation]:
        """The relations ``lost`` that ``overdelete`` returned, after some of their facts were proved."""
        return lost

    def overdelete_in_order(
        self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex, precedes: Precedes
    ) -> Answer:
        """As ``overdelete``, in a layer that decides candidates in an order of their predicates.

        The module may hold conclusions back, of premises that are decided before them.
        """
        return self.overdelete(facts, deleted, proved)

    @property
    def holds_back(self) -> Set[int]:
        """The predicates of the conclusions that are held back, which ``release`` returns."""
        return frozenset()

    def release(self, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """The conclusions that were held back. Precondition: all that precedes their predicates is decided.

        ``facts`` are those not deleted so far. Conclusions that follow from decided or ``proved`` ones may be
        left out.
        """
        return {}

    def external(self, predicate: int) -> Relation | None:
        """For a predicate that the module closes: the facts that are external, with certainty.

        Some external facts may be missing; without those, the closure of the others is the same. None if the
        module does not know. Facts that ``overdelete`` has received as deleted in this transaction are left
        out, unless the relation is compressed.
        """
        return None

    def basis(self, predicate: int) -> Relation | None:
        """Facts from which all of a predicate followed before the transaction: external ones, maybe others.

        None if the module does not close the predicate.
        """
        return None

    def note_external(self, predicate: int, external: Keys, internal: Keys) -> None:
        """Note, of facts of a predicate that hold, which are ``external``, and which are not, or no longer.

        Preconditions: ``external`` knows the predicate; the ``internal`` facts follow from the other external
        facts by the own rules.
        """
        return

    def note_proved(self, predicate: int, proved: Relation, facts: Relation) -> None:
        """Note that those ``facts`` of a predicate are external that are ``proved``.

        Precondition: ``external`` knows the predicate; ``facts`` are all that hold before the transaction.
        """
        self.note_external(predicate, facts.common(proved.pairs().keys), NO_KEYS)

    def lose_track(self, predicate: int) -> None:
        """Note that facts of a predicate hold that lost derivations: which ones are external is not known.

        Afterwards ``external`` returns None.
        """
        return

    @abstractmethod
    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """The wanted facts that follow from proved facts: the forward step of Backward/Forward.

        Preconditions: ``facts`` are proved and hold all guards; ``recent`` ⊆ ``facts``, without guards.

        Returns at least the ``wanted`` conclusions of all instances over ``facts`` with a recent premise; of
        the wanted facts at most those that follow from ``facts``.
        """

    @abstractmethod
    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """The candidates that have another derivation: definition 7.

        Preconditions: ``facts`` contain no candidate and all guards. The call comes after
        ``commit_deletions``, or while no guards change.

        Returns at least the candidates that are conclusions of instances over ``facts``, and at most the
        candidates that follow from ``facts``. The paper requires all steps among the candidates. Here one
        step is enough if its conclusions are feedback: then ``add`` takes the further steps.
        """

    def supported(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """Some of the candidates that ``rederive`` returns: those that are found at little cost, if few.

        Preconditions as for ``rederive``.
        """
        return {}

    @abstractmethod
    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """Those of ``facts`` from which the candidates may be derived: the backward step of Backward/Forward.

        Preconditions: ``facts`` are all facts that may still hold; ``proved`` ⊆ ``facts``; ``facts`` contain
        all guards.

        The caller repeats the call with the answers. All answers together suffice for proofs: a candidate
        that follows from external facts also follows from the external facts among the answers, the proved
        facts and the guards. Semi-naive evaluation returns the premises of all instances. A module that
        closes its rules may leave out internal facts. Such a fact may lose its proof here although another
        module still proves it. Then its consequences may count as unproved, and the next ``add`` returns them
        again.
        """

    def witnesses(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """A few of ``facts``, any one of which may save much work if it is proved before the candidates are.

        Preconditions as for ``premises``.
        """
        return {}

    def conclusions_of(self, fact: Fact, facts: TripleIndex, proved: TripleIndex) -> Iterable[Fact]:
        """As ``overdelete``, for one fact, with no fact left out. Raises ``NotFew``.

        Preconditions: no guard; ``facts`` are I, and are not changed any more.
        """
        raise NotFew

    def instances_of(self, fact: Fact, facts: TripleIndex) -> Iterable[Sequence[Fact]]:
        """The premises, but for guards, of each instance over ``facts`` that concludes a fact.

        May be asked for as many as suffice for a proof. Raises ``NotFew``. Preconditions as above.
        """
        raise NotFew

    @abstractmethod
    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """Make the deletions final; ``facts`` are the remaining facts.

        Afterwards the module behaves as if it had received the remaining external facts in one ``add``.
        """
