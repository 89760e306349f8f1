"""Graphs of program analyses: pointer assignments for CSPA, null pointers and control flow for CSDA.

They resemble the graphs for the context-sensitive points-to analysis (CSPA) and data-flow analysis (CSDA) of
Graspan (Wang et al. 2017), with which de Lima and Apinis compare reasoners: small pieces of code, many times
each, and a few large groups of variables that point to the same places. docs/loading.md compares the numbers.

Invariants: a part depends only on its number and the seed. No line occurs twice. Graphs of different parts
share no node, so that the materialisation grows linearly with the number of parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from corollary.generators.drawn_edges import Edges, Numbers, random_of_part
from corollary.generators.numbered_lines import numbered_lines

DATA = "https://corollary.example/analysis/"
VOCABULARY = "https://corollary.example/analysis#"
POINTER_PROPERTIES, FLOW_PROPERTIES = ("assign", "dereference"), ("nullEdge", "arc")

VARIABLES = 25_000
"""Number of variables in a part of ``cspa``. A variable is a chain: its address, the variable, its value."""

NEIGHBOURHOOD = 500
"""``mixed`` moves no number by as much as this, so nodes of one piece have numbers near each other."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A small graph, which occurs ``times`` times.

    The nodes 3n, 3n + 1 and 3n + 2 are the address, the variable and the value of variable n; the nodes after
    those of the variables are temporaries.
    """

    times: int
    variables: int
    temporaries: int
    edges: tuple[tuple[int, int], ...]

    @property
    def nodes(self) -> int:
        return 3 * self.variables + self.temporaries


def path(times: int, edges: int) -> Piece:
    """Copies one after the other between temporaries."""
    return Piece(times, 0, edges + 1, tuple((node, node + 1) for node in range(edges)))


def joins(times: int, sources: int, after: int) -> Piece:
    """Temporaries that are copied to the same one, which is copied ``after`` times, one after the other."""
    entering = tuple((source, sources) for source in range(sources))
    following = tuple((sources + node, sources + node + 1) for node in range(after))
    return Piece(times, 0, sources + 1 + after, entering + following)


def fan(times: int, targets: int) -> Piece:
    """A temporary that is copied to several variables: the values of these may be the same place."""
    return Piece(times, targets, 1, tuple((3 * targets, 3 * target + 1) for target in range(targets)))


def group(times: int, copies: int, loads: int) -> Piece:
    """A variable that is copied to several; the value of each is loaded several times.

    All loads may yield the same place. Of each nine, five go to variables and four to temporaries.
    """
    variables, temporaries = 1 + copies, 0
    edges = [(1, 3 * copy + 1) for copy in range(1, copies + 1)]
    is_variable = [load % 9 < 5 for load in range(copies * loads)]
    first_temporary = 3 * (variables + sum(is_variable))
    for load, to_variable in enumerate(is_variable):
        value = 3 * (load // loads + 1) + 2
        if to_variable:
            edges.append((value, 3 * variables + 1))
            variables += 1
        else:
            edges.append((value, first_temporary + temporaries))
            temporaries += 1
    return Piece(times, variables, temporaries, tuple(edges))


def stores(times: int, copies: int) -> Piece:
    """A variable that is copied to several, and a temporary that is stored in the value of one of them."""
    copied = tuple((1, 3 * copy + 1) for copy in range(1, copies + 1))
    return Piece(times, 1 + copies, 1, (*copied, (3 * (1 + copies), 5)))


def branches(times: int, blocks: int) -> Piece:
    """Control flow: ``blocks`` branches one after the other, each with two ways that join."""
    edges = []
    for start in range(0, 3 * blocks, 3):
        edges += [(start, start + 1), (start, start + 2), (start + 1, start + 3), (start + 2, start + 3)]
    return Piece(times, 0, 3 * blocks + 1, tuple(edges))


def nulls(times: int, targets: int) -> Piece:
    """A null that flows to several places."""
    return Piece(times, 0, 1 + targets, tuple((0, target) for target in range(1, targets + 1)))


POINTERS = (
    *(path(8_381, 1), path(3_200, 2), path(1_500, 3), path(700, 4), path(200, 6)),
    *(joins(2_300, 2, 0), joins(1_200, 2, 2), joins(75, 3, 1), joins(12, 5, 0), joins(6, 7, 0)),
    *(fan(900, 2), fan(120, 4), fan(60, 6), fan(30, 14)),
    *(group(1_000, 1, 1), group(280, 2, 2), group(80, 3, 3), group(20, 5, 6), group(8, 8, 8)),
    *(group(4, 16, 16), group(3, 21, 20), group(1, 22, 23), group(1, 24, 25), group(1, 29, 28)),
    *(stores(500, 2), stores(160, 5), stores(45, 12), stores(12, 40)),
)
"""The pieces of a part of ``cspa``: 50,000 assignments."""

NULLS = (
    *(nulls(7_275, 1), nulls(4_114, 2), nulls(1_578, 3), nulls(1_840, 4), nulls(750, 6)),
    *(nulls(2_516, 8), nulls(241, 12), nulls(105, 20), nulls(29, 27)),
)
FLOW = (branches(829, 2), branches(475, 4), branches(354, 7), branches(213, 11), branches(101, 21))
ENTERED = 870
"""The pieces of a part of ``csda``, and the number of nulls that reach a node of the control flow."""


def pointer_ontology() -> bytes:
    """The ontology of ``cspa`` as UTF-8 N-Triples: the properties."""
    return _declared(POINTER_PROPERTIES)


def flow_ontology() -> bytes:
    """The ontology of ``csda`` as UTF-8 N-Triples: the properties."""
    return _declared(FLOW_PROPERTIES)


def _declared(properties: Iterable[str]) -> bytes:
    rdf_type = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    kind = "<http://www.w3.org/2002/07/owl#ObjectProperty>"
    return "".join(f"<{VOCABULARY}{name}> {rdf_type} {kind} .\n" for name in properties).encode()


def placed(pieces: Iterable[Piece], random: np.random.Generator) -> tuple[Edges, Numbers]:
    """The edges of all pieces, and the number of the first node of each variable.

    Pieces are numbered one after the other, in random order.
    """
    kinds = tuple(pieces)
    which = random.permutation(np.repeat(np.arange(len(kinds)), [piece.times for piece in kinds]))
    sizes = np.array([piece.nodes for piece in kinds])[which]
    first = np.cumsum(sizes) - sizes
    parts, variables = [], []
    for kind, piece in enumerate(kinds):
        starts = first[which == kind][:, None]
        edges = np.array(piece.edges, np.int64).reshape(-1, 2)
        parts.append((starts[:, :, None] + edges).reshape(-1, 2))
        variables.append((starts + 3 * np.arange(piece.variables)).ravel())
    all_edges = np.concatenate(parts)
    return (all_edges[:, 0], all_edges[:, 1]), np.concatenate(variables)


def mixed(count: int, random: np.random.Generator) -> Numbers:
    """A random permutation that moves each number by less than ``NEIGHBOURHOOD``."""
    keys = np.arange(count) + random.integers(0, NEIGHBOURHOOD, count)
    numbers = np.empty(count, np.int64)
    numbers[np.argsort(keys, kind="stable")] = np.arange(count)
    return numbers


def cspa(number: int, seed: int = 0) -> bytes:
    """100,000 triples as UTF-8 N-Triples: 50,000 assignments and 50,000 dereferences."""
    random = random_of_part(number, seed)
    used = sum(piece.times * piece.variables for piece in POINTERS)
    (assigned, to), variables = placed((*POINTERS, Piece(VARIABLES - used, 1, 0, ())), random)
    pointers = np.concatenate((variables, variables + 1))
    ends = (assigned, to, pointers, pointers + 1)
    return _lines(number, random, dict(zip(POINTER_PROPERTIES, (ends[:2], ends[2:]), strict=True)))


def csda(number: int, seed: int = 0) -> bytes:
    """100,000 triples as UTF-8 N-Triples: 58,000 null edges and 42,000 arcs."""
    random = random_of_part(number, seed)
    arcs, _ = placed(FLOW, random)
    (origins, to), _ = placed(NULLS, random)
    nodes_of_flow = int(arcs[1].max()) + 1
    origins, to = origins + nodes_of_flow, to + nodes_of_flow
    entering = random.choice(to.size, ENTERED, replace=False)
    to[entering] = random.choice(nodes_of_flow, ENTERED, replace=False)
    return _lines(number, random, dict(zip(FLOW_PROPERTIES, ((origins, to), arcs), strict=True)))


def _lines(number: int, random: np.random.Generator, edges: Mapping[str, Edges]) -> bytes:
    """A line for each edge of each property."""
    node = f"<{DATA}{number}/N{{}}>"
    numbers = mixed(1 + max(int(end.max()) for ends in edges.values() for end in ends), random)
    return b"".join(
        numbered_lines(f"{node} <{VOCABULARY}{name}> {node} .\n", numbers[sources], numbers[targets])
        for name, (sources, targets) in edges.items()
    )
