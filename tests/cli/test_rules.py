"""``corollary rules``: the program as written, made for an ontology, and at work."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from corollary.cli import main

FAMILY = Path(__file__).with_name("family.ttl")
PREFIX = "@prefix : <http://example.org/family#> .\n"
SWRL = """
@prefix swrl: <http://www.w3.org/2003/11/swrl#> .
:x a swrl:Variable . :y a swrl:Variable .
:children a swrl:Imp ; swrl:body (
 [ a swrl:IndividualPropertyAtom ; swrl:propertyPredicate :parent ; swrl:argument1 :x ; swrl:argument2 :y ]
) ; swrl:head (
 [ a swrl:IndividualPropertyAtom ; swrl:propertyPredicate :child ; swrl:argument1 :y ; swrl:argument2 :x ]
) .
"""


def rules(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["rules", *map(str, arguments)])


def printed(*arguments: str | Path) -> str:
    result = rules(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_components() -> None:
    text = printed(FAMILY, "--components")
    assert text.startswith("owl2rl: ")
    assert (
        ":ancestor: 3 facts, recursive\n     transitive closure: prp-trp\n     inclusion: prp-spo1\n" in text
    )
    assert ":Person[?x]: 2 facts\n" in text


def test_the_picture() -> None:
    picture = printed(FAMILY, "--dot")
    assert picture.startswith("digraph program {\n")
    assert '":ancestor\\n3 facts\\ntransitive closure: prp-trp' in picture


@pytest.mark.parametrize(
    ("name", "text"), [("children.n3", "{ ?x :parent ?y } => { ?y :child ?x } ."), ("children.ttl", SWRL)]
)
def test_rules_of_other_languages(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(PREFIX + text)
    assert "[?y, :child, ?x] :- [?x, :parent, ?y] ." in printed("--rules", path)
    found = CliRunner().invoke(
        main,
        [
            "query",
            str(FAMILY),
            "--rules",
            str(path),
            "-q",
            "SELECT ?y { ?y :child :ann }",
            "--results",
            "csv",
        ],
    )
    assert found.stdout.split() == ["y", "http://example.org/family#bob"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("r.dlog", "PREFIX : <http://example.org/>\n:C[?y] :- :D[?x] .", "r.dlog:2:4: ?y in the head"),
        ("r.n3", PREFIX + "{ ?x a :D } => { ?y a :C } .", "rule r-1: ?y in the head is bound by nothing"),
        ("r.n3", PREFIX + "{ ?x :p ?y . ?y <http://www.w3.org/2000/10/swap/math#sin> ?z } => { ?x :q ?z } .",
         "r.n3:2:53: the builtin math#sin is outside of the rule language"),
        ("r.ttl", PREFIX, "what is no rule is data"),
        ("r.ttl", "{", "as Turtle"),
    ],
)  # fmt: skip
def test_what_is_no_program_is_not_printed(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    result = rules("--rules", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_components_need_facts() -> None:
    result = rules("--components")
    assert result.exit_code == 2
    assert "name FILE..." in result.stderr
