"""The rules of DBpedia_L, thousands of small ones, on generated facts about an encyclopaedia.

The program is the lower bound of DBpedia's ontology, with the rules for owl:sameAs; it comes from the
corpus. The facts use the classes and properties that its rules read, by Zipf's law: the n-th most popular
one has about 1/n of the facts of the first. So most rules have few facts, and the cost of a program grows
with its rules as well as with the data. A functional property has one object for each subject: else most
entities would be equal. Closing is compared with sorting the result and with semi-naive evaluation, changes
of 1,000 facts with closing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from benchmarks.engine import Facts
from benchmarks.measure import Results, Settings
from benchmarks.rule_counts import node_of, nodes_read, rule_counts
from benchmarks.vlog import SAME, over_triples
from benchmarks.workloads.literature import run_case
from benchmarks.workloads.modular import Case
from numpy.typing import NDArray

from corollary.columns.pairs import among
from corollary.language import Program
from corollary.language.model import IRI, RDF, Triple
from corollary.terms.dictionary import TermDictionary

NAME = "dbpedia"
TITLE = "the rules of DBpedia_L, thousands of small ones, on generated facts"

FACTS, ENTITIES = 1_000_000, 200_000
SAME_EVERY = 100
"""Numbers of facts drawn and of entities. One in 100 entities is the same as the next one."""

DATATYPE_PREFIX = "http://www.w3.org/2003/11/swrlb#"
"""Properties with which the program refuses literals outside a datatype. No fact has them."""


def run(settings: Settings) -> Results:
    """One case; nothing without the corpus."""
    results = Results()
    if settings.corpus is None:
        results.notes.append(f"{NAME}: left out, the rules of DBpedia_L are in the corpus")
        return results
    program = dbpedia_l(settings.corpus)
    number, entities = (5_000, 1_000) if settings.small else (FACTS, ENTITIES)
    facts = drawn(program, number, entities)
    case = Case(f"{facts.columns[0].size:,} facts, {len(program):,} rules", program, facts, semi_naive=True)
    run_case(NAME, case, None, settings, results, over_sort=None)  # the rules take the time, not the facts
    counts = rule_counts(program)
    results.notes.append(
        f"DBpedia_L: {counts.nonrecursive:,} nonrecursive and {counts.recursive:,} recursive rules"
        f" in {counts.strata} strata."
    )
    return results


def dbpedia_l(corpus: Path) -> Program:
    """The rules of DBpedia_L over triples."""
    return over_triples((corpus / "programs" / "DBpedia_L.dlog").read_text())


def drawn(program: Program, number: int, entities: int, seed: int = 0) -> Facts:
    """Up to ``number`` different facts of the classes and properties that a program reads.

    The popularity of these, of entities, and of objects follows Zipf's law, each in an order of its own.
    """
    random = np.random.default_rng(seed)
    dictionary = TermDictionary()
    ids = np.array([dictionary.encode(f"<urn:entity:{n}>") for n in range(entities)], np.uint32)
    classes, properties = vocabulary(program)
    names = random.permutation([*classes, *properties]).tolist()
    predicates = np.array(
        [dictionary.encode(f"<{RDF}type>" if n in classes else f"<{n}>") for n in names], np.uint32
    )
    kinds = np.array([dictionary.encode(f"<{n}>") if n in classes else 0 for n in names], np.uint32)
    chosen = by_popularity(len(names), number, random)
    subjects, objects = (
        ids[random.permutation(entities)[by_popularity(entities, number, random)]] for _ in "so"
    )
    objects = np.where(kinds[chosen] > 0, kinds[chosen], objects)
    same = np.full(entities // SAME_EVERY, dictionary.encode(f"<{SAME}>"), np.uint32)
    first = np.arange(same.size) * SAME_EVERY
    columns = (
        np.concatenate((subjects, ids[first])),
        np.concatenate((predicates[chosen], same)),
        np.concatenate((objects, ids[first + 1])),
    )
    order = np.lexsort(columns[::-1])
    s, p, o = (column[order] for column in columns)
    is_again = np.append(False, (s[1:] == s[:-1]) & (p[1:] == p[:-1]))  # the subject has the property already
    is_double = is_again & np.append(False, o[1:] == o[:-1])
    single = np.array(sorted(dictionary.encode(f"<{name}>") for name in functional(program)), np.uint32)
    kept = ~(is_double | is_again & among(p, single))
    return Facts(dictionary, (s[kept], p[kept], o[kept]))


def vocabulary(program: Program) -> tuple[list[str], list[str]]:
    """The classes and the properties that rules read, sorted, without owl:sameAs."""
    atoms = [element for rule in program for element in rule.body if isinstance(element, Triple)]
    classes = {node_of(atom) for atom in atoms if atom.predicate == IRI(f"{RDF}type")}
    nodes = {node for rule in program for node in nodes_read(rule)} - classes - {IRI(SAME)}
    texts = (sorted(node.value for node in each if isinstance(node, IRI)) for each in (classes, nodes))
    found, properties = texts
    return found, [name for name in properties if not name.startswith(DATATYPE_PREFIX)]


def functional(program: Program) -> set[str]:
    """The properties with a rule by which all objects of a subject are equal."""
    found: set[str] = set()
    for rule in program:
        if [head.predicate for head in rule.heads] == [IRI(SAME)] and len(rule.body) == 2:
            one, other = rule.body
            if isinstance(one, Triple) and isinstance(other, Triple) and isinstance(one.predicate, IRI):
                is_of_one = (one.subject, one.predicate) == (other.subject, other.predicate)
                if is_of_one and {one.object, other.object} == {rule.heads[0].subject, rule.heads[0].object}:
                    found.add(one.predicate.value)
    return found


def by_popularity(count: int, number: int, random: np.random.Generator) -> NDArray[np.int64]:
    """``number`` ranks below ``count``, log-uniform: rank n has a share of about 1 / n."""
    ranks: NDArray[np.int64] = (np.exp(random.random(number) * np.log(count + 1)) - 1).astype(np.int64)
    return np.minimum(ranks, count - 1)
