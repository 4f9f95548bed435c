"""Programs as they stand in notebooks and chats: module _coderunner_notebook.

Only a text that is not Python is looked at: so no line of a string is taken for
a command.
"""

import ast
import re
import textwrap

from _coderunner_pip import requirements, split

_FENCE = re.compile(r"```+[ \t]*[\w+.-]*[ \t]*")
_PYTHON = ("python", "py", "python3", "ipython", "pycon")
_PROMPT = re.compile(r"(?:>>>|In \[\d*\]:)(?: |$)")
_MORE = re.compile(r"(?:\.\.\.|[ ]+\.\.\.:)(?: |$)")
_PART = re.compile(r"""(\"{3}|'{3}|["'])|#[^\n]*|([([{])|([)\]}])|\\\n|(\n)""")
_ENDS = {
    '"': re.compile(r'(?:\\.|[^\\\n])*?"', re.S),
    "'": re.compile(r"(?:\\.|[^\\\n])*?'", re.S),
    '"""': re.compile(r'(?:\\.|[^\\])*?"""', re.S),
    "'''": re.compile(r"(?:\\.|[^\\])*?'''", re.S),
}
_COMMAND = re.compile(r"([ \t]*)([!%]{1,2}[ \t]*|(?=(?:pip3?|conda|mamba|uv pip|python3? -m pip) install\b))(.*)")
_HELP = re.compile(r"([ \t]*)([A-Za-z_][\w.]*)\?{1,2}[ \t]*\n?")
_CELL = re.compile(r"^# ?%%", re.M)  # where an editor begins a cell
_CAPTURED = re.compile(r"([ \t]*+[\w, ]+=[ \t]*)([!%])[ \t]*(\w.*)")

# Magics that have no effect here.
_SKIPPED = frozenset(
    "matplotlib config load_ext reload_ext unload_ext autoreload colors xmode pdb precision logstart "
    "reset notebook python python3 tensorflow_version aimport".split()
)
# Those that magics.py does: on a line, or for the rest of the cell.
_REST = frozenset(("time", "capture"))  # of the cell, which stays where it is
_LINES = frozenset("timeit run env set_env cd pwd ls who whos".split())
_CELLS = frozenset("timeit writefile file html HTML svg markdown latex bash sh".split())
_ALIASES = frozenset("cat cp mkdir mv rm rmdir".split())  # of commands, on a line
_MAGICS = '__import__("_coderunner_magics")'
_INSTEAD = {
    "prun": "use cProfile.run(...)",
    "script": "use %%bash",
    "chdir": "use %cd",
    "pylab": "write from pylab import *",
    "sql": "use sqlite3",
    "javascript": "run it with language javascript",
    "js": "run it with language javascript",
    "git": "give the files in the argument files",
    "apt": "only Python packages can be installed",
    "apt-get": "only Python packages can be installed",
    "brew": "only Python packages can be installed",
}
_NAMES = "{**globals(), **locals()}"


def clean(text, name=""):
    """Returns the text as Python, with as many lines, and the requirements that
    it installs, or None if there is nothing of a notebook in it. Raises
    SyntaxError for what is not offered here."""
    text, found = _bare(text)
    out, reqs, at = [], [], 0
    while at < len(text):
        line = text[at : _line_end(text, at)]
        if captured := _CAPTURED.match(line):
            if captured[2] == "%" or captured[3].split()[0] in _INSTEAD:
                raise _refusal(text, at, name, captured[2], captured[3].split()[0])
            found = True
            out.append(f"{captured[1]}{_MAGICS}.lines({captured[3]!r}, {_NAMES})\n")
            at += len(line)
            continue
        if asked := _HELP.fullmatch(line):
            found, line = True, f"{asked[1]}help({asked[2]})\n"
            out.append(line)
            at += len(asked[0])
            continue
        if not (command := _COMMAND.match(line)):
            end = _statement_end(text, at)
            out.append(f"{_MAGICS}.end_cell()\n" if found and _CELL.match(line) else text[at:end])
            at = end
            continue
        found, end = True, at + len(line)
        while text[end - 2 : end] == "\\\n":
            end = _line_end(text, end)
        indent, sign, _ = command.groups()
        given = text[command.end(2) + at : end].replace("\\\n", " ").strip()
        kept = _python(split(given), sign.strip(), reqs)
        if kept is None:
            raise _refusal(text, at, name, sign.strip(), (command[3].split() or [""])[0])
        if kept == "shell":
            kept = f"{_MAGICS}.shell({given!r}, {_NAMES})"
        elif kept == "magic":
            word, _, rest = command[3].partition(" ")
            body = None
            if sign.startswith("%%") and word in _CELLS:
                below = _CELL.search(text, end)
                body, end = text[end : below.start()] if below else text[end:], below.start() if below else len(text)
            kept = _magic(word, rest, body)
        out.append(indent + (kept or "pass") + "\n" * text.count("\n", at, end))
        at = end
    return ("".join(out), reqs) if found else None


def cells(text):
    """The program that a notebook's code cells are, as the host reads one."""
    import json

    found = json.loads(text)
    found = found.get("cells") or [c for w in found.get("worksheets", ()) for c in w["cells"]]
    found = ["".join(c.get("source") or c.get("input") or "") for c in found if c["cell_type"] == "code"]
    return "# %%\n".join(cell.rstrip("\n") + "\n" for cell in found)


def marked(text):
    """The text, in which calls of get_ipython() are what a notebook was converted
    from: commands and magics."""
    if "get_ipython()." not in text or not (tree := _tree(text)):
        return text
    lines = text.split("\n")
    for node in ast.walk(tree):
        call = node.value if isinstance(node, (ast.Expr, ast.Assign)) else None
        if isinstance(call, ast.Await) or call is None or node.lineno != node.end_lineno:
            continue
        if written := _marked(call):
            line = lines[node.lineno - 1].encode()
            lines[node.lineno - 1] = (line[: call.col_offset].decode() + written).rstrip()
    return "\n".join(lines)


def _marked(call):
    """What a notebook has for a call of get_ipython(), or None."""
    try:
        method, args = call.func, [ast.literal_eval(arg) for arg in call.args]
        if method.value.func.id != "get_ipython" or "\n" in "".join(args[:2]):
            return None
    except (AttributeError, TypeError, ValueError):
        return None
    match method.attr, *args:
        case ("system" | "getoutput" | "getoutputs"), command:
            return "!" + command
        case "magic", line:
            return "%" + line.removeprefix("%")
        case "run_line_magic", name, line:
            return f"%{name} {line}"
        case "run_cell_magic", name, line, cell if name in _CELLS or name in _REST:
            return f"{_MAGICS}.magic({name!r}, {line!r}, {cell!r})"
    return None


def _python(words, sign, reqs):
    """"" for a command that needs nothing more, "shell" for one of the shell, "magic"
    for one of magics.py, else None."""
    installs = requirements(words)
    if installs is not None:
        reqs += installs
        return ""
    if words and (words[0] not in _INSTEAD if "!" in sign else sign == "%" and words[0] in _ALIASES):
        return "shell"
    magic = words[0] if words and "%" in sign else ""
    if magic in _SKIPPED or magic in _REST and sign == "%" and not words[1:]:
        return ""
    if magic in _REST and (sign == "%%" or magic == "time"):
        return "magic"
    return "magic" if magic in (_CELLS if sign == "%%" else _LINES) else None


def _magic(name, line, cell):
    """The call that does what a magic does."""
    if name == "time" and line:
        try:
            compile(line, "", "eval")
        except SyntaxError:
            return f"with {_MAGICS}.timing(): {line}"
        return f"{_MAGICS}.timed(lambda: ({line}))"
    return f"{_MAGICS}.magic({name!r}, {line!r}, {cell!r})"


def _refusal(text, at, name, sign, word):
    instead = _INSTEAD.get(word.lower()) or "this is a Python program, not a notebook"
    line = text[at : _line_end(text, at)]
    number = text.count("\n", 0, at) + 1
    return SyntaxError(f"{sign}{word} is not available: {instead}", (name, number, 1, line))


def _bare(text):
    """The code of a text that has it indented, between Markdown fences or after
    prompts, with as many lines, and whether it is such a text."""
    lines = text.split("\n")
    full = [i for i, line in enumerate(lines) if line.strip()]
    if full and lines[full[0]][0] in " \t" and _tree(dedented := textwrap.dedent(text)):
        return dedented, True
    fences = [i for i in full if _FENCE.fullmatch(lines[i].strip())]
    prompt = next((i for i in full if _PROMPT.match(lines[i])), None)
    if prompt is not None and not fences and not any(map(_is_code, lines[:prompt])):
        return "\n".join(_unprompted(lines)), True
    if len(fences) == 1 and fences[0] in (full[0], full[-1]):  # the other one was cut off
        rest = "\n".join("" if i in fences else line for i, line in enumerate(lines))
        return (rest, True) if _tree(rest) else (text, False)
    if len(fences) < 2 or _label(lines[fences[-1]]) or any(map(_is_code, lines[: fences[0]])):
        return text, False
    first, last = fences[0], fences[-1]
    blocks = list(zip(fences[::2], fences[1::2]))
    if _tree("\n".join(lines[first + 1 : last])):
        blocks = [(first, last)]  # what fences there are inside are in its strings
    elif len(fences) % 2 or any(_label(lines[end]) for _, end in blocks):
        if (first, last) != (full[0], full[-1]):
            return text, False
        blocks = [(first, last)]
    kept = set()
    for begin, end in [b for b in blocks if _label(lines[b[0]]) in _PYTHON] or blocks:
        kept.update(range(begin + 1, end))
        if lines[begin][0] in " \t":  # in a list
            lines[begin + 1 : end] = textwrap.dedent("\n".join(lines[begin + 1 : end])).split("\n")
    return "\n".join(line if i in kept else "" for i, line in enumerate(lines)), True


def _label(fence):
    return fence.strip(" `\t").lower()


def _unprompted(lines):
    """The statements of a dialogue, without its output. Values are shown."""
    out, last = [], None
    for line in lines:
        following = _PROMPT.match(line)
        if more := following or bool(out and out[-1]) and _MORE.match(line):
            line = line[more.end() :]
            if following and last is not None:
                out[last] = _shown(out[last])
            last = len(out) if following else None
        out.append((line or " ") if more else "")
    return out


def _shown(line):
    """The line, which shows its value if it is an expression."""
    tree = _tree(line)
    if not tree or [type(node) for node in tree.body] != [ast.Expr]:
        return line
    value = ast.get_source_segment(line, tree.body[0].value)  # without a comment
    return f'__import__("_coderunner_display").show_value({value})'


def _tree(text):
    try:
        return compile(text, "", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_code(line):
    """Whether a line above a fence may be a program's: prose is not Python, and
    opens no string or bracket that the fence could be in."""
    line = line.strip()
    if not line or line.startswith("#"):
        return False
    try:
        compile(line, "", "exec")
    except SyntaxError:
        return line.endswith(("(", "[", "{", "\\")) or '"""' in line or "'''" in line
    return True


def _line_end(text, at):
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _statement_end(text, at):
    """Where the line after a statement begins, as brackets and strings show it."""
    depth = 0
    while part := _PART.search(text, at):
        at = part.end()
        if quote := part[1]:
            end = _ENDS[quote].match(text, at)
            at = end.end() if end else len(text) if len(quote) == 3 else _line_end(text, at) - 1
        elif part[2]:
            depth += 1
        elif part[3]:
            depth -= 1
        elif part[4] and depth <= 0:
            return at
    return len(text)
