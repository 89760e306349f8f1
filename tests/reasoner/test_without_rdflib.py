"""A reasoner works where rdflib is not imported, and knows neither the store nor SPARQL."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "plugin" / "corollary" / "reasoner"
ABOVE = ("rdflib", "corollary.store", "corollary.sparql", "corollary.cli")

PROGRAM = """
import sys
from corollary.reasoner import Reasoner

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
REX = ("<urn:x#rex>", TYPE, "<urn:x#Animal>")

reasoner = Reasoner("owl2rl")
assert reasoner.load("animals.ttl", "animals.nt") == 4
assert REX in reasoner and len(reasoner.snapshot().inferred)
print(reasoner.explain(REX), reasoner.inconsistencies(), reasoner.statistics(), reasoner.explain_plan())
print(reasoner.explain(reasoner.inconsistencies()[0]).html(), reasoner.components(), reasoner.rules())
reasoner.add_rules("[?x, <urn:x#of>, ?y] :- [?y, <urn:x#has>, ?x] .")
with reasoner.transaction():
    reasoner.remove(("<urn:x#rex>", TYPE, "<urn:x#Dog>"))
    assert REX not in reasoner
    reasoner.rollback()
print(reasoner.last_maintenance(), reasoner.verify(), reasoner.compact(), reasoner.suspended_rules())
reasoner.save_encoded("encoded")
reasoner.snapshot().write("all.ttl")
reasoner.close()
again = Reasoner("rdfs")
again.open("kept", create=True)
assert again.load_encoded("encoded") == 4
again.close()
assert not [name for name in sys.modules if name.partition(".")[0] == "rdflib"]
"""


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.name)
def test_nothing_imports_rdflib_or_what_stands_above(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            assert not any(f"{name}.".startswith(f"{part}.") for part in ABOVE), f"{path.name}: {name}"


def test_a_program_without_rdflib(tmp_path: Path) -> None:
    (tmp_path / "animals.ttl").write_text(
        "@prefix : <urn:x#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        ":Dog <http://www.w3.org/2000/01/rdf-schema#subClassOf> :Animal . :Dog owl:disjointWith :Cat .\n"
    )
    (tmp_path / "animals.nt").write_text(
        "<urn:x#rex> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:x#Dog> .\n"
        "<urn:x#rex> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:x#Cat> .\n"
    )
    process = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
