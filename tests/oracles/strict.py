"""OWL 2 RL by the letter: an oracle from the W3C's text, independent of the engine and its rule files.

``closure(triples)`` gives everything that follows by tables 4 to 9 of OWL 2 Profiles (section 4.3), and all
clashes. ``Closure`` is the same on numbers for terms, for programs that compare many states. Every rule is
Python code over indexes; each new triple triggers the rules that it can complete. Rules about lists run when
the others have come to rest.

Decisions:

* Triples are generalised: literals may be subjects and predicates. Terms are equal if rdflib says so, which
  makes language tags that differ in case one.
* LIST[h, e1 ... en] are the triples of a path along rdf:rest from h to rdf:nil that leaves no cell twice.
  Positions are its cells; the item at one is any rdf:first of the cell, and each cell has at least one.
  eq-diff2, eq-diff3, cax-adc and prp-adp compare items at two positions of one path. An empty list
  concludes nothing. A clash holds the path's rdf:rest and the rdf:first of the two items only.
* A cardinality is a literal of a numeral type with the value 0 or 1.
* Values are compared by identity. Decimals, floats and doubles are disjoint, and so are strings, strings with
  a language, and the values of xsd:anyURI. A number too large or small for a float is rounded, not ill-typed.
* Datatypes are those of OWL 2 RL; rdf:langString is one too, but dt-type1 does not name it. Of literals of
  others nothing is known.
* dt-type2, dt-eq and dt-diff speak of the literals that occur in the triples. A literal that is ill-typed for
  its own datatype d clashes, and its premise is (literal, rdf:type, d) even if no triple says so. So does any
  derived (literal, rdf:type, d) with a value not in d.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import date, timedelta
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from xml.etree import ElementTree

from rdflib import OWL, RDF, RDFS, XSD, Literal, URIRef
from rdflib.term import Node

Triple = tuple[Node, Node, Node]
Clash = tuple[str, frozenset[Triple]]
Fact = tuple[int, int, int]
Core = tuple[str, frozenset[Fact]]
Neighbours = dict[int, list[int]]

# Values of literals

_NUMERAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_SPECIAL = {"INF": float("inf"), "+INF": float("inf"), "-INF": float("-inf"), "NaN": float("nan")}
_BOOLEAN = {"true": True, "1": True, "false": False, "0": False}
_LANGUAGE = re.compile(r"[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*", re.ASCII)
_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_LATER = _START + r"\-.0-9\u00b7\u0300-\u036f\u203f-\u2040"
_TOKEN = re.compile(r"([^\t\n\r ]+( [^\t\n\r ]+)*)?")
_DATE_TIME = re.compile(
    r"(-?(?:[1-9][0-9]{3,}|0[0-9]{3}))-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]+)?)"
    r"(Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?",
    re.ASCII,
)
_HEX = re.compile(r"([0-9a-fA-F]{2})*", re.ASCII)
_BASE64 = re.compile(
    r"((?:[A-Za-z0-9+/] ?){4})*((?:[A-Za-z0-9+/] ?){2}[A-Za-z0-9+/] ?=|[A-Za-z0-9+/] ?[AQgw] ?= ?=)?"
)

_RANGES: dict[URIRef, tuple[int | None, int | None]] = {
    XSD.integer: (None, None),
    XSD.nonNegativeInteger: (0, None),
    XSD.nonPositiveInteger: (None, 0),
    XSD.positiveInteger: (1, None),
    XSD.negativeInteger: (None, -1),
    XSD.long: (-(2**63), 2**63 - 1),
    XSD.int: (-(2**31), 2**31 - 1),
    XSD.short: (-(2**15), 2**15 - 1),
    XSD.byte: (-(2**7), 2**7 - 1),
    XSD.unsignedLong: (0, 2**64 - 1),
    XSD.unsignedInt: (0, 2**32 - 1),
    XSD.unsignedShort: (0, 2**16 - 1),
    XSD.unsignedByte: (0, 2**8 - 1),
}
_PATTERNS: dict[URIRef, re.Pattern[str]] = {
    XSD.string: re.compile(r"[\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*"),
    XSD.normalizedString: re.compile(r"[\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*"),
    XSD.token: _TOKEN,
    XSD.language: _LANGUAGE,
    XSD.Name: re.compile(f"[:{_START}][:{_LATER}]*"),
    XSD.NCName: re.compile(f"[{_START}][{_LATER}]*"),
    XSD.NMTOKEN: re.compile(f"[:{_LATER}]+"),
}
DATATYPES: tuple[URIRef, ...] = (
    *(RDF.PlainLiteral, RDF.XMLLiteral, RDF.langString, RDFS.Literal, XSD.decimal, *_RANGES),
    *(XSD.float, XSD.double, *_PATTERNS, XSD.boolean, XSD.hexBinary, XSD.base64Binary, XSD.anyURI),
    *(XSD.dateTime, XSD.dateTimeStamp),
)

Value = tuple[object, ...]
"""The primitive type and what tells its values apart. Two values are identical if the tuples are equal."""


class IllTyped(Exception):
    """A literal has no value, as its text is not in the lexical space of its datatype."""


def value(literal: Literal) -> Value | None:
    """None if nothing is known of the datatype. Raises ``IllTyped``."""
    text = str(literal)
    if literal.language:
        return "lang", text, literal.language.lower()
    kind = literal.datatype
    if kind is None:
        return "string", text
    if kind == RDFS.Literal or kind not in DATATYPES:
        return None
    found = _value(text, kind)
    if found is None:
        raise IllTyped(literal)
    return found


def _value(text: str, kind: URIRef) -> Value | None:
    if kind in _RANGES:
        if not _INTEGER.fullmatch(text) or not _is_within(int(text), kind):
            return None
        return "decimal", Fraction(int(text))
    if kind == XSD.decimal:
        return ("decimal", Fraction(text)) if _NUMERAL.fullmatch(text) else None
    if kind in (XSD.float, XSD.double):
        return _floating(text, kind)
    if kind == XSD.boolean:
        return ("boolean", _BOOLEAN[text]) if text in _BOOLEAN else None
    if kind in _PATTERNS:
        return ("string", text) if _PATTERNS[kind].fullmatch(text) else None
    if kind == RDF.PlainLiteral:
        content, at, tag = text.rpartition("@")
        if not at or (tag and not _LANGUAGE.fullmatch(tag)):
            return None
        return ("lang", content, tag.lower()) if tag else ("string", content)
    if kind in (XSD.dateTime, XSD.dateTimeStamp):
        return _date_time(text, needs_zone=kind == XSD.dateTimeStamp)
    if kind == XSD.hexBinary:
        return ("hexBinary", text.lower()) if _HEX.fullmatch(text) else None
    if kind == XSD.base64Binary:
        return ("base64Binary", text.replace(" ", "")) if _BASE64.fullmatch(text) else None
    if kind == XSD.anyURI:
        return None if text.startswith(":") else ("anyURI", text)
    if kind == RDF.XMLLiteral:
        try:
            return "xml", ElementTree.canonicalize(f"<x>{text}</x>")
        except ElementTree.ParseError:
            return None
    return None  # rdf:langString without a language


def _is_within(number: int, kind: URIRef) -> bool:
    least, most = _RANGES[kind]
    return (least is None or number >= least) and (most is None or number <= most)


def _floating(text: str, kind: URIRef) -> Value | None:
    """NaN is identical to itself, and 0 is not -0: bits tell them apart."""
    if text not in _SPECIAL and not _FLOAT.fullmatch(text):
        return None
    number = _SPECIAL.get(text)
    if number is None:
        number = float(text)
    if kind == XSD.double:
        return "double", struct.pack(">d", number)
    if text not in _SPECIAL:
        return "float", _single(Fraction(text), text.startswith("-"))
    return "float", struct.pack(">f", number)


def _single(exact: Fraction, is_negative: bool) -> bytes:
    """The nearest float of 32 bits, of two the even one. Bits of positive floats count upwards."""

    def size(bits: int) -> Fraction:
        if bits == 0x7F800000:
            return Fraction(2**128)
        return Fraction(struct.unpack(">f", struct.pack(">I", bits))[0])

    low, high, wanted = 0, 0x7F800000, abs(exact)
    if wanted >= size(high):
        low = high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if size(middle) <= wanted else (low, middle)
    if low < 0x7F800000:
        below, above = wanted - size(low), size(low + 1) - wanted
        low += above < below or (above == below and low % 2 == 1)
    return struct.pack(">I", low | (0x80000000 if is_negative else 0))


def _date_time(text: str, *, needs_zone: bool) -> Value | None:
    """The local time and the zone: the same instant in another zone is another value."""
    found = _DATE_TIME.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute = (int(part) for part in found.groups()[:5])
    second, zone = Fraction(found[6]), found[7]
    if zone is None and needs_zone:
        return None
    offset = None
    if zone is not None:
        offset = 0 if zone == "Z" else int(zone[0] + "1") * (int(zone[1:3]) * 60 + int(zone[4:]))
    is_midnight = hour == 24 and minute == 0 and second == 0
    if not (is_midnight or hour < 24) or minute > 59 or second >= 60:
        return None
    alike = 2000 + year % 400  # the calendar repeats itself
    try:
        local = date(alike, month, day) + timedelta(days=1 if is_midnight else 0)
    except ValueError:
        return None
    return "dateTime", year + local.year - alike, local.month, local.day, hour % 24, minute, second, offset


def is_of(found: Value, kind: URIRef) -> bool:
    """Whether a value is in the value space of a supported datatype."""
    primitive = found[0]
    if kind == RDFS.Literal:
        return True
    if kind in _RANGES:
        number = found[1]
        return isinstance(number, Fraction) and number.denominator == 1 and _is_within(int(number), kind)
    if kind in _PATTERNS:
        return primitive == "string" and bool(_PATTERNS[kind].fullmatch(str(found[1])))
    if kind == RDF.PlainLiteral:
        return primitive in ("string", "lang")
    if kind == XSD.dateTimeStamp:
        return primitive == "dateTime" and found[-1] is not None
    return primitive == _PRIMITIVES[kind]


_PRIMITIVES = {
    RDF.XMLLiteral: "xml",
    RDF.langString: "lang",
    XSD.decimal: "decimal",
    XSD.float: "float",
    XSD.double: "double",
    XSD.boolean: "boolean",
    XSD.hexBinary: "hexBinary",
    XSD.base64Binary: "base64Binary",
    XSD.anyURI: "anyURI",
    XSD.dateTime: "dateTime",
}


# Terms as numbers

_numbers: dict[Node, int] = {}
_terms: list[Node] = []


def number(term: Node) -> int:
    """Terms keep their numbers as long as the process lives."""
    found = _numbers.get(term)
    if found is None:
        found = _numbers[term] = len(_terms)
        _terms.append(term)
    return found


def term(found: int) -> Node:
    return _terms[found]


TYPE, FIRST, REST, NIL = (number(RDF[name]) for name in ("type", "first", "rest", "nil"))
BELOW, SUB_PROPERTY, DOMAIN, RANGE, DATATYPE = (
    number(RDFS[name]) for name in ("subClassOf", "subPropertyOf", "domain", "range", "Datatype")
)
SAME, DIFFERENT, EQUIVALENT, EQUIVALENT_PROPERTY, INVERSE = (
    number(OWL[name])
    for name in ("sameAs", "differentFrom", "equivalentClass", "equivalentProperty", "inverseOf")
)
THING, NOTHING, CLASS, OBJECT_PROPERTY, DATATYPE_PROPERTY, ANNOTATION_PROPERTY = (
    number(OWL[name])
    for name in ("Thing", "Nothing", "Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty")
)
FUNCTIONAL, INVERSE_FUNCTIONAL, SYMMETRIC, TRANSITIVE, IRREFLEXIVE, ASYMMETRIC = (
    number(OWL[name + "Property"])
    for name in ("Functional", "InverseFunctional", "Symmetric", "Transitive", "Irreflexive", "Asymmetric")
)
ON, SOME, ALL, VALUE, MOST, MOST_QUALIFIED, ON_CLASS = (
    number(OWL[name])
    for name in (
        *("onProperty", "someValuesFrom", "allValuesFrom", "hasValue"),
        *("maxCardinality", "maxQualifiedCardinality", "onClass"),
    )
)
INTERSECTION, UNION, ONE_OF, CHAIN, KEY, MEMBERS, DISTINCT = (
    number(OWL[name])
    for name in (
        *("intersectionOf", "unionOf", "oneOf", "propertyChainAxiom", "hasKey"),
        *("members", "distinctMembers"),
    )
)
ALL_DIFFERENT, ALL_DISJOINT_CLASSES, ALL_DISJOINT_PROPERTIES = (
    number(OWL[name]) for name in ("AllDifferent", "AllDisjointClasses", "AllDisjointProperties")
)
DISJOINT_PROPERTY, DISJOINT, COMPLEMENT, SOURCE, ASSERTED, TARGET, TARGET_VALUE = (
    number(OWL[name])
    for name in (
        *("propertyDisjointWith", "disjointWith", "complementOf", "sourceIndividual"),
        *("assertionProperty", "targetIndividual", "targetValue"),
    )
)
LITERAL_TYPES = {number(kind): kind for kind in DATATYPES}
ANNOTATIONS = [
    *(number(RDFS[name]) for name in ("label", "comment", "seeAlso", "isDefinedBy")),
    *(number(OWL[name]) for name in ("deprecated", "versionInfo", "priorVersion")),
    *(number(OWL[name]) for name in ("backwardCompatibleWith", "incompatibleWith")),
]
_RESTRICTING = frozenset((ON, SOME, ALL, VALUE, MOST, MOST_QUALIFIED, ON_CLASS))
_LISTING = (INTERSECTION, UNION, ONE_OF, CHAIN, KEY)


@cache
def _known(literal: int) -> Value | None:
    """The value of a literal with a number, if there is one and it is known."""
    found = _terms[literal]
    assert isinstance(found, Literal)
    try:
        return value(found)
    except IllTyped:
        return None


@cache
def _types(literal: int) -> tuple[int, ...]:
    """The supported datatypes that have the value of a literal."""
    known = _known(literal)
    return () if known is None else tuple(n for n, kind in LITERAL_TYPES.items() if is_of(known, kind))


@cache
def _is_ill_typed(literal: int) -> bool:
    found = _terms[literal]
    if not isinstance(found, Literal):
        return False
    try:
        value(found)
    except IllTyped:
        return True
    return False


@cache
def _cardinality(literal: int) -> int | None:
    """0 or 1, or None."""
    found = _terms[literal]
    known = _known(literal) if isinstance(found, Literal) else None
    if known is None:
        return None
    amount = known[1]
    if known[0] == "double" and isinstance(amount, bytes):
        amount = struct.unpack(">d", amount)[0]
    elif known[0] == "float" and isinstance(amount, bytes):
        amount = struct.unpack(">f", amount)[0]
    elif known[0] != "decimal":
        return None
    return 0 if amount == 0 else 1 if amount == 1 else None


class TooLarge(Exception):
    """The closure has more facts, lists more paths or clashes than the limit."""


class Closure:
    """All that follows from some facts, as numbers of terms. ``limit`` is the most facts (and clashes).

    ``is_declared`` compares two restrictions (scm-hv, scm-svf1 ...) as if their properties and fillers were
    declared: each is below itself, owl:Thing above any, owl:Nothing below any. That is not in the tables, but
    the profiles do so.
    """

    def __init__(
        self,
        facts: Iterable[Fact],
        limit: int = 1_000_000,
        *,
        base: Closure | None = None,
        is_declared: bool = False,
    ) -> None:
        self.limit = limit
        self.is_declared = is_declared
        self.facts: set[Fact] = set()
        self._queue: list[Fact] = []
        self._met: set[int] = set()
        self._outs: dict[int, Neighbours] = {}  # predicate -> subject -> objects
        self._ins: dict[int, Neighbours] = {}  # predicate -> object -> subjects
        self._as_subject: dict[int, list[tuple[int, int]]] = {}
        self._as_object: dict[int, list[tuple[int, int]]] = {}
        if base is not None:
            self.facts = base.facts.copy()
            self._met = base._met.copy()
            for mine, others in ((self._outs, base._outs), (self._ins, base._ins)):
                mine.update((p, {x: ys.copy() for x, ys in found.items()}) for p, found in others.items())
            self._as_subject = {x: pairs.copy() for x, pairs in base._as_subject.items()}
            self._as_object = {x: pairs.copy() for x, pairs in base._as_object.items()}
        self._same = self._outs.setdefault(SAME, {})
        self._typed = self._outs.setdefault(TYPE, {})
        self._instances = self._ins.setdefault(TYPE, {})
        for predicate in _READ:
            self._outs.setdefault(predicate, {})
            self._ins.setdefault(predicate, {})
        self._axioms: dict[int, Callable[[int, int], None]] = {
            TYPE: self._new_type,
            DOMAIN: self._new_domain,
            RANGE: self._new_range,
            SUB_PROPERTY: self._new_sub_property,
            EQUIVALENT_PROPERTY: self._new_equivalent_property,
            INVERSE: self._new_inverse,
            BELOW: self._new_below,
            EQUIVALENT: self._new_equivalent,
            **dict.fromkeys(_RESTRICTING, self._new_restriction),
        }
        self._paths: dict[int, list[tuple[int, ...]]] = {}
        given = set(facts)
        literals = {t for fact in given for t in fact if isinstance(_terms[t], Literal)}
        for s, p, o in given:
            self._add(s, p, o)
        if base is None:
            self._without_premises()
        self._datatypes(literals)
        self._run()

    def _add(self, s: int, p: int, o: int) -> None:
        fact = (s, p, o)
        if fact not in self.facts:
            self.facts.add(fact)
            self._queue.append(fact)

    def _run(self) -> None:
        while True:
            while self._queue:
                self._take(*self._queue.pop())
            if len(self.facts) > self.limit:
                raise TooLarge
            self._lists()
            if not self._queue:
                return

    def _take(self, s: int, p: int, o: int) -> None:
        """Index a new fact and conclude what it completes."""
        self._outs.setdefault(p, {}).setdefault(s, []).append(o)
        self._ins.setdefault(p, {}).setdefault(o, []).append(s)
        self._as_subject.setdefault(s, []).append((p, o))
        self._as_object.setdefault(o, []).append((s, p))
        if len(self.facts) > self.limit:
            raise TooLarge
        self._equality(s, p, o)
        self._use(s, p, o)
        axiom = self._axioms.get(p)
        if axiom is not None:
            axiom(s, o)

    # Table 4

    def _equality(self, s: int, p: int, o: int) -> None:
        """eq-ref, eq-sym, eq-trans, eq-rep-s, eq-rep-p, eq-rep-o."""
        add, same = self._add, self._same
        if s not in self._met or p not in self._met or o not in self._met:
            for x in (s, p, o):
                self._met.add(x)
                add(x, SAME, x)
        for q in same.get(p, ()):
            add(s, q, o)
        if p != SAME:
            for t in same.get(s, ()):
                add(t, p, o)
            for t in same.get(o, ()):
                add(s, p, t)
        elif s != o:  # what eq-rep-s and eq-rep-o conclude of owl:sameAs, eq-sym and eq-trans do
            add(o, SAME, s)
            for z in same.get(o, ()):
                add(s, SAME, z)
            for w in self._ins[SAME].get(s, ()):
                add(w, SAME, o)
            for q, z in self._as_subject[s]:
                if q != SAME:
                    add(o, q, z)
            for w, q in self._as_object.get(s, ()):
                if q != SAME:
                    add(w, q, o)
            for x, ys in self._outs.get(s, {}).items():
                for y in ys:
                    add(x, o, y)

    # Tables 5, 6 and 7: a fact with any predicate

    def _use(self, s: int, p: int, o: int) -> None:
        """prp-dom, -rng, -fp, -ifp, -symp, -trp, -spo1, -eqp1, -eqp2, -inv1, -inv2, and restrictions."""
        add, outs, ins = self._add, self._outs, self._ins
        for c in outs[DOMAIN].get(p, ()):
            add(s, TYPE, c)
        for c in outs[RANGE].get(p, ()):
            add(o, TYPE, c)
        kinds = self._typed.get(p)
        if kinds is not None:
            if FUNCTIONAL in kinds:
                for y in outs[p][s]:
                    add(o, SAME, y)
            if INVERSE_FUNCTIONAL in kinds:
                for x in ins[p][o]:
                    add(s, SAME, x)
            if SYMMETRIC in kinds:
                add(o, p, s)
            if TRANSITIVE in kinds:
                for z in outs[p].get(o, ()):
                    add(s, p, z)
                for w in ins[p].get(s, ()):
                    add(w, p, o)
        for q in outs[SUB_PROPERTY].get(p, ()):
            add(s, q, o)
        for q in outs[EQUIVALENT_PROPERTY].get(p, ()):
            add(s, q, o)
        for q in ins[EQUIVALENT_PROPERTY].get(p, ()):
            add(s, q, o)
        for q in outs[INVERSE].get(p, ()):
            add(o, q, s)
        for q in ins[INVERSE].get(p, ()):
            add(o, q, s)
        for r in ins[ON].get(p, ()):
            self._restricted(r, s, p, o)

    def _restricted(self, r: int, s: int, p: int, o: int) -> None:
        """cls-svf1, -svf2, -avf, -hv2, -maxc2, -maxqc3, -maxqc4 for a restriction r on p and a fact of p."""
        add, outs, facts = self._add, self._outs, self.facts
        for d in outs[SOME].get(r, ()):
            if d == THING or (o, TYPE, d) in facts:
                add(s, TYPE, r)
        if o in outs[VALUE].get(r, ()):
            add(s, TYPE, r)
        if (s, TYPE, r) not in facts:
            return
        for d in outs[ALL].get(r, ()):
            add(o, TYPE, d)
        if any(_cardinality(n) == 1 for n in outs[MOST].get(r, ())):
            for y in outs[p].get(s, ()):
                add(o, SAME, y)
        if any(_cardinality(n) == 1 for n in outs[MOST_QUALIFIED].get(r, ())):
            for c in outs[ON_CLASS].get(r, ()):
                if c == THING:
                    for y in outs[p].get(s, ()):
                        add(o, SAME, y)
                elif (o, TYPE, c) in facts:
                    for y in outs[p].get(s, ()):
                        if (y, TYPE, c) in facts:
                            add(o, SAME, y)

    # What an axiom, or a type, adds to the facts that were there

    def _new_type(self, x: int, c: int) -> None:
        add, outs, ins = self._add, self._outs, self._ins
        self._new_kind(x, c)
        for d in outs[BELOW].get(c, ()):  # cax-sco
            add(x, TYPE, d)
        for d in outs[EQUIVALENT].get(c, ()):  # cax-eqc1
            add(x, TYPE, d)
        for d in ins[EQUIVALENT].get(c, ()):  # cax-eqc2
            add(x, TYPE, d)
        for p in outs[ON].get(c, ()):
            for v in outs[VALUE].get(c, ()):  # cls-hv1
                add(x, p, v)
            for y in outs.get(p, {}).get(x, ()):
                self._restricted(c, x, p, y)
        for r in (*ins[SOME].get(c, ()), *ins[ON_CLASS].get(c, ())):
            for p in outs[ON].get(r, ()):
                for s in ins.get(p, {}).get(x, ()):
                    self._restricted(r, s, p, x)

    def _new_kind(self, p: int, kind: int) -> None:
        """Characteristics of properties, scm-cls, scm-op and scm-dp."""
        add, outs, ins = self._add, self._outs, self._ins
        if kind == CLASS:
            add(p, BELOW, p)
            add(p, EQUIVALENT, p)
            add(p, BELOW, THING)
            add(NOTHING, BELOW, p)
        elif kind in (OBJECT_PROPERTY, DATATYPE_PROPERTY):
            add(p, SUB_PROPERTY, p)
            add(p, EQUIVALENT_PROPERTY, p)
        elif kind == FUNCTIONAL:
            for ys in outs.get(p, {}).values():
                for y in ys:
                    for z in ys:
                        add(y, SAME, z)
        elif kind == INVERSE_FUNCTIONAL:
            for xs in ins.get(p, {}).values():
                for x in xs:
                    for y in xs:
                        add(x, SAME, y)
        elif kind == SYMMETRIC:
            for x, y in self._pairs(p):
                add(y, p, x)
        elif kind == TRANSITIVE:
            for x, y in self._pairs(p):
                for z in outs[p].get(y, ()):
                    add(x, p, z)

    def _pairs(self, p: int) -> Iterator[tuple[int, int]]:
        for x, ys in self._outs.get(p, {}).items():
            for y in ys:
                yield x, y

    def _new_domain(self, p: int, c: int) -> None:
        for x in self._outs.get(p, {}):  # prp-dom
            self._add(x, TYPE, c)
        for d in self._outs[BELOW].get(c, ()):  # scm-dom1
            self._add(p, DOMAIN, d)
        for q in self._ins[SUB_PROPERTY].get(p, ()):  # scm-dom2
            self._add(q, DOMAIN, c)

    def _new_range(self, p: int, c: int) -> None:
        for y in self._ins.get(p, {}):  # prp-rng
            self._add(y, TYPE, c)
        for d in self._outs[BELOW].get(c, ()):  # scm-rng1
            self._add(p, RANGE, d)
        for q in self._ins[SUB_PROPERTY].get(p, ()):  # scm-rng2
            self._add(q, RANGE, c)

    def _new_sub_property(self, p: int, q: int) -> None:
        add, outs, ins = self._add, self._outs, self._ins
        for x, y in self._pairs(p):  # prp-spo1
            add(x, q, y)
        for r in outs[SUB_PROPERTY].get(q, ()):  # scm-spo
            add(p, SUB_PROPERTY, r)
        for r in ins[SUB_PROPERTY].get(p, ()):
            add(r, SUB_PROPERTY, q)
        if (q, SUB_PROPERTY, p) in self.facts:  # scm-eqp2
            add(p, EQUIVALENT_PROPERTY, q)
            add(q, EQUIVALENT_PROPERTY, p)
        for c in outs[DOMAIN].get(q, ()):  # scm-dom2
            add(p, DOMAIN, c)
        for c in outs[RANGE].get(q, ()):  # scm-rng2
            add(p, RANGE, c)
        for c1 in ins[ON].get(p, ()):
            for c2 in ins[ON].get(q, ()):
                self._compare(c1, c2)

    def _new_equivalent_property(self, p: int, q: int) -> None:
        for x, y in self._pairs(p):  # prp-eqp1
            self._add(x, q, y)
        for x, y in self._pairs(q):  # prp-eqp2
            self._add(x, p, y)
        self._add(p, SUB_PROPERTY, q)  # scm-eqp1
        self._add(q, SUB_PROPERTY, p)

    def _new_inverse(self, p: int, q: int) -> None:
        for x, y in self._pairs(p):  # prp-inv1
            self._add(y, q, x)
        for x, y in self._pairs(q):  # prp-inv2
            self._add(y, p, x)

    def _new_below(self, c: int, d: int) -> None:
        add, outs, ins = self._add, self._outs, self._ins
        for x in self._instances.get(c, ()):  # cax-sco
            add(x, TYPE, d)
        for e in outs[BELOW].get(d, ()):  # scm-sco
            add(c, BELOW, e)
        for e in ins[BELOW].get(c, ()):
            add(e, BELOW, d)
        if (d, BELOW, c) in self.facts:  # scm-eqc2
            add(c, EQUIVALENT, d)
            add(d, EQUIVALENT, c)
        for p in ins[DOMAIN].get(c, ()):  # scm-dom1
            add(p, DOMAIN, d)
        for p in ins[RANGE].get(c, ()):  # scm-rng1
            add(p, RANGE, d)
        for filler in (SOME, ALL):
            for c1 in ins[filler].get(c, ()):
                for c2 in ins[filler].get(d, ()):
                    self._compare(c1, c2)

    def _new_equivalent(self, c: int, d: int) -> None:
        for x in self._instances.get(c, ()):  # cax-eqc1
            self._add(x, TYPE, d)
        for x in self._instances.get(d, ()):  # cax-eqc2
            self._add(x, TYPE, c)
        self._add(c, BELOW, d)  # scm-eqc1
        self._add(d, BELOW, c)

    def _new_restriction(self, r: int, _: int) -> None:
        outs = self._outs
        for p in outs[ON].get(r, ()):
            for v in outs[VALUE].get(r, ()):  # cls-hv1
                for x in self._instances.get(r, ()):
                    self._add(x, p, v)
            for x, y in self._pairs(p):
                self._restricted(r, x, p, y)
        for other in outs[ON]:
            self._compare(r, other)
            self._compare(other, r)

    def _compare(self, c1: int, c2: int) -> None:
        """scm-hv, scm-svf1, scm-svf2, scm-avf1, scm-avf2."""
        outs, facts = self._outs, self.facts
        is_declared = self.is_declared and c1 != c2
        for p1 in outs[ON].get(c1, ()):
            for p2 in outs[ON].get(c2, ()):
                if p1 == p2:
                    for filler in (SOME, ALL):
                        for y1 in outs[filler].get(c1, ()):
                            if any(self._is_below(y1, y2, is_declared) for y2 in outs[filler].get(c2, ())):
                                self._add(c1, BELOW, c2)
                if (p1, SUB_PROPERTY, p2) in facts or (is_declared and p1 == p2):
                    if self._share(VALUE, c1, c2) or self._share(SOME, c1, c2):
                        self._add(c1, BELOW, c2)
                    if self._share(ALL, c1, c2):
                        self._add(c2, BELOW, c1)

    def _is_below(self, y1: int, y2: int, is_declared: bool) -> bool:
        if is_declared and (y1 in (y2, NOTHING) or y2 == THING):
            return True
        return (y1, BELOW, y2) in self.facts

    def _share(self, predicate: int, c1: int, c2: int) -> bool:
        found = self._outs[predicate]
        return not set(found.get(c1, ())).isdisjoint(found.get(c2, ()))

    # Lists

    def paths(self, head: int) -> list[tuple[int, ...]]:
        """The cells of every list that begins at a node."""
        found = self._paths.get(head)
        if found is None:
            found = self._paths[head] = []
            rests, firsts = self._outs[REST], self._outs[FIRST]
            ways: list[tuple[int, ...]] = [(head,)]
            steps = 0
            while ways:
                way = ways.pop()
                steps += 1
                if steps > 2000:
                    raise TooLarge
                if way[-1] not in firsts:
                    continue
                for following in rests.get(way[-1], ()):
                    if following == NIL:
                        found.append(way)
                    if following not in way:
                        ways.append((*way, following))
        return found

    def positions(self, head: int) -> set[tuple[tuple[int, ...], ...]]:
        """The items at each position, of every list that begins at a node."""
        firsts = self._outs[FIRST]
        return {tuple(tuple(sorted(firsts[cell])) for cell in path) for path in self.paths(head)}

    def _lists(self) -> None:
        """All rules with a list in the body that conclude something."""
        outs, add = self._outs, self._add
        self._paths = {}
        for predicate in _LISTING:
            for subject, heads in outs[predicate].items():
                for positions in {found for head in heads for found in self.positions(head)}:
                    items = {item for position in positions for item in position}
                    if predicate == INTERSECTION:
                        for item in items:  # scm-int; with cax-sco it gives what cls-int2 does
                            add(subject, BELOW, item)
                        for x in self._of_all(positions):  # cls-int1
                            add(x, TYPE, subject)
                    elif predicate == UNION:
                        for item in items:  # scm-uni; with cax-sco it gives what cls-uni does
                            add(item, BELOW, subject)
                    elif predicate == ONE_OF:
                        for item in items:  # cls-oo
                            add(item, TYPE, subject)
                    elif predicate == CHAIN:
                        self._chain(subject, positions)
                    else:
                        self._key(subject, positions)

    def _of_all(self, positions: Collection[tuple[int, ...]]) -> set[int]:
        """What belongs to some class at every position."""
        sets = [{x for c in items for x in self._instances.get(c, ())} for items in positions]
        return set.intersection(*sets)

    def _chain(self, p: int, positions: tuple[tuple[int, ...], ...]) -> None:
        """prp-spo2."""
        steps = [[self._outs.get(q, {}) for q in items] for items in positions]
        for x in {x for found in steps[0] for x in found}:
            reached = {x}
            for step in steps:
                reached = {y for found in step for w in reached for y in found.get(w, ())}
            for y in reached:
                self._add(x, p, y)

    def _key(self, c: int, positions: tuple[tuple[int, ...], ...]) -> None:
        """prp-key."""
        members = self._instances.get(c, ())
        values = {
            x: [{(p, z) for p in items for z in self._outs.get(p, {}).get(x, ())} for items in positions]
            for x in members
        }
        for x, y in combinations(members, 2):
            if not any(mine.isdisjoint(its) for mine, its in zip(values[x], values[y], strict=True)):
                self._add(x, SAME, y)

    # Axioms, and table 8

    def _without_premises(self) -> None:
        """prp-ap, cls-thing, cls-nothing1, dt-type1."""
        for p in ANNOTATIONS:
            self._add(p, TYPE, ANNOTATION_PROPERTY)
        self._add(THING, TYPE, CLASS)
        self._add(NOTHING, TYPE, CLASS)
        for number_of_it, kind in LITERAL_TYPES.items():
            if kind != RDF.langString:  # it is not in OWL 2 RL's list
                self._add(number_of_it, TYPE, DATATYPE)

    def _datatypes(self, literals: Collection[int]) -> None:
        """dt-type2, dt-eq, dt-diff."""
        for literal in literals:
            for kind in _types(literal):
                self._add(literal, TYPE, kind)
        known = [(literal, found) for literal in literals if (found := _known(literal)) is not None]
        for (one, its), (other, others) in combinations(known, 2):
            relation = SAME if its == others else DIFFERENT
            self._add(one, relation, other)
            self._add(other, relation, one)

    # Clashes

    def clashes(self, *, with_lists: bool = True) -> set[Core]:
        """The clashes, without the triples of lists unless wanted."""
        found: set[Core] = set()
        for rule, premises in self._clashes(with_lists):
            found.add((rule, frozenset(premises)))
            if len(found) > self.limit:
                raise TooLarge
        return found

    def _clashes(self, with_lists: bool) -> Iterator[tuple[str, Iterable[Fact]]]:
        yield from self._equality_clashes(with_lists)
        yield from self._property_clashes(with_lists)
        yield from self._class_clashes(with_lists)
        yield from self._datatype_clashes()

    def _listed(
        self, kind: int, predicate: int, with_lists: bool
    ) -> Iterator[tuple[int, int, tuple[Fact, ...]]]:
        """Items at two positions of a list of an axiom of a kind, and the triples that say so."""
        firsts = self._outs[FIRST]
        for x in self._instances.get(kind, ()):
            for head in self._outs[predicate].get(x, ()):
                axiom = ((x, TYPE, kind), (x, predicate, head))
                if not with_lists:
                    for positions in self.positions(head):
                        for ones, others in combinations(positions, 2):
                            yield from ((a, b, axiom) for a in ones for b in others)
                    continue
                for path in self.paths(head):
                    rests = tuple((cell, REST, after) for cell, after in pairwise((*path, NIL)))
                    for one, other in combinations(path, 2):
                        for a in firsts[one]:
                            for b in firsts[other]:
                                yield a, b, (*axiom, *rests, (one, FIRST, a), (other, FIRST, b))

    def _equality_clashes(self, with_lists: bool) -> Iterator[tuple[str, Iterable[Fact]]]:
        for x, y in self._pairs(DIFFERENT):
            if (x, SAME, y) in self.facts:
                yield "eq-diff1", ((x, DIFFERENT, y), (x, SAME, y))
        for rule, predicate in (("eq-diff2", MEMBERS), ("eq-diff3", DISTINCT)):
            for a, b, premises in self._listed(ALL_DIFFERENT, predicate, with_lists):
                if (a, SAME, b) in self.facts:
                    yield rule, (*premises, (a, SAME, b))

    def _property_clashes(self, with_lists: bool) -> Iterator[tuple[str, Iterable[Fact]]]:
        facts, outs = self.facts, self._outs
        for p in self._instances.get(IRREFLEXIVE, ()):
            for x, y in self._pairs(p):
                if x == y:
                    yield "prp-irp", ((p, TYPE, IRREFLEXIVE), (x, p, x))
        for p in self._instances.get(ASYMMETRIC, ()):
            for x, y in self._pairs(p):
                if (y, p, x) in facts:
                    yield "prp-asyp", ((p, TYPE, ASYMMETRIC), (x, p, y), (y, p, x))
        for p, q in self._pairs(DISJOINT_PROPERTY):
            for x, y in self._pairs(p):
                if (x, q, y) in facts:
                    yield "prp-pdw", ((p, DISJOINT_PROPERTY, q), (x, p, y), (x, q, y))
        for p, q, premises in self._listed(ALL_DISJOINT_PROPERTIES, MEMBERS, with_lists):
            for x, y in self._pairs(p):
                if (x, q, y) in facts:
                    yield "prp-adp", (*premises, (x, p, y), (x, q, y))
        for rule, target in (("prp-npa1", TARGET), ("prp-npa2", TARGET_VALUE)):
            for n, ends in outs[target].items():
                for p in outs[ASSERTED].get(n, ()):
                    for s in outs[SOURCE].get(n, ()):
                        for o in ends:
                            if (s, p, o) in facts:
                                yield rule, ((n, SOURCE, s), (n, ASSERTED, p), (n, target, o), (s, p, o))

    def _class_clashes(self, with_lists: bool) -> Iterator[tuple[str, Iterable[Fact]]]:
        facts, outs = self.facts, self._outs
        for x in self._instances.get(NOTHING, ()):
            yield "cls-nothing2", ((x, TYPE, NOTHING),)
        for rule, predicate in (("cls-com", COMPLEMENT), ("cax-dw", DISJOINT)):
            for c, d in self._pairs(predicate):
                for x in self._instances.get(c, ()):
                    if (x, TYPE, d) in facts:
                        yield rule, ((c, predicate, d), (x, TYPE, c), (x, TYPE, d))
        for c, d, premises in self._listed(ALL_DISJOINT_CLASSES, MEMBERS, with_lists):
            for x in self._instances.get(c, ()):
                if (x, TYPE, d) in facts:
                    yield "cax-adc", (*premises, (x, TYPE, c), (x, TYPE, d))
        for most in (MOST, MOST_QUALIFIED):
            for r, n in self._pairs(most):
                if _cardinality(n) != 0:
                    continue
                for p in outs[ON].get(r, ()):
                    for x in self._instances.get(r, ()):
                        for y in outs.get(p, {}).get(x, ()):
                            premises = ((r, most, n), (r, ON, p), (x, TYPE, r), (x, p, y))
                            if most == MOST:
                                yield "cls-maxc1", premises
                                continue
                            for c in outs[ON_CLASS].get(r, ()):
                                if (y, TYPE, c) in facts:
                                    yield "cls-maxqc1", (*premises, (r, ON_CLASS, c), (y, TYPE, c))
                                if c == THING:
                                    yield "cls-maxqc2", (*premises, (r, ON_CLASS, c))

    def _datatype_clashes(self) -> Iterator[tuple[str, Iterable[Fact]]]:
        """dt-not-type. Every term that occurs is the same as itself."""
        for x in self._same:
            found = _terms[x]
            if isinstance(found, Literal):
                if _is_ill_typed(x) and found.datatype is not None:
                    yield "dt-not-type", ((x, TYPE, number(found.datatype)),)
                for kind in self._typed.get(x, ()):
                    if kind in LITERAL_TYPES and (
                        kind not in _types(x) if _known(x) is not None else _is_ill_typed(x)
                    ):
                        yield "dt-not-type", ((x, TYPE, kind),)


_READ = (
    *(SAME, TYPE, DOMAIN, RANGE, SUB_PROPERTY, EQUIVALENT_PROPERTY, INVERSE, BELOW, EQUIVALENT, FIRST, REST),
    *(*_RESTRICTING, *_LISTING, MEMBERS, DISTINCT, DIFFERENT, DISJOINT, DISJOINT_PROPERTY, COMPLEMENT),
    *(SOURCE, ASSERTED, TARGET, TARGET_VALUE),
)
NOTHING_STATED = Closure(())
"""What follows from no triples; the others begin with it."""


def close(facts: Iterable[Fact], limit: int = 1_000_000, *, is_declared: bool = False) -> Closure:
    return Closure(facts, limit, base=NOTHING_STATED, is_declared=is_declared)


def numbered(triple: Triple) -> Fact:
    return number(triple[0]), number(triple[1]), number(triple[2])


def named(fact: Fact) -> Triple:
    return _terms[fact[0]], _terms[fact[1]], _terms[fact[2]]


def closure(triples: Iterable[Triple]) -> tuple[set[Triple], set[Clash]]:
    """The facts that follow, the given ones too, and the clashes: a rule's id and the triples of its body."""
    found = close(map(numbered, triples))
    clashes = {(rule, frozenset(map(named, premises))) for rule, premises in found.clashes()}
    return set(map(named, found.facts)), clashes
