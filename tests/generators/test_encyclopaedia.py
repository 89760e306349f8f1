"""The encyclopaedia: the same bytes for the same seed, the shape it promises, and consistent data."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pyoxigraph
import pytest
from pyoxigraph import RdfFormat

from corollary.evaluate import materialise
from corollary.generators import generate
from corollary.generators.encyclopaedia import BASE, ONTOLOGY, ontology, volume
from corollary.loaders import read_index
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return volume(2)


@pytest.fixture(scope="module")
def quads(lines: list[str]) -> list[pyoxigraph.Quad]:
    return list(pyoxigraph.parse("".join(lines).encode(), RdfFormat.N_TRIPLES))


def test_same_seed_same_volume(lines: list[str]) -> None:
    assert volume(2) == lines
    assert volume(2, seed=1) != lines
    assert volume(3) != lines
    assert ontology() == ontology()


def test_size_and_shape(lines: list[str], quads: list[pyoxigraph.Quad]) -> None:
    assert 90_000 < len(lines) < 110_000
    assert len(lines) == len(set(lines)) == len(quads)
    predicates = Counter(str(quad.predicate) for quad in quads)
    assert len(predicates) > 5000
    literals = [quad.object for quad in quads if isinstance(quad.object, pyoxigraph.Literal)]
    assert len({literal.language for literal in literals}) > 8
    assert len({literal.datatype for literal in literals}) > 5
    assert sum(not line.isascii() for line in lines) > 10_000
    assert sum("\\u" in line for line in lines) > 500


def test_popularity_falls_as_zipf_has_it(quads: list[pyoxigraph.Quad]) -> None:
    links = Counter(str(quad.object) for quad in quads if str(quad.predicate) == f"<{ONTOLOGY}links>")
    counts = sorted(links.values(), reverse=True)
    for rank in (1, 10, 100):
        share = math.log((rank + 1) / rank) / math.log(2_000_000)
        assert 0.5 < counts[rank - 1] / (share * links.total()) < 2


def test_every_name_of_the_ontology_is_declared(lines: list[str]) -> None:
    declared = {line.split()[0] for line in ontology().decode().splitlines()}
    undeclared = {"links", "address", "street"}
    used = {term for line in lines for term in line.split()[1:3] if term.startswith(f"<{ONTOLOGY}")}
    assert used <= declared | {f"<{ONTOLOGY}{name}>" for name in undeclared}


@pytest.mark.parametrize("profile", ["rdfs", "owl2rl"])
def test_it_is_consistent_and_its_categories_have_cycles(tmp_path: Path, profile: str) -> None:
    paths = generate(1, tmp_path, "encyclopaedia")
    assert [path.name for path in paths] == ["encyclopaedia.nt", "volume-1.nt"]
    dictionary = TermDictionary()
    explicit = read_index(paths, dictionary)
    result = materialise(explicit, load_profile(profile), dictionary)
    assert not result.inconsistencies
    if profile == "owl2rl":
        broader = dictionary.find("<http://www.w3.org/2004/02/skos/core#broaderTransitive>")
        category = dictionary.find(f"<{BASE}category/C50>")
        top = dictionary.find(f"<{BASE}category/C1>")
        assert broader is not None and category is not None and top is not None
        assert result.index.relation(broader).has(category, category)
        assert result.index.relation(broader).has(category, top)
