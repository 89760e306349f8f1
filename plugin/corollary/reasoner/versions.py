"""Concurrency control: which thread sees which version of a reasoner, and which one may change it.

1. All threads see the *shared* version, except the thread that has a transaction open: this one sees the
   version of its transaction. Until the transaction ends, changes of other threads wait; reads do not wait.
2. A change is a function from a version to the next one. The result is published by one assignment.
3. A transaction works on its own version, and publishes this version at its end. A rollback publishes
   nothing, and so needs no code that could be interrupted.

Invariant: a transaction runs as long as its generator exists. The only reference to the generator is that of
the ``with`` or ``for`` statement, on the interpreter's stack, which no traceback keeps. So whatever exception
is raised at whichever line, no transaction outlives its statement. The next step finds and drops the
remainder of an ended transaction.

Only a commit to storage (``Persistence``) takes effect in two places. The transaction records the version in
``in_doubt`` before the storage writes it. After an interruption between the two, the storage decides.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from functools import partial
from threading import Lock, RLock, Thread, current_thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVarTuple, cast
from weakref import ref

from corollary.kernels.interrupts import IN_THE_MIDDLE, alone, held
from corollary.kernels.limits import check
from corollary.language import CorollaryError
from corollary.reasoner.namespaces import Namespaces
from corollary.reasoner.options import Options
from corollary.reasoner.tuning import SECONDS_TO_LOOK_AGAIN
from corollary.reasoner.version import Version

if TYPE_CHECKING:
    from corollary.reasoner.persistence import Persistence

Arguments = TypeVarTuple("Arguments")


class Closed:
    """Takes the place of the version of a closed reasoner: every use raises CorollaryError with ``reason``.

    ``finish`` releases the folder; it is idempotent. ``options`` can still be read.
    """

    def __init__(self, reason: str, options: Options, finish: Callable[[], None]) -> None:
        self.reason = reason
        self.options = options
        self.finish = finish

    def __getattr__(self, name: str) -> Any:
        raise CorollaryError(self.reason)


Steps = Generator[None, None, None]
"""The generator of a transaction: the first ``next`` begins it, the second publishes, ``close`` drops it."""


def _here() -> tuple[Thread, object]:
    """The owner of transactions begun here: the current thread, and its asyncio task if there is one."""
    current_task = getattr(sys.modules.get("asyncio"), "current_task", None)  # asyncio may be half imported
    try:
        return current_thread(), None if current_task is None else current_task()
    except RuntimeError:
        return current_thread(), None


class Transaction:
    """A running transaction: its version, its owner, the transaction around it (``parent``).

    ``prefixes`` is the shared table at the beginning, ``in_doubt`` the version whose commit may have taken
    place. For ``becomes`` and ``keeps_base`` see ``Versions.steps``.
    """

    def __init__(self) -> None:
        self.version: Version
        self.prefixes: Namespaces
        self.owner: tuple[Thread, object]
        self.parent: Transaction | None = None
        self.ended = Lock()  # held while the transaction runs: other threads wait for it
        self.in_doubt: Version | None = None
        self.becomes: Closed | None = None
        self.keeps_base = False
        self.is_ending = False
        self.steps: Callable[[], Steps | None] = lambda: None  # a weak reference: see the invariant

    @property
    def is_running(self) -> bool:
        """Whether the transaction has not ended. It also ends with its thread."""
        thread = self.owner[0]  # at the end of the process the main thread runs, and is not "alive"
        is_alive = thread is current_thread() or thread.is_alive()
        return is_alive and getattr(self.steps(), "gi_frame", None) is not None


class _Leaving:
    """``__exit__`` of a ``Block``: a function that holds the generator, and that only ``with`` holds."""

    def __get__(self, block: Block | None, _: type[Block]) -> Callable[..., bool]:
        if block is None:  # contextlib.ExitStack looks __exit__ up on the class
            return lambda block, *raised: _leave(block.begin_and_keep(), *raised)
        if block.steps is not None:  # entered without a with statement
            return partial(_leave, block.steps)
        steps = block.make()
        block.steps = ref(steps)
        leave = partial(_leave, block.steps)
        leave.steps = steps  # type: ignore[attr-defined]
        return leave


def _leave(
    steps: Callable[[], Steps | None],
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
) -> bool:
    """Publish; after an exception, drop. No variable holds the generator: a traceback would keep it alive."""
    if kind is None:
        next(steps(), None)  # type: ignore[arg-type]
    else:
        steps().close()  # type: ignore[union-attr]
    return False


class Block:
    """The context manager of ``with reasoner.transaction():``. It can be entered once."""

    def __init__(self, make: Callable[[], Steps]) -> None:
        self.make = make
        self.steps: Callable[[], Steps | None] | None = None
        self.has_begun = False

    def begin_and_keep(self) -> Callable[[], Steps | None]:
        """The generator, held by this object if no ``with`` statement holds it."""
        if self.steps is None:
            kept = self.make()
            self.steps = lambda: kept
        return self.steps

    def __enter__(self) -> None:
        if self.has_begun:
            raise CorollaryError("a transaction is entered once: call transaction() for each with statement")
        self.has_begun = True
        next(self.begin_and_keep()())  # type: ignore[arg-type]

    __exit__ = _Leaving()


class Versions:
    """The versions of one reasoner."""

    def __init__(self, version: Version, after_commit: Callable[[], object]) -> None:
        """``after_commit`` is called after each commit, outside of all locks."""
        self._shared = version
        self._innermost: Transaction | None = None
        self._mutex = RLock()
        self.after_commit = after_commit

    # Reading

    def current(self) -> Version:
        """The version that this thread sees."""
        return self._shared if self._innermost is None else self._seen()

    def _seen(self) -> Version:
        own = self.own()
        return self._shared if own is None else own.version

    def shared(self) -> Version:
        """The version that threads without an open transaction see."""
        self._running()
        return self._shared

    def persistence(self) -> Persistence[Version] | None:
        """The storage of the shared version; None if it is in memory only."""
        shared = self._shared
        return None if isinstance(shared, Closed) else shared.persistence

    def base(self) -> Version | None:
        """The shared version if this thread's outermost transaction ``keeps_base``; else None."""
        own = self.own()
        while own is not None and own.parent is not None:
            own = own.parent
        return self._shared if own is not None and own.keeps_base else None

    def own(self) -> Transaction | None:
        """The innermost transaction that this thread has open."""
        running = self._running()
        return running if running is not None and running.owner == _here() else None

    def _running(self) -> Transaction | None:
        """The innermost running transaction of any thread. Drops ended ones."""
        innermost = self._innermost
        while innermost is not None and not innermost.is_running:
            innermost = held(self._mutex, self._end, innermost)
        return innermost

    def _end(self, transaction: Transaction) -> Transaction | None:
        if self._innermost is transaction:
            version = transaction.in_doubt
            place = None if version is None else version.persistence
            if version is not None and place is not None and place.has_written(version):
                self._share(transaction, version)
            self._innermost = transaction.parent
        return self._innermost

    # Changing

    def change(self, step: Callable[[Version, *Arguments], Version], *args: *Arguments) -> None:
        """Apply ``step`` to the version that this thread sees, and publish the result, holding the mutex.

        Waits first while another thread has a transaction open. Raises CorollaryError if this thread is in
        the middle of a step already, as in a signal handler.
        """
        self._refuse_at_end()
        while not alone(self._mutex, self._step, step, args):
            self._wait()

    def change_beside(self, step: Callable[[Version, *Arguments], Version], *args: *Arguments) -> None:
        """As ``change``, but without waiting: the shared version may change while a transaction is open.

        Only for steps that commute with every transaction: applying pending changes, binding a prefix.
        """
        held(self._mutex, self._step_beside, step, args)

    def _refuse_at_end(self) -> None:
        """Raise CorollaryError if this thread's transaction is being published, as in a signal handler."""
        last = self._innermost
        if last is not None and last.is_ending and last.is_running and last.owner == _here():
            raise CorollaryError(IN_THE_MIDDLE)

    def _step(self, step: Callable[..., Version], args: tuple[Any, ...]) -> bool:
        if self._innermost is None:  # a shortcut for _step_beside
            self._shared = step(self._shared, *args)
            return True
        running = self._running()
        if running is not None and running.owner != _here():
            return False
        self._step_beside(step, args)
        return True

    def _step_beside(self, step: Callable[..., Version], args: tuple[Any, ...]) -> None:
        own = self.own()
        if own is None:
            self._shared = step(self._shared, *args)
        else:
            own.version = step(own.version, *args)

    def _wait(self) -> None:
        """Wait for another thread's transaction. Raises CorollaryError if another coroutine here has it."""
        running = self._running()
        if running is None:
            return
        if running.owner[0] is current_thread():
            raise CorollaryError(
                "another coroutine of this thread has a transaction open: do not await inside a transaction"
            )
        check()
        if running.ended.acquire(timeout=SECONDS_TO_LOOK_AGAIN):
            running.ended.release()

    # Transactions

    def steps(
        self,
        commit: Callable[[], object] | None = None,
        becomes: Closed | None = None,
        *,
        keeps_base: bool = False,
    ) -> Steps:
        """A transaction: the changes between the first and the second step happen together, or not at all.

        Use it as ``for _ in versions.steps():``. A ``return`` or ``break`` out of the loop rolls back. Inside
        another transaction it is a savepoint. ``commit`` is called before the end of an outermost
        transaction; its version is then written to the storage, if there is one, and becomes the target of
        later rollbacks. ``becomes`` replaces the shared version at the end. ``keeps_base``: the transaction
        may stay open for long, so the shared version, which other threads read, is derived first.
        """
        transaction = Transaction()
        transaction.becomes, transaction.keeps_base = becomes, keeps_base
        steps = self._steps(transaction, commit)
        transaction.steps = ref(steps)
        return steps

    def transaction(self, commit: Callable[[], object]) -> AbstractContextManager[None]:
        """A transaction for a ``with`` statement, with ``commit`` and ``keeps_base``."""
        return cast(AbstractContextManager[None], Block(lambda: self.steps(commit, keeps_base=True)))

    def _steps(self, transaction: Transaction, commit: Callable[[], object] | None) -> Steps:
        self._refuse_at_end()
        with transaction.ended:
            while not alone(self._mutex, self._begin, transaction):
                self._wait()
            yield
            if commit is not None and transaction.parent is None:
                commit()
                transaction.is_ending = True
                self._commit(transaction)
            else:
                transaction.is_ending = True
                held(self._mutex, self._publish, transaction, transaction.version)
        if commit is not None and transaction.parent is None and transaction.becomes is None:
            self.after_commit()

    def _begin(self, transaction: Transaction) -> bool:
        running = self._running()
        transaction.owner = _here()
        if running is not None and running.owner != transaction.owner:
            return False
        self._step_beside(Version.applied, ())
        transaction.parent = running
        transaction.version = self.current().changed()
        transaction.prefixes = self._shared.namespaces
        self._innermost = transaction
        return True

    def _commit(self, transaction: Transaction) -> None:
        version = transaction.version.applied().as_committed()
        if version.persistence is not None:
            held(self._mutex, self._refuse_disorder, transaction)
            transaction.in_doubt = version
            version.persistence.write(version)
        held(self._mutex, self._publish, transaction, version)

    def _refuse_disorder(self, transaction: Transaction) -> None:
        """Raise CorollaryError unless the transaction is the innermost one and its parent still runs."""
        parent = transaction.parent
        if self._running() is not transaction or not (parent is None or parent.is_running):
            raise CorollaryError(
                "a transaction ended while one that had begun in it was open, or after the one around it had "
                "ended: what was done in it is rolled back"
            )

    def _publish(self, transaction: Transaction, version: Version) -> None:
        self._refuse_disorder(transaction)
        if transaction.parent is not None:
            transaction.parent.version = version
        else:
            self._share(transaction, version)
        self._innermost = transaction.parent

    def _share(self, transaction: Transaction, version: Version) -> None:
        """Publish a version to all threads, with the prefixes that other threads have bound meanwhile."""
        if transaction.becomes is not None:
            self._shared = cast(Version, transaction.becomes)
        elif self._shared.namespaces is transaction.prefixes:
            self._shared = version
        else:
            self._shared = version.with_prefixes_of(self._shared, since=transaction.prefixes)

    def roll_back(self) -> None:
        """Restore the beginning of this thread's innermost transaction; outside of one, the last commit."""
        self.change(self._rolled_back)

    def _rolled_back(self, version: Version) -> Version:
        own = self.own()
        if own is None:
            return version.rolled_back()
        return (self._shared if own.parent is None else own.parent.version).changed()
