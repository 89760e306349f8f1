"""The public class for reasoning without rdflib: facts, rules, and the materialisation.

Symbols: E are the explicit facts, I is the materialisation (E and all inferred facts), P are the rules.

1. ``add`` and ``remove`` append to a log of pending changes; nothing is derived.
2. The next read applies the pending changes to E and maintains I, in one batch
   (``corollary.reasoner.deriving``).
3. A read sees one version. Any number of threads may read while one writes; ``snapshot`` keeps a version.
4. Every method is atomic: an interruption at any point leaves the state before or after the call
   (``corollary.reasoner.versions``).

Two kinds of callers use a ``Reasoner``:

* Programs without rdflib use triples of N-Triples texts, and only this class.
* An adapter, such as the rdflib store, supplies its own terms (a ``TermView``) and begins with
  ``Reasoner.of(version)``. An adapter reads with ``settled``, changes with ``versions.change`` and
  ``versions.steps``, and runs its work within ``limited``.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, TypeVarTuple, cast

from corollary.kernels.limits import Limits
from corollary.language import CorollaryError, Program
from corollary.reasoner.deriving import Deriver
from corollary.reasoner.options import Options, Rules
from corollary.reasoner.persistence import Persistence
from corollary.reasoner.rule_sources import RuleSource, named_rules, rules_from
from corollary.reasoner.rule_warnings import SuspendedRule, suspended_rules
from corollary.reasoner.snapshot import Snapshot
from corollary.reasoner.state import State
from corollary.reasoner.subscriptions import FactChanges, Pattern, Subscriptions
from corollary.reasoner.summary import StoreSummary
from corollary.reasoner.term_format import DEFAULT_GRAPH, NTriplesTerms, TermView, checked_triple
from corollary.reasoner.version import StaleTerms, Version
from corollary.reasoner.versions import Closed, Versions
from corollary.terms.dictionary import TermDictionary

if TYPE_CHECKING:
    from corollary.evaluate import MaterialisedView
    from corollary.explain import Explanation
    from corollary.kernels.limits import Progress
    from corollary.loaders.into_reasoner import Source
    from corollary.loaders.ntriples import BadLine
    from corollary.loaders.reasoner_datasets import TakeUp
    from corollary.maintain import Report
    from corollary.program.components import Components
    from corollary.reasoner.explaining import Goal, Inconsistency
    from corollary.reasoner.opening import Adopt, Revive
    from corollary.reasoner.snapshot_file import MappedSnapshot
    from corollary.reasoner.statistics import Statistics
    from corollary.reasoner.verification import Verification

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

Inferred = Literal["derive", "adopt"]
"""What becomes of the inferred facts of a data set: they are derived again, or adopted."""

Triple = tuple[str, str, str]
"""Subject, predicate and object as N-Triples texts."""


class Reasoner:
    """Facts, rules and the materialisation, which is maintained while facts and rules change.

    ``rules`` is a profile name, a rule file, a ``Program``, a list of these, or ``"none"``. ``limits`` bound
    one call: ``Limits``, or a text such as ``seconds=10,bytes=2GB``; the default is the value of
    COROLLARY_LIMITS. Terms are N-Triples texts: ``<http://example.org/a>``, ``_:b``, ``"text"@en``.

        reasoner = Reasoner("rdfs")
        a = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
        below = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
        reasoner.add(("<urn:rex>", a, "<urn:Dog>"), ("<urn:Dog>", below, "<urn:Animal>"))
        assert ("<urn:rex>", a, "<urn:Animal>") in reasoner
    """

    versions: Versions
    """Which thread sees which version, and may change it."""

    _deriver: Deriver

    def __init__(self, rules: Rules = "owl2rl", *, limits: Limits | str | None = None) -> None:
        options = Options(rules, limits=limits)
        options.refuse_unknown_rules()
        self._begin(Version(NTriplesTerms(TermDictionary()), options).as_committed())

    @classmethod
    def of(cls, version: Version) -> Reasoner:
        """A reasoner with an initial version: for adapters, which have their own ``TermView``."""
        reasoner = cls.__new__(cls)
        reasoner._begin(version.as_committed())
        return reasoner

    def _begin(self, version: Version) -> None:
        self.versions = Versions(version, self._after_commit)
        self._deriver = Deriver(self.versions)
        self._subscriptions = Subscriptions(self._deriver.committed)
        self._terms_over: Callable[[TermDictionary], TermView] = type(version.terms)

    def _after_commit(self) -> None:
        try:
            self._subscriptions.report()
        finally:
            place = self.versions.persistence()
            if place is not None:
                place.checkpoint_if_due(closing=False)

    def __getstate__(self) -> Version:
        """The shared version, as a copy in memory: changes of an open transaction are not in it."""
        return self.versions.shared().applied().copied()

    def __setstate__(self, version: Version) -> None:
        self._begin(version.as_committed())

    # Facts

    def add(self, *triples: Triple, graph: str | None = None) -> None:
        """Add explicit facts to the default graph or to a named one: all of them, or none after an error.

        Nothing is derived until the next read or commit. Raises CorollaryError for a text that is no term,
        and for a triple that RDF does not allow.
        """
        self._record(triples, graph, added=1)

    def remove(self, *triples: Triple, graph: str | None = None) -> None:
        """Remove explicit facts from one graph. Absent facts are ignored.

        A removed fact that is also inferred stays in I.
        """
        self._record(triples, graph, added=0)

    def _record(self, triples: Iterable[Triple], graph: str | None, added: int) -> None:
        given = [checked_triple(triple) for triple in triples]
        while True:
            version = self.versions.current()
            ids = version.terms.id_of if added else version.terms.find
            name = ids(graph or DEFAULT_GRAPH)
            rows = array("I")
            for subject, predicate, value in given:
                row = name, ids(subject), ids(predicate), ids(value)
                if added and (subject.startswith('"') or not predicate.startswith("<")):
                    raise CorollaryError(
                        f"{subject} {predicate} {value}: RDF allows no literal as a subject, and only an IRI "
                        "as a predicate"
                    )
                if None not in row:
                    rows.extend((*row, added))
            try:
                self.versions.change(Version.recorded, version.terms, rows)
            except StaleTerms:
                continue
            return

    def load(
        self,
        *sources: Source,
        format: str | None = None,
        graph: str | None = None,
        on_error: Literal["stop", "skip"] = "stop",
        progress: Progress | None = None,
    ) -> int:
        """Add documents: files, folders or addresses, maybe compressed. Returns the number of new facts.

        ``format`` overrides suffixes and media types. Triples that a document puts into no graph go into
        ``graph``, by default the default graph. Of the limits only ``bytes`` and ``scratch`` apply.

        Atomic: if one document is bad nothing has changed, and InputError names the document, the place and
        a remedy. With ``on_error="skip"`` bad lines of N-Triples and N-Quads are left out; ``bad_lines``
        lists them.
        """
        from corollary.loaders.into_reasoner import PlainReceiver, load

        skips = skips_bad_lines(on_error)
        read = partial(load, receiver=PlainReceiver(self.versions, graph), skips=skips, progress=progress)
        return self.limited(self.limits_of_loading(), read, self.versions, sources, format)

    def bad_lines(self) -> tuple[BadLine, ...]:
        """The lines that the last ``load`` skipped: file name, line, column, reason, text."""
        return self.versions.current().bad_lines

    def load_encoded(
        self, path: str | os.PathLike[str], *, graph: str | None = None, inferred: Inferred = "derive"
    ) -> int:
        """Add the explicit facts of an encoded data set. Returns the number of new facts.

        ``inferred="adopt"`` takes the inferred facts of the data set for I instead of reasoning.
        Preconditions: the reasoner has no facts and no folder, and the data set was closed under the same
        rules by the same version. Else raises InputError. That the inferred facts are right is not checked:
        ``verify`` does.

        Raises InputError if the data set is missing or incomplete; then nothing has changed.
        """
        from corollary.loaders.into_reasoner import PlainReceiver
        from corollary.loaders.reasoner_datasets import load

        return load(self.versions, path, PlainReceiver(self.versions, graph), self.taking_up(inferred))

    def taking_up(self, inferred: Inferred) -> TakeUp | None:
        """For adapters: the function that makes an index I of a version; None if I is to be derived.

        Raises CorollaryError if ``inferred`` is neither "derive" nor "adopt".
        """
        if inferred not in ("derive", "adopt"):
            raise CorollaryError(f"inferred is 'derive' or 'adopt', not {inferred!r}")
        return self._deriver.adopt if inferred == "adopt" else None

    def save_encoded(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
        """Write E and I as an encoded data set: a folder for Parquet readers.

        The folder appears completely or not at all, and replaces an older one. Raises InputError if it
        cannot be written, CorollaryError if there are N3 formulas.
        """
        from corollary.kernels.limits import no_progress
        from corollary.loaders.reasoner_datasets import save

        version = self.settled()
        save(version, path, version.terms.default, progress or no_progress)

    def save_snapshot(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
        """Write E and I as a snapshot: one file, which ``open`` maps instead of reading it.

        The file appears completely or not at all, and replaces an older one. Derives first. ``progress`` is
        called as by ``load``. Raises CorollaryError if the file cannot be written.
        """
        from corollary.kernels.limits import no_progress
        from corollary.reasoner.snapshot_file import contents_of, write_snapshot

        version = self.settled()
        contents = contents_of(version, version.terms.default)
        write_snapshot(Path(path), contents, progress=progress or no_progress)

    def bind(self, prefix: str, namespace: str) -> None:
        """Bind a prefix: explanations and reports print the IRIs of the namespace with it."""
        self.versions.change_beside(Version.bound, prefix, namespace, True)

    # Reading

    def snapshot(self) -> Snapshot:
        """The present version as an immutable value: for several reads of one state."""
        version = self.settled()
        return Snapshot(version, version.state.everything)

    def match(
        self, subject: str | None = None, predicate: str | None = None, object: str | None = None
    ) -> Iterator[Triple]:
        """The facts of I that match a pattern; None matches any term. One version; each fact once."""
        return self.snapshot().match(subject, predicate, object)

    def __contains__(self, triple: Triple) -> bool:
        return triple in self.snapshot()

    def __len__(self) -> int:
        return len(self.snapshot())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Triple]:
        return self.match()

    def materialise(self) -> MaterialisedView | None:
        """Apply the pending changes now, and return the materialisation; None without rules."""
        return self.settled().state.materialisation

    def derive(self) -> None:
        """Apply the pending changes and derive, without the warnings of a read."""
        self.settled(is_read=False)

    def settled(self, *, is_read: bool = True) -> Version:
        """The version that this thread sees, with all changes applied and its state derived.

        A read warns of suspended rules, once each. Cost if nothing has changed: a few attribute look-ups.
        """
        version = self.versions.current()
        if (
            version.length
            or version.derived.state is None
            or (is_read and version.derived is not self._deriver.warned_of)
        ):
            return self._deriver.settle(is_read=is_read)
        return version

    def derived_last(self) -> State | None:
        """The ``State`` that was derived last, of any version; None before the first derivation."""
        return self._deriver.latest

    # Rules

    def program(self) -> Program | None:
        """The rules in force; None if there are none."""
        return self.versions.current().options.program

    def rules(self) -> Program:
        """The rules in force, as a program that may be empty."""
        return self.program() or Program(())

    def add_rules(self, *rules: RuleSource) -> Program:
        """Add rules and derive, in one transaction with the pending changes.

        Each of ``rules`` is a program, a profile or rule file as in ``rules=``, or rule text. Returns the
        rules that are new. Raises RuleError, UnsafeRuleError or UnstratifiableError if a source is not valid,
        or cannot be evaluated with the other rules; then nothing has changed.
        """
        known = set(self.rules())
        given = [rules_from(source) for source in rules]
        new = [replace(p, rules=tuple(rule for rule in p if rule not in known)) for p in given]
        more = [program for program in new if len(program)]
        self.change_options(lambda options: options.with_rules(more))
        return reduce(add, new, Program(()))

    def remove_rules(self, *rules: RuleSource) -> Program:
        """Remove rules, and the facts that only they derived, in one transaction with the pending changes.

        Each of ``rules`` is the name of one or more rules, or a source as for ``add_rules``. Returns the
        removed rules. Raises CorollaryError if a name is neither a rule's nor a profile's.
        """
        present = self.rules()
        wanted = {rule for source in rules for rule in named_rules(source, present)}
        removed = replace(present, rules=tuple(rule for rule in present if rule in wanted))
        self.change_options(lambda options: options.without_rules(removed))
        return removed

    def use_rules(self, *rules: RuleSource) -> None:
        """Replace all rules, in one transaction with the pending changes.

        ``rules`` are sources as for ``add_rules``; without any, or with ``"none"``, nothing is inferred. I is
        maintained by the rules that differ. Raises what ``add_rules`` does; then nothing has changed.
        """
        programs = [rules_from(source) for source in rules if source != "none"]
        self.change_options(lambda options: replace(options, rules=programs))

    def change_options(self, change: Callable[[Any], Options]) -> None:
        """Change the options and derive now. With rules that cannot be evaluated nothing has changed."""
        self._deriver.change_options(change)

    # Reports

    def statistics(self) -> Statistics:
        """Counts of triples, terms and inconsistencies: print it, or take ``as_dict()``."""
        from corollary.reasoner.statistics import statistics

        version = self.settled()
        suspended = [str(rule) for rule in _suspended(version)]
        title, names = version.options.title(), version.namespaces
        return self.limited(None, statistics, version.state, version.terms, names, title, suspended)

    def last_maintenance(self) -> Report | None:
        """The report of the last maintenance: print it, or take ``as_dict()``; None before the first one."""
        return self.settled().state.maintenance

    def components(self) -> Components:
        """The strongly connected components of the rules: derived predicates, modules, dependencies.

        Print them, or take ``as_dict()`` or ``dot()``. Without rules there are none.
        """
        from corollary.program.components import Components

        result = self.materialise()
        if result is None:
            return Components("no rules", len(self.settled().state.facts.union), ())
        namespaces = self.versions.current().namespaces
        return result.components([(prefix, str(namespace)) for prefix, namespace in namespaces])

    def explain_plan(self) -> str:
        """EXPLAIN of the rules over the present facts: modules, components, strata and plans, as text."""
        from corollary.plan.explain import explanation_text

        result = self.materialise()
        if result is None:
            return "no rules\n"
        namespaces = self.versions.current().namespaces
        return explanation_text(result.explain_plan([(name, str(space)) for name, space in namespaces]))

    def inconsistencies(self) -> list[Inconsistency]:
        """The inconsistencies: triples that satisfy a constraint. At most a thousand for each constraint.

        Each has a ``sentence``, and its ``rule``. A notebook shows the list as a table.
        """
        from corollary.reasoner.explaining import Inconsistencies, inconsistencies

        version = self.settled()
        result = version.state.materialisation
        if result is None:
            return Inconsistencies()
        found = partial(inconsistencies, result, version.terms, version.namespaces)
        return self.limited(None, lambda: Inconsistencies(found()))

    def suspended_rules(self) -> list[SuspendedRule]:
        """The suspended rules: by the present triples they would negate, or count, their own consequences.

        Each with the cycle, and the triples that close it. When these are removed, the rule is applied again.
        """
        return _suspended(self.settled())

    def explain(self, goal: Goal, *, limit: int = 1) -> Explanation:
        """Proofs of a triple or of an inconsistency: up to ``limit`` proofs, the shortest first.

        Print them, or take ``as_dict()``, ``dot()``, ``html()``. Raises CorollaryError for an inconsistency
        that no longer exists.
        """
        from corollary.reasoner.explaining import explanation

        version = self.settled()
        names = version.namespaces
        return self.limited(None, explanation, version.state, version.terms, names, goal, limit)

    def verify(self, *, progress: Progress | None = None) -> Verification:
        """Check indexes, terms, I against reasoning from scratch, and the folder. Print the result.

        Changes nothing. ``progress`` is called as by ``load``, while indexes are checked. Cost: that of
        opening the folder, of sorting all facts, and of reasoning.
        """
        from corollary.kernels.limits import no_progress
        from corollary.reasoner.verification import verification

        return verification(self.settled(), progress or no_progress)

    def summary(self, owner: str = "Reasoner") -> StoreSummary | Closed:
        """The counts that are known without derivation; of a closed reasoner, its ``Closed`` version."""
        version = self.versions.current()
        return version if isinstance(version, Closed) else _summary(version, owner)

    def __repr__(self) -> str:
        summary = self.summary()
        return f"<Reasoner: {summary.reason}>" if isinstance(summary, Closed) else str(summary)

    # Limits

    def limited(
        self, limits: Limits | None, function: Callable[[*Arguments], Result], *args: *Arguments
    ) -> Result:
        """Call the function within limits, by default those of the options, and return its result."""
        return self._deriver.limited(limits, function, *args)

    def limits_of_loading(self) -> Limits:
        """The limits of a load: of those of the options, only ``bytes`` and ``scratch``."""
        limit = self.versions.current().options.limit
        return Limits(bytes=limit.bytes, scratch=limit.scratch)

    def cancel(self) -> None:
        """End all derivations, queries, updates and loads that run or wait in other threads.

        Each raises ``Cancelled`` within a second, mostly at once, and leaves the state before it. Calls that
        begin later are not cancelled.
        """
        self._deriver.cancellation.cancel()

    # Transactions

    def transaction(self) -> AbstractContextManager[None]:
        """A transaction for a ``with`` statement, committed at its end. An exception rolls it back.

        This thread sees its own changes. All other threads see the state at the beginning, and wait before
        they change anything. A transaction inside another one is a savepoint.
        """
        return self.versions.transaction(self.derive)

    def commit(self) -> None:
        """Apply the pending changes, derive, and write the changes to the folder if one is open.

        ``rollback`` restores the last commit. Raises CorollaryError inside a transaction.
        """
        self.refuse_inside("commit")
        for _ in self.versions.steps(self.derive):
            pass

    def rollback(self) -> None:
        """Restore the last commit: triples, inferred triples, graphs, prefixes, rules.

        Inside a transaction, restore its beginning; the transaction stays open. The restored I is known
        already. The next maintenance starts from the rolled back facts, and so also costs their difference.
        """
        self.versions.roll_back()

    def subscribe(self, pattern: Pattern, callback: Callable[[FactChanges], object]) -> Callable[[], None]:
        """Call ``callback`` after each commit with the facts that came and went. Returns its cancellation.

        ``pattern`` is a triple in which None matches any term. A commit is the end of a transaction, or a
        call of ``commit``, ``checkpoint``, ``save`` or ``compact``, but not ``close``. ``FactChanges`` has
        explicit and inferred facts apart. The callback runs in the thread that commits, when the commit has
        taken effect; it may read and change the reasoner. Its exceptions are raised there, after the other
        callbacks were called: several as an ExceptionGroup. It is not called if no matching fact changed.
        Cost: that of the difference between the two states.
        """
        return self._subscriptions.subscribe(pattern, callback)

    def compact(self) -> int:
        """Commit, and drop the terms that no fact, graph or rule uses. Returns the number of dropped terms.

        I is materialised from scratch, all rows of a folder are rewritten, and its file becomes smaller.
        Readers of earlier versions keep their terms. Raises CorollaryError inside a transaction, and if the
        folder is read-only.
        """
        from corollary.reasoner.compacting import compact

        self.refuse_inside("compact")
        return compact(self.versions, self.derive, self._deriver.forget)

    def refuse_inside(self, what: str) -> None:
        """Raise CorollaryError if this thread has a transaction open."""
        if self.versions.own() is not None:
            raise CorollaryError(
                f"{what}() inside a transaction: it is committed at its end, or rolled back; leave it first"
            )

    # Persistence

    def open(self, place: str | os.PathLike[str], *, create: bool = False, read_only: bool = False) -> None:
        """Open a folder, and write later commits to it.

        The snapshot of the last checkpoint is mapped, with its inferred facts if the rules are the same, and
        the commits after it are followed.

        A snapshot (``save_snapshot``), or an encoded data set, that was closed under the same rules is opened
        with its inferred facts: nothing is derived, and nothing can be changed until ``save`` has put the
        facts into a folder.

        ``read_only``: the last commit is read, and the folder released; while another store has it open for
        writing, its last checkpoint is read instead, with a warning.

        ``create`` makes a folder where there is none; without ``create``, raises FileNotFoundError. Raises
        CorollaryError if the folder is in use or damaged, if a snapshot or data set was closed under other
        rules, if the reasoner has facts, or in a transaction.
        """
        self.refuse_inside("open")
        options = replace(self.versions.current().options, read_only=read_only)
        if not self.open_folder(Path(place), options, create=create):
            raise FileNotFoundError(place)

    def open_folder(
        self,
        place: Path,
        options: Options,
        *,
        create: bool,
        revive: Revive = lambda read: read,
        adopt: Adopt = lambda _, read: read,
        progress: Progress | None = None,
    ) -> bool:
        """Replace the version by that of a folder. Returns False if there is no store.

        For adapters: ``revive`` restores, in the version read, what stored texts do not contain. ``adopt``
        maps the version before and the version read to the version that is published. ``progress`` is called
        as by ``load``, while the commits after the last checkpoint are read.
        """
        from corollary.columns.column_file import is_column_file
        from corollary.kernels.limits import no_progress
        from corollary.loaders.encoded_format import is_encoded
        from corollary.reasoner.opening import open_folder

        if is_column_file(place):
            self._open_snapshot(place, options, revive, adopt)
            return True
        if is_encoded(place):
            self._open_data_set(place, options, revive, adopt)
            return True
        return open_folder(
            self.versions,
            place,
            options,
            self._terms_over,
            create,
            revive,
            adopt,
            self._deriver.begin_at,
            progress or no_progress,
        )

    def _open_data_set(self, place: Path, options: Options, revive: Revive, adopt: Adopt) -> None:
        from corollary.evaluate import CannotAdopt
        from corollary.loaders.opened_data_sets import opened
        from corollary.loaders.reasoner_datasets import not_closed
        from corollary.reasoner.opening import publish, refuse_to_open

        refuse_to_open(self.versions)
        version, closed = opened(place, options, self._terms_over)
        try:
            self._deriver.adopt(version, closed)
        except CannotAdopt as error:
            raise not_closed(place, error) from None
        publish(self.versions, revive(version), adopt)

    def _open_snapshot(self, place: Path, options: Options, revive: Revive, adopt: Adopt) -> None:
        from corollary.reasoner.opening import publish, refuse_to_open, version_in_snapshot

        refuse_to_open(self.versions)
        version, snapshot = version_in_snapshot(place, options, self._terms_over)
        self._deriver.take_known(version, snapshot.facts, snapshot.closed.schema_is_alone)
        publish(self.versions, revive(version), adopt)

    def refresh(self, revive: Revive = lambda read: read, adopt: Adopt = lambda _, read: read) -> bool:
        """Show what the folder, or the snapshot file, that was opened to be read contains now.

        Beside a store that writes the folder, this is its last checkpoint; else its last commit. Returns if
        anything was written since the last look, or the writer has left: if not, nothing is read; if so, the
        cost is that of opening.
        What reads an older state goes on with it. ``revive`` and ``adopt`` are as for ``open_folder``.

        Raises CorollaryError if the reasoner is not one that reads a folder or a snapshot, in a transaction,
        and as ``open`` does; then nothing has changed.
        """
        from corollary.reasoner.opening import later_version

        self.refuse_inside("refresh")
        while True:
            source, options = self.versions.persistence(), self.versions.current().options
            if source is None or not source.read_only or not source.seen:
                raise CorollaryError(
                    "refresh() is for a store that reads a folder or a snapshot: open one with read_only=yes"
                )
            later = later_version(source.place, source.seen, options, self._terms_over, revive)
            if later is None:
                return False
            if self._shows(*later, source, options, adopt):
                return True

    def _shows(
        self,
        version: Version,
        snapshot: MappedSnapshot | None,
        source: Persistence[Version],
        options: Options,
        adopt: Adopt,
    ) -> bool:
        """Show a version that was read; False if another thread has replaced the source, or the options."""
        from corollary.reasoner.opening import refreshed

        for _ in self.versions.steps():  # changes of rules wait
            if self.versions.persistence() is not source or self.versions.current().options is not options:
                return False
            self._deriver.forget()
            program = None if snapshot is None else snapshot.closed.program(options)
            if snapshot is not None and program is not None:
                is_alone = snapshot.closed.schema_is_alone
                self._deriver.begin_at(version, snapshot.quads, snapshot.facts, program, is_alone)
            self.versions.change(refreshed, version, adopt)
        return True

    def save(self, place: str | os.PathLike[str]) -> None:
        """Put all facts into a new folder, and write later commits there.

        For a reasoner in memory, or over a data set or a folder that is read only. Derives only for
        subscribers. Raises CorollaryError if the reasoner has a folder that can be written, if there is a
        store in ``place``, or in a transaction; then nothing has changed.
        """
        from corollary.reasoner.opening import save_in_folder

        self.refuse_inside("save")
        save_in_folder(self.versions, Path(place))

    def checkpoint(self, *, progress: Progress | None = None) -> None:
        """Commit, and write a snapshot of E and I beside the journal of the folder.

        The next opening maps the snapshot, and reads and follows only what is committed after it.
        Checkpoints are also made without being asked for: by a commit, and by ``close``, when enough has been
        committed since the last one. ``progress`` is called as by ``load``, while facts are written. Raises
        CorollaryError inside a transaction, if no folder is open for writing, and if the snapshot cannot be
        written: then the commit stays, and the former snapshot.
        """
        from corollary.kernels.limits import no_progress

        self.refuse_inside("checkpoint")
        place = self.versions.current().to_be_written().persistence
        if place is None:
            raise CorollaryError("there is no folder, and a checkpoint is made in one: open one first")
        self.commit()
        place.checkpoint(progress or no_progress)

    def close(self, *, discard: bool = False) -> None:
        """Commit and release the folder. The reasoner cannot be used until it is opened again.

        With ``discard`` nothing is written, and uncommitted changes are lost. Without a folder ``close`` does
        nothing, and with ``discard`` rolls back. Nothing is derived. Raises CorollaryError inside a
        transaction.
        """
        version = self.versions.current()
        if isinstance(version, Closed):
            version.finish()
            return
        self.refuse_inside("close")
        place = version.persistence
        if place is not None:
            reason = f"the store in {place.place} is closed: open it again to use it"
            self._shut(place, Closed(reason, version.options, place.close), discard=discard)
        elif discard:
            self.rollback()

    def destroy(self, place: str | os.PathLike[str]) -> None:
        """Remove the store in a folder, and the folder if nothing else is in it.

        If it is this reasoner's folder, it is closed first. Raises CorollaryError if another one has it open.
        """
        from corollary.reasoner.folder_place import destroy

        version = self.versions.current()
        if isinstance(version, Closed):
            version.finish()
        elif version.persistence is not None and version.persistence.place.resolve() == Path(place).resolve():
            self.refuse_inside("destroy")
            version.to_be_written()
            reason = f"the store in {os.fspath(place)} is destroyed: open one to use it"
            kept = version.persistence
            self._shut(kept, Closed(reason, version.options, kept.close), discard=True)
        destroy(Path(place))

    def _shut(self, place: Persistence[Version], closed: Closed, *, discard: bool) -> None:
        """Write or discard the uncommitted changes, then publish ``closed``, and release the place."""
        try:
            if discard:
                self.versions.change(lambda version: cast(Version, closed))
            else:
                for _ in self.versions.steps(lambda: None, closed):
                    pass
                place.checkpoint_if_due(closing=True)
        finally:
            if isinstance(self.versions.current(), Closed):
                self._deriver.latest = None
                closed.finish()


def skips_bad_lines(on_error: str) -> bool:
    """Whether ``on_error`` is "skip". Raises CorollaryError if it is neither "skip" nor "stop"."""
    if on_error not in ("stop", "skip"):
        raise CorollaryError(f"on_error is 'stop' or 'skip', not {on_error!r}")
    return on_error == "skip"


def _suspended(version: Version) -> list[SuspendedRule]:
    """The suspended rules. Precondition: ``version.state`` is derived."""
    result, terms = version.state.materialisation, version.terms
    return [] if result is None else list(suspended_rules(result, terms, terms.printer(version.namespaces)))


def _summary(version: Version, owner: str) -> StoreSummary:
    state, waiting = version.derived.state, version.waiting()
    explicit, title = version.quads.union.fact_count(), version.options.title()
    if waiting or state is None:
        inferred = None if waiting or version.options.has_rules else 0
        return StoreSummary(owner, title, explicit, inferred, waiting)
    return StoreSummary(owner, title, explicit, state.inferred_count, 0)
