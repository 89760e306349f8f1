"""What a person sees of a job on Spark: one moving line on a terminal, else a line for each activity."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

import click

from corollary.cli.progress import Stage
from corollary.cli.tuning import SECONDS_BETWEEN_TASK_COUNTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from corollary.kernels.limits import Progress


class _Job(Stage):
    """A job whose share of work done is that of the tasks of Spark's active stages."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__("starting")
        self._tracker = spark.sparkContext.statusTracker()
        self._counted = 0.0
        self._tasks = 0, 0

    def state(self) -> tuple[tuple[str, ...], float | None]:
        """As ``Stage.state``, with the tasks that are done. How many stages follow is not known."""
        (activity, amount, time, _), _ = super().state()
        if perf_counter() - self._counted > SECONDS_BETWEEN_TASK_COUNTS:
            self._counted, self._tasks = perf_counter(), self._tasks_now()
        done, count = self._tasks
        if not count:
            return (activity, amount, time, ""), None
        return (activity, f"{done:,} of {count:,} tasks {amount}".rstrip(), time, ""), done / count

    def _tasks_now(self) -> tuple[int, int]:
        """The tasks of active stages: those that are done, and all."""
        found = [self._tracker.getStageInfo(stage) for stage in self._tracker.getActiveStageIds()]
        active = [stage for stage in found if stage is not None]
        return sum(s.numCompletedTasks for s in active), sum(s.numTasks for s in active)


@contextmanager
def shown(spark: SparkSession) -> Iterator[Progress]:
    """A callback for the progress of a job, which is displayed on standard error while the block runs."""
    if not sys.stderr.isatty():
        yield lambda text, facts, share: click.echo(text, err=True)
        return
    pages = spark.sparkContext.uiWebUrl
    if pages:
        click.echo(f"Spark's pages: {pages}", err=True)
    job = _Job(spark)
    job.show()
    try:
        yield job.update
    finally:
        job.end()
