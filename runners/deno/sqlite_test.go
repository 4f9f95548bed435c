package deno

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"coderunner/internal/sample"
	"coderunner/runners"
)

// sqliteTested prints what calls return or throw; the wanted lines are what better-sqlite3 12
// printed in Node, but for the quotes.
const sqliteTested = `
const db = new Database(":memory:");
const t = (f) => { try { console.log(f()) } catch (e) { console.log(e.name, e.code ?? "", e.message) } };
db.pragma("journal_mode = WAL"); t(() => db.pragma("foreign_keys", { simple: true }));
db.exec("CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE, data BLOB)");
const add = db.prepare("INSERT INTO users(name, email) VALUES (@name, @email)");
t(() => add.run({ name: "a", email: "x", more: 1 }));
t(() => add.run({ name: "b", email: "x" }));
t(() => add.run({ name: null, email: "y" }));
t(() => db.prepare("INSERT INTO users(id, name) VALUES (1, ?)").run(["z"]));
for (const args of [[], ["x"], [{ name: 1 }], [{}, {}]]) t(() => add.run(...args));
const all = db.transaction((list) => { for (const one of list) add.run(one) });
t(() => all([{ name: "c", email: "c" }, { name: "d", email: "c" }]));
t(() => all.immediate([{ name: "e", email: "e" }]));
t(() => db.prepare("SELECT name FROM users").pluck().all().join());
t(() => db.prepare("SELECT id, data FROM users").raw().get());
t(() => [...db.prepare("SELECT id AS a FROM users ORDER BY id DESC").iterate()]);
t(() => db.prepare("SELECT * FROM users WHERE id = ?").get(99));
t(() => db.prepare("UPDATE users SET data = ?").run(Buffer.from("hi")).changes);
t(() => db.prepare("SELECT data, typeof(?) n, 9007199254740993 big, ':q' s FROM users -- ?").get(1));
t(() => db.prepare("SELECT 9007199254740993").safeIntegers().pluck().get());
t(() => db.prepare("SELECT ? a, ? b, ? c").get(null, undefined, Object.assign(Object.create(null), {})));
t(() => db.prepare("SELECT ? a, ? b, :c c").get(null, undefined, Object.assign(Object.create(null), { c: null })));
t(() => db.prepare("SELECT ?").get(true));
t(() => db.prepare("SELECT 1; SELECT 2"));
t(() => db.prepare("SELEC 1"));
t(() => db.prepare("DELETE FROM users WHERE id < 0").get());
db.function("twice", { deterministic: true }, (x) => x * 2);
db.aggregate("list", { start: () => [], step: (all, x) => { all.push(x) }, result: (all) => all.join() });
t(() => db.prepare("SELECT twice(21) a, list(name) b FROM users").get());
t(() => new Database(db.serialize()).prepare("SELECT count(*) n FROM users").get());
t(() => new Database("none.db", { fileMustExist: true }));
t(() => new Database("file:/etc/passwd"));
t(() => db.exec("ATTACH '/etc/passwd' AS a"));
t(() => db.table("x", { columns: ["a"], *rows() {} }));
const file = new Database("a.db"); file.exec("CREATE TABLE a(x)"); file.close();
t(() => new Database("a.db", { readonly: true }).exec("DROP TABLE a"));
t(() => file.prepare("SELECT 1"));
`

const sqliteWant = `1
{ changes: 1, lastInsertRowid: 1 }
SqliteError SQLITE_CONSTRAINT_UNIQUE UNIQUE constraint failed: users.email
SqliteError SQLITE_CONSTRAINT_NOTNULL NOT NULL constraint failed: users.name
SqliteError SQLITE_CONSTRAINT_PRIMARYKEY UNIQUE constraint failed: users.id
TypeError  Missing named parameters
RangeError  Too many parameter values were provided
RangeError  Missing named parameter "email"
RangeError  Missing named parameter "name"
SqliteError SQLITE_CONSTRAINT_UNIQUE UNIQUE constraint failed: users.email
undefined
a,e
[ 1, null ]
[ { a: 2 }, { a: 1 } ]
undefined
2
{ data: <Buffer 68 69>, n: "real", big: 9007199254740992, s: ":q" }
9007199254740993n
RangeError  Too few parameter values were provided
{ a: null, b: null, c: null }
TypeError  SQLite3 can only bind numbers, strings, bigints, buffers, and null
RangeError  The supplied SQL string contains more than one statement
SqliteError SQLITE_ERROR near "SELEC": syntax error
TypeError  This statement does not return data. Use run() instead
{ a: 42, b: "a,e" }
{ n: 2 }
SqliteError SQLITE_CANTOPEN unable to open database file
`

// TestBetterSqlite has programs of better-sqlite3, and of what depends on it, without machine code.
func TestBetterSqlite(t *testing.T) {
	r := open(t, "", nil)
	t.Run("Node's answers", func(t *testing.T) {
		for _, code := range []string{`import Database from "better-sqlite3";`, `const Database = require("npm:better-sqlite3@11");`} {
			o := run(t, r, runners.Request{Code: code + sqliteTested})
			rest, ok := strings.CutPrefix(o.Stdout, sqliteWant)
			lines := strings.Split(strings.TrimSpace(rest), "\n")
			if !ok || o.Status != runners.Succeeded || len(lines) != 5 {
				t.Fatalf("%s: %s %+v\n%s\nwant\n%s", code, o.Status, o.Error, o.Stdout, sqliteWant)
			}
			for n, want := range []string{"pen database", "too many attached databases - max 0; ATTACH needs --allow-read", "--allow-ffi", "SqliteError SQLITE_READONLY attempt to write a readonly database", "TypeError  The database connection is not open"} {
				if !strings.Contains(lines[n], want) {
					t.Errorf("%s: %s, want %s", code, lines[n], want)
				}
			}
		}
	})
	mappers := map[string]string{
		"drizzle": `import Database from "better-sqlite3"; import { drizzle } from "npm:drizzle-orm@0.44.7/better-sqlite3"; import { integer, sqliteTable, text } from "npm:drizzle-orm@0.44.7/sqlite-core"; import { eq } from "npm:drizzle-orm@0.44.7";
const sqlite = new Database(":memory:"), db = drizzle({ client: sqlite }), users = sqliteTable("users", { id: integer("id").primaryKey(), name: text("name") });
sqlite.exec("CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT)");
db.insert(users).values([{ name: "a" }, { name: "b" }]).run();
console.log(db.select().from(users).where(eq(users.name, "b")).all().length, db.insert(users).values({ name: "c" }).returning().get().id);`,
		"knex": `const knex = require("npm:knex@3.1.0")({ client: "better-sqlite3", connection: { filename: ":memory:" }, useNullAsDefault: true });
(async () => { await knex.schema.createTable("u", (t) => { t.increments("id"); t.string("name") }); await knex("u").insert([{ name: "a" }, { name: "b" }]); console.log((await knex("u").where("name", "b")).length, (await knex("u").insert({ name: "c" }))[0]); await knex.destroy() })();`,
	}
	for _, name := range sample.Of(t, 2, slices.Sorted(maps.Keys(mappers))) {
		t.Run(name, func(t *testing.T) {
			if o := run(t, r, runners.Request{Code: mappers[name]}); o.Stdout != "1 3\n" {
				t.Errorf("%s %+v\n%s\n%s", o.Status, o.Error, o.Stdout, o.Stderr)
			}
		})
	}
}
