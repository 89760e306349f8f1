"""Extras stay optional: where none is installed, all modules can be imported but those that serve."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path

PROJECT = Path(__file__).parents[1]

EXTRAS = {
    match[0].lower()
    for requirement in requires("corollary") or ()
    if "extra ==" in requirement and (match := re.match(r"[\w.-]+", requirement))
}

PROGRAM = """
import importlib, sys

class Missing:
    '''Finds what was not blocked only.'''
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
for name in MODULES:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        print(name, error.name)

from rdflib import RDF, RDFS, Graph, Namespace
EX = Namespace("urn:x#")
graph = Graph(store="Corollary")
graph.add((EX.Dog, RDFS.subClassOf, EX.Animal))
graph.add((EX.rex, RDF.type, EX.Dog))
assert len(graph.query("SELECT ?x { ?x a <urn:x#Animal> }")) == 1
assert graph.store.query_arrow("SELECT ?x { ?x a <urn:x#Animal> }").num_rows == 1
"""


def test_everything_else_is_imported_without_extras() -> None:
    names = {dist.lower() for dist in EXTRAS} - {"corollary"}
    blocked = {
        module for module, dists in packages_distributions().items() if names & {d.lower() for d in dists}
    }
    modules = [
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        for root in (PROJECT / name for name in ("rulesets", "plugin", "loaders"))
        for path in sorted(root.rglob("*.py"))
    ]
    code = PROGRAM.replace("BLOCKED", repr(blocked)).replace("MODULES", repr(modules))
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    failed = dict(line.split() for line in process.stdout.splitlines())
    assert {"starlette", "uvicorn", "pandas"} <= blocked
    assert all(name.startswith("corollary.serve") for name in failed)
    assert set(failed.values()) == {"starlette", "uvicorn"}
