/**
 * Bundles the pages and writes them as a C file, compressed: node bundle.mjs LIBRARIES OUTPUT.c
 * LIBRARIES is the folder in which `npm ci` was run. What is written is read by pages.c.
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const [libraries, output] = process.argv.slice(2);
const esbuild = createRequire(join(libraries, "package.json"))("esbuild");

const types = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** What is bundled, each with all that it imports: {path: bytes}. */
function bundle() {
  const result = esbuild.buildSync({
    absWorkingDir: join(here, "src"),
    entryPoints: ["app.js", "layout_worker.js", "parquet.js", "app.css"],
    nodePaths: [join(libraries, "node_modules")],
    external: ["/console/*"],
    bundle: true,
    minify: true,
    format: "esm",
    target: ["es2022"],
    outdir: "/",
    write: false,
    legalComments: "none",
    logLevel: "warning",
  });
  return Object.fromEntries(result.outputFiles.map((file) => [file.path, file.contents]));
}

function initializer([path, bytes]) {
  const packed = gzipSync(bytes, { level: 9 });
  const tag = createHash("sha256").update(bytes).digest("hex").slice(0, 32);
  const type = types[path.split(".").pop()];
  return `    {"${path}", "${type}", "\\"${tag}\\"",\n     (const uint8_t[]){${[...packed].join(",")}}, ${packed.length}},\n`;
}

const files = bundle();
for (const name of ["index.html", "icon.svg"]) {
  files["/" + name] = readFileSync(join(here, "src", name));
}
const rows = Object.entries(files).sort().map(initializer);
writeFileSync(
  output,
  `#include "deploy/pages/pages_files.h"\nconst struct tri_pages_file tri_pages_files[] = {\n${rows.join("")}};\n` +
    `const size_t tri_pages_file_count = ${rows.length};\n`,
);
