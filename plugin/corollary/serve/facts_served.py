"""The endpoints beyond SPARQL: proofs, inconsistencies, statistics, terms for completion, prefixes, reports.

Also status, health and metrics.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from importlib.metadata import version as version_of
from itertools import islice
from time import monotonic
from typing import Any

from rdflib.namespace import RDF, RDFS
from rdflib.term import BNode, Node, URIRef
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from corollary.columns import TripleIndex
from corollary.maintain import Report
from corollary.reasoner import explaining
from corollary.reasoner.statistics import Statistics, statistics
from corollary.reasoner.version import Version
from corollary.serve import metrics
from corollary.serve.bodies import in_url
from corollary.serve.problems import Problem
from corollary.serve.service import Service, usable_prefixes
from corollary.serve.tuning import MAX_LISTED, MAX_PROOFS
from corollary.sparql.algebra import Project, Triples
from corollary.sparql.parser import SparqlSyntaxError, parse_query
from corollary.sparql.rdf_terms import text_of

PLACES = {"subject": "{} a 0", "predicate": "<urn:s> {} 0", "object": "<urn:s> a {}"}
"""For each place of a term, a triple pattern that has the term there."""


# Proofs


def parsed(text: str, place: str, prefixes: Any) -> Node:
    """A term of a triple, written as in Turtle, at a place of ``PLACES``.

    Raises Problem (400) if the text is malformed, or the term not allowed at the place.
    """
    if text.startswith("_:") and place != "predicate":
        return BNode(text[2:])
    try:
        plan = parse_query(f"SELECT * {{ {PLACES[place].format(text)} }}", prefixes)
    except (SparqlSyntaxError, RecursionError):
        plan = None
    pattern = plan.pattern if plan is not None else None
    inner = pattern.inner if isinstance(pattern, Project) else None
    if isinstance(inner, Triples) and len(inner.triples) == 1:
        term = inner.triples[0][list(PLACES).index(place)]
        is_fitting = isinstance(term, URIRef) or (place == "object" and type(term).__name__ == "Literal")
        if is_fitting and isinstance(term, Node):
            return term
    raise Problem(
        400, "Bad parameter", f'{place}= is a term as in Turtle: <http://...>, ex:name, 5, "text"@en'
    )


async def explain(service: Service, request: Request) -> Response:
    """``GET /explain``: proofs of a triple, as JSON or HTML. All of it is of one version."""
    parameters = in_url(request)
    limit = parameters.number("limit", 1, MAX_PROOFS)
    format = parameters.one("format") or "json"
    if format not in ("json", "html"):
        raise Problem(400, "Bad parameter", "format= is json or html")
    texts = {place: parameters.needed(place) for place in PLACES}

    def explained() -> Any:
        reasoner = service.store.reasoner
        version = reasoner.settled()
        prefixes = usable_prefixes(version)
        triple = [parsed(text, place, prefixes) for place, text in texts.items()]
        if any(version.terms.find(term) is None for term in triple):
            return _absent(triple, format)  # a read adds no terms
        state, terms, names = version.state, version.terms, version.namespaces
        goal = triple[0], triple[1], triple[2]
        explanation = reasoner.limited(None, explaining.explanation, state, terms, names, goal, limit)
        return explanation.as_dict() if format == "json" else explanation.html()

    found = await service.read(request, explained)
    if format == "json":
        return JSONResponse(found)
    title = "<!doctype html><html lang=en><meta charset=utf-8><title>Explanation</title>"
    return HTMLResponse(f"{title}{found}</html>")


def _absent(triple: list[Node], format: str) -> Any:
    """The explanation of a triple with a term that no fact has."""
    fact = [text_of(term) for term in triple]
    verdict = f"{' '.join(fact)} does not hold: no fact has one of its terms."
    if format == "html":
        return f"<p>{escape(verdict)}</p>"
    return {"status": "absent", "fact": fact, "verdict": verdict, "complete": True, "proofs": []}


async def inconsistencies(service: Service, request: Request) -> Response:
    """``GET /inconsistencies``: their number, and at most ``limit``; of each constraint at most a thousand.

    Both are of one version.
    """
    limit = in_url(request).number("limit", 100, MAX_LISTED)

    def listed() -> dict[str, Any]:
        version = service.store.reasoner.settled()
        result, names = version.state.materialisation, version.namespaces
        if result is None:
            return {"count": 0, "inconsistencies": []}
        found = explaining.inconsistencies(result, version.terms, names)
        return {
            "count": result.inconsistency_count,
            "inconsistencies": [
                {
                    "rule": clash.rule,
                    "sentence": clash.sentence,
                    "text": str(clash),
                    "facts": [[text_of(term) for term in triple] for triple in clash.triples],
                }
                for clash in islice(found, limit)
            ],
        }

    return JSONResponse(await service.read(request, listed))


# Counts


@dataclass(frozen=True)
class Overview:
    """Counts of a state: of all facts, and of the members of each class, explicit and inferred."""

    counts: Statistics
    classes: dict[str, tuple[int, int]]


def overview(version: Version) -> Overview:
    """The counts of a version, computed once for its state."""
    state = version.state
    if Overview not in state.known_to_queries:
        counts = statistics(state, version.terms, version.namespaces, version.options.title(), ())
        state.known_to_queries[Overview] = Overview(counts, _classes(version))
    found: Overview = state.known_to_queries[Overview]
    return found


def _classes(version: Version) -> dict[str, tuple[int, int]]:
    kind, state = version.terms.find(RDF.type), version.state
    if kind is None:
        return {}
    explicit, every = (_members(index, kind) for index in (state.facts.union.legal(), state.index.legal()))
    text = version.terms.dictionary.decode
    counted = {
        text(name): (explicit.get(name, 0), count - explicit.get(name, 0)) for name, count in every.items()
    }
    return dict(sorted(counted.items(), key=lambda item: -sum(item[1])))


def _members(index: TripleIndex, kind: int) -> dict[int, int]:
    members = index.relation(kind)
    names = members.object_terms()
    return dict(zip(names.tolist(), members.object_counts(names).tolist(), strict=True))


async def show_statistics(service: Service, request: Request) -> Response:
    """``GET /statistics``: counts of facts by predicate and by class. Counted once for a state."""

    def counted() -> dict[str, Any]:
        found = overview(service.store.reasoner.settled())
        counts = found.counts
        return {
            "explicit": counts.explicit,
            "inferred": counts.inferred,
            "graphs": len(counts.graphs),
            "rules": counts.rules,
            "predicates": [
                {"term": name, "explicit": count.explicit, "inferred": count.inferred}
                for name, count in counts.predicates.items()
            ],
            "classes": [
                {"term": name, "explicit": explicit, "inferred": inferred}
                for name, (explicit, inferred) in found.classes.items()
            ],
            "inconsistencies": counts.inconsistencies,
        }

    return JSONResponse(await service.read(request, counted))


async def terms(service: Service, request: Request) -> Response:
    """``GET /terms``: predicates and classes whose IRI, short form, local name or label begins with a text.

    Case is ignored. Those with the most facts come first, at most ``limit``. Cost: the number of predicates
    and classes; their texts are computed once for a state.
    """
    parameters = in_url(request)
    prefix = (parameters.one("prefix") or "").lower()
    limit = parameters.number("limit", 20, MAX_LISTED)

    def listed() -> list[dict[str, Any]]:
        version = service.store.reasoner.settled()
        known = version.state.known_to_queries
        if "terms" not in known:
            known["terms"] = list(_names(version))
        found = [term for term, words in known["terms"] if any(word.startswith(prefix) for word in words)]
        return sorted(found, key=lambda term: (-term["count"], term["iri"]))[:limit]

    return JSONResponse({"terms": await service.read(request, listed)})


def _names(version: Version) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """The predicates and classes, each with the texts by which it is found, in lower case."""
    found = overview(version)
    counts = {name: count.explicit + count.inferred for name, count in found.counts.predicates.items()}
    for name, both in found.classes.items():
        counts[name] = counts.get(name, 0) + sum(both)
    short = version.terms.printer(version.namespaces)
    label = version.terms.find(RDFS.label)
    view = version.state.everything
    for name, count in counts.items():
        if name[0] != "<":
            continue
        iri = URIRef(name[1:-1])
        written = short(iri)
        local = iri.rpartition("#" if "#" in iri else "/")[2]
        labels = [] if label is None else view.match(version.terms.find(iri), label, None)
        words = [iri, name, written, local, *(str(version.terms[value]) for _, _, value in labels)]
        yield {"iri": iri, "short": written, "count": count}, [word.lower() for word in words]


async def prefixes(service: Service, request: Request) -> Response:
    """``GET /prefixes``: the prefixes that queries need not declare."""
    return JSONResponse({"prefixes": {prefix: str(name) for prefix, name in service.prefixes().items()}})


# The server


def report_as_json(report: Report | None) -> dict[str, Any] | None:
    """The report of a change; None if nothing was maintained."""
    if report is None:
        return None
    counts = ("stage", "module", "candidates", "proved", "deleted", "rederived", "inserted")
    return {
        "strategy": report.strategy,
        "seconds": report.seconds,
        "removed": report.removed,
        "added": report.added,
        "lines": [
            {**{name: getattr(line, name) for name in counts}, "ms": 1000 * line.seconds}
            for line in report.stages
        ],
    }


async def last_change(service: Service, request: Request) -> Response:
    """``GET /changes/last``: the report of the last change; null if nothing was maintained."""
    return JSONResponse(report_as_json(await service.read(request, service.store.last_maintenance)))


async def status(service: Service, request: Request) -> Response:
    """``GET /status``: version, profile, whether changes are allowed, seconds since the start, and its state.

    No request is answered before the store is loaded.
    """
    return JSONResponse(
        {
            "version": version_of("corollary"),
            "writable": service.settings.is_writable,
            "rules": service.store.options.title(),
            "uptime": round(monotonic() - service.started, 3),
            "state": "ending" if service.is_ending else "ready",
        }
    )


async def health(service: Service, request: Request) -> Response:
    """``GET /health``: status 200, or 503 while the server ends."""
    return JSONResponse({"healthy": not service.is_ending}, 503 if service.is_ending else 200)


async def show_metrics(service: Service, request: Request) -> Response:
    """``GET /metrics``: counts of requests and gauges, as Prometheus text."""
    summary = service.store.reasoner.summary()
    gauges = {
        "running_requests": service.metrics.running,
        "open_transactions": len(service.transactions),
        "uptime_seconds": monotonic() - service.started,
        "explicit_facts": getattr(summary, "explicit", 0),
        "inferred_facts": getattr(summary, "inferred", None) or 0,
    }
    return Response(service.metrics.text(gauges), media_type=metrics.MEDIA_TYPE)
