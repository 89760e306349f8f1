"""What a notebook displays, in a real kernel: objects as HTML, and those that are graphs as pictures, too."""

import shutil
from typing import Any

import pytest

pytestmark = pytest.mark.slow
nbformat = pytest.importorskip("nbformat", reason="needs Jupyter: pip install 'corollary[docs]'")
nbclient = pytest.importorskip("nbclient", reason="needs Jupyter: pip install 'corollary[docs]'")
pytest.importorskip("ipykernel", reason="needs Jupyter: pip install 'corollary[docs]'")

PREPARATION = """
from rdflib import OWL, RDF, RDFS, Graph, Namespace
EX = Namespace("http://example.org/")
graph = Graph(store="Corollary")
graph.add((EX.Dog, RDFS.subClassOf, EX.Animal))
graph.add((EX.Dog, OWL.disjointWith, EX.Cat))
graph.add((EX.rex, RDF.type, EX.Dog))
len(graph)
graph.add((EX.rex, RDF.type, EX.Cat))
len(graph);
"""

DISPLAYED = {  # what a cell ends with, and what its HTML has
    "graph.store": "inferred",
    "graph.store.statistics()": "inferred",
    "graph.query('SELECT ?x { ?x a <http://example.org/Animal> }')": "rex",
    "graph.query('CONSTRUCT WHERE { ?x a <http://example.org/Animal> }')": "rex",
    "graph.query('ASK { ?x a <http://example.org/Animal> }')": "rue",
    "graph.store.explain((EX.rex, RDF.type, EX.Animal))": "cax-sco",
    "graph.store.inconsistencies()": "cax-dw",
    "graph.store.inconsistencies()[0]": "cax-dw",
    "graph.store.rules()": "cax-sco",
    "graph.store.components()": "component",
    "graph.store.last_maintenance()": "ms",
}


@pytest.fixture(scope="module")
def displayed() -> dict[str, dict[str, Any]]:
    """What the kernel sends for each expression, by media type."""
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(text) for text in (PREPARATION, *DISPLAYED)]
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return {cell.source: cell.outputs[0].data for cell in notebook.cells[1:]}


@pytest.mark.parametrize("expression", DISPLAYED)
def test_html(displayed: dict[str, dict[str, Any]], expression: str) -> None:
    assert DISPLAYED[expression] in displayed[expression]["text/html"]


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
@pytest.mark.parametrize(
    "expression", [name for name in DISPLAYED if "explain" in name or "components" in name]
)
def test_pictures(displayed: dict[str, dict[str, Any]], expression: str) -> None:
    assert "<svg" in displayed[expression]["image/svg+xml"]
