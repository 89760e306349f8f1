// A drawing of triples: nodes are pushed apart, edges pull them together, for a fixed number of steps.

import { button, counted, h, svg } from "./dom.js";
import { ntriples, short, textOfTerm, TYPE } from "./terms.js";

const MOST_NODES = 120; // more cannot be told apart on a screen
const STEPS = 300;
const LENGTH = 80; // of an edge, in units of the drawing
const REACH = 260; // of the force between two nodes, in the same units

let open = {};

/** Set what a click on a node or an edge does. */
export function useInspectorInDrawings(functions) {
    open = functions;
}

/** The drawing of triples, as an element. */
export function drawing(triples) {
    const { nodes, edges, left } = limited(triples);
    if (!nodes.length) return h("p", { class: "empty" }, "No triples to draw.");
    place(nodes, edges);
    const picture = pictureOf(nodes, edges);
    const box = boxOf(nodes);
    const view = { ...box };
    const set = () => picture.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
    const zoom = (factor) => {
        view.x += (view.width * (1 - factor)) / 2;
        view.y += (view.height * (1 - factor)) / 2;
        view.width *= factor;
        view.height *= factor;
        set();
    };
    set();
    drag(picture, view, set);
    const predicates = predicatesOf(edges);
    const only = predicates.length === 1 ? `, all ${short(predicates[0])}` : "";
    const tools = h("div", { class: "pager" }, button("Zoom in", () => zoom(0.75)), button("Zoom out", () => zoom(1 / 0.75)), button("Fit", () => (Object.assign(view, box), set())), h("span", { class: "muted" }, counted(nodes.length, "node") + ", " + counted(edges.length, "edge") + only + (left ? `; ${counted(left, "triple")} not drawn` : "")));
    return h("div", { class: "drawing" }, picture, tools);
}

function limited(triples) {
    const nodes = new Map();
    const edges = new Map();
    let left = 0;
    for (const [subject, predicate, object] of triples) {
        // a literal is a node of its own triple, so that equal numbers do not tie things together
        const names = [ntriples(subject), object.type === "literal" ? `${ntriples(subject)} ${ntriples(predicate)} ${ntriples(object)}` : ntriples(object)];
        if (new Set(names.filter((name) => !nodes.has(name))).size + nodes.size > MOST_NODES) {
            left += 1;
            continue;
        }
        [subject, object].forEach((term, at) => nodes.has(names[at]) || nodes.set(names[at], { term, x: 0, y: 0, degree: 0 }));
        const [from, to] = names.map((name) => nodes.get(name));
        const key = `${names[0]} ${names[1]}`;
        const edge = edges.get(key) ?? { from, to, triples: [] };
        edge.triples.push([subject, predicate, object]);
        edges.set(key, edge);
        from.degree += 1;
        to.degree += 1;
    }
    return { nodes: [...nodes.values()], edges: [...edges.values()], left };
}

/** Give the nodes places. The start is a spiral, so equal triples give equal drawings. */
function place(nodes, edges) {
    nodes.forEach((node, at) => {
        node.x = 28 * Math.sqrt(at + 1) * Math.cos(at * 2.4);
        node.y = 28 * Math.sqrt(at + 1) * Math.sin(at * 2.4);
    });
    const flat = innerWidth > 800 ? 2.6 : 1; // a drawing is as wide as the screen allows
    for (let step = 0; step < STEPS; step += 1) {
        const most = 30 * (1 - step / STEPS) + 0.5;
        for (const node of nodes) [node.dx, node.dy] = [-0.03 * node.x, -0.03 * flat * node.y];
        for (let i = 0; i < nodes.length; i += 1) for (let j = i + 1; j < nodes.length; j += 1) push(nodes[i], nodes[j]);
        for (const { from, to } of edges) if (from !== to) pull(from, to);
        for (const node of nodes) {
            const size = Math.hypot(node.dx, node.dy) || 1;
            node.x += (node.dx / size) * Math.min(size, most);
            node.y += (node.dy / size) * Math.min(size, most);
        }
    }
}

function push(a, b) {
    const [x, y] = [a.x - b.x, a.y - b.y];
    const size = Math.max(Math.hypot(x, y), 5);
    if (size > REACH) return;
    const force = (LENGTH * LENGTH * 0.9 * (1 - size / REACH)) / (size * size);
    a.dx += x * force * 0.15;
    a.dy += y * force * 0.15;
    b.dx -= x * force * 0.15;
    b.dy -= y * force * 0.15;
}

function pull(a, b) {
    const [x, y] = [b.x - a.x, b.y - a.y];
    const size = Math.hypot(x, y) || 1;
    const force = (0.12 * (size - LENGTH)) / Math.sqrt(Math.min(a.degree, b.degree) || 1) / size;
    a.dx += x * force;
    a.dy += y * force;
    b.dx -= x * force;
    b.dy -= y * force;
}

function boxOf(nodes) {
    const xs = nodes.map((node) => node.x);
    const ys = nodes.map((node) => node.y);
    const [x, y] = [Math.min(...xs) - 90, Math.min(...ys) - 40];
    const width = Math.max(Math.max(...xs) + 90 - x, 340);
    const height = Math.max(Math.max(...ys) + 40 - y, 240);
    return { x: x - (width - (Math.max(...xs) + 90 - x)) / 2, y: y - (height - (Math.max(...ys) + 40 - y)) / 2, width, height };
}

function cut(text, most) {
    return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function named(term) {
    const text = textOfTerm(term);
    return term.type === "uri" && text.startsWith("<") ? (/[#/]([^#/>]+)>$/.exec(text)?.[1] ?? text) : text;
}

/** Properties of an element of the drawing that is used like a button. */
function pressed(label, act) {
    const onkeydown = (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        act();
    };
    return { tabindex: "0", role: "button", "aria-label": label, onclick: act, onkeydown };
}

function predicatesOf(edges) {
    return [...new Set(edges.flatMap(({ triples }) => triples.map(([, predicate]) => predicate.value)))];
}

function pictureOf(nodes, edges) {
    const arrow = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: "8", refY: "4", markerWidth: "7", markerHeight: "7", orient: "auto-start-reverse" }, svg("path", { d: "M0 0L8 4L0 8z", class: "head" }));
    const hasLabels = edges.length <= 60 && predicatesOf(edges).length > 1;
    return svg("svg", { role: "group", "aria-label": "Graph of the triples" }, svg("defs", {}, arrow), edges.map((edge) => edgeOf(edge, hasLabels)), nodes.map(nodeOf));
}

function edgeOf({ from, to, triples }, hasLabel) {
    const names = triples.map(([, predicate]) => (predicate.value === TYPE ? "a" : short(predicate.value)));
    const label = `${textOfTerm(from.term)} ${names.join(", ")} ${textOfTerm(to.term)}`;
    const [x, y] = [to.x - from.x, to.y - from.y];
    const size = Math.hypot(x, y) || 1;
    const [endX, endY] = [to.x - (x / size) * 9, to.y - (y / size) * 9];
    const path = from === to ? `M${from.x - 5} ${from.y - 5}c-30 -40 40 -40 10 0` : `M${from.x} ${from.y}L${endX} ${endY}`;
    const text = hasLabel && svg("text", { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 - 4 - (from === to ? 28 : 0), class: "edge-name" }, cut(names[0], 24) + (names.length > 1 ? ` +${names.length - 1}` : ""));
    return svg("g", { class: "edge", ...pressed(`Why ${label}?`, () => open.proof(triples[0])) }, svg("title", {}, label), svg("path", { d: path, class: "wide" }), svg("path", { d: path, class: "line", "marker-end": "url(#arrow)" }), text);
}

function nodeOf(node) {
    const { term, x, y } = node;
    const text = svg("text", { x, y: y + 20, class: "node-name" }, cut(named(term), 26));
    const title = svg("title", {}, term.value);
    if (term.type !== "uri") return svg("g", { class: `node ${term.type}` }, title, svg("circle", { cx: x, cy: y, r: 5 }), text);
    return svg("g", { class: "node", ...pressed(textOfTerm(term), () => open.term(term)) }, title, svg("circle", { cx: x, cy: y, r: 7 }), text);
}

/** Move the view with the pointer. */
function drag(picture, view, set) {
    let last = null;
    picture.addEventListener("pointerdown", (event) => (last = [event.clientX, event.clientY]));
    picture.addEventListener("pointerup", () => (last = null));
    picture.addEventListener("pointerleave", () => (last = null));
    picture.addEventListener("pointermove", (event) => {
        if (!last) return;
        const { width, height } = picture.getBoundingClientRect();
        const scale = Math.max(view.width / width, view.height / height);
        view.x -= (event.clientX - last[0]) * scale;
        view.y -= (event.clientY - last[1]) * scale;
        last = [event.clientX, event.clientY];
        set();
    });
}
