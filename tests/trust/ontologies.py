"""Random ontologies in stores that live on, state by state, against an independent oracle of OWL 2 RL.

``python -m tests.trust.ontologies --states 100000``. Each store meets the axioms of a small ontology full of
aliases: some triples or whole axioms come and go, in transactions and without, and rules change now and then.
After every step what follows must be what ``tests/oracles/strict.py`` derives from the stated triples alone,
and so must the clashes. Under owl2rl what is missing must be clutter by docs/profiles.md. A difference is
shrunk and printed as Python.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from rdflib import OWL, RDF, RDFS, XSD, Graph, Literal, URIRef
from rdflib.term import Node
from tests.ontology_aliases import CLASSES, EX, PROPERTIES, Axiom, ontology
from tests.oracles import strict
from tests.oracles.strict import Closure, Core, Fact, TooLarge, Triple, named, numbered, term
from tests.trust import operations

from corollary.store import CorollaryStore

PROGRAMS = ("owl2rl", "owl2rl-full")
RULES = (*PROGRAMS, "rdfs")
"""The steps that change the rules."""
MOST_LISTED = 1000
"""How many clashes of a rule a store lists."""
MOST_FACTS = 3000
"""States with more are not compared."""
LISTS = frozenset((strict.FIRST, strict.REST))
REFLEXIVE = frozenset(
    (strict.SAME, strict.BELOW, strict.EQUIVALENT, strict.SUB_PROPERTY, strict.EQUIVALENT_PROPERTY)
)
CLUTTERED = frozenset((strict.THING, strict.CLASS, strict.ANNOTATION_PROPERTY, strict.DATATYPE))


@dataclass(frozen=True)
class Step:
    """``how``: plain, transaction, torn (a read inside), failing (rolled back), or the name of a program."""

    how: str
    added: tuple[Triple, ...] = ()
    removed: tuple[Triple, ...] = ()
    reads: bool = True


@dataclass(frozen=True)
class Difference:
    kind: str
    details: tuple[str, ...]


class Differs(Exception):
    def __init__(self, difference: Difference, steps: Sequence[Step]) -> None:
        super().__init__(difference.kind)
        self.difference = difference
        self.steps = list(steps)


class Failed(Exception):
    """A transaction's end on purpose."""


@dataclass
class Counts:
    states: int = 0
    skipped: int = 0
    oracle: float = 0
    store: float = 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--states", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--program", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--meta", type=float, default=0.1, help="the share of ontologies about OWL itself")
    parser.add_argument("--most", type=int, default=1, help="how many differences to look for")
    given = parser.parse_args(arguments)
    operations.quiet()
    chance, started, printed = random.Random(given.seed), time.perf_counter(), 0.0
    counts, kinds = Counts(), Counter[str]()
    while counts.states < given.states and kinds.total() < given.most:
        seed, program = chance.randrange(1 << 32), chance.choice(given.program)
        has_meta = chance.random() < given.meta
        try:
            live(random.Random(seed), program, has_meta, counts)
        except Differs as found:
            kinds[found.difference.kind] += 1
            report(found, program, f"{program}, seed {seed}, {'with' if has_meta else 'without'} meta")
        except BaseException as error:
            error.add_note(f"a store of seed {seed} and program {program}, meta {has_meta}")
            raise
        if time.perf_counter() - printed > 5:
            printed = time.perf_counter()
            print(f"{counts.states:9,} states, {printed - started:6.0f} s", flush=True)
    seconds = time.perf_counter() - started
    print(
        f"{counts.states:,} states in {seconds:.0f} s, {counts.skipped:,} too large to compare;"
        f" a state took the oracle {1000 * counts.oracle / max(counts.states, 1):.1f} ms"
        f" and the store {1000 * counts.store / max(counts.states, 1):.1f} ms"
    )
    for kind, times in kinds.most_common():
        print(f"{times:5} {kind}")
    print("no difference" if not kinds else f"{kinds.total()} differences")
    return 1 if kinds else 0


# Histories


def live(chance: random.Random, program: str, has_meta: bool, counts: Counts) -> None:
    """The life of one store."""
    steps = list(history(chance, ontology(chance, meta=has_meta), program))
    play(steps, program, counts, scratch=chance)


def history(chance: random.Random, axioms: list[Axiom], program: str) -> Iterator[Step]:
    """First a part of an ontology, then changes to it."""
    triples = [triple for axiom in axioms for triple in axiom]
    present = {triple for axiom in axioms if chance.random() < 0.7 for triple in axiom}
    yield Step("plain", added=tuple(t for t in dict.fromkeys(triples) if t in present))
    for _ in range(chance.randint(4, 24)):
        if chance.random() < 0.04:
            yield Step(other := chance.choice(RULES))
            if other != program and chance.random() < 0.8:
                yield Step(program)
            continue
        some, is_adding = _some(chance, axioms, triples), chance.random() < 0.5
        added = tuple(t for t in some if is_adding and t not in present)
        removed = tuple(t for t in some if not is_adding and t in present)
        if chance.random() < 0.2:
            more = [t for t in _some(chance, axioms, triples) if t not in some]
            added += tuple(t for t in more if t not in present)
            removed += tuple(t for t in more if t in present)
        if not added and not removed:
            continue
        how = chance.choices(("plain", "transaction", "torn", "failing"), (7, 2, 1, 1))[0]
        yield Step(how, added, removed, chance.random() < 0.9)
        if how != "failing":
            present = (present - set(removed)) | set(added)


def _some(chance: random.Random, axioms: list[Axiom], triples: list[Triple]) -> list[Triple]:
    if chance.random() < 0.4:
        return list(dict.fromkeys(chance.choice(axioms)))
    return list(dict.fromkeys(chance.choices(triples, k=chance.choice((1, 1, 1, 2, 3)))))


def play(
    steps: Sequence[Step], program: str, counts: Counts, *, scratch: random.Random | None = None
) -> None:
    """Raises ``Differs`` at the first state that is not as it should be."""
    graph, stated, rules = Graph(CorollaryStore(rules=program)), dict[Triple, None](), program
    for place, step in enumerate(steps, 1):
        if step.how in RULES:
            rules = step.how
        else:
            state(stated, step)
        try:
            apply(graph, step)
            if not step.reads or rules not in PROGRAMS:
                continue
            started = time.perf_counter()
            try:
                expected = Expected(stated)
            except TooLarge:
                counts.skipped += 1
                continue
            finally:
                counts.oracle += time.perf_counter() - started
            started = time.perf_counter()
            difference = compare(graph, rules, expected)
        except Exception as error:
            difference = Difference(f"raises {type(error).__name__}", (str(error),))
        if difference is not None:
            raise Differs(difference, steps[:place])
        counts.states += 1
        if scratch is not None and scratch.random() < 0.05:
            alone = at_once(steps[:place])
            other = Graph(CorollaryStore(rules=program))
            for one in alone:
                apply(other, one)
            difference = compare(other, rules, expected)
            if difference is not None:
                raise Differs(difference, alone)
            counts.states += 1
        counts.store += time.perf_counter() - started


def state(stated: dict[Triple, None], step: Step) -> None:
    """What is stated after a step, in an order that does not depend on hashes."""
    if step.how != "failing":
        for triple in step.removed:
            stated.pop(triple, None)
        stated.update(dict.fromkeys(step.added))


def store_of(graph: Graph) -> CorollaryStore:
    assert isinstance(graph.store, CorollaryStore)
    return graph.store


def apply(graph: Graph, step: Step) -> None:
    def change(is_read_between: bool = False) -> None:
        for triple in step.removed:
            graph.remove(triple)
        if is_read_between:
            len(graph)
            store_of(graph).inconsistencies()
        for triple in step.added:
            graph.add(triple)

    if step.how in RULES:
        store_of(graph).use_rules(step.how)
    elif step.how == "plain":
        change()
    elif step.how == "failing":
        with suppress(Failed), store_of(graph).transaction():
            change(is_read_between=True)
            raise Failed
    else:
        with store_of(graph).transaction():
            change(is_read_between=step.how == "torn")


# Comparison


class Expected:
    """What the oracle says of some triples."""

    def __init__(self, stated: Iterable[Triple]) -> None:
        self.is_meta = any(map(is_meta, stated))
        self.closure: Closure = strict.close(map(numbered, stated), MOST_FACTS, is_declared=True)
        self.clashes = {essence(core) for core in self.closure.clashes(with_lists=False)}
        self.facts = {
            (s, p, o)
            for s, p, o in self.closure.facts
            if not isinstance(term(s), Literal) and isinstance(term(p), URIRef)
        }


def is_meta(triple: Triple) -> bool:
    """Whether a triple may be about the built-in vocabulary: owl2rl loses some consequences of that."""
    s, p, o = (_is_built_in(x) for x in triple)
    if s and triple[0] not in strict.DATATYPES:
        return True
    if triple[1] == RDF.type:
        return not o and triple[0] in PROPERTIES
    if triple[1] in (RDF.rest, RDF.first, OWL.someValuesFrom, OWL.onClass):
        return triple[1] == RDF.first and o and triple[2] not in strict.DATATYPES
    if not p:
        return triple[0] in (*CLASSES, *PROPERTIES)
    return o and triple[2] not in strict.DATATYPES


def _is_built_in(node: Node) -> bool:
    return isinstance(node, URIRef) and not node.startswith(str(EX))


def essence(core: Core) -> Core:
    """A clash without what need not be shown: the triples of lists, and that a term is the same as itself."""
    rule, premises = core
    return rule, frozenset(
        (s, p, o) for s, p, o in premises if p not in LISTS and not (p == strict.SAME and s == o)
    )


def compare(graph: Graph, rules: str, expected: Expected) -> Difference | None:
    """The first difference."""
    kept = {numbered(triple) for triple in graph}
    is_consistent = not expected.clashes
    extra = kept - expected.facts
    if extra:
        return _about_facts("extra", extra)
    missing = expected.facts - kept
    if rules == "owl2rl":
        renamed = {o for s, p, o in kept if p == strict.SAME}
        is_exact = is_consistent and not expected.is_meta
        missing = {f for f in missing if not is_clutter(f, kept, renamed)} if is_exact else set()
    if missing:
        return _about_facts("missing", missing)
    return _clashes(graph, rules, expected)


def _about_facts(what: str, facts: set[Fact]) -> Difference:
    def name(fact: Fact) -> str:
        predicate = str(term(fact[1]))
        return "ex:p" if predicate.startswith(str(EX)) else predicate.rsplit("#")[-1]

    names = sorted({name(fact) for fact in facts})
    shown = sorted(" ".join(map(code, named(fact))) for fact in facts)[:8]
    return Difference(f"{what} {names[0]}", tuple(shown))


def is_clutter(fact: Fact, kept: set[Fact], renamed: set[int]) -> bool:
    """Whether owl2rl may leave a fact out, as in ``tests/profiles/test_clutter.py``.

    dt-diff is kept for literals that owl:sameAs facts mention, so not for those that are not ``renamed``.
    """
    s, p, o = fact
    if s == o and p in REFLEXIVE:
        return True
    if p == strict.TYPE:
        return o in CLUTTERED
    if p == strict.BELOW:
        return o == strict.THING or s == strict.NOTHING
    if p == strict.DIFFERENT:
        return isinstance(term(o), Literal) and o not in renamed
    if p in (strict.DOMAIN, strict.RANGE):
        return o == strict.THING or (s, p, strict.NOTHING) in kept
    return False


def _clashes(graph: Graph, rules: str, expected: Expected) -> Difference | None:
    wanted = {rule for rule, _ in expected.clashes}
    shown: dict[str, str] = {}
    found = set[Core]()
    listed = Counter[str]()
    for clash in store_of(graph).inconsistencies():
        listed[clash.rule] += 1
        core = essence((clash.rule, frozenset(map(numbered, clash.triples))))
        if clash.rule == "dt-not-type" and not clash.triples:
            core = clash.rule, frozenset()
        found.add(core)
        shown.setdefault(clash.rule, str(clash))
        if core not in expected.clashes and not (
            not core[1] and clash.rule == "dt-not-type" and clash.rule in wanted
        ):
            kind = "false clash" if clash.rule not in wanted else "false instance"
            return Difference(f"{kind} {clash.rule}", (str(clash),))
    hidden = {
        core
        for core in expected.clashes - found
        if listed[core[0]] < MOST_LISTED and core[0] != "dt-not-type" and rules != "owl2rl"
    }
    lost = (wanted - set(listed)) or {rule for rule, _ in hidden}
    if rules == "owl2rl" and (listed or expected.is_meta):
        lost = set()
    if lost:
        rule = min(lost)
        those = hidden or expected.clashes
        premises = min((sorted(core) for name, core in those if name == rule), key=len)
        return Difference(
            f"missing clash {rule}", tuple(" ".join(map(code, named(fact))) for fact in premises)
        )
    return None


# Reproductions


def differs(steps: Sequence[Step], program: str, kind: str) -> bool:
    """Whether a history still differs in the same way."""
    try:
        play(steps, program, Counts())
    except Differs as found:
        return found.difference.kind == kind
    except Exception:  # another difference
        return False
    return False


def at_once(steps: Sequence[Step]) -> list[Step]:
    """The rules at the end, and all that is stated in the end."""
    stated = dict[Triple, None]()
    for step in steps:
        state(stated, step)
    rules = [step for step in steps if step.how in RULES]
    return [*rules[-1:], Step("plain", tuple(stated))]


def shrunk(steps: list[Step], program: str, kind: str) -> list[Step]:
    """A history with fewer steps and triples that differs in the same way, in one step if that will do."""
    alone = at_once(steps)
    if differs(alone, program, kind):
        steps = alone
    before: list[Step] = []
    while steps != before:
        before = steps
        for others in _simpler(steps):
            if differs(others, program, kind):
                steps = others
                break
    return steps


def _simpler(steps: list[Step]) -> Iterator[list[Step]]:
    """Without a step, without some of its triples, without its transaction."""
    for place, step in enumerate(steps):
        before, after = steps[:place], steps[place + 1 :]
        yield before + after
        for added in _shorter(step.added):
            yield [*before, replace(step, added=added), *after]
        for removed in _shorter(step.removed):
            yield [*before, replace(step, removed=removed), *after]
        if step.how not in ("plain", *RULES):
            yield [*before, replace(step, how="plain"), *after]


def _shorter(triples: tuple[Triple, ...]) -> Iterator[tuple[Triple, ...]]:
    """Without a half, a quarter ... one."""
    size = len(triples) // 2
    while size:
        for start in range(0, len(triples), size):
            yield triples[:start] + triples[start + size :]
        size //= 2


def report(found: Differs, program: str, origin: str) -> None:
    kind = found.difference.kind
    steps = shrunk(found.steps, program, kind)
    try:
        play(steps, program, Counts())
        details: tuple[str, ...] = ("it does not come back when played again: the steps are all there were",)
        steps = found.steps
    except Differs as again:
        details = again.difference.details
    print(f"\n# {kind}   ({origin})")
    for line in details:
        print(f"#   {line}")
    print(f'graph = Graph(CorollaryStore(rules="{program}"))')
    for step in steps:
        print("\n".join(_code_of(step)))
    print(flush=True)


def _code_of(step: Step) -> Iterator[str]:
    if step.how in RULES:
        yield f'graph.store.use_rules("{step.how}")'
        return
    indent = ""
    if step.how != "plain":
        yield f"with graph.store.transaction():  # {step.how}"
        indent = "    "
    yield from (f"{indent}graph.remove(({', '.join(map(code, triple))}))" for triple in step.removed)
    if step.how in ("torn", "failing"):
        yield f"{indent}len(graph), graph.store.inconsistencies()"
    yield from (f"{indent}graph.add(({', '.join(map(code, triple))}))" for triple in step.added)
    if step.reads:
        yield "set(graph), graph.store.inconsistencies()"


def code(node: Node) -> str:
    """A term as Python."""
    if isinstance(node, Literal):
        kind = f", lang={node.language!r}" if node.language else ""
        if node.datatype is not None:
            kind = f", datatype={code(node.datatype)}, normalize=False"
        return f'Literal("{node}"{kind})'
    if isinstance(node, URIRef):
        for name, space in (("EX", EX), ("RDF", RDF), ("RDFS", RDFS), ("OWL", OWL), ("XSD", XSD)):
            if node.startswith(str(space)):
                return f"{name}.{node[len(str(space)) :]}"
    return f'BNode("{node}")'


if __name__ == "__main__":
    sys.exit(main())
