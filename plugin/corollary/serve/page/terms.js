// Terms: as in SPARQL's JSON results ({type, value, datatype, "xml:lang"}), read from N-Triples, shortened, shown.

import { button, h } from "./dom.js";

const RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const XSD = "http://www.w3.org/2001/XMLSchema#";
export const TYPE = `${RDF}type`;

let prefixes = [];
let open = { term: () => {}, proof: () => {} };

/** Set the prefixes by which IRIs are shortened. */
export function usePrefixes(map) {
    prefixes = Object.entries(map).sort((a, b) => b[1].length - a[1].length);
    if (!prefixes.some(([, namespace]) => namespace === RDF)) prefixes.push(["rdf", RDF]);
}

export const knownPrefixes = () => prefixes;

/** Set what a click on a term or on a triple does. */
export function useInspector(functions) {
    open = functions;
}

/** An IRI as a prefixed name if there is a prefix, else in angle brackets. */
export function short(iri) {
    for (const [prefix, namespace] of prefixes) {
        const local = iri.slice(namespace.length);
        if (iri.startsWith(namespace) && /^[\p{L}\p{N}_]([\p{L}\p{N}_.-]*[\p{L}\p{N}_-])?$/u.test(local)) return `${prefix}:${local}`;
    }
    return `<${iri}>`;
}

/** A term as text, for sorting and titles. */
export function textOfTerm(term) {
    if (!term) return "";
    if (term.type === "uri") return short(term.value);
    return term.type === "bnode" ? `_:${term.value}` : term.value;
}

const ESCAPES = { "\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** A term in N-Triples syntax. */
export function ntriples(term) {
    if (term.type === "uri") {
        const escaped = (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`;
        return `<${term.value.replace(/[\u0000-\u0020<>"{}|^`\\]/g, escaped)}>`;
    }
    if (term.type === "bnode") return `_:${term.value}`;
    const text = `"${term.value.replace(/[\\"\n\r\t]/g, (c) => ESCAPES[c])}"`;
    if (term["xml:lang"]) return `${text}@${term["xml:lang"]}`;
    return term.datatype && term.datatype !== `${XSD}string` ? `${text}^^${ntriples({ type: "uri", value: term.datatype })}` : text;
}

const TERM = /\s*(?:<([^>]*)>|_:([^\s<"]*[^\s<".])|"((?:[^"\\]|\\.)*)"(?:@([A-Za-z0-9-]+)|\^\^<([^>]*)>)?)/y;
const CONTROL = { t: "\t", n: "\n", r: "\r", b: "\b", f: "\f" };

function unescaped(text) {
    if (!text.includes("\\")) return text;
    return text.replace(/\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/g, (_, four, eight, one) =>
        one ? (CONTROL[one] ?? one) : String.fromCodePoint(parseInt(four ?? eight, 16)),
    );
}

/** The terms of a line of N-Triples. */
export function parseTerms(line) {
    const terms = [];
    TERM.lastIndex = 0;
    for (let found; (found = TERM.exec(line)); ) {
        const [, iri, blank, literal, language, datatype] = found;
        if (iri !== undefined) terms.push({ type: "uri", value: unescaped(iri) });
        else if (blank !== undefined) terms.push({ type: "bnode", value: blank });
        else terms.push({ type: "literal", value: unescaped(literal), ...(language && { "xml:lang": language }), ...(datatype && { datatype: unescaped(datatype) }) });
    }
    return terms;
}

/** Terms of an explanation, as N-Triples texts or lists of them. */
export const parseTerm = (text) => parseTerms(text)[0] ?? { type: "literal", value: text };

/** A term as an element. IRIs and blank nodes open the inspector, and never lead anywhere else. */
export function termElement(term, place = "") {
    if (!term) return h("span", { class: "unbound" }, "–");
    if (term.type === "uri") {
        const text = place === "predicate" && term.value === TYPE ? "a" : short(term.value);
        return button(text, () => open.term(term), { class: "term", title: term.value });
    }
    if (term.type === "bnode") return h("span", { class: "term blank" }, `_:${term.value}`);
    const kind = term["xml:lang"] ? `@${term["xml:lang"]}` : term.datatype && term.datatype !== `${XSD}string` ? short(term.datatype) : "";
    const isNumber = /^(integer|decimal|double|float|int|long)$/.test((term.datatype ?? "").replace(XSD, ""));
    return h("span", { class: isNumber ? "literal number" : "literal" }, h("span", { class: "value" }, term.value), kind && !isNumber && h("span", { class: "kind" }, kind));
}

/** A triple as an element. */
export function tripleElement([subject, predicate, object]) {
    return h("span", { class: "triple" }, termElement(subject), " ", termElement(predicate, "predicate"), " ", termElement(object));
}

/** A button that shows the proof of a triple. */
export function whyButton(triple, text = "Why?") {
    const name = `Why ${triple.map(textOfTerm).join(" ")}?`;
    return button(text, () => open.proof(triple), { class: "why", "aria-label": name, title: "Show the proof" });
}

/** An IRI that a browser may follow; null for every other scheme, such as javascript. */
export function followable(iri) {
    return /^https?:\/\//i.test(iri) ? iri : null;
}
