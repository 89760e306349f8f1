"""The protocol of modules: what the fixpoint and the maintenance ask of them.

The functions are those of Hu, Motik, Horrocks, Modular Materialisation of Datalog Programs, 2019, section 4,
and two that Backward/Forward needs. Where the protocol differs from the paper, the method says so.
``tests/modules/test_obligations.py`` holds every module to it.

Words, for a module M:
- the *own* rules of M are those that it claimed;
- an *instance* is an own rule with terms for its variables; the facts of its body are its *premises*, those
  of its head its *conclusions*;
- a fact *follows* from facts by any number of instances;
- a fact is *external* to M if it is explicit or another module derived it, and *internal* if only M did;
- *guards* are facts that bring new instances (``program.compile``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import ClassVar, Protocol

from corollary.columns.delta import Candidates, Delta
from corollary.columns.pairs import Pairs
from corollary.columns.relation import Relation
from corollary.columns.triples import TripleIndex
from corollary.execute.context import ExecutionContext
from corollary.language import Rule
from corollary.modules.rule_set import RuleSet
from corollary.program.compile import CompiledRule
from corollary.program.compiled_program import CompiledProgram, ProgramChange


class NewModules(Exception):
    """A changed program needs modules, or data for them, that are only made at the start."""


class ModuleRejectsRule(Exception):
    """The facts do not allow a module to take some rules: the program is to be assigned without it."""

    def __init__(self, module: str, rules: frozenset[Rule], why: str) -> None:
        super().__init__(f"{module}: {why}")
        self.rules = rules


def feedback(module: Module, own: Delta) -> Delta:
    """Which of a module's own conclusions come back to it."""
    found = {p: Relation(module.feedback(p, Pairs(keys))) for p, keys in own.items()}
    return Delta.of_relations(found)


class Module(Protocol):
    """An algorithm over its own rules.

    All answers are packed pairs by predicate, in any order, with duplicates. They may contain facts that are
    known already and, except for ``rederive``, facts that were not asked for. No argument is changed.
    ``add``, ``overdelete``, ``commit_deletions`` and the methods about rules change the module.

    Negation and aggregates are the business of semi-naive evaluation alone, one stratum at a time: the
    paper's datasets for negated atoms and its function Diff (definition 5) are
    ``SemiNaive.deleted_by_negation``, ``inserted_by_negation`` and ``grouped``.

    To add a module: a class with these members in a file of its own, and a line in ``modules.registry``.
    """

    # Which rules it takes

    name: str
    """What reports and EXPLAIN call it."""

    why: ClassVar[str]
    """EXPLAIN's reason why it takes the rules that it takes."""

    turn: ClassVar[int]
    """Its place among the modules: what is cheap, and what others build on, has a low number."""

    is_optional: ClassVar[bool] = True
    """Whether semi-naive evaluation could take its rules."""

    has_one_rule: ClassVar[bool] = False
    """Whether every rule gets a module of its own."""

    derives_schema: ClassVar[bool] = False
    """Whether it derives schema facts from schema facts: it takes part when the schema is followed."""

    keeps_state: ClassVar[bool] = True
    """Whether it remembers facts: if not, rules may go from it to another such module as they are."""

    rules: list[CompiledRule]
    """Its own rules."""

    @classmethod
    def claim(cls, offered: Sequence[CompiledRule], rules: RuleSet) -> Iterable[CompiledRule]:
        """The rules it takes, of those ``offered``: monotone ones that no module before it has taken."""
        return ()

    @classmethod
    def minds(cls, rule: CompiledRule, rules: RuleSet) -> bool:
        """Whether a rule may change what it claims of other rules."""
        return False

    @classmethod
    def is_needed(cls, program: CompiledProgram) -> bool:
        """Whether it is needed even if it takes no rules: for relations that it derives itself."""
        return False

    @classmethod
    def schema_predicates(cls, program: CompiledProgram) -> Collection[int]:
        """Predicates whose facts are schema because it needs them so."""
        return ()

    @classmethod
    def make(cls, program: CompiledProgram, context: ExecutionContext) -> Module:
        """A module without rules."""

    def add_rule(self, rule: CompiledRule) -> None:
        """Take in a rule that was claimed. It is applied to all facts in the next turn."""
        self.rules.append(rule)

    def variants(self, rule: CompiledRule, program: CompiledProgram) -> Sequence[CompiledRule]:
        """Parts of a rule that it leaves to semi-naive evaluation, as rules of the same number."""
        return ()

    def remove_rules(self, numbers: Collection[int], facts: TripleIndex) -> Candidates:
        """Let go of rules, as far as it has them. At least what they derive from ``facts`` in one step."""
        self.rules = [rule for rule in self.rules if rule.number not in numbers]
        return {}

    def take_up(self, change: ProgramChange, facts: TripleIndex) -> None:
        """Another program takes the place of the one it was made for. ``NewModules`` if it will not do."""
        return

    def review(self, rules: RuleSet) -> None:
        """Rules have come or gone, maybe of other modules."""
        return

    def new_rules(self, program: CompiledProgram) -> Sequence[CompiledRule]:
        """Rules that the facts so far add to the program."""
        return ()

    def derives_at_least(self, rule: CompiledRule, facts: TripleIndex, explicit: TripleIndex) -> int:
        """A lower bound of the facts that are lost if an own rule goes; 0 if nothing is known."""
        return 0

    @property
    def closed_by_facts(self) -> Set[int]:
        """Predicates for which facts, and not rules alone, make it derive something."""
        return frozenset()

    @property
    def cells(self) -> Mapping[int, tuple[int, ...]]:
        """The cells of lists that it has read, by reading."""
        return {}

    # What it derives

    @property
    def is_waiting(self) -> bool:
        """Whether ``add`` would derive something without recent facts.

        True while a rule was not applied yet, or after ``commit_deletions`` has found facts to be missing.
        """

    def reads(self, predicate: int) -> bool:
        """Whether facts of a predicate may be premises. The module receives no other facts.

        Where a new guard opens a predicate, the module looks up the earlier facts itself.
        """

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """Which of its own conclusions the module must receive again.

        Asked about new facts in the answers of ``add`` and ``rederive`` (``add`` receives them), and about
        deleted facts in the answers of ``overdelete`` (its next call receives them). In the paper modules
        receive none (algorithms 2 and 3), since its functions close the rules. Here: everything after one
        application of the rules; only guards after their closure; of deleted facts also those external to it.
        """

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Candidates:
        """What recent facts lead to: definition 3.

        Preconditions: ``recent`` ⊆ ``facts``, and ``recent`` are the facts that the module reads and has not
        received yet. Without these and without rules that wait, ``facts`` are closed under its rules.

        Returns at least the conclusions of all instances over ``facts`` with a recent premise, and all
        conclusions of rules that wait; at most what follows from ``facts``. Repeated calls with the feedback
        of the answers close the facts.
        """

    def overdelete(self, facts: TripleIndex, deleted: TripleIndex, proved: TripleIndex) -> Candidates:
        """What loses a derivation: definition 6, with proved facts in the place of its counters.

        Preconditions: ``facts`` are those before the transaction, in every call; ``deleted`` are the facts
        that the module reads and that were deleted since the last call; ``proved`` facts stay, and grow from
        call to call.

        Returns, in all calls together, at least the conclusions of instances over ``facts`` with a deleted
        premise that is external, or that is itself such a conclusion; except for conclusions that proved
        facts prove, alone (the paper's lower bound) or with the other premises of the instance. There is no
        upper bound: every fact of the answer will be proved, or deleted and derived again.
        """

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """What of the wanted facts follows from facts that were proved: the forward step of Backward/Forward.

        Preconditions: ``facts`` are proved and hold all guards; ``recent`` ⊆ ``facts``, without guards.

        Returns at least the ``wanted`` conclusions of all instances over ``facts`` with a recent premise; of
        the wanted facts at most those that follow from ``facts``.
        """

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """Which candidates have another derivation: definition 7.

        Preconditions: no candidate is in ``facts``; all guards are. It is called after ``commit_deletions``,
        or while no guards change.

        Returns at least the candidates that are conclusions of instances over ``facts``, and at most the
        candidates that follow from ``facts``. The paper asks for all steps among the candidates; here one
        step is enough where its conclusions are feedback, so that ``add`` takes the next ones.
        """

    def premises(self, candidates: TripleIndex, facts: TripleIndex, proved: TripleIndex) -> Candidates:
        """What proofs of the candidates start from: the backward step of Backward/Forward.

        Preconditions: ``facts`` are all that may still hold, ``proved`` ⊆ ``facts``, all guards are in them.

        Returns, if it is called again with its answers, enough facts: a candidate that follows from external
        facts follows from those among the answers, the proved facts and the guards alone. Semi-naive
        evaluation returns the premises of all instances. A module that closes its rules may leave out
        internal facts. An internal fact may lose its proof here and keep one by another module; what it leads
        to may then count as unproved, and the module returns it in the next ``add``.
        """

    def commit_deletions(self, facts: TripleIndex, deleted: TripleIndex) -> None:
        """The deletions are final; ``facts`` are what is left.

        Afterwards the module behaves like one that received the external facts that are left, in one ``add``.
        """
