"""Other people's reasoners over the same facts: owlrl's OWL 2 RL closure.

owlrl answers a little more than ``owl2rl`` and, where it has gaps, a little less. ``is_clutter``
says exactly which of its additional facts ``owl2rl`` leaves out by intention; ``MISTAKES`` lists
where owlrl departs from the W3C rules, so that tests stay away from there.
"""

from __future__ import annotations

from collections.abc import Iterable

import owlrl
import rdflib

from corollary.language.model import IRI, OWL, RDF, RDF_TYPE, RDFS, XSD, BlankNode, Constant, Literal

Fact = tuple[Constant, Constant, Constant]

MISTAKES = {
    "scm-sco": "a class that is below itself through another one is not found to be so",
    "scm-spo": "nor is a property",
    "prp-key": "the last property of a key is not compared",
    "prp-adp": "the last property of owl:AllDisjointProperties is not compared",
    "eq-diff2": "the last member of owl:AllDifferent is not compared",
    "eq-diff3": "the last distinct member of owl:AllDifferent is not compared",
    "dt-eq": "literals with one value are not made the same",
    "dt-diff": "literals with two values are not made different",
    "dt-not-type": "values are checked once, before anything is inferred, and by Python's parsers",
}
"""W3C rule -> how owlrl 7 departs from it."""

REFLEXIVE = {
    IRI(OWL + "sameAs"),
    IRI(OWL + "equivalentClass"),
    IRI(OWL + "equivalentProperty"),
    IRI(RDFS + "subClassOf"),
    IRI(RDFS + "subPropertyOf"),
}
THING, NOTHING, CLASS = IRI(OWL + "Thing"), IRI(OWL + "Nothing"), IRI(OWL + "Class")
SUBCLASS, DATATYPE = IRI(RDFS + "subClassOf"), IRI(RDFS + "Datatype")
OF_THING = {RDF_TYPE, SUBCLASS, IRI(RDFS + "domain"), IRI(RDFS + "range")}
ANNOTATION_PROPERTIES = {IRI(str(term)) for term in owlrl.OWLRL.OWLRL_Annotation_properties}


class _Semantics(owlrl.OWLRL_Semantics):  # type: ignore[misc]
    """owlrl's OWL 2 RL, its messages of inconsistency kept beside the graph instead of in it."""

    def post_process(self) -> None:
        super().post_process()
        self.messages: list[str] = list(self.error_messages)
        self.error_messages.clear()


def owlrl_closure(facts: Iterable[Fact]) -> tuple[set[Fact], list[str]]:
    """What owlrl infers from the facts, given ones included, and its messages of inconsistency.

    Without axiomatic triples. Facts with a literal for a subject are among the answer, facts with a
    blank node for a predicate are not.
    """
    nodes: dict[Constant, rdflib.term.Node] = {}
    graph = rdflib.Graph()
    for fact in facts:
        for term in fact:
            if term not in nodes:
                nodes[term] = _node(term)
        graph.add((nodes[fact[0]], nodes[fact[1]], nodes[fact[2]]))
    constants = {node: constant for constant, node in nodes.items()}
    semantics = _Semantics(graph, axioms=False, daxioms=False)
    semantics.closure()

    def constant(node: rdflib.term.Node) -> Constant:
        # All that owlrl brings in by itself are IRIs of the standard vocabularies.
        return constants[node] if node in constants else IRI(str(node))

    return {(constant(s), constant(p), constant(o)) for s, p, o in graph}, semantics.messages


def _node(constant: Constant) -> rdflib.term.Node:
    match constant:
        case IRI(value):
            return rdflib.URIRef(value)
        case BlankNode(label):
            return rdflib.BNode(label)
        case Literal(lexical, datatype, language):
            kind = rdflib.URIRef(datatype) if datatype else None
            return rdflib.Literal(lexical, lang=language, datatype=kind, normalize=False)


def is_clutter(fact: Fact) -> bool:
    """Whether owlrl may infer the fact while ``owl2rl`` leaves it out by intention."""
    subject, predicate, object_ = fact
    return (
        isinstance(subject, Literal)  # no RDF
        or is_reflexive(fact)  # eq-ref, scm-cls, scm-op, scm-dp
        or (object_ == THING and predicate in OF_THING)  # scm-cls, and what follows from it alone
        or (subject == NOTHING and predicate == SUBCLASS)  # scm-cls
        or (subject in (THING, NOTHING) and predicate == RDF_TYPE and object_ == CLASS)  # cls-thing
        or (subject in ANNOTATION_PROPERTIES and fact[1:] == (RDF_TYPE, IRI(OWL + "AnnotationProperty")))
        or (is_datatype(subject) and fact[1:] == (RDF_TYPE, DATATYPE))  # dt-type1
        or (is_datatype(subject) and is_datatype(object_) and predicate == IRI(OWL + "disjointWith"))
    )


def is_reflexive(fact: Fact) -> bool:
    """Whether the fact says that something is the same as, or not above, itself."""
    subject, predicate, object_ = fact
    return subject == object_ and predicate in REFLEXIVE


def is_datatype(term: Constant) -> bool:
    return isinstance(term, IRI) and (
        term.value.startswith(XSD)
        or term.value.removeprefix(RDF) in ("PlainLiteral", "XMLLiteral", "langString", "HTML")
        or term.value == RDFS + "Literal"
    )
