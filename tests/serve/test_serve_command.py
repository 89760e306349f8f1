"""``corollary serve`` as a process: how it begins, ends and survives; what it imports and says."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from tests.serve.client import EX, TOKEN, UPDATE, WRITER, get, post

from corollary.cli import main, progress
from corollary.serve import connections

COMMAND = str(Path(sys.executable).with_name("corollary"))
FACTS = f"<{EX}Dog> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <{EX}Animal> .\n"


@contextmanager
def served(*arguments: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that serves, and its address. What it has printed before that is in ``.args``."""
    process = subprocess.Popen(
        [COMMAND, "serve", *map(str, arguments), "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"COROLLARY_TOKEN": TOKEN},
    )
    assert process.stderr is not None
    try:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if found := re.search(r"serving (\S+)/ ", line):
                yield process, found[1]
                break
        else:
            raise AssertionError("".join(lines))
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()


def insert(address: str, name: str) -> None:
    update = f"INSERT DATA {{ <{EX}{name}> a <{EX}Dog> }}"
    done = post(f"{address}/update", content=update, headers={**WRITER, "Content-Type": UPDATE})
    assert done.status_code == 204, done.text


def is_animal(address: str, name: str) -> bool:
    query = f"ASK {{ <{EX}{name}> a <{EX}Animal> }}"
    found: bool = get(f"{address}/sparql", params={"query": query}).json()["boolean"]
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with one triple."""
    path = tmp_path / "facts.nt"
    path.write_text(FACTS)
    return path


def test_what_is_acknowledged_survives_a_kill(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    with served(file, "--store", folder, "--writable") as (process, address):
        insert(address, "rex")
        place = post(f"{address}/transactions", headers=WRITER).headers["location"]
        body = f"INSERT DATA {{ <{EX}half> a <{EX}Dog> }}"
        post(f"{address}{place}/update", content=body, headers={**WRITER, "Content-Type": UPDATE})
        process.send_signal(signal.SIGKILL)
        process.wait()
    with served("--store", folder) as (process, address):
        assert is_animal(address, "rex") and not is_animal(address, "half")
        assert post(f"{address}/update", headers=WRITER).status_code == 403


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_running_requests_are_answered_before_the_end(
    number: signal.Signals, file: Path, tmp_path: Path
) -> None:
    """Here an update that waits for an open transaction, which the end rolls back."""
    folder, log = tmp_path / "kept", tmp_path / "log"
    statuses: list[int] = []
    headers = {**WRITER, "Content-Type": UPDATE}
    with served(file, "--store", folder, "--writable", "--access-log", log) as (process, address):
        place = post(f"{address}/transactions", headers=WRITER).headers["location"]
        body = f"INSERT DATA {{ <{EX}half> a <{EX}Dog> }}"
        assert post(f"{address}{place}/update", content=body, headers=headers).status_code == 204

        def send() -> None:
            update = f"INSERT DATA {{ <{EX}late> a <{EX}Dog> }}"
            response = post(f"{address}/update", content=update, headers=headers)
            statuses.append(response.status_code)

        thread = threading.Thread(target=send)
        thread.start()
        while "running_requests 2" not in get(f"{address}/metrics").text:
            time.sleep(0.05)
        process.send_signal(number)
        thread.join(60)
        assert process.wait(60) == 0
    assert statuses == [204]
    assert '"path": "/update", "status": 204' in log.read_text()
    with served("--store", folder) as (_, address):
        assert is_animal(address, "late") and not is_animal(address, "half")


@pytest.mark.slow
def test_what_is_acknowledged_under_load_survives_a_kill(file: Path, tmp_path: Path) -> None:
    """Each update adds two triples: after the kill, those acknowledged are there, and no half of one."""
    folder = tmp_path / "kept"
    done: list[str] = []
    headers = {**WRITER, "Content-Type": UPDATE}

    def write(number: int) -> None:
        with httpx.Client(base_url=address, timeout=30) as client, suppress(httpx.TransportError):
            for i in range(1000):
                name = f"<urn:{number}-{i}>"
                update = f"INSERT DATA {{ {name} <urn:p> 1 }} ; INSERT DATA {{ {name} <urn:q> 1 }}"
                if client.post("/update", content=update, headers=headers).status_code == 204:
                    done.append(name[1:-1])

    with served(file, "--store", folder, "--writable") as (process, address):
        threads = [threading.Thread(target=write, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        while len(done) < 200:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        for thread in threads:
            thread.join()
    with served("--store", folder) as (_, address):
        query = "SELECT ?x ?p { ?x ?p 1 VALUES ?p { <urn:p> <urn:q> } }"
        rows = get(f"{address}/sparql", params={"query": query}).json()["results"]["bindings"]
        kept: dict[str, set[str]] = {}
        for row in rows:
            kept.setdefault(row["x"]["value"], set()).add(row["p"]["value"])
    assert kept.keys() >= set(done) and all(len(both) == 2 for both in kept.values())


@pytest.mark.parametrize("form", ["snapshot", "encoded"])
def test_what_is_closed_is_served_as_it_is(file: Path, form: str) -> None:
    file.write_text(f"{FACTS}<{EX}rex> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{EX}Dog> .\n")
    closed = file.with_name(f"closed.{form}")
    subprocess.run([COMMAND, "materialise", file, "-o", closed], check=True, capture_output=True)
    with served(closed, "--as-is") as (_, address):
        assert is_animal(address, "rex")
        query = {"subject": f"<{EX}rex>", "predicate": "a", "object": f"<{EX}Animal>"}
        assert get(f"{address}/explain", params=query).json()["status"] == "inferred"
        refused = post(f"{address}/update", content="INSERT DATA {}", headers={"Content-Type": UPDATE})
        assert refused.status_code == 403


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_https_is_served(file: Path) -> None:
    certificate, key = file.with_name("cert.pem"), file.with_name("key.pem")
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *names]
    subprocess.run([*made, "-out", certificate, "-keyout", key], check=True, capture_output=True)
    with served(file, "--tls-cert", certificate, "--tls-key", key) as (_, address):
        assert address.startswith("https://")
        trusted = ssl.create_default_context(cafile=certificate)
        found = get(f"{address}/sparql", params={"query": f"ASK {{ <{EX}Dog> ?p ?o }}"}, verify=trusted)
        assert found.json()["boolean"]


def test_opening_and_closing_a_folder_are_stages_with_a_bar(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The share of the journal that is read is known: there is no snapshot."""
    folder, shares = tmp_path / "kept", {}

    def stopped(self: Any, sockets: object) -> None:
        self._on_ready()

    def end(stage: progress.Stage) -> None:
        shares[stage.name] = (stage.state()[0][0], stage.state()[1])

    monkeypatch.setattr(connections.Server, "run", stopped)
    monkeypatch.setattr(progress.Stage, "end", end)
    for _ in range(2):
        shares.clear()
        found = CliRunner().invoke(main, ["serve", str(file), "--store", str(folder), "--port", "0"])
        assert found.exit_code == 0, found.output
    assert shares["open"] == ("reading the journal", 1.0)
    assert [*shares] == ["prepare", "open", "read", "reason", "write", "close"]


def test_mistakes_are_told_in_one_message(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(*arguments: str | Path) -> str:
        result = CliRunner().invoke(main, ["serve", *map(str, arguments)])
        assert result.exit_code == 2, result.output
        return result.output

    assert "--store" in said()
    assert "no/such" in said("no/such.ttl", "--port", "0")
    assert "cannot be changed" in said(file, "--as-is", "--writable")
    assert "cannot be changed" in said(file, "--as-is", "--store", file.parent / "folder")
    assert "facts.nt is none: `corollary materialise" in said(file, "--as-is", "--port", "0")
    assert "--tls-cert" in said(file, "--tls-cert", file)
    assert "cannot be written" in said(file, "--access-log", file.parent / "none" / "log", "--port", "0")
    assert "--max-body much: a limit is a number" in said(file, "--max-body", "much")
    assert "--max-result none: a size is needed" in said(file, "--max-result", "none")
    assert "--host takes an address of this machine" in said(file, "--host", "203.0.113.7", "--port", "0")
    assert "the token cannot be read" in said(file, "--writable", "--token-file", file.parent / "none")
    monkeypatch.setenv("COROLLARY_TOKEN", "short")
    assert "fewer than 16 characters" in said(file, "--writable")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "cannot listen" in said(file, "--port", str(taken.getsockname()[1]))
    real = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *rest: None if name == "uvicorn" else real(name, *rest)
    )
    assert "pip install 'corollary[serve]'" in said(file)


def test_a_token_is_made_and_exposure_is_warned_of(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COROLLARY_TOKEN", raising=False)
    found = []
    monkeypatch.setattr(
        "corollary.serve.connections.serve", lambda server, listener, service, closing: found.append(service)
    )
    exposed = CliRunner().invoke(main, ["serve", str(file), "--writable", "--host", "0.0.0.0", "--port", "0"])
    assert exposed.exit_code == 0, exposed.output
    assert "nothing is encrypted" in exposed.output
    token = re.search(r"the token for changes is (\S+)", exposed.output)
    assert token is not None and found[0].settings.token.fits(f"Bearer {token[1]}")
    secret = file.with_name("token.txt")
    secret.write_text(f"{TOKEN}\n")
    options = ["--writable", "--token-file", str(secret), "--port", "0"]
    read = CliRunner().invoke(main, ["serve", str(file), *options])
    assert read.output == "" and found.pop().settings.token.fits(f"Bearer {TOKEN}")
    closed = CliRunner().invoke(main, ["serve", str(file), "--port", "0"])
    assert closed.output == "" and not found[1].settings.is_writable


WITHOUT = """
import importlib, pkgutil, sys
class Blocker:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] in ("starlette", "uvicorn", "httptools", "httpx", "anyio", "selenium"):
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Blocker())
import corollary
for found in pkgutil.walk_packages(corollary.__path__, "corollary."):
    if not found.name.startswith(("corollary.serve.", "corollary.loaders.spark")):
        importlib.import_module(found.name)
from rdflib import Graph
assert len(Graph(store="Corollary")) == 0
"""


def test_everything_else_works_without_the_extra() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT], check=True, timeout=300)
