// What stands for the machine code of sqlite3: the classes that its own JavaScript calls, by
// node:sqlite. Only programs with that package import it. Calls wait in a list for their turn,
// as those of its threads do, and are answered one after the other.
//
// Source: src/database.cc and src/statement.cc of sqlite3 6.0.

const noCode = "sqlite3 has machine code for that, which the permissions of this server do not include (--allow-ffi)";

export default function sqlite3Addon(require) {
  const { DatabaseSync } = require("sqlite"), { Buffer } = require("buffer"), path = require("path"), fs = require("fs");
  const names = ["OK", "ERROR", "INTERNAL", "PERM", "ABORT", "BUSY", "LOCKED", "NOMEM", "READONLY", "INTERRUPT", "IOERR", "CORRUPT", "NOTFOUND", "FULL", "CANTOPEN", "PROTOCOL", "EMPTY", "SCHEMA", "TOOBIG", "CONSTRAINT", "MISMATCH", "MISUSE", "NOLFS", "AUTH", "FORMAT", "RANGE", "NOTADB"];
  const opens = { OPEN_READONLY: 1, OPEN_READWRITE: 2, OPEN_CREATE: 4, OPEN_FULLMUTEX: 0x10000, OPEN_URI: 0x40, OPEN_SHAREDCACHE: 0x20000, OPEN_PRIVATECACHE: 0x40000 };
  const limits = ["LENGTH", "SQL_LENGTH", "COLUMN", "EXPR_DEPTH", "COMPOUND_SELECT", "VDBE_OP", "FUNCTION_ARG", "ATTACHED", "LIKE_PATTERN_LENGTH", "VARIABLE_NUMBER", "TRIGGER_DEPTH", "WORKER_THREADS"];

  // failed makes of an error that has the stack of a call what SQLite says of it.
  function failed(at, number, message) {
    const code = "SQLITE_" + names[number];
    at.message = `${code}: ${message.replace(/ in [^]* at offset \d+$/, "")}`;
    at.stack = at.stack.replace(/^Error\b.*/, `Error: ${at.message}`).replace(/\n[^\n]*ext:coderunner\/sqlite3[^\n]*/g, "");
    return Object.assign(at, { errno: number, code });
  }
  const misuse = (message) => failed(new Error(), 21, message);

  // attempt returns the error of SQLite that a call of node:sqlite ends with.
  function attempt(at, call) {
    try {
      call();
      return null;
    } catch (error) {
      if (/^E?NOTFOUND|^ENOENT|os error 2\b/.test(error.code ?? error.message)) return failed(at, 14, "unable to open database file");
      if (error.code !== "ERR_SQLITE_ERROR" || !(error.errcode >= 0)) return error.errno >= 0 ? error : failed(at, 1, error.message);
      return failed(at, error.errcode & 255, error.message.replace(/^(unable to open database file): [^]*/, "$1"));
    }
  }

  const bindable = (value) => value === undefined || value === null ? null : typeof value === "boolean" ? Number(value) : value instanceof Date ? value.getTime()
    : typeof value === "number" || typeof value === "string" || typeof value === "bigint" || ArrayBuffer.isView(value) ? value : String(value);
  const lexical = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[^]*?\*\/|[\w]+|\?\d*|[:@$]\w+/g;
  const shown = (value) => typeof value === "bigint" ? Number(value) : value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;

  // answer calls back, or emits an error that nobody is called back with.
  function answer(of, callback, error, ...results) {
    if (typeof callback === "function") callback.call(of, error, ...results);
    else if (error) of.emit("error", error);
  }

  class Database {
    #waiting = []; #busy = false; #of; #statements = new Set(); #events = {};
    constructor(filename, mode, callback) {
      if (typeof filename !== "string") throw new TypeError("Argument 0 must be a string");
      if (typeof mode === "function") [mode, callback] = [undefined, mode];
      mode ??= 65542;
      for (const [name, value] of Object.entries({ open: false, filename, mode })) Object.defineProperty(this, name, { value, writable: true, configurable: true });
      const at = new Error();
      this.#turn(() => {
        const memory = filename === "" || filename.startsWith(":memory:") || /^file::memory:|[?&]mode=memory/.test(filename);
        const error = attempt(at, () => {
          if (!memory && !(mode & 4) && !/^file:/.test(filename) && !fs.existsSync(filename)) throw failed(at, 14, "unable to open database file");
          this.#of = new DatabaseSync(memory ? ":memory:" : /^file:/.test(filename) ? filename : path.resolve(filename), { readOnly: (mode & 1) === 1, enableForeignKeyConstraints: false, enableDoubleQuotedStringLiterals: true });
        });
        this.open = !error;
        return () => {
          answer(this, callback, error);
          if (!error) this.emit("open");
        };
      });
    }
    // #turn has a call wait for its turn. It returns what answers it.
    #turn(call) {
      this.#waiting.push(call);
      this.#next();
    }
    #next() {
      if (this.#busy || this.#waiting.length === 0) return;
      this.#busy = true;
      setImmediate(() => {
        try {
          this.#waiting.shift()()?.();
        } finally {
          this.#busy = false;
          this.#next();
        }
      });
    }
    // _do has a statement's call wait for its turn.
    _do(statement, sql, call) {
      this.#turn(() => call(this.#of, (done) => done ? this.#statements.delete(statement) : this.#statements.add(statement)));
      if (sql === undefined) return;
      if (this.#events.trace) this.#turn(() => () => this.emit("trace", sql()));
      if (this.#events.profile) this.#turn(() => () => this.emit("profile", sql(), 0));
    }
    exec(sql, callback) {
      if (typeof sql !== "string") throw new TypeError("Argument 0 must be a string");
      const at = new Error();
      this._do(null, () => sql, (of) => {
        const error = this.open ? attempt(at, () => of.exec(sql)) : failed(at, 21, "Database is closed");
        return () => answer(this, callback, error);
      });
      return this;
    }
    close(callback) {
      const at = new Error();
      this.#turn(() => {
        let error = null;
        if (!this.open) error = failed(at, 21, "Database handle is closed");
        else if (this.#statements.size > 0) error = failed(at, 5, "unable to close due to unfinalized statements or unfinished backups");
        else this.#of.close(), this.open = false, Object.defineProperty(this, "closed", { value: true });
        return () => {
          answer(this, callback, error);
          if (!error) this.emit("close");
        };
      });
      return this;
    }
    wait(callback) {
      this.#turn(() => () => answer(this, callback, null));
      return this;
    }
    serialize(call) { call?.call(this); return this; } // calls never overtake one another
    parallelize(call) { call?.call(this); return this; }
    configure(name, value) {
      if (name === "busyTimeout") this._do(null, undefined, (of) => void of.exec(`PRAGMA busy_timeout = ${Number(value)}`));
      else this.#events[name] = value;
      return this;
    }
    interrupt() { return this; }
    loadExtension() { throw new Error("loadExtension(): " + noCode); }
  }

  class Statement {
    #db; #it; #failed = false; #finalized = false; #rows; #values = []; #sql;
    constructor(db, sql, callback) {
      if (!(db instanceof Database)) throw new TypeError("Database object expected");
      if (typeof sql !== "string") throw new TypeError("SQL query expected");
      this.#db = db;
      this.#sql = sql;
      Object.defineProperty(this, "sql", { value: sql });
      const at = new Error();
      if (db.closed) throw misuse("Database is closed");
      db._do(this, undefined, (of, hold) => {
        const error = db.open ? attempt(at, () => {
          this.#it = of.prepare(sql);
          this.#it.setReadBigInts(true);
          hold(false);
        }) : failed(at, 21, "Database is closed");
        this.#failed = error !== null;
        return () => error ? answer(this, callback, error) : callback?.call(this, null);
      });
    }
    #given(args) {
      const callback = typeof args.at(-1) === "function" ? args.pop() : undefined;
      return [args.length > 0 ? args : undefined, callback];
    }
    // #bind takes the values of a call, which stay for calls without any.
    #bind(args, at) {
      if (!args) return;
      const [first] = args;
      const one = typeof first === "object" && first !== null && !ArrayBuffer.isView(first) && !(first instanceof Date) && !(first instanceof RegExp);
      const parameters = (this.#sql.match(lexical) ?? []).filter((word) => /^[?:@$]/.test(word)), plain = parameters.filter((word) => word === "?").length;
      const places = [...new Set(parameters.filter((word) => word !== "?"))], range = () => failed(at, 25, "column index out of range");
      if (one && !Array.isArray(first)) {
        const named = {}, list = [];
        for (const [name, value] of Object.entries(first)) {
          if (/^\d+$/.test(name)) list[name - 1] = bindable(value);
          else if (places.includes(name)) named[name] = bindable(value);
          else throw range();
        }
        for (const name of places) named[name] ??= null;
        this.#values = [named, ...Array.from(list, bindable)];
        return;
      }
      const list = (one ? first : args).map(bindable);
      const numbered = Math.max(0, ...places.map((name) => Number(name.slice(1)) || 0));
      if (list.length > Math.max(plain + places.length, numbered)) throw range();
      const named = {};
      if (plain === 0) places.forEach((name, i) => named[name] = list[/^\?/.test(name) ? name.slice(1) - 1 : i] ?? null);
      this.#values = plain > 0 || list.length === 0 ? list : places.every((name) => /^\?/.test(name)) ? Array.from({ length: numbered }, (_, i) => list[i] ?? null) : [named];
    }
    // #later has a call wait. Call returns what the callback gets.
    #later(given, call) {
      const at = new Error(), [args, callback] = this.#given(given);
      this.#db._do(this, () => this.#it?.expandedSQL ?? this.#sql, () => {
        if (this.#failed) return; // its callback was told
        if (this.#finalized) return () => answer(this, callback, failed(at, 21, "Statement is already finalized"));
        let results = [];
        const error = attempt(at, () => {
          this.#bind(args, at);
          results = call(args !== undefined) ?? [];
        });
        return () => answer(this, callback, error, ...(error ? [] : results));
      });
      return this;
    }
    bind(...given) {
      return this.#later(given, () => void (this.#rows = undefined));
    }
    reset(...given) {
      return this.#later(given, () => void (this.#rows = undefined));
    }
    run(...given) {
      return this.#later(given, () => {
        this.#rows = undefined;
        const { changes, lastInsertRowid } = this.#it.run(...this.#values);
        Object.assign(this, { lastID: Number(lastInsertRowid), changes: Number(changes) });
      });
    }
    #row = (row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, shown(value)]));
    #all() {
      this.#rows = undefined;
      return this.#it.all(...this.#values).map(this.#row);
    }
    get(...given) {
      return this.#later(given, (bound) => {
        if (bound || !this.#rows) this.#rows = this.#all();
        return this.#rows.length > 0 ? [this.#rows.shift()] : [];
      });
    }
    all(...given) {
      return this.#later(given, () => [this.#all()]);
    }
    each(...given) {
      const functions = [];
      while (functions.length < 2 && typeof given.at(-1) === "function") functions.unshift(given.pop());
      const [each, complete] = functions;
      const told = (error, rows) => {
        if (error) return answer(this, each, error);
        for (const row of rows) each?.call(this, null, row);
        complete?.call(this, null, rows.length);
      };
      return this.#later([...given, told], () => [this.#all()]);
    }
    finalize(callback) {
      this.#db._do(this, undefined, (_, hold) => {
        this.#finalized = true;
        this.#it = this.#rows = undefined;
        hold(true);
        return () => typeof callback === "function" && callback.call(this);
      });
      return this.#db;
    }
  }

  class Backup {
    constructor() { throw new Error("backup(): " + noCode); }
  }
  const { version } = new DatabaseSync(":memory:").prepare("SELECT sqlite_version() version").get();
  return {
    Database, Statement, Backup, VERSION: version, SOURCE_ID: "", VERSION_NUMBER: version.split(".").reduce((sum, n) => sum * 1000 + Number(n), 0),
    ...opens, ...Object.fromEntries(names.map((name, i) => [name, i])), ...Object.fromEntries(limits.map((name, i) => ["LIMIT_" + name, i])),
  };
}
//# sourceURL=ext:coderunner/sqlite3.js
