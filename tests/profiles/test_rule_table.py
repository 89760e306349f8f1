"""``docs/profile-rules.md`` says which profile has which rule of the W3C; its tables are those made here.

``python -m tests.profiles.test_rule_table`` writes them anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.profiles.test_profiles import GUARDED

from corollary.language.model import Rule
from corollary.profiles import load_profile

PAGE = Path(__file__).parents[2] / "docs" / "profile-rules.md"
OWL_PROFILES = ("owl2rl", "owl2rl-full", "rdfs-plus", "rdfs", "rhodf")
RDFS_PROFILES = ("rhodf", "rdfs", "rdfs-plus", "owl2rl")

OWL_TABLES = {  # of OWL 2 Profiles, section 4.3
    "Table 4: equality": "eq-ref eq-sym eq-trans eq-rep-s eq-rep-p eq-rep-o eq-diff1 eq-diff2 eq-diff3",
    "Table 5: axioms about properties": "prp-ap prp-dom prp-rng prp-fp prp-ifp prp-irp prp-symp prp-asyp "
    "prp-trp prp-spo1 prp-spo2 prp-eqp1 prp-eqp2 prp-pdw prp-adp prp-inv1 prp-inv2 prp-key prp-npa1 prp-npa2",
    "Table 6: classes": "cls-thing cls-nothing1 cls-nothing2 cls-int1 cls-int2 cls-uni cls-com cls-svf1 "
    "cls-svf2 cls-avf cls-hv1 cls-hv2 cls-maxc1 cls-maxc2 cls-maxqc1 cls-maxqc2 cls-maxqc3 cls-maxqc4 cls-oo",
    "Table 7: class axioms": "cax-sco cax-eqc1 cax-eqc2 cax-dw cax-adc",
    "Table 8: datatypes": "dt-type1 dt-type2 dt-eq dt-diff dt-not-type",
    "Table 9: schema vocabulary": "scm-cls scm-sco scm-eqc1 scm-eqc2 scm-op scm-dp scm-spo scm-eqp1 scm-eqp2 "
    "scm-dom1 scm-dom2 scm-rng1 scm-rng2 scm-hv scm-svf1 scm-svf2 scm-avf1 scm-avf2 scm-int scm-uni",
}
RDFS_PATTERNS = (  # of RDF 1.1 Semantics, sections 8 and 9
    "rdfD1 rdfD2 rdfs1 rdfs2 rdfs3 rdfs4a rdfs4b rdfs5 rdfs6 rdfs7 rdfs8 rdfs9 rdfs10 rdfs11 rdfs12 rdfs13"
)


def form(rule: Rule) -> str:
    """The rule with numbers for its variables: equal if two rules differ in names only."""
    numbers: dict[str, str] = {}
    text = repr((rule.heads, rule.body))
    return re.sub(
        r"Variable\(name='(\w+)'\)", lambda found: numbers.setdefault(found[1], str(len(numbers))), text
    )


FORMS = {
    profile: {name: {form(rule) for rule in rules if rule.name == name} for name in {r.name for r in rules}}
    for profile in {*OWL_PROFILES, *RDFS_PROFILES}
    for rules in [load_profile(profile).rules]
}


def cell(profile: str, name: str, elsewhere: str) -> str:
    """Whether a profile has the rule that ``elsewhere`` has under this name, or under which other name."""
    if name in FORMS[profile]:
        return "in part" if profile == "owl2rl" and name in GUARDED else "yes"
    forms = FORMS[elsewhere].get(name, set())
    others = [other for other, found in FORMS[profile].items() if found & forms]
    return f"as `{min(others)}`" if others else ""


def table(names: str, profiles: tuple[str, ...], elsewhere: str) -> Iterator[str]:
    yield f"| | {' | '.join(f'`{profile}`' for profile in profiles)} |"
    yield f"|---|{'---|' * len(profiles)}"
    for name in names.split():
        yield f"| `{name}` | {' | '.join(cell(profile, name, elsewhere) for profile in profiles)} |"


def expected() -> str:
    lines = ["## OWL 2 RL"]
    for title, names in OWL_TABLES.items():
        lines += ["", f"### {title}", "", *table(names, OWL_PROFILES, "owl2rl-full")]
    lines += ["", "## RDF and RDFS", "", *table(RDFS_PATTERNS, RDFS_PROFILES, "rdfs")]
    return "\n".join(lines) + "\n"


def written() -> tuple[str, str]:
    """The introduction of the page, and its tables."""
    text = PAGE.read_text()
    return text[: text.index("## OWL 2 RL")], text[text.index("## OWL 2 RL") :]


def test_the_page_has_these_tables() -> None:
    assert written()[1] == expected()


def test_every_rule_of_the_tables_is_in_a_profile() -> None:
    owl = {name for names in OWL_TABLES.values() for name in names.split()}
    assert owl == FORMS["owl2rl-full"].keys()
    assert set(RDFS_PATTERNS.split()) <= FORMS["rdfs"].keys()


if __name__ == "__main__":
    PAGE.write_text(written()[0] + expected())
