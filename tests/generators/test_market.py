"""Markets: the same bytes for the same seed, the size and shape promised, typed values, consistent data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import numpy as np
import pyoxigraph
import pytest
from benchmarks.engine import Facts
from rdflib import XSD, Literal

from corollary.generators import GENERATORS, generate, market
from corollary.profiles import load_profile

OF_VALUES = {
    market.BSBM + "price": XSD.decimal,
    market.BSBM + "deliveryDays": XSD.integer,
    market.BSBM + "rating1": XSD.integer,
    market.BSBM + "validTo": XSD.dateTime,
    market.BSBM + "reviewDate": XSD.dateTime,
    market.DATE: XSD.date,
    market.SCORE: XSD.double,
    market.WEIGHT: XSD.double,
}


def triples(number: int = 1) -> Iterator[tuple[pyoxigraph.NamedNode, str, pyoxigraph.NamedNode]]:
    for quad in pyoxigraph.parse(GENERATORS["market"].part(number, 0), pyoxigraph.RdfFormat.N_TRIPLES):
        yield quad.subject, quad.predicate.value, quad.object


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(market, "PRODUCTS", 12)


def test_same_seed_same_bytes() -> None:
    part = GENERATORS["market"].part
    one = part(3, 7)
    assert part(3, 7) == one
    assert part(3, 8) != one != part(4, 7)
    lines = one.splitlines()
    assert len(lines) == len(set(lines))
    assert 90_000 < len(lines) < 110_000


def test_a_product_has_twenty_offers_and_ten_reviews() -> None:
    counts = Counter(predicate for _, predicate, _ in triples())
    products = counts[market.WEIGHT]
    assert products == market.PRODUCTS
    assert counts[market.BSBM + "product"] / products == pytest.approx(market.OFFERS, rel=0.1)
    assert counts[market.BSBM + "reviewFor"] / products == pytest.approx(market.REVIEWS, rel=0.1)
    assert counts[market.REPLIES_TO] / counts[market.TEXT] == pytest.approx(0.25, rel=0.2)


def test_values_have_their_datatypes_and_texts_are_long() -> None:
    lengths: list[int] = []
    languages: set[str | None] = set()
    for _, predicate, value in triples():
        datatype = OF_VALUES.get(predicate)
        if isinstance(value, pyoxigraph.Literal):
            if datatype is not None:
                assert value.datatype.value == str(datatype)
                assert Literal(value.value, datatype=datatype).ill_typed is False
            if predicate == market.TEXT:
                lengths.append(len(value.value))
                languages.add(value.language)
        else:
            assert datatype is None
    assert mean(lengths) > 500
    assert {"en", "en-gb", "de", "ja", "zh"} <= languages


@pytest.mark.usefixtures("small")
def test_every_reply_is_to_an_earlier_review_of_the_product() -> None:
    about = {s.value: o.value for s, p, o in triples() if p == market.BSBM + "reviewFor"}
    replies = [(s.value, o.value) for s, p, o in triples() if p == market.REPLIES_TO]
    assert replies
    for reply, review in replies:
        assert about[reply] == about[review]
        assert int(review.rpartition("Review")[2]) < int(reply.rpartition("Review")[2])


def test_features_are_of_the_types_above() -> None:
    named = {s.value for s in subjects_of_the_ontology()}
    for leaf in (market.FIRST_LEAF, market.TYPES):
        features = market.features_of(leaf)
        assert len(set(features)) == 5 * market.FEATURES_OF_TYPE
        assert {market.feature(number) for number in features} <= named


def subjects_of_the_ontology() -> list[pyoxigraph.NamedNode]:
    quads = pyoxigraph.parse(market.ontology(), pyoxigraph.RdfFormat.N_TRIPLES)
    return [quad.subject for quad in quads if isinstance(quad.subject, pyoxigraph.NamedNode)]


@pytest.mark.usefixtures("small")
def test_a_reasoner_finds_the_types_above(tmp_path: Path) -> None:
    paths = generate(1, tmp_path, "market")
    assert [path.name for path in paths] == ["market.nt", "market-1.nt"]
    result = Facts.of_files(paths).close(load_profile("owl2rl"))
    assert not result.inconsistencies
    dictionary = result.dictionary
    types = result.index.relation(dictionary.encode(f"<{market.TYPE}>"))
    for name in (market.product_type(1), market.BSBM + "Product"):
        (count,) = types.object_counts(np.array([dictionary.encode(f"<{name}>")], np.uint32))
        assert count == market.PRODUCTS
