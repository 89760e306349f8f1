"""What goes on in Spark: a bar with the tasks of active stages on a terminal, else a line for each stage."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from corollary.cli.progress import Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkStage(Stage):
    """All of a command on Spark. Called with what ``loaders.spark`` notifies."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__("Spark")
        self._tracker = spark.sparkContext.statusTracker()
        if address := spark.sparkContext.uiWebUrl:
            click.echo(f"Spark UI: {address}", err=True)

    def __call__(self, said: str) -> None:
        """Show what goes on (``Doing``) in the bar, if there may be one. Print what is to be kept."""
        from corollary.loaders.spark.load import Doing

        if isinstance(said, Doing):
            self.update(said, said.facts or self.facts)
        if not (isinstance(said, Doing) and sys.stderr.isatty()):
            click.echo(said, err=True)

    def state(self) -> tuple[tuple[str, ...], float | None]:
        """As that of every stage, with the tasks that are done, and their share."""
        (activity, amount, time, _), _ = super().state()
        done, all_tasks = self._tasks()
        tasks = f"{done:,}/{all_tasks:,} tasks" if all_tasks else ""
        share = done / all_tasks if all_tasks else None
        return (activity, " ".join(filter(None, (amount, tasks))), time, ""), share

    def _tasks(self) -> tuple[int, int]:
        """The tasks of the active stages: how many are done, and how many there are."""
        found = [self._tracker.getStageInfo(stage) for stage in self._tracker.getActiveStageIds()]
        known = [info for info in found if info is not None]
        return sum(info.numCompletedTasks for info in known), sum(info.numTasks for info in known)
