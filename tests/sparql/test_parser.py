"""The parser of SPARQL: the W3C's syntax tests, messages with places, and texts that are almost SPARQL."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from pyparsing import ParseException
from rdflib import RDF, Graph, Namespace
from rdflib.plugins.sparql import prepareQuery
from rdflib.term import BNode, Literal, URIRef, Variable
from tests.conftest import NO_CORPUS, find_corpus
from tests.sparql.test_w3c import path_of

from corollary.language import CorollaryError
from corollary.sparql.algebra import Query, Triples, rewritten, walk
from corollary.sparql.from_rdflib import query_of
from corollary.sparql.parser import SparqlSyntaxError, parse_query, parse_update
from corollary.sparql.parser.tokens import token_pattern
from corollary.store import CorollaryStore

MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
PREFIX = "PREFIX : <http://example.org/>\n"


def syntax_tests() -> list[ParameterSet]:
    """All syntax tests of the suite: the text's file, and whether it is correct."""
    corpus = find_corpus()
    if corpus is None:
        skip = [pytest.mark.corpus, pytest.mark.skip(reason=NO_CORPUS)]
        return [pytest.param(None, True, id="no corpus", marks=skip)]
    found = []
    for manifest in sorted((corpus / "w3c" / "sparql" / "sparql11").glob("*/manifest.ttl")):
        graph = Graph().parse(manifest, publicID=manifest.as_uri())
        for test, kind in sorted((test, str(kind)) for test, kind in graph.subject_objects(RDF.type)):
            if kind.startswith(MF) and "Syntax" in kind:
                path = path_of(graph.value(test, MF.action))
                name = f"{manifest.parent.name}/{path.stem}"
                found.append(pytest.param(path, "Positive" in kind, id=name, marks=pytest.mark.corpus))
    return found


def parsed(text: str, suffix: str) -> object:
    base = "http://example.org/"
    return parse_update(text, {}, base) if suffix == ".ru" else parse_query(text, {}, base)


@pytest.mark.parametrize(("path", "is_correct"), syntax_tests())
def test_w3c(path: Path, is_correct: bool) -> None:
    text = path.read_text("utf-8")
    if is_correct:
        parsed(text, path.suffix)
    else:
        with pytest.raises(SparqlSyntaxError):
            parsed(text, path.suffix)


@pytest.mark.parametrize(
    "text",
    [
        r"?x$y1 <a> a:b.c. _:b1.d :%20\~ a:1 :x-y",
        """1.5e3 .5 1. 'a' '''b'c''' "d" @en-GB ^^ && != # comment\n""",
        r'SELECT*{?s ?p "\n"}',
        "- a- a.b:c _a:b @ ~",
    ],
)
def test_the_pattern_for_ascii_finds_the_same_tokens(text: str) -> None:
    found = [
        [(match.lastgroup, match.start(), match[0]) for match in token_pattern(ascii).finditer(text)]
        for ascii in (False, True)
    ]
    assert found[0] == found[1]


@pytest.mark.corpus
def test_texts_that_are_almost_sparql() -> None:
    """Tokens left out, doubled or exchanged: the text parses, or there is one error with its place."""
    corpus = find_corpus()
    if corpus is None:
        pytest.skip(NO_CORPUS)
    drawn = random.Random(1)
    folder = corpus / "w3c" / "sparql" / "sparql11"
    texts = [(path.read_text("utf-8"), path.suffix) for path in sorted(folder.glob("*/*.r[qu]"))]
    for _ in range(600):
        text, suffix = drawn.choice(texts)
        tokens = [match[0] for match in token_pattern(False).finditer(text)]
        place, other = drawn.randrange(len(tokens)), drawn.randrange(len(tokens))
        tokens[place], tokens[other] = drawn.choice(("", tokens[other], 2 * tokens[place])), tokens[place]
        broken = "".join(tokens)
        try:
            parsed(broken, suffix)
        except SparqlSyntaxError as error:
            diagnostic: Any = error.complaint
            line = broken.splitlines()[diagnostic.span.line - 1 :][:1]
            assert 1 <= diagnostic.span.column <= len("".join(line)) + 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "SELECT ?x\n{ ?x a }",
            "<query>:2:8: expected a term, found '}'\n    { ?x a }\n           ^",
        ),
        (
            'SELECT * { ?x :p "a\n" }',
            "<query>:1:18: this string has no end on its line, or a wrong escape in it\n"
            '    SELECT * { ?x :p "a\n                     ^',
        ),
        (
            "SELECT * { ?x a ?y ?z a ?u }",
            "<query>:1:20: expected '.', or a keyword such as FILTER, or '}', found '?z'\n"
            "    SELECT * { ?x a ?y ?z a ?u }\n                       ^",
        ),
        (
            "SELECT ?x ?y { ?x a ?y } GROUP BY ?x",
            "<query>:1:11: SELECT: ?y may have many values in a group\n"
            "    SELECT ?x ?y { ?x a ?y } GROUP BY ?x\n              ^\n"
            "  help: add ?y to GROUP BY, or take SAMPLE(?y) or another aggregate",
        ),
        (
            "SELECT * { ?x a ?y BIND(1 AS ?y) }",
            "<query>:1:30: BIND: ?y has a value already\n"
            "    SELECT * { ?x a ?y BIND(1 AS ?y) }\n                                 ^\n"
            "  help: bind another variable",
        ),
        (
            "SELECT * { FILTER(STRLEN(?x, 1) > 0) }",
            "<query>:1:25: STRLEN takes 1 arguments, not 2\n"
            "    SELECT * { FILTER(STRLEN(?x, 1) > 0) }\n                            ^",
        ),
    ],
)
def test_messages(text: str, message: str) -> None:
    with pytest.raises(SparqlSyntaxError) as error:
        parse_query(text, {"": "http://example.org/"})
    assert str(error.value) == message


def test_an_undeclared_prefix_is_named_with_the_declared_ones() -> None:
    with pytest.raises(SparqlSyntaxError, match=r"the prefix foo: is not declared(.|\n)*known are :"):
        parse_query(PREFIX + "ASK { ?x foo:bar ?y }", {})
    assert parse_query("ASK { ?x foo:bar ?y }", None).form == "ASK"


def test_callers_catch_a_syntax_error_as_rdflibs_or_as_ours() -> None:
    graph = Graph("Corollary")
    for kind in (ParseException, CorollaryError):
        with pytest.raises(kind):
            graph.query("SELECT ?x WHERE")
        with pytest.raises(kind):
            graph.update("INSERT DATA { ?x ?y ?z }")


def test_a_text_for_another_processor_goes_to_it() -> None:
    with pytest.raises(Exception, match="another"):  # rdflib looks for a plugin of this name
        Graph("Corollary").query("find all x", processor="another")


SHAPES = [
    "SELECT * { ?x :p ?y ; :q ?z , 1 . ?z :r [ :s ( 1 ?x ) ] FILTER(?y > 1 + 2 * 3) }",
    "SELECT DISTINCT ?x { ?x :p|^:q/:r* ?y OPTIONAL { ?y :s ?z FILTER(?z != ?x) } MINUS { ?x :t ?x } }",
    "SELECT ?x { { ?x :p 1 } UNION { ?x :q -1 } GRAPH ?g { ?x !(:p|:q) ?y } }",
    "ASK FROM :g FROM NAMED :h { ?x :p 'a'@en, \"b\"^^:t, true }",
    "CONSTRUCT { ?x :p _:b } WHERE { ?x :q ?y BIND(IF(?y IN (1, 2), 'a', \"b\") AS ?z) } LIMIT 3",
    "SELECT ?x { ?x :p ?y FILTER NOT EXISTS { ?y :q ?x } } ORDER BY DESC(?y) ?x OFFSET 2",
    "SELECT ?x { { SELECT ?x { ?x :p ?y } LIMIT 2 } VALUES (?x ?y) { (:a UNDEF) } }",
    "SELECT ?x { ?x :p ?y FILTER(REGEX(STR(?y), 'a', 'i') && !BOUND(?z) || COALESCE(?x, 1) NOT IN (1)) }",
]

TOUCHING = [
    "?x<1&&?y>2",
    "?x<=1&&?y>2||?x<?y&&?y>?x",
    "?x<if(?y>1,2,3)",
    "1<:f(?x)||?y>0",
    "?x<1&&'>'='>'",
    "?x<1#>\n",
]


@pytest.mark.parametrize("condition", TOUCHING)
def test_what_looks_like_an_iri_after_an_operand_is_none(condition: str) -> None:
    text = f"{PREFIX} SELECT ?x {{ ?x :p ?y FILTER({condition}) }}"
    assert shape(parse_query(text, {})) == shape(query_of(prepareQuery(text)))


@pytest.mark.parametrize("text", SHAPES)
def test_the_algebra_is_that_of_rdflib(text: str) -> None:
    assert shape(parse_query(PREFIX + text, {})) == shape(query_of(prepareQuery(PREFIX + text)))


def shape(query: Query) -> object:
    """The algebra without names of blank nodes, and without the order of triples and of variables."""

    def without_order(part: Any) -> Any:
        if isinstance(part, BNode):
            return BNode("b")
        if isinstance(part, Triples):
            return Triples(tuple(sorted(part.triples, key=str)))
        is_of_variables = isinstance(part, tuple) and all(isinstance(each, Variable) for each in part)
        return tuple(sorted(part)) if is_of_variables else part

    kept = query if query.form == "SELECT" else replace(query, terms=())
    return rewritten(kept, without_order)


def test_groups_may_be_ordered_by_their_keys() -> None:
    graph = Graph("Corollary")
    graph.update(PREFIX + "INSERT DATA { :a :p 1, 2 . :b :p 3 }")
    text = PREFIX + "SELECT (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x ORDER BY DESC(?x)"
    assert [int(n) for (n,) in graph.query(text)] == [1, 2]  # type: ignore[misc]


def test_variables_of_select_star_are_those_in_scope_in_order() -> None:
    graph = Graph(CorollaryStore(rules="none"))
    text = "SELECT * { ?z ?b ?a FILTER(?u > 1) MINUS { ?m ?b ?a } BIND(1 AS ?c) }"
    assert list(map(str, graph.query(text).vars or ())) == ["z", "b", "a", "c"]


def test_escapes() -> None:
    (number,) = literals(parse_query("ASK { ?x ?y -1.50 }", {}))
    assert number.toPython() == Decimal("-1.5")
    query = parse_query(PREFIX + r"""SELECT * { ?x :a\-b "\u0041\n\"'" , '''it's''' , "" }""", {})
    assert {str(part) for part in walk(query) if isinstance(part, URIRef)} == {"http://example.org/a-b"}
    assert set(map(str, literals(query))) == {"A\n\"'", "it's", ""}


def literals(query: Query) -> list[Literal]:
    return [part for part in walk(query) if isinstance(part, Literal)]


def test_limit_and_offset_stand_once_each() -> None:
    for text in ("LIMIT 1 OFFSET 2", "OFFSET 2 LIMIT 1"):
        parse_query(f"SELECT * {{ ?s ?p ?o }} {text}", {})
    for text in ("LIMIT 1 LIMIT 2", "OFFSET 1 LIMIT 2 OFFSET 3", "LIMIT 1 OFFSET 2 LIMIT 3"):
        with pytest.raises(SparqlSyntaxError, match="expected the end of the query"):
            parse_query(f"SELECT * {{ ?s ?p ?o }} {text}", {})


def test_a_limit_may_have_any_number_of_digits() -> None:
    graph = Graph(CorollaryStore(rules="none"))
    graph.update("INSERT DATA { <urn:a> <urn:b> 1 , 2 }")
    for number, rows in (("9" * 5000, 2), ("0" * 5000 + "1", 1)):
        assert len(graph.query(f"SELECT * {{ ?s ?p ?o }} LIMIT {number}")) == rows
