// Merges the write-ahead log of each of Deno's databases into the database's file, with the
// statistics that Deno would else try to add when it opens it. The arguments are the directory and
// the names.

import { DatabaseSync } from "node:sqlite";

const [dir, ...names] = Deno.args;
for (const name of names) {
  try {
    Deno.lstatSync(`${dir}/${name}`);
  } catch {
    continue; // this set has none
  }
  const db = new DatabaseSync(`${dir}/${name}`);
  db.exec("ANALYZE");
  const { busy } = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  if (busy !== 0) throw new Error(`${name} is in use`);
  db.close();
}
