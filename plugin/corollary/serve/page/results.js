// Results of a query: a table that is sorted and paged, a drawing, and downloads.

import { button, byId, count, counted, duration, h, problem, tabs } from "./dom.js";
import { drawing } from "./graph.js";
import { rowsOf, send, textOf } from "./server.js";
import { ntriples, parseTerms, termElement, textOfTerm, whyButton } from "./terms.js";

const ROWS = "application/sparql-results+json";
const TRIPLES = "application/n-triples";

export const FORMATS = {
    rows: { JSON: [ROWS, "json"], XML: ["application/sparql-results+xml", "xml"], CSV: ["text/csv", "csv"], TSV: ["text/tab-separated-values", "tsv"] },
    answer: { JSON: [ROWS, "json"], XML: ["application/sparql-results+xml", "xml"] },
    triples: { Turtle: ["text/turtle", "ttl"], "N-Triples": [TRIPLES, "nt"], "RDF/XML": ["application/rdf+xml", "rdf"], "JSON-LD": ["application/ld+json", "jsonld"] },
};

/** The form of a query: its first keyword after the prologue. */
export function formOf(text) {
    const plain = text.replace(/<[^<>\s]*>|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|#.*/g, " ");
    return /\b(select|ask|construct|describe|insert|delete|load|clear|drop|create|add|move|copy|with)\b/i.exec(plain.replace(/\bprefix\s+\S*:|\bbase\b/gi, " "))?.[1].toLowerCase() ?? "";
}

/** Which downloads a form of query has. */
export function kindOf(form) {
    return { ask: "answer", construct: "triples", describe: "triples" }[form] ?? "rows";
}

/** Ask a query: {kind, variables, rows, answer, ms}. Rows are lists of terms. */
export async function ask(text, signal) {
    const begin = performance.now();
    const response = await send(text, `${ROWS}, ${TRIPLES};q=0.9`, signal);
    const type = response.headers.get("Content-Type") ?? "";
    const body = await textOf(response);
    const ms = performance.now() - begin;
    if (type.startsWith(TRIPLES)) {
        const rows = body.split("\n").map(parseTerms).filter((terms) => terms.length === 3);
        return { kind: "triples", variables: ["subject", "predicate", "object"], rows, ms };
    }
    const json = JSON.parse(body);
    if (json.boolean !== undefined) return { kind: "answer", answer: json.boolean, ms };
    const variables = json.head.vars;
    return { kind: "rows", variables, rows: json.results.bindings.map((row) => variables.map((name) => row[name])), ms };
}

/** Where the triple of a row is: positions of subject, predicate, object; null if there is none. */
function placesOfTriple({ kind, variables }) {
    if (kind === "triples") return [0, 1, 2];
    for (const names of [["s", "p", "o"], ["subject", "predicate", "object"]]) {
        const places = names.map((name) => variables.indexOf(name));
        if (!places.includes(-1)) return places;
    }
    return null;
}

/** The element of a result. */
export function resultElement(result) {
    if (result.kind === "answer") {
        return h("div", { class: "answer" }, h("strong", {}, result.answer ? "Yes" : "No"), h("span", { class: "muted" }, duration(result.ms)));
    }
    const places = placesOfTriple(result);
    const triples = places && result.rows.map((row) => places.map((place) => row[place])).filter((triple) => triple.every(Boolean));
    const list = h("div", { role: "tablist", "aria-label": "Results", class: "tabs small" });
    const place = h("div", { id: "result", role: "tabpanel" });
    const entries = [{ name: "table", title: "Table", controls: "result" }, ...(triples ? [{ name: "graph", title: "Graph", controls: "result" }] : [])];
    const select = tabs(list, entries, (name) => {
        place.setAttribute("aria-labelledby", `tab-${name}`);
        place.replaceChildren(name === "table" ? new Table(result, places).element : drawing(triples));
    });
    select("table");
    const unit = result.kind === "triples" ? "triple" : "row";
    return h("div", {}, h("div", { class: "result-bar" }, list, h("span", { id: "result-count" }, counted(result.rows.length, unit)), h("span", { class: "muted" }, duration(result.ms))), place);
}

const collator = new Intl.Collator("en", { numeric: true });

/** The order of two terms: unbound, numbers by value, the others by text. */
function compared(a, b) {
    if (!a || !b) return (a ? 1 : 0) - (b ? 1 : 0);
    const isLiteral = a.type === "literal" && b.type === "literal" && a.datatype && b.datatype;
    const difference = isLiteral ? Number(a.value) - Number(b.value) : NaN;
    return Number.isNaN(difference) ? collator.compare(textOfTerm(a), textOfTerm(b)) : difference;
}

class Table {
    constructor(result, places) {
        this.result = result;
        this.places = places;
        this.rows = result.rows;
        this.column = -1;
        this.isDown = false;
        this.page = 0;
        this.size = 25;
        this.element = h("div", {});
        this.show();
    }

    sort(column) {
        this.isDown = this.column === column && !this.isDown;
        this.column = column;
        this.page = 0;
        const sign = this.isDown ? -1 : 1;
        this.rows = [...this.result.rows].sort((a, b) => sign * compared(a[column], b[column]));
        this.show(`th:nth-child(${column + 1}) button`);
    }

    show(focused) {
        const rows = this.rows.slice(this.page * this.size, (this.page + 1) * this.size);
        const body = h("tbody", {}, rows.map((row) => this.row(row)));
        const table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" }, h("table", {}, h("thead", {}, this.head()), body));
        this.element.replaceChildren(this.rows.length ? table : h("p", { class: "empty" }, "No results."), this.pager());
        if (focused) this.element.querySelector(focused)?.focus();
        if (this.places) this.mark(rows, body);
    }

    head() {
        const columns = this.result.variables.map((name, column) => {
            const order = this.column !== column ? "none" : this.isDown ? "descending" : "ascending";
            return h("th", { scope: "col", "aria-sort": order }, button(name, () => this.sort(column), { class: "sort" }));
        });
        return h("tr", {}, columns, this.places && h("th", { scope: "col" }, "proof"));
    }

    row(row) {
        const cells = row.map((term, column) => h("td", {}, termElement(term, this.places?.[1] === column ? "predicate" : "")));
        const triple = this.places?.map((place) => row[place]);
        return h("tr", {}, cells, triple && h("td", { class: "proof" }, triple.every(Boolean) && whyButton(triple)));
    }

    /** Mark the inferred triples among the rows on show. Blank nodes cannot be asked for. */
    async mark(rows, body) {
        const asked = rows.map((row) => this.places.map((place) => row[place])).filter((triple) => triple.every((term) => term && term.type !== "bnode"));
        if (!asked.length) return;
        const values = asked.map((triple) => `(${triple.map(ntriples).join(" ")})`).join(" ");
        const found = await rowsOf(`SELECT ?s ?p ?o { VALUES (?s ?p ?o) { ${values} } GRAPH <urn:x-corollary:inferred> { ?s ?p ?o } }`).catch(() => []);
        const inferred = new Set(found.map(({ s, p, o }) => [s, p, o].map(ntriples).join(" ")));
        rows.forEach((row, at) => {
            const triple = this.places.map((place) => row[place]);
            if (triple.every(Boolean) && inferred.has(triple.map(ntriples).join(" "))) {
                body.rows[at].classList.add("inferred");
                body.rows[at].lastChild.prepend(h("span", { class: "badge" }, "inferred"), " ");
            }
        });
    }

    pager() {
        const last = Math.max(0, Math.ceil(this.rows.length / this.size) - 1);
        const go = (to, name) => button(name, () => ((this.page = to), this.show(`[aria-label="${name} page"]`)), {
            "aria-label": `${name} page`, disabled: to < 0 || to > last || to === this.page,
        });
        const sizes = [25, 100, 500].map((size) => h("option", { value: size, selected: size === this.size }, `${size} rows`));
        const choose = h("select", { "aria-label": "Rows on a page", onchange: (event) => ((this.size = Number(event.target.value)), (this.page = 0), this.show("select")) }, sizes);
        if (this.rows.length <= 25) return "";
        return h("div", { class: "pager" }, go(0, "First"), go(this.page - 1, "Previous"), h("span", {}, `Page ${count(this.page + 1)} of ${count(last + 1)}`), go(this.page + 1, "Next"), go(last, "Last"), choose);
    }
}

/** Offer the formats of a query. */
export function offerFormats(text) {
    const kind = kindOf(formOf(text));
    const select = byId("format");
    if (select.dataset.kind === kind) return;
    select.dataset.kind = kind;
    select.replaceChildren(...Object.keys(FORMATS[kind]).map((name) => h("option", {}, name)));
}

/** Save the result of a query as a file. */
export async function download(text) {
    const select = byId("format");
    const [type, ending] = FORMATS[select.dataset.kind][select.value];
    try {
        const blob = await (await send(text, type)).blob();
        const address = URL.createObjectURL(blob);
        h("a", { href: address, download: `result.${ending}` }).click();
        setTimeout(() => URL.revokeObjectURL(address), 10_000);
    } catch (error) {
        byId("results").replaceChildren(problem(error));
    }
}
