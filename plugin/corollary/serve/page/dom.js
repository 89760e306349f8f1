// Elements made without markup: every text is a text node, so nothing that the data says is ever parsed as HTML.

/** Make an element. `properties`: `on...` are listeners, `--...` variables of CSS, the others attributes. */
export function h(name, properties = {}, ...children) {
    return filled(document.createElement(name), properties, children);
}

/** Make an element of SVG. */
export function svg(name, properties = {}, ...children) {
    return filled(document.createElementNS("http://www.w3.org/2000/svg", name), properties, children);
}

function filled(element, properties, children) {
    for (const [key, value] of Object.entries(properties)) {
        if (value === undefined || value === null || (value === false && !key.startsWith("aria-"))) continue;
        if (key.startsWith("aria-")) element.setAttribute(key, String(value));
        else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
        else if (key.startsWith("--")) element.style.setProperty(key, value);
        else element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
    return element;
}

/** A button. */
export function button(text, onclick, properties = {}) {
    return h("button", { type: "button", onclick, ...properties }, text);
}

export const byId = (id) => document.getElementById(id);

const grouped = new Intl.NumberFormat("en");

/** A count with separators. */
export const count = (number) => grouped.format(number);

/** "1 row", "2 rows". */
export const counted = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

/** A time in words. */
export function duration(ms) {
    if (ms >= 1000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
    return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(ms < 1 ? 2 : 1)} ms`;
}

/** The message for an error. */
export function problem(error) {
    return h("div", { class: "notice error", role: "alert" }, h("strong", {}, error.title ?? "Error"), h("p", {}, error.message));
}

/** What is shown while `promise` is pending, then its element, or its error. */
export async function shown(place, promise) {
    place.setAttribute("aria-busy", "true");
    try {
        place.replaceChildren(await promise);
    } catch (error) {
        if (error.name !== "AbortError") place.replaceChildren(problem(error));
    } finally {
        place.removeAttribute("aria-busy");
    }
}

/** Tabs: arrow keys, Home and End move between them. `choose(name)` is called for the chosen one. */
export function tabs(list, entries, choose) {
    const select = (name, focus = false) => {
        for (const tab of list.children) {
            const is = tab.dataset.name === name;
            tab.setAttribute("aria-selected", is);
            tab.tabIndex = is ? 0 : -1;
            if (is && focus) tab.focus();
        }
        choose(name);
    };
    const move = (event) => {
        const all = [...list.children];
        const at = all.indexOf(event.currentTarget);
        const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        select(all[(to + all.length) % all.length].dataset.name, true);
    };
    list.replaceChildren(
        ...entries.map(({ name, title, controls }) =>
            h(
                "button",
                {
                    type: "button", role: "tab", id: `tab-${name}`, "data-name": name, "aria-controls": controls,
                    onclick: () => select(name), onkeydown: move,
                },
                h("span", {}, title),
            ),
        ),
    );
    return select;
}
