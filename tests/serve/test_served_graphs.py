"""The Graph Store Protocol: graphs read, replaced, extended and removed, in all formats."""

from __future__ import annotations

import pytest
from rdflib import Graph, Literal, URIRef
from rdflib.compare import isomorphic
from tests.serve.client import EX, WRITER, Client, client_of

from corollary.serve.negotiation import UPLOADS

TURTLE = {**WRITER, "Content-Type": "text/turtle"}
PETS = f"/graphs?graph={EX}pets"


def graph_of(client: Client, path: str) -> Graph:
    """A graph that the server has."""
    response = client.get(path, headers={"Accept": "application/n-triples"})
    assert response.status_code == 200, response.text
    return Graph().parse(data=response.text, format="nt")


def test_a_graph_is_its_explicit_triples() -> None:
    client = client_of()
    default = graph_of(client, "/graphs?default")
    assert (URIRef(EX + "rex"), None, URIRef(EX + "Dog")) in default
    assert (URIRef(EX + "rex"), None, URIRef(EX + "Animal")) not in default
    inferred = graph_of(client, "/graphs?graph=urn:x-corollary:inferred")
    assert (URIRef(EX + "rex"), None, URIRef(EX + "Animal")) in inferred
    before = client.get("/statistics").json()["explicit"]
    body = client.get("/graphs?default").content
    assert client.request("PUT", "/graphs?default", content=body, headers=TURTLE).status_code == 204
    assert isomorphic(graph_of(client, "/graphs?default"), default)
    assert client.get("/statistics").json()["explicit"] == before


@pytest.mark.parametrize(("media_type", "format"), list(UPLOADS.items()))
def test_each_format_is_read(media_type: str, format: str) -> None:
    client = client_of("none")
    names = {"ttl": "turtle", "nt": "nt", "rdf": "xml", "jsonld": "json-ld"}
    graph = Graph().add((URIRef("urn:a"), URIRef(EX + "p"), Literal("ü", lang="de")))
    body = graph.serialize(format=names[format], encoding="utf-8")
    headers = {**WRITER, "Content-Type": media_type}
    assert client.request("PUT", PETS, content=body, headers=headers).status_code == 204
    assert isomorphic(graph_of(client, PETS), graph)
    again = client.get(PETS, headers={"Accept": media_type})
    assert isomorphic(Graph().parse(data=again.text, format=names[format]), graph)


def test_put_replaces_and_post_adds() -> None:
    client = client_of()
    assert (
        client.request(
            "PUT", "/graphs?graph=urn:g", content="<urn:a> a <urn:B> .", headers=TURTLE
        ).status_code
        == 201
    )
    assert (
        client.request(
            "PUT", "/graphs?graph=urn:g", content="<urn:c> a <urn:B> .", headers=TURTLE
        ).status_code
        == 204
    )
    assert client.post("/graphs?graph=urn:g", content="<> a <urn:B> .", headers=TURTLE).status_code == 204
    assert {str(s) for s in graph_of(client, "/graphs?graph=urn:g").subjects()} == {"urn:c", "urn:g"}
    assert client.request("DELETE", "/graphs?graph=urn:g", headers=WRITER).status_code == 204
    assert client.get("/graphs?graph=urn:g").status_code == 404
    assert client.request("HEAD", "/graphs?graph=urn:g").status_code == 404
    assert client.request("DELETE", "/graphs?graph=urn:g", headers=WRITER).status_code == 404


def test_an_empty_graph_exists() -> None:
    client = client_of()
    assert client.request("PUT", "/graphs?graph=urn:g", content="", headers=TURTLE).status_code == 201
    assert len(graph_of(client, "/graphs?graph=urn:g")) == 0


def test_graphs_by_path_and_new_graphs() -> None:
    client = client_of()
    assert client.post("/graphs/people/1", content="<> a <#P> .", headers=TURTLE).status_code == 201
    name = "http://server.test/graphs/people/1"
    assert (URIRef(name), None, URIRef(name + "#P")) in graph_of(client, f"/graphs?graph={name}")
    new = client.post("/graphs", content="<> a <#P> .", headers=TURTLE)
    assert new.status_code == 201
    assert len(graph_of(client, new.headers["location"])) == 1


def test_a_form_has_several_documents() -> None:
    client = client_of()
    files = {
        "a": ("a.ttl", "<urn:a> a <urn:B> .", "text/turtle"),
        "b": ("b.nt", "<urn:c> <urn:p> <urn:B> .", "application/n-triples"),
    }
    assert client.post("/graphs?graph=urn:g", files=files, headers=WRITER).status_code == 201
    assert len(graph_of(client, "/graphs?graph=urn:g")) == 2
    bad = {**files, "c": ("c.exe", "", "application/octet-stream")}
    assert client.post("/graphs?graph=urn:h", files=bad, headers=WRITER).status_code == 415
    assert client.get("/graphs?graph=urn:h").status_code == 404


@pytest.mark.parametrize(
    ("path", "body", "media_type", "status"),
    [
        ("/graphs", "", "text/turtle", 400),
        ("/graphs?graph=relative", "", "text/turtle", 400),
        ("/graphs?graph=urn:a&graph=urn:b", "", "text/turtle", 400),
        ("/graphs?graph=urn:a&default", "", "text/turtle", 400),
        ("/graphs?graph=urn:x-corollary:inferred", "<urn:a> a 1 .", "text/turtle", 400),
        (PETS, "<urn:a> a", "text/turtle", 400),
        (PETS, "<urn:a> <urn:b> <urn:c> <urn:d> .", "application/n-quads", 415),
        (PETS, '[{"@id": "urn:x", "@graph": [{"@id": "urn:z", "urn:p": 1}]}]', "application/ld+json", 400),
    ],
)
def test_a_bad_document_changes_nothing(path: str, body: str, media_type: str, status: int) -> None:
    client = client_of()
    before = graph_of(client, PETS)
    headers = {**WRITER, "Content-Type": media_type}
    assert client.request("PUT", path, content=body, headers=headers).status_code == status
    assert isomorphic(graph_of(client, PETS), before)
    assert client.get("/graphs?graph=urn:x").status_code == 404


@pytest.mark.parametrize("name", ['a"b', "a>b", "a{b}", "a|b", "a^b", "a`b", "a%5"])
def test_a_path_that_is_no_iri_is_refused(name: str) -> None:
    client = client_of()
    document = "<urn:a> <urn:b> <urn:c> ."
    assert client.put_raw(f"/graphs/{name}".encode(), document, "text/turtle") == 400
    assert client.put_raw(b"/graphs/ab", document, "text/turtle") == 201


PART = "Content-Type: text/turtle\r\n\r\n<urn:a> <urn:b> <urn:c> ."
FORM = "multipart/form-data; boundary=B"


def form_of(*parts: str) -> str:
    return "".join(f"--B\r\n{part}\r\n" for part in parts) + "--B--\r\n"


def posted(client: Client, body: str, content_type: str = FORM) -> int:
    headers = {**WRITER, "Content-Type": content_type}
    return client.post("/graphs?graph=urn:form", content=body.encode("latin-1"), headers=headers).status_code


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (form_of(PART), 201),
        ("a preamble\r\n" + form_of(PART), 201),
        (form_of(f"content-disposition: form-data; name=f\r\n{PART}"), 201),
        (form_of("\r\n<urn:a> <urn:b> <urn:c> ."), 201),  # text/plain: N-Triples
        (form_of(PART, PART.replace("<urn:c> .", "<urn:--B> .")), 201),
        (form_of(PART).removesuffix("--B--\r\n"), 400),
        (form_of(PART)[:-4], 400),
        ("", 400),
        ("--B--\r\n", 400),
        (form_of("no head"), 400),
        (form_of(f"X: {'x' * 100_000}\r\n{PART}"), 400),
        (form_of(*[PART] * 1001), 400),
        (form_of(f"Content-Transfer-Encoding: base64\r\n{PART}"), 415),
        (form_of(PART.replace("turtle", "turtle; charset=latin-1")), 415),
        (form_of(PART.replace("turtle", "t\xfcrtle")), 415),
        (form_of("Content-Type: multipart/mixed; boundary=C\r\n\r\n--C\r\n\r\n--C--"), 415),
    ],
)
def test_a_form_is_whole_or_refused(body: str, status: int) -> None:
    client = client_of("none")
    assert posted(client, body) == status
    found = client.get("/graphs?graph=urn:form")
    assert found.status_code == (200 if status == 201 else 404)
    assert ("urn:b" in found.text) == (status == 201)


@pytest.mark.parametrize("rest", ["", "; boundary=", "; boundary=C", "; boundary*=x''%ff"])
def test_a_form_without_its_boundary_is_refused(rest: str) -> None:
    assert posted(client_of("none"), form_of(PART), f"multipart/form-data{rest}") == 400


def test_a_name_that_is_no_base_iri_is_a_mistake_of_the_client() -> None:
    headers = {**WRITER, "Content-Type": "text/turtle"}
    response = client_of("none").request(
        "PUT", "/graphs?graph=http://%5B", content="<> a <x> .", headers=headers
    )
    assert (response.status_code, "Invalid base IRI" in response.json()["detail"]) == (400, True)
