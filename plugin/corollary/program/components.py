"""The components of a live program: their facts, rules and modules, and their dependencies.

A component is a strongly connected component of the dependency graph of the live rule instances: predicates
and classes that depend on each other, or a single node. A predicate or class that no rule derives is
*given*: it is listed by the components that read it, and has no component of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.columns import TripleIndex
from corollary.language import format_constant, parse_constant
from corollary.language.html_table import table
from corollary.program.compile import Tables, is_virtual
from corollary.program.compiled_program import CompiledProgram
from corollary.program.dependencies import DependencyGraph, live_edges, with_components
from corollary.program.edges import CLASS, OPEN_NODES, Node
from corollary.program.graphviz import svg
from corollary.program.manchester import Manchester
from corollary.program.tuning import MAX_COMPONENTS_DRAWN, MAX_NODES_NAMED
from corollary.terms.dictionary import TermDictionary

Prefixes = Sequence[tuple[str, str]]


class Names:
    """Prints ids and nodes as terms with prefixes, anonymous classes in Manchester syntax.

    ``explicit`` are the facts that define anonymous classes.
    """

    def __init__(self, dictionary: TermDictionary, prefixes: Prefixes, explicit: TripleIndex) -> None:
        self.dictionary = dictionary
        self.prefixes = prefixes
        self._anonymous = Manchester(explicit, dictionary, self._format)

    def constant(self, term: int) -> str:
        text = self.dictionary.decode(term)
        if is_virtual(term):
            return text
        return (self._anonymous.text(text) if text.startswith("_:") else None) or self._format(text)

    def _format(self, text: str) -> str:
        return format_constant(parse_constant(text), self.prefixes)

    def node(self, node: Node) -> str:
        if node in OPEN_NODES:
            return OPEN_NODES[node]
        return f"{self.constant(node - CLASS)}[?x]" if node >= CLASS else self.constant(node)


@dataclass(frozen=True, slots=True)
class Component:
    """Predicates and classes (``nodes``), their number of facts, and the rules that derive them, by module.

    ``given`` are the predicates and classes that these rules read and no rule derives. ``reads`` and
    ``read_by`` are the numbers of other components. Numbers start at 1, in topological order.
    """

    number: int
    nodes: tuple[str, ...]
    facts: int
    is_recursive: bool
    modules: Mapping[str, tuple[str, ...]]
    given: tuple[str, ...]
    reads: tuple[int, ...]
    read_by: tuple[int, ...]

    @property
    def rules(self) -> list[str]:
        """The labels of the rules, sorted, without duplicates."""
        return sorted({label for labels in self.modules.values() for label in labels})

    @property
    def title(self) -> str:
        """The first ``MAX_NODES_NAMED`` nodes, and the number of further nodes."""
        return shortened(self.nodes)

    @property
    def size(self) -> str:
        """The number of facts, as text."""
        return f"{self.facts:,} {'fact' if self.facts == 1 else 'facts'}"

    def as_dict(self) -> dict[str, Any]:
        """The component as JSON-ready data."""
        return {
            "number": self.number,
            "nodes": list(self.nodes),
            "facts": self.facts,
            "recursive": self.is_recursive,
            "rules": self.rules,
            "modules": {module: list(labels) for module, labels in self.modules.items()},
            "given": list(self.given),
            "reads": list(self.reads),
            "read_by": list(self.read_by),
        }


@dataclass(frozen=True)
class Components:
    """The components of a program in topological order, as text (``str``), data or a Graphviz graph."""

    program: str
    facts: int
    all: tuple[Component, ...]

    def __iter__(self) -> Iterator[Component]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def __str__(self) -> str:
        lines = [self._head()]
        for component in self.all[: 10 * MAX_NODES_NAMED]:
            lines += ["", *self._lines(component)]
        if len(self) > 10 * MAX_NODES_NAMED:
            lines += ["", f"... and {len(self) - 10 * MAX_NODES_NAMED:,} more"]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The program's name, the number of facts, and the components as JSON-ready data."""
        components = [component.as_dict() for component in self]
        return {"program": self.program, "facts": self.facts, "components": components}

    def dot(self) -> str:
        """The graph in Graphviz's language. Arrows lead from a component to its readers.

        Recursive components have two outlines. Given nodes, and the arrows from them, are dashed.
        """
        lines = ["digraph program {", "  rankdir=LR;", "  node [shape=box, fontname=Helvetica, fontsize=10];"]
        given: dict[str, int] = {}
        for component in self:
            modules = [f"{module}: {shortened(labels)}" for module, labels in component.modules.items()]
            label = "\n".join((component.title, component.size, *modules))
            outlines = ", peripheries=2" if component.is_recursive else ""
            lines.append(f"  c{component.number} [label={quoted(label)}{outlines}];")
            lines += (f"  c{component.number} -> c{reader};" for reader in component.read_by)
            for name in component.given:
                node = given.setdefault(name, len(given) + 1)
                lines.append(f"  g{node} -> c{component.number} [style=dashed];")
        lines += (f"  g{node} [label={quoted(name)}, style=dashed];" for name, node in given.items())
        return "\n".join([*lines, "}"]) + "\n"

    def _repr_html_(self) -> str:
        rows = (
            (
                f"{component.number}",
                component.title,
                f"{component.facts:,}",
                "recursive" if component.is_recursive else "",
                "; ".join(f"{module}: {', '.join(labels)}" for module, labels in component.modules.items()),
                self._sources(component),
            )
            for component in self.all[: 10 * MAX_NODES_NAMED]
        )
        heads = ("", "predicates and classes", "facts", "", "rules", "reads")
        left = len(self) - 10 * MAX_NODES_NAMED
        return table(self._head(), heads, rows) + (f"<p>... and {left:,} more</p>" if left > 0 else "")

    def _repr_svg_(self) -> str | None:
        return svg(self.dot()) if 0 < len(self) <= MAX_COMPONENTS_DRAWN else None

    def _head(self) -> str:
        plural = "component" if len(self) == 1 else "components"
        return f"{self.program or 'program'}: {len(self):,} {plural} over {self.facts:,} facts"

    def _sources(self, component: Component) -> str:
        return shortened([*map(self._called, component.reads), *component.given])

    def _lines(self, component: Component) -> Iterator[str]:
        recursive = ", recursive" if component.is_recursive else ""
        yield f"{component.number}. {component.title}: {component.size}{recursive}"
        for module, labels in component.modules.items():
            yield f"     {module}: {', '.join(labels)}"
        if sources := self._sources(component):
            yield f"     reads {sources}"
        if component.read_by:
            yield f"     read by {shortened([self._called(number) for number in component.read_by])}"

    def _called(self, number: int) -> str:
        """The number and the first node of a component."""
        return f"{number} ({self.all[number - 1].nodes[0]})"


def components(
    program: CompiledProgram,
    modules: Mapping[int, str],
    facts: TripleIndex,
    tables: Tables,
    names: Names,
    suspended: Collection[int] = (),
) -> Components:
    """The components with at least one live rule that derives them.

    ``modules`` maps rule numbers to module names, ``tables`` gives the table of a family. ``suspended`` are
    the numbers of rules to leave out. Precondition: ``facts`` are closed under the monotone rules.
    """
    edges = live_edges(program, facts, tables, suspended)
    graph = with_components(tuple(edge for edge in edges if not (edge.link and is_virtual(edge.target))))
    deriving: dict[int, dict[str, dict[str, None]]] = {}
    recursive: set[int] = set()
    for edge in graph.edges:
        source, target = graph.component_of[edge.source], graph.component_of[edge.target]
        if edge.target not in OPEN_NODES:
            labels = deriving.setdefault(target, {}).setdefault(modules.get(edge.rule.number, ""), {})
            labels[edge.rule.label] = None
        if source == target:
            recursive.add(target)
    numbers = {component: n for n, component in enumerate(sorted(deriving), 1)}
    readers = _readers(graph, numbers)
    sizes = _sizes(graph, facts, program.rdf_type)
    reads, given = _sources(graph, readers, numbers, names)
    return Components(
        program.source.name,
        len(facts),
        tuple(
            Component(
                number,
                tuple(map(names.node, graph.components[component])),
                sizes[component],
                component in recursive,
                {module: tuple(sorted(labels)) for module, labels in deriving[component].items()},
                tuple(given[component]),
                tuple(reads[component]),
                tuple(numbers[reader] for reader in readers[component]),
            )
            for component, number in numbers.items()
        ),
    )


def _readers(graph: DependencyGraph, deriving: Mapping[int, int]) -> list[list[int]]:
    """For each component the deriving components that read it, directly or through open nodes; ascending."""
    following: list[dict[int, None]] = [{} for _ in graph.components]
    for edge in graph.edges:
        source, target = graph.component_of[edge.source], graph.component_of[edge.target]
        if source != target:
            following[source][target] = None
    readers: list[list[int]] = [[] for _ in graph.components]
    for component in reversed(range(len(graph.components))):  # readers have higher numbers
        found: set[int] = set()
        for target in following[component]:
            found |= {target} if target in deriving else set(readers[target])
        readers[component] = sorted(found)
    return readers


def _sources(
    graph: DependencyGraph, readers: list[list[int]], numbers: Mapping[int, int], names: Names
) -> tuple[list[dict[int, None]], list[dict[str, None]]]:
    """For each component what it reads: the numbers of deriving components, and the names of other nodes.

    ``readers`` are those of each component, ``numbers`` the numbers of the deriving ones.
    """
    reads: list[dict[int, None]] = [{} for _ in graph.components]
    given: list[dict[str, None]] = [{} for _ in graph.components]
    for component, nodes in enumerate(graph.components):
        for reader in readers[component]:
            if component in numbers:
                reads[reader][numbers[component]] = None
            else:
                known = (names.node(node) for node in nodes if node not in OPEN_NODES)
                given[reader].update(dict.fromkeys(known))
    return reads, given


def _sizes(graph: DependencyGraph, facts: TripleIndex, rdf_type: int) -> list[int]:
    """The number of facts of each component, open nodes left out."""
    classes = [node for node in graph.nodes if node >= CLASS and node not in OPEN_NODES]
    terms = np.array([node - CLASS for node in classes], np.uint32)
    counts = dict(zip(classes, facts.relation(rdf_type).object_counts(terms).tolist(), strict=True))
    return [
        sum(
            counts[node] if node in counts else len(facts.relation(node))
            for node in nodes
            if node not in OPEN_NODES
        )
        for nodes in graph.components
    ]


def shortened(texts: Sequence[str]) -> str:
    """The first ``MAX_NODES_NAMED`` texts, and the number of further texts."""
    more = f" and {len(texts) - MAX_NODES_NAMED:,} more" if len(texts) > MAX_NODES_NAMED else ""
    return ", ".join(texts[:MAX_NODES_NAMED]) + more


def quoted(text: str) -> str:
    """The text as a quoted string of Graphviz."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
