"""The supported builtins of N3, with the expression that each tests or computes."""

from __future__ import annotations

from corollary.importers.builtins import COMPARISONS, Test, folded, function, joined, negated, without_case

SWAP = "http://www.w3.org/2000/10/swap/"
NOT_INCLUDES = SWAP + "log#notIncludes"
IN, MEMBER = SWAP + "list#in", SWAP + "list#member"

TESTS: dict[str, Test] = {
    "math#equalTo": COMPARISONS["="],
    "math#notEqualTo": COMPARISONS["!="],
    "math#lessThan": COMPARISONS["<"],
    "math#greaterThan": COMPARISONS[">"],
    "math#notLessThan": COMPARISONS[">="],
    "math#notGreaterThan": COMPARISONS["<="],
    "string#lessThan": COMPARISONS["<"],
    "string#greaterThan": COMPARISONS[">"],
    "string#notLessThan": COMPARISONS[">="],
    "string#notGreaterThan": COMPARISONS["<="],
    "string#contains": function("contains", 2),
    "string#startsWith": function("strstarts", 2),
    "string#endsWith": function("strends", 2),
    "string#matches": function("regex", 2),
    "string#notMatches": negated(function("regex", 2)),
    "string#containsIgnoringCase": without_case(function("contains", 2)),
    "string#equalIgnoringCase": without_case(COMPARISONS["="]),
    "string#notEqualIgnoringCase": without_case(COMPARISONS["!="]),
    "log#equalTo": function("sameterm", 2),
    "log#notEqualTo": negated(function("sameterm", 2)),
}
"""Builtins that test their subject and object."""

COMPUTED: dict[str, Test] = {
    "math#sum": folded("+"),
    "math#product": folded("*"),
    "math#difference": function("-", 2),
    "math#quotient": function("/", 2),
    "math#absoluteValue": function("abs", 1),
    "math#negation": function("-", 1),
    "math#rounded": function("round", 1),
    "math#ceiling": function("ceil", 1),
    "math#floor": function("floor", 1),
    "string#concatenation": joined,
    "string#length": function("strlen", 1),
    "string#lowerCase": function("lcase", 1),
    "string#upperCase": function("ucase", 1),
    "string#replace": function("replace", 3),
    "log#uri": function("str", 1),
    "time#year": function("year", 1),
    "time#month": function("month", 1),
    "time#day": function("day", 1),
    "time#hour": function("hours", 1),
    "time#minute": function("minutes", 1),
    "time#second": function("seconds", 1),
}
"""Builtins that compute their object from their subject, or from the items of a list as subject."""

BUILTINS = {SWAP + name for name in (*TESTS, *COMPUTED)} | {IN, MEMBER, NOT_INCLUDES}
