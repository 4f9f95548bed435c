"""How the command sqlite3 shows rows; _coderunner_sqlite has the rest."""

import json
import re
import sys
import unicodedata

SEPARATORS = {"list": "|", "csv": ",", "tabs": "\t", "ascii": "\x1f", "quote": ","}
FRAMES = {  # the corners and lines around and between cells, by rows
    "table": ("+-++", "+-++", "+-++", "|"),
    "markdown": (None, "|-||", None, "|"),
    "box": ("┌─┬┐", "├─┼┤", "└─┴┘", "│"),
}
MODES = {*SEPARATORS, *FRAMES, "column", "line", "json", "insert"}


def text_of(value, null=""):
    if value is None:
        return null
    if isinstance(value, float):
        if value in (float("inf"), float("-inf")):
            return "Inf" if value > 0 else "-Inf"
        shown = f"{value:.15g}"
        mantissa, e, exponent = shown.partition("e")
        return mantissa + ("" if "." in mantissa else ".0") + e + exponent
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return str(value)


def literal(value):
    if isinstance(value, bytes):
        return "X'" + value.hex() + "'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return text_of(value, "NULL")


def identifier(name):
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else '"' + name.replace('"', '""') + '"'


def declared(sql):
    return re.sub(r"^CREATE TABLE (?=['\"])", "CREATE TABLE IF NOT EXISTS ", sql)


def wide(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


class Rows:
    """Rows as the modes show them."""

    def __init__(self):
        self.mode, self.header, self.separator, self.null = "list", False, None, ""
        self.crlf = False  # after .mode csv
        self.table, self.out, self.once = "table", sys.stdout, None

    def write(self, text):
        (self.once or self.out).write(text)

    def done(self):
        if self.once:
            self.once.close()
            self.once = None

    def show(self, names, rows):
        rows = iter(rows)
        if self.mode in FRAMES or self.mode == "column":
            return self.columns(names, list(rows))
        getattr(self, "show_" + self.mode, self.show_list)(names, rows)

    def show_list(self, names, rows):
        separator = SEPARATORS.get(self.mode, "|") if self.separator is None else self.separator
        cell = {"csv": self.quoted, "quote": literal}.get(self.mode, lambda v: text_of(v, self.null))
        end = "\r\n" if self.crlf else "\n"
        first = True
        for row in rows:
            if first and self.header:
                title = {"csv": self.quoted, "quote": literal}.get(self.mode, str)
                self.write(separator.join(map(title, names)) + end)
            first = False
            self.write(separator.join(map(cell, row)) + end)

    def quoted(self, value):
        text = text_of(value, self.null)
        separator = "," if self.separator is None else self.separator
        if text and not isinstance(value, (int, float)) and re.search("[\0- \"'\x7f-\U0010ffff]|" + re.escape(separator), text):
            return '"' + text.replace('"', '""') + '"'
        return text

    def show_line(self, names, rows):
        width = max([5, *map(wide, names)])
        for i, row in enumerate(rows):
            self.write("\n" * (i > 0) + "".join(f"{n:>{width}} = {text_of(v, self.null)}\n" for n, v in zip(names, row)))

    def show_json(self, names, rows):
        def value(v):
            if v is None:
                return "null"
            if isinstance(v, (int, float)):
                return text_of(v)
            return json.dumps(text_of(v), ensure_ascii=False)

        lead = "["
        for row in rows:
            self.write(lead + "{" + ",".join(json.dumps(n, ensure_ascii=False) + ":" + value(v) for n, v in zip(names, row)) + "}")
            lead = ",\n"
        if lead != "[":
            self.write("]\n")

    def show_insert(self, names, rows):
        listed = "(" + ",".join(map(identifier, names)) + ")" if self.header else ""
        for row in rows:
            self.write(f"INSERT INTO {identifier(self.table)}{listed} VALUES({','.join(map(literal, row))});\n")

    def columns(self, names, rows):
        if not rows:
            return
        cells = [[text_of(v, self.null) for v in row] for row in rows]
        widths = [max(wide(row[i]) for row in [names, *cells]) for i in range(len(names))]

        def padded(text, width, middle=False):
            space = width - wide(text)
            left = space // 2 if middle else 0
            return " " * left + text + " " * (space - left)

        if self.mode == "column":
            if self.header:
                cells = [names, ["-" * w for w in widths], *cells]
            for row in cells:
                self.write("  ".join(map(padded, row, widths)) + "\n")
            return
        top, middle, bottom, side = FRAMES[self.mode]

        def rule(marks):
            if marks:
                left, dash, cross, right = marks
                self.write(left + cross.join(dash * (w + 2) for w in widths) + right + "\n")

        def line(row, center=False):
            self.write(side + side.join(f" {padded(c, w, center)} " for c, w in zip(row, widths)) + side + "\n")

        rule(top)
        line(names, True)
        rule(middle)
        for row in cells:
            line(row)
        rule(bottom)
