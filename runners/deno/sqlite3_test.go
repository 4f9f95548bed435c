package deno

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"coderunner/internal/sample"
	"coderunner/runners"
)

// sqlite3Tested prints what callbacks get; the wanted lines are what sqlite3 6 printed in
// Node, but for the quotes.
const sqlite3Tested = `const db = new sqlite3.Database("./x.db", (err) => console.log("open", err, db.open));
const t = (...more) => function (error, ...results) { console.log(...more, error && error.message + " " + error.code + " " + error.errno, ...results) };
db.serialize(() => {
  db.run("CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB, c TEXT UNIQUE)");
  const add = db.prepare("INSERT INTO t(b, c) VALUES (?, ?)");
  for (const c of ["x", "y"]) add.run(Buffer.from("hi"), c);
  add.run([1, "x"], t("run"));
  add.finalize();
  db.run("INSERT INTO t(b, c) VALUES ($b, $c)", { $b: true, $c: new Date(5) }, function (err) { console.log(err, this); });
  db.run("INSERT INTO t(b, c) VALUES ($b, $c)", { b: 1 }, t("named"));
  db.run("INSERT INTO t(b) VALUES (?)", [1, 2], t("range"));
  db.run("INSERT INTO t(b) VALUES (?)", undefined, t("none"));
  db.all("SELECT * FROM t", t());
  db.get("SELECT c, count(*) n FROM t WHERE a > ? AND c > ?2", [1, "a"], t());
  db.get("SELECT c FROM t WHERE a = 99", t("absent"));
  db.each("SELECT a FROM t WHERE a < 3", t("each"), t("complete"));
  db.map("SELECT a, c FROM t", t());
  db.exec("BEGIN; DELETE FROM t; ROLLBACK", t("exec"));
  db.exec("SELEC 1", t("exec"));
  db.all("SELECT * FROM nope", t("all"));
});
const two = db.prepare("SELECT 1 n UNION SELECT 2");
two.get(t("one")).get(t("two")).get(t("end"));
two.finalize(() => db.close(function (err) {
  console.log("closed", err, this === db);
  try { db.run("SELECT 1") } catch (e) { console.log(e.message) }
}));
new sqlite3.Database("none.db", sqlite3.OPEN_READONLY, t("open"));
`

const sqlite3Want = `open null true
open SQLITE_CANTOPEN: unable to open database file SQLITE_CANTOPEN 14
run SQLITE_CONSTRAINT: UNIQUE constraint failed: t.c SQLITE_CONSTRAINT 19
null Statement { lastID: 3, changes: 1 }
named SQLITE_RANGE: column index out of range SQLITE_RANGE 25
range SQLITE_RANGE: column index out of range SQLITE_RANGE 25
none null
null [
  { a: 1, b: <Buffer 68 69>, c: "x" },
  { a: 2, b: <Buffer 68 69>, c: "y" },
  { a: 3, b: 1, c: "5.0" },
  { a: 4, b: null, c: null }
]
null { c: "y", n: 1 }
absent null
each null { a: 1 }
each null { a: 2 }
complete null 2
null { "1": "x", "2": "y", "3": "5.0", "4": null }
exec null
exec SQLITE_ERROR: near "SELEC": syntax error SQLITE_ERROR 1
all SQLITE_ERROR: no such table: nope SQLITE_ERROR 1
one null { n: 1 }
two null { n: 2 }
end null
closed null true
SQLITE_MISUSE: Database is closed
`

// TestSqlite3 has programs of sqlite3, and of what depends on it, without machine code.
func TestSqlite3(t *testing.T) {
	r := open(t, "", nil)
	code := "const sqlite3 = require('sqlite3');\n" + sqlite3Tested
	o := run(t, r, runners.Request{Code: code})
	if o.Stdout != sqlite3Want || o.Status != runners.Succeeded {
		t.Errorf("%s %+v\n%s", o.Status, o.Error, o.Stdout)
	}
	programs := map[string]string{
		`import { DataTypes, Sequelize } from "npm:sequelize@6.37.5"; const s = new Sequelize("sqlite::memory:", { logging: false });
const U = s.define("U", { e: { type: DataTypes.STRING, unique: true } }); await s.sync(); await U.create({ e: "a" });
console.log(await U.count(), (await U.create({ e: "a" }).catch((e) => e)).name)`: "1 SequelizeUniqueConstraintError\n",
		`import knex from "npm:knex@3.1.0"; const k = knex({ client: "sqlite3", connection: { filename: ":memory:" }, useNullAsDefault: true });
await k.schema.createTable("t", (t) => t.increments("id")); console.log(await k("t").insert({ id: 7 }), await k("t").count("* as n").first()); await k.destroy()`: "[ 7 ] { n: 1 }\n",
		`import sqlite3 from "sqlite3"; import { open } from "npm:sqlite@5.1.1"; const db = await open({ filename: ":memory:", driver: sqlite3.Database });
await db.exec("CREATE TABLE t(a)"); console.log((await db.run("INSERT INTO t VALUES (?)", 3)).lastID, await db.all("SELECT * FROM t"))`: "1 [ { a: 3 } ]\n",
		`import sqlite3 from "sqlite3"; new sqlite3.Database("/etc/passwd", (e) => console.log(!!e)); new sqlite3.Database("file:///etc/passwd", (e) => console.log(!!e));
const db = new sqlite3.Database(":memory:"); db.run("ATTACH '/etc/passwd' AS a", (e) => console.log(!!e)); db.run("VACUUM INTO '/var/x.db'", (e) => console.log(!!e))`: "true\ntrue\ntrue\ntrue\n",
	}
	for _, code := range sample.Of(t, 2, slices.Sorted(maps.Keys(programs))) {
		if o := run(t, r, runners.Request{Code: code, Language: runners.TypeScript}); o.Stdout != programs[code] || o.Status != runners.Succeeded {
			t.Errorf("%s\n%s %+v\n%s", code, o.Status, o.Error, o.Stdout)
		}
	}
	o = run(t, r, runners.Request{Code: "const sqlite3 = require('sqlite3').verbose();\nconst db = new sqlite3.Database(':memory:');\ndb.run('INSERT INTO missing VALUES (1)');\n"})
	if o.Error == nil || o.Error.Line != 3 || !strings.Contains(o.Error.Message, "SQLITE_ERROR: no such table: missing") {
		t.Errorf("%+v", o.Error)
	}
}
