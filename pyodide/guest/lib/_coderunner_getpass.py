"""getpass where there is no terminal: nothing echoes what is typed, so that no
warnings are due."""

import sys


def ask_plainly(module):
    asked = module.getpass

    def getpass(prompt="Password: ", stream=None, *, echo_char=None):
        if sys.stdin is None or sys.stdin.isatty():
            return asked(prompt, stream, echo_char=echo_char)
        print(prompt, file=stream or sys.stderr, flush=True)
        if not (line := sys.stdin.readline()):
            raise EOFError("EOF when reading a line")
        return line.removesuffix("\n")

    module.getpass = module.unix_getpass = getpass
