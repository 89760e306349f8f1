"""Chunks of N-Triples and N-Quads: pyoxigraph's verdict and terms, on conformance files and on nonsense."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyoxigraph
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyoxigraph import RdfFormat
from tests.strategies import examples

from corollary.kernels.limits import Cancellation, LimitExceeded, Limits, limited
from corollary.loaders import files, ntriples
from corollary.loaders.documents import counted
from corollary.loaders.files import chunks_of_lines, parsed_ahead
from corollary.loaders.line_kernel import find_terms
from corollary.loaders.ntriples import Statements, parse_chunk, unsupported

Terms = list[tuple[str, ...]]

FORMATS = {"nt": RdfFormat.N_TRIPLES, "nq": RdfFormat.N_QUADS}


def expected(content: bytes, format: RdfFormat) -> Terms | None:
    """What pyoxigraph reads; None if it refuses, or we have no place for it."""
    try:
        quads = list(pyoxigraph.parse(content, format))
    except SyntaxError:
        return None
    if any(unsupported(term) for quad in quads for term in quad):
        return None
    return [
        tuple("" if isinstance(term, pyoxigraph.DefaultGraph) else str(term) for term in quad)
        for quad in quads
    ]


def found(content: bytes, format: RdfFormat) -> Terms | None:
    """What we read; None if there is a bad line."""
    statements = parse_chunk(np.frombuffer(bytearray(content), np.uint8), format)
    if statements.bad:
        return None
    return terms_of(statements)


def terms_of(statements: Statements) -> Terms:
    """The texts of each statement."""
    texts = statements.texts
    data = texts.data.tobytes()
    places = zip(texts.starts.tolist(), texts.lengths.tolist(), strict=True)
    terms = [data[start : start + length].decode() for start, length in places]
    return [tuple(terms[number] for number in row) for row in statements.places.reshape(-1, 4).tolist()]


@pytest.mark.corpus
@pytest.mark.parametrize("suite", ["rdf-n-triples", "rdf-n-quads"])
def test_the_conformance_suites(corpus: Path, suite: str) -> None:
    paths = [
        path for path in sorted((corpus / "w3c" / "rdf11" / suite).iterdir()) if path.suffix[1:] in FORMATS
    ]
    assert len(paths) > 60
    verdicts = {}
    for path in paths:
        content, format = path.read_bytes(), FORMATS[path.suffix[1:]]
        terms = found(content, format)
        assert terms == expected(content, format), path
        verdicts[path.name] = terms is not None
    assert {name for name, is_good in verdicts.items() if not is_good} == {
        name for name in verdicts if "-bad-" in name
    }


@pytest.mark.corpus
def test_real_data_that_is_malformed(corpus: Path) -> None:
    (path,) = (corpus / "malformed").glob("*.nt")
    content = path.read_bytes()
    assert found(content, RdfFormat.N_TRIPLES) == expected(content, RdfFormat.N_TRIPLES)


IRIS = [
    b"<http://a.b/c#d>",
    b"<http://a.b:80/c?d=%20&x>",
    b"<urn:x-y:z>",
    b"<s:!$&'()*+,;=:@/?-._~>",
    b"<http://a/\\u00e9>",
    b"<http://a/\xc3\xa9>",
    *(f"<x:{character}>".encode() for character in "\u0080\u00a0\u07ff\u0800\ud7ff\ue000\uf900\U00010000"),
    b"<http:/x//y>",
    b"<http://?q>",
    b"<a:>",
    b"<http://u@h/>",
    b"<http://[::1]/>",
    b"<x:%4>",
    b"<s:a#b#c>",
    b"<http://a:b/x>",
    b"<relative>",
]
LABELS = [b"_:b1", b"_:_x-y", b"_:b.1", b"_:1", b"_:\xc3\xa9"]
DATATYPES = [
    b"http://www.w3.org/2001/XMLSchema#integer",
    b"http://www.w3.org/2001/XMLSchema#string",
    b"http://www.w3.org/2001/XMLSchema#normalizedString",
    b"http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",
]
LITERALS = [
    b'"lit"',
    b'""',
    b'"li\\"t\\n\\r\\t\\\\"',
    b"\"\\b\\u00e9'\\'\"",
    b'"\xc3\xa9\t\x7f"',
    *(
        f'"{character}"'.encode()
        for character in "\u0080\u07ff\u0800\ue000\uffef\ufffd\ufffe\uffff\U0001f600"
    ),
    b'"x"@en',
    b'"x"@en-us',
    b'"x"@EN',
    b'"x"@zh-Hant',
    b'"x" @en',
    b'"x"@en--ltr',
    *(b'"1"^^<' + datatype + b">" for datatype in DATATYPES),
]
OTHERS = [b"<<( <a:b> <a:b> <a:b> )>>", b"'x'", b"a:b", b'"open', b"<open", b"_:", b"#", b"."]
SPACES = [b" ", b" ", b"\t", b"  ", b""]
ENDS = [b" .", b" .", b".", b" . # comment", b" .#", b" . # \xc3\xa9", b"", b" . .", b" <a:b> ."]
LINE_ENDS = [b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b"\n# comment\n", b"\n \t\n", b""]
BYTES = [bytes([byte]) for byte in b' \t\r\n.<>"_:@^\\#%-a0\x00\x7f\xc2\xc3\xa0\xed\xef\xbf\xff']
BYTES += [b"\xef\xbb\xbf", b"\\u0041"]


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """Lines of good and doubtful terms, with some bytes changed. Some have the subject of the line before."""
    content, subject = b"", draw(st.sampled_from(IRIS + LABELS))
    for _ in range(draw(st.integers(1, 4))):
        subject = draw(st.sampled_from([subject, subject, *IRIS, *LABELS]))
        terms = [
            subject,
            draw(st.sampled_from(IRIS)),
            draw(st.sampled_from(IRIS + LABELS + LITERALS + OTHERS)),
        ]
        if draw(st.booleans()):
            terms.append(draw(st.sampled_from(IRIS + LABELS)))
        content += b"".join(term + draw(st.sampled_from(SPACES)) for term in terms)
        content += draw(st.sampled_from(ENDS)) + draw(st.sampled_from(LINE_ENDS))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(content)))
        gone = draw(st.integers(0, 2))
        content = content[:at] + draw(st.sampled_from(BYTES)) + content[at + gone :]
    return content


@settings(max_examples=examples(1500), deadline=None)
@given(documents() | st.binary(max_size=60), st.sampled_from(list(FORMATS.values())))
@example(b"_\n<a:b> <a:b> <a:b> .", RdfFormat.N_TRIPLES)
@example(b'<a:b> <a:b> "x\\\n" .', RdfFormat.N_TRIPLES)
@example(b"<a:b> <a:b> <a:b> . #\xff", RdfFormat.N_TRIPLES)
@example(
    b"<a:b> <a:b> <a:b> .\n<a:b> <a:c> <a:d> .\n<a:b>\t<a:c> 1 .\n<a:b> <a:c> <a:e>", RdfFormat.N_TRIPLES
)
@example(b"_:a <a:b> _:a .\n_:a <a:b> <\xc3\xa9:> .\n_:a <a:b> _:b .\n_:a.b <a:b> _:a .", RdfFormat.N_QUADS)
def test_never_another_result_than_pyoxigraphs(content: bytes, format: RdfFormat) -> None:
    assert found(content, format) == expected(content, format)


def test_a_subject_that_repeats_is_one_text() -> None:
    """Also behind a line that is no plain one; another subject with the same beginning has its own text."""
    subjects = [b"<x:a>", b"<x:a>", b"<x:a>", b"<x:ab>", b"<x:a>", b"_:a", b"_:a", b"_:a1"]
    lines = [b"%s <x:p%d> <x:o> ." % (subject, number) for number, subject in enumerate(subjects)]
    lines.insert(2, b'<x:a> <x:p> "\\u0041" .')
    content = b"\n".join(lines)
    assert found(content, RdfFormat.N_TRIPLES) == expected(content, RdfFormat.N_TRIPLES)
    numbers = parse_chunk(np.frombuffer(bytearray(content), np.uint8)).places[::4].tolist()
    assert [numbers.index(number) for number in numbers] == [0, 0, 2, 0, 4, 5, 6, 6, 8]


def test_every_character() -> None:
    """In a literal, and in each part of an IRI; those that IRIs cannot have are bad lines of their own.

    Every one up to U+00FF, one in 31 up to U+D7FF, one in 431 beyond, and the two at each
    border between blocks.
    """
    points = {*range(32, 256), *range(0x100, 0xD800, 31), *range(0xE000, 0x110000, 431)} - {92}
    borders = (0x800, 0xD800, 0xE000, 0xF900, 0xFDD0, 0xFDF0, 0xFFF0, 0xFFFE, 0x10000, 0x20000)
    points |= {point for border in borders for point in (border - 1, border)} - {0xD800, 0xDFFF}
    characters = [*map(chr, sorted(points)), chr(0xFFFF), chr(0x10FFFF)]
    lines = [f'<x:a> <x:b> "{character}" .\n' for character in characters if character != '"']
    content = "".join(lines).encode()
    assert found(content, RdfFormat.N_TRIPLES) == expected(content, RdfFormat.N_TRIPLES)
    for shape in ("http://a/{}", "http://{}/", "x:a?{}", "x:{}#a", "x:#{}"):
        lines = [f"<x:a> <x:b> <{shape.format(character)}> .\n" for character in characters]
        content = "".join(lines).encode()
        bad = parse_chunk(np.frombuffer(bytearray(content), np.uint8)).bad
        for line in bad:
            assert expected(lines[line.line - 1].encode(), RdfFormat.N_TRIPLES) is None
        gone = {line.line for line in bad}
        content = "".join(line for number, line in enumerate(lines, 1) if number not in gone).encode()
        assert found(content, RdfFormat.N_TRIPLES) == expected(content, RdfFormat.N_TRIPLES)


def test_every_byte_at_every_place_of_a_word() -> None:
    """Words of eight bytes are looked at together, wherever a byte stands in them."""
    for before in range(9):
        some, more = b"a" * before, b"b" * (8 - before)
        for byte in range(256):
            character = bytes([byte])
            for term in (b"<http://a.b/%s%s%s>", b'"%s%s%s"', b"<x:%s%s%s>"):
                content = b"<x:a> <x:b> " + term % (some, character, more) + b" .\n"
                assert found(content, RdfFormat.N_TRIPLES) == expected(content, RdfFormat.N_TRIPLES), content


def test_bytes_that_are_no_utf8() -> None:
    """A sequence that is cut off, too long for its character, half of a pair, or too large."""
    seconds = (0x2E, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0)
    for first in range(0x80, 0x100):
        for second in seconds:
            for rest in (b"", b"\x80", b"\x80\x80", b"\xbf\xbf", b"\x80\x2e", b"\x2e\x80"):
                for term in (b'"x%sy"', b"<x:%sy>"):
                    content = b"<x:a> <x:b> " + term % (bytes([first, second]) + rest) + b" .\n"
                    assert found(content, RdfFormat.N_TRIPLES) == expected(content, RdfFormat.N_TRIPLES)


def test_an_iri_that_begins_as_another_one() -> None:
    """Scheme and host are not checked again if they are those of an IRI before, which may have none."""
    others = b"http://?q", b"http://", b"http://#f", b"http:///", b"http://a/", b"http:/", b"http://a:80/"
    for other in others:
        for iri in (b"http://a:x/", b"http://a@b@c/", b"http://a:80b", b"http://:/", b"http://[::1]/", other):
            content = b"<%s> <x:p> <x:o> .\n<x:s> <x:p> <%s> .\n" % (other, iri)
            for format in (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS):
                assert found(content, format) == expected(content, format), content


def test_lines_that_are_parsed_one_by_one() -> None:
    """Their statements stand where the lines do, also several of one, and texts that are longer than it."""
    lines = [
        b"<x:a> <x:p> <x:a> .",
        b'<x:a> <x:p> "\\u0041" .\r<x:b> <x:p> "\\u0042" .\r# none',
        b"<x:a> <x:p> <x:b> .",
        b'<x:a> <x:p> "' + b"\t" * 30 + b'" .',
        b"# \xc3\xa9",
        b'<x:a> <x:p> "' + b"\b" * 40 + b'" .',
        b"<x:a> <x:p> <x:c> .",
    ]
    content = b"\n".join(lines) + b"\n"
    terms = found(content, RdfFormat.N_TRIPLES)
    assert terms == expected(content, RdfFormat.N_TRIPLES)
    assert [line[2] for line in terms or ()] == [
        "<x:a>", '"A"', '"B"', "<x:b>", '"' + "\\t" * 30 + '"', '"' + "\\b" * 40 + '"', "<x:c>"
    ]  # fmt: skip


def test_quads_are_parsed_as_triples_without_graphs() -> None:
    content = b"<x:a> <x:p> <x:b> <x:g> .\n<x:g> <x:p> <x:\\u00E9> <x:h> .\n<x:g> <x:p> <x:b> .\n"
    data = np.frombuffer(bytearray(content), np.uint8)
    statements = parse_chunk(data, RdfFormat.N_QUADS, graphs=False)
    assert terms_of(statements) == [
        ("<x:a>", "<x:p>", "<x:b>", ""), ("<x:g>", "<x:p>", "<x:é>", ""), ("<x:g>", "<x:p>", "<x:b>", "")
    ]  # fmt: skip


@pytest.fixture
def as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntriples, "find_terms", find_terms.plain)


@pytest.mark.usefixtures("as_written")
def test_python_and_machine_code_read_alike() -> None:
    lines = [b" ".join([b"<a:b> <a:b>", term, b"."]) for term in IRIS + LABELS + LITERALS + OTHERS]
    for content in (*lines, b"\n".join(lines[:8])):
        assert found(content, RdfFormat.N_TRIPLES) == expected(content, RdfFormat.N_TRIPLES)


def test_plain_lines_need_no_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntriples, "parse_line", None)
    iris = [*IRIS[:4], "<http://x/ü?ä#日本>".encode()]
    literals = [*LITERALS[:3], '"日本 😀"'.encode(), b'"x"@en', b'"x"@en-us', b'"1"^^<' + DATATYPES[0] + b">"]
    objects = [*iris, *LABELS[:2], *literals]
    lines = [b"%s %s\t%s .\r\n" % (s, p, o) for s in iris for p in iris for o in objects]
    content = b"# comment\n\n" + b"".join(lines)
    read = found(content, RdfFormat.N_TRIPLES)
    assert read is not None
    assert len(read) == len(lines)


def test_bad_lines_have_a_place_and_a_reason() -> None:
    content = b"# one\n<a:b> <a:b> <a:b> .\n<a:b> <b> <a:b> .\r\n<a:b> <a:b> <a:b> .\n\n<a:b> <a:b> \xff\n"
    statements = parse_chunk(np.frombuffer(bytearray(content), np.uint8), name="x.nt")
    assert len(statements) == 2
    assert statements.lines == 6
    first, second = statements.bad
    assert (first.name, first.line, first.column, first.text) == ("x.nt", 3, 7, "<a:b> <b> <a:b> .")
    assert "No scheme" in first.reason
    assert (second.line, second.text) == (6, "<a:b> <a:b> \ufffd")


@given(
    st.lists(st.binary(max_size=9)).map(b"\n".join), st.integers(0, 20), st.integers(1, 9), st.integers(1, 9)
)
def test_chunks_are_whole_lines(content: bytes, head: int, size: int, looked_through: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BYTES_LOOKED_THROUGH", looked_through)
        chunks = list(chunks_of_lines(content[:head], io.BytesIO(content[head:]), size))
    assert b"".join(chunk.tobytes() for chunk in chunks) == content
    assert all(chunk.size for chunk in chunks)
    assert all(chunk[-1] == ord("\n") for chunk in chunks[:-1])
    assert all(chunk.flags.writeable for chunk in chunks)


class Slow(io.RawIOBase):
    """A stream that gives few bytes at a time."""

    def __init__(self, content: bytes, size: int) -> None:
        self._rest, self._size = content, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        given, self._rest = self._rest[: self._size], self._rest[self._size :]
        room = memoryview(buffer)[: len(given)]
        room[:] = given[: len(room)]
        return len(given)


@given(st.lists(st.binary(max_size=9)).map(b"\n".join), st.integers(1, 9))
def test_chunks_are_filled(content: bytes, size: int) -> None:
    """Else a long line is copied as often as the stream gives a part of it."""
    slow: Any = Slow(content, 1)
    expected = [chunk.tobytes() for chunk in chunks_of_lines(b"", io.BytesIO(content), size)]
    assert [chunk.tobytes() for chunk in chunks_of_lines(b"", slow, size)] == expected


def test_what_is_parsed_ahead_stays_in_order() -> None:
    chunks = [np.full(1, number, np.uint8) for number in range(50)]
    assert list(parsed_ahead(iter(chunks), lambda chunk: int(chunk[0]))) == list(range(50))


def test_an_error_in_a_thread_comes_when_it_is_its_turn() -> None:
    chunks = [np.full(1, number, np.uint8) for number in range(50)]
    results = parsed_ahead(iter(chunks), lambda chunk: 1 // (30 - int(chunk[0])))
    with pytest.raises(ZeroDivisionError):
        list(results)
    assert next(parsed_ahead(iter(()), len), "nothing") == "nothing"


@pytest.fixture
def idle_pipe() -> Iterator[BinaryIO]:
    """A pipe that nothing is written to, and that does not end."""
    read_end, write_end = os.pipe()
    with open(read_end, "rb") as stream, open(write_end, "wb"):
        yield counted(stream)


def test_a_caller_leaves_threads_that_wait_for_input(idle_pipe: BinaryIO) -> None:
    """Found: after Ctrl-C, or a bad line, a pipe had to be closed before the command ended."""
    results = parsed_ahead(chunks_of_lines(b"1\n", idle_pipe), np.ndarray.tobytes)
    assert next(results) == b"1\n"
    results.close()


def test_a_time_limit_ends_the_wait_for_input(idle_pipe: BinaryIO) -> None:
    with pytest.raises(LimitExceeded, match=r"more than 0\.2 s"):
        limited(Limits(seconds=0.2), Cancellation(), list, parsed_ahead(chunks_of_lines(b"", idle_pipe), len))
