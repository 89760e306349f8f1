"""Rules in N3: ``{ ?x :parent ?y } => { ?y :child ?x }``, as rdflib parses them.

The formula on the left is the body, the formula on the right has the heads, and ``false`` on the right makes
a constraint. Blank nodes of a body become variables. All other triples of the document are facts. Common
builtins (``n3_builtins``) become FILTER, BIND, MEMBER and NOT. Not supported, and refused with an error: new
blank nodes in a head, formulas as values, other builtins.

rdflib does not keep positions. A message gives the first line that contains the name of the refused term.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import cast
from zlib import crc32

from rdflib import RDF as RDF_NAMES
from rdflib import Graph
from rdflib.graph import QuotedGraph
from rdflib.term import BNode, Node, URIRef
from rdflib.term import Literal as RdfLiteral
from rdflib.term import Variable as N3Variable

from corollary.importers.builtins import Computed, Inapplicable, elements
from corollary.importers.n3_builtins import BUILTINS, COMPUTED, IN, MEMBER, NOT_INCLUDES, SWAP, TESTS
from corollary.importers.rdflib_terms import constant, variable
from corollary.language.errors import Diagnostic, InputError, RuleSyntaxError, Span
from corollary.language.model import (
    BodyElement,
    Builtin,
    Call,
    Expression,
    Filter,
    Not,
    Rule,
    Term,
    Triple,
    Variable,
)
from corollary.language.program import Program
from corollary.language.variables import variables

IMPLIES = URIRef(SWAP + "log#implies")

CELL = (RDF_NAMES.first, RDF_NAMES.rest)

_LABEL = re.compile(r"(?:L(\d+)C(\d+)|b(\d+))$")

N3Triple = tuple[Node, Node, Node]


def n3_rules(text_or_path: str | Path) -> Program:
    """The rules and facts of an N3 document, given as text, as a ``Path``, or as a path that ends in ``.n3``.

    Rules are named ``name-1``, ``name-2`` ... by the position of their bodies. Raises RuleSyntaxError if the
    text is not N3, or with everything that the rule language does not support. Raises InputError if the file
    cannot be read.
    """
    path = Path(text_or_path) if _is_path(text_or_path) else None
    source = str(path) if path else "<text>"
    name = path.stem if path else "n3"
    text = _read(path) if path else str(text_or_path)
    graph = Graph(bind_namespaces="none")
    try:
        graph.parse(data=text, format="n3")
    except Exception as error:  # rdflib raises its own class for some errors only
        raise RuleSyntaxError((_syntax(error, source, text),)) from None
    reader = _Reader(source, text)
    implications = sorted(graph.triples((None, IMPLIES, None)), key=_order)
    rules = [reader.rule(body, head, f"{name}-{i}") for i, (body, _, head) in enumerate(implications, 1)]
    facts = sorted((triple for triple in graph if triple[1] != IMPLIES), key=_order)
    labels: dict[Node, Node] = {}
    document = f"{name}_{crc32(text.encode()):08x}"  # blank nodes of two documents differ
    for node in (term for triple in facts for term in triple if isinstance(term, BNode)):
        labels.setdefault(node, BNode(f"{document}_{len(labels) + 1}"))
    for s, p, o in facts:
        fact = reader.triple((labels.get(s, s), p, labels.get(o, o)), {})
        rules += [Rule((fact,), ())] if fact else []
    if reader.diagnostics:
        raise RuleSyntaxError(tuple(dict.fromkeys(reader.diagnostics)))
    prefixes = tuple((prefix, str(namespace)) for prefix, namespace in graph.namespaces() if prefix != "xml")
    return Program(tuple(rules), prefixes, name)


def _is_path(text_or_path: str | Path) -> bool:
    return isinstance(text_or_path, Path) or (text_or_path.endswith(".n3") and "{" not in text_or_path)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read the rule file {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"the rule file {path} is not UTF-8: byte {error.start} is wrong") from None


def _syntax(error: Exception, source: str, text: str) -> Diagnostic:
    """The diagnostic for an exception of rdflib's parser, with the line that it names."""
    if isinstance(error, RecursionError):
        return Diagnostic(f"{source}: formulas, lists or paths are nested too deep")
    said = re.search(r"line (\d+) of .*?\((.*)\) at \^", str(error), re.DOTALL)
    if said is None:
        return Diagnostic(f"{source} is not N3: {error}", None, "see that all that is opened is closed")
    line = int(said[1])
    return Diagnostic(
        f"this is not N3: {said[2]}", Span(source, line, 1, _line(text, line)), "mend this line"
    )


def _line(text: str, number: int) -> str:
    lines = text.splitlines()
    return lines[number - 1].replace("\t", " ") if number <= len(lines) else ""


def _order(triple: N3Triple) -> tuple[object, ...]:
    """Sort key, the same at each reading: formulas and blank nodes by position, other terms by text."""
    return tuple(map(_term_order, triple))


def _term_order(term: Node) -> tuple[int, tuple[int, ...], str]:
    if isinstance(term, QuotedGraph):
        return 0, tuple(map(int, re.findall(r"\d+", str(term.identifier)))), ""
    if isinstance(term, BNode):
        found = _LABEL.search(term)
        return 2, tuple(int(n) for n in found.groups() if n) if found else (), "" if found else str(term)
    return 1, (), cast("URIRef", term).n3()


class _Reader:
    """Translates formulas into rules. Errors are collected in ``diagnostics``."""

    def __init__(self, source: str, text: str) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._source = source
        self._text = text

    def complain(self, message: str, remedy: str, name: Node | None = None) -> None:
        self.diagnostics.append(Diagnostic(message, self._place(name), remedy))

    def rule(self, body: Node, head: Node, name: str) -> Rule:
        names: dict[Node, Variable] = {}
        elements = self.body(self.formula(body, "body"), names)
        if isinstance(head, RdfLiteral) and head.value is False:
            return Rule((), elements, name)
        bound = dict(names)
        heads = [self.triple(triple, names) for triple in sorted(self.formula(head, "head"), key=_order)]
        if any(isinstance(node, BNode) for node in names.keys() - bound.keys()):
            remedy = "let the rule speak of nodes that its left side finds"
            self.complain(f"{_shown(head)}: the right side makes new blank nodes, or a list", remedy)
        return Rule(tuple(triple for triple in heads if triple), elements, name)

    def formula(self, node: Node, side: str) -> list[N3Triple]:
        if isinstance(node, QuotedGraph):
            return list(node)
        if not (isinstance(node, RdfLiteral) and node.value is True and side == "body"):
            self.complain(f"{_shown(node)} is no {side} of a rule", "write { ... } => { ... }")
        return []

    def body(self, triples: list[N3Triple], names: dict[Node, Variable]) -> tuple[BodyElement, ...]:
        lists = _lists(triples)
        used = {
            end
            for s, p, o in triples
            if str(p) in BUILTINS
            for end in (s, o)
            if end in lists and isinstance(end, BNode)
        }
        cells = {cell for head in used for cell in _cells(head, triples)}
        found: list[BodyElement] = []
        computed: list[Computed] = []
        plain = [
            t for t in triples if not str(t[1]).startswith(SWAP) and not (t[0] in cells and t[1] in CELL)
        ]
        found += [atom for triple in sorted(plain, key=_order) if (atom := self.triple(triple, names))]
        for triple in sorted((t for t in triples if str(t[1]).startswith(SWAP)), key=_order):
            self.builtin(triple, lists, names, found, computed)
        bound = {v for element in found if not isinstance(element, Not | Filter) for v in variables(element)}
        return (*found, *elements(computed, bound))

    def builtin(
        self,
        triple: N3Triple,
        lists: dict[Node, list[Node]],
        names: dict[Node, Variable],
        found: list[BodyElement],
        computed: list[Computed],
    ) -> None:
        subject, predicate, value = triple
        name = str(predicate).removeprefix(SWAP)
        if str(predicate) not in BUILTINS:
            remedy = f"the builtins are {', '.join(sorted(one.removeprefix(SWAP) for one in BUILTINS))}"
            self.complain(f"the builtin {name} is outside of the rule language", remedy, predicate)
            return
        if str(predicate) == NOT_INCLUDES:
            if isinstance(value, QuotedGraph) and isinstance(subject, BNode | N3Variable):
                atoms = [self.triple(inner, names) for inner in sorted(value, key=_order)]
                found.append(Not(tuple(atom for atom in atoms if atom)))
            else:
                remedy = "write ?anything log:notIncludes { ... }: what is negated is that the facts have it"
                self.complain(f"{name} is about one formula", remedy, predicate)
            return
        if str(predicate) in (IN, MEMBER):
            item, items = (subject, value) if str(predicate) == IN else (value, subject)
            one = self.term(item, names)
            if items in lists:
                found.append(Filter(Call("in", (one, *(self.term(part, names) for part in lists[items])))))
            else:
                found.append(Builtin("MEMBER", (self.term(items, names), one)))
            return
        arguments = lists[subject] if subject in lists and name in COMPUTED else [subject]
        terms: list[Expression] = [self.term(argument, names) for argument in arguments]
        result = self.term(value, names)
        try:
            if name in TESTS:
                found.append(Filter(TESTS[name]([*terms, result])))
            else:
                computed.append(Computed(COMPUTED[name](terms), result))
        except Inapplicable as reason:
            self.complain(f"{name}: {reason}", "give it a list of as many on its left", predicate)

    def triple(self, triple: N3Triple, names: dict[Node, Variable]) -> Triple | None:
        """The triple pattern; None, and a diagnostic, if one of its terms is a formula."""
        if any(isinstance(term, QuotedGraph) for term in triple):
            shown = " ".join(map(_shown, triple))
            self.complain(f"{shown}: formulas are no values here", "state it with triples", triple[1])
            return None
        if str(triple[1]).startswith(SWAP) and str(triple[1]) in BUILTINS:
            name = str(triple[1]).removeprefix(SWAP)
            self.complain(f"{name} stands where only triples can", "use it on the left of =>", triple[1])
        is_fact = not names and all(isinstance(term, URIRef | RdfLiteral | BNode) for term in triple)
        s, p, o = (constant(term) if is_fact else self.term(term, names) for term in triple)
        assert s is not None and p is not None and o is not None
        return Triple(s, p, o)

    def term(self, term: Node, names: dict[Node, Variable]) -> Term:
        """A constant, or the variable for an N3 variable or blank node. Adds new variables to ``names``."""
        if isinstance(term, URIRef | RdfLiteral):
            known = constant(term)
            assert known is not None
            return known
        if term not in names:
            if not isinstance(term, BNode | N3Variable):
                self.complain(f"{_shown(term)}: formulas are no values here", "state it with triples")
            names[term] = variable(term, names.values())
        return names[term]

    def _place(self, name: Node | None) -> Span | None:
        """The first occurrence in the text of the local name, after ``:`` or ``#``. None if there is none."""
        local = re.split(r"[#/]", str(name))[-1] if name is not None else ""
        found = re.search(rf"[:#]{re.escape(local)}\b", self._text) if local else None
        if found is None:
            return None
        line = self._text.count("\n", 0, found.start()) + 1
        column = found.start() - self._text.rfind("\n", 0, found.start())
        return Span(self._source, line, column, _line(self._text, line))


def _lists(triples: Iterable[N3Triple]) -> dict[Node, list[Node]]:
    """First cell -> items, for the lists whose cells are all among the triples; and rdf:nil -> no items."""
    firsts: dict[Node, Node] = {s: o for s, p, o in triples if p == RDF_NAMES.first and isinstance(s, BNode)}
    rests = {s: o for s, p, o in triples if p == RDF_NAMES.rest}
    found: dict[Node, list[Node]] = {RDF_NAMES.nil: []}
    for head in firsts:
        items: list[Node] = []
        cell: Node = head
        while cell in firsts and cell in rests and len(items) <= len(firsts):
            items.append(firsts[cell])
            cell = rests[cell]
        if cell == RDF_NAMES.nil:
            found[head] = items
    return found


def _cells(head: Node, triples: Iterable[N3Triple]) -> list[Node]:
    rests = {s: o for s, p, o in triples if p == RDF_NAMES.rest}
    cells = [head]
    while (following := rests.get(cells[-1])) in rests:
        assert following is not None
        cells.append(following)
    return cells


def _shown(term: Node) -> str:
    if isinstance(term, QuotedGraph):
        return "{ ... }"
    return f"?{term}" if isinstance(term, N3Variable) else cast("URIRef", term).n3()
