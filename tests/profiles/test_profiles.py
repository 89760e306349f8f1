"""The profiles as rule files: which rules they have, how they build on each other, how they are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from corollary.language import check
from corollary.language.errors import InputError, RuleError, UnknownProfileError
from corollary.language.model import IRI, RDF, RDFS
from corollary.language.program import Program
from corollary.profiles import PROFILES, load_profile, load_rules, profile_names
from corollary.terms.values import SUPPORTED_DATATYPES

OWL2RL_TABLES = """
eq-ref eq-sym eq-trans eq-rep-s eq-rep-p eq-rep-o eq-diff1 eq-diff2 eq-diff3
prp-ap prp-dom prp-rng prp-fp prp-ifp prp-irp prp-symp prp-asyp prp-trp prp-spo1 prp-spo2 prp-eqp1 prp-eqp2
prp-pdw prp-adp prp-inv1 prp-inv2 prp-key prp-npa1 prp-npa2
cls-thing cls-nothing1 cls-nothing2 cls-int1 cls-int2 cls-uni cls-com cls-svf1 cls-svf2 cls-avf cls-hv1
cls-hv2 cls-maxc1 cls-maxc2 cls-maxqc1 cls-maxqc2 cls-maxqc3 cls-maxqc4 cls-oo
cax-sco cax-eqc1 cax-eqc2 cax-dw cax-adc
dt-type1 dt-type2 dt-eq dt-diff dt-not-type
scm-cls scm-sco scm-eqc1 scm-eqc2 scm-op scm-dp scm-spo scm-eqp1 scm-eqp2 scm-dom1 scm-dom2 scm-rng1
scm-rng2 scm-hv scm-svf1 scm-svf2 scm-avf1 scm-avf2 scm-int scm-uni
"""
"""The names of all rules of OWL 2 Profiles, section 4.3, tables 4 to 9."""

OWL2RL = set(OWL2RL_TABLES.split())
CLUTTER = {"eq-ref", "prp-ap", "cls-thing", "cls-nothing1", "dt-type1"}
GUARDED = {"scm-cls", "scm-op", "scm-dp"}
"""Rules of which owl2rl has only the instances that matter."""

RDFS_PATTERNS = {f"rdfs{n}" for n in (1, 2, 3, "4a", "4b", *range(5, 14))} | {"rdfD1", "rdfD2"}


def names(program: Program) -> set[str]:
    return {rule.name for rule in program}


def test_owl2rl_has_every_rule_of_the_w3c_but_clutter() -> None:
    assert names(load_profile("owl2rl")) == OWL2RL - CLUTTER
    assert names(load_profile("owl2rl-full")) == OWL2RL


def test_rdfs_has_every_entailment_pattern() -> None:
    assert names(load_profile("rdfs")) - RDFS_PATTERNS == {"rdf-axiom", "rdfs-axiom", "dt-not-type"}
    assert names(load_profile("rhodf")) == {"rdfs2", "rdfs3", "rdfs5", "rdfs7", "rdfs9", "rdfs11"}


def test_datatypes_of_owl2rl_full_are_the_supported_ones() -> None:
    declared = {rule.heads[0].subject for rule in load_profile("owl2rl-full") if rule.name == "dt-type1"}
    # rdf:langString is no datatype of OWL 2 RL's list: its values are those of rdf:PlainLiteral.
    assert declared == {IRI(name) for name in SUPPORTED_DATATYPES - {RDF + "langString"}}
    assert IRI(RDFS + "Literal") in declared


@pytest.mark.parametrize("name", profile_names())
def test_every_rule_is_safe_named_and_written_once(name: str) -> None:
    program = load_profile(name)
    check(program)
    assert program.name == name
    assert all(rule.name for rule in program)
    parts = [load_rules(str(profile_file(part))) for part in PROFILES[name]]
    assert len(program) == sum(map(len, parts))


def profile_file(part: str) -> Path:
    import corollary.profiles

    return Path(corollary.profiles.__file__).parent / f"{part}.dlog"


def test_profiles_are_loaded_once() -> None:
    assert load_profile("owl2rl") is load_rules("owl2rl")


def test_unknown_profile_names_the_nearest_and_all() -> None:
    with pytest.raises(UnknownProfileError) as caught:
        load_rules("OWL2-RL")
    assert str(caught.value) == (
        "no profile is named 'OWL2-RL'\n"
        "  help: did you mean owl2rl? profiles: rhodf, rdfs, rdfs-plus, owl2rl, owl2rl-full, skos; "
        "a rule file is given by its path: ./rules.dlog"
    )


def test_rules_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.dlog"
    path.write_text("[?y, <urn:knows>, ?x] :- [?x, <urn:knows>, ?y] .\n")
    assert len(load_rules(str(path))) == 1


def test_a_missing_rule_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        load_rules(str(tmp_path / "none.dlog"))
    with pytest.raises(InputError):
        load_rules("none.dlog")


def test_a_bad_rule_file_says_where(tmp_path: Path) -> None:
    path = tmp_path / "bad.dlog"
    path.write_text("[?x, a] .\n")
    with pytest.raises(RuleError, match=r"bad\.dlog:1:"):
        load_rules(str(path))
