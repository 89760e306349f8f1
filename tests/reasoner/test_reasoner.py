"""The public methods of a reasoner: facts as N-Triples texts, rules, transactions, reports, persistence."""

import pickle
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corollary.language import CorollaryError, InputError, UnknownProfileError, parse_program
from corollary.reasoner import Cancelled, LimitExceeded, Reasoner, SuspendedRuleWarning, deriving

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
TYPE, SUBCLASS = f"<{RDF}type>", f"<{RDFS}subClassOf>"
DOG, ANIMAL, REX = "<urn:x#Dog>", "<urn:x#Animal>", "<urn:x#rex>"
SCHEMA, DATA, INFERRED = (DOG, SUBCLASS, ANIMAL), (REX, TYPE, DOG), (REX, TYPE, ANIMAL)

REVERSE = "[?y, <urn:x#has>, ?x] :- [?x, <urn:x#of>, ?y] ."


def animals() -> Reasoner:
    reasoner = Reasoner("rhodf")
    reasoner.add(SCHEMA, DATA)
    return reasoner


# Facts


def test_what_follows_comes_and_goes_with_its_reasons() -> None:
    reasoner = animals()
    assert INFERRED in reasoner
    reasoner.remove(DATA)
    assert INFERRED not in reasoner and DATA not in reasoner
    reasoner.add(DATA)
    assert INFERRED in reasoner


def test_a_fact_that_is_explicit_and_follows_stays_if_one_of_the_two_goes() -> None:
    reasoner = animals()
    reasoner.add(INFERRED)
    assert INFERRED in reasoner.snapshot().explicit
    reasoner.remove(INFERRED)
    assert INFERRED in reasoner.snapshot().inferred
    reasoner.add(INFERRED)
    reasoner.remove(SCHEMA)
    assert INFERRED in reasoner


def test_what_is_not_explicit_cannot_be_removed() -> None:
    reasoner = animals()
    reasoner.remove(INFERRED, ("<urn:never>", "<urn:heard>", "<urn:of>"))
    assert INFERRED in reasoner


def test_patterns() -> None:
    reasoner = animals()
    assert list(reasoner.match(REX, TYPE, ANIMAL)) == [INFERRED]
    assert {o for _, _, o in reasoner.match(REX, TYPE)} == {DOG, ANIMAL}
    assert list(reasoner.match(None, SUBCLASS)) == [SCHEMA]
    assert list(reasoner.match(object="<urn:unknown>")) == []
    assert set(reasoner) == {SCHEMA, DATA, INFERRED} and len(reasoner) == 3


@pytest.mark.parametrize(
    ("written", "known"),
    [
        (f'"a"^^<{XSD}string>', '"a"'),
        ('"Hallo"@DE', '"Hallo"@de'),
        ('"a\\u0062"', '"ab"'),
        ('"x\ny"', '"x\\ny"'),
        (f'"5"^^<{XSD}integer>', f'"5"^^<{XSD}integer>'),
        ("_:b1", "_:b1"),
    ],
)
def test_terms_have_one_text(written: str, known: str) -> None:
    reasoner = Reasoner("none")
    reasoner.add((REX, "<urn:x#name>", written))
    assert [o for _, _, o in reasoner.match(REX)] == [known]
    assert (REX, "<urn:x#name>", written) in reasoner


@pytest.mark.parametrize("text", ["rex", "", "<urn:x", "<a b>", '"open', "_:", "?x", "<<a>>", "_:a b", 5])
def test_what_is_no_term_is_refused(text: str) -> None:
    reasoner = Reasoner("none")
    with pytest.raises(CorollaryError, match="is no N-Triples term: write"):
        reasoner.add(DATA, (REX, TYPE, text))
    assert len(reasoner) == 0


@pytest.mark.parametrize("triple", [('"a"', TYPE, DOG), (REX, "_:b", DOG), (REX, '"p"', DOG)])
def test_what_rdf_does_not_allow_is_refused(triple: tuple[str, str, str]) -> None:
    reasoner = Reasoner("none")
    with pytest.raises(CorollaryError, match="RDF allows"):
        reasoner.add(DATA, triple)
    assert len(reasoner) == 0


def test_graphs() -> None:
    reasoner = Reasoner("rhodf")
    reasoner.add(SCHEMA)
    reasoner.add(DATA, graph="<urn:x#pets>")
    now = reasoner.snapshot()
    assert INFERRED in now and list(now.graph("<urn:x#pets>")) == [DATA]
    assert list(now.graph("<urn:x#none>")) == []
    reasoner.remove(DATA)  # is not in the default graph
    assert DATA in reasoner
    reasoner.remove(DATA, graph="<urn:x#pets>")
    assert list(reasoner) == [SCHEMA]


# Snapshots


def test_a_snapshot_stays_as_it_is() -> None:
    reasoner = animals()
    before = reasoner.snapshot()
    reasoner.remove(SCHEMA)
    assert INFERRED in before and len(before) == 3
    assert INFERRED not in reasoner.snapshot()


def test_a_snapshot_in_ids(tmp_path: Path) -> None:
    now = animals().snapshot()
    decode = now.dictionary.decode
    assert {tuple(map(decode, fact)) for fact in now.match_ids()} == {SCHEMA, DATA, INFERRED}
    s, p, o = now.inferred.columns()
    assert [tuple(map(decode, fact)) for fact in np.column_stack((s, p, o)).tolist()] == [INFERRED]
    now.inferred.write(tmp_path / "inferred.nt")
    assert (tmp_path / "inferred.nt").read_text() == f"{' '.join(INFERRED)} .\n"


def test_readers_see_one_moment_while_another_thread_writes() -> None:
    """Each snapshot has both facts of a transaction, or none; and what follows from them."""
    reasoner, stop, wrong = animals(), threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            now = reasoner.snapshot()
            size = len(list(now.match(None, TYPE)))
            if size % 4 != 2 or size != len(now) - 1:
                wrong.append(size)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(40):
        with reasoner.transaction():
            reasoner.add((f"<urn:x#a{number}>", TYPE, DOG))
            reasoner.add((f"<urn:x#b{number}>", TYPE, DOG))
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong


# Transactions


def test_a_transaction_happens_or_not() -> None:
    reasoner = animals()
    with pytest.raises(ZeroDivisionError), reasoner.transaction():
        reasoner.remove(SCHEMA)
        assert INFERRED not in reasoner
        1 / 0  # noqa: B018
    assert INFERRED in reasoner
    with reasoner.transaction():
        reasoner.remove(SCHEMA)
    assert INFERRED not in reasoner


def test_rollback_brings_back_the_last_commit() -> None:
    reasoner = animals()
    reasoner.commit()
    reasoner.remove(SCHEMA)
    reasoner.use_rules("none")
    reasoner.rollback()
    assert INFERRED in reasoner and reasoner.rules().name == "rhodf"


def test_a_copy_is_independent() -> None:
    reasoner = animals()
    copy = pickle.loads(pickle.dumps(reasoner))
    reasoner.remove(DATA)
    assert set(copy) == {SCHEMA, DATA, INFERRED} and list(reasoner) == [SCHEMA]


def test_a_transaction_mends_what_cannot_be_derived() -> None:
    reasoner = Reasoner("none")
    reasoner.add_rules(
        "[?y, <urn:d>, ?m] :- AGGREGATE([?x, <urn:e>, ?y], [?x, <urn:d>, ?d] ON ?y BIND max(?d + 1) AS ?m) ."
    )
    loop = ("<urn:a>", "<urn:e>", "<urn:a>")
    reasoner.add(loop, ("<urn:a>", "<urn:d>", f'"1"^^<{XSD}integer>'))
    with pytest.raises(LimitExceeded):
        len(reasoner)
    with pytest.raises(LimitExceeded), reasoner.transaction():
        reasoner.add(("<urn:b>", "<urn:d>", f'"1"^^<{XSD}integer>'))
    with reasoner.transaction():
        reasoner.remove(loop)
        assert len(reasoner) == 1
    assert len(reasoner) == 1


# Rules


def test_rules_come_and_go() -> None:
    reasoner = animals()
    reasoner.add((REX, "<urn:x#of>", "<urn:x#ann>"))
    assert len(reasoner.add_rules(REVERSE)) == 1
    assert ("<urn:x#ann>", "<urn:x#has>", REX) in reasoner
    assert len(reasoner.remove_rules(REVERSE)) == 1
    assert ("<urn:x#ann>", "<urn:x#has>", REX) not in reasoner and INFERRED in reasoner
    reasoner.use_rules("none")
    assert INFERRED not in reasoner and reasoner.program() is None
    assert reasoner.explain_plan() == "no rules\n" and reasoner.materialise() is None


def test_rules_that_there_are_not_are_refused() -> None:
    with pytest.raises(UnknownProfileError):
        Reasoner("owl3")
    reasoner = animals()
    with pytest.raises(CorollaryError, match="no rule is named"):
        reasoner.remove_rules("scm-xyz")
    assert INFERRED in reasoner


def test_suspended_rules_are_warned_of_and_listed() -> None:
    reasoner = Reasoner("rhodf")
    reasoner.add_rules("<urn:x#B>[?x] :- <urn:x#A>[?x], NOT <urn:x#C>[?x] .")
    reasoner.add((REX, TYPE, "<urn:x#A>"), ("<urn:x#B>", SUBCLASS, "<urn:x#C>"))
    with pytest.warns(SuspendedRuleWarning) as caught:
        assert (REX, TYPE, "<urn:x#B>") not in reasoner
    assert caught[0].filename == __file__
    (rule,) = reasoner.suspended_rules()
    assert ("<urn:x#B>", SUBCLASS, "<urn:x#C>") in rule.triples and str(rule) in str(reasoner.statistics())
    reasoner.remove(("<urn:x#B>", SUBCLASS, "<urn:x#C>"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (REX, TYPE, "<urn:x#B>") in reasoner


# Reports


def test_explanations() -> None:
    reasoner = animals()
    explanation = reasoner.explain(INFERRED)
    assert explanation.status.value == "inferred" and str(explanation).count("<urn:x#Dog>") == 3
    assert "<urn:x#Dog> is a subclass of <urn:x#Animal>" in str(explanation)
    reasoner.bind("x", "urn:x#")
    assert str(reasoner.explain(INFERRED)).startswith("x:rex a x:Animal follows.")
    assert reasoner.explain(DATA).status.value == "explicit"
    assert reasoner.explain((REX, TYPE, "<urn:x#Cat>")).as_dict()["status"] != "inferred"


def test_inconsistencies() -> None:
    reasoner = Reasoner("owl2rl")
    reasoner.add(DATA, (REX, TYPE, "<urn:x#Cat>"))
    reasoner.add((DOG, "<http://www.w3.org/2002/07/owl#disjointWith>", "<urn:x#Cat>"))
    (clash,) = reasoner.inconsistencies()
    assert clash.rule == "cax-dw" and DATA in clash.triples and str(clash).startswith("cax-dw: ")
    assert "cax-dw" in str(reasoner.explain(clash))
    reasoner.remove(DATA)
    assert reasoner.inconsistencies() == []
    with pytest.raises(CorollaryError, match="no inconsistency"):
        reasoner.explain(clash)


def test_numbers_and_reports() -> None:
    reasoner = animals()
    assert repr(reasoner) == "<Reasoner rhodf: 0 explicit, 2 changes wait for the next read>"
    numbers = reasoner.statistics()
    assert (numbers.explicit, numbers.inferred, numbers.total) == (2, 1, 3)
    assert repr(reasoner) == "<Reasoner rhodf: 2 explicit, 1 inferred>"
    assert reasoner.last_maintenance() is None
    reasoner.remove(DATA)
    report = reasoner.last_maintenance()
    assert report is not None and report.as_dict()
    assert "transitive closure: rdfs11" in reasoner.explain_plan()
    assert reasoner.components().as_dict() and reasoner.verify().is_sound


def test_terms_that_nothing_uses_can_be_dropped() -> None:
    reasoner = animals()
    for number in range(50):
        reasoner.add((REX, "<urn:x#saw>", f"<urn:x#thing{number}>"))
        reasoner.remove((REX, "<urn:x#saw>", f"<urn:x#thing{number}>"))
    before = reasoner.snapshot()
    assert reasoner.compact() == 51
    assert set(reasoner) == set(before) == {SCHEMA, DATA, INFERRED} and reasoner.verify().is_sound


# Limits


def test_limits_end_a_call_and_change_nothing() -> None:
    reasoner = Reasoner("rhodf", limits="facts=1")
    reasoner.add(SCHEMA, DATA, (ANIMAL, SUBCLASS, "<urn:x#Thing>"))
    with pytest.raises(LimitExceeded):
        len(reasoner)
    reasoner.use_rules("none")
    assert len(reasoner) == 3


@pytest.mark.filterwarnings("ignore::corollary.reasoner.UnendingRuleWarning")
def test_cancel_ends_what_runs_in_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule has no end of its own. It is cancelled once deriving has begun."""
    reasoner = Reasoner("none")
    reasoner.add((REX, "<urn:x#n>", f'"1"^^<{XSD}integer>'))
    rules = parse_program("[?x, <urn:x#n>, ?m] :- [?x, <urn:x#n>, ?k], BIND(?k + 1 AS ?m) .")
    begun, ended = threading.Event(), []
    materialise = vars(deriving)["materialise"]

    def begin(*given: Any) -> Any:
        begun.set()
        return materialise(*given)

    def derive() -> None:
        try:
            reasoner.add_rules(rules)
        except Cancelled as error:
            ended.append(error)

    monkeypatch.setattr(deriving, "materialise", begin)
    thread = threading.Thread(target=derive)
    thread.start()
    assert begun.wait(60)
    reasoner.cancel()
    thread.join(60)
    assert ended and len(reasoner.rules()) == 0 and len(reasoner) == 1


# Documents and folders


def test_documents(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text(f"@prefix x: <urn:x#> . x:Dog {SUBCLASS} x:Animal . x:rex a x:Dog .")
    (tmp_path / "a.nq").write_text(f"{' '.join(DATA)} <urn:x#pets> .\nnonsense\n")
    reasoner = Reasoner("rhodf")
    assert reasoner.load(tmp_path / "a.ttl") == 2
    assert INFERRED in reasoner
    assert str(reasoner.explain(INFERRED)).startswith("x:rex a x:Animal follows.")  # the document's prefix
    with pytest.raises(InputError):
        reasoner.load(tmp_path / "a.nq")
    assert list(reasoner.snapshot().graph("<urn:x#pets>")) == []
    assert reasoner.load(tmp_path / "a.nq", on_error="skip") == 1
    assert [bad.line for bad in reasoner.bad_lines()] == [2]
    assert list(reasoner.snapshot().graph("<urn:x#pets>")) == [DATA]
    with pytest.raises(CorollaryError, match="on_error"):
        reasoner.load(tmp_path / "a.nq", on_error="ignore")  # type: ignore[arg-type]
    (tmp_path / "a.trix").write_text('<TriX xmlns="http://www.w3.org/2004/03/trix/trix-1/"/>')
    with pytest.raises(InputError, match="format"):  # that only rdflib knows
        reasoner.load(tmp_path / "a.trix")


def test_an_encoded_data_set(tmp_path: Path) -> None:
    animals().save_encoded(tmp_path / "set")
    empty, other = Reasoner("rhodf"), Reasoner("none")
    other.add(("<urn:a>", "<urn:b>", "<urn:c>"))
    assert empty.load_encoded(tmp_path / "set") == other.load_encoded(tmp_path / "set") == 2
    assert set(empty) == {SCHEMA, DATA, INFERRED} and len(other) == 3


def test_a_folder_keeps_what_was_committed(tmp_path: Path) -> None:
    place = tmp_path / "kept"
    reasoner = Reasoner("rhodf")
    with pytest.raises(FileNotFoundError):
        reasoner.open(place)
    reasoner.open(place, create=True)
    reasoner.add(SCHEMA, DATA)
    reasoner.commit()
    reasoner.remove(SCHEMA)
    with pytest.raises(CorollaryError, match="open already"):
        Reasoner().open(place)
    reasoner.close(discard=True)
    with pytest.raises(CorollaryError, match="is closed"):
        len(reasoner)
    assert repr(reasoner) == f"<Reasoner: the store in {place} is closed: open it again to use it>"
    reader = Reasoner("rhodf")
    reader.open(place, read_only=True)
    assert set(reader) == {SCHEMA, DATA, INFERRED} and reader.verify().is_sound
    with pytest.raises(CorollaryError, match="read only"):
        reader.add(DATA)
    reader.close()
    reasoner.open(place)
    assert INFERRED in reasoner
    reasoner.destroy(place)
    assert not place.exists()


def test_a_folder_is_the_same_for_the_rdflib_store(tmp_path: Path) -> None:
    from rdflib import Graph, URIRef

    from corollary.store import CorollaryStore

    reasoner = Reasoner("rhodf")
    reasoner.open(tmp_path / "kept", create=True)
    reasoner.add(SCHEMA, DATA)
    reasoner.close()
    graph = Graph(CorollaryStore(rules="rhodf"))
    graph.open(str(tmp_path / "kept"))
    subject, predicate, value = (URIRef(term[1:-1]) for term in INFERRED)
    assert (subject, predicate, value) in graph
    graph.close()


@pytest.mark.parametrize("given", ["<urn:a> <urn:b> <urn:c> .", "<a>", ("<urn:a>", "<urn:b>")])
def test_what_is_no_triple_is_named(given: Any) -> None:
    """It was a ValueError of Python: not enough values to unpack. Terms of three letters were a triple."""
    reasoner = Reasoner("rdfs")
    for call in (reasoner.add, reasoner.remove, reasoner.explain):
        with pytest.raises(CorollaryError, match="is no triple: give subject, predicate and object"):
            call(given)
    assert len(reasoner.snapshot().explicit) == 0
