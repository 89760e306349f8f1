"""Random graphs of one transitive property: acyclic, uniform, and with degrees by a power law.

They are data sets of the literature, and a part is one graph of its size:

* ``dag``: DAG-R of Hu, Motik and Horrocks (2019), 10,000 nodes and 100,000 edges, acyclic;
* ``rand``: RAND1K of de Lima et al. (2024), 1,000 nodes, each pair of nodes with a probability of 1 %;
* ``rmat``: RMAT1K of de Lima et al. (2024), 1,000 nodes and 10,000 edges of a recursive matrix.

Invariants: a part depends only on its number and the seed. No line occurs twice, and no edge is a loop.
Graphs of different parts share no node.
"""

from __future__ import annotations

from corollary.generators import drawn_edges
from corollary.generators.drawn_edges import Edges, random_of_part
from corollary.generators.numbered_lines import numbered_lines

DATA = "https://corollary.example/graph/"
ABOVE = "https://corollary.example/graph#above"

DAG_NODES, DAG_EDGES = 10_000, 100_000
NODES = 1_000
PROBABILITY = 0.01
RMAT_EDGES = 10_000


def ontology() -> bytes:
    """The ontology as UTF-8 N-Triples: the property is transitive."""
    rdf_type = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    return f"<{ABOVE}> {rdf_type} <http://www.w3.org/2002/07/owl#TransitiveProperty> .\n".encode()


def dag(number: int, seed: int = 0) -> bytes:
    """100,000 triples as UTF-8 N-Triples."""
    return _lines(number, drawn_edges.acyclic(DAG_NODES, DAG_EDGES, random_of_part(number, seed)))


def rand(number: int, seed: int = 0) -> bytes:
    """About 10,000 triples as UTF-8 N-Triples."""
    return _lines(number, drawn_edges.uniform(NODES, PROBABILITY, random_of_part(number, seed)))


def rmat(number: int, seed: int = 0) -> bytes:
    """10,000 triples as UTF-8 N-Triples."""
    return _lines(number, drawn_edges.rmat(NODES, RMAT_EDGES, random_of_part(number, seed)))


def _lines(number: int, edges: Edges) -> bytes:
    node = f"<{DATA}{number}/N{{}}>"
    return numbered_lines(f"{node} <{ABOVE}> {node} .\n", *edges)
