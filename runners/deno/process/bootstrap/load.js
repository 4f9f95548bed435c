// The main module. The bootstrap is a text that V8 compiles: a module would be parsed by
// Deno, too, before that, which takes 9 ms for 80 KiB. Its functions are compiled in its scope
// by the eval that there was, whatever a program makes of the name.

const source = SOURCE;
const late = LATE;
const [start, bad] = Deno[Deno.internal].core.compileFunction(source, import.meta.url, [], ["ownMeta", "late", "eval"]);
if (bad) throw bad.thrown;
await start(import.meta, late, eval);
export {}; // Deno takes what neither imports nor exports for CommonJS
