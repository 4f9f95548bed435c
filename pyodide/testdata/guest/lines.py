"""compile_lines makes of a program what compile_tree makes, or nothing."""

import sys

program = sys.modules["_coderunner_program"]


def same(a, b):
    if a is None or b is None:
        return a is b
    known = a.co_code, a.co_names, a.co_flags, a.co_firstlineno, list(a.co_positions())
    if known != (b.co_code, b.co_names, b.co_flags, b.co_firstlineno, list(b.co_positions())):
        return False
    return len(a.co_consts) == len(b.co_consts) and all(same(x, y) if hasattr(x, "co_code") else x == y for x, y in zip(a.co_consts, b.co_consts))


TAKEN = [
    "n = 1\nprint(n)",
    "n = 1\nn",
    "n = 2\n# a comment\n\nprint(f(a=1))\n\n",
    "'''the docstring\nof two lines'''\n__doc__",
    "if n:\n    pass\nelse:\n    n = 2\nn + 1",
    "import asyncio\nawait asyncio.sleep(0)",
    "x = await f()\nx",
    "s = '''\nn\n'''\ns",
    "def f(a):\n    return a\n\nf(2)  # a comment",
]
LEFT = [
    "print(n)",
    "n = 1\nm = 2",
    "n = 1\nn;",
    "n = 1\nf.write('')",
    "for n in range(2):\n    n",
    "f(\nn)",
    "s = '''\nn",
    "s = 1, (\nn\n)",
    "n = 1 + \\\nn",
    "@f\nclass_",
    "try:\n    n\nexcept E:\n    pass\nelse",
    "from __future__ import annotations\nn",
    "n = 1\nlambda",
    "def test_f(): pass\nn",
    "get_ipython().system('ls')\nn",
    "assert (n, 'text')\nn",
    "",
    "\n",
]
for text in TAKEN:
    got, want = program.compile_lines(text, "x.py"), program.compile_tree(program.parse(text, "x.py"), text, "x.py")
    assert got is not None and all(map(same, got, want)), text
for text in LEFT:
    assert program.compile_lines(text, "x.py") is None, text
assert program.compile_lines("n = 1\nn", "x.ipynb") is None
print("ok")
