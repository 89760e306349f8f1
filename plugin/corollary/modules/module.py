"""What the fixpoint and the maintenance ask of a module.

The functions are those of Hu, Motik, Horrocks, Modular Materialisation of Datalog Programs, 2019,
section 4, and two that Backward/forward needs; where something else is asked than in the paper, it is
said. ``tests/modules/test_obligations.py`` holds every module to it.

A module has some rules of the program, its *own* rules. An *instance* is an own rule with terms for its
variables; the facts of its body are its *premises*, those of its head its *conclusions*. What *follows*
from facts does so by any number of instances. Facts *from outside* are explicit or derived by other
modules, and were handed to it: what it had derived before that is not. *Guards* are facts that bring
instances (``plan/compile.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import ClassVar, Protocol

from corollary.algebra.context import ExecutionContext
from corollary.index.delta import Candidates, Delta
from corollary.index.pairs import Pairs
from corollary.index.relation import Relation
from corollary.index.triples import TripleIndex
from corollary.language import Rule
from corollary.modules.rule_set import RuleSet
from corollary.plan.compile import CompiledRule
from corollary.plan.program import CompiledProgram, ProgramChange


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

    Answers are packed pairs by predicate, in any order, with duplicates. Facts that are known already, and
    those that were not asked for (but for ``rederive``), do no harm in them. No argument is changed; only
    ``add``, ``overdelete``, ``commit_deletions`` and what is said to change the rules change the module.

    The paper's datasets for negated atoms are missing here, as is its function Diff (definition 5): only
    semi-naive evaluation takes rules with negation, each stratum when all that it negates is settled. See
    ``SemiNaive.deleted_by_negation``, ``inserted_by_negation`` and ``grouped``.

    To add a module: a class with these members, in a file of its own, and a line in ``modules.registry``.
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
        """Whether ``add`` would find something without recent facts.

        Rules that were not applied yet, or what ``commit_deletions`` has found to be missing.
        """

    def reads(self, predicate: int) -> bool:
        """Whether facts of that predicate may be premises.

        It is never given others. Where a guard opens a further predicate, it looks up the earlier facts.
        """

    def feedback(self, predicate: int, new: Pairs) -> Pairs:
        """Which of its own conclusions come back to it.

        It is asked about what is new in the answers of ``add`` and ``rederive``, and ``add`` gets it; and
        about what goes of the answers of ``overdelete``, which gets it next. In the paper nothing comes back
        (algorithms 2 and 3), for its functions close the rules. Here that is up to the module: after one
        application of the rules everything returns, after their closure only guards, and of what goes also
        the facts that are from outside.
        """

    def add(self, facts: TripleIndex, recent: TripleIndex) -> Candidates:
        """What recent facts lead to: definition 3.

        ``facts`` are all there are; ``recent`` are those among them that it reads and was not given yet.
        Without these the facts are closed under its rules, but for those that wait.

        At least: the conclusions of all instances over ``facts`` with a recent premise, and of all those of
        rules that wait. At most: what follows from ``facts``. With what returns of the answer, again and
        again, the facts become closed.
        """

    def overdelete(self, facts: TripleIndex, gone: TripleIndex, certain: TripleIndex) -> Candidates:
        """What loses a derivation: definition 6, with certain facts in the place of its counters.

        ``facts`` are those before the change, and the same as long as it is followed; ``gone`` are those that
        it reads and that went since the last call; ``certain`` facts stay, and become more from call to call.

        At least, in all calls together: the conclusions of instances over ``facts`` with a premise that is
        gone, if that is from outside, or that is such a conclusion; but for what certain facts prove, alone
        (the paper's lower bound) or with the other premises of the instance. There is no upper bound: what is
        named will be proved, or derived again.
        """

    def propagate_proved(self, facts: TripleIndex, recent: TripleIndex, wanted: TripleIndex) -> Candidates:
        """What is wanted and follows from facts that became certain: Backward/forward's way forward.

        ``facts`` are certain, the ``recent`` ones among them. They hold all guards, and no guard is recent.

        At least: the ``wanted`` conclusions of all instances over ``facts`` with a recent premise. At most,
        of what is wanted: what follows from ``facts``.
        """

    def rederive(self, candidates: TripleIndex, facts: TripleIndex) -> Candidates:
        """Which candidates have another derivation: definition 7.

        The ``candidates`` are not among the ``facts``. These hold all guards: it is asked after
        ``commit_deletions``, or while no guards change.

        At least: the candidates that are conclusions of instances over ``facts``. At most: the candidates
        that follow from ``facts``. The paper asks for all steps within the candidates; here one is enough if
        what comes of it returns, so that ``add`` takes the next ones.
        """

    def premises(self, candidates: TripleIndex, facts: TripleIndex, certain: TripleIndex) -> Candidates:
        """What proofs of the candidates start from: Backward/forward's way back.

        ``facts`` are all that may still be there, what is ``certain`` among them, and hold all guards.

        At least, if it is asked about its answers in turn: so many facts that whatever candidate follows from
        facts from outside, follows from those among the answers, what is certain and the guards alone.
        Semi-naive evaluation answers with the premises of all instances. A module that closes its rules may
        pass over what it derived itself. Where that has other derivations too and outlives its own, what it
        leads to may be taken for unproved: then the module answers with it in the next ``add``.
        """

    def commit_deletions(self, facts: TripleIndex, gone: TripleIndex) -> None:
        """The ``gone`` facts are gone for good, and ``facts`` are those that are left.

        Whatever was given and taken away, from now on it does the same as one that was given in one go all
        that is left from outside.
        """
