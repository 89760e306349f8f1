"""A synthetic market: products, offers of vendors, and reviews, with long texts, numbers and dates.

The vocabulary and the cardinalities are those of the Berlin SPARQL Benchmark (Bizer and Schultz 2009), so
that its queries apply to the data: twenty offers and ten reviews a product. Texts and generator are our own.
In addition, reviews reply to reviews (chains for property paths), reviews have a score and products a weight
(doubles), labels have language tags, and prices are decimals.

A product has its most specific type only: the types above are left to the reasoner.

Invariants: a part depends only on its number and the seed. No line occurs twice. No fact relates things of
different parts. The data are consistent with the ontology. A part has about 100,000 triples (18 MB).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

DATA = "https://corollary.example/market/"
OWN = f"{DATA}vocabulary#"
BSBM = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/"
COUNTRIES = "http://downlode.org/rdf/iso-3166/countries#"

PRODUCTS, VENDORS, REVIEWERS, PRODUCERS = 300, 8, 150, 6
"""Numbers of things in a part."""

OFFERS, REVIEWS = 20, 10
"""Mean numbers of offers and reviews of a product."""

TYPES, BRANCHES, FIRST_LEAF = 121, 3, 41
"""Product types form a tree. Type n is below type (n + 1) // BRANCHES. Products are of the lowest types."""

FEATURES_OF_TYPE = 5
"""Features that each type adds. A product has some of those of its type and of the types above."""

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_DC = "http://purl.org/dc/elements/1.1/"
_FOAF = "http://xmlns.com/foaf/0.1/"
_REV = "http://purl.org/stuff/rev#"

TYPE, LABEL, COMMENT = f"{_RDF}type", f"{_RDFS}label", f"{_RDFS}comment"
TEXT, TITLE, REVIEWER, NAME = f"{_REV}text", f"{_DC}title", f"{_REV}reviewer", f"{_FOAF}name"
PUBLISHER, DATE, HOMEPAGE, MAILBOX = (
    *(f"{_DC}publisher", f"{_DC}date"),
    *(f"{_FOAF}homepage", f"{_FOAF}mbox_sha1sum"),
)
WEIGHT, SCORE, REPLIES_TO = f"{OWN}weight", f"{OWN}score", f"{OWN}repliesTo"

_PLACES = ("US", "GB", "JP", "CN", "DE", "FR", "ES", "RU", "KR", "AT")
_SHARES = (40, 10, 10, 10, 10, 5, 5, 4, 3, 3)
"""Countries of vendors, producers and reviewers, and their shares in per cent."""

_LANGUAGES = {
    "US": "en", "GB": "en-GB", "JP": "ja", "CN": "zh", "DE": "de", "FR": "fr", "ES": "es", "RU": "ru",
    "KR": "ko", "AT": "de-AT",
}  # fmt: skip

_FIRST = (
    "Compact", "Comfortable", "Complete", "Blue", "Robust", "Café", "Little", "Grand", "Vintage", "Silent",
    "Alpine", "Northern", "Combined", "Quick", "Solar", "Élite",
)  # fmt: skip
_SECOND = (
    "lamp", "kettle", "bicycle", "camera", "radio", "compass", "jacket", "tent", "piano", "clock", "saw",
    "notebook", "telescope", "computer", "mirror", "stove",
)  # fmt: skip

_WORDS = (
    "the", "and", "of", "it", "a", "to", "was", "in", "with", "my", "is", "that", "for", "very", "not", "but",
    "after", "one", "had", "when", "so", "all", "works", "came", "we", "box", "week", "quality", "price",
    "than", "again", "colour", "small", "would", "arrived", "still", "good", "because", "weather", "comes",
    "handle", "two", "morning", "broken", "friend", "used", "kitchen", "heavy", "easily", "wrong", "without",
    "manual", "comfortable", "recommend", "delivery", "however", "batteries", "smaller", "neighbour",
    "garden", "scratched", "complaint", "wonderful", "instructions", "naïve", "façade", "Zürich", "10%",
    "well-made", "AC/DC", "don't", "refund", "aluminium", "surprisingly", "commonly", "welcome", "income",
    "yesterday", r"\"perfect\"", "mañana", "spectacular", "unfortunately", "straightforward", "—",
    "electromagnetic", "incomprehensible", "e-mail:shop@market.example", "http://market.example/help",
    r"back\\slash", r"end.\n",
)  # fmt: skip

_SCRIPTS = {
    "ja": "とても良い商品です", "zh": "质量很好", "ru": "очень хороший товар", "ko": "아주 좋은 제품",
    "de": "für größere Räume", "fr": "très bien reçu", "es": "señal rápida",
}  # fmt: skip
"""What texts in a language begin with, by the first two letters of the language."""

_FREQUENCIES = list(accumulate(1 / rank for rank in range(1, len(_WORDS) + 1)))
"""Word n is about 1/n times as frequent as the first word (Zipf's law)."""


def ontology() -> bytes:
    """The ontology as UTF-8 N-Triples: the types with their features, domains and ranges."""
    lines = [
        _line(BSBM + name, TYPE, f"<{_OWL}Class>")
        for name in ("Product", "ProductType", "ProductFeature", "Producer", "Vendor", "Offer", "Review")
    ]
    for end, kinds in (("domain", _DOMAINS), ("range", _RANGES)):
        for kind, predicates in kinds.items():
            lines += [_line(predicate, _RDFS + end, f"<{BSBM}{kind}>") for predicate in predicates]
    for number in range(1, TYPES + 1):
        name = product_type(number)
        above = product_type((number + 1) // BRANCHES) if number > 1 else f"{BSBM}Product"
        lines.append(_line(name, TYPE, f"<{BSBM}ProductType>"))
        lines.append(_line(name, f"{_RDFS}subClassOf", f"<{above}>"))
        lines.append(_line(name, LABEL, f'"{_SECOND[number % len(_SECOND)]} of kind {number}"@en'))
    for number in range(1, TYPES * FEATURES_OF_TYPE + 1):
        lines.append(_line(feature(number), TYPE, f"<{BSBM}ProductFeature>"))
        lines.append(_line(feature(number), LABEL, f'"{_FIRST[number % len(_FIRST)]} {number}"@en'))
    return "".join(lines).encode()


_DOMAINS = {
    "Product": (*(BSBM + name for name in ("producer", "productFeature")), WEIGHT),
    "Offer": tuple(BSBM + name for name in ("product", "vendor", "price", "validTo", "deliveryDays")),
    "Review": (BSBM + "reviewFor", BSBM + "reviewDate", TEXT, SCORE, REPLIES_TO),
}
_RANGES = {
    "Product": (BSBM + "product", BSBM + "reviewFor"),
    "Producer": (BSBM + "producer",),
    "ProductFeature": (BSBM + "productFeature",),
    "Vendor": (BSBM + "vendor",),
    "Review": (REPLIES_TO,),
}


def product_type(number: int) -> str:
    """The IRI of a product type."""
    return f"{DATA}ProductType{number}"


def feature(number: int) -> str:
    """The IRI of a product feature."""
    return f"{DATA}ProductFeature{number}"


def part(number: int, seed: int = 0) -> list[str]:
    """One market as N-Triples lines, each ending in a newline, without duplicates."""
    return _Market(number, Random(f"market {number}, seed {seed}")).lines


@dataclass
class _Business:
    """A vendor, a producer or a reviewer: the IRI and the country."""

    iri: str
    country: str


class _Market:
    """Generates ``lines``, the statements of one part. IRIs are hierarchical: ``<.../m3/Offer17>``."""

    def __init__(self, number: int, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.base = f"{DATA}m{number}/"
        self.offers = self.reviews = 0
        producers = [self._business("Producer", n) for n in range(1, PRODUCERS + 1)]
        self.vendors = [self._business("Vendor", n) for n in range(1, VENDORS + 1)]
        self.reviewers = [self._reviewer(n) for n in range(1, REVIEWERS + 1)]
        for n in range(1, PRODUCTS + 1):
            product = self._product(n, random.choice(producers))
            for _ in range(random.randint(OFFERS // 2, 3 * OFFERS // 2)):
                self._offer(product)
            earlier: list[str] = []
            for _ in range(random.randint(REVIEWS // 2, 3 * REVIEWS // 2)):
                self._review(product, earlier)

    def _business(self, kind: str, number: int) -> _Business:
        business = _Business(f"{self.base}{kind}{number}", self._country())
        self._say(business.iri, TYPE, f"<{BSBM}{kind}>")
        self._say(business.iri, LABEL, f'"{self.random.choice(_FIRST)} {kind} {number}"')
        self._say(business.iri, COMMENT, self._text(20, 50, "en"))
        self._say(business.iri, HOMEPAGE, f"<https://{kind.lower()}{number}.example/>")
        self._say(business.iri, f"{BSBM}country", f"<{COUNTRIES}{business.country}>")
        self._say(business.iri, DATE, self._date())
        return business

    def _reviewer(self, number: int) -> _Business:
        reviewer = _Business(f"{self.base}Reviewer{number}", self._country())
        self._say(reviewer.iri, TYPE, f"<{_FOAF}Person>")
        self._say(reviewer.iri, NAME, f'"{self.random.choice(_FIRST)} Reader {number}"')
        self._say(reviewer.iri, MAILBOX, f'"{self.random.getrandbits(160):040x}"')
        self._say(reviewer.iri, f"{BSBM}country", f"<{COUNTRIES}{reviewer.country}>")
        return reviewer

    def _product(self, number: int, producer: _Business) -> str:
        random, iri = self.random, f"{self.base}Product{number}"
        leaf = random.randint(FIRST_LEAF, TYPES)
        label = f"{random.choice(_FIRST)} {random.choice(_SECOND)} {number}"
        self._say(iri, TYPE, f"<{product_type(leaf)}>")
        self._say(iri, LABEL, f'"{label}"@en')
        if random.random() < 0.4:
            language = _LANGUAGES[producer.country]
            self._say(iri, LABEL, f'"{_SCRIPTS.get(language[:2], "the")} {label}"@{language}')
        self._say(iri, COMMENT, self._text(50, 150, "en"))
        for predicate in (f"{BSBM}producer", PUBLISHER):
            self._say(iri, predicate, f"<{producer.iri}>")
        self._say(iri, DATE, self._date())
        self._say(iri, WEIGHT, _double(random.lognormvariate(1, 1)))
        for chosen in random.sample(features_of(leaf), random.randint(9, 18)):
            self._say(iri, f"{BSBM}productFeature", f"<{feature(chosen)}>")
        for n in range(1, 6):
            if n < 4 or random.random() < 0.5:
                self._say(iri, f"{BSBM}productPropertyTextual{n}", self._text(3, 15, ""))
            if n < 4 or random.random() < 0.5:
                self._say(iri, f"{BSBM}productPropertyNumeric{n}", _integer(random.randint(1, 2000)))
        return iri

    def _offer(self, product: str) -> None:
        random = self.random
        self.offers += 1
        iri, vendor = f"{self.base}Offer{self.offers}", random.choice(self.vendors)
        year, month = random.randint(2019, 2024), random.randint(1, 12)
        self._say(iri, TYPE, f"<{BSBM}Offer>")
        self._say(iri, f"{BSBM}product", f"<{product}>")
        for predicate in (f"{BSBM}vendor", PUBLISHER):
            self._say(iri, predicate, f"<{vendor.iri}>")
        cents = int(random.lognormvariate(8, 1.2))
        self._say(iri, f"{BSBM}price", f'"{cents // 100}.{cents % 100:02}"^^<{_XSD}decimal>')
        self._say(iri, f"{BSBM}validFrom", self._time(year, month))
        self._say(iri, f"{BSBM}validTo", self._time(year + 1, month))
        self._say(iri, f"{BSBM}deliveryDays", _integer(random.randint(1, 14)))
        self._say(iri, f"{BSBM}offerWebpage", f"<https://shop.example/{iri.removeprefix(DATA)}>")
        self._say(iri, DATE, self._date())

    def _review(self, product: str, earlier: list[str]) -> None:
        """A review of a product. One in four replies to one of the last three ``earlier`` reviews of it."""
        random = self.random
        self.reviews += 1
        iri, reviewer = f"{self.base}Review{self.reviews}", random.choice(self.reviewers)
        language = _LANGUAGES[reviewer.country]
        self._say(iri, TYPE, f"<{BSBM}Review>")
        self._say(iri, f"{BSBM}reviewFor", f"<{product}>")
        self._say(iri, REVIEWER, f"<{reviewer.iri}>")
        self._say(iri, TITLE, self._text(3, 10, language))
        self._say(iri, TEXT, self._text(40, 200, language))
        self._say(
            iri, f"{BSBM}reviewDate", self._time(random.randint(2019, 2025), random.randint(1, 12), "Z")
        )
        ratings = [random.randint(1, 10) for _ in range(4)]
        self._say(iri, SCORE, _double(sum(ratings) / 4))
        for n, rating in enumerate(ratings, 1):
            if random.random() < 0.7:
                self._say(iri, f"{BSBM}rating{n}", _integer(rating))
        if earlier and random.random() < 0.25:
            self._say(iri, REPLIES_TO, f"<{random.choice(earlier[-3:])}>")
        earlier.append(iri)

    def _country(self) -> str:
        return self.random.choices(_PLACES, _SHARES)[0]

    def _text(self, least: int, most: int, language: str) -> str:
        """A literal of some words; without a language tag if ``language`` is empty."""
        count = self.random.randint(least, most)
        words = " ".join(self.random.choices(_WORDS, cum_weights=_FREQUENCIES, k=count))
        start = _SCRIPTS.get(language[:2])
        text = words if start is None else f"{start} {words}"
        return f'"{text}"@{language}' if language else f'"{text}"'

    def _date(self) -> str:
        day = f"{self.random.randint(2015, 2024)}-{self.random.randint(1, 12):02}-{self._day()}"
        return f'"{day}"^^<{_XSD}date>'

    def _time(self, year: int, month: int, zone: str = "") -> str:
        hour, minute, second = self.random.randrange(24), self.random.randrange(60), self.random.randrange(60)
        time = f"{year}-{month:02}-{self._day()}T{hour:02}:{minute:02}:{second:02}{zone}"
        return f'"{time}"^^<{_XSD}dateTime>'

    def _day(self) -> str:
        return f"{self.random.randint(1, 28):02}"

    def _say(self, subject: str, predicate: str, value: str) -> None:
        self.lines.append(_line(subject, predicate, value))


def features_of(number: int) -> Sequence[int]:
    """The numbers of the features of a product type and of the types above."""
    found: list[int] = []
    while number:
        found += range((number - 1) * FEATURES_OF_TYPE + 1, number * FEATURES_OF_TYPE + 1)
        number = (number + 1) // BRANCHES if number > 1 else 0
    return found


def _integer(number: int) -> str:
    return f'"{number}"^^<{_XSD}integer>'


def _double(number: float) -> str:
    return f'"{number:.2f}"^^<{_XSD}double>'


def _line(subject: str, predicate: str, value: str) -> str:
    return f"<{subject}> <{predicate}> {value} .\n"
