"""``corollary check``: one entry a mistake, in a sentence; classes that cannot have members."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rdflib import OWL, RDF, BNode, Graph, Namespace

from corollary.cli import main
from corollary.store import CorollaryStore

EX = Namespace("http://example.org/")
PREFIXES = """
@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
ZOO = """
:Cat owl:disjointWith :Dog . :Dog owl:disjointWith :Cat . :Puppy rdfs:subClassOf :Dog .
:rex a :Cat , :Puppy ; owl:sameAs :max .
:Vegetarian owl:equivalentClass [ owl:complementOf :Carnivore ] .
:tom a :Vegetarian , :Carnivore .
:a :eats :b . :b :eats :a . :eats a owl:AsymmetricProperty .
"""


def check(folder: Path, data: str, *options: str) -> Result:
    path = folder / "data.ttl"
    path.write_text(PREFIXES + data)
    return CliRunner().invoke(main, ["check", str(path), *options])


def document(folder: Path, data: str, *options: str) -> Any:
    return json.loads(check(folder, data, "--json", *options).stdout)


def test_one_entry_a_mistake_in_a_sentence(tmp_path: Path) -> None:
    result = check(tmp_path, ZOO)
    assert result.exit_code == 1
    sentences = [line.partition(" (")[0] for line in result.stdout.splitlines() if line[:1] == ":"]
    assert sorted(sentences) == [
        ":eats is asymmetric, and holds between :a and :b in both directions",
        ":rex is a :Cat and a :Dog, which are disjoint",
        ":tom is a",
    ]
    assert ":tom is a (not :Carnivore) and a :Carnivore, which are complements (cls-com)" in result.stdout
    assert "_:" not in result.stdout
    assert result.stderr.startswith("3 mistakes (")
    for rule in ("cax-dw", "cls-com", "prp-asyp"):
        assert f"\n  {rule}: 1\n" in result.stderr


def test_stated_facts_come_first(tmp_path: Path) -> None:
    found = document(tmp_path, ZOO)["inconsistencies"]
    stated = {tuple(fact) for fact in _stated(tmp_path / "data.ttl")}
    for one in found:
        flags = [tuple(fact) in stated for fact in one["facts"] if not any("_:" in term for term in fact)]
        assert flags == sorted(flags, reverse=True)
    inferred = [len(one["facts"]) - one["stated"] for one in found]
    assert inferred == sorted(inferred)


def _stated(path: Path) -> list[list[str]]:
    return [[term.n3() for term in triple] for triple in Graph().parse(path)]


def test_copies_are_those_with_equal_terms(tmp_path: Path) -> None:
    equal = " , ".join(f":x{i}" for i in range(1, 5))
    data = f":x0 owl:sameAs {equal} . :x0 a :A , :B . :A owl:disjointWith :B . :y a :A , :B ."
    found = document(tmp_path, data)
    assert (found["count"], found["mistakes"], found["by_rule"]) == (6, 2, {"cax-dw": 2})
    assert sorted(one["copies"] for one in found["inconsistencies"]) == [1, 5]
    assert all(one["stated"] == 3 for one in found["inconsistencies"])


def test_of_copies_one_about_different_terms_is_shown(tmp_path: Path) -> None:
    """3 and 4 are equal, so each differs from itself: shown is that they are different."""
    data = ":age a owl:FunctionalProperty . :rex :age 3 , 4 ."
    text = check(tmp_path, data).stdout
    assert text.startswith("3 and 4 are equal, and are said to be different (eq-diff1")
    assert "used in   :rex :age 3" in text and "used in   :rex :age 4" in text


def test_of_copies_one_about_the_stated_terms_is_shown(tmp_path: Path) -> None:
    """What is said to be different is what a stated fact says it of, not a term that is equal to it."""
    data = ":has a owl:FunctionalProperty . :b :has :x , :y . :x owl:differentFrom :y . :x owl:sameAs :x0 ."
    lines = check(tmp_path, data).stdout.splitlines()
    assert lines[0].startswith((":x and :y are equal, and are said", ":y and :x are equal, and are said"))
    assert lines[1:3] == ["  stated    :x owl:differentFrom :y", "  inferred  :x owl:sameAs :y"]


def test_other_terms_or_directions_are_other_mistakes(tmp_path: Path) -> None:
    data = ":p owl:propertyDisjointWith :q . :a :p :b ; :q :b . :b :p :a ; :q :a ."
    assert document(tmp_path, data)["mistakes"] == 2


def test_an_ill_typed_literal_is_shown_in_its_place(tmp_path: Path) -> None:
    date = '"2025-6-24T18:00:00"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    lines = check(tmp_path, f":rex :born {date} ; :name 'rex' . :name a :Label .").stdout.splitlines()
    assert lines[0].endswith("is not a value of xsd:dateTime (dt-not-type)")
    assert lines[-1] == '  used in   :rex :born "2025-6-24T18:00:00"^^xsd:dateTime'
    (entry,) = document(tmp_path, f":rex :born {date} .")["inconsistencies"]
    assert entry["used_in"] == [':rex :born "2025-6-24T18:00:00"^^xsd:dateTime']
    assert all(one["used_in"] == [] for one in document(tmp_path, ZOO)["inconsistencies"])


def test_blank_nodes_have_the_labels_of_the_files(tmp_path: Path) -> None:
    """So they are found there, and ``explain`` takes them. The same label in another file is another node."""
    schema = ":Cat owl:disjointWith :Dog . "
    paths = [tmp_path / "one.ttl", tmp_path / "two.nt"]
    paths[0].write_text(PREFIXES + schema + "_:rex a :Cat , :Dog .")
    paths[1].write_text(f"_:rex <{RDF.type}> <{EX.Dog}> .")
    done = CliRunner().invoke(main, ["check", *map(str, paths)])
    assert done.stdout.startswith("_:rex is a :Cat and a :Dog, which are disjoint")
    explained = ["explain", *map(str, paths), "_:rex", "a"]
    assert CliRunner().invoke(main, [*explained, ":Cat"]).exit_code == 0
    assert CliRunner().invoke(main, ["explain", *map(str, paths), "_:rex-2", "a", ":Cat"]).exit_code == 1


def test_the_limit(tmp_path: Path) -> None:
    result = check(tmp_path, ZOO, "--limit", "1")
    assert result.stdout.count("disjoint") + result.stdout.count("asymmetric") >= 1
    assert "3 mistakes" in result.stderr and "of which 1 are listed (--limit)" in result.stderr
    assert len(document(tmp_path, ZOO, "--limit", "2")["inconsistencies"]) == 2


def test_unsatisfiable_classes(tmp_path: Path) -> None:
    data = ZOO + ":Mule rdfs:subClassOf :Cat , :Puppy . :Foal rdfs:subClassOf :Mule ."
    result = check(tmp_path, data, "--unsatisfiable")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        ":Foal cannot have members: a member is a :Cat and a :Dog, which are disjoint (cax-dw)",
        ":Mule cannot have members: a member is a :Cat and a :Dog, which are disjoint (cax-dw)",
    ]
    assert document(tmp_path, data, "--unsatisfiable")["count"] == 2
    assert check(tmp_path, ":A rdfs:subClassOf :B .", "--unsatisfiable").exit_code == 0


def test_members_of_different_classes_do_not_meet(tmp_path: Path) -> None:
    data = """:A rdfs:subClassOf [ owl:onProperty :p ; owl:hasValue :v ] . :B rdfs:subClassOf
    [ owl:onProperty :p ; owl:hasValue :v ] . :p a owl:InverseFunctionalProperty . :A owl:disjointWith :B ."""
    assert document(tmp_path, data, "--unsatisfiable")["unsatisfiable"] == []


def test_members_have_the_values_that_their_class_asks_for(tmp_path: Path) -> None:
    """OWL 2 RL invents no values: here they are fresh individuals. Numbers are not."""
    data = """:IceCream rdfs:subClassOf [ owl:onProperty :topping ; owl:someValuesFrom :Fruit ] ;
    owl:disjointWith :Pizza . :topping rdfs:domain :Pizza .
    :Box rdfs:subClassOf [ owl:onProperty :holds ; owl:someValuesFrom :Mule ] .
    :Mule rdfs:subClassOf :Horse , :Donkey . :Horse owl:disjointWith :Donkey .
    :Crate rdfs:subClassOf [ owl:onProperty :in ; owl:someValuesFrom :Box ] .
    :Aged rdfs:subClassOf [ owl:onProperty :age ; owl:someValuesFrom
    <http://www.w3.org/2001/XMLSchema#integer> ] .
    :age a owl:DatatypeProperty , owl:FunctionalProperty ."""
    assert check(tmp_path, data, "--unsatisfiable").stdout.splitlines() == [
        f"{name} cannot have members: {who}, which are disjoint (cax-dw)"
        for name, who in (
            (":Box", "a value of :holds is a :Horse and a :Donkey"),
            (":Crate", "a value of :holds is a :Horse and a :Donkey"),
            (":IceCream", "a member is a :IceCream and a :Pizza"),
            (":Mule", "a member is a :Horse and a :Donkey"),
        )
    ]


def _alone(data: str) -> set[str]:
    """The classes of which one member, in a store of its own, makes the data inconsistent."""
    graph = Graph().parse(data=PREFIXES + data, format="turtle")
    found = set()
    for number in range(12):
        store = CorollaryStore(rules="owl2rl")
        alone = Graph(store)
        alone += graph
        waiting = [BNode()]
        alone.add((waiting[0], RDF.type, EX[f"C{number}"]))
        for _ in range(2):  # the values that members must have, and the values of these
            members, waiting = waiting, []
            for member, restriction in ((m, r) for m in members for r in set(alone.objects(m, RDF.type))):
                for kind in set(graph.objects(restriction, OWL.someValuesFrom)):
                    waiting.append(BNode())
                    alone.add((member, EX.p, waiting[-1]))
                    alone.add((waiting[-1], RDF.type, kind))
        if store.inconsistencies():
            found.add(str(EX[f"C{number}"]))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_unsatisfiable_classes_are_those_that_clash_alone(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    forms = (
        ":C{} rdfs:subClassOf :C{} .",
        ":C{} owl:disjointWith :C{} .",
        ":C{} rdfs:subClassOf [ owl:onProperty :p ; owl:hasValue :v ] , :C{} .",
        "[ owl:onProperty :p ; owl:someValuesFrom owl:Thing ] rdfs:subClassOf :C{} , :C{} .",
        ":C{} rdfs:subClassOf [ owl:onProperty :p ; owl:someValuesFrom :C{} ] .",
    )
    lines = [
        chance.choice(forms).format(*(chance.randrange(12) for _ in range(2)))
        for _ in range(chance.randrange(8, 20))
    ]
    data = "\n".join([*lines, ":p a owl:InverseFunctionalProperty ."])
    data += "".join(f" :C{number} a owl:Class ." for number in range(12))
    found = {one["iri"] for one in document(tmp_path, data, "--unsatisfiable")["unsatisfiable"]}
    assert found == _alone(data)


@pytest.mark.parametrize("seed", range(6))
def test_mistakes_are_those_of_data_in_which_equal_terms_are_one(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    least = list(range(10))
    links = [chance.sample(range(10), 2) for _ in range(4)]
    for a, b in links:
        low, high = sorted((least[a], least[b]))
        least = [low if each == high else each for each in least]
    schema = ":A owl:disjointWith :B . :B owl:disjointWith :A . :p owl:propertyDisjointWith :q ."
    schema += " :A owl:disjointWith :C . :p a owl:AsymmetricProperty . :q a owl:IrreflexiveProperty ."
    forms = (":x{0} a :A .", ":x{0} a :B .", ":x{0} a :C .", ":x{0} :p :x{1} .", ":x{0} :q :x{1} .")
    chosen = [(chance.choice(forms), chance.choices(range(10), k=2)) for _ in range(24)]
    data = [form.format(*ends) for form, ends in chosen] + [f":x{a} owl:sameAs :x{b} ." for a, b in links]
    merged = [form.format(*(least[end] for end in ends)) for form, ends in chosen]
    found = document(tmp_path, f"{schema} {' '.join(data)}")
    expected = document(tmp_path, f"{schema} {' '.join(merged)}")
    assert found["complete"]
    assert found["by_rule"] == expected["by_rule"]
    assert expected["mistakes"] > 0
    assert sum(one["copies"] for one in found["inconsistencies"]) == found["count"]
