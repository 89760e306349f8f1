"""RDF/XML: its root tells it from OWL/XML, every error has a place, and entities do no harm."""

from __future__ import annotations

import io
import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from corollary.language.errors import InputError
from corollary.loaders import read
from corollary.loaders.tuning import BYTES_READ_AT_ONCE, MAX_CHARACTERS_OF_ENTITIES
from corollary.store import CorollaryStore
from corollary.terms.dictionary import TermDictionary

NAMES = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
OWL = "http://www.w3.org/2002/07/owl#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
ONTOLOGY = ("<http://e/o>", TYPE, f"<{OWL}Ontology>")
LONG_COMMENT = f"<!-- {'a licence ' * 1000} -->"


def triples(path: Path | str, format: str | None = None) -> list[tuple[str, ...]]:
    dictionary = TermDictionary()
    columns = read([path], dictionary, format=format)
    return list(zip(*(dictionary.decode_all(column.tolist()) for column in columns), strict=True))


def complaint(path: Path | str, format: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        triples(path, format)
    return str(caught.value)


def document(body: str, prolog: str = '<?xml version="1.0"?>\n') -> str:
    names = f'{NAMES} xmlns="http://e/" xmlns:e="http://e/" xml:base="http://e/"'
    return f"{prolog}<rdf:RDF {names}>\n{body}\n</rdf:RDF>"


# The root element decides


DEFAULT = f'<rdf:RDF {NAMES}><Ontology xmlns="{OWL}" rdf:about="http://e/o"/></rdf:RDF>'
PREFIXED = f'<rdf:RDF {NAMES} xmlns:owl="{OWL}"><owl:Ontology rdf:about="http://e/o"/></rdf:RDF>'
PROTEGE = (
    f'<?xml version="1.0"?>\n<!DOCTYPE rdf:RDF [\n    <!ENTITY owl "{OWL}" >\n'
    '    <!ENTITY e "http://e/" >\n]>\n'
    f'<rdf:RDF xmlns="&e;" xml:base="&e;" {NAMES} xmlns:owl="&owl;">\n'
    '    <owl:Ontology rdf:about="&e;o"/></rdf:RDF>'
)
ROOT = f'<owl:Ontology {NAMES} xmlns:owl="{OWL}" rdf:about="http://e/o"/>'
"""RDF/XML may be one node."""


@pytest.mark.parametrize("suffix", ["rdf", "owl", "xml"])
@pytest.mark.parametrize("content", [DEFAULT, PREFIXED, PROTEGE, ROOT])
@pytest.mark.parametrize(
    "prolog", ["", "\ufeff", '<?xml version="1.0"?>\n', "<!-- <Ontology> -->\n<?a b?>\n", LONG_COMMENT]
)
def test_ontologies_in_rdf_xml_are_read(tmp_path: Path, suffix: str, content: str, prolog: str) -> None:
    path = tmp_path / f"data.{suffix}"
    path.write_text(content if content.startswith("<?xml") else prolog + content)
    assert triples(path) == [ONTOLOGY]
    store = CorollaryStore(rules="none")
    assert store.load(path) == 1


@pytest.mark.parametrize("suffix", ["rdf", "owl", "xml"])
@pytest.mark.parametrize(
    "content",
    [
        f'<Ontology xmlns="{OWL}" ontologyIRI="http://e/o">\n<Prefix name="" IRI="http://e/"/></Ontology>',
        f'<owl:Ontology\nxmlns:owl="{OWL}"/>',
        f'<!DOCTYPE Ontology [<!ENTITY owl "{OWL}">]><Ontology xmlns="&owl;" xml:base="http://e/"/>',
        f'<Ontology xmlns="{OWL}" {NAMES}></Ontology>',
    ],
)
@pytest.mark.parametrize("prolog", ["", "\ufeff", '<?xml version="1.0"?>\n', "<!-- > -->\n", LONG_COMMENT])
def test_owl_xml_is_refused_by_name(tmp_path: Path, suffix: str, content: str, prolog: str) -> None:
    path = tmp_path / f"data.{suffix}"
    path.write_text(prolog + content)
    for format in (None, "xml"):
        message = complaint(path, format)
        assert message.startswith(
            f"{path}: this is OWL/XML, which is not RDF\n  help: convert it to RDF first"
        )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252"])
@pytest.mark.parametrize("suffix", ["owl", "rdf"])
def test_encodings(tmp_path: Path, encoding: str, suffix: str) -> None:
    path = tmp_path / f"data.{suffix}"
    declared = encoding.removesuffix("-sig")
    text = document(
        '<rdf:Description rdf:about="http://e/é" e:n="ü"/>', f'<?xml version="1.0" encoding="{declared}"?>'
    )
    path.write_bytes(text.encode(encoding))
    assert triples(path) == [("<http://e/é>", "<http://e/n>", '"ü"')]
    path.write_bytes((text[:-10] + "<bad></rdf:RDF>").encode(encoding))
    assert complaint(path).startswith(f"{path}:3:8: not RDF/XML: mismatched tag")


@pytest.mark.parametrize("encoding", ["klingon", "zlib", "rot13", "us-ascii"])
def test_bad_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "data.rdf"
    path.write_text(document("<!-- é -->", f'<?xml version="1.0" encoding="{encoding}"?>'))
    reason = "it has bytes that are no us-ascii" if encoding == "us-ascii" else f"the encoding {encoding} is"
    assert f"{path}:1:1: not RDF/XML: {reason}" in complaint(path)


# Every error has a place


NODE = "<rdf:Description>"
BAD = {
    '<rdf:Description rdf:about="http://e/ a"/>': (3, 3, "Invalid IRI code point"),
    f'{NODE}\n <p rdf:datatype="x y">1</p></rdf:Description>': (4, 2, "Invalid IRI code point"),
    f'{NODE}\n\n<p xml:lang="x y">1</p></rdf:Description>': (5, 1, "error while parsing language tag"),
    f"{NODE}<p/>\n  text</rdf:Description>": (4, 3, "Unexpected text event"),
    '<rdf:Description rdf:ID="a"/>\n<rdf:Description rdf:ID="a"/>': (4, 1, "has already been used as rdf:ID"),
    '<rdf:Description\n\n rdf:nodeID="1 2"/>': (3, 3, "is not a valid rdf:nodeID"),
    f"{NODE}<!-- > -->\n<q:p/></rdf:Description>": (4, 1, "Unknown prefix"),
    f"{NODE}&nbsp;</rdf:Description>": (3, 20, "undefined entity"),
    f"{NODE}</p>": (3, 22, "mismatched tag"),
}


def write_to_pipe(path: Path, content: bytes) -> None:
    with suppress(BrokenPipeError):
        path.write_bytes(content)


@pytest.mark.parametrize("body", BAD)
@pytest.mark.parametrize("before", [0, BYTES_READ_AT_ONCE - 150, 3 * BYTES_READ_AT_ONCE])
@pytest.mark.parametrize("way", ["file", "pipe", "standard input", "encoding"])
def test_errors_have_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, before: int, way: str
) -> None:
    line, column, reason = BAD[body]
    content = document(f"  {body}", f'<?xml version="1.0"?><!--{"é" * (before // 2)}-->\n').encode()
    path: Path | str = tmp_path / "data.rdf"
    if way == "standard input":
        path = "-"
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    elif way == "pipe":
        os.mkfifo(path)
        threading.Thread(target=write_to_pipe, args=(path, content), daemon=True).start()
    else:
        text = content.decode().replace('"1.0"', '"1.0" encoding="utf-16"')
        Path(path).write_bytes(content if way == "file" else text.encode("utf-16"))
    message = complaint(path, "xml")
    assert message.startswith(f"{path}:{line}:{column}: not RDF/XML: ")
    assert reason in message
    if way == "file":
        assert f"\n    {content.decode().splitlines()[line - 1]}\n    {' ' * (column - 1)}^\n" in message


def test_a_load_that_fails_has_a_place_too(tmp_path: Path) -> None:
    path = tmp_path / "data.rdf"
    path.write_text(document('<rdf:Description rdf:about="http://e/ a" e:p="1"/>'))
    store = CorollaryStore(rules="none")
    with pytest.raises(InputError, match=r"data.rdf:3:1: not RDF/XML: .*Invalid IRI code point"):
        store.load(path)
    assert len(store) == 0


# Entities


def entities(path: Path, declarations: str, body: str) -> None:
    path.write_text(document(body, f"<!DOCTYPE rdf:RDF [{declarations}]>\n"))


@pytest.mark.parametrize(
    ("declarations", "value"),
    [
        ('<!ENTITY a "one">', "one"),
        ("<!ENTITY a 'one'>", "one"),
        ('<!ENTITY a "one"><!ENTITY a "two">', "one"),
        ('<!ENTITY a "one"><!-- <!ENTITY a "two"> -->', "one"),
        ('<!ENTITY b "ne"><!ENTITY a "o&b;">', "one"),
        ('<!ENTITY a "o&#38;#38;&#60;&#38;#x22;">', None),
        ('<!ENTITY a "o&#38;#38;&#38;#x22;n">', 'o&\\"n'),
        ('<!ENTITY % p "ignored"><!ENTITY a "one">', "one"),
    ],
)
def test_entities_mean_what_xml_says(tmp_path: Path, declarations: str, value: str | None) -> None:
    path = tmp_path / "data.rdf"
    entities(path, declarations, '<rdf:Description rdf:about="http://e/x"><p>&a;</p></rdf:Description>')
    if value is None:
        assert f"{path}:" in complaint(path)
    else:
        assert triples(path) == [("<http://e/x>", "<http://e/p>", f'"{value}"')]


def bomb(entity: str) -> str:
    """Declarations that expand to 10 ** 12 characters."""
    return f'<!ENTITY l0 "{entity}">' + "".join(
        f'<!ENTITY l{level + 1} "{f"&l{level};" * 10}">' for level in range(12)
    )


@pytest.mark.parametrize(
    "body", ["", '<rdf:Description e:p="&l12;"/>', f"{NODE}<p>&l12;</p></rdf:Description>"]
)
@pytest.mark.parametrize("suffix", ["rdf", "owl"])
def test_entities_that_explode_are_refused(tmp_path: Path, body: str, suffix: str) -> None:
    path = tmp_path / f"data.{suffix}"
    entities(path, bomb("lol"), body)
    assert f"{path}:1:" in complaint(path)
    assert f"more than {MAX_CHARACTERS_OF_ENTITIES:,} characters" in complaint(path)


def test_one_entity_again_and_again_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.rdf"
    body = f"{NODE}<p>{'&a;' * 100_000}</p></rdf:Description>"
    entities(path, f'<!ENTITY a "{"a" * 100_000}">', body)
    assert "limit on input amplification factor" in complaint(path)


@pytest.mark.parametrize("kind", ['SYSTEM "{}"', 'PUBLIC "-//x" "{}"'])
@pytest.mark.parametrize(
    "place", ["<!DOCTYPE r [<!ENTITY a KIND>]>", "<!DOCTYPE r [<!ENTITY % b KIND> %b;]>", "<!DOCTYPE r KIND>"]
)
def test_external_entities_are_not_opened(tmp_path: Path, kind: str, place: str) -> None:
    """A pipe that nobody writes to: whatever opens it waits for ever."""
    secret = tmp_path / "secret"
    os.mkfifo(secret)
    path = tmp_path / "data.rdf"
    body = f"{NODE}<p>x&a;</p></rdf:Description>"
    path.write_text(document(body, place.replace("KIND", kind.format(secret.as_uri()))))
    assert complaint(path).startswith(f"{path}:2:")
