// The column beside the views: a term with its triples, or the proof of a triple. It remembers what it has shown.

import { button, byId, counted, h, shown } from "./dom.js";
import { getJson, rowsOf } from "./server.js";
import { followable, ntriples, parseTerm, short, termElement, tripleElement, whyButton } from "./terms.js";

const MOST = 200; // triples of a term, in each direction, explicit and inferred
const MOST_UNFOLDED = 400; // facts, by "Unfold all"
const UNFOLDED = 3; // levels of a proof that are unfolded at first

const past = [];
let runQuery = () => {};
let cause = null;

/** Set what "Query" does. */
export function useQuery(run) {
    runQuery = run;
}

function show(entry) {
    const aside = byId("inspector");
    if (aside.hidden) cause = document.activeElement;
    past.push(entry);
    aside.hidden = false;
    const place = h("div", { class: "inspected" });
    const bar = h("div", { class: "inspector-bar" }, button("Back", back, { disabled: past.length < 2 }), h("span", { class: "space" }), button("Close", close));
    aside.replaceChildren(bar, place);
    aside.scrollTop = 0;
    shown(place, entry()).then(() => {
        const title = place.querySelector("h2");
        title?.setAttribute("tabindex", "-1");
        title?.focus({ preventScroll: true });
    });
}

function back() {
    past.pop();
    show(past.pop());
}

/** Close the column; the focus returns to where it came from. */
export function close() {
    past.length = 0;
    byId("inspector").hidden = true;
    if (cause?.isConnected) cause.focus();
}

// A term

/** Show a term with its triples. */
export function showTerm(term) {
    show(() => termView(term));
}

const GRAPHS = { explicit: "urn:x-corollary:explicit", inferred: "urn:x-corollary:inferred" };

async function triplesOf(term, isOutgoing) {
    const iri = ntriples(term);
    const pattern = isOutgoing ? `${iri} ?p ?x` : `?x ?p ${iri}`;
    const parts = Object.entries(GRAPHS).map(async ([kind, graph]) => {
        const rows = await rowsOf(`SELECT ?p ?x { GRAPH <${graph}> { ${pattern} } } LIMIT ${MOST + 1}`);
        return rows.map(({ p, x }) => ({ triple: isOutgoing ? [term, p, x] : [x, p, term], other: x, kind }));
    });
    return (await Promise.all(parts)).flat();
}

async function termView(term) {
    const [outgoing, incoming] = await Promise.all([triplesOf(term, true), triplesOf(term, false)]);
    const address = followable(term.value);
    const query = `SELECT ?s ?p ?o {\n  { VALUES ?s { ${ntriples(term)} } ?s ?p ?o }\n  UNION\n  { VALUES ?o { ${ntriples(term)} } ?s ?p ?o }\n}`;
    return h(
        "div",
        {},
        h("p", { class: "eyebrow" }, "Term"),
        h("h2", {}, short(term.value)),
        h("p", { class: "iri" }, address ? h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, term.value) : term.value),
        h("p", { class: "actions" }, button("Query this term", () => runQuery(query))),
        direction("Outgoing", outgoing, 2),
        direction("Incoming", incoming, 0),
    );
}

function direction(title, found, place) {
    const byPredicate = Map.groupBy(found.slice(0, 2 * MOST), ({ triple }) => triple[1].value);
    const groups = [...byPredicate.values()].map((entries) =>
        h("div", { class: "group" }, h("h4", {}, termElement(entries[0].triple[1], "predicate")), h("ul", {}, entries.map(({ triple, kind }) => line(triple, kind, place)))),
    );
    const isCut = found.length > MOST;
    return h("section", {}, h("h3", {}, title, h("span", { class: "muted" }, ` ${isCut ? `${found.length} of more` : found.length}`)), groups.length ? groups : h("p", { class: "empty" }, "None."));
}

function line(triple, kind, place) {
    return h("li", { class: kind }, termElement(triple[place]), h("span", { class: "line-end" }, kind === "inferred" && h("span", { class: "badge" }, "inferred"), whyButton(triple)));
}

// A proof

/** Show the proof of a triple. */
export function showProof(triple) {
    show(() => proofView(triple, 1));
}

async function explained(triple, limit) {
    const [subject, predicate, object] = triple.map(ntriples);
    return getJson("explain", { subject, predicate, object, limit });
}

const VERDICTS = {
    explicit: ["Explicit", "The data has this triple."],
    inferred: ["Inferred", "This triple follows from others."],
    absent: ["Absent", "This triple does not hold."],
};

async function proofView(triple, limit) {
    const found = await explained(triple, limit);
    const [title, text] = VERDICTS[found.status] ?? [found.status, ""];
    const place = h("div", {});
    const several = found.proofs.length > 1;
    const pick = (at) => {
        place.replaceChildren(proofElement(found.proofs[at]));
        for (const each of chooser?.children ?? []) each.setAttribute("aria-pressed", Number(each.dataset.at) === at);
    };
    const chooser = several ? h("div", { class: "actions", role: "group", "aria-label": "Proofs" }, found.proofs.map((_, at) => button(`Proof ${at + 1}`, () => pick(at), { "data-at": at }))) : null;
    if (found.proofs.length) pick(0);
    else place.append(h("p", { class: "empty" }, found.complete ? (found.status === "explicit" ? "It does not follow from other triples." : "There is no proof.") : "The search was given up before it found a proof."));
    const more = limit === 1 && found.proofs.length === 1 && button("Look for other proofs", (event) => shown(event.target.closest(".inspected"), proofView(triple, 5)));
    const none = limit > 1 && found.proofs.length === 1 && h("p", { class: "muted" }, "There is no other proof.");
    return h(
        "div",
        {},
        h("p", { class: "eyebrow" }, "Proof"),
        h("h2", { class: "fact" }, tripleElement(triple)),
        h("p", {}, h("span", { class: `badge ${found.status}` }, title), " ", text),
        chooser,
        place,
        more && h("p", { class: "actions" }, more),
        none,
    );
}

function proofElement(proof) {
    const tree = h("div", { class: "tree" });
    const limit = { left: MOST_UNFOLDED };
    const build = (depth) => {
        limit.left = MOST_UNFOLDED;
        tree.replaceChildren(h("ul", {}, stepElement(proof.steps, proof.steps.length - 1, depth, limit)));
    };
    build(UNFOLDED);
    const tools = h("div", { class: "actions" }, button("Unfold all", () => build(Infinity)), button("Fold all", () => build(0)), h("span", { class: "muted" }, `${counted(proof.size, "rule application")}, ${counted(proof.height, "level")}`));
    return h("div", {}, tools, tree);
}

/** A step of a proof, with its premises folded under it; they are made when they are first unfolded. */
function stepElement(steps, at, depth, limit) {
    const step = steps[at];
    limit.left -= 1;
    const fact = step.fact ? tripleElement(step.fact.map(parseTerm)) : h("strong", {}, step.text === "false" ? "Contradiction" : step.text);
    if (step.by !== "rule") return h("li", { class: `step ${step.by}` }, factOfLeaf(step, fact));
    const details = h("details", {});
    const fill = () => {
        if (details.childElementCount > 1) return;
        details.append(ruleElement(step), h("ul", {}, step.premises.map((premise) => stepElement(steps, premise, depth - 1, limit))));
    };
    details.append(h("summary", {}, fact, h("span", { class: "by" }, step.path ? `${step.rule}, along a path` : step.rule)));
    details.addEventListener("toggle", () => details.open && fill());
    if (depth > 0 && limit.left > 0) {
        fill();
        details.open = true;
    }
    return h("li", { class: "step rule" }, details);
}

function factOfLeaf(step, fact) {
    if (step.by === "list") {
        const items = step.items.map(parseTerm).flatMap((item) => [" ", termElement(item)]);
        return h("div", { class: "leaf" }, h("span", {}, termElement(parseTerm(step.list)), " is the list (", items, " )"));
    }
    if (step.by === "given") return h("div", { class: "leaf" }, fact, h("span", { class: "by" }, "explicit"));
    return h("div", { class: "leaf" }, h("span", {}, step.text));
}

function ruleElement(step) {
    const bindings = Object.entries(step.bindings).map(([name, text]) => h("li", {}, h("span", { class: "variable" }, `?${name}`), " = ", termElement(parseTerm(text))));
    const further = [...step.conditions, ...step.matches.map((number) => `${counted(number, "match", "matches")} in all`)];
    return h("div", { class: "rule-of-step" }, h("code", {}, step.rule_text), further.map((text) => h("p", {}, text)), bindings.length > 0 && h("details", { class: "bindings" }, h("summary", {}, "Values"), h("ul", {}, bindings)));
}
