"""SWRL rules: what they become, what follows from them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib import Graph
from tests.engine import close

from corollary.importers.swrl import swrl_rules
from corollary.language import InputError, RuleError, check, parse_program
from corollary.profiles import load_rules

PREFIXES = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix swrl: <http://www.w3.org/2003/11/swrl#> .
@prefix swrlb: <http://www.w3.org/2003/11/swrlb#> .
@prefix swrla: <http://swrl.stanford.edu/ontologies/3.3/swrla.owl#> .
<urn:swrl#x> a swrl:Variable . <urn:swrl#y> a swrl:Variable . <urn:swrl#z> a swrl:Variable .
"""


def variable(name: str) -> str:
    return f"<urn:swrl#{name[1:]}>" if name.startswith("?") else name


def of_class(name: str, one: str) -> str:
    return f"[ a swrl:ClassAtom ; swrl:classPredicate {name} ; swrl:argument1 {variable(one)} ]"


def pair(kind: str, one: str, other: str, predicate: str = "") -> str:
    about = f"swrl:propertyPredicate {predicate} ; " if predicate else ""
    ends = f"swrl:argument1 {variable(one)} ; swrl:argument2 {variable(other)}"
    return f"[ a swrl:{kind} ; {about}{ends} ]"


def related(predicate: str, one: str, other: str) -> str:
    return pair("IndividualPropertyAtom", one, other, predicate)


def builtin(name: str, *arguments: str) -> str:
    listed = " ".join(map(variable, arguments))
    return f"[ a swrl:BuiltinAtom ; swrl:builtin {name} ; swrl:arguments ( {listed} ) ]"


def imp(body: list[str], head: list[str], subject: str = "[]", more: str = "") -> str:
    lists = f"swrl:body ( {' '.join(body)} ) ; swrl:head ( {' '.join(head)} )"
    return f"{subject} a swrl:Imp ; {more} {lists} .\n"


def graph_of(*imps: str) -> Graph:
    return Graph().parse(data=PREFIXES + "".join(imps), format="turtle")


TRANSLATIONS = [
    (
        imp(
            [related(":parent", "?x", "?y"), related(":brother", "?y", "?z")], [related(":uncle", "?x", "?z")]
        ),
        "[?x, :uncle, ?z] :- [?x, :parent, ?y], [?y, :brother, ?z] .",
    ),
    (
        imp([of_class(":Cat", "?x")], [of_class(":Animal", "?x"), related(":eats", "?x", ":fish")]),
        ":Animal[?x], [?x, :eats, :fish] :- :Cat[?x] .",
    ),
    (imp([of_class(":Cat", "?x"), of_class(":Dog", "?x")], []), "false :- :Cat[?x], :Dog[?x] ."),
    (imp([], [of_class(":Cat", ":tom")]), ":Cat[:tom] ."),
    (
        imp([pair("SameIndividualAtom", "?x", "?y")], [pair("DifferentIndividualsAtom", "?x", ":z")]),
        "[?x, owl:differentFrom, :z] :- [?x, owl:sameAs, ?y] .",
    ),
    (
        imp(
            [pair("DatavaluedPropertyAtom", "?x", "?y", ":age"), builtin("swrlb:greaterThan", "?y", "17")],
            [of_class(":Adult", "?x")],
        ),
        ":Adult[?x] :- [?x, :age, ?y], FILTER(?y > 17) .",
    ),
    (
        imp(
            [builtin("swrlb:add", "?z", "?y", "1"), pair("DatavaluedPropertyAtom", "?x", "?y", ":age")],
            [pair("DatavaluedPropertyAtom", "?x", "?z", ":turns")],
        ),
        "[?x, :turns, ?z] :- [?x, :age, ?y], BIND(?y + 1 AS ?z) .",
    ),
    (
        imp(
            [related(":n", "?x", "?y"), related(":m", "?x", "?z"), builtin("swrlb:stringLength", "?z", "?y")],
            [of_class(":Right", "?x")],
        ),
        ":Right[?x] :- [?x, :n, ?y], [?x, :m, ?z], FILTER(strlen(?y) = ?z) .",
    ),
    (
        imp(
            [
                related(":n", "?x", "?y"),
                "[ a swrl:DataRangeAtom ; swrl:dataRange xsd:integer ; swrl:argument1 <urn:swrl#y> ]",
            ],
            [of_class(":Numbered", "?x")],
        ),
        ":Numbered[?x] :- [?x, :n, ?y], VALUE(?y, xsd:integer) .",
    ),
]


@pytest.mark.parametrize(("swrl", "ours"), TRANSLATIONS, ids=[ours for _, ours in TRANSLATIONS])
def test_translations(swrl: str, ours: str) -> None:
    program = swrl_rules(graph_of(swrl))
    assert program == parse_program(f"PREFIX : <http://example.org/>\n{ours}")
    check(program)


def test_names_and_order() -> None:
    rule = [of_class(":Cat", "?x")], [of_class(":Animal", "?x")]
    program = swrl_rules(
        graph_of(
            imp(*rule, subject=":zoo"),
            imp([of_class(":Dog", "?x")], rule[1], more='rdfs:label "dogs are animals" ;'),
            imp([of_class(":Bee", "?x")], rule[1]),
            imp([of_class(":Elk", "?x")], rule[1], more='rdfs:label "off" ; swrla:isRuleEnabled false ;'),
        )
    )
    assert [rule.name for rule in program] == ["dogs-are-animals", "zoo", "swrl-3"]


def test_what_follows() -> None:
    ours, swrl = "", ""
    for swrl_text, text in TRANSLATIONS[:2]:
        swrl += swrl_text
        ours += text + "\n"
    data = parse_program(
        "PREFIX : <http://example.org/>\n[:a, :parent, :b] . [:b, :brother, :c] . :Cat[:tom] ."
    )
    facts, _ = close([], swrl_rules(graph_of(swrl)) + data)
    shown = {"".join(getattr(term, "value", "").split("/")[-1] for term in fact) for fact in facts}
    assert {"auncle" + "c", "tomeatsfish"} <= shown


REFUSED = [
    (imp([builtin("swrlb:sin", "?x", "?y")], []), "the builtin sin is outside"),
    (imp([builtin(":mine", "?x", "?y")], []), "the builtin http://example.org/mine is outside"),
    (imp([builtin("swrlb:lessThan", "?x")], []), "lessThan: it takes 2 arguments, here are 1"),
    (imp(["[ a swrl:OddAtom ]"], []), "of no kind that is known"),
    (imp(["[ a swrl:ClassAtom ; swrl:argument1 <urn:swrl#x> ]"], []), "0 values of"),
    (imp([], [builtin("swrlb:lessThan", "1", "2")]), "a head has an atom that only tests"),
]


@pytest.mark.parametrize(("swrl", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_refused(swrl: str, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        swrl_rules(graph_of(swrl.replace("[] a swrl:Imp", ":zoo a swrl:Imp")))
    assert message in str(caught.value)
    assert "the SWRL rule zoo" in str(caught.value)
    assert "help:" in str(caught.value)


def test_ontology_files_are_rule_files(tmp_path: Path) -> None:
    path = tmp_path / "zoo.ttl"
    path.write_text(PREFIXES + TRANSLATIONS[1][0])
    program = load_rules(str(path))
    assert program.name == "zoo" and len(program) == 1
    graph_of(TRANSLATIONS[1][0]).serialize(tmp_path / "zoo.owl", format="xml")
    assert load_rules(str(tmp_path / "zoo.owl")) == program
    (tmp_path / "zoo.owl").write_bytes(path.read_bytes())
    assert load_rules(str(tmp_path / "zoo.owl")) == program


def test_variables_without_names_get_the_same_ones_every_time() -> None:
    text = imp([related(":p", "_:a", "_:b"), related(":p", "_:b", "_:a")], [related(":q", "_:a", "_:b")])
    text += "_:a a swrl:Variable . _:b a swrl:Variable ."
    program = swrl_rules(graph_of(text))
    assert program == swrl_rules(graph_of(text))
    rule = "[?node, :q, ?node0] :- [?node, :p, ?node0], [?node0, :p, ?node] ."
    assert program == parse_program(f"PREFIX : <http://example.org/>\n{rule}")


def test_ontology_files_without_usable_rules(tmp_path: Path) -> None:
    path = tmp_path / "zoo.ttl"
    path.write_text(PREFIXES)
    with pytest.raises(InputError, match="no SWRL rules"):
        load_rules(str(path))
    path.write_text(PREFIXES + imp([of_class("[ a owl:Class ]", "?x")], [of_class(":C", "?x")]))
    with pytest.raises(InputError, match="class without a name"):
        load_rules(str(path))
    path.write_text("{")
    with pytest.raises(InputError, match="cannot read the ontology"):
        load_rules(str(path))
    with pytest.raises(InputError, match="cannot read the ontology"):
        load_rules(str(tmp_path / "none.owl"))
