"""Transactions that span requests. Each has a thread: a transaction of the store belongs to its thread.

A transaction ends by commit, by rollback, or when its time is over. While one is open, other changes wait
for a short time, and are then refused; reads do not wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from math import ceil
from queue import Empty, SimpleQueue
from secrets import token_urlsafe
from threading import Lock, Thread
from time import monotonic
from typing import Any, TypeVar

from corollary.kernels.limits import Cancellation, Limits, check, limited
from corollary.serve.problems import Problem
from corollary.serve.tuning import (
    MAX_OPEN_TRANSACTIONS,
    SECONDS_BEFORE_LOOKING,
    SECONDS_FOR_TURN,
    SECONDS_OF_TRANSACTION,
)
from corollary.store import CorollaryStore

Result = TypeVar("Result")

NO_LIMITS = Limits(terms=None)


class _RolledBack(Exception):
    """Ends the transaction without a commit."""


class Turn:
    """A lock with a time limit, held by one change: a transaction by URL, or the change of a request."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_by_url = False

    @contextmanager
    def taken(self, asked: float, most: float, *, is_by_url: bool = False) -> Iterator[None]:
        """Hold the lock. ``asked`` is the time of the request, by ``monotonic``.

        Raises Problem (503) if a transaction by URL holds it ``SECONDS_FOR_TURN`` after ``asked``, or any
        change ``most`` seconds after; Cancelled if the current work is cancelled.
        """
        wait = min(SECONDS_FOR_TURN, most)
        while not self._lock.acquire(
            timeout=max(0.0, min(asked + wait - monotonic(), SECONDS_BEFORE_LOOKING))
        ):
            if monotonic() < asked + wait:
                check()
                continue
            if self._is_by_url or wait >= most:
                detail = "another transaction is open, or another change is made: try again when it has ended"
                again = {"Retry-After": str(ceil(SECONDS_FOR_TURN))}
                raise Problem(503, "Another change is not finished", detail, again)
            wait = min(wait + SECONDS_FOR_TURN, most)
        self._is_by_url = is_by_url
        try:
            yield
        finally:
            self._lock.release()


class ServedTransaction:
    """A transaction of the store, in a thread of its own.

    ``begun`` is done when it has begun, ``ended`` when it is committed (True), rolled back (False) or failed.
    ``end`` is the time at which it expires, by ``monotonic``.
    """

    def __init__(
        self, store: CorollaryStore, turn: Turn, seconds: float, on_end: Callable[[str], object]
    ) -> None:
        """``seconds`` bound the derivation of a commit."""
        self.id = token_urlsafe(12)
        self.begun: Future[None] = Future()
        self.ended: Future[bool] = Future()
        for future in (self.begun, self.ended):
            future.set_running_or_notify_cancel()  # no waiting request cancels them
        self.end = monotonic() + SECONDS_OF_TRANSACTION
        self._store, self._turn, self._seconds, self._on_end = store, turn, seconds, on_end
        self._cancellation = Cancellation()
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | bool] = SimpleQueue()
        self._thread = Thread(target=self._run, name="transaction", daemon=True)

    def start(self) -> None:
        """Begin: wait for other transactions, in the thread."""
        self._thread.start()

    def call(self, function: Callable[[], Result]) -> Future[Result]:
        """Call a function inside the transaction, after earlier calls.

        The future raises Problem (404) if the transaction has ended.
        """
        done: Future[Result] = Future()
        self._calls.put((function, done))
        if self.ended.done():
            self._refuse_calls()
        return done

    def finish(self, *, commits: bool) -> None:
        """End the transaction after the calls before this one; see ``ended``."""
        self._calls.put(commits)

    def cancel(self) -> None:
        """Roll back, also while it waits to begin, or in the middle of a call."""
        self._cancellation.cancel()
        self.finish(commits=False)

    def _run(self) -> None:
        try:
            limited(NO_LIMITS, self._cancellation, self._transact)
            outcome: BaseException | None = None
        except BaseException as error:
            outcome = error
        self._on_end(self.id)
        if not self.begun.done():
            self.begun.set_exception(outcome or gone())
        if outcome is None or isinstance(outcome, _RolledBack):
            self.ended.set_result(outcome is None)
        else:
            self.ended.set_exception(outcome)
        self._refuse_calls()

    def _transact(self) -> None:
        with self._turn.taken(monotonic(), self._seconds, is_by_url=True), self._store.transaction():
            self.end = monotonic() + SECONDS_OF_TRANSACTION
            self.begun.set_result(None)
            while True:
                left = self.end - monotonic()
                if left <= 0:  # also while calls wait
                    raise _RolledBack
                try:
                    call = self._calls.get(timeout=left)
                except Empty:
                    raise _RolledBack from None
                if call is True:
                    limited(
                        Limits(seconds=self._seconds, terms=None),
                        self._cancellation,
                        self._store.reasoner.derive,
                    )
                    return
                if call is False:
                    raise _RolledBack
                assert not isinstance(call, bool)
                _carry_out(*call)

    def _refuse_calls(self) -> None:
        """Answer the calls that came too late."""
        while True:
            try:
                call = self._calls.get_nowait()
            except Empty:
                return
            if not isinstance(call, bool) and call[1].set_running_or_notify_cancel():
                call[1].set_exception(gone())


def _carry_out(function: Callable[[], Any], done: Future[Any]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        done.set_result(function())
    except BaseException as error:
        done.set_exception(error)


def gone() -> Problem:
    """The problem of a transaction that is no longer open."""
    return Problem(404, "Not found", "the transaction has ended, or has expired and is rolled back")


class OpenTransactions:
    """The transactions that are open or wait to begin, by id. Bounded in number."""

    def __init__(self, store: CorollaryStore, seconds: float) -> None:
        self._store, self._seconds = store, seconds
        self.turn = Turn()
        self._by_id: dict[str, ServedTransaction] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def begin(self) -> ServedTransaction:
        """A transaction that begins as soon as it can. Raises Problem if there are too many."""
        if len(self._by_id) >= MAX_OPEN_TRANSACTIONS:
            raise Problem(
                503, "Too many transactions", "commit others, or roll them back", {"Retry-After": "1"}
            )
        transaction = ServedTransaction(
            self._store, self.turn, self._seconds, lambda name: self._by_id.pop(name, None)
        )
        self._by_id[transaction.id] = transaction
        transaction.start()
        return transaction

    def find(self, name: str) -> ServedTransaction:
        """The transaction with an id. Raises Problem if it has ended."""
        found = self._by_id.get(name)
        if found is None:
            raise gone()
        return found

    def end(self) -> None:
        """Roll back, after their running calls, all transactions that no running request commits."""
        for transaction in list(self._by_id.values()):
            transaction.finish(commits=False)

    def close(self) -> None:
        """Roll all transactions back, and wait until they have ended."""
        for transaction in list(self._by_id.values()):
            transaction.cancel()
            transaction.ended.exception()
