"""Plans of query texts: cached by text, and by *shape*, in which constants are parameters.

    SELECT * { <urn:a> ?p "x" } and SELECT * { <urn:b> ?p "y" } are SELECT * { <> ?p "" } with two constants

A text of a known shape is split into tokens, and its constants are put into the plan of the shape: neither
parser nor optimiser runs. Constants that decide what the plan is (prefixes, predicates, datatypes, LIMIT) are
no parameters, but part of the key of a plan beside the shape. Texts with signs or backslashes have no shape.
Invariant: the plan is the one that parsing the text would give.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from corollary.sparql.algebra import Parameter, Query, children, rewritten
from corollary.sparql.from_rdflib import query_of
from corollary.sparql.parser import query_parser
from corollary.sparql.parser.cursor import namespace_of
from corollary.sparql.parser.tokens import words_of
from corollary.sparql.query_passes import optimised
from corollary.sparql.tuning import MAX_CHARACTERS_OF_TEXT_CACHED, MAX_PLANS_CACHED

Fill = Callable[[list[str]], Any]
"""Makes a part of a plan from the tokens of a text."""

Key = tuple[str, ...]


class _Plan(NamedTuple):
    """The plan of a text or shape, and the namespaces of the prefixes that the text does not declare."""

    plan: Any
    used: tuple[tuple[str, str], ...]

    def fits(self, prefixes: Mapping[Any, Any]) -> bool:
        """Whether the prefixes are still those with which the text was parsed."""
        return not self.used or all(
            namespace_of(prefix, prefixes) == namespace for prefix, namespace in self.used
        )


def plan_of(text: str, prefixes: Mapping[Any, Any], base: str = "") -> Query:
    """The optimised plan of a query. Raises SparqlSyntaxError, and RecursionError for deep nesting."""
    if len(text) > MAX_CHARACTERS_OF_TEXT_CACHED:
        uncached: Query = _parsed(text, prefixes, base, (), [])[0].plan([])
        return uncached
    known = _of_text(text, base)
    if known and known[0].fits(prefixes):
        query: Query = known[0].plan
        return query
    words = [] if "\\" in text else words_of(text)
    shape, places = _shape(words)
    decided = _of_shape(shape, base)
    found = _of_constants(shape, base, tuple([words[i] for i in decided[0]])) if decided else []
    if not found or not found[0].fits(prefixes):
        found = _parsed(text, prefixes, base, shape, places)
    query = found[0].plan(words)
    known[:] = [_Plan(query, found[0].used)]
    return query


def _parsed(text: str, prefixes: Mapping[Any, Any], base: str, shape: Key, places: list[int]) -> list[_Plan]:
    """The plan of a text's shape. Cached, unless the text has no shape."""
    parameters: set[int] | None = set() if shape else None
    parser = query_parser(text, prefixes, base, parameters)
    template = optimised(parser.query())
    used = tuple(parser.names.used.items())
    fill = _filler(template)
    if parameters is None or parser.is_split:
        query = template if fill is None else fill(parser.words)
        return [_Plan(lambda words: query, used)]
    plan = _Plan((lambda words: template) if fill is None else fill, used)
    decided = tuple(place for place in places if place not in parameters)
    _of_shape(shape, base)[:] = [decided]
    found = _of_constants(shape, base, tuple([parser.words[i] for i in decided]))
    found[:] = [plan]
    return found


def _shape(words: list[str]) -> tuple[Key, list[int]]:
    """The tokens, with the same constant for all constants of a kind; and the places of constants.

    A text with signs has no shape, which is empty: ``- 1`` and ``-1`` have the same tokens.
    """
    shape, places = [], []
    for place, word in enumerate(words):
        first, is_constant = word[:1], True
        if first == "<" and word[-1] == ">":
            word = "<>"
        elif first in _NO_CONSTANTS or word.isalpha():
            is_constant = False
        elif first in _QUOTES and len(word) > 1:
            word = '""""""' if word[:3] == 3 * first and len(word) > 5 else '""'
        elif first.isdigit() or (first == "." and len(word) > 1):
            word = "0e0" if "e" in word or "E" in word else "0.0" if "." in word else "0"
        elif ":" in word and first != "_":
            word = word[: word.index(":") + 1]
        elif word in _SIGNS:
            return (), []
        else:
            is_constant = False
        shape.append(word)
        if is_constant:
            places.append(place)
    return tuple(shape), places


_NO_CONSTANTS = frozenset("?${}();,")
"""First characters of variables and of some punctuation."""
_QUOTES = frozenset("\"'")
_SIGNS = frozenset("+-")


def _filler(template: Any) -> Fill | None:
    """The function that puts tokens in the place of parameters; None for a plan without parameters.

    It makes the nodes in which parameters are, inner ones first; each has a number.
    """
    makers: list[tuple[Any, list[Any], list[tuple[int, int]]]] = []
    """The class, the parts, and the places of parts that are made, with their numbers."""
    numbers: dict[int, int] = {}

    def note(node: Any) -> Any:
        parts = list(children(node))
        holes = [(place, numbers[id(part)]) for place, part in enumerate(parts) if id(part) in numbers]
        if holes or isinstance(node, Parameter):
            numbers[id(node)] = len(makers)
            makers.append((node if isinstance(node, Parameter) else type(node), parts, holes))
        return node

    rewritten(template, note)
    if not makers:
        return None

    def fill(words: list[str]) -> Any:
        made: list[Any] = []
        for kind, parts, holes in makers:
            if type(kind) is Parameter:
                made.append(kind.make(words[kind.place]))
                continue
            parts = parts.copy()
            for place, number in holes:
                parts[place] = made[number]
            made.append(tuple(parts) if kind is tuple else kind(*parts))
        return made[-1]

    return fill


# Places for plans, each an empty list at first: the least recently used ones are dropped


@lru_cache(maxsize=MAX_PLANS_CACHED)
def _of_text(text: str, base: str) -> list[_Plan]:
    return []


@lru_cache(maxsize=MAX_PLANS_CACHED)
def _of_shape(shape: Key, base: str) -> list[tuple[int, ...]]:
    """The places of the constants that decide what the plan of a shape is."""
    return []


@lru_cache(maxsize=MAX_PLANS_CACHED)
def _of_constants(shape: Key, base: str, decided: Key) -> list[_Plan]:
    return []


_prepared: WeakKeyDictionary[Any, Query] = WeakKeyDictionary()


def plan_of_prepared(prepared: Any) -> Query:
    """The optimised plan of rdflib's ``Query``, cached. Precondition: ``prepared`` never changes."""
    found = _prepared.get(prepared)
    if found is None:
        found = _prepared[prepared] = optimised(query_of(prepared))
    return found
