package main

import (
	"context"
	"time"
)

// What programs of Python do beside computing: draw, start others, continue a session.

// drawFrame is a plot of a table, as models write it.
const drawFrame = `import io
import pandas as pd
import matplotlib.pyplot as plt
frame = pd.DataFrame({"x": range(20), "y": [n * n % 7 for n in range(20)]})
frame.groupby("y").x.mean().plot(kind="bar", title="#")
image = io.BytesIO()
plt.savefig(image, format="png")
plt.close()
assert len(image.getvalue()) > 5000
` + helloPython

// startPython measures starts of another interpreter.
const startPython = `import subprocess, sys, time
def start():
    return subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout
start()
began = time.perf_counter()
for _ in range(10):
    assert start() == "42\n"
took = (time.perf_counter() - began) / 10
print("hello")
print("ELAPSED_MS", took * 1000)
`

// poolOfTwo measures a pool from its making to its end.
const poolOfTwo = `import multiprocessing, time
def square(n):
    return n * n
if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    began = time.perf_counter()
    with multiprocessing.Pool(2) as pool:
        assert pool.map(square, range(8)) == [n * n for n in range(8)]
    took = time.perf_counter() - began
    print("hello")
    print("ELAPSED_MS", took * 1000)
`

// inServer are cases of one call each, beside Python on the host where that can do the same.
func (h *hosts) inServer() (cases []benchCase, err error) {
	for _, p := range []struct {
		name, code, session string
		runs, burst         int
		native              bool
	}{
		{"session", "n = globals().get('n', 0) + 1\n" + helloPython, "bench", 30, 10, false},
		{"plot", drawFrame, "", 10, 3, false},
		{"subprocess", startPython, "", 10, 3, true},
		{"pool", poolOfTwo, "", 10, 3, true},
	} {
		arguments := program("python", p.code)
		if p.session != "" {
			arguments["session"] = p.session
		}
		c := benchCase{"stdio/python/" + p.name, p.runs, p.burst, h.served(func(ctx context.Context, s *server) (float64, error) {
			began := time.Now()
			out, _, err := s.call(ctx, arguments)
			if err != nil {
				return 0, err
			}
			return figureOf(out, ms(time.Since(began)), hello)
		})}
		if p.native {
			file := "run_" + p.name + ".py" // not the name of a module
			if err := h.write(file, p.code); err != nil {
				return nil, err
			}
			c.contenders = append(c.contenders, onPython(hello, h.file(file))...)
		}
		cases = append(cases, c)
	}
	return cases, nil
}
