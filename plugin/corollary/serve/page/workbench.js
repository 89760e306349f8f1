// The workbench of `corollary serve`: puts the views together.

import { button, byId, count, duration, h, problem, shown, tabs } from "./dom.js";
import { useInspectorInDrawings } from "./graph.js";
import { close, showProof, showTerm, useQuery } from "./inspector.js";
import { ask, download, formOf, offerFormats, resultElement } from "./results.js";
import { allowChanges, change, getJson, toggleToken } from "./server.js";
import { knownPrefixes, useInspector, usePrefixes } from "./terms.js";
import { createEditor } from "./third_party/editor.js";
import { browseView, changeView, clashView, rulesView } from "./views.js";

const EXAMPLES = {
    "Some triples": "SELECT ?s ?p ?o {\n  ?s ?p ?o\n}\nLIMIT 100",
    "Inferred triples": "SELECT ?s ?p ?o {\n  GRAPH <urn:x-corollary:inferred> { ?s ?p ?o }\n}\nLIMIT 100",
    "Members of each class": "SELECT ?class (COUNT(?member) AS ?members) {\n  ?member a ?class\n}\nGROUP BY ?class\nORDER BY DESC(?members)",
    "Subclasses, as a graph": "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n\nCONSTRUCT { ?class rdfs:subClassOf ?super }\nWHERE {\n  GRAPH <urn:x-corollary:explicit> { ?class rdfs:subClassOf ?super }\n  FILTER(isIRI(?class) && isIRI(?super))\n}",
    "Is there an equality?": "PREFIX owl: <http://www.w3.org/2002/07/owl#>\n\nASK { ?a owl:sameAs ?b FILTER(?a != ?b) }",
};

const KEYWORDS = "SELECT DISTINCT WHERE FILTER OPTIONAL UNION GRAPH CONSTRUCT ASK DESCRIBE PREFIX BIND VALUES MINUS EXISTS ORDER GROUP BY HAVING LIMIT OFFSET COUNT AVG SUM INSERT DELETE DATA".split(" ");

let editor;
let running = null;

// Query

async function run() {
    if (running) return running.abort();
    const text = editor.text();
    const place = byId("results");
    running = new AbortController();
    byId("run").textContent = "Stop";
    place.setAttribute("aria-busy", "true");
    try {
        const isUpdate = /^(insert|delete|load|clear|drop|create|add|move|copy|with)$/.test(formOf(text));
        place.replaceChildren(isUpdate ? await updated(text) : resultElement(await ask(text, running.signal)));
    } catch (error) {
        const stopped = h("p", { class: "empty" }, "Stopped.");
        place.replaceChildren(error.name === "AbortError" ? stopped : problem(error));
    } finally {
        running = null;
        byId("run").textContent = "Run";
        place.removeAttribute("aria-busy");
    }
}

async function updated(text) {
    const begin = performance.now();
    const headers = { "Content-Type": "application/sparql-update" };
    const response = await change("update", { method: "POST", body: text, headers });
    if (!response) return h("p", { class: "empty" }, "Not carried out: a change needs the token.");
    await summarise();
    const time = duration(performance.now() - begin);
    return h("div", { class: "notice good" }, h("strong", {}, "Updated"), h("p", {}, `In ${time}. `, button("What it cost", () => select("change"))));
}

function runQuery(text) {
    select("query");
    editor.setText(text);
    if (matchMedia("(max-width: 60rem)").matches) close();
    run();
}

/** Completions for the word before the cursor. */
async function complete(word, text) {
    if (/^[?$]/.test(word)) {
        const names = [...new Set(text.match(/[?$]\w+/g))].filter((name) => name !== word && name.startsWith(word));
        return names.map((label) => ({ label, detail: "variable" }));
    }
    const begins = (name) => name.toLowerCase().startsWith(word.toLowerCase());
    const keywords = word ? KEYWORDS.filter(begins).map((label) => ({ label, detail: "keyword" })) : [];
    const prefixes = knownPrefixes().map(([prefix, namespace]) => ({ label: `${prefix}:`, detail: namespace })).filter(({ label }) => begins(label) && label !== word);
    const found = await getJson("terms", { prefix: word, limit: 20 }).catch(() => ({ terms: [] }));
    const terms = found.terms.map(({ short: label, iri, count: uses }) => ({ label, detail: `${count(uses)} facts`, info: iri === label ? undefined : iri }));
    return word.includes(":") ? [...terms, ...prefixes] : [...prefixes, ...terms, ...keywords];
}

// Views

const VIEWS = {
    browse: () => browseView(runQuery),
    clashes: clashView,
    rules: () => rulesView(summarise),
    change: changeView,
};

function choose(name) {
    for (const panel of document.querySelectorAll("#main > section")) panel.hidden = panel.id !== `panel-${name}`;
    if (VIEWS[name]) shown(byId(`panel-${name}`), VIEWS[name]());
}

let select;

/** Show the counts in the head of the page. Returns the statistics. */
async function summarise() {
    const statistics = await getJson("statistics");
    const { explicit, inferred, rules, inconsistencies } = statistics;
    const figure = (number, name, kind) => h("span", { class: `fact-count ${kind}` }, h("b", {}, count(number)), ` ${name}`);
    byId("summary").replaceChildren(figure(explicit, "explicit", "explicit"), figure(inferred, "inferred", "inferred"), h("span", { class: "rules-name" }, rules));
    const tab = byId("tab-clashes");
    tab.querySelector(".count")?.remove();
    if (inconsistencies) tab.append(h("span", { class: "count" }, count(inconsistencies)));
    return statistics;
}

// Light and dark

const THEMES = ["auto", "light", "dark"];

function useTheme(name) {
    document.documentElement.dataset.theme = name;
    byId("theme-button").textContent = `Theme: ${name}`;
    try {
        localStorage.setItem("corollary-theme", name);
    } catch {
        // without storage the choice lasts as long as the page
    }
}

function savedTheme() {
    try {
        return localStorage.getItem("corollary-theme");
    } catch {
        return null;
    }
}

async function start() {
    useTheme(THEMES.find((name) => name === savedTheme()) ?? "auto");
    byId("theme-button").addEventListener("click", () => useTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]));
    byId("token-button").addEventListener("click", toggleToken);
    byId("token-cancel").addEventListener("click", () => byId("token-dialog").close("cancel"));
    const inspector = { term: showTerm, proof: showProof };
    useInspector(inspector);
    useInspectorInDrawings(inspector);
    useQuery(runQuery);
    const panels = [...document.querySelectorAll("#main > section")];
    select = tabs(byId("tabs"), panels.map((panel) => ({ name: panel.id.slice(6), title: panel.dataset.title, controls: panel.id })), choose);
    const first = Object.values(EXAMPLES)[1];
    editor = createEditor({ parent: byId("editor"), text: first, label: "SPARQL query", run, complete, changed: () => offerFormats(editor.text()) });
    offerFormats(first);
    byId("examples").append(...Object.keys(EXAMPLES).map((name, at) => h("option", { selected: at === 1 }, name)));
    byId("examples").addEventListener("change", (event) => editor.setText(EXAMPLES[event.target.value]));
    byId("run").addEventListener("click", run);
    byId("download").addEventListener("click", () => download(editor.text()));
    document.addEventListener("keydown", (event) => event.key === "Escape" && !event.defaultPrevented && !byId("inspector").hidden && !byId("token-dialog").open && !event.composedPath().some((each) => each.id === "editor") && close());
    select("query");
    try {
        const [{ prefixes }, status] = await Promise.all([getJson("prefixes"), getJson("status")]);
        usePrefixes(prefixes);
        allowChanges(status.writable);
        await summarise();
    } catch (error) {
        byId("results").replaceChildren(problem(error));
        return;
    }
    document.documentElement.dataset.ready = "";
}

start();
