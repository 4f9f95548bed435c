// Merges the write-ahead log of each of Deno's databases into the database's file.
// The arguments are the directory and the names.

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
