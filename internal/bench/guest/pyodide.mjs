// Runs a Python program on Pyodide under Deno: MODULE FILE [PACKAGE…].
import fs from "node:fs";

const [specifier, file, ...packages] = Deno.args;
const { loadPyodide } = await import(specifier);
const pyodide = await loadPyodide();
for (const name of packages) {
  await pyodide.loadPackage(await wheel(name) ?? name, { messageCallback: () => {} });
}
pyodide.runPython(fs.readFileSync(file, "utf8"));

// The address of a package's wheel for Pyodide in the index that coderunner asks, too. Without
// one, Pyodide's own distribution has it.
async function wheel(name) {
  const index = Deno.env.get("PIP_INDEX_URL");
  if (!index) return;
  const page = new URL(`${name}/`, index.replace(/\/*$/, "/"));
  const links = (await (await fetch(page)).text()).matchAll(/href="([^"#]*-cp314-pyemscripten_2026_0_wasm32\.whl)/g);
  const last = [...links].at(-1);
  return last && new URL(last[1], page).href;
}
