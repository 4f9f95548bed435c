# Runs programs in fresh interpreters of eryx, as many at a time as there are callers, and prints
# the mean time of a run in milliseconds.
import concurrent.futures
import sys
import time

import eryx


def run(n):
    answer = eryx.Sandbox().execute(f"print('marker {n}')")
    assert answer.stdout == f"marker {n}\n".encode(), answer


runs, callers = map(int, sys.argv[1:])
run(0)  # the first takes longer
began = time.perf_counter()
with concurrent.futures.ThreadPoolExecutor(callers) as pool:
    list(pool.map(run, range(runs)))
print((time.perf_counter() - began) * 1000 / runs)
