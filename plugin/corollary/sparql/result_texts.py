"""Results of queries as chunks of bytes in the formats of SPARQL, and triples as N-Triples.

Terms are decoded a chunk of rows at a time, each distinct term of a column once.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any

import numpy as np
from rdflib.term import BNode, Literal, Node, URIRef

from corollary.kernels.sorted import Column
from corollary.sparql.rdf_terms import text_of
from corollary.sparql.result import GraphResult, SelectResult
from corollary.sparql.tuning import MAX_TERMS_DECODED_EACH, ROWS_WRITTEN_AT_ONCE

Chunks = Iterator[bytes]

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKUP = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord('"'): "&quot;", ord("\r"): "&#13;"}


def answer_text(answer: bool, format: str) -> bytes:
    """The answer of an ASK as JSON or XML."""
    if format == "json":
        return json.dumps({"head": {}, "boolean": answer}).encode()
    text = "true" if answer else "false"
    return f"{_XML_HEAD}<head/><boolean>{text}</boolean></sparql>".encode()


def _names(result: SelectResult) -> list[str]:
    return [str(variable) for variable in result.vars or ()]


def _columns(result: SelectResult, text: Callable[[Any], str]) -> Iterator[list[tuple[str, ...]]]:
    """The rows as texts, some at a time; an unbound term is an empty text."""
    for start in range(0, len(result), ROWS_WRITTEN_AT_ONCE):
        stop = min(start + ROWS_WRITTEN_AT_ONCE, len(result))
        columns = [_texts(column[start:stop], result.terms.decode, text) for column in result.ids]
        yield list(zip(*columns, strict=True)) if columns else [()] * (stop - start)


def _texts(
    ids: Column, decode: Callable[[Column], list[Node | None]], text: Callable[[Any], str]
) -> list[str]:
    """The texts of a column. In a long one, each distinct term is decoded once."""
    if len(ids) <= MAX_TERMS_DECODED_EACH:
        return ["" if term is None else text(term) for term in decode(ids)]
    distinct, places = np.unique(ids, return_inverse=True)
    texts = ["" if term is None else text(term) for term in decode(distinct)]
    return [texts[place] for place in places.tolist()]


def _json(result: SelectResult) -> Chunks:
    names = [json.dumps(name) for name in _names(result)]
    yield f'{{"head":{{"vars":[{",".join(names)}]}},"results":{{"bindings":['.encode()
    separator = "\n"
    for rows in _columns(result, _json_term):
        lines = [
            ",".join([f"{name}:{term}" for name, term in zip(names, row, strict=True) if term])
            for row in rows
        ]
        yield (separator + ",\n".join([f"{{{line}}}" for line in lines])).encode()
        separator = ",\n"
    yield b"\n]}}\n"


def _json_term(term: Node) -> str:
    value = _quoted(str(term))
    if isinstance(term, Literal):
        if term.language:
            return f'{{"type":"literal","value":{value},"xml:lang":{_quoted(term.language)}}}'
        if term.datatype is not None:
            return f'{{"type":"literal","value":{value},"datatype":{_quoted(term.datatype)}}}'
        return f'{{"type":"literal","value":{value}}}'
    return f'{{"type":"{"bnode" if isinstance(term, BNode) else "uri"}","value":{value}}}'


_XML_HEAD = '<?xml version="1.0"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">'


def _xml(result: SelectResult) -> Chunks:
    names = [_in_xml(name) for name in _names(result)]
    head = "".join([f'<variable name="{name}"/>' for name in names])
    yield f"{_XML_HEAD}<head>{head}</head><results>\n".encode()
    for rows in _columns(result, _xml_term):
        lines = [
            "".join(
                [f'<binding name="{n}">{term}</binding>' for n, term in zip(names, row, strict=True) if term]
            )
            for row in rows
        ]
        yield "".join([f"<result>{line}</result>\n" for line in lines]).encode()
    yield b"</results></sparql>\n"


def _xml_term(term: Node) -> str:
    text = _in_xml(str(term))
    if isinstance(term, Literal):
        kind = ""
        if term.language:
            kind = f' xml:lang="{_in_xml(term.language)}"'
        elif term.datatype is not None:
            kind = f' datatype="{_in_xml(str(term.datatype))}"'
        return f"<literal{kind}>{text}</literal>"
    name = "bnode" if isinstance(term, BNode) else "uri"
    return f"<{name}>{text}</{name}>"


def _in_xml(text: str) -> str:
    """A text in XML, which has no control characters: they become U+FFFD."""
    return _NO_XML.sub("\ufffd", text).translate(_MARKUP)


def _csv(result: SelectResult) -> Chunks:
    yield _csv_lines([_names(result)])
    for rows in _columns(result, lambda term: f"_:{term}" if isinstance(term, BNode) else str(term)):
        yield _csv_lines(rows)


def _csv_lines(rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def _tsv(result: SelectResult) -> Chunks:
    yield ("\t".join([f"?{name}" for name in _names(result)]) + "\n").encode()
    for rows in _columns(result, lambda term: text_of(term).replace("\t", "\\t")):
        yield "".join(["\t".join(row) + "\n" for row in rows]).encode("utf-8", "replace")


ROW_FORMATS: dict[str, Callable[[SelectResult], Chunks]] = {
    "json": _json,
    "xml": _xml,
    "csv": _csv,
    "tsv": _tsv,
}
"""The rows of a SELECT in each format."""


def triple_lines(result: GraphResult) -> Chunks:
    """N-Triples, some lines at a time. Triples that RDF forbids are left out."""
    decode = result.terms.decode
    for start in range(0, len(result), ROWS_WRITTEN_AT_ONCE):
        columns = [decode(column[start : start + ROWS_WRITTEN_AT_ONCE]) for column in result.ids]
        yield _lines_of(zip(*columns, strict=True))


def _lines_of(triples: Iterable[tuple[Any, ...]]) -> bytes:
    """Triples as N-Triples. Triples that RDF forbids are left out."""
    return "".join(
        [
            f"{text_of(s)} {text_of(p)} {text_of(o)} .\n"
            for s, p, o in triples
            if isinstance(p, URIRef) and not isinstance(s, Literal)
        ]
    ).encode("utf-8", "replace")
