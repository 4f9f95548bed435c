// coderunner run examples/hello.ts
import { z } from "npm:zod@4"; // installed on first use

enum Tone {
  Friendly = "Hello",
  Formal = "Good day",
}

const Greeting = z.object({ to: z.string().default("world"), tone: z.enum(Tone) });
const greeting = Greeting.parse({ to: Deno.args[0], tone: Tone.Friendly });

console.log(`${greeting.tone}, ${greeting.to}!`);
[1, 2, 3].map((n) => n * n); // the value of the last expression is the result
