"""A test for each sentence of ``docs/serving.md`` about what is protected."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.serve.client import EX, TOKEN, UPDATE, WRITER, Client, client_of, service_of

from corollary.language import CorollaryError
from corollary.serve.guard import Token, host_in, is_loopback
from corollary.serve.problems import problem_of
from corollary.store import CorollaryStore

INSERT = f"INSERT DATA {{ <{EX}evil> a <{EX}Dog> }}"
CHANGES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/update", {"content": INSERT, "headers": {"Content-Type": UPDATE}}),
    ("POST", "/update", {"data": {"update": INSERT}}),
    ("PUT", "/graphs?default", {"content": "", "headers": {"Content-Type": "text/turtle"}}),
    ("POST", "/graphs?default", {"content": "<urn:a> a 1 .", "headers": {"Content-Type": "text/turtle"}}),
    ("POST", "/graphs", {"content": "<urn:a> a 1 .", "headers": {"Content-Type": "text/turtle"}}),
    ("DELETE", f"/graphs?graph={EX}pets", {}),
    ("POST", "/rules", {"content": "", "headers": {"Content-Type": "text/plain"}}),
    ("DELETE", "/rules/ID", {}),
    ("POST", "/rules/ID/off", {}),
    ("POST", "/rules/ID/on", {}),
    ("POST", "/transactions", {}),
    ("POST", "/transactions/ID/update", {"data": {"update": INSERT}}),
    ("POST", "/transactions/ID/query", {"data": {"query": "ASK {}"}}),
    ("POST", "/transactions/ID/commit", {}),
    ("DELETE", "/transactions/ID", {}),
]
"""Every request that changes something."""


def facts(client: Client) -> tuple[int, int]:
    found = client.get("/statistics").json()
    return found["explicit"], found["inferred"]


# Writing


@pytest.mark.parametrize(("method", "path", "arguments"), CHANGES)
def test_nothing_is_written_without_the_option(method: str, path: str, arguments: dict[str, Any]) -> None:
    client = client_of("none", is_writable=False)
    before = facts(client)
    given = {**arguments, "headers": {**arguments.get("headers", {}), **WRITER}}
    assert client.request(method, path, **given).status_code == 403
    assert facts(client) == before


@pytest.mark.parametrize("token", [None, "", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN])
@pytest.mark.parametrize(("method", "path", "arguments"), CHANGES)
def test_nothing_is_written_without_the_token(
    method: str, path: str, arguments: dict[str, Any], token: str | None
) -> None:
    client = client_of("none")
    before = facts(client)
    headers = arguments.get("headers", {}) | ({} if token is None else {"Authorization": token})
    response = client.request(method, path, **{**arguments, "headers": headers})
    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
    assert facts(client) == before


def test_a_token_in_the_url_is_no_token() -> None:
    client = client_of("none")
    for name in ("token", "access_token", "authorization"):
        path = f"/update?{name}={TOKEN}"
        assert client.post(path, data={"update": INSERT, name: TOKEN}).status_code == 401


def test_a_cross_origin_form_changes_nothing() -> None:
    client = client_of("none")
    headers = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site", "Cookie": f"token={TOKEN}"}
    assert client.post("/update", data={"update": INSERT}, headers=headers).status_code == 401
    assert not client.ask("ex:evil ?p ?o")


def test_the_token_is_kept_as_a_hash() -> None:
    token = Token.of(f"  {TOKEN}\n")
    assert vars(token) == {"digest": sha256(TOKEN.encode()).digest()}
    assert token == Token.of(f"sha256:{sha256(TOKEN.encode()).hexdigest()}")
    assert token.fits(f"Bearer {TOKEN}") and token.fits(f"bearer {TOKEN}")
    text, made = Token.made()
    assert made.fits(f"Bearer {text}") and not made.fits(f"Bearer {text[:-1]}") and not made.fits(None)
    assert text not in repr(made)
    with pytest.raises(CorollaryError, match="fewer than"):
        Token.of("short")


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr("corollary.serve.guard.hmac.compare_digest", compare)
    token = Token.of(TOKEN)
    for header in (f"Bearer {TOKEN}", "Bearer x", "Basic x", None):
        token.fits(header)
    assert len(compared) == 4 and {len(part) for pair in compared for part in pair} == {32}


def test_the_log_has_no_query_and_no_token() -> None:
    lines: list[str] = []
    client = Client(service_of("none", lines.append))
    client.update(INSERT)
    client.get("/sparql", params={"query": "ASK { <urn:private> ?p ?o }", "token": TOKEN})
    client.get("/nowhere%0A{forged}")
    assert len(lines) == 3
    assert TOKEN not in "".join(lines) and "private" not in "".join(lines)
    entries = [json.loads(line) for line in lines]
    assert [entry["path"] for entry in entries[:2]] == ["/update", "/sparql"]
    assert [entry["status"] for entry in entries] == [204, 200, 404]
    assert entries[0].keys() == {"time", "client", "method", "path", "status", "bytes", "ms"}


# Browsers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7200", "127.0.0.1.evil.example", "", "a b", "[::1"]
)
def test_other_hosts_are_refused(host: str) -> None:
    client = client_of("none")
    for path in ("/sparql?query=ASK{}", "/", "/health", "/nowhere"):
        assert client.get(path, headers={"Host": host}).status_code == 421
    assert (
        client.post("/update", data={"update": INSERT}, headers={**WRITER, "Host": host}).status_code == 421
    )


@pytest.mark.parametrize(
    "host", ["server.test", "SERVER.test:80", "localhost:7200", "127.0.0.1", "127.8.0.1:1", "[::1]:7200"]
)
def test_this_host_is_served(host: str) -> None:
    assert client_of("none").get("/health", headers={"Host": host}).status_code == 200


def test_hosts_are_read_as_they_are_written() -> None:
    assert host_in("Example.ORG:80") == "example.org" and host_in("[::1]:7200") == "::1"
    assert host_in(None) is None and host_in("user@host") is None and host_in("a/b") is None
    assert is_loopback("127.0.0.1") and is_loopback("::1") and is_loopback("localhost")
    assert not is_loopback("0.0.0.0") and not is_loopback("10.0.0.1") and not is_loopback("example.org")


def test_other_origins_may_not_read_unless_they_are_named() -> None:
    origin = {"Origin": "http://app.example"}
    closed = client_of("none").get("/sparql?query=ASK{}", headers=origin)
    assert not any(name.startswith("access-control") for name in closed.headers)
    assert closed.headers["cross-origin-resource-policy"] == "same-origin"
    preflight = {
        **origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    refused = client_of("none").request("OPTIONS", "/update", headers=preflight)
    assert "access-control-allow-origin" not in refused.headers

    opened = client_of("none", origins=("http://app.example",))
    allowed = opened.get("/sparql?query=ASK{}", headers=origin)
    assert allowed.headers["access-control-allow-origin"] == "http://app.example"
    assert opened.request("OPTIONS", "/update", headers=preflight).status_code == 200
    other = opened.get("/sparql?query=ASK{}", headers={"Origin": "http://evil.example"})
    assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize("path", ["/", "/sparql?query=ASK{}", "/explain?subject=a", "/nowhere", "/metrics"])
def test_all_responses_have_a_policy(path: str) -> None:
    headers = client_of("none").get(path).headers
    policy = headers["content-security-policy"]
    assert (
        "default-src 'self'" in policy and "script-src" not in policy and "frame-ancestors 'none'" in policy
    )
    assert headers["x-content-type-options"] == "nosniff"


HOSTILE = "<script>alert(1)</script>"


def test_proofs_are_escaped() -> None:
    client = client_of("rdfs")
    client.update(
        f"INSERT DATA {{ <javascript:alert(1)> ex:says '{HOSTILE}' ; a ex:Dog . "
        f"ex:says rdfs:domain ex:Loud . <{EX}Loud> rdfs:label '{HOSTILE}' }}".replace(
            "rdfs:", "<http://www.w3.org/2000/01/rdf-schema#"
        )
        .replace("#domain", "#domain>")
        .replace("#label", "#label>")
    )
    for subject, predicate, object in [
        ("<javascript:alert(1)>", "a", "ex:Loud"),
        ("<javascript:alert(1)>", "ex:says", f'"{HOSTILE}"'),
        ("ex:nobody", "ex:says", f'"{HOSTILE}"'),
    ]:
        params = {"subject": subject, "predicate": predicate, "object": object, "format": "html"}
        page = client.get("/explain", params=params)
        assert page.status_code == 200, page.text
        assert "<script" not in page.text and 'href="javascript' not in page.text
    xml = client.get(
        "/sparql",
        params={"query": "SELECT * { ?s ?p ?o }"},
        headers={"Accept": "application/sparql-results+xml"},
    )
    assert "<script" not in xml.text


# Limits


def test_a_large_body_is_refused() -> None:
    client = client_of("none", bytes_of_body=1000)
    before = facts(client)
    text = f"INSERT DATA {{ <urn:a> <urn:b> '{'x' * 2000}' }}"
    assert client.update(text).status_code == 413

    async def chunks() -> Any:
        for _ in range(100):
            yield b"x" * 100

    headers = {**WRITER, "Content-Type": UPDATE}
    assert client.post("/update", content=chunks(), headers=headers).status_code == 413
    assert client.post("/sparql", data={"query": "#" * 2000}).status_code == 413
    headers = {"Content-Type": "application/sparql-query"}
    long = client_of("none").post("/sparql", content="ASK {}" + "#" * 1_000_000, headers=headers)
    assert long.status_code == 413
    assert facts(client) == before


def test_a_body_that_is_large_when_decompressed_is_refused() -> None:
    client = client_of("none", bytes_of_body=10_000)
    headers = {**WRITER, "Content-Type": "text/turtle", "Content-Encoding": "gzip"}
    small = gzip.compress(b"<urn:a> <urn:b> <urn:c> .")
    assert client.post("/graphs?graph=urn:g", content=small, headers=headers).status_code == 201
    bomb = gzip.compress(b" " * 10_000_000)
    assert len(bomb) < 10_000
    for content, status in [(bomb, 413), (small[:-9], 400), (b"no gzip", 400), (small + small, 400)]:
        assert client.post("/graphs?graph=urn:h", content=content, headers=headers).status_code == status
    other = {**headers, "Content-Encoding": "br"}
    assert client.post("/graphs?graph=urn:h", content=b"", headers=other).status_code == 415
    assert client.get("/graphs?graph=urn:h").status_code == 404


def test_a_large_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.serve.protocol.MAX_BYTES_OF_FORM", 1000)
    client = client_of("none")
    long = f"INSERT DATA {{ <urn:a> <urn:b> '{'x' * 1000}' }}"
    assert client.post("/update", data={"update": long}, headers=WRITER).status_code == 413
    assert client.update(long).status_code == 204


def large_store() -> CorollaryStore:
    store = CorollaryStore(rules="none", external="none")
    values = " ".join(f"<urn:{number}>" for number in range(3000))
    from rdflib import Dataset

    Dataset(store, default_union=True).update(
        f"INSERT {{ ?x <urn:p> ?x }} WHERE {{ VALUES ?x {{ {values} }} }}"
    )
    store.commit()
    return store


def test_a_large_result_is_refused() -> None:
    client = client_of(store=large_store(), bytes_of_result=2000)
    query = {"query": "SELECT * { ?s ?p ?o }"}
    refused = client.get("/sparql", params=query)
    assert (refused.status_code, refused.json()["title"]) == (413, "The result is too large")
    assert client.get("/sparql", params={"query": "SELECT * { ?s ?p ?o } LIMIT 5"}).status_code == 200
    assert client.get("/graphs?default").status_code == 413
    for media_type in ("application/rdf+xml", "application/ld+json", "application/n-triples"):
        assert client.get("/graphs?default", headers={"Accept": media_type}).status_code == 413


def test_a_large_result_that_has_begun_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.serve.service.BYTES_BEFORE_STREAMING", 100)
    client = client_of(store=large_store(), bytes_of_result=250_000)
    response = client.get("/sparql", params={"query": "SELECT * { ?s ?p ?o }"})
    with pytest.raises(ValueError, match=r"delimiter|Expecting"):
        response.json()


def test_a_long_query_ends() -> None:
    client = client_of(store=large_store(), seconds=0.3)
    query = "SELECT (COUNT(*) AS ?n) { ?a ?p ?x . ?b ?q ?y . ?c ?r ?z FILTER(STR(?a) < STR(?z)) }"
    response = client.get("/sparql", params={"query": query})
    assert response.status_code == 503 and "--timeout" in response.json()["detail"]
    assert client.update(f"INSERT {{ <urn:n> <urn:n> ?n }} WHERE {{ {{ {query} }} }}").status_code == 503
    assert not client.ask("<urn:n> ?p ?o")


@pytest.mark.parametrize(
    "path",
    ["/explain?subject=a&predicate=b&object=c&limit=", "/inconsistencies?limit=", "/terms?limit="],
)
@pytest.mark.parametrize("limit", ["0", "-1", "1000000000000", "x", "²", ""])
def test_limits_of_lists_are_bounded(path: str, limit: str) -> None:
    assert client_of("none").get(path + limit).status_code == 400


def test_parameters_are_bounded() -> None:
    client = client_of("none")
    many = "&".join(f"default-graph-uri=urn:{number}" for number in range(2000))
    assert client.get(f"/sparql?query=ASK{{}}&{many}").status_code == 400


# Odd texts


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { <//[> ?p ?o }",
        "BASE <http://[> SELECT * { <a> ?p ?o }",
        "PREFIX x: <//[> SELECT * { x:a ?p ?o }",
        "SELECT * FROM <http://[> { ?s ?p ?o }",
        "SELECT * { SERVICE <http://[> { ?s ?p ?o } }",
        'SELECT (IRI("//[") AS ?x) { BIND("x"^^<//[> AS ?y) }',
        'SELECT ?x { VALUES ?x { "1E999999999"^^<http://www.w3.org/2001/XMLSchema#decimal> } FILTER(?x>1) }',
        'SELECT ?x { VALUES ?x { "sNaN"^^<http://www.w3.org/2001/XMLSchema#decimal> } FILTER(?x IN (1, 2)) }',
        "SELECT * { ?s ?p ?o } LIMIT 99999999999999999999 OFFSET 99999999999999999999",
        f"SELECT ({'(' * 20_000}1{')' * 20_000} AS ?x) {{}}",
        f"SELECT * {{ ?s ?p {'[ <urn:p> ' * 5000}1{']' * 5000} }}",
        f'SELECT * {{ FILTER REGEX("{"a" * 40}!", "^(a+)+$") }}',
    ],
)
def test_an_odd_query_is_answered_or_refused(query: str, capsys: pytest.CaptureFixture[str]) -> None:
    response = client_of("none").post("/sparql", data={"query": query})
    assert response.status_code in (200, 400) and len(response.content) < 2000
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "update",
    ["BASE <http://[> INSERT DATA { <a> <b> <c> }", "LOAD <http://[>", "INSERT DATA { <//[> <b> <c> }"],
)
def test_an_odd_update_is_carried_out_or_refused(update: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert client_of("none").update(update).status_code in (204, 400)
    assert "Traceback" not in capsys.readouterr().err


# What leaves, and what is reached


def test_errors_show_no_paths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    client = client_of("none", folder=tmp_path)
    secrets = client.service.secrets
    for error in (
        CorollaryError(f"{tmp_path}/x is damaged"),
        OSError(2, "no", str(tmp_path)),
        KeyError(tmp_path),
    ):
        problem = problem_of(error, secrets)
        assert str(tmp_path) not in f"{problem.title} {problem.detail}"
        assert "Traceback" not in problem.detail
    assert str(tmp_path) in capsys.readouterr().err  # the operator sees it


def test_an_error_of_the_program_is_told_without_its_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = client_of("none")

    def broken(*args: Any, **settings: Any) -> Any:
        raise RuntimeError(f"secret in {Path(__file__)}")

    monkeypatch.setattr(client.service.store, "query", broken)
    response = client.get("/sparql?query=ASK{}")
    assert response.status_code == 500 and "secret" not in response.text
    assert "secret" in capsys.readouterr().err


@pytest.fixture
def listener() -> Iterator[tuple[str, list[object]]]:
    """An address, and the connections that it gets."""
    import socket
    import threading

    met: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        is_over = threading.Event()

        def listen() -> None:
            while not is_over.is_set():
                try:
                    connection, place = server.accept()
                except TimeoutError:
                    continue
                met.append(place)
                connection.close()

        thread = threading.Thread(target=listen)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/x", met
        is_over.set()
        thread.join()


def test_uploads_and_queries_reach_nothing_outside(
    listener: tuple[str, list[object]], tmp_path: Path
) -> None:
    address, met = listener
    secret = tmp_path / "secret.txt"
    secret.write_text("TOP SECRET")
    client = client_of("none")
    entity = f'<!DOCTYPE r [<!ENTITY e SYSTEM "{secret.as_uri()}"><!ENTITY f SYSTEM "{address}">]>'
    rdf = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="urn:x">'
    described = '<rdf:Description rdf:about="urn:a"><x:p>&e;&f;</x:p></rdf:Description></rdf:RDF>'
    laughs = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">' + "".join(
        f'<!ENTITY {chr(98 + n)} "{("&" + chr(97 + n) + ";") * 20}">' for n in range(8)
    )
    uploads = [
        (f'{{"@context": "{address}", "@id": "urn:a", "urn:p": 1}}', "application/ld+json"),
        (f'{{"@context": {{"@import": "{address}"}}, "@id": "urn:a", "urn:p": 1}}', "application/ld+json"),
        (entity + rdf + described, "application/rdf+xml"),
        (laughs + "]>" + rdf + described.replace("&e;&f;", "&i;"), "application/rdf+xml"),
        (f"<urn:o> <http://www.w3.org/2002/07/owl#imports> <{address}> .", "text/turtle"),
    ]
    for body, media_type in uploads:
        client.post("/graphs?graph=urn:g", content=body, headers={**WRITER, "Content-Type": media_type})
    for update in (f"LOAD <{address}>", f"LOAD <{secret.as_uri()}>", f"LOAD SILENT <{address}>"):
        client.update(update)
    for query in (
        f"SELECT * FROM <{address}> {{ ?s ?p ?o }}",
        f"SELECT * FROM NAMED <{secret.as_uri()}> {{ GRAPH ?g {{ ?s ?p ?o }} }}",
        f"SELECT * {{ SERVICE <{address}> {{ ?s ?p ?o }} }}",
        f"SELECT * {{ SERVICE SILENT <{address}> {{ ?s ?p ?o }} }}",
    ):
        assert "SECRET" not in client.get("/sparql", params={"query": query}).text
    client.get("/sparql", params={"query": "SELECT * {}", "default-graph-uri": address})
    assert met == []
    assert "SECRET" not in client.get("/sparql?query=SELECT*{?s ?p ?o}").text
