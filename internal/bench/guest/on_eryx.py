"""Runs Python on eryx, CPython on wasmtime, a new sandbox for each program.

    on_eryx.py fresh          programs come on stdin, one JSON string a line, and
                              each is answered by one line of JSON
    on_eryx.py parallel RUNS CALLERS  that many programs, so many at a time; prints
                              the seconds and how many failed, in JSON
    on_eryx.py live COUNT     keeps that many sandboxes that have run a program;
                              prints the seconds and the private bytes of each
"""

import gc
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import eryx


def fresh():
    for line in sys.stdin:
        code = json.loads(line)
        began = time.perf_counter()
        try:
            sandbox = eryx.Sandbox()
            answer = {"stdout": sandbox.execute(code).stdout.decode()}
        except Exception as e:
            answer = {"error": str(e)}
        answer["ms"] = (time.perf_counter() - began) * 1000
        sandbox = None
        print(json.dumps(answer), flush=True)


def parallel(runs, callers):
    def one(n):
        try:
            return eryx.Sandbox().execute(f"print('marker {n}')").stdout.decode() == f"marker {n}\n"
        except Exception:
            return False

    one(0)
    began = time.perf_counter()
    with ThreadPoolExecutor(callers) as pool:
        good = sum(pool.map(one, range(runs)))
    print(json.dumps({"seconds": time.perf_counter() - began, "failed": runs - good}))


def live(count):
    def one():
        sandbox = eryx.Sandbox()
        sandbox.execute("print(1+1)")
        return sandbox

    def private():
        gc.collect()
        with open("/proc/self/smaps_rollup") as f:
            return sum(int(line.split()[1]) << 10 for line in f if line.startswith("Private_Dirty:"))

    kept = [one()]
    before, began = private(), time.perf_counter()
    kept += [one() for _ in range(count)]
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds / count, "bytes": (private() - before) / count}))


if sys.argv[1] == "fresh":
    fresh()
elif sys.argv[1] == "live":
    live(int(sys.argv[2]))
else:
    parallel(int(sys.argv[2]), int(sys.argv[3]))
