"""sqlite3, SQLite's shell, as far as scripts use it."""

import csv
import io
import sqlite3
import sys

from _coderunner_sqlite_rows import *

IGNORED = {".timer", ".width", ".timeout", ".eqp", ".stats", ".explain", ".changes", ".prompt", ".log", ".binary"}


class Stop(Exception):
    """Ends the program with a status."""


def fail(text, status=1):
    print(text, file=sys.stderr)
    raise Stop(status)


def statements(text):
    """The statements of a text."""
    start = 0
    for i, char in enumerate(text):
        if char == ";" and sqlite3.complete_statement(text[start : i + 1]):
            yield text[start : i + 1]
            start = i + 1
    yield text[start:]


def blank(sql):
    return not re.sub(r"--[^\n]*|/\*.*?\*/|[\s;]", "", sql, flags=re.S)


class Shell(Rows):
    def __init__(self):
        super().__init__()
        self.asked, self.bail, self.echo = False, False, False  # asked: for headers
        self.status, self.name = 0, ":memory:"
        self.db = None
        self.keep, self.kept = None, None  # a file for the last rows in JSON, and these

    def open(self, name, readonly=False):
        if self.db:
            self.db.close()
        self.name = name or ":memory:"
        try:
            uri = name if name.startswith("file:") else None
            if readonly and not uri:
                uri = "file:" + name.replace("%", "%25").replace("?", "%3f") + "?mode=ro"
            self.db = sqlite3.connect(uri or self.name, isolation_level=None, uri=bool(uri))
            self.db.execute("select 1 from sqlite_master limit 1").fetchall()
        except sqlite3.Error as e:
            fail(f'Error: unable to open database "{self.name}": {e}')
        self.db.text_factory = lambda b: b.decode("utf-8", "surrogateescape")

    def run(self, sql, where=None):
        """Runs a statement of SQL; where is the line of the input that it begins on."""
        if self.echo:
            self.write(sql + "\n")
        try:
            cursor = self.db.execute(sql)
            if cursor.description:
                names = [d[0] for d in cursor.description]
                if sql.lower().lstrip().startswith("explain query plan"):
                    self.plan(cursor.fetchall())
                else:
                    self.show(names, self.keeping(names, cursor))
        except (sqlite3.Error, sqlite3.Warning, OverflowError) as e:
            self.problem(e, sql, where)
        self.done()

    def keeping(self, names, rows):
        """The rows, of which the first are kept for whoever asked for that."""
        if self.keep is None:
            return rows
        self.kept = []

        def each():
            for row in rows:
                if len(self.kept) < 1000:
                    self.kept.append({n: v if v is None or isinstance(v, (int, float)) else text_of(v) for n, v in zip(names, row)})
                yield row

        return each()

    def leave(self):
        if self.keep is not None and self.kept is not None:
            with open(self.keep, "w", encoding="utf-8", errors="replace") as f:
                json.dump(self.kept, f, ensure_ascii=False)

    def plan(self, rows, parent=0, indent=""):
        if parent == 0:
            self.write("QUERY PLAN\n")
        below = [row for row in rows if row[1] == parent]
        for row in below:
            last = row is below[-1]
            self.write(indent + ("`--" if last else "|--") + row[3] + "\n")
            self.plan_below(rows, row[0], indent + ("   " if last else "|  "))

    def plan_below(self, rows, parent, indent):
        if any(row[1] == parent for row in rows) and parent:
            self.plan(rows, parent, indent)

    def problem(self, e, sql, where):
        parsed = getattr(e, "sqlite_errorcode", 1) == sqlite3.SQLITE_ERROR
        code = getattr(e, "sqlite_errorcode", 1) & 0xFF
        sys.stdout.flush()
        note = "" if parsed else f" ({code})"
        if where is None:
            print("Error: " + ("in prepare, " if parsed else "stepping, ") + str(e) + note, file=sys.stderr)
        else:
            print(f"{'Parse' if parsed else 'Runtime'} error near line {where}: {e}{note}", file=sys.stderr)
        name = re.search(r'no such column: (\S+)|near "([^"]+)"', str(e))
        if parsed and name:
            line = re.sub(r"\s", " ", sql.strip())
            at = line.find(name[1] or name[2])
            if at >= 0:
                start = max(0, at - 40)
                print(f"  {line[start : start + 78]}\n  {' ' * (at - start)}^--- error here", file=sys.stderr)
        self.status = 1
        if where is None or self.bail:
            raise Stop(1 if parsed else code)

    def feed(self, text, counted):
        """Runs what a script has: commands on lines of their own, and SQL."""
        pending, began = "", 0
        for number, line in enumerate(text.splitlines(True), 1):
            if blank(pending) and line.startswith((".", "#")):
                pending = ""
                if line[0] == ".":
                    self.command(line.strip(), number if counted else None)
                continue
            if not pending:
                began = number
            pending += line
            if line.strip().lower() in ("go", "/"):
                pending = pending[: -len(line)] + ";"
            if ";" in line and sqlite3.complete_statement(pending):
                self.several(pending, began if counted else None)
                pending = ""
        if not blank(pending):
            self.several(pending, began if counted else None)

    def several(self, text, where):
        for sql in statements(text):
            if not blank(sql):
                self.run(sql.strip(), where)

    # commands

    def command(self, line, where):
        args = [a[0] or a[1] or a[2] for a in re.findall(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|(\S+)""", line)]
        args = [a.replace("\\t", "\t").replace("\\n", "\n") if "\\" in a else a for a in args]
        name, args = args[0], args[1:]
        names = [m[3:] for m in dir(self) if m.startswith("do_" + name[1:])]
        if name in IGNORED:
            return
        if name[1:] in names:
            names = [name[1:]]
        try:
            if len(names) != 1:
                raise TypeError
            getattr(self, "do_" + names[0])(*args)
        except (TypeError, IndexError, KeyError):
            sys.stdout.flush()
            print(f'Error: unknown command or invalid arguments:  "{name[1:]}". Enter ".help" for help', file=sys.stderr)
            self.status = 1
            if self.bail or where is None:
                raise Stop(1)
        except BrokenPipeError:
            raise
        except (sqlite3.Error, OSError) as e:
            sys.stdout.flush()
            print(f"Error: {e}", file=sys.stderr)
            self.status = 1

    def do_mode(self, mode, table="table", *_):
        if mode not in MODES:
            fail("Error: mode should be one of: " + " ".join(sorted(MODES)))
        self.mode, self.table, self.separator, self.crlf = mode, table, None, mode == "csv"
        if not self.asked and (mode in FRAMES or mode == "column"):
            self.header = True

    def do_headers(self, on):
        self.header, self.asked = on in ("on", "yes", "1", "true"), True

    do_header = do_headers

    def do_separator(self, separator, *_):
        self.separator = separator

    def do_nullvalue(self, text):
        self.null = text

    def do_echo(self, on):
        self.echo = on == "on"

    def do_bail(self, on):
        self.bail = on == "on"

    def do_print(self, *words):
        self.write(" ".join(words) + "\n")

    def do_quit(self):
        raise Stop(self.status)

    def do_exit(self, status="0"):
        raise Stop(int(status) or self.status)

    def do_open(self, *names):
        self.open(names[-1] if names else ":memory:")

    def do_output(self, name="stdout"):
        if self.out is not sys.stdout:
            self.out.close()
        self.out = sys.stdout if name == "stdout" else open(name, "w")

    def do_once(self, name):
        self.once = open(name, "w")

    def do_read(self, name):
        with open(name) as f:
            self.feed(f.read(), True)

    def do_databases(self):
        for _, name, path in self.db.execute("pragma database_list"):
            self.write(f'{name}: {path or chr(34) * 2} r/w\n')

    def do_tables(self, like="%"):
        self.list("type in ('table','view') and name not like 'sqlite\\_%' escape '\\'", like)

    def do_indexes(self, table="%"):
        self.list("type = 'index' and name not like 'sqlite\\_autoindex%' escape '\\'", table, "tbl_name")

    do_indices = do_indexes

    def list(self, what, like, column="name"):
        found = [r[0] for r in self.db.execute(f"select name from sqlite_master where {what} and {column} like ? order by 1", (like,))]
        if not found:
            return
        width = max(map(len, found))
        across = max(1, 80 // (width + 2))
        down = (len(found) + across - 1) // across
        for i in range(down):
            self.write("  ".join(f"{n:<{width}}" for n in found[i::down]) + "\n")

    def do_schema(self, like="%", *_):
        query = "select sql from sqlite_master where sql is not null and (name like ? or tbl_name like ?) order by tbl_name, type desc, name"
        if like == "%":
            query = "select sql from sqlite_master where sql is not null and (name like ? or tbl_name like ?) order by rowid"
        for (sql,) in self.db.execute(query, (like, like)):
            self.write(declared(sql) + ";\n")

    def do_dump(self, *tables):
        self.write("PRAGMA foreign_keys=OFF;\n")
        for line in self.db.iterdump():
            name = re.match(r'INSERT INTO "(\w+)"', line) or re.match(r'CREATE \w+ (?:IF NOT EXISTS )?"?(\w+)', line)
            if tables and name and name[1] not in tables:
                continue
            self.write(declared(re.sub(r'^INSERT INTO "([A-Za-z_]\w*)"', r"INSERT INTO \1", line)) + "\n")

    def do_import(self, *args):
        mode, skip, args = self.mode, 0, list(args)
        names = []
        while args:
            a = args.pop(0)
            if a.lstrip("-") == "csv" and a[0] == "-":
                mode = "csv"
            elif a.lstrip("-") == "skip" and a[0] == "-":
                skip = int(args.pop(0))
            elif a[0] != "-":
                names.append(a)
        path, table = names
        separator = SEPARATORS.get(mode, "|") if self.separator is None else self.separator
        with open(path, newline="") as f:
            text = "".join(f.readlines()[skip:])
        if mode == "csv" or len(separator) == 1:
            rows = list(csv.reader(io.StringIO(text), delimiter=separator[:1]))
        else:
            rows = [line.split(separator) for line in text.splitlines()]
        if not self.db.execute("select 1 from sqlite_master where name = ?", (table,)).fetchall():
            columns = ", ".join('"' + n.replace('"', '""') + '" TEXT' for n in rows.pop(0))
            self.db.execute(f'CREATE TABLE IF NOT EXISTS "{table}"(\n{columns})')
        count = len(self.db.execute(f"pragma table_info({literal(table)})").fetchall())
        self.db.execute("begin")
        for row in rows:
            if row:
                row = (row + [None] * count)[:count]
                self.db.execute(f"insert into {identifier(table)} values({','.join('?' * count)})", row)
        self.db.execute("commit")

    def do_help(self, *_):
        self.write("".join(f".{n[3:]}\n" for n in dir(self) if n.startswith("do_")))


def main(args):
    shell, words, before, readonly = Shell(), [], [], False
    while args:
        a = args.pop(0)
        option = a.lstrip("-")
        if not a.startswith("-") or len(words) > 1:
            words.append(a)
        elif option in MODES:
            shell.mode = option
            shell.header = shell.header or option in FRAMES and not shell.asked
        elif option in ("header", "noheader"):
            shell.header, shell.asked = option == "header", True
        elif option in ("separator", "nullvalue", "cmd", "init", "keep-rows"):
            value = args.pop(0)
            if option == "keep-rows":
                shell.keep = value
            elif option == "cmd":
                before.append(value)
            elif option == "init":
                before.append(".read " + value)
            else:
                setattr(shell, {"nullvalue": "null"}.get(option, option), value.replace("\\t", "\t"))
        elif option in ("bail", "echo", "readonly"):
            readonly = readonly or option == "readonly"
            setattr(shell, option, True)
        elif option == "version":
            return print(sqlite3.sqlite_version)
        elif option not in ("batch", "interactive", "safe", "nofollow", "stats"):
            fail(f"sqlite3: Error: unknown option: {a}\nUse -help for a list of options.")
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="surrogateescape")
    shell.open(words[0] if words else ":memory:", readonly)
    for text in before:
        shell.feed(text, False)
    for text in words[1:]:
        shell.feed(text, False)
    if not words[1:]:
        shell.feed(sys.stdin.read(), True)
    shell.leave()
    raise Stop(shell.status)


def run():
    try:
        main(sys.argv[1:])
    except Stop as stop:
        sys.stdout.flush()
        sys.exit(stop.args[0])
    except BrokenPipeError:
        sys.exit(1)
