// A server of the protocol's newest revision only, which asks its user by results: input_required.
import { acceptedContent, inputRequired, McpServer } from "npm:@modelcontextprotocol/server@2.4.0";
import { serveStdio } from "npm:@modelcontextprotocol/server@2.4.0/stdio";

serveStdio(() => {
  const server = new McpServer({ name: "asks", version: "1.0.0" });
  server.registerTool("greet", { description: "Greets the user by name.", annotations: { readOnlyHint: true } }, (ctx) => {
    const text = (text: string) => ({ content: [{ type: "text" as const, text }] });
    const given = acceptedContent<{ name: string }>(ctx.mcpReq.inputResponses, "name");
    if (given) return text(`Hello, ${given.name}!`);
    if (ctx.mcpReq.inputResponses) return text("Hello, whoever you are!");
    const requestedSchema = { type: "object" as const, properties: { name: { type: "string" as const } }, required: ["name"] };
    return inputRequired({ inputRequests: { name: inputRequired.elicit({ message: "Your name?", requestedSchema }) } });
  });
  return server;
}, { legacy: "reject" });
