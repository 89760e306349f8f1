"""``corollary spark-load``, ``-materialise``, ``-update``, ``-generate``: data too large for one machine."""

from __future__ import annotations

import logging
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from corollary.cli.commands import main
from corollary.cli.group import Mistake
from corollary.cli.input_options import DEFAULT_RULES, rules_option
from corollary.cli.materialisation_summary import counts_table, predicates_table
from corollary.cli.output import print_json, print_tables
from corollary.cli.pipeline import load_program
from corollary.cli.progress import showing
from corollary.cli.spark_progress import SparkStage
from corollary.cli.tuning import MAX_CHARACTERS_OF_COMPLAINT, MAX_PREDICATES_LISTED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where Spark runs, the memory of its driver, and other settings."""

    master: str | None
    memory: str | None
    settings: tuple[str, ...]

    @contextmanager
    def session(self) -> Iterator[tuple[SparkSession, SparkStage]]:
        """A Spark session with this package on the executors, and the display of what goes on.

        Errors of Spark become a ``Mistake``.
        """
        from corollary.loaders.spark import session, ship
        from corollary.loaders.spark.session import complaint

        pairs = [setting.partition("=") for setting in self.settings]
        for name, equals, _ in pairs:
            if not equals:
                raise click.UsageError(f"--conf {name}: write NAME=VALUE")
        spark = session(self.master, self.memory, {name: value for name, _, value in pairs})
        _end_quietly_when_interrupted()

        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            ship(spark)
            with showing(SparkStage(spark)) as notify:
                yield spark, notify
        except (PySparkException, Py4JError) as error:
            said = complaint(error)[:MAX_CHARACTERS_OF_COMPLAINT]
            raise Mistake(f"Spark failed, and nothing was written: {said}") from error
        finally:
            spark.stop()


def _end_quietly_when_interrupted() -> None:
    """Ctrl-C ends a command as elsewhere: PySpark would first ask Java, and py4j print its stacks."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    logging.getLogger().addFilter(lambda record: "while sending command" not in record.getMessage())


def _check_memory(_: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse what Java would not start with."""
    if value is not None and not re.fullmatch(r"0*[1-9][0-9]*[kmgt]", value, re.IGNORECASE):
        raise click.BadParameter(f"{value!r} is no size, such as 8g.", param=parameter)
    return value


def _on_spark(command: Command) -> Command:
    """Decorator: add the options; the command gets them as ``cluster``, ``files`` and ``as_json``."""

    @wraps(command)
    def with_cluster(
        *args: Any, master: str | None, memory: str | None, settings: tuple[str, ...], **options: Any
    ) -> Any:
        return command(*args, cluster=Cluster(master, memory, settings), **options)

    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text."),
        click.option(
            "--files",
            type=click.IntRange(min=1),
            metavar="N",
            help="The number of files and tasks. Default: by size; one task up to 16 million triples.",
        ),
        click.option(
            "--conf", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of Spark's; repeat."
        ),
        click.option(
            "--memory",
            metavar="SIZE",
            callback=_check_memory,
            help="Memory of the driver, such as 8g. Default: 1g.",
        ),
        click.option("--master", metavar="URL", help="Where Spark runs. Default: this machine, all cores."),
    ):
        with_cluster = option(with_cluster)
    return cast(Command, with_cluster)


def _most_bad_lines() -> int:
    """The loader's default limit. The loader is imported only when the default is needed."""
    from corollary.loaders.spark.tuning import MAX_BAD_LINES

    return MAX_BAD_LINES


def _check_kind(_: click.Context, parameter: click.Parameter, value: str) -> str:
    """Refuse an unknown kind of data. The generators are imported only when an argument is checked."""
    from corollary.generators import GENERATORS

    if value not in GENERATORS:
        raise click.BadParameter(f"{value!r} is not one of {', '.join(GENERATORS)}.", param=parameter)
    return value


_input_format = click.option(
    "--input-format", metavar="SUFFIX", help="Format of files whose names do not tell: nt or nq."
)
_tolerates = click.option(
    "--most-bad-lines",
    type=click.IntRange(min=0),
    default=_most_bad_lines,
    metavar="N",
    help="More bad lines than that, and the command fails. Default: 1,000.",
)


@main.command("spark-load", short_help="Read files into an encoded data set, on Spark.")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.argument("output")
@_on_spark
@_input_format
@_tolerates
def spark_load(
    inputs: tuple[str, ...],
    output: str,
    input_format: str | None,
    most_bad_lines: int,
    cluster: Cluster,
    files: int | None,
    as_json: bool,
) -> None:
    """Read INPUT... into the encoded data set OUTPUT, or into a snapshot if OUTPUT ends in .snapshot.

    INPUT is a file, a folder or a pattern on any file system that Spark reads: N-Triples or N-Quads, plain or
    compressed. Other formats are parsed on the driver, and are meant for ontologies. Named graphs are kept.
    Bad lines are written to OUTPUT/quarantine (of a snapshot, to OUTPUT.quarantine) with file, line and
    column.

    \b
    Examples:
      corollary spark-load university.ttl 'data/*.nt.gz' data.encoded --memory 8g
      corollary spark-load hdfs:///dumps/ hdfs:///data.encoded --master yarn --conf spark.executor.memory=16g
    """
    from corollary.loaders.spark import load

    with cluster.session() as (spark, notify):
        done = load(
            spark,
            inputs,
            output,
            format=input_format,
            most_bad_lines=most_bad_lines,
            files=files,
            notify=notify,
        )
    _print(asdict(done), as_json)
    _warn_of_bad_lines(done.bad_lines, output)


@main.command("spark-materialise", short_help="Close an encoded data set under rules, on Spark.")
@click.argument("source", metavar="INPUT")
@click.argument("output")
@rules_option
@_on_spark
def spark_materialise(
    source: str,
    output: str,
    rules: tuple[str, ...],
    cluster: Cluster,
    files: int | None,
    as_json: bool,
) -> None:
    """Write the encoded data set INPUT, and everything that follows from its explicit facts, to OUTPUT.

    OUTPUT becomes a data set, or a snapshot if it ends in .snapshot: the driver writes it, from its memory.
    The summary has the largest predicates of a data set.

    \b
    Examples:
      corollary spark-materialise data.encoded closed.encoded --memory 8g
      corollary spark-materialise data.encoded closed.snapshot --memory 8g
      corollary spark-materialise hdfs:///data.encoded hdfs:///closed.encoded --rules rdfs --master yarn
    """
    from corollary.loaders.spark import materialise
    from corollary.loaders.spark.encoded_tables import largest_predicates, open_encoded
    from corollary.loaders.spark.storage import SNAPSHOT_SUFFIX

    program = load_program(rules or (DEFAULT_RULES,))
    with cluster.session() as (spark, notify):
        done = materialise(spark, source, output, program, files=files, notify=notify)
        data = None if output.endswith(SNAPSHOT_SUFFIX) else open_encoded(spark, output)
        largest = [] if data is None else largest_predicates(data, MAX_PREDICATES_LISTED)
    report = asdict(done)
    _print({**report, "largest_predicates": largest} if as_json else report, as_json)
    if data is not None and not as_json:
        print_tables([predicates_table(largest, data.prefixes.items())], to_stderr=False)


@main.command("spark-update", short_help="Follow a change of a closed data set, on Spark.")
@click.argument("source", metavar="DATASET")
@click.argument("output")
@click.option(
    "--add", multiple=True, metavar="FILE", help="Documents to add: as INPUT of spark-load; repeat."
)
@click.option("--remove", multiple=True, metavar="FILE", help="Documents with facts to remove; repeat.")
@rules_option
@_on_spark
@_input_format
@_tolerates
def spark_update(
    source: str,
    output: str,
    add: tuple[str, ...],
    remove: tuple[str, ...],
    rules: tuple[str, ...],
    input_format: str | None,
    most_bad_lines: int,
    cluster: Cluster,
    files: int | None,
    as_json: bool,
) -> None:
    """Write the closed data set DATASET to OUTPUT, with facts removed and added, and what follows then.

    The rules are those that DATASET was closed under. Facts in both --remove and --add are explicit at the
    end. If DATASET has named graphs, facts are added to graphs and removed from graphs. Up to 16 million
    triples the change is followed. In a larger data set additions are followed; if facts are removed or the
    schema changes, all is derived anew. The report says so ("starting over"), with the reason.

    \b
    Examples:
      corollary spark-update closed.encoded newer.encoded --add today.nt.gz --remove gone.nt
      corollary spark-update closed.encoded closed.encoded --add 'news/*.nt' --master yarn
    """
    if not (add or remove):
        raise click.UsageError("nothing to do: name files with --add or --remove")
    from corollary.loaders.spark import update

    program, documents = load_program(rules or (DEFAULT_RULES,)), {"add": add, "remove": remove}
    how = {"format": input_format, "most_bad_lines": most_bad_lines, "files": files}
    with cluster.session() as (spark, notify):
        done = update(spark, source, output, program, **documents, **how, notify=notify)  # type: ignore[arg-type]
    _print(asdict(done), as_json)
    _warn_of_bad_lines(done.bad_lines, output)


@main.command("spark-generate", short_help="Make data to try things on, on Spark.")
@click.argument("kind", callback=_check_kind)
@click.argument("number", type=click.IntRange(min=1), metavar="N")
@click.argument("output")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same data.")
@_on_spark
def spark_generate(
    kind: str,
    number: int,
    output: str,
    seed: int,
    cluster: Cluster,
    files: int | None,
    as_json: bool,
) -> None:
    """Generate N parts of up to some 100,000 triples each, and their ontology, in the new folder OUTPUT.

    KIND is university, encyclopaedia, categories, museum, market, dag, rand, rmat, cspa or csda. The parts
    and their ontology are those of `corollary generate`, with several parts per file.

    \b
    Example:
      corollary spark-generate university 100 university
      corollary spark-load university university.encoded
    """
    from corollary.loaders.spark import generate

    with cluster.session() as (spark, _):
        paths = generate(spark, number, output, kind, seed=seed, files=files)
    if as_json:
        print_json({"files": paths}, to_stderr=False)
    else:
        click.echo("\n".join(paths))


def _warn_of_bad_lines(count: int, output: str) -> None:
    from corollary.loaders.spark.snapshot_output import quarantine_of

    if count:
        lines = "1 bad line is" if count == 1 else f"{count:,} bad lines are"
        click.echo(f"corollary: {lines} in {quarantine_of(output)}", err=True)


def _print(report: dict[str, Any], as_json: bool) -> None:
    """Print the counts, then the seconds of each stage."""
    if as_json:
        print_json(report, to_stderr=False)
        return
    seconds = report.pop("seconds")
    counts = {name.replace("_", " "): value for name, value in report.items() if value not in ("", None)}
    print_tables([counts_table(counts, seconds)], to_stderr=False)
