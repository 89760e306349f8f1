"""``corollary explain``: proofs as text, JSON, Graphviz and HTML, and what is said where there are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from corollary.cli import main

FAMILY = Path(__file__).with_name("family.ttl")
NAMESPACE = "http://example.org/family#"
FACT = (":ann", ":ancestor", ":cid")


def explain(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["explain", *map(str, arguments)])


def explained(*arguments: str | Path, holds: bool = True) -> str:
    result = explain(*arguments)
    assert result.exit_code == (0 if holds else 1), result.output
    return result.stdout


def refused(*arguments: str | Path) -> str:
    """What a mistake prints on standard error: exit code 2, no traceback, nothing on standard output."""
    result = explain(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.fixture
def clashing(tmp_path: Path) -> Path:
    path = tmp_path / "clashing.ttl"
    path.write_text(FAMILY.read_text() + ":bob a :Cat .")
    return path


def test_a_proof_as_text() -> None:
    text = explained(FAMILY, *FACT)
    assert text.startswith(":ann :ancestor :cid follows.\n")
    assert "by prp-trp: [?x, ?p, ?z] :- owl:TransitiveProperty[?p], [?x, ?p, ?y], [?y, ?p, ?z] ." in text
    assert text.rstrip().endswith(":bob :parent :cid")


@pytest.mark.parametrize(
    "words",
    [
        FACT,
        tuple(f"<{NAMESPACE}{name[1:]}>" for name in FACT),
        (":ann", f"<{NAMESPACE}ancestor>", ":cid"),
        tuple(f"{NAMESPACE}{name[1:]}" for name in FACT),
    ],
)
def test_terms_are_written_in_full_or_with_prefixes(words: tuple[str, ...]) -> None:
    assert explained(FAMILY, *words) == explained(FAMILY, *FACT)


def test_literals_and_a(tmp_path: Path) -> None:
    path = tmp_path / "ages.ttl"
    path.write_text('@prefix : <http://example.org/> . :a :age 18 ; :name "Ann"@en .')
    rules = tmp_path / "ages.dlog"
    rules.write_text(
        "PREFIX : <http://example.org/>\n:Adult[?x], [?x, :next, ?b], [?x, :called, ?n] :- "
        "[?x, :age, ?a], [?x, :name, ?n], FILTER(?a >= 18), BIND(?a + 1 AS ?b) ."
    )
    for words in ((":a", "a", ":Adult"), (":a", ":next", "19"), (":a", ":called", '"Ann"@en')):
        text = explained(path, "--rules", rules, *words)
        assert "follows" in text
        assert "FILTER(18 >= 18)" in text
        assert "BIND(18 + 1 AS ?b) gives 19" in text


def test_a_proof_as_json() -> None:
    data = json.loads(explained(FAMILY, *FACT, "--format", "json"))
    assert data["status"] == "inferred"
    assert data["fact"] == [f"<{NAMESPACE}{name[1:]}>" for name in FACT]
    (proof,) = data["proofs"]
    *_, last = proof["steps"]
    assert (last["by"], last["rule"], last["path"]) == ("rule", "prp-trp", True)
    assert all(premise < number for number, step in enumerate(proof["steps"]) for premise in step["premises"])
    assert {step["by"] for step in proof["steps"]} == {"given", "rule"}


def test_a_proof_as_a_picture_and_a_page() -> None:
    picture = explained(FAMILY, *FACT, "--format", "dot")
    assert picture.startswith("digraph")
    assert picture.count("shape=box") == 7
    page = explained(FAMILY, *FACT, "--format", "html")
    assert page.count("<details") == page.count("</details>") == 3
    assert "&lt;" not in page
    assert page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>")
    assert page.count('<code class="stated">:') == 5
    assert page.count('<code class="inferred">:') == 3
    for part in ("Expand all", "Collapse all", "stated</code> a fact"):
        assert part in page


def test_long_chains_fold(tmp_path: Path) -> None:
    path = tmp_path / "long.ttl"
    steps = "".join(f":n{i} :parent :n{i + 1} . " for i in range(60))
    path.write_text(FAMILY.read_text() + steps)
    words = (path, ":n0", ":ancestor", ":n60")
    page = explained(*words, "--format", "html")
    assert page.count("<details") == page.count("</details>") == 1 + 60 + 1
    assert "49 more facts</summary>" in page
    picture = explained(*words, "--format", "dot")
    assert picture.count("shape=box") <= 40
    assert 'label="49 more facts, proved in 49 steps"' in picture
    assert explained(*words, "--format", "dot", "--unfolded").count("shape=box") == 1 + 1 + 60 * 2 + 1


def test_several_proofs() -> None:
    text = explained(FAMILY, ":bob", "a", ":Person", "--limit", "5")
    assert "prp-rng" in text
    assert len(json.loads(explained(FAMILY, *FACT, "--limit", "5", "--format", "json"))["proofs"]) <= 5


@pytest.mark.parametrize(
    ("words", "holds", "said"),
    [
        ((":ann", ":parent", ":bob"), True, "is explicit. It does not follow from other facts."),
        ((":cid", ":ancestor", ":ann"), False, "is not explicit, and does not follow."),
        ((":dan", ":ancestor", ":ann"), False, "does not hold: no fact mentions :dan."),
        (("_:dan", ":ancestor", ":ann"), False, "does not hold: no fact mentions _:dan."),
    ],
)
def test_what_is_said_without_a_proof(words: tuple[str, ...], holds: bool, said: str) -> None:
    assert said in explained(FAMILY, *words, holds=holds)
    assert said in explained(FAMILY, *words, "--format", "html", holds=holds)


def test_inconsistencies(clashing: Path) -> None:
    text = explained(clashing, "--inconsistencies")
    assert text.startswith("inconsistency 1 of 1 (cax-dw): :bob is a ")
    assert "which are disjoint.\n" in text
    assert "by prp-rng" in text
    (data,) = json.loads(explained(clashing, "--inconsistencies", "--format", "json"))
    assert (data["status"], data["fact"]) == ("inconsistency", None)
    assert json.loads(explained(FAMILY, "--inconsistencies", "--format", "json")) == []
    assert explain(FAMILY, "--inconsistencies").stderr == "consistent\n"


def test_only_some_rules(tmp_path: Path) -> None:
    assert "does not follow" in explained(FAMILY, *FACT, "--rules", "rhodf", holds=False)
    assert "does not follow" in explained(FAMILY, *FACT, "--rules", "none", holds=False)
    rules = tmp_path / "uncles.n3"
    rules.write_text(f"@prefix : <{NAMESPACE}> . {{ ?x :parent ?y }} => {{ ?y :child ?x }} .")
    assert "by uncles-1" in explained(FAMILY, ":bob", ":child", ":ann", "--rules", rules)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name FILE... and then SUBJECT PREDICATE OBJECT"),
        (("zoo:a", ":b", ":c"), "zoo:a cannot stand as the subject"),
        ((":a", "5", ":c"), "5 cannot stand as the predicate"),
        ((":a", "_:b", ":c"), "_:b cannot stand as the predicate"),
        (("5", ":b", ":c"), "5 cannot stand as the subject"),
        ((":a", ":b", "a b"), "a b cannot stand as the object"),
        ((":a", ":b", ":c ; :d :e"), "cannot stand as the object"),
        (("nowhere.ttl", ":a", ":b", ":c"), "nowhere.ttl: No such file"),
        ((*FACT, "--rules", "owl"), "no profile is named 'owl'"),
    ],
)
def test_mistakes(words: tuple[str, ...], said: str) -> None:
    assert said in refused(FAMILY, *words)
