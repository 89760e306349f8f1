"""Each endpoint beyond SPARQL once, with the shape of its answer; rules and transactions by URL."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from math import inf
from typing import Any

import pytest
from tests.serve.client import EX, UPDATE, WRITER, Client, client_of

from corollary.kernels.limits import LimitExceeded
from corollary.serve import open_transactions, rule_book
from corollary.serve.problems import Problem

RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
REPORT = {"strategy", "seconds", "removed", "added", "lines"}
LINE = {"stage", "module", "candidates", "proved", "deleted", "rederived", "inserted", "ms"}
TEXT = {**WRITER, "Content-Type": "text/plain"}
BARK = f"PREFIX ex: <{EX}>\n@name bark\nex:Barker[?x] :- ex:Dog[?x] ."


@pytest.fixture(scope="module")
def client() -> Client:
    """A client whose store no test changes."""
    return client_of("owl2rl")


def explained(client: Client, s: str, p: str, o: str, **more: Any) -> Any:
    return client.get("/explain", params={"subject": s, "predicate": p, "object": o, **more})


def test_explain_proves_an_inferred_triple(client: Client) -> None:
    found = explained(client, "ex:rex", "a", "ex:Animal").json()
    assert found["status"] == "inferred"
    steps = found["proofs"][0]["steps"]
    assert steps[-1]["fact"] == [f"<{EX}rex>", RDF_TYPE, f"<{EX}Animal>"]
    assert {step["by"] for step in steps} == {"given", "rule"}
    assert explained(client, f"<{EX}rex>", RDF_TYPE, f"<{EX}Dog>").json()["status"] == "explicit"
    literal = '"<b>woof</b> & \\"bark\\""'
    assert explained(client, "ex:rex", "ex:says", literal).json()["status"] == "explicit"


def test_explain_says_what_does_not_hold_and_adds_no_term(client: Client) -> None:
    terms = client.service.store.reasoner.settled().terms
    found = explained(client, "ex:rex", "a", "ex:Unheard").json()
    assert found["status"] == "absent" and found["proofs"] == []
    assert terms.dictionary.find(f"<{EX}Unheard>") is None
    assert explained(client, "ex:tom", "a", "ex:Dog").json()["status"] == "absent"


@pytest.mark.parametrize(
    ("subject", "predicate", "object"),
    [
        ("ex:rex a ex:Dog . ex:rex", "a", "ex:Dog"),
        ("nope:rex", "a", "ex:Dog"),
        ('"text"', "a", "ex:Dog"),
        ("ex:rex", '"a"', "ex:Dog"),
        ("ex:rex", "ex:p/ex:q", "ex:Dog"),
        ("?x", "a", "ex:Dog"),
        ("ex:rex", "a", "ex:Dog } INSERT { <urn:a> a 1"),
        ("", "a", "ex:Dog"),
    ],
)
def test_explain_refuses_what_is_no_term(client: Client, subject: str, predicate: str, object: str) -> None:
    assert explained(client, subject, predicate, object).status_code == 400


def test_inconsistencies(client: Client) -> None:
    assert client.get("/inconsistencies").json() == {"count": 0, "inconsistencies": []}
    other = client_of("owl2rl")
    assert other.update("INSERT DATA { ex:tom a ex:Dog }").status_code == 204
    found = other.get("/inconsistencies?limit=5").json()
    assert found["count"] == 1
    (clash,) = found["inconsistencies"]
    assert clash["rule"] == "cax-dw" and clash["text"].startswith("cax-dw: ")
    assert [f"<{EX}tom>", RDF_TYPE, f"<{EX}Cat>"] in clash["facts"]


def changes_once_read(client: Client, monkeypatch: pytest.MonkeyPatch, change: Callable[[], Any]) -> None:
    """Make a change as soon as the next request has its version."""
    reasoner = client.service.store.reasoner
    settled = reasoner.settled

    def changed_afterwards(**options: Any) -> Any:
        version = settled(**options)
        monkeypatch.undo()
        change()
        return version

    monkeypatch.setattr(reasoner, "settled", changed_afterwards)


def test_the_count_and_the_list_of_inconsistencies_are_of_one_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = client_of("owl2rl")
    changes_once_read(client, monkeypatch, lambda: client.update("INSERT DATA { ex:tom a ex:Dog }"))
    assert client.get("/inconsistencies").json() == {"count": 0, "inconsistencies": []}
    assert client.get("/inconsistencies").json()["count"] == 1


def test_a_proof_is_of_one_version(monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of()
    changes_once_read(client, monkeypatch, lambda: client.update("DELETE DATA { ex:rex a ex:Dog }"))
    assert explained(client, "ex:rex", "a", "ex:Animal").json()["status"] == "inferred"
    assert explained(client, "ex:rex", "a", "ex:Animal").json()["status"] == "absent"


def test_rules_and_what_they_derive_are_of_one_version(monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of()
    changes_once_read(client, monkeypatch, lambda: client.post("/rules", content=BARK, headers=TEXT))
    assert all(rule["origin"] == "profile" for rule in client.get("/rules?derived=true").json()["rules"])
    (added,) = [r for r in client.get("/rules?derived=true").json()["rules"] if r["origin"] == "added"]
    assert added["derived"] == 1
    path = f"/rules/{added['id']}/off"
    changes_once_read(client, monkeypatch, lambda: client.post(path, headers=WRITER))
    for is_on in (True, False):
        entries = [rule for rule in client.get("/rules").json()["rules"] if rule["id"] == added["id"]]
        assert [entry["enabled"] for entry in entries] == [is_on]


def test_statistics(client: Client) -> None:
    found = client.get("/statistics").json()
    assert found.keys() == {
        "explicit", "inferred", "graphs", "rules", "predicates", "classes", "inconsistencies"
    }  # fmt: skip
    assert (found["explicit"], found["graphs"], found["rules"]) == (6, 2, "owl2rl")
    counted = {each["term"]: (each["explicit"], each["inferred"]) for each in found["classes"]}
    assert counted[f"<{EX}Dog>"] == (1, 0) and counted[f"<{EX}Animal>"] == (0, 1)
    predicates = {each["term"]: each for each in found["predicates"]}
    assert predicates[RDF_TYPE]["explicit"] == 2
    assert sum(each["inferred"] for each in found["predicates"]) == found["inferred"]


@pytest.mark.parametrize("prefix", ["ex:Do", "do", f"{EX}Dog", "hund", f"<{EX}Do"])
def test_terms_are_found_by_name_and_label(client: Client, prefix: str) -> None:
    found = client.get("/terms", params={"prefix": prefix, "limit": 1}).json()["terms"]
    assert found == [{"iri": EX + "Dog", "short": "ex:Dog", "count": 1}]


def test_prefixes_status_health_and_changes(client: Client) -> None:
    prefixes = client.get("/prefixes").json()["prefixes"]
    assert prefixes["ex"] == EX
    assert prefixes.keys() >= {"rdf", "rdfs", "owl", "xsd"}
    status = client.get("/status").json()
    assert status.keys() == {"version", "writable", "rules", "uptime", "state"}
    assert status["writable"] is True and status["state"] == "ready"
    assert client.get("/health").status_code == 200
    other = client_of()
    other.update("DELETE DATA { ex:rex a ex:Dog }")
    report = other.get("/changes/last").json()
    assert report.keys() == REPORT and report["removed"] == 1
    assert all(line.keys() == LINE for line in report["lines"])
    other.service.end()
    assert other.get("/health").status_code == 503 and other.get("/status").json()["state"] == "ending"


def test_metrics_count_requests_by_route() -> None:
    client = client_of()
    client.get("/rules/secret-name")
    client.ask("?s ?p ?o")
    text = client.get("/metrics").text
    assert 'corollary_requests_total{route="/sparql",method="POST",status="200"} 1' in text
    assert "secret-name" not in text
    assert "\ncorollary_explicit_facts 6\n" in text
    for line in text.splitlines():
        assert line.startswith("# TYPE ") or float(line.rpartition(" ")[2]) >= 0


def test_the_page_comes_from_the_package(client: Client) -> None:
    page = client.get("/")
    assert page.status_code == 200 and page.headers["content-type"] == "text/html; charset=utf-8"
    assert client.get("/page/index.html").content == page.content
    for path in ("../app.py", "%2e%2e/app.py", "..%2fapp.py", "/etc/passwd", "%2fetc/passwd", "", "none.js"):
        assert client.get(f"/page/{path}").status_code == 404


# Rules


def test_rules_are_added_switched_off_and_on() -> None:
    client = client_of()
    added = client.post("/rules", content=BARK, headers=TEXT).json()
    assert added["report"].keys() == REPORT
    (name,) = added["added"]
    assert client.ask("ex:rex a ex:Barker")
    entry = next(rule for rule in client.get("/rules").json()["rules"] if rule["id"] == name)
    assert entry.keys() == {"id", "name", "text", "derived", "origin", "enabled"}
    assert (entry["name"], entry["origin"], entry["enabled"]) == ("bark", "added", True)
    assert entry["text"] == "ex:Barker[?x] :- ex:Dog[?x] ."

    off = client.post(f"/rules/{name}/off", headers=WRITER).json()
    assert off["report"].keys() == REPORT and not client.ask("ex:rex a ex:Barker")
    assert client.post(f"/rules/{name}/off", headers=WRITER).status_code == 404
    on = client.post(f"/rules/{name}/on", headers=WRITER).json()
    assert on["enabled"] and client.ask("ex:rex a ex:Barker")

    assert client.request("DELETE", f"/rules/{name}", headers=WRITER).json()["removed"] == name
    assert not client.ask("ex:rex a ex:Barker")
    assert client.post(f"/rules/{name}/on", headers=WRITER).status_code == 200
    client.request("DELETE", f"/rules/{name}", headers=WRITER)
    assert client.request("DELETE", f"/rules/{name}", headers=WRITER).json()["report"] is None
    assert client.request("DELETE", f"/rules/{name}", headers=WRITER).status_code == 404
    assert name not in {rule["id"] for rule in client.get("/rules").json()["rules"]}


def test_a_rule_whose_switch_fails_stays_on(monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of()
    before = client.get("/rules").json()
    name = before["rules"][0]["id"]

    def too_long(*_: object) -> None:
        raise LimitExceeded("seconds", 31, "", "this took more than 30 s")

    with monkeypatch.context() as patched:
        patched.setattr(client.service.store, "remove_rules", too_long)
        assert client.post(f"/rules/{name}/off", headers=WRITER).status_code == 503
    assert client.get("/rules").json() == before
    assert client.post(f"/rules/{name}/on", headers=WRITER).status_code == 404
    assert client.request("DELETE", f"/rules/{name}", headers=WRITER).json()["report"] is not None
    assert client.get("/rules").json() != before


def test_rules_of_the_profile_are_switched_off_too() -> None:
    client = client_of()
    rule = next(rule for rule in client.get("/rules").json()["rules"] if rule["name"] in ("rdfs9", "cax-sco"))
    assert rule["origin"] == "profile"
    client.post(f"/rules/{rule['id']}/off", headers=WRITER)
    assert not client.ask("ex:rex a ex:Animal")
    client.post(f"/rules/{rule['id']}/on", headers=WRITER)
    assert client.ask("ex:rex a ex:Animal")


def test_bad_rules_change_nothing_and_no_file_is_read() -> None:
    client = client_of()
    before = client.get("/rules").json()
    for text in (
        ":Odd[?x] :- nonsense",
        "/etc/passwd",
        "owl2rl",
        "skos",
        f"PREFIX : <{EX}> :P[?y] :- :Q[?x] .",
    ):
        response = client.post("/rules", content=text, headers=TEXT)
        assert response.status_code == 400, text
        assert "root:" not in response.text
    assert client.get("/rules").json() == before


def test_a_rule_has_the_number_of_inferred_facts_that_it_derives() -> None:
    data = """PREFIX ex: <http://example.org/> PREFIX owl: <http://www.w3.org/2002/07/owl#>
        INSERT DATA { ex:a ex:next ex:b . ex:b ex:next ex:c . ex:c ex:next ex:d . ex:a ex:next ex:c .
            ex:Both owl:intersectionOf (ex:Wet ex:Cold) .
            ex:chain owl:propertyChainAxiom (ex:next ex:next ex:next) .
            ex:ice a ex:Wet, ex:Cold . ex:tea a ex:Wet . ex:a ex:weighs 3, 5 }"""
    rules = """PREFIX ex: <http://example.org/> PREFIX owl: <http://www.w3.org/2002/07/owl#>
        @name along
        [?x, ex:next, ?z] :- [?x, ex:next, ?y], [?y, ex:next, ?z] .
        @name last
        [?x, a, ex:Last] :- [?y, ex:next, ?x], NOT [?x, ex:next, ?z] .
        @name sum
        [?x, ex:sum, ?n] :- AGGREGATE([?x, ex:weighs, ?w] ON ?x BIND SUM(?w) AS ?n) .
        @name both
        [?y, a, ?c] :- [?c, owl:intersectionOf, ?l], EACH ?d IN ?l ([?y, a, ?d]) .
        @name chain
        [?x, ?p, ?y] :- [?p, owl:propertyChainAxiom, ?l], CHAIN(?l, ?x, ?y) .
        @name none
        [?x, a, ex:Never] :- [?x, ex:absent, ?y] ."""
    client = client_of("none")
    assert client.post("/update", content=data, headers={**WRITER, "Content-Type": UPDATE}).status_code == 204
    assert client.post("/rules", content=rules, headers=TEXT).status_code == 200
    listed = client.get("/rules?derived=true").json()["rules"]
    # ex:next is a path a-b-c-d whose closure has 6 pairs, 4 of them stated; all of a path of 3 steps: a to d
    expected = {"along": 2, "last": 1, "sum": 1, "both": 1, "chain": 1, "none": 0}
    assert {rule["name"]: rule["derived"] for rule in listed} == expected
    assert all(rule["derived"] is None for rule in client.get("/rules").json()["rules"])
    assert client.get("/rules?derived=yes").status_code == 400


def _derived(client: Client) -> list[int | None]:
    return [rule["derived"] for rule in client.get("/rules?derived=true").json()["rules"]]


def test_a_count_goes_on_with_the_rules_for_which_no_time_was_left(monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of()
    with monkeypatch.context() as patched:
        patched.setattr(rule_book, "SECONDS_FOR_RULE_COUNTS", 0)
        first, *others = _derived(client)
    assert first is not None and set(others) == {None}
    assert None not in _derived(client)


def test_a_rule_that_takes_too_long_to_count_has_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_many(*_: object) -> int:
        raise LimitExceeded("facts", 2, "", "too many rows")

    client = client_of()
    with monkeypatch.context() as patched:
        patched.setattr(rule_book, "inferred_by", too_many)
        assert set(_derived(client)) == {None}
    assert set(_derived(client)) == {None}  # not tried again for this state


# Transactions


def begun(client: Client) -> str:
    response = client.post("/transactions", headers=WRITER)
    assert response.status_code == 201
    assert response.json().keys() == {"id", "expires"}
    location: str = response.headers["location"]
    assert location == f"/transactions/{response.json()['id']}"
    return location


def test_a_transaction_is_seen_by_others_when_it_is_committed() -> None:
    client = client_of()
    place = begun(client)
    assert client.update("INSERT DATA { ex:bo a ex:Dog }", f"{place}/update").status_code == 204
    assert client.update("INSERT DATA { nonsense", f"{place}/update").status_code == 400
    assert client.ask("ex:bo a ex:Animal", f"{place}/query") and not client.ask("ex:bo ?p ?o")
    assert client.post(f"{place}/commit", headers=WRITER).json()["committed"] is True
    assert client.ask("ex:bo a ex:Animal")
    for path in ("commit", "query", "update"):
        assert (
            client.post(f"{place}/{path}", headers=WRITER, data={"query": "ASK {}", "update": ""}).status_code
            == 404
        )


def test_a_transaction_is_rolled_back() -> None:
    client = client_of()
    place = begun(client)
    client.update("INSERT DATA { ex:bo a ex:Dog } ; CLEAR GRAPH ex:pets", f"{place}/update")
    assert client.request("DELETE", place, headers=WRITER).status_code == 204
    assert not client.ask("ex:bo ?p ?o") and client.ask("GRAPH ex:pets { ex:tom a ex:Cat }")
    assert client.request("DELETE", place, headers=WRITER).status_code == 404


def test_a_transaction_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_transactions, "SECONDS_OF_TRANSACTION", 0.3)
    client = client_of()
    place = begun(client)
    client.update("INSERT DATA { ex:bo a ex:Dog }", f"{place}/update")
    transaction = client.service.transactions.find(place.rpartition("/")[2])
    assert transaction.ended.result(20) is False
    assert client.post(f"{place}/commit", headers=WRITER).status_code == 404
    assert (
        not client.ask("ex:bo ?p ?o") and client.update("INSERT DATA { ex:al a ex:Dog }").status_code == 204
    )


def test_open_transactions_are_bounded_and_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_transactions, "MAX_OPEN_TRANSACTIONS", 2)
    monkeypatch.setattr(open_transactions, "SECONDS_FOR_TURN", 0.3)
    client = client_of()  # may take 30 seconds: the wait for the turn is shorter
    place = begun(client)
    waiting = threading.Thread(target=client.post, args=("/transactions",), kwargs={"headers": WRITER})
    waiting.start()
    while len(client.service.transactions) < 2:
        time.sleep(0.01)
    assert client.post("/transactions", headers=WRITER).status_code == 503
    waiting.join()
    blocked = client.update("INSERT DATA { ex:bo a ex:Dog }")
    assert blocked.status_code == 503 and blocked.headers["Retry-After"] == "1"
    assert blocked.json()["title"] == "Another change is not finished"
    assert client.ask("ex:rex a ex:Animal")  # reads do not wait
    client.request("DELETE", place, headers=WRITER)
    assert client.update("INSERT DATA { ex:bo a ex:Dog }").status_code == 204


def test_calls_that_wait_do_not_keep_a_transaction_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_transactions, "SECONDS_OF_TRANSACTION", 0.3)
    client = client_of()
    transaction = client.service.transactions.find(begun(client).rpartition("/")[2])
    calls = [transaction.call(lambda: time.sleep(0.2)) for _ in range(20)]
    assert transaction.ended.result(20) is False
    assert calls[0].exception() is None and isinstance(calls[-1].exception(20), Problem)


def test_a_call_ends_with_its_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_transactions, "SECONDS_OF_TRANSACTION", 0.3)
    client = client_of()
    place = begun(client)
    cross = " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(20))
    answer = client.post(
        f"{place}/query", headers=WRITER, data={"query": f"SELECT (COUNT(*) AS ?n) {{ {cross} }}"}
    )
    assert answer.status_code in (503, 404)
    assert client.update("INSERT DATA { ex:al a ex:Dog }").status_code == 204


def test_a_late_call_is_refused() -> None:
    client = client_of()
    transaction = client.service.transactions.find(begun(client).rpartition("/")[2])
    transaction.finish(commits=True)
    assert transaction.ended.result(20) is True
    late, given_up = transaction.call(lambda: 1), transaction.call(lambda: 2)
    given_up.cancel()
    assert isinstance(late.exception(20), Problem)
    assert not transaction.ended.cancel()


def test_no_limit_of_time_is_no_limit() -> None:
    client = client_of(seconds=inf)
    assert client.ask("ex:rex a ex:Animal")
    place = begun(client)
    assert client.update("INSERT DATA { ex:bo a ex:Dog }", f"{place}/update").status_code == 204
    assert client.post(f"{place}/commit", headers=WRITER).json()["committed"]


def test_closing_rolls_back_what_is_open() -> None:
    client = client_of()
    place = begun(client)
    client.update("INSERT DATA { ex:bo a ex:Dog }", f"{place}/update")
    client.service.close()
    assert f"{EX}bo" not in {str(s) for s, _, _ in client.service.store.explicit()}


def test_a_change_waits_longer_for_a_request_than_for_an_open_transaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(open_transactions, "SECONDS_FOR_TURN", 0.05)
    turn, has_turn, may_end = open_transactions.Turn(), threading.Event(), threading.Event()

    def own(is_by_url: bool) -> None:
        with turn.taken(time.monotonic(), 20, is_by_url=is_by_url):
            has_turn.set()
            may_end.wait(20)

    for is_by_url in (True, False):
        owner = threading.Thread(target=own, args=(is_by_url,))
        owner.start()
        assert has_turn.wait(20)
        if is_by_url:
            with pytest.raises(Problem), turn.taken(time.monotonic(), 20):
                pass
        threading.Timer(0.3, may_end.set).start()
        if not is_by_url:
            with turn.taken(time.monotonic(), 20):
                assert may_end.is_set()
        owner.join(20)
        has_turn.clear()
        may_end.clear()


def test_an_unknown_place_or_method_has_a_remedy(client: Client) -> None:
    assert "lists the endpoints" in client.get("/nothing").json()["detail"]
    answer = client.request("DELETE", "/sparql")
    assert (answer.status_code, "Allow" in answer.headers) == (405, True)
    assert "Allow" in answer.json()["detail"]
