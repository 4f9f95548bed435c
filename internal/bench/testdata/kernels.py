# Times kernels of NumPy and prints the nanoseconds of each: the least of many short slices,
# which are spread over the whole run. Indexes and sums have a dtype, so that all hosts do the
# same: in coderunner NumPy's default integers have 64 bits, elsewhere those of an address.
import time

import numpy as np

SIZE, SLICES, SLICE = 10_000, 16, 0.012

draw = np.random.default_rng(1)
a, b = draw.random(SIZE), draw.random(SIZE)
f, g = a.astype("f"), b.astype("f")
i, j = (a * 1000).astype("q"), (b * 1000).astype("q")
k, order = i.astype("i"), draw.permutation(SIZE).astype("l")
mask, square, matrix = a < 0.5, a.reshape(100, 100), draw.random((96, 96))

KERNELS = {
    "add f64": lambda: a + b,
    "add f32": lambda: f + g,
    "add i64": lambda: i + j,
    "f32 * number": lambda: f * 1.5,
    "divide": lambda: a / b,
    "steps of 2": lambda: a[::2] + b[::2],
    "sqrt": lambda: np.sqrt(a),
    "exp": lambda: np.exp(a),
    "sin": lambda: np.sin(a),
    "pow": lambda: a**1.7,
    "maximum": lambda: np.maximum(a, b),
    "clip": lambda: np.clip(a, 0.2, 0.8),
    "compare": lambda: a < b,
    "where": lambda: np.where(mask, a, b),
    "mask": lambda: a[mask],
    "take": lambda: a[order],
    "astype": lambda: i.astype("d"),
    "transposed copy": lambda: square.T.copy(),
    "sum f64": lambda: a.sum(),
    "sum i32": lambda: k.sum(dtype="q"),
    "max": lambda: a.max(),
    "argmax": lambda: a.argmax(),
    "cumsum": lambda: a.cumsum(),
    "std": lambda: a.std(),
    "dot": lambda: a @ b,
    "matmul": lambda: matrix @ matrix,
    "inv": lambda: np.linalg.inv(matrix),
    "fft": lambda: np.fft.fft(a),
    "sort": lambda: np.sort(a),
    "argsort": lambda: np.argsort(a),
    "bincount": lambda: np.bincount(k),
    "random": lambda: draw.random(SIZE),
}


def timed(kernel, times):
    began = time.perf_counter()
    for _ in range(times):
        kernel()
    return time.perf_counter() - began


times, least = {}, dict.fromkeys(KERNELS, float("inf"))
for name, kernel in KERNELS.items():
    times[name] = 1
    while (took := timed(kernel, times[name])) < SLICE / 2:
        times[name] *= 2
for _ in range(SLICES):
    for name, kernel in KERNELS.items():
        least[name] = min(least[name], timed(kernel, times[name]) / times[name])
for name, took in least.items():
    print(f"{took * 1e9:.0f} {name}")
