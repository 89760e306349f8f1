"""When kernels are compiled, and what a kernel may look like: read off the source."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from corollary.kernels import compiled, limits
from corollary.kernels.byte_texts import gather_texts
from corollary.kernels.compiled import Kernel
from corollary.kernels.tuning import MIN_ELEMENTS_TO_COMPILE
from corollary.loaders import line_kernel

PROJECT = Path(__file__).parents[2]
FOLDER = Path(compiled.__file__).parent
NO_KERNELS = (
    "__init__",
    "announcing",
    "arrow",
    "compiled",
    "interim",
    "interrupts",
    "limits",
    "memory",
    "scratch",
    "threads",
    "tuning",
)
KERNEL_FILES = [
    *sorted(path for path in FOLDER.glob("*.py") if path.stem not in NO_KERNELS),
    Path(line_kernel.__file__),
]
FUNCTIONS = [
    node
    for path in KERNEL_FILES
    for node in ast.parse(path.read_text()).body
    if isinstance(node, ast.FunctionDef)
]
DECORATORS = {
    function.name: [ast.unparse(decorator) for decorator in function.decorator_list] for function in FUNCTIONS
}
PARTS = {name for name, decorators in DECORATORS.items() if decorators in (["part"], ["inlined_part"])}
KERNELS = {function.name for function in FUNCTIONS} - PARTS


def names(tree: ast.AST) -> Iterator[str]:
    """All names and attributes in a piece of source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg


def test_there_are_kernels() -> None:
    assert {"locate", "expand", "contains", "union", "strong_components", "reachable"} <= KERNELS


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_a_kernel_stands_alone(function: ast.FunctionDef) -> None:
    (decorator,) = DECORATORS[function.name]
    kinds = "kernel", "lean_kernel", f"kernel_after(interim.{function.name})", "part", "inlined_part"
    assert decorator in kinds
    body = ast.Module(function.body, [])
    calls = {ast.unparse(node.func) for node in ast.walk(body) if isinstance(node, ast.Call)}
    called = {name for name in calls if "." not in name}
    assert not called & KERNELS, "compiled code cannot call a kernel"
    assert called <= {"range", "min", "max", "bool", *PARTS}
    assert ast.get_docstring(function)


@pytest.mark.parametrize("path", KERNEL_FILES, ids=lambda path: path.stem)
def test_kernels_know_nothing_of_rdf(path: Path) -> None:
    imported = {
        name
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    known = {"__future__", "numpy", "numpy.typing", "corollary.kernels.compiled"}
    assert known <= imported <= {*known, "corollary.kernels", "corollary.kernels.tuning"}


def test_numba_is_asked_for_in_one_way_only() -> None:
    calls = []
    for path in sorted((PROJECT / "plugin").rglob("*.py")):
        tree = ast.parse(path.read_text())
        assert not {"fastmath", "parallel"} & set(names(tree)), path
        calls += [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute | ast.Name)
            and ast.unparse(node.func).rpartition(".")[2] in ("jit", "njit", "vectorize", "guvectorize")
        ]
    (call,) = calls
    options = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    assert options == {"cache": "True", "nogil": "True", "_nrt": "self._allocates"}


class Counting(Kernel[[NDArray[np.int64], NDArray[np.int64]], str]):
    """A kernel that counts its compilations, which cost nothing."""

    compilations = 0

    def compile(self) -> Callable[[NDArray[np.int64], NDArray[np.int64]], str]:
        self.compilations += 1
        return lambda left, right: "machine code"


def test_a_kernel_is_compiled_once_on_its_first_large_input() -> None:
    def as_written(left: NDArray[np.int64], right: NDArray[np.int64]) -> str:
        return "plain"

    kernel = Counting(as_written)
    nothing, small = np.zeros(0, np.int64), np.zeros(MIN_ELEMENTS_TO_COMPILE, np.int64)
    assert kernel(small, nothing) == "plain"
    assert kernel.compilations == 0
    assert kernel(small, np.zeros(1, np.int64)) == "machine code", "all arguments count together"
    assert kernel(nothing, nothing) == "machine code", "what is there is used"
    assert kernel.compilations == 1


def test_a_lean_kernel_leaves_references_as_they_are() -> None:
    """Also where it gets a part of an array, and where it cannot begin."""
    arena, texts = np.arange(9, dtype=np.uint8), np.zeros(9, np.uint8)
    starts, lengths, places = (np.array([number]) for number in (2, 3, 1))
    arrays = arena, starts, lengths, places, texts
    gather: Callable[..., None] = gather_texts.compile()
    gather(*arrays)
    before = [sys.getrefcount(array) for array in arrays]
    for _ in range(9):
        gather(*arrays)
        gather(arena[1:], starts, lengths, places, texts[1:])
        with pytest.raises(TypeError):
            gather(*arrays[1:])
    assert [sys.getrefcount(array) for array in arrays] == before
    assert texts.tolist() == [0, 2, 3, 4, 5, 0, 0, 0, 0]


GRAPH = """
import sys, time
import numpy as np
from tests.timing import reference
from corollary.evaluate import materialise
from corollary.columns import TripleIndex
from corollary.profiles import load_profile
from corollary.terms.dictionary import TermDictionary

OWL, RDF, RDFS = (
    "http://www.w3.org/2002/07/owl#",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
)
triples = [
    ("knows", f"<{RDF}type>", f"<{OWL}SymmetricProperty>"),
    ("within", f"<{RDF}type>", f"<{OWL}TransitiveProperty>"),
    ("knows", f"<{RDFS}domain>", "Person"),
    ("Student", f"<{RDFS}subClassOf>", "Person"),
    ("likes", f"<{RDFS}subPropertyOf>", "knows"),
]
for i in range(19):
    triples += [
        (f"s{i}", f"<{RDF}type>", "Student"),
        (f"s{i}", "likes", f"s{i + 1}"),
        (f"s{i}", "within", f"r{i % 5}"),
        (f"r{i % 5}", "within", f"b{i % 3}"),
        (f"s{i}", "age", f'"{i}"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    ]
dictionary = TermDictionary()
texts = [term if term[0] in '<"' else f"<http://example.org/{term}>" for triple in triples for term in triple]
ids = np.array([dictionary.encode(text) for text in texts], np.uint32).reshape(-1, 3)
program = load_profile("owl2rl")
started = time.process_time()
result = materialise(TripleIndex.from_columns(*np.ascontiguousarray(ids.T)), program, dictionary)
ended = time.process_time()
assert len(triples) == 100, len(triples)
assert len(result.index) > 180, result
"""
"""Materialises a hundred triples under owl2rl."""

TERMS = """
import pickle
from corollary.loaders.ntriples import parse_chunk
from corollary.terms.texts import TextTable

table = TextTable()
for number in (1, 5000):
    lines = "".join(f"<ex:s> <ex:p> <ex:o{i}> .\\n" for i in range(number))
    texts = parse_chunk(np.frombuffer(bytearray(lines, "ascii"), np.uint8)).texts
    table.append(texts, ord("<"), 0, np.empty(texts.starts.size, np.uint32))
assert pickle.loads(pickle.dumps(table)).find("<ex:p>") == 1
assert TextTable.of_parts(table.parts()).is_like(table)

from corollary.sparql.term_texts import TermTexts, cut_out

encoded = [dictionary.encode(text) for text in ("<ex:s>", '"a\\\\tb"@en')]
lexical = TermTexts.of(np.array(encoded, np.uint32), dictionary).lexical
assert lexical.to_pylist() == ["ex:s", "a\\tb"]

text, _ = table.texts_of(np.array([0]))
assert cut_out(text, np.array([1]), np.array([3])).to_pylist() == ["ex"]

from corollary.sparql.column_texts import URI_BYTES, bytes_replaced

assert bytes_replaced(lexical, URI_BYTES).to_pylist() == ["ex%3As", "a%09b"]

from corollary.sparql.term_texts import quoted

groups = quoted(lexical, np.array([1, 0, 1]), np.array([2, 0, 1]), ", ")
assert groups.to_pylist() == ['"a\tb, ex:s"', '""', '"a\tb"']
"""
"""Reads lines, and numbers their terms; the table grows, and is made anew. Reads and changes terms' texts."""

CHANGES = """
from corollary.closure.interval_index import IntervalIndex
from corollary.closure.reachability import Graph, Paths
from corollary.columns import Relation
from corollary.columns.delta import NOTHING, Delta
from corollary.columns.pairs import Pairs, Runs, common_seconds, compose, count_equal, pack
from corollary.language import parse_program
from corollary.maintain import maintain

over, hub, *leaves = (np.uint32(dictionary.encode(f"<ex:{i}>")) for i in range(2000))
star = [np.full(len(leaves), hub), np.full(len(leaves), over), np.array(leaves)]
rule = parse_program("[?x, <ex:0>, ?z] :- [?x, <ex:0>, ?y], [?y, <ex:0>, ?z] .")
before = materialise(TripleIndex.from_columns(*star), rule, dictionary)
rest = TripleIndex.from_columns(*(column[1:] for column in star))
gone = Delta({int(over): pack(star[0][:1], star[2][:1])})
after, _ = maintain(before, rest, gone, NOTHING, "dred")
assert len(after.index) == len(leaves) - 1

path = Pairs(pack(np.arange(9, dtype=np.uint32), np.arange(1, 10, dtype=np.uint32)))
assert len(compose(path.keys, path)) == 8

runs = Runs.of(path.keys, np.arange(9, dtype=np.uint32))
assert common_seconds(runs, runs)[1].size == 9
assert count_equal(path.keys.copy(), path.keys.copy()) == len(path)

assert Paths(Relation(path), None, True).joined(path.keys[:2]).size == 2

from corollary.execute.batches import Batch
from corollary.execute.path_ends import along_path
from corollary.plan.steps import Age, Join
from corollary.program.compile import Atom

assert path.by_object.size
ends = Batch(8, {-1: np.arange(8, dtype=np.uint32), -3: np.arange(2, 10, dtype=np.uint32)})
steps = Join(Atom(-1, 1, -2), Age.ALL), Join(Atom(-2, 1, -3), Age.ALL)
joined = along_path(ends, steps, {Age.ALL: TripleIndex({1: Relation(path)})}, is_test=True)
assert joined is not None and joined[0].size == 8

index = IntervalIndex.whole(Graph.of(path.keys))
assert index.contains(path.keys).all() and index.after(index.sources())[1].size == 45
assert len(index.listed()) == 45
"""
"""Removes one of very many edges of a node from their closure, and indexes a path and joins it."""

VALUES = """
nodes = [dictionary.encode(f"<ex:{i}>") for i in range(9)]
ring = np.array([(node, int(over), nodes[i - 8]) for i, node in enumerate(nodes)], np.uint32)
counted = materialise(TripleIndex.from_columns(*ring.T.copy()), rule, dictionary)
for number in (1, 2):
    rest = TripleIndex.from_columns(*ring[number:].T.copy())
    gone = Delta({int(over): pack(ring[number - 1 : number, 0], ring[number - 1 : number, 2])})
    counted, report = maintain(counted, rest, gone, NOTHING, "counting")
    assert report.strategy == "counting"

paths = parse_program(
    "[?y, <ex:far>, ?d] :- AGGREGATE([?x, <ex:0>, ?y], [?x, <ex:far>, ?e], BIND(?e + 1 AS ?s)"
    " ON ?y BIND min(?s) AS ?d) . [<ex:0>, <ex:far>, 0] ."
)
assert len(materialise(rest, paths, dictionary).index) > len(rest)
falling = parse_program(
    "[?y, <ex:far>, ?d] :- AGGREGATE([?x, <ex:0>, ?y], [?x, <ex:far>, ?e], BIND(?e - 1 AS ?s)"
    " ON ?y BIND min(?s) AS ?d) . [<ex:3>, <ex:far>, 0] ."
)
assert len(materialise(rest, falling, dictionary).index) > len(rest)
"""
"""Counts derivations, and follows least values, while edges of a ring go."""


def run(script: str, *arguments: str) -> list[str]:
    """The words that a fresh Python prints."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_small_graph_does_not_wait_for_a_compiler() -> None:
    """Times are measured in reference loops: ``tests.timing``."""
    *imported, reasoning, whole = run(
        f"{GRAPH}\nloop = max(reference() for _ in range(3))\n"
        "print(*(name for name in ('numba', 'llvmlite') if name in sys.modules))\n"
        "print((ended - started) / loop, ended / loop)"
    )
    assert not imported, f"a hundred triples made Python import {imported}"
    assert float(reasoning) < 200, f"materialising a hundred triples took {reasoning} loops"
    assert float(whole) < 2000, f"from nothing to the materialisation of a hundred triples in {whole} loops"


UNIVERSITY = """
import sys
from pathlib import Path
from rdflib import Graph
from corollary.generators import generate

folder = Path(sys.argv[1])
generate(1, folder)
graph = Graph(store="Corollary")
graph.store.load(*folder.iterdir())
assert graph.store.statistics().inferred > 100_000
removed = list(graph.triples((None, None, None)))[:1000:50]
for triple in removed:
    graph.remove(triple)
assert list(graph.query("SELECT (COUNT(*) AS ?n) { ?x ?p ?y }"))[0][0].toPython() > 200_000
print("numba" in sys.modules)
"""


def test_a_university_needs_no_compiler(tmp_path: Path) -> None:
    """A hundred thousand triples are read, closed, changed and asked for."""
    assert run(UNIVERSITY, str(tmp_path)) == ["False"]


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")
def test_the_engine_calls_every_kernel_with_one_signature() -> None:
    """Else whoever loads a large graph waits for the compiler twice."""
    counts = run(
        "import corollary.kernels.tuning\n"
        "corollary.kernels.tuning.MIN_ELEMENTS_TO_COMPILE = -1\n"
        "corollary.kernels.tuning.MIN_ELEMENTS_TO_COMPILE_AFTER_NUMPY = -1\n"
        "corollary.kernels.tuning.MIN_ELEMENTS_TO_COMPILE_BESIDE_NUMBA = -1\n"
        "corollary.kernels.tuning.MIN_ELEMENTS_CUT = 2\n"
        "corollary.kernels.tuning.MIN_ELEMENTS_PER_PIECE = 1\n"
        "import corollary.kernels.limits\n"
        "corollary.kernels.limits._NO_WORK.threads = 3\n"
        "import corollary.columns.pairs\n"
        "corollary.columns.pairs.MIN_KEYS_MERGED = corollary.columns.key_sort.MAX_KEYS_FOR_NP_SORT = 0\n"
        "corollary.columns.key_sort._seconds_per_key = lambda: 1\n"  # as where comparing is slow
        "import corollary.closure.reachability\n"
        "corollary.closure.reachability.MIN_STEPS_WALKED = 0\n"
        "import corollary.execute.path_ends\n"
        "corollary.execute.path_ends.MIN_ROWS_TO_MEET_HALFWAY = 1\n"
        f"{GRAPH}\n{TERMS}\n{CHANGES}\n{VALUES}\n"
        "modules = [module for name, module in sys.modules.items() if name.startswith('corollary.')]\n"
        "found = {id(value): value for module in modules for value in vars(module).values()}\n"
        "for kernel in found.values():\n"
        "    if type(kernel).__name__ == 'Kernel' and kernel.is_compiled:\n"
        "        print(kernel.__name__, len(kernel._compiled.signatures), sep=':')"
    )
    assert sorted(counts) == sorted(f"{name}:1" for name in KERNELS)


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")
def test_small_calls_are_compiled_once_numba_is_there() -> None:
    found = run(
        "import numpy as np\n"
        "from corollary.kernels.sorted import union\n"
        "from corollary.kernels.tuning import ELEMENTS_PER_CALL_OF_NUMPY as CALL\n"
        "from corollary.kernels.tuning import MIN_ELEMENTS_TO_COMPILE_BESIDE_NUMBA as MOST\n"
        "one, two, merged = np.array([1], np.uint64), np.array([2], np.uint64), np.empty(2, np.uint64)\n"
        "def call():\n"
        "    for _ in range(MOST // CALL + 1):\n"
        "        assert union(one, two, merged) == 2 and merged.tolist() == [1, 2]\n"
        "    return union.is_compiled\n"
        "print(call())\n"
        "import numba\n"
        "print(call())\n"
    )
    assert found == ["False", "True"]


INTERRUPTED = """
import signal, sys, time
import numpy as np
from corollary.kernels.tuning import MIN_ELEMENTS_TO_COMPILE_AFTER_NUMPY as SIZE
from corollary.kernels.sorted import union

def handler(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, handler)
left = np.arange(SIZE, dtype=np.uint64)
right = left + np.uint64(7)
caught = 0
for delay in (0.02, 0.1, 0.2, 0.3):
    merged = np.empty(2 * SIZE, np.uint64)
    signal.setitimer(signal.ITIMER_REAL, delay)
    try:
        size = union(left, right, merged)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        caught += 1
size = union(left, right, merged)
assert size == SIZE + 7 and (merged[:size] == np.arange(size)).all()
assert union.is_compiled and caught
"""


@pytest.mark.slow
def test_an_interrupted_import_or_compilation_goes_on(tmp_path: Path) -> None:
    """Found: Ctrl-C while Numba was imported left it broken for the rest of the process."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    environment.pop("NUMBA_DISABLE_JIT", None)
    subprocess.run([sys.executable, "-c", INTERRUPTED], check=True, env=environment, timeout=120)


def test_compiling_does_not_count_towards_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget of estimated seconds stands still while a kernel is compiled, and runs on afterwards."""
    now = [0.0]
    for clock in ("perf_counter", "process_time"):
        monkeypatch.setattr(limits, clock, lambda: now[0])
    watch = limits.Stopwatch()

    def compile_for_long() -> None:
        now[0] += 100
        limits.check()

    def work_and_compile(seconds: float) -> None:
        limits.uncounted(compile_for_long)
        limits.check()
        now[0] += seconds
        limits.check()

    limits.limited_by_estimate(5, work_and_compile, 4.0)
    assert watch.seconds() == pytest.approx(4)
    with pytest.raises(limits.LimitExceeded, match="more than 5 s"):
        limits.limited_by_estimate(5, work_and_compile, 6.0)
    with pytest.raises(limits.LimitExceeded, match="more than 50 s"):
        limits.limited(limits.Limits(seconds=50), limits.Cancellation(), work_and_compile, 0.0)


def test_neither_other_processes_nor_more_threads_count_towards_estimates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lesser one of the time that passes and that of the processors counts."""
    passed, busy = [0.0], [0.0]
    monkeypatch.setattr(limits, "perf_counter", lambda: passed[0])
    monkeypatch.setattr(limits, "process_time", lambda: busy[0])

    def work(seconds: float, processors: float) -> None:
        passed[0] += seconds
        busy[0] += processors
        limits.check()

    limits.limited_by_estimate(5, work, 20.0, 4.0)
    limits.limited_by_estimate(5, work, 4.0, 20.0)
    for seconds, processors in ((20.0, 6.0), (6.0, 20.0)):
        with pytest.raises(limits.LimitExceeded, match="more than 5 s"):
            limits.limited_by_estimate(5, work, seconds, processors)
    with pytest.raises(limits.LimitExceeded, match="more than 5 s"):
        limits.limited(limits.Limits(seconds=5), limits.Cancellation(), work, 20.0, 4.0)
