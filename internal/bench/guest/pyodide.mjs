// Runs a Python program on Pyodide under Deno: MODULE FILE.
import fs from "node:fs";

const [specifier, file] = Deno.args;
const { loadPyodide } = await import(specifier);
(await loadPyodide()).runPython(fs.readFileSync(file, "utf8"));
