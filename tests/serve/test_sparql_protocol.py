"""Queries and updates by HTTP, their formats, and what is refused."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
import rdflib
from rdflib import Graph, Literal, URIRef
from tests.serve.client import EX, UPDATE, WRITER, Client, client_of

from corollary.serve.negotiation import ROWS, TRIPLES, chosen
from corollary.serve.problems import Problem
from corollary.store import CorollaryStore

VALUES = """SELECT * { VALUES (?a ?b) {
    (<urn:a> "a,b\\n\\"c\\"") (UNDEF "tag"@en-gb) ("<&>" 1.50) ("tab\\there" UNDEF) (UNDEF UNDEF)
} }"""


@pytest.fixture(scope="module")
def client() -> Client:
    """A client whose store no test changes."""
    return client_of()


def rows_by_rdflib(response: Any, format: str) -> set[frozenset[tuple[str, Any]]]:
    """The rows of a response, as rdflib's parser reads them."""
    result = rdflib.query.Result.parse(io.BytesIO(response.content), format=format)
    return {frozenset((str(k), v) for k, v in row.items()) for row in result.bindings}


@pytest.mark.parametrize(
    ("media_type", "format"), [(k, v) for k, v in ROWS.items() if v in ("json", "xml", "tsv")]
)
def test_rows_are_those_of_rdflib(client: Client, media_type: str, format: str) -> None:
    response = client.get("/sparql", params={"query": VALUES}, headers={"Accept": media_type})
    assert response.headers["content-type"].split(";")[0] == media_type
    expected = {frozenset((str(k), v) for k, v in row.items()) for row in Graph().query(VALUES).bindings}
    assert rows_by_rdflib(response, format) == expected


@pytest.mark.parametrize("media_type", list(ROWS))
def test_short_and_long_results_are_written_alike(
    client: Client, media_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    for most in (0, 1_000):
        monkeypatch.setattr("corollary.sparql.result_texts.MAX_TERMS_DECODED_EACH", most)
        written.append(
            client.get("/sparql", params={"query": VALUES}, headers={"Accept": media_type}).content
        )
    assert written[0] == written[1]


def test_csv_has_plain_values(client: Client) -> None:
    text = client.get("/sparql", params={"query": VALUES}, headers={"Accept": "text/csv"}).content.decode()
    assert "\r\n" in text
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[:3] == [["a", "b"], ["urn:a", 'a,b\n"c"'], ["", "tag"]]


def test_blank_nodes_and_empty_rows(client: Client) -> None:
    found = client.get("/sparql", params={"query": "SELECT (BNODE() AS ?b) {}"}).json()
    assert found["results"]["bindings"][0]["b"]["type"] == "bnode"
    assert client.get("/sparql", params={"query": "SELECT * {}"}).json() == {
        "head": {"vars": []},
        "results": {"bindings": [{}]},
    }


@pytest.mark.parametrize("media_type", list(TRIPLES))
def test_triples_are_those_of_rdflib(client: Client, media_type: str) -> None:
    query = (
        f"PREFIX ex: <{EX}> CONSTRUCT {{ ?s a ?t ; ex:says ?w }} {{ ?s a ?t OPTIONAL {{ ?s ex:says ?w }} }}"
    )
    response = client.get("/sparql", params={"query": query}, headers={"Accept": media_type})
    assert response.headers["content-type"].split(";")[0] == media_type
    format = {"ttl": "turtle", "nt": "nt", "rdf": "xml", "jsonld": "json-ld"}[TRIPLES[media_type]]
    types = {(EX + s, EX + t) for s, t in [("rex", "Dog"), ("rex", "Animal"), ("tom", "Cat")]}
    graph = Graph().parse(data=response.text, format=format)
    assert {(str(s), str(o)) for s, o in graph.subject_objects(rdflib.RDF.type)} >= types
    assert (URIRef(EX + "rex"), URIRef(EX + "says"), Literal('<b>woof</b> & "bark"')) in graph


def test_ask_and_describe(client: Client) -> None:
    assert client.ask("ex:rex a ex:Animal")
    assert (
        "<boolean>true</boolean>"
        in client.get(
            "/sparql", params={"query": "ASK {}"}, headers={"Accept": "application/sparql-results+xml"}
        ).text
    )
    described = client.get("/sparql", params={"query": f"DESCRIBE <{EX}rex>"})
    assert described.headers["content-type"] == "text/turtle; charset=utf-8"
    assert len(Graph().parse(data=described.text)) >= 2


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (None, "application/sparql-results+json"),
        ("text/html, */*;q=0.1", "application/sparql-results+json"),
        ("text/csv;q=0.5, text/tab-separated-values", "text/tab-separated-values"),
        ("text/*", "text/csv"),
        ("application/json;q=x, text/csv", "text/csv"),
        *(
            (f"application/json;q={bad}, text/csv;q=0.1", "text/csv")
            for bad in ("nan", "inf", "2", "-1", "1e0", "")
        ),
        ("application/json;q=0.2, text/csv;q=0.1", "application/json"),
    ],
)
def test_the_preferred_format_is_chosen(accept: str | None, media_type: str) -> None:
    assert chosen(accept, ROWS) == media_type


def test_no_acceptable_format_is_refused_before_the_query_runs(client: Client) -> None:
    with pytest.raises(Problem):
        chosen("image/png", ROWS)
    for query, accept in [
        ("ASK {}", "text/csv"),
        ("SELECT * {}", "text/turtle"),
        ("CONSTRUCT WHERE {}", "text/csv"),
    ]:
        response = client.get("/sparql", params={"query": query}, headers={"Accept": accept})
        assert response.status_code == 406


def test_a_query_has_three_ways(client: Client) -> None:
    query = f"ASK {{ <{EX}rex> a <{EX}Animal> }}"
    direct = {"Content-Type": "application/sparql-query; charset=UTF-8"}
    answers = [
        client.get("/sparql", params={"query": query}),
        client.post("/sparql", data={"query": query}),
        client.post("/sparql", content=query, headers=direct),
    ]
    assert [answer.json()["boolean"] for answer in answers] == [True] * 3


def test_a_request_chooses_its_graphs(client: Client) -> None:
    tom = f"ASK {{ <{EX}tom> a <{EX}Cat> }}"
    pets, rest = {"default-graph-uri": EX + "pets"}, {"default-graph-uri": "urn:x-rdflib:default"}
    assert client.get("/sparql", params={"query": tom, **pets}).json()["boolean"]
    assert not client.get("/sparql", params={"query": tom, **rest}).json()["boolean"]
    named = {"query": "ASK { GRAPH ?g { ?s ?p ?o } }", "named-graph-uri": EX + "pets"}
    assert client.get("/sparql", params=named).json()["boolean"]
    beats_from = {"query": f"ASK FROM <urn:none> {{ <{EX}tom> ?p ?o }}", **pets}
    assert client.get("/sparql", params=beats_from).json()["boolean"]
    unknown = client.get("/sparql", params={"query": tom, "default-graph-uri": "file:///etc/passwd"})
    assert unknown.status_code == 400


def test_head_and_options(client: Client) -> None:
    head = client.request("HEAD", "/sparql", params={"query": "ASK {}"})
    assert head.status_code == 200
    options = client.request("OPTIONS", "/sparql")
    assert (options.status_code, set(options.headers["allow"].split(", "))) == (
        204,
        {"GET", "POST", "OPTIONS"},
    )
    assert client.request("PUT", "/sparql").status_code == 405


@pytest.mark.parametrize(
    ("method", "arguments", "status"),
    [
        ("GET", {}, 400),
        ("GET", {"params": {"query": "ASK {"}}, 400),
        ("GET", {"params": [("query", "ASK {}"), ("query", "ASK {}")]}, 400),
        ("GET", {"params": {"query": "INSERT DATA { <urn:a> <urn:b> 1 }"}}, 400),
        ("GET", {"params": b"query=%ff%fe"}, 400),
        ("GET", {"params": {"query": "ASK {}", "default-graph-uri": "a b"}}, 400),
        ("GET", {"params": {"query": "ASK {}", "named-graph-uri": "http://x/{y}"}}, 400),
        ("GET", {"params": {"query": "ASK { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"}}, 400),
        ("GET", {"params": {"query": "ASK " + "{" * 5000 + "}" * 5000}}, 400),
        ("POST", {"content": "ASK {}", "headers": {"Content-Type": "text/plain"}}, 415),
        ("POST", {"content": "ASK {}"}, 415),
        ("POST", {"data": {"update": "CLEAR ALL"}}, 400),
        ("POST", {"content": b"\xff", "headers": {"Content-Type": "application/sparql-query"}}, 400),
    ],
)
def test_bad_requests_are_told_as_problems(
    client: Client, method: str, arguments: dict[str, Any], status: int
) -> None:
    response = client.request(method, "/sparql", **arguments)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json().keys() == {"title", "detail", "status"}
    assert "Traceback" not in response.text


def test_an_update_is_a_transaction_and_is_derived() -> None:
    client = client_of()
    assert client.update("INSERT DATA { ex:bo a ex:Dog }").status_code == 204
    assert client.ask("ex:bo a ex:Animal")
    form = client.post("/update", data={"update": f"DELETE DATA {{ <{EX}bo> a <{EX}Dog> }}"}, headers=WRITER)
    assert form.status_code == 204 and not client.ask("ex:bo a ex:Animal")
    failing = client.update("INSERT DATA { ex:half a ex:Dog } ; LOAD <http://127.0.0.1:9/x>")
    assert failing.status_code == 400 and not client.ask("ex:half ?p ?o")


def test_an_update_chooses_its_graphs() -> None:
    client = client_of()
    query = "INSERT { GRAPH ex:copy { ?s a ex:Copied } } WHERE { ?s a ?t }"
    path = f"/update?using-graph-uri={EX}pets"
    assert client.update(query, path).status_code == 204
    assert client.ask("GRAPH ex:copy { ex:tom a ex:Copied }") and not client.ask(
        "GRAPH ex:copy { ex:rex ?p ?o }"
    )
    conflict = client.update(f"WITH <{EX}pets> DELETE {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o }}", path)
    assert conflict.status_code == 400 and client.ask("ex:tom a ex:Cat")
    missing = client.update(query, "/update?using-graph-uri=urn:none")
    assert missing.status_code == 400


def test_an_update_is_never_a_query() -> None:
    client = client_of()
    insert = f"INSERT DATA {{ <{EX}x> a <{EX}Dog> }}"
    assert client.get("/update", params={"update": insert}, headers=WRITER).status_code == 405
    assert client.get("/sparql", params={"query": insert}, headers=WRITER).status_code == 400
    assert client.get("/sparql", params={"update": insert}, headers=WRITER).status_code == 400
    assert client.post("/update", data={"query": insert}, headers=WRITER).status_code == 400
    in_url = client.post("/update", params={"update": insert}, headers={**WRITER, "Content-Type": UPDATE})
    assert in_url.status_code == 400
    assert not client.ask("ex:x ?p ?o")


def test_a_large_result_is_sent_while_it_is_written() -> None:
    store = CorollaryStore(rules="none", external="none")
    graph = Graph(store)
    graph.addN((URIRef(f"urn:{i}"), URIRef("urn:p"), Literal(i), graph) for i in range(12_000))
    client = client_of(store=store)
    response = client.get("/sparql", params={"query": "SELECT * { ?s ?p ?o }"})
    assert "content-length" not in response.headers
    rows = json.loads(response.content)["results"]["bindings"]
    assert {row["o"]["value"] for row in rows} == {str(i) for i in range(12_000)}
    triples = client.get("/sparql", params={"query": "CONSTRUCT WHERE { ?s ?p ?o }"})
    assert "content-length" not in triples.headers
    assert len(Graph().parse(data=triples.text, format="turtle")) == 12_000


def test_texts_are_compressed_for_those_who_accept(client: Client) -> None:
    query = {"query": "SELECT * { ?s ?p ?o }"}
    plain = client.get("/sparql", params=query, headers={"Accept-Encoding": "identity"})
    packed = client.get("/sparql", params=query, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip" and "content-encoding" not in plain.headers
    assert packed.json() == plain.json()
    for accepted, encoding in {
        "gzip;q=0": None,
        "gzip; q=0.000, identity": None,
        "deflate, *;q=0": None,
        "br, GZIP;q=0.5": "gzip",
    }.items():
        response = client.get("/sparql", params=query, headers={"Accept-Encoding": accepted})
        assert response.headers.get("content-encoding") == encoding, accepted
        assert "accept-encoding" in response.headers["vary"].lower()
        assert response.json() == plain.json()
    small = client.get("/sparql", params={"query": "ASK {}"}, headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in small.headers
