"""Sets of SPARQL queries: Sparqloscope's templates, BSBM's explore mix, LUBM's queries, and our own.

The texts of the first three are read from the corpus, our own from the folder ``queries``. Templates have
placeholders, %NAME%; a query with a placeholder that has no value is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from corollary.generators import market

OWN = Path(__file__).parent / "queries"

Values = Mapping[str, str | list[str]]


@dataclass(frozen=True, slots=True)
class Query:
    """A query to measure. ``group`` and ``name`` are for tables. ``is_open``: see ``is_determined``."""

    group: str
    name: str
    text: str
    is_open: bool = False

    @property
    def is_determined(self) -> bool:
        """Whether all engines must return the same rows: nothing is cut off, sampled, or open in SPARQL."""
        return not self.is_open and not re.search(r"\b(LIMIT|OFFSET|SAMPLE)\b", self.text)


def sparqloscope(corpus: Path, values: Values) -> list[Query]:
    """Sparqloscope's templates, filled."""
    path = corpus / "queries" / "sparqloscope" / "query-templates.yaml"
    _, _, text = path.read_text("utf-8").partition("\nqueries:\n")
    found = []
    for entry in re.split(r"^  - ", text, flags=re.MULTILINE)[1:]:
        fields = dict(re.findall(r"^(?:    )?(name|group): (.*)$", entry, re.MULTILINE))
        template = re.search(r"^    query: \|\n((?:      .*\n?|\s*\n)+)", entry, re.MULTILINE)
        filled = None if template is None else fill(template[1], values)
        if filled is not None:
            found.append(Query(fields.get("group", "str-functions"), fields["name"], filled))
    return found


def fill(template: str, values: Values) -> str | None:
    """A template with values for its placeholders; None if one has no value.

    ``%begin-foreach:NAME% ... %end-foreach:NAME%`` is repeated for each value of a list; in it %#i% is the
    number of the value, and %NAME_%#i%% the value.
    """

    def repeated(match: re.Match[str]) -> str:
        name, body = match[1], match[2]
        lines = []
        for number, value in enumerate(values.get(name, ())):
            line = body.replace(f"%{name}_%#i%%", value).replace("%#i%", str(number))
            lines.append(line.replace("%#i+1%", str(number + 1)))
        return "".join(lines)

    text = re.sub(r"%begin-foreach:(\w+)%(.*?)%end-foreach:\1%", repeated, template, flags=re.DOTALL)
    missing = [name for name in re.findall(r"%(\w+)%", text) if name not in values]
    if missing:
        return None
    return re.sub(r"%(\w+)%", lambda match: str(values[match[1]]), text)


def lubm(corpus: Path) -> list[Query]:
    """The fourteen queries of LUBM."""
    folder = corpus / "lubm"
    return [Query("lubm", f"q{n}", (folder / f"q{n}.rq").read_text("utf-8")) for n in range(1, 15)]


def bsbm(corpus: Path, parts: int) -> list[Query]:
    """The explore mix of BSBM over a market of some parts: every query with parameters of its own."""
    folder = corpus / "queries" / "bsbm" / "queries" / "explore"
    random = Random("explore")
    found = []
    for place, number in enumerate((folder / "querymix.txt").read_text("utf-8").split(), 1):
        template = (folder / f"query{number}.txt").read_text("utf-8")
        text = fill(template, _parameters(random, parts))
        assert text is not None, template
        found.append(Query("bsbm explore", f"{place}: query {number}", text))
    return found


def _parameters(random: Random, parts: int) -> dict[str, str]:
    """Random parameters: a type with three of its features, things of one part, numbers, a date, a word."""
    leaf = random.randint(market.FIRST_LEAF, market.TYPES)
    above = (leaf + 1) // market.BRANCHES
    features = random.sample(market.features_of(above), 3)
    base = f"{market.DATA}m{random.randint(1, parts)}/"
    return {
        "ProductType": f"<{market.product_type(random.choice((leaf, above)))}>",
        **{f"ProductFeature{n}": f"<{market.feature(f)}>" for n, f in enumerate(features, 1)},
        "ProductXYZ": f"<{base}Product{random.randint(1, market.PRODUCTS)}>",
        "OfferXYZ": f"<{base}Offer{random.randint(1, 1000)}>",
        "ReviewXYZ": f"<{base}Review{random.randint(1, 1000)}>",
        "x": str(random.randint(1, 500)),
        "y": str(random.randint(500, 1500)),
        "currentDate": '"2024-06-01T00:00:00"^^<http://www.w3.org/2001/XMLSchema#dateTime>',
        "word1": random.choice(("telescope", "piano", "Solar")),
    }


def own(name: str, values: Values) -> list[Query]:
    """Our queries for a kind of data. ``values`` fill their placeholders."""
    return [
        Query(query.group, query.name, text)
        for query in read_queries(OWN / f"{name}.rq")
        if (text := fill(query.text, values)) is not None
    ]


def read_queries(path: Path) -> Iterator[Query]:
    """The queries of a file: prefixes, then queries, each after a line ``# group: name``."""
    prefixes, *entries = re.split(r"^# ", path.read_text("utf-8"), flags=re.MULTILINE)
    for entry in entries:
        title, _, body = entry.partition("\n")
        group, _, name = title.partition(": ")
        yield Query(group, name, f"{prefixes.strip()}\n{body.strip()}\n")
