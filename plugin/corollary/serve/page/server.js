// The endpoints of the server. The token is in this module's memory only, and is sent with changes alone.

import { byId } from "./dom.js";

const MOST_BYTES = 48_000_000; // a result that is shown; a longer one is for the download

let token = null;
let isWritable = false;

export class ServerError extends Error {
    constructor(title, detail, status) {
        super(detail);
        this.title = title;
        this.status = status;
    }
}

/** Fetch, and raise a ServerError with what the server says. */
export async function request(path, options = {}) {
    let response;
    try {
        response = await fetch(path, { cache: "no-store", ...options });
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new ServerError("The server does not answer", "Is it still running?", 0);
    }
    if (response.ok) return response;
    const told = await response.json().catch(() => ({}));
    throw new ServerError(told.title ?? `Status ${response.status}`, told.detail ?? "", response.status);
}

export const getJson = async (path, parameters = {}) => {
    const search = new URLSearchParams(parameters).toString();
    return (await request(search ? `${path}?${search}` : path)).json();
};

/** Send a query. */
export function send(query, accept, signal) {
    const headers = { "Content-Type": "application/sparql-query", Accept: accept };
    return request("sparql", { method: "POST", body: query, headers, signal });
}

/** The rows of a SELECT query of the page's own. */
export async function rowsOf(query) {
    const response = await send(query, "application/sparql-results+json");
    return (await response.json()).results.bindings;
}

/** The text of a response; a ServerError if it is too long to be shown. */
export async function textOf(response) {
    const decoder = new TextDecoder();
    let text = "";
    let bytes = 0;
    for (const reader = response.body.getReader(); ; ) {
        const { done, value } = await reader.read();
        if (done) return text + decoder.decode();
        bytes += value.length;
        if (bytes > MOST_BYTES) {
            await reader.cancel();
            throw new ServerError("The result is too large to be shown", "Add a LIMIT, or download it.", 0);
        }
        text += decoder.decode(value, { stream: true });
    }
}

// Changes

/** Remember whether the server takes changes. */
export function allowChanges(allowed) {
    isWritable = allowed;
    showToken();
}

export const canChange = () => isWritable;

/** Fetch with the token, which is asked for if it is not known. Returns null if the user gives none. */
export async function change(path, options) {
    const known = token ?? (await askForToken());
    if (!known) return null;
    try {
        return await request(path, { ...options, headers: { ...options.headers, Authorization: `Bearer ${known}` } });
    } catch (error) {
        if (error.status === 401 || error.status === 403) {
            token = null;
            showToken();
        }
        throw error;
    }
}

/** Ask for the token. */
export function askForToken() {
    const dialog = byId("token-dialog");
    const input = byId("token");
    input.value = "";
    dialog.returnValue = "cancel";
    dialog.showModal();
    input.focus();
    return new Promise((resolve) => {
        dialog.addEventListener(
            "close",
            () => {
                token = (dialog.returnValue === "use" && input.value.trim()) || null;
                input.value = "";
                showToken();
                resolve(token);
            },
            { once: true },
        );
    });
}

/** Forget the token, or ask for it. */
export async function toggleToken() {
    if (token) {
        token = null;
        showToken();
    } else {
        await askForToken();
    }
}

function showToken() {
    const button = byId("token-button");
    button.hidden = !isWritable;
    button.textContent = token ? "Lock" : "Unlock";
    button.title = token ? "Forget the token: no more changes" : "Enter the token for changes";
    button.setAttribute("aria-pressed", Boolean(token));
}
