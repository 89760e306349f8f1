"""SWRL rules (swrl:Imp) of an ontology, in the RDF syntax of the W3C member submission of 2004.

Class atoms, property atoms, owl:sameAs and owl:differentFrom become triples. A named datatype becomes
``VALUE``. Builtins (swrlb:) become FILTER and BIND: see ``TESTS`` and ``COMPUTED``. A rule with an empty
head is a constraint. Other atoms are refused with an error that names them.

SWRL requires safe rules: a variable of the head occurs in the body. ``corollary.language.check`` reports
violations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from rdflib import OWL, RDF, RDFS, XSD, Graph, Namespace
from rdflib.term import BNode, Node, URIRef

from corollary.importers.builtins import (
    COMPARISONS,
    Computed,
    Inapplicable,
    Test,
    elements,
    folded,
    function,
    joined,
    without_case,
)
from corollary.importers.rdflib_terms import constant, variable
from corollary.language.errors import Diagnostic, Hint, InputError, RuleError
from corollary.language.model import (
    BodyElement,
    Builtin,
    Expression,
    Filter,
    Rule,
    Term,
    Triple,
    Variable,
)
from corollary.language.printer import format_rule
from corollary.language.program import Program
from corollary.language.variables import variables

__all__ = ["swrl_rules"]

SWRL = Namespace("http://www.w3.org/2003/11/swrl#")
SWRLB = "http://www.w3.org/2003/11/swrlb#"
ENABLED = URIRef("http://swrl.stanford.edu/ontologies/3.3/swrla.owl#isRuleEnabled")
"""Annotation of a rule. Editors set it to false to disable the rule."""

_XML = re.compile(rb"(\xef\xbb\xbf)?\s*<(\?xml|!|\w+:RDF)")

TESTS: dict[str, Test] = {
    "equal": COMPARISONS["="],
    "notEqual": COMPARISONS["!="],
    "lessThan": COMPARISONS["<"],
    "lessThanOrEqual": COMPARISONS["<="],
    "greaterThan": COMPARISONS[">"],
    "greaterThanOrEqual": COMPARISONS[">="],
    "stringEqualIgnoreCase": without_case(COMPARISONS["="]),
    "contains": function("contains", 2),
    "containsIgnoreCase": without_case(function("contains", 2)),
    "startsWith": function("strstarts", 2),
    "endsWith": function("strends", 2),
    "matches": function("regex", 2, 3),
}
"""Builtins that test their arguments."""

COMPUTED: dict[str, Test] = {
    "add": folded("+"),
    "subtract": function("-", 2),
    "multiply": folded("*"),
    "divide": function("/", 2),
    "unaryPlus": function("+", 1),
    "unaryMinus": function("-", 1),
    "abs": function("abs", 1),
    "ceiling": function("ceil", 1),
    "floor": function("floor", 1),
    "round": function("round", 1),
    "booleanNot": function("!", 1),
    "stringConcat": joined,
    "stringLength": function("strlen", 1),
    "upperCase": function("ucase", 1),
    "lowerCase": function("lcase", 1),
    "substring": function("substr", 2, 3),
    "substringBefore": function("strbefore", 2),
    "substringAfter": function("strafter", 2),
    "replace": function("replace", 3, 4),
}
"""Builtins that compute their first argument from the others."""


def swrl_rules(graph: Graph) -> Program:
    """The rules of all swrl:Imp in a graph, ordered by name. Disabled rules are left out.

    A rule is named by its rdfs:label or its IRI. Rules without a name come last and are named ``swrl-i``, by
    their position among all rules. A class may be a blank node: such a rule is meaningful only in the store
    of that graph. Raises RuleError with all atoms that the rule language does not support.
    """
    diagnostics: list[Diagnostic] = []
    rules = []
    for node in graph.subjects(RDF.type, SWRL.Imp):
        if not any(str(value) in ("false", "0") for value in graph.objects(node, ENABLED)):
            reader = _Reader(graph, _name(graph, node), diagnostics)
            rules.append(reader.rule(node))
    if diagnostics:
        raise RuleError(tuple(sorted(set(diagnostics), key=str)))
    rules.sort(key=lambda rule: (not rule.name, rule.name, format_rule(rule)))
    named = [rule if rule.name else rule.named(f"swrl-{i}") for i, rule in enumerate(rules, 1)]
    prefixes = ((prefix, str(namespace)) for prefix, namespace in graph.namespaces() if prefix != "xml")
    return Program(tuple(named), tuple(prefixes), "swrl")


def swrl_file(path: Path) -> Program:
    """The rules of an ontology file (RDF/XML or Turtle). The program is named after the file.

    Raises InputError if the file cannot be read, has no rule, or a rule with a blank node as class or
    datatype. Raises RuleError as ``swrl_rules``.
    """
    graph = Graph(bind_namespaces="none")
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the ontology {path}: {error.strerror}") from None
    format = "xml" if _XML.match(text) else "turtle"  # .owl files have either syntax
    try:
        graph.parse(data=text, format=format, publicID=path.absolute().as_uri())
    except RecursionError:
        raise InputError(f"cannot read the ontology {path}: its lists or nodes are nested too deep") from None
    except Exception as error:  # each parser of rdflib raises its own classes
        read = "RDF/XML" if format == "xml" else "Turtle"
        raise InputError(
            f"cannot read the ontology {path} as {read}: {error}\n"
            "  help: SWRL rules are read from RDF/XML and Turtle; convert other formats"
        ) from None
    for predicate in (SWRL.classPredicate, SWRL.dataRange):
        if any(isinstance(value, BNode) for value in graph.objects(None, predicate)):
            message = f"{path}: a rule is about a class without a name, which only its own graph knows"
            raise InputError(Diagnostic(message, hint=Hint.NAME_CLASS))
    program = swrl_rules(graph)
    if not program.rules:
        raise InputError(
            f"the ontology {path} has no SWRL rules: no swrl:Imp is there and switched on\n"
            "  help: what is no rule is data: load it as such; profiles such as owl2rl are rules for a schema"
        )
    return Program(program.rules, program.prefixes, path.stem)


def _name(graph: Graph, node: Node) -> str:
    """The label of a rule, else the last part of its IRI, else "". Spaces become hyphens."""
    labels = sorted(map(str, graph.objects(node, RDFS.label)))
    name = labels[0] if labels else re.split(r"[#/]", str(node))[-1] if isinstance(node, URIRef) else ""
    return "-".join(name.split())


class _Reader:
    """Translates one swrl:Imp into a rule. Errors are appended to ``diagnostics``."""

    def __init__(self, graph: Graph, name: str, diagnostics: list[Diagnostic]) -> None:
        self._graph = graph
        self._name = name
        self._diagnostics = diagnostics
        self._names: dict[Node, Variable] = {}
        self._computed: list[Computed] = []

    def rule(self, node: Node) -> Rule:
        body = [element for atom in self._items(node, SWRL.body) if (element := self._atom(atom))]
        bound = {v for element in body if not isinstance(element, Filter) for v in variables(element)}
        heads = []
        for atom in self._items(node, SWRL.head):
            head = self._atom(atom)
            if isinstance(head, Triple):
                heads.append(head)
            else:
                self._complain(
                    "a head has an atom that only tests", "leave classes and properties in the head"
                )
        body.sort(key=lambda element: isinstance(element, Filter))
        return Rule(tuple(heads), (*body, *elements(self._computed, bound)), self._name)

    def _items(self, node: Node, predicate: Node) -> list[Node]:
        lists = list(self._graph.objects(node, predicate))
        if len(lists) > 1:
            self._complain("it has several heads or bodies", "an Imp has one list for each")
        return [item for head in lists for item in self._graph.items(head)]

    def _atom(self, atom: Node) -> BodyElement | None:
        """The body element; None for a computation (kept in ``_computed``) or an unsupported atom."""
        readers: dict[Node, Callable[[Node], BodyElement | None]] = {
            SWRL.ClassAtom: self._class_atom,
            SWRL.IndividualPropertyAtom: self._property_atom,
            SWRL.DatavaluedPropertyAtom: self._property_atom,
            SWRL.SameIndividualAtom: lambda node: self._pair(node, OWL.sameAs),
            SWRL.DifferentIndividualsAtom: lambda node: self._pair(node, OWL.differentFrom),
            SWRL.DataRangeAtom: self._range_atom,
            SWRL.BuiltinAtom: self._builtin,
        }
        for kind in sorted(self._graph.objects(atom, RDF.type), key=str):
            if kind in readers:
                return readers[kind](atom)
        known = ", ".join(str(kind).removeprefix(SWRL) for kind in readers)
        self._complain(f"an atom is of no kind that is known: {atom}", f"the kinds are {known}")
        return None

    def _class_atom(self, atom: Node) -> Triple:
        kind = self._constant(self._only(atom, SWRL.classPredicate))
        return Triple(self._term(atom, SWRL.argument1), self._constant(RDF.type), kind)

    def _property_atom(self, atom: Node) -> Triple:
        return self._pair(atom, self._only(atom, SWRL.propertyPredicate))

    def _pair(self, atom: Node, predicate: Node) -> Triple:
        first, second = self._term(atom, SWRL.argument1), self._term(atom, SWRL.argument2)
        return Triple(first, self._constant(predicate), second)

    def _range_atom(self, atom: Node) -> Builtin | None:
        datatype = self._only(atom, SWRL.dataRange)
        if isinstance(datatype, BNode):
            self._complain("a data range is not a named datatype", f"use one such as {XSD.integer}")
            return None
        return Builtin("VALUE", (self._term(atom, SWRL.argument1), self._constant(datatype)))

    def _builtin(self, atom: Node) -> Filter | None:
        name = str(self._only(atom, SWRL.builtin)).removeprefix(SWRLB)
        lists = self._graph.objects(atom, SWRL.arguments)
        arguments: list[Expression] = [
            self._value(item) for head in lists for item in self._graph.items(head)
        ]
        try:
            if name in TESTS:
                return Filter(TESTS[name](arguments))
            if name in COMPUTED and arguments:
                self._computed.append(Computed(COMPUTED[name](arguments[1:]), arguments[0]))
                return None
        except Inapplicable as reason:
            self._complain(f"{name}: {reason}", "see its arguments, the result being the first")
            return None
        known = ", ".join(sorted((*TESTS, *COMPUTED)))
        self._complain(f"the builtin {name} is outside of the rule language", f"the builtins are {known}")
        return None

    def _term(self, atom: Node, place: Node) -> Term:
        return self._value(self._only(atom, place))

    def _value(self, node: Node) -> Term:
        """The variable of a swrl:Variable, else a constant."""
        if (node, RDF.type, SWRL.Variable) not in self._graph:
            return self._constant(node)
        if node not in self._names:
            self._names[node] = variable(node, self._names.values())
        return self._names[node]

    def _only(self, atom: Node, predicate: Node) -> Node:
        found = sorted(self._graph.objects(atom, predicate), key=str)
        if len(found) == 1:
            return found[0]
        self._complain(f"an atom has {len(found)} values of {predicate}", "it needs one")
        return RDF.nil

    def _constant(self, node: Node) -> Term:
        term = constant(node)
        assert term is not None, f"{node!r} is no RDF term"
        return term

    def _complain(self, message: str, remedy: str) -> None:
        rule = f"the SWRL rule {self._name}" if self._name else "a SWRL rule without a name"
        self._diagnostics.append(Diagnostic(f"{rule}: {message}", None, remedy))
