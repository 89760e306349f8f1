"""A synthetic encyclopaedia: data of any size in the shape of DBpedia.

The data have the properties that DBpedia is known for:

* tens of thousands of predicates, most of which are rare;
* skewed popularity: ranks are log-uniform, so that the frequency of the n-th most popular term is about
  proportional to 1/n (Zipf's law);
* categories with more than one broader category, and cycles of categories;
* texts in many languages and scripts, escapes, dates and numbers.

All names are our own. Invariants: a volume depends only on its number and the seed. No line occurs twice in a
volume. The data are consistent with the ontology.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

BASE = "https://corollary.example/encyclopaedia/"
ONTOLOGY = f"{BASE}ontology#"

ARTICLES = 8_000
"""Number of articles in each volume."""

CATEGORIES = 400
"""Number of categories described in each volume."""

ARTICLES_KNOWN = 2_000_000
CATEGORIES_KNOWN = 50_000
"""Links go to articles and categories up to these numbers, whether their volume is generated or not."""

PROPERTIES = 50_000
"""Number of infobox predicates. The ontology does not declare them."""

CLASSES = 400
RELATIONS = 300
VALUES = 300
"""Numbers of classes, object properties and datatype properties that the ontology declares."""

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_TYPE = f"<{_RDF}type>"
_LABEL = f"<{_RDFS}label>"
_SUBJECT = "<http://purl.org/dc/terms/subject>"
_BROADER = f"<{_SKOS}broader>"

# Words of titles: (text in an IRI, text in a literal)
_WORDS = (
    ("Anna", "Anna"), ("River", "River"), ("Saint-Malo", "Saint-Malo"), ("O'Hara", "O'Hara"),
    ("Rock_(music)", "Rock (music)"), ("List_of_tables", "List of tables"), ("C%2B%2B", "C++"),
    ("AC/DC", "AC/DC"), ("Washington,_D.C.", "Washington, D.C."), ("José", "José"), ("Müller", "Müller"),
    ("Łódź", "Łódź"), ("What%3F", "What?"), ("東京", "東京"), ("1984", "1984"), ("Apollo", "Apollo"),
    ("The_End", r"The \"End\""), ("Back_slash", r"Back\\slash"), ("Tab", r"Tab\tbed"), ("Café", r"Caf\u00E9"),
)  # fmt: skip

_LANGUAGES = ("de", "fr", "es", "ru", "ja", "zh", "pt-br", "en-GB", "ar", "nds-nl")
_SCRIPTS = {"ru": "Дом ", "ja": "記事 ", "zh": "条目 ", "ar": "مقالة "}

_PROSE = (
    "born", "in", "the", "north", "it", "was", "first", "described", "by", "an", "expedition", "of", "1871",
    "whose", "members", "naïvely", "took", "a", "lake", "for", "sea", "and", r"\"named\"", "it", "so",
    "its", "population", "speaks", "several", r"languages\n", "since", "then", "—", "mostly", "unknown",
)  # fmt: skip


def _integer(random: Random) -> str:
    return f'"{random.randrange(100_000)}"^^<{_XSD}integer>'


def _double(random: Random) -> str:
    return f'"{random.randrange(100_000)}.5"^^<{_XSD}double>'


def _date(random: Random) -> str:
    day = f"{random.randint(1000, 2024)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"
    return f'"{day}"^^<{_XSD}date>'


def _year(random: Random) -> str:
    return f'"{random.randint(1000, 2024)}"^^<{_XSD}gYear>'


def _string(random: Random) -> str:
    return f'"Value {random.randrange(10_000)}"'


_MAKERS: tuple[tuple[str, Callable[[Random], str]], ...] = (
    ("integer", _integer),
    ("double", _double),
    ("date", _date),
    ("gYear", _year),
    ("string", _string),
)
"""(datatype, generator of a literal). Datatype property n has the datatype at index n modulo five."""


def ontology() -> bytes:
    """The ontology as UTF-8 N-Triples. It depends on no parameter."""
    random = Random("encyclopaedia")
    lines = [
        f"{_BROADER} <{_RDFS}subPropertyOf> <{_SKOS}broaderTransitive> .\n",
        f"<{_SKOS}broaderTransitive> {_TYPE} <{_OWL}TransitiveProperty> .\n",
        f"<{_SKOS}narrower> <{_OWL}inverseOf> {_BROADER} .\n",
        f"{_own('locatedIn')} {_TYPE} <{_OWL}TransitiveProperty> .\n",
        f"{_own('related')} {_TYPE} <{_OWL}SymmetricProperty> .\n",
    ]
    for number in range(1, CLASSES + 1):
        name = _own(f"Class{number}")
        lines.append(f"{name} {_TYPE} <{_OWL}Class> .\n")
        lines.append(f'{name} {_LABEL} "class {number}"@en .\n')
        if number > 1:
            lines.append(f"{name} <{_RDFS}subClassOf> {_own(f'Class{number // 4 or 1}')} .\n")
    for kind, count, type in (("relation", RELATIONS, "Object"), ("value", VALUES, "Datatype")):
        for number in range(1, count + 1):
            name = _own(f"{kind}{number}")
            lines.append(f"{name} {_TYPE} <{_OWL}{type}Property> .\n")
            lines.append(f"{name} <{_RDFS}domain> {_own(f'Class{_rank(random, CLASSES)}')} .\n")
            if kind == "value":
                datatype = _MAKERS[number % len(_MAKERS)][0]
                lines.append(f"{name} <{_RDFS}range> <{_XSD}{datatype}> .\n")
                continue
            lines.append(f"{name} <{_RDFS}range> {_own(f'Class{_rank(random, CLASSES)}')} .\n")
            if number > 30:
                lines.append(f"{name} <{_RDFS}subPropertyOf> {_own(f'relation{number // 10}')} .\n")
            if number % 20 == 0:
                lines.append(f"{name} <{_OWL}inverseOf> {_own(f'relation{number - 1}')} .\n")
    return "".join(lines).encode()


def volume(number: int, seed: int = 0) -> list[str]:
    """One volume as N-Triples lines, each ending in a newline, without duplicates."""
    random = Random(f"volume {number}, seed {seed}")
    lines: list[str] = []
    first = (number - 1) * CATEGORIES + 1
    for category in range(first, first + CATEGORIES):
        _describe_category(category, random, lines)
    first = (number - 1) * ARTICLES + 1
    for article in range(first, first + ARTICLES):
        _describe_article(article, random, lines)
    return list(dict.fromkeys(lines))


def _describe_category(number: int, random: Random, lines: list[str]) -> None:
    """Category n has the broader category n // 4. Every fiftieth starts a cycle of three."""
    name = _category(number)
    lines.append(f"{name} {_TYPE} <{_SKOS}Concept> .\n")
    lines.append(f'{name} <{_SKOS}prefLabel> "Category {number}"@en .\n')
    if number > 1:
        lines.append(f"{name} {_BROADER} {_category(number // 4 or 1)} .\n")
    if number % 50 == 0:
        for one, other in ((0, 1), (1, 2), (2, 0)):
            lines.append(f"{_category(number + one)} {_BROADER} {_category(number + other)} .\n")
    if random.random() < 0.1:
        lines.append(f"{name} <{_SKOS}related> {_category(_rank(random, CATEGORIES_KNOWN))} .\n")


def _describe_article(number: int, random: Random, lines: list[str]) -> None:
    """About a dozen statements."""
    name = _article(number)
    chance = random.random
    title = f"{_WORDS[number % len(_WORDS)][1]} {number}"
    lines.append(f"{name} {_TYPE} {_own(f'Class{_rank(random, CLASSES)}')} .\n")
    lines.append(f'{name} {_LABEL} "{title}"@en .\n')
    if chance() < 0.4:
        language = random.choice(_LANGUAGES)
        lines.append(f'{name} {_LABEL} "{_SCRIPTS.get(language, "")}{title}"@{language} .\n')
    if chance() < 0.5:
        text = " ".join(random.choices(_PROSE, k=random.randint(10, 60)))
        lines.append(f'{name} <{_RDFS}comment> "{title} {text}."@en .\n')
    categories = [_category(_rank(random, CATEGORIES_KNOWN)) for _ in range(random.randint(1, 3))]
    lines += [f"{name} {_SUBJECT} {category} .\n" for category in categories]
    linked = [_article(_rank(random, ARTICLES_KNOWN)) for _ in range(random.randint(1, 5))]
    lines += [f"{name} {_own('links')} {article} .\n" for article in linked]
    for _ in range(random.randint(1, 5)):
        rank = _rank(random, PROPERTIES)
        value = _article(_rank(random, ARTICLES_KNOWN)) if rank % 3 == 0 else _infobox_value(rank, random)
        lines.append(f"{name} <{BASE}property/p{rank}> {value} .\n")
    if chance() < 0.5:
        rank = _rank(random, RELATIONS)
        lines.append(f"{name} {_own(f'relation{rank}')} {_article(_rank(random, ARTICLES_KNOWN))} .\n")
    if chance() < 0.7:
        rank = _rank(random, VALUES)
        value = _MAKERS[rank % len(_MAKERS)][1](random)
        lines.append(f"{name} {_own(f'value{rank}')} {value} .\n")
    if number > 8 and chance() < 0.3:
        lines.append(f"{name} {_own('locatedIn')} {_article(number // 8)} .\n")
    if chance() < 0.05:
        lines.append(f"{name} {_own('related')} {_article(_rank(random, ARTICLES_KNOWN))} .\n")
    if chance() < 0.01:
        lines.append(f"{name} <{_OWL}sameAs> <https://elsewhere.example/Q{number}> .\n")
    if chance() < 0.02:
        address = f"_:address{number}"
        lines.append(f"{name} {_own('address')} {address} .\n")
        lines.append(f'{address} {_own("street")} "{random.randint(1, 99)} High Street" .\n')


def _infobox_value(rank: int, random: Random) -> str:
    """A literal: with probability 0.9 of the datatype of the property, else of a random datatype."""
    kind = rank if random.random() < 0.9 else random.randrange(len(_MAKERS))
    return _MAKERS[kind % len(_MAKERS)][1](random)


def _rank(random: Random, known: int) -> int:
    """A random rank from 1 to ``known``. The probability of n is about 1 / (n ln known)."""
    return int(known ** random.random())


def _own(name: str) -> str:
    return f"<{ONTOLOGY}{name}>"


def _category(number: int) -> str:
    return f"<{BASE}category/C{number}>"


def _article(number: int) -> str:
    return f"<{BASE}article/{_WORDS[number % len(_WORDS)][0]}_{number}>"
