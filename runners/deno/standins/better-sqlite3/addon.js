// What stands for the machine code of better-sqlite3: the classes that its own JavaScript calls,
// by node:sqlite, which Deno has. This is part of bootstrap.js.

const noCode = "better-sqlite3 has machine code for that, which the permissions of this server do not include (--allow-ffi)";

let sqliteGiven = false;

// giveSqlite has better-sqlite3 find this where it looks for machine code, and sqlite3 what
// sqlite3.js has.
async function giveSqlite() {
  if (sqliteGiven) return;
  sqliteGiven = true;
  const modules = await nodeModule(), find = modules._resolveFilename, name = "coderunner:better_sqlite3", other = "coderunner:sqlite3";
  const calledBack = place.sqlite3 && (await import(place.sqlite3)).default;
  here.answer(modules, "_resolveFilename", function (asked, ...rest) {
    if (calledBack && /\/sqlite3\/[^/]+\/(?:.*\/)?node_sqlite3\.node$/.test(asked)) {
      modules._cache[other] ??= { exports: calledBack(modules.createRequire(ownMeta.url)), loaded: true, children: [] };
      return other;
    }
    if (!/\/better-sqlite3\/[^/]+\/(?:.*\/)?(?:better_sqlite3|linux(?:musl)?-\w+)\.node$/.test(asked)) return find.call(this, asked, ...rest);
    modules._cache[name] ??= { exports: sqliteAddon(modules.createRequire(ownMeta.url)), loaded: true, children: [] };
    return name;
  });
}

function sqliteAddon(require) {
  const { DatabaseSync } = require("sqlite"), fs = require("fs"), { Buffer } = require("buffer");
  let SqliteError;

  // attempt throws the errors of SQLite as the class of better-sqlite3, with SQLite's code.
  function attempt(db, call) {
    try {
      return call();
    } catch (error) {
      if (error?.code !== "ERR_SQLITE_ERROR") throw error;
      const message = error.message.replace(/^(unable to open database file): [^]*/, "$1").replace(/^too many attached databases - max 0$/, "$&; ATTACH needs --allow-read and --allow-write without a list");
      const thrown = new SqliteError(message, codeOf(db, message));
      captureStackTrace(thrown, attempt);
      throw thrown;
    }
  }

  const codes = [
    [/^NOT NULL constraint failed/, "CONSTRAINT_NOTNULL"], [/^CHECK constraint failed/, "CONSTRAINT_CHECK"], [/^FOREIGN KEY constraint failed/, "CONSTRAINT_FOREIGNKEY"],
    [/^UNIQUE constraint failed/, "CONSTRAINT_UNIQUE"], [/^datatype mismatch/, "MISMATCH"], [/ is locked$/, "BUSY"], [/readonly database/, "READONLY"],
    [/^unable to open database/, "CANTOPEN"], [/^file is not a database/, "NOTADB"], [/malformed/, "CORRUPT"], [/too big/, "TOOBIG"], [/interrupted/, "INTERRUPT"],
  ];
  function codeOf(db, message) {
    const columns = /^UNIQUE constraint failed: (?:([^.]+)\.[^.,]+(?:, |$))+/.test(message) && message.slice(26).split(", ");
    if (db && columns) {
      const key = db.prepare("SELECT name FROM pragma_table_info(?) WHERE pk > 0").all(columns[0].split(".")[0]);
      if (key.length === columns.length && key.every(({ name }) => columns.some((column) => column.endsWith("." + name)))) return "SQLITE_CONSTRAINT_PRIMARYKEY";
    }
    return "SQLITE_" + (codes.find(([of]) => of.test(message))?.[1] ?? "ERROR");
  }

  const shown = (value, safe) => typeof value === "bigint" && !safe ? Number(value) : value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
  const lexical = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[^]*?\*\/|[\w]+|\?\d*|[:@$]\w+/g;
  const blank = (sql) => sql.replace(/--[^\n]*|\/\*[^]*?(\*\/|$)|[\s;]/g, "") === "";

  class Statement {
    #db; #it; #named; #plain; #bound; #safe; #pragma; #mode = "";
    constructor(db, sql, database, pragma, safe) {
      if (typeof sql !== "string") throw new TypeError("Expected first argument to be a string");
      if (blank(sql)) throw new RangeError("The supplied SQL string contains no statements");
      [this.#db, this.#pragma, this.#safe] = [db, pragma, safe];
      this.#it = attempt(db.of, () => db.of.prepare(sql));
      if (!blank(sql.slice(this.#it.sourceSQL.length))) throw new RangeError("The supplied SQL string contains more than one statement");
      const parameters = (sql.match(lexical) ?? []).filter((word) => /^[?:@$]/.test(word));
      this.#named = [...new Set(parameters.filter((word) => word !== "?"))];
      this.#plain = parameters.length - parameters.filter((word) => word !== "?").length;
      this.#it.setReadBigInts(true);
      this.#it.setReturnArrays(true);
      const reader = this.#it.columns().length > 0;
      Object.assign(this, { reader, readonly: reader && !/^\s*(insert|update|delete|replace|pragma\s+\S+\s*=)|^\s*with\b.*\b(insert|update|delete|replace)\b/is.test(sql), source: sql, database });
      defineProperty(this, "busy", { __proto__: null, value: false });
    }
    #values(args) {
      if (!this.#db.of.isOpen) throw new TypeError("The database connection is not open");
      if (this.#bound && args.length > 0) throw new TypeError("This statement already has bound parameters");
      if (this.#bound) return this.#bound;
      const plain = [], named = {};
      let object = false, count = 0;
      const bind = (value) => {
        if (value === undefined) return null;
        if (value === null || ["number", "string", "bigint"].includes(typeof value) || ArrayBuffer.isView(value)) return value;
        throw new TypeError("SQLite3 can only bind numbers, strings, bigints, buffers, and null");
      };
      for (const arg of args) {
        const proto = typeof arg === "object" && arg !== null ? getPrototypeOf(arg) : undefined;
        if (isArray(arg)) {
          plain.push(...arg.map(bind));
        } else if (proto === null || proto === objectPrototype) {
          if (object) throw new TypeError("You cannot specify named parameters in two different objects");
          object = true;
          for (const name of this.#named) {
            if (!Object.hasOwn(arg, name.slice(1))) throw new RangeError(`Missing named parameter "${name.slice(1)}"`);
            named[name] = bind(arg[name.slice(1)]);
            count++;
          }
        } else if (proto && this.#named.length > 0 && !ArrayBuffer.isView(arg)) {
          throw new TypeError("Named parameters can only be passed within plain objects");
        } else {
          plain.push(bind(arg));
        }
      }
      count += plain.length;
      const want = this.#plain + this.#named.length;
      if (plain.length > this.#plain) throw new RangeError("Too many parameter values were provided");
      if (count < want && !object && this.#named.length > 0) throw new TypeError("Missing named parameters");
      if (count < want) throw new RangeError("Too few parameter values were provided");
      return count === plain.length ? plain : [named, ...plain];
    }
    #row(values, columns) {
      const of = (i) => shown(values[i], this.#safe);
      if (this.#mode === "pluck") return of(0);
      if (this.#mode === "raw") return values.map((_, i) => of(i));
      const row = {};
      for (let i = 0; i < columns.length; i++) {
        const into = this.#mode === "expand" ? row[columns[i].table ?? "$"] ??= {} : row;
        into[columns[i].name] = of(i);
      }
      return row;
    }
    #run(data, args, call) {
      if (data && !this.reader && !this.#pragma) throw new TypeError("This statement does not return data. Use run() instead");
      const values = this.#values(args);
      try {
        return attempt(this.#db.of, () => call(values));
      } finally {
        this.#db.verbose?.(this.#it.expandedSQL);
      }
    }
    #set(name, mode, on = true) {
      if (!this.reader && mode) throw new TypeError(`The ${name}() method is only for statements that return data`);
      if (typeof on !== "boolean") throw new TypeError("Expected first argument to be a boolean");
      if (on || this.#mode === mode) this.#mode = on ? mode : "";
      return this;
    }
    run(...args) {
      const { changes, lastInsertRowid } = this.#run(false, args, (values) => this.#it.run(...values));
      return { changes: /^\s*(insert|update|delete|replace|with)\b/i.test(this.source) ? Number(changes) : 0, lastInsertRowid: this.#safe ? BigInt(lastInsertRowid) : Number(lastInsertRowid) };
    }
    get(...args) {
      const row = this.#run(true, args, (values) => this.#it.get(...values));
      return row && this.#row(row, this.#it.columns());
    }
    all(...args) {
      const rows = this.#run(true, args, (values) => this.#it.all(...values)), columns = this.#it.columns();
      return rows.map((row) => this.#row(row, columns));
    }
    *#rows(rows) {
      for (const row of rows) yield this.#row(row, this.#it.columns());
    }
    iterate(...args) {
      return this.#rows(this.#run(true, args, (values) => this.#it.iterate(...values)));
    }
    bind(...args) {
      if (this.#bound) throw new TypeError("The bind() method can only be invoked once per statement object");
      this.#bound = this.#values(args);
      return this;
    }
    pluck(on) { return this.#set("pluck", "pluck", on); }
    expand(on) { return this.#set("expand", "expand", on); }
    raw(on) { return this.#set("raw", "raw", on); }
    safeIntegers(on = true) { return this.#safe = on, this; }
    columns() {
      if (!this.reader) throw new TypeError("The columns() method is only for statements that return data");
      return this.#it.columns().map(({ name, column, table, database, type }) => ({ name, column, table, database, type }));
    }
  }

  class Database {
    #safe = false;
    constructor(filename, name, anonymous, readonly, mustExist, timeout, verbose, buffer) {
      if ((mustExist || readonly) && !anonymous && !fs.existsSync(filename)) throw new SqliteError("unable to open database file", "SQLITE_CANTOPEN");
      Object.assign(this, { name, memory: anonymous, readonly, verbose });
      this.of = attempt(null, () => new DatabaseSync(anonymous ? ":memory:" : filename, { readOnly: readonly && !buffer, timeout }));
      if (buffer) attempt(null, () => this.of.deserialize(buffer));
      if (buffer && readonly) this.of.exec("PRAGMA query_only = 1");
      if (!anonymous) attempt(null, () => this.of.prepare("PRAGMA schema_version").get()); // is it one?
    }
    get open() { return this.of.isOpen; }
    get inTransaction() { return this.of.isOpen && this.of.isTransaction; }
    #check() {
      if (!this.of.isOpen) throw new TypeError("The database connection is not open");
    }
    prepare(sql, database, pragma) {
      this.#check();
      return new Statement(this, sql, database, pragma, this.#safe);
    }
    exec(sql) {
      this.#check();
      if (typeof sql !== "string") throw new TypeError("Expected first argument to be a string");
      this.verbose?.(sql);
      attempt(this.of, () => this.of.exec(sql));
    }
    close() {
      if (this.of.isOpen) this.of.close();
    }
    defaultSafeIntegers(on = true) { this.#safe = on; }
    unsafeMode() {} // there are no such checks
    function(call, name, count, safe, deterministic, directOnly) {
      this.#check();
      const given = (...args) => call(...args.map((value) => shown(value, safe === 1 || safe === 2 && this.#safe))) ?? null;
      defineProperty(given, "length", { __proto__: null, value: count < 0 ? 0 : count });
      attempt(this.of, () => this.of.function(name, { varargs: count < 0, deterministic, directOnly, useBigIntArguments: true }, given));
    }
    aggregate(start, step, inverse, result, name, count, safe, deterministic, directOnly) {
      this.#check();
      const of = (f) => {
        const given = (sum, ...args) => {
          const next = f(sum, ...args.map((value) => shown(value, safe === 1 || safe === 2 && this.#safe)));
          return next === undefined ? sum : next;
        };
        defineProperty(given, "length", { __proto__: null, value: count < 0 ? 0 : count + 1 });
        return given;
      };
      const options = { start, step: of(step), result: (sum) => (result ? result(sum) : sum) ?? null, varargs: count < 0, deterministic, directOnly, useBigIntArguments: true };
      if (inverse) options.inverse = of(inverse);
      attempt(this.of, () => this.of.aggregate(name, options));
    }
    serialize(schema) {
      this.#check();
      return Buffer.from(attempt(this.of, () => this.of.serialize(schema)));
    }
    backup(_, schema, file) {
      const transfer = () => {
        fs.writeFileSync(file, this.serialize(schema));
        return { totalPages: this.of.prepare("PRAGMA page_count").get().page_count, remainingPages: 0 };
      };
      return { transfer, close() {} };
    }
    table() { throw new TypeError("table(): " + noCode); }
    loadExtension() { throw new TypeError("loadExtension(): " + noCode); }
  }
  const setErrorConstructor = (of) => SqliteError = of;
  return { Database, Statement, setErrorConstructor, initialize: setErrorConstructor };
}
