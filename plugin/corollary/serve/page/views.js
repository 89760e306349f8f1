// The other views: classes and properties, inconsistencies, rules, the last change.

import { button, count, counted, duration, h, problem } from "./dom.js";
import { canChange, change, getJson } from "./server.js";
import { ntriples, parseTerm, termElement, textOfTerm, tripleElement, whyButton } from "./terms.js";

/** A field that hides the rows of `rows()` whose text does not contain what is typed. */
function filter(label, rows) {
    const input = h("input", {
        type: "search", placeholder: label, "aria-label": label,
        oninput: () => {
            const wanted = input.value.toLowerCase();
            for (const row of rows()) row.hidden = !row.textContent.toLowerCase().includes(wanted);
        },
    });
    return input;
}

// Classes and properties

/** Classes and properties with their counts. `runQuery` gets a query about one of them. */
export async function browseView(runQuery) {
    const found = await getJson("statistics");
    const ofClass = (iri) => `SELECT ?s ?p ?o {\n  VALUES (?p ?o) { (<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> ${iri}) }\n  ?s ?p ?o\n}\nLIMIT 1000`;
    const ofProperty = (iri) => `SELECT ?s ?p ?o {\n  VALUES ?p { ${iri} }\n  ?s ?p ?o\n}\nLIMIT 1000`;
    const most = (entries) => Math.max(1, ...entries.map(({ explicit, inferred }) => explicit + inferred));
    const table = (title, all, query) => {
        const entries = all.filter(({ term }) => term.startsWith("<"));
        const unnamed = all.length - entries.length;
        const scale = most(entries);
        const rows = entries.map((entry) => termRow(entry, scale, () => runQuery(query(ntriples(parseTerm(entry.term))))));
        const head = h("tr", {}, ["name", "explicit", "inferred", "", "triples"].map((name) => h("th", { scope: "col", class: name ? null : "share" }, name)));
        return h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", {}, title, h("span", { class: "muted" }, ` ${count(entries.length)}`)), filter(`Filter ${title.toLowerCase()}`, () => rows)), h("div", { class: "scroll" }, h("table", { class: "counts" }, h("thead", {}, head), h("tbody", {}, rows))), unnamed > 0 && h("p", { class: "muted unnamed" }, `${counted(unnamed, "class expression")} without a name: not listed.`));
    };
    const legend = h("p", { class: "legend" }, h("span", { class: "key explicit" }, "explicit"), h("span", { class: "key inferred" }, "inferred"), h("span", { class: "muted" }, `${counted(found.graphs, "graph")}, rules: ${found.rules}`));
    return h("div", {}, legend, h("div", { class: "two" }, table("Classes", found.classes, ofClass), table("Properties", found.predicates, ofProperty)));
}

function termRow({ term, explicit, inferred }, most, query) {
    const parsed = parseTerm(term);
    const bar = h("span", { class: "bar", "aria-hidden": "true", "--explicit-share": explicit / most, "--inferred-share": inferred / most }, h("span", { class: "explicit" }), h("span", { class: "inferred" }));
    return h("tr", {}, h("th", { scope: "row" }, termElement(parsed)), h("td", { class: "number" }, count(explicit)), h("td", { class: "number inferred" }, count(inferred)), h("td", { class: "share" }, bar), h("td", {}, button("Query", query, { class: "why", "aria-label": `Query ${textOfTerm(parsed)}` })));
}

// Inconsistencies

/** Inconsistencies by rule, each with the facts that cause it. */
export async function clashView() {
    const { count: all, inconsistencies } = await getJson("inconsistencies", { limit: 200 });
    if (!all) return h("div", { class: "notice good" }, h("strong", {}, "Consistent"), h("p", {}, "No rule finds facts that contradict each other."));
    const groups = [...Map.groupBy(inconsistencies, ({ rule }) => rule)];
    const cards = groups.map(([rule, clashes], at) =>
        h("details", { class: "card clash", open: at < 3 }, h("summary", {}, h("strong", {}, rule), h("span", { class: "muted" }, ` ${counted(clashes.length, "inconsistency", "inconsistencies")}`)), h("ol", {}, clashes.map(clashElement))),
    );
    const cut = all > inconsistencies.length ? `; the first ${count(inconsistencies.length)} are listed` : "";
    return h("div", {}, h("p", { class: "lead" }, `${counted(all, "inconsistency", "inconsistencies")} by ${counted(groups.length, "rule")}${cut}. The facts of each cannot hold together.`), cards);
}

function clashElement({ facts }) {
    const terms = facts.map((fact) => fact.map(parseTerm));
    return h("li", {}, h("ul", {}, terms.map((triple) => h("li", {}, tripleElement(triple), " ", whyButton(triple)))));
}

// Rules

/** The rules, with switches. `changed()` is called after a change, and returns the new statistics. */
export async function rulesView(changed) {
    const place = h("div", {});
    const told = h("div", { "aria-live": "polite", class: "told" });
    const order = new Map(); // a rule that is switched keeps its place in the list, and the filter its text
    const list = async () => {
        const { rules } = await getJson("rules", { derived: true });
        const wanted = place.querySelector("input")?.value;
        for (const { id } of rules) if (!order.has(id)) order.set(id, order.size);
        place.replaceChildren(rulesTable(rules.sort((a, b) => order.get(a.id) - order.get(b.id)), act));
        if (!wanted) return;
        const input = place.querySelector("input");
        input.value = wanted;
        input.dispatchEvent(new Event("input"));
    };
    const act = async (path, options, text) => {
        try {
            place.setAttribute("aria-busy", "true");
            const { inferred: before } = await getJson("statistics");
            const response = await change(path, options);
            if (!response) return false;
            const { report } = await response.json();
            const { inferred: after } = await changed();
            told.replaceChildren(h("div", { class: "notice good" }, h("strong", {}, text), h("p", {}, inWords(report, before, after))));
            return true;
        } catch (error) {
            told.replaceChildren(problem(error));
            return false;
        } finally {
            await list();
            place.removeAttribute("aria-busy");
        }
    };
    await list();
    return h("div", {}, canChange() ? adding(act) : h("div", { class: "notice" }, h("strong", {}, "Read-only"), h("p", {}, "A server started with --writable lets rules be switched.")), told, place);
}

function inWords(report, before, after) {
    const difference = before === after ? "no difference" : `${after < before ? "−" : "+"}${count(Math.abs(after - before))}`;
    const cost = report ? ` Maintained in ${duration(1000 * report.seconds)} (${report.strategy}).` : "";
    return `Inferred facts: ${count(before)} before, ${count(after)} now: ${difference}.${cost}`;
}

function adding(act) {
    const text = h("textarea", { id: "new-rule", rows: "3", spellcheck: "false", placeholder: "[?x, :grandparent, ?z] :- [?x, :parent, ?y], [?y, :parent, ?z] ." });
    const add = async () => {
        const options = { method: "POST", body: text.value, headers: { "Content-Type": "text/plain" } };
        if (text.value.trim() && (await act("rules", options, "Rule added"))) text.value = "";
    };
    return h("details", { class: "card adding" }, h("summary", {}, "Add a rule"), h("label", { for: "new-rule" }, "Rules, as Datalog; prefixes are declared in the text: ", h("code", {}, "@prefix ex: <http://example.org/> .")), text, h("p", { class: "actions" }, button("Add rule", add, { class: "primary", id: "add-rule" })));
}

function rulesTable(rules, act) {
    const hasCounts = rules.some(({ derived }) => derived !== null);
    const rows = rules.map((rule) => ruleRow(rule, hasCounts, act));
    const on = rules.filter(({ enabled }) => enabled).length;
    const head = [h("th", { scope: "col" }, "on"), h("th", { scope: "col" }, "rule"), hasCounts && h("th", { scope: "col", class: "number", title: "Inferred facts that the rule derives. A fact that several rules derive counts for each." }, "derived")];
    return h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", {}, "Rules", h("span", { class: "muted" }, ` ${count(on)} of ${count(rules.length)} on`)), filter("Filter rules", () => rows)), h("div", { class: "scroll" }, h("table", { class: "rules" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows))));
}

function ruleRow({ id, name, text, derived, origin, enabled }, hasCounts, act) {
    const title = name ?? "unnamed";
    const turn = () => act(`rules/${encodeURIComponent(id)}/${enabled ? "off" : "on"}`, { method: "POST" }, `${title} is ${enabled ? "off" : "on"}`);
    const onclick = async (event) => {
        event.currentTarget.disabled = true;
        await turn();
        document.querySelector(`[data-rule="${CSS.escape(id)}"]`)?.focus({ preventScroll: true });
    };
    const control = h("button", { type: "button", role: "switch", class: "switch", "aria-checked": enabled, "aria-label": title, "data-rule": id, disabled: !canChange(), onclick });
    const remove = origin === "added" && !enabled && canChange() && button("Forget", () => act(`rules/${encodeURIComponent(id)}`, { method: "DELETE" }, `${title} is forgotten`), { class: "why" });
    return h("tr", { class: enabled ? "" : "off" }, h("td", {}, control), h("td", {}, h("div", { class: "rule-name" }, h("strong", {}, title), origin === "added" && h("span", { class: "badge" }, "added"), remove), h("code", {}, text)), hasCounts && h("td", { class: "number", title: enabled && derived === null ? "Not counted: it would take too long" : null }, derived === null ? "–" : count(derived)));
}

// The last change

const COUNTS = ["candidates", "proved", "deleted", "rederived", "inserted"];

/** What the last change cost, layer by layer. */
export async function changeView() {
    const report = await getJson("changes/last");
    if (!report) return h("div", { class: "notice" }, h("strong", {}, "No change yet"), h("p", {}, "Since the server was started, nothing had to be maintained: switch a rule, or send an update."));
    const most = Math.max(...report.lines.map(({ ms }) => ms), 0.001);
    const figure = (name, value) => h("div", { class: "figure" }, h("dt", {}, name), h("dd", {}, value));
    const figures = h("dl", { class: "figures" }, figure("strategy", report.strategy), figure("time", duration(1000 * report.seconds)), figure("explicit facts added", count(report.added)), figure("explicit facts removed", count(report.removed)));
    const rows = report.lines.map((line) =>
        h("tr", {}, h("th", { scope: "row" }, String(line.stage)), h("td", {}, line.module), COUNTS.map((name) => h("td", { class: "number" }, line[name] ? count(line[name]) : h("span", { class: "muted" }, "0"))), h("td", { class: "number" }, duration(line.ms)), h("td", { class: "share" }, h("span", { class: "bar", "aria-hidden": "true", "--explicit-share": line.ms / most, }, h("span", { class: "explicit" })))),
    );
    const head = ["layer", "module", ...COUNTS, "time", ""].map((name) => h("th", { scope: "col", class: name ? null : "share" }, name));
    const table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Layers" }, h("table", { class: "counts layers" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
    return h("div", {}, figures, rows.length ? table : h("p", { class: "empty" }, "No layer had anything to do."));
}
