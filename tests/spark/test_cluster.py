"""A cluster of processes on this machine: Spark's standalone master, two workers, jobs through spark-submit.

The job loads and closes one university on partitions, and updates it. A Python worker is killed in the first
round, and one of the two machines (a worker with its executor) after it: the facts are those of the engine.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.spark.conftest import SETTINGS
from tests.spark.data import assert_isomorphic

from corollary.evaluate import materialise
from corollary.generators import generate
from corollary.loaders import read_index
from corollary.loaders.encoded import load_encoded
from corollary.loaders.spark import archive
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("needs_spark"),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds workers in /proc"),
]

HERE = "127.0.0.1"

JAVA = SETTINGS["spark.driver.extraJavaOptions"]

OF_THE_CLUSTER = {
    **SETTINGS,
    "spark.driver.host": HERE,
    "spark.driver.memory": "1g",
    "spark.executor.memory": "1g",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": JAVA,
}

JOB = """
import json, os, signal, sys, threading, time
from pathlib import Path
import corollary
from corollary.loaders.spark import load, materialise, session, update
from corollary.profiles import load_profile

folder, addition, machine, other_machine = sys.argv[1:]
killed = {"python": 0, "machine": 0}


def processes(machine):
    # all of a machine, by their parents: those that one of our workers started are in its session
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(pid)) == int(machine):
                yield int(pid), Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ProcessLookupError):
            continue


def kill_python():
    for _ in range(1000):
        daemons = [pid for pid, line in processes(machine) if b"pyspark.daemon" in line]
        if len(daemons) > 1:
            os.kill(max(daemons), signal.SIGKILL)  # the daemon came first
            killed["python"] += 1
            return
        time.sleep(0.01)


def kill_machine():
    for pid, _ in processes(other_machine):
        os.kill(pid, signal.SIGKILL)
        killed["machine"] += 1


def notify(stage):
    if stage == "rounds":
        threading.Thread(target=kill_python, daemon=True).start()
    if stage.startswith("round 1"):
        threading.Timer(0.1, kill_machine).start()


def where(_):
    from corollary.loaders.spark import partition_task
    return [partition_task.__file__]


spark = session()
module = spark.sparkContext.parallelize([0], 1).mapPartitions(where).first()
rules = load_profile("owl2rl")
load(spark, [f"{folder}/in"], f"{folder}/set", files=3)
done = materialise(spark, f"{folder}/set", f"{folder}/closed", rules, files=3, notify=notify)
after = update(spark, f"{folder}/closed", f"{folder}/newer", rules, add=[addition], files=3)
left = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
said = {"module": module, "method": done.method, "strategy": after.strategy, "executors": left} | killed
Path(folder, "said.json").write_text(json.dumps(said))
spark.stop()
"""


@dataclass(frozen=True)
class Cluster:
    """The address of the master, and the process ids of the workers, which lead a session each."""

    address: str
    workers: tuple[int, int]


@pytest.fixture
def cluster(needs_spark: None, tmp_path: Path) -> Iterator[Cluster]:
    """A master and two workers with a core and a gigabyte each. All processes are killed at the end."""
    with socket.socket() as free:
        free.bind((HERE, 0))
        port = free.getsockname()[1]
    address = f"spark://{HERE}:{port}"
    common = ["--host", HERE, "--webui-port", "0"]
    log = tmp_path / "master.log"
    with ExitStack() as running:
        start(running, log, "master.Master", *common, "--port", str(port))
        size = ["--cores", "1", "--memory", "1g"]
        workers = [
            start(
                running,
                tmp_path / f"worker-{number}.log",
                "worker.Worker",
                *common,
                *size,
                *("--work-dir", str(tmp_path / f"work-{number}")),
                address,
            )
            for number in (1, 2)
        ]
        wait_for(log, "Registering worker", 2)
        yield Cluster(address, (workers[0], workers[1]))


def start(running: ExitStack, log: Path, name: str, *arguments: str) -> int:
    """Start one of Spark's daemons in a session of its own, which is killed at the end. Returns its id."""
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments],
            stdout=output,
            stderr=output,
            env=environment() | {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": JAVA},
            start_new_session=True,
        )
    running.callback(kill_session, process)
    return process.pid


def kill_session(leader: subprocess.Popen[bytes]) -> None:
    """Kill a process that we started, and all that it started."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(pid)) == leader.pid:
                os.kill(int(pid), signal.SIGKILL)
        except OSError:
            continue
    leader.wait()


def spark_home() -> Path:
    import pyspark

    return Path(pyspark.__path__[0])


def environment() -> dict[str, str]:
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    return os.environ | python | {"SPARK_HOME": str(spark_home()), "SPARK_LOCAL_IP": HERE}


def wait_for(log: Path, text: str, times: int) -> None:
    for _ in range(1200):
        if log.read_text().count(text) >= times:
            return
        time.sleep(0.1)
    raise AssertionError(log.read_text())


def test_a_machine_and_a_worker_are_killed(cluster: Cluster, tmp_path: Path) -> None:
    """What is left finishes, with the archive's code; the result is the engine's, fact for fact."""
    documents = generate(1, tmp_path / "in")
    (tmp_path / "job.py").write_text(JOB)
    addition = tmp_path / "addition.nt"
    student = "<https://corollary.example/university#GraduateStudent>"
    addition.write_text(f"<http://example.org/ada> a {student} .\n".replace(" a ", f" {TYPE} "))
    settings = (part for setting in OF_THE_CLUSTER.items() for part in ("--conf", "=".join(setting)))
    job = [str(tmp_path / "job.py"), str(tmp_path), str(addition), *map(str, cluster.workers)]
    submit = [str(spark_home() / "bin" / "spark-submit"), "--master", cluster.address, *settings]
    done = subprocess.run(
        [*submit, "--py-files", archive(tmp_path), *job],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stdout
    said = json.loads((tmp_path / "said.json").read_text())
    assert "corollary-code.zip" in said["module"]
    assert (said["method"], said["strategy"]) == ("partitions", "additions")
    assert said["python"] == 1 and said["machine"] >= 2 and said["executors"] == 1
    dictionary = TermDictionary()
    for paths, name in ((documents, "closed"), ([*documents, addition], "newer")):
        wanted = materialise(read_index(paths, dictionary), load_profile("owl2rl"), dictionary)
        found = load_encoded(tmp_path / name)
        assert_isomorphic((found.explicit, found.dictionary), (wanted.explicit, dictionary))
        assert_isomorphic((found.inferred, found.dictionary), (wanted.inferred(), dictionary))


TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
