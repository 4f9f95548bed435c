// Serves MCP over stdio with one interpreter of Pyodide for all programs: MODULE.
// Imports work, as in ours; there are no limits, no fresh state, and nothing is confined.
import { Server } from "npm:@modelcontextprotocol/sdk@1/server/index.js";
import { StdioServerTransport } from "npm:@modelcontextprotocol/sdk@1/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "npm:@modelcontextprotocol/sdk@1/types.js";

const { loadPyodide } = await import(Deno.args[0]);
let printed = "";
const pyodide = await loadPyodide();
pyodide.setStdout({ batched: (line) => printed += line + "\n" });

const server = new Server({ name: "shared", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name: "run_code", inputSchema: { type: "object" } }] }));
server.setRequestHandler(CallToolRequestSchema, async ({ params: { arguments: { code } } }) => {
  printed = "";
  await pyodide.loadPackagesFromImports(code);
  const value = await pyodide.runPythonAsync(code);
  const structuredContent = { status: "succeeded", stdout: printed };
  if (value !== undefined) structuredContent.result = { text: String(value) };
  return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
});
await server.connect(new StdioServerTransport());
