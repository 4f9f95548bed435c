// The main module. The bootstrap is a text that V8 compiles: a module would be parsed by
// Deno, too, before that, which takes 9 ms for 80 KiB, and 1.5 ms if all of it are strings. Its
// functions are compiled in its scope by the eval that there was, whatever a program makes of
// the name.

import text from "./NAME.txt" with { type: "text" };
const [source, late] = text.split("\0");
const [start, bad] = Deno[Deno.internal].core.compileFunction(source, import.meta.url, [], ["ownMeta", "late", "eval"]);
if (bad) throw bad.thrown;
await start(import.meta, late, eval);
