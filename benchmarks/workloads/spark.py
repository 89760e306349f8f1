"""Universities on Spark in local mode, compared with the engine: the overhead of Spark. Facts with skew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.engine import ENGINE
from benchmarks.measure import Outcome, Results, Settings, Task, measure
from benchmarks.workloads import spark_skew

from corollary.evaluate import materialise as materialise_here
from corollary.generators import generate
from corollary.language.errors import InputError
from corollary.loaders import read_index
from corollary.loaders.encoded import load_encoded, save_encoded
from corollary.loaders.encoded_format import EncodedDataSet
from corollary.loaders.spark import load, materialise, session
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "spark"
TITLE = "ten universities on Spark: loaded into an encoded data set, closed under owl2rl; facts with skew"

ON_SPARK = "Spark local[2]"
LOAD, CLOSE = "files to data set", "data set to closed data set"
PROFILE = "owl2rl"
MEMORY = "8g"


def run(settings: Settings) -> Results:
    """Both stages on Spark (with the seconds of each part), and with the engine."""
    results = Results()
    try:
        spark = session("local[2]", MEMORY, {"spark.ui.enabled": "false"})
    except InputError as error:  # PySpark or Java is missing
        results.notes.append(f"spark: left out: {error}")
        return results
    try:
        with TemporaryDirectory() as folder:
            results.measurements += measure(NAME, _tasks(spark, Path(folder), settings), settings.repeat)
            results.add(spark_skew.measured(NAME, spark, Path(folder), settings))
    finally:
        spark.stop()
    return results


def _tasks(spark: SparkSession, folder: Path, settings: Settings) -> list[Task]:
    universities = 1 if settings.small else 10
    paths = [str(path) for path in generate(universities, folder / "in")]
    size = f"{universities} universities"
    program = load_profile(PROFILE)

    def load_on_spark() -> Outcome:
        done = load(spark, paths, str(folder / "set"))
        return Outcome(done.facts, done.seconds)

    def close_on_spark() -> Outcome:
        done = materialise(spark, str(folder / "set"), str(folder / "closed"), program)
        return Outcome(done.explicit + done.inferred, done.seconds)

    def load_here() -> Outcome:
        dictionary = TermDictionary()
        index = read_index(paths, dictionary)
        save_encoded(folder / "set-here", EncodedDataSet(dictionary, index))
        return Outcome(index.fact_count())

    def close_here() -> Outcome:
        data = load_encoded(folder / "set-here")
        result = materialise_here(data.explicit, program, data.dictionary)
        closed = EncodedDataSet(result.dictionary, result.explicit, result.inferred(), PROFILE)
        save_encoded(folder / "closed-here", closed)
        return Outcome(result.index.fact_count())

    def task(engine: str, what: str, work: Callable[[], Outcome]) -> Task:
        return Task(engine, what, lambda: None, lambda _: work(), size)

    return [
        task(ON_SPARK, LOAD, load_on_spark),
        task(ENGINE, LOAD, load_here),
        task(ON_SPARK, CLOSE, close_on_spark),
        task(ENGINE, CLOSE, close_here),
    ]
