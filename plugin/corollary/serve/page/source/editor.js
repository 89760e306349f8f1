// The query editor of the workbench: CodeMirror with SPARQL's colours. `npm ci && npm run build` bundles it.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { sparql } from "@codemirror/legacy-modes/mode/sparql";
import { EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
    { tag: [tags.keyword, tags.standard(tags.name)], color: "var(--code-keyword)", fontWeight: "600" },
    { tag: [tags.string], color: "var(--code-string)" },
    { tag: [tags.atom, tags.typeName], color: "var(--code-term)" },
    { tag: [tags.local(tags.variableName)], color: "var(--code-variable)" },
    { tag: [tags.comment], color: "var(--muted)", fontStyle: "italic" },
    { tag: [tags.number, tags.meta], color: "var(--code-string)" },
]);

const look = EditorView.theme({
    "&": { fontSize: "0.9rem", color: "var(--ink)", backgroundColor: "var(--surface)" },
    "&.cm-focused": { outline: "none" },
    ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", minHeight: "9.5rem", maxHeight: "45vh" },
    ".cm-content": { caretColor: "var(--ink)", padding: "0.6rem 0" },
    ".cm-cursor": { borderLeftColor: "var(--ink)" },
    ".cm-gutters": { backgroundColor: "transparent", color: "var(--muted)", border: "none", paddingLeft: "0.3rem" },
    ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--tint)" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
        backgroundColor: "var(--selection)",
    },
    ".cm-matchingBracket": { backgroundColor: "var(--selection) !important", outline: "none" },
    ".cm-tooltip": {
        backgroundColor: "var(--surface)", color: "var(--ink)", border: "1px solid var(--line)",
        borderRadius: "6px", boxShadow: "0 6px 24px rgb(0 0 0 / 18%)", overflow: "hidden",
    },
    ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "15rem" },
    ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "0.2rem 0.6rem" },
    ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
    ".cm-completionDetail": { fontStyle: "normal", opacity: "0.75", marginLeft: "1em" },
});

/**
 * Make an editor inside `parent`, in a shadow tree: so its style sheets are objects, which a
 * Content-Security-Policy without 'unsafe-inline' allows.
 *
 * `run` is called for Ctrl+Enter. `complete(text, document)` returns a promise of completions
 * ({label, detail, type, apply}) for the word before the cursor.
 */
export function createEditor({ parent, text, label, run, complete, changed }) {
    const root = parent.attachShadow({ mode: "open" });
    const source = async (context) => {
        const word = context.matchBefore(/[?$][\w]*|[\w-]*:?[\w.-]*/);
        if (!word || (word.from === word.to && !context.explicit)) return null;
        const options = await complete(word.text, context.state.doc.toString());
        return context.aborted || !options.length ? null : { from: word.from, options, filter: false };
    };
    const keys = [{ key: "Mod-Enter", run: () => (run(), true) }];
    const view = new EditorView({
        root,
        parent: root,
        state: EditorState.create({
            doc: text,
            extensions: [
                Prec.highest(keymap.of(keys)),
                lineNumbers(), history(), drawSelection(), highlightActiveLine(), bracketMatching(), closeBrackets(),
                EditorView.lineWrapping,
                EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
                EditorView.updateListener.of((update) => update.docChanged && changed?.()),
                StreamLanguage.define(sparql),
                syntaxHighlighting(colours),
                autocompletion({ override: [source], icons: false }),
                keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
                look,
            ],
        }),
    });
    return {
        text: () => view.state.doc.toString(),
        setText: (content) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: content } }),
        focus: () => view.focus(),
    };
}
