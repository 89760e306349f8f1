"""Point queries a second of ``corollary serve``: a process of its own, asked over connections that stay open.

The client is this process: one thread, plain sockets, requests that are made before. Its CPU time is reported
beside the server's, because both share the machine.
"""

from __future__ import annotations

import json
import os
import random
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from time import perf_counter, process_time
from urllib.parse import quote

from benchmarks.engine import ENGINE
from benchmarks.measure import Demand, Measurement, Results, Settings
from benchmarks.workloads.lubm import files

NAME = "serving"
TITLE = "point queries over HTTP, the CPU of server and client"

COMMAND = "from corollary.cli import main; main()"
CONNECTIONS = 16
REQUESTS, SMALL_REQUESTS = 10_000, 500
WARM_UP = 500
FEWEST_A_SECOND = 2_000

SUBJECTS = "SELECT DISTINCT ?s { ?s a ?class FILTER(isIRI(?s)) } LIMIT 1000"
POINTS = {
    "the types of a subject": "SELECT ?type {{ <{}> a ?type }}",
    "all facts of a subject": "SELECT ?p ?o {{ <{}> ?p ?o }}",
}


@dataclass
class Connection:
    """A connection that stays open, and what it received of the response that it waits for."""

    channel: socket.socket
    received: bytes = b""

    def is_answered(self) -> bool:
        """Receive. Returns whether the response is whole. Raises RuntimeError unless it is a success."""
        self.received += self.channel.recv(1 << 16)
        head, gap, body = self.received.partition(b"\r\n\r\n")
        if not gap:
            return False
        found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        if not head.startswith(b"HTTP/1.1 200") or found is None:
            raise RuntimeError(head.decode("latin-1"))
        return len(body) == int(found[1])


def run(settings: Settings) -> Results:
    """Each kind of point query in turns, over LUBM-1 under ``owl2rl``."""
    results = Results()
    count = SMALL_REQUESTS if settings.small else REQUESTS
    with files(settings.corpus, 1) as (size, paths), served(paths) as (process, port), ExitStack() as stack:
        connections = [Connection(_connected(port)) for _ in range(CONNECTIONS)]
        for each in connections:
            stack.enter_context(each.channel)
        choice = random.Random(0)
        subjects = _subjects(connections[0])
        times: dict[str, list[tuple[float, float, float]]] = {what: [] for what in POINTS}
        for _ in range(settings.repeat):
            for what, query in POINTS.items():
                requests = [_request(query.format(choice.choice(subjects))) for _ in range(count)]
                ask(connections, requests[:WARM_UP])
                started = perf_counter(), cpu_of(process.pid), process_time()
                ask(connections, requests)
                ended = perf_counter(), cpu_of(process.pid), process_time()
                times[what].append(tuple(b - a for a, b in zip(started, ended, strict=True)))  # type: ignore[arg-type]
    for what, runs in times.items():
        text = f"{count:,} requests: {what}"
        for part, seconds in zip(
            ("", ", CPU of the server", ", CPU of the client"), zip(*runs, strict=True), strict=True
        ):
            results.measurements.append(Measurement(NAME, size, ENGINE, text + part, seconds))
        rate = count / results.measurements[-3].median
        demand = f"{what}, {CONNECTIONS} connections, client on the same cores"
        results.demands.append(Demand(NAME, demand, rate, FEWEST_A_SECOND, "a second", at_least=True))
    return results


def ask(connections: list[Connection], requests: list[bytes]) -> None:
    """Send all requests, on each connection one at a time, and receive the responses."""
    left = iter(requests)
    with DefaultSelector() as selector:
        for connection, request in zip(connections, left, strict=False):
            selector.register(connection.channel, EVENT_READ, connection)
            connection.channel.sendall(request)
        waiting = min(len(connections), len(requests))
        while waiting:
            for key, _ in selector.select():
                connection = key.data
                if not connection.is_answered():
                    continue
                connection.received = b""
                request = next(left, b"")
                waiting -= not request
                connection.channel.sendall(request)


@contextmanager
def served(paths: list[Path]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server of files in a process of its own, and its port."""
    command = [sys.executable, "-c", COMMAND, "serve", *map(str, paths), "--rules", "owl2rl", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            lines = []
            for line in process.stderr:
                lines.append(line)
                if found := re.search(r"http://127\.0\.0\.1:(\d+)/", line):
                    yield process, int(found[1])
                    return
            raise RuntimeError("".join(lines))
        finally:
            process.terminate()
            process.communicate()


def cpu_of(number: int) -> float:
    """The CPU time of a running process, in seconds; 0 where the system does not say it."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _connected(port: int) -> socket.socket:
    channel = socket.create_connection(("127.0.0.1", port))
    channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return channel


def _request(query: str) -> bytes:
    head = "Host: localhost\r\nAccept: application/sparql-results+json\r\nUser-Agent: benchmark\r\n"
    return f"GET /sparql?query={quote(query)} HTTP/1.1\r\n{head}\r\n".encode()


def _subjects(connection: Connection) -> list[str]:
    connection.channel.sendall(_request(SUBJECTS))
    while not connection.is_answered():
        pass
    rows = json.loads(connection.received.partition(b"\r\n\r\n")[2])["results"]["bindings"]
    connection.received = b""
    return [row["s"]["value"] for row in rows]
