// Puts all of Deno's databases in a directory into one file each: what a process
// has written last is in another one beside it until somebody does. It is told
// the directory and the names.

import { DatabaseSync } from "node:sqlite";

const [dir, ...names] = Deno.args;
for (const name of names) {
  try {
    Deno.lstatSync(`${dir}/${name}`);
  } catch {
    continue; // this set has none
  }
  const db = new DatabaseSync(`${dir}/${name}`);
  const { busy } = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  if (busy !== 0) throw new Error(`${name} is in use`);
  db.close();
}
