"""Line editing without a terminal: input comes as it is, so that completion and
key bindings are remembered and never used; the history works. See
https://docs.python.org/3.14/library/readline.html."""

backend = "readline"

_history = []
_length = -1
_auto = True
_completer = None
_delimiters = " \t\n`~!@#$%^&*()-=+[{]}\\|;:'\",<>/?"


def _ignored(*args):
    """Accepts what only matters at a terminal."""


parse_and_bind = read_init_file = redisplay = insert_text = _ignored
set_startup_hook = set_pre_input_hook = set_completion_display_matches_hook = _ignored


def get_line_buffer():
    return ""


def get_begidx():
    return 0


def get_endidx():
    return 0


def get_completion_type():
    return 0


def set_completer(function=None, /):
    global _completer
    _completer = function


def get_completer():
    return _completer


def set_completer_delims(string, /):
    global _delimiters
    _delimiters = string


def get_completer_delims():
    return _delimiters


def add_history(line, /):
    _history.append(line)


def clear_history():
    _history.clear()


def get_current_history_length():
    return len(_history)


def get_history_item(index, /):
    return _history[index - 1] if 0 < index <= len(_history) else None


def remove_history_item(pos, /):
    if pos < 0:
        raise ValueError("History index cannot be negative")
    if pos >= len(_history):
        raise ValueError(f"No history item at position {pos}")
    del _history[pos]


def replace_history_item(pos, line, /):
    if pos < 0:
        raise ValueError("History index cannot be negative")
    if pos >= len(_history):
        raise ValueError(f"No history item at position {pos}")
    _history[pos] = line


def set_auto_history(enabled, /):
    global _auto
    _auto = bool(enabled)


def get_history_length():
    return _length


def set_history_length(length, /):
    global _length
    _length = length


def _file(filename):
    import os

    return os.path.expanduser("~/.history") if filename is None else filename


def read_history_file(filename=None, /):
    with open(_file(filename)) as f:
        _history.extend(f.read().splitlines())


def _kept(lines):
    return lines if _length < 0 else lines[max(0, len(lines) - _length) :]


def write_history_file(filename=None, /):
    with open(_file(filename), "w") as f:
        f.writelines(line + "\n" for line in _kept(_history))


def append_history_file(nelements, filename=None, /):
    with open(_file(filename), "a") as f:
        f.writelines(line + "\n" for line in _history[max(0, len(_history) - nelements) :])
