"""A sentence for each rule of the profiles: what an instance of the rule says, in the words of its terms.

A name in braces is a variable of the rule. Rules that share a label may have different variables: the first
sentence all of whose variables are bound is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_EQUAL = "{x} and {y} are equal"
_SUBCLASS = "{c1} is a subclass of {c2}"
_FILLERS = " because their restrictions on {p} have fillers of which one includes the other"
_PROPERTIES = " because they restrict {p1} and its superproperty {p2}"
_CLASH = "{x} is a {c1} and a {c2}, which are disjoint"
_SAME_VALUES = "{v1} and {v2} are equal, as a {c} has at most one value of {p}"
_NO_VALUE = "{u} is a {c}, and has {v} as a value of {p}"
_AT_LEAST_AS_WIDE = "what has {p1} has {p2}, a superproperty"

SENTENCES: Mapping[str, tuple[str, ...]] = {
    "eq-ref": ("everything is equal to itself",),
    "eq-sym": (f"{_EQUAL}, in both directions",),
    "eq-trans": ("{x} is equal to {y}, which is equal to {z}", "{x} is equal to {z}, step by step"),
    "eq-rep-s": ("{s1} and {s2} are equal, so they are subjects of the same facts",),
    "eq-rep-p": ("{p1} and {p2} are equal, so they are predicates of the same facts",),
    "eq-rep-o": ("{o1} and {o2} are equal, so they are objects of the same facts",),
    "eq-diff1": (f"{_EQUAL}, and are said to be different", "{x} is said to be different from itself"),
    "eq-diff2": (f"{_EQUAL}, and are listed as different", "{x} is listed twice among things that differ"),
    "eq-diff3": (f"{_EQUAL}, and are listed as different", "{x} is listed twice among things that differ"),
    "prp-ap": ("this is an annotation property of OWL",),
    "prp-dom": ("what has {p} is a {c}",),
    "prp-rng": ("a value of {p} is a {c}",),
    "prp-fp": ("{p} is functional: {x} has one value of it, so {y1} and {y2} are equal",),
    "prp-ifp": ("{p} is inverse functional: {y} is the value of one thing, so {x1} and {x2} are equal",),
    "prp-irp": ("{p} is irreflexive, and {x} has itself as a value of it",),
    "prp-symp": ("{p} is symmetric",),
    "prp-asyp": ("{p} is asymmetric, and holds between {x} and {y} in both directions",),
    "prp-trp": ("{p} is transitive",),
    "prp-spo1": ("{p1} is a subproperty of {p2}",),
    "prp-spo2": ("a chain of properties leads from {x} to {y}, and implies {p}",),
    "prp-eqp1": ("{p1} and {p2} are equivalent",),
    "prp-eqp2": ("{p1} and {p2} are equivalent",),
    "prp-pdw": ("{x} has {y} as a value of {p1} and of {p2}, which are disjoint",),
    "prp-adp": ("{x} has {y} as a value of {p1} and of {p2}, which are disjoint",),
    "prp-inv1": ("{p1} and {p2} are inverse to each other",),
    "prp-inv2": ("{p1} and {p2} are inverse to each other",),
    "prp-key": ("{x} and {y} are equal, as they are {c} and agree in its key",),
    "prp-npa1": ("{x} has {y} as a value of {p}, which is denied",),
    "prp-npa2": ("{x} has {v} as a value of {p}, which is denied",),
    "cls-thing": ("owl:Thing is a class",),
    "cls-nothing1": ("owl:Nothing is a class",),
    "cls-nothing2": ("{x} is a member of owl:Nothing, which has no members",),
    "cls-int1": ("{y} is a member of every part of the intersection {c}",),
    "cls-int2": ("a {c} is a {d}, which is a part of the intersection",),
    "cls-uni": ("a {d} is a {c}, the union of which {d} is a part",),
    "cls-com": ("{x} is a {c1} and a {c2}, which are complements",),
    "cls-svf1": ("{u} has a value of {p} that is a {d}, so it is a {c}",),
    "cls-svf2": ("{u} has a value of {p}, so it is a {c}",),
    "cls-avf": ("{u} is a {c}, so its values of {p} are {d}",),
    "cls-hv1": ("a {c} has {v} as a value of {p}",),
    "cls-hv2": ("what has {v} as a value of {p} is a {c}",),
    "cls-maxc1": (f"{_NO_VALUE}, but may have none",),
    "cls-maxc2": (_SAME_VALUES,),
    "cls-maxqc1": (f"{_NO_VALUE}, but may have none that is a {{d}}",),
    "cls-maxqc2": (f"{_NO_VALUE}, but may have none",),
    "cls-maxqc3": (f"{_SAME_VALUES} that is a {{d}}",),
    "cls-maxqc4": (_SAME_VALUES,),
    "cls-oo": ("{y} is listed among the members of {c}",),
    "cax-sco": ("{c1} is a subclass of {c2}",),
    "cax-eqc1": ("{c1} and {c2} are equivalent",),
    "cax-eqc2": ("{c1} and {c2} are equivalent",),
    "cax-dw": (_CLASH,),
    "cax-adc": (_CLASH,),
    "dt-type1": ("this is a datatype that OWL 2 RL supports",),
    "dt-type2": ("{v} is a value of {d}",),
    "dt-eq": ("{v} and {w} denote the same value",),
    "dt-diff": ("{v} and {w} denote different values",),
    "dt-not-type": ("{v} is not a value of {d}", "{v} is not written like a value of its datatype"),
    "scm-cls": ("{c} is a class", "owl:Thing includes every class, and owl:Nothing none"),
    "scm-op": ("{p} is an object property",),
    "scm-dp": ("{p} is a datatype property",),
    "scm-sco": ("{c1} is a subclass of {c2}, which is a subclass of {c3}", "{c1} is a subclass of {c3}"),
    "scm-eqc1": ("{c1} and {c2} are equivalent",),
    "scm-eqc2": ("{c1} and {c2} are subclasses of each other", "{c} is a subclass of itself"),
    "scm-spo": ("{p1} is a subproperty of {p2}, which is one of {p3}", "{p1} is a subproperty of {p3}"),
    "scm-eqp1": ("{p1} and {p2} are equivalent",),
    "scm-eqp2": ("{p1} and {p2} are subproperties of each other", "{p} is a subproperty of itself"),
    "scm-dom1": ("what has {p} is a {c1}, and so a {c2}",),
    "scm-dom2": (f"{_AT_LEAST_AS_WIDE}, and is a {{c}}",),
    "scm-rng1": ("a value of {p} is a {c1}, and so a {c2}",),
    "scm-rng2": ("a value of {p1} is one of {p2}, a superproperty, and is a {c}",),
    "scm-hv": (f"{_SUBCLASS}{_PROPERTIES}", f"{_SUBCLASS}: both have {{v}} as a value of {{p}}"),
    "scm-svf1": (f"{_SUBCLASS}{_FILLERS}",),
    "scm-svf2": (f"{_SUBCLASS}{_PROPERTIES}",),
    "scm-avf1": (f"{_SUBCLASS}{_FILLERS}",),
    "scm-avf2": (f"{{c2}} is a subclass of {{c1}}{_PROPERTIES}",),
    "scm-int": ("{c} is the intersection of {d} and others",),
    "scm-uni": ("{c} is the union of {d} and others",),
    "rdf-axiom": ("this is an axiom of RDF",),
    "rdfs-axiom": ("{p} is a property of container members", "this is an axiom of RDFS"),
    "rdfs1": ("this is a datatype of RDF",),
    "rdfD1": ("{v} is a value of the datatype {d}",),
    "rdfD2": ("{p} is the predicate of a triple, so it is a property",),
    "rdfs2": ("what has {p} is a {c}",),
    "rdfs3": ("a value of {p} is a {c}",),
    "rdfs4a": ("{x} is the subject of a triple, so it is a resource",),
    "rdfs4b": ("{y} is the object of a triple, so it is a resource",),
    "rdfs5": ("{p1} is a subproperty of {p2}, which is one of {p3}", "{p1} is a subproperty of {p3}"),
    "rdfs6": ("every property, such as {p}, is a subproperty of itself",),
    "rdfs7": ("{p1} is a subproperty of {p2}",),
    "rdfs8": ("every class, such as {c}, is a subclass of rdfs:Resource",),
    "rdfs9": ("{c1} is a subclass of {c2}",),
    "rdfs10": ("every class, such as {c}, is a subclass of itself",),
    "rdfs11": ("{c1} is a subclass of {c2}, which is a subclass of {c3}", "{c1} is a subclass of {c3}"),
    "rdfs12": ("{p} is a property of container members, and so a subproperty of rdfs:member",),
    "rdfs13": ("{d} is a datatype, and so a subclass of rdfs:Literal",),
    "skos-S4": ("{x} is in the scheme {y}",),
    "skos-S5": ("{x} has a top concept, so it is a concept scheme",),
    "skos-S6": ("{y} is a top concept, so it is a concept",),
    "skos-S7": ("{x} is a top concept of {y}, so it is in this scheme",),
    "skos-S8": ("'has top concept' and 'is top concept of' are inverse to each other",),
    "skos-schema": ("{x} is a top concept of the scheme {y}",),
    "skos-S19": ("{x} has a semantic relation, so it is a concept",),
    "skos-S20": ("{y} is in a semantic relation, so it is a concept",),
    "skos-S21": ("{x} and {y} are related as concepts, which is a semantic relation",),
    "skos-S22": ("one step up or down the hierarchy, from {x} to {y}, is a path",),
    "skos-S23": ("'related' is symmetric",),
    "skos-S24": ("steps in the hierarchy lead from {x} to {z}",),
    "skos-S25": ("'broader' and 'narrower' are inverse to each other",),
    "skos-S26": ("'broader' and 'narrower' are inverse to each other, along paths too",),
    "skos-S29": ("an ordered collection, such as {x}, is a collection",),
    "skos-S31": ("{x} has a member, so it is a collection",),
    "skos-S33": ("{x} has a list of members, so it is an ordered collection",),
    "skos-S34": ("{y} is the list of members of {x}, so it is a list",),
    "skos-S39": ("{x} is mapped to {y}, which is a semantic relation",),
    "skos-S40": ("{x} matches {y}, which is a mapping relation",),
    "skos-S41": ("a match of concepts, such as {x} and {y}, implies the relation of its name",),
    "skos-S42": ("an exact match, such as {x} and {y}, is a close match",),
    "skos-S43": ("'broad match' and 'narrow match' are inverse to each other",),
    "skos-S44": ("the match of {x} and {y} is symmetric",),
    "skos-S45": ("exact matches lead from {x} to {z}",),
}

_FIELD = re.compile(r"\{(\w+)\}")


def sentence(label: str, bindings: Mapping[str, int], name: Callable[[int], str]) -> str:
    """What an instance of a rule says; empty if its rule has no sentence. ``name`` prints a term id."""
    for template in SENTENCES.get(label, ()):
        if all(field in bindings for field in _FIELD.findall(template)):
            return _FIELD.sub(lambda found: name(bindings[found[1]]), template)
    return ""
