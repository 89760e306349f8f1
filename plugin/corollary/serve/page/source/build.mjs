// Bundles editor.js into ../third_party/editor.js, and collects the licences of the packages in it.

import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const folder = "../third_party";
const { metafile } = await build({
    entryPoints: ["editor.js"],
    outfile: `${folder}/editor.js`,
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    charset: "utf8",
    legalComments: "none",
    metafile: true,
    banner: { js: "/* CodeMirror, bundled: see THIRD_PARTY.txt. Made from source/editor.js by npm run build. */" },
});
const names = new Set(
    Object.keys(metafile.inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean),
);
const licences = [...names].sort().map((name) => {
    const { version, license, repository } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
    const text = readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim();
    const address = typeof repository === "string" ? repository : repository?.url ?? "";
    return `${name} ${version} (${license}) ${address}\n\n${text}\n`;
});
const opening = "editor.js in this folder contains the following packages, unchanged but bundled and minified.\n";
writeFileSync(`${folder}/THIRD_PARTY.txt`, [opening, ...licences].join(`\n${"-".repeat(80)}\n\n`));
