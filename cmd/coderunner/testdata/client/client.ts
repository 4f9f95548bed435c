// A client that is not ours: the official TypeScript client talks to the
// server whose path, or URL, is the first argument; a token is the second. Prints a line for each thing that
// works and throws at the first that does not.
import { Client, StreamableHTTPClientTransport } from "npm:@modelcontextprotocol/client@2.4.0";
import { StdioClientTransport } from "npm:@modelcontextprotocol/client@2.4.0/stdio";

function check(name: string, ok: boolean, detail?: unknown) {
  if (!ok) throw new Error(`${name}: ${JSON.stringify(detail)}`);
  console.log(`ok ${mode}: ${name}`);
}

// deno-lint-ignore no-explicit-any
type Result = any;
let mode = "";
const [server, token] = Deno.args;
const http = server.startsWith("http");

function connection() {
  if (http) return new StreamableHTTPClientTransport(new URL(server), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
  return new StdioClientTransport({ command: server, env: Deno.env.toObject(), stderr: "ignore" });
}

for (const versionNegotiation of [{ mode: "legacy" }, { mode: "auto" }] as const) {
  mode = versionNegotiation.mode;
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation });
  const transport = connection();
  await client.connect(transport);
  const run = (args: Record<string, unknown>, options = {}): Promise<Result> =>
    client.callTool({ name: "run_code", arguments: args }, options);

  const { tools } = await client.listTools();
  check("lists run_code", tools.some((t: Result) => t.name === "run_code"), tools);

  // callTool checks structuredContent against the tool's output schema.
  for (const [language, code] of [
    ["typescript", "enum E { A = 40 }\nconsole.log('hi');\nE.A + 2"],
    ["javascript", "console.log('hi');\n42"],
    ["python", "print('hi')\n42"],
  ]) {
    const r = await run({ language, code });
    check(`runs ${language}`, !r.isError && r.structuredContent.stdout === "hi\n" && r.structuredContent.result.json === 42, r);
  }

  const failed = await run({ language: "python", code: "1 // 0" });
  check("reports an error", failed.isError && failed.structuredContent.error.type === "ZeroDivisionError", failed);

  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  for (const [language, code] of [
    ["typescript", `display((Uint8Array as any).fromBase64("${png}")); Deno.writeTextFileSync("a.csv", "1,2\\n".repeat(2000));`],
    ["python", `import base64\ndisplay({"image/png": base64.b64decode("${png}")}, raw=True)\nwith open("a.csv", "w") as f: f.write("1,2\\n" * 2000)`],
  ]) {
    const r = await run({ language, code });
    const image = r.content.find((c: Result) => c.type === "image"), link = r.content.find((c: Result) => c.type === "resource_link");
    check(`gets an image and a file of ${language}`, image?.data === png && link?.name === "a.csv" && link.size === 8000, r);
    const { contents } = await client.readResource({ uri: link.uri });
    check("reads the file", contents[0].text === "1,2\n".repeat(2000), contents);
    const again = await run({ language: "python", code: "len(open('b.csv').read())", files: [{ path: "b.csv", uri: link.uri }] });
    check("passes it on", again.structuredContent.result.json === 8000, again);
  }

  // As Claude Code, which would show its model no image beside structured content.
  const dropper = new Client({ name: "claude-code", version: "2" }, { versionNegotiation });
  await dropper.connect(connection());
  const listed = await dropper.listTools();
  const plain: Result = await dropper.callTool({ name: "run_code", arguments: { language: "python", code: "40 + 2" } });
  check("leaves structured content out", !listed.tools.find((t: Result) => t.name === "run_code").outputSchema && plain.structuredContent === undefined && plain.content[0].text === "result: 42", plain);
  await dropper.close();

  const bad = await run({ language: "python", code: "1", timeout_seconds: "soon" });
  check("explains a bad argument", bad.isError && bad.content[0].text.includes("timeout_seconds"), bad);

  let progress = 0;
  const slow = await run({ language: "typescript", code: "await new Promise((r) => setTimeout(r, 1500)); 1" }, {
    onprogress: () => progress++,
  });
  check("reports progress before the result", !slow.isError && progress >= 1, { slow, progress });

  const abort = new AbortController();
  setTimeout(() => abort.abort(), 300);
  const began = performance.now();
  let cancelled = false;
  try {
    await run({ language: "python", code: "while True: pass" }, { signal: abort.signal });
  } catch {
    cancelled = true;
  }
  check("cancels", cancelled && performance.now() - began < 5000);

  const many: Result[] = await Promise.all(
    [...Array(40).keys()].map((i) =>
      run(i % 2 ? { language: "python", code: `print(${i})` } : { language: "typescript", code: `console.log(${i})` })
    ),
  );
  check("runs 40 at once", many.every((r, i) => !r.isError && r.structuredContent.stdout === `${i}\n`), many.filter((r) => r.isError));

  const session = `ts-${mode}-${Deno.pid}`;
  const first = await run({ language: "python", code: "x = 41", session });
  check("begins a session", !first.isError, first);

  await client.close();
  let alive = !http;
  for (let i = 0; alive && i < 40; i++) {
    const { pid } = transport as StdioClientTransport;
    alive = new Deno.Command("kill", { args: ["-0", String(pid)], stderr: "null" }).outputSync().success;
    if (alive) await new Promise((r) => setTimeout(r, 50));
  }
  check("is gone after close", !alive);

  const later = new Client({ name: "test", version: "1" }, { versionNegotiation });
  await later.connect(connection());
  const kept: Result = await later.callTool({ name: "run_code", arguments: { language: "python", code: "x + 1", session } });
  check("continues a session after a restart", kept.structuredContent?.result?.json === 42, kept);
  await later.close();
}
