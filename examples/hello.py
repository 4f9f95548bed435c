# coderunner run examples/hello.py
import sys

from attrs import frozen  # installed on first use

@frozen
class Greeting:
    to: str

    def text(self) -> str:
        return f"Hello, {self.to}!"

print(Greeting(*(sys.argv[1:] or ["world"])).text())
sum(n * n for n in range(10))  # the value of the last expression is the result
