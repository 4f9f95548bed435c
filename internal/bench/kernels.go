package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

const kernelsFile = "run_kernels.py" // not the name of a module

// errMissing is why a case is left out: what it runs cannot be had here.
var errMissing = errors.New("left out")

// kernels are the least times of the parts of a program on each host, of all its runs.
type kernels struct {
	names, hosts []string
	least        map[[2]string]float64 // of a name and a host, in nanoseconds
}

// numpy is the kernels of NumPy, with the same wheel for all. A figure is the geometric mean of
// the kernels' times, in ms.
func (h *hosts) numpy() (benchCase, error) {
	code, err := files.ReadFile("testdata/kernels.py")
	if err == nil {
		err = h.write(kernelsFile, string(code))
	}
	c := benchCase{name: "numpy/kernels", rounds: 3, burst: 1}
	c.contenders = h.each(func(ctx context.Context, b build) (*opened, error) {
		if _, err := b.run(ctx, "run", "--timeout", "2m", "-c", "import numpy"); err != nil {
			return nil, fmt.Errorf("%w: %w", errMissing, err)
		}
		return b.serve(ctx, func(ctx context.Context, s *server) (float64, error) {
			out, _, err := s.call(ctx, program("python", string(code)))
			return h.kernels.mean(b.name, out, err)
		}, "serve")
	})
	const peer = "Pyodide on Deno"
	c.contenders = append(c.contenders, contender{name: peer, open: func(context.Context) (*opened, error) {
		var used time.Duration
		return &opened{cpu: func() time.Duration { return used }, sample: func(ctx context.Context) (float64, error) {
			out, cpu, err := h.deno.timed(ctx, "run", "--no-config", "--no-lock", "--allow-all", h.file("pyodide.mjs"), h.pyodide(), h.file(kernelsFile), "numpy")
			used += cpu
			return h.kernels.mean(peer, out, err)
		}}, nil
	}})
	return c, err
}

// mean notes the lines that a run of the program printed, and returns the geometric mean of the
// times in them, in ms.
func (k *kernels) mean(host, out string, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	sum, n := 0.0, 0
	for line := range strings.Lines(out) {
		ns, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		took, err := strconv.ParseFloat(ns, 64)
		if err != nil {
			return 0, fmt.Errorf("%w: %.80q", errWrong, line)
		}
		k.note(name, host, took)
		sum, n = sum+math.Log(took/1e6), n+1
	}
	if n == 0 {
		return 0, fmt.Errorf("%w: nothing", errWrong)
	}
	return math.Exp(sum / float64(n)), nil
}

func (k *kernels) note(name, host string, took float64) {
	if !slices.Contains(k.hosts, host) {
		k.hosts = append(k.hosts, host)
	}
	if !slices.Contains(k.names, name) {
		k.names = append(k.names, name)
	}
	if k.least == nil {
		k.least = map[[2]string]float64{}
	}
	at := [2]string{name, host}
	k.least[at] = min(took, cmp.Or(k.least[at], took))
}

// write prints the times in microseconds, and those of the first host as multiples of the others',
// with their geometric mean.
func (k *kernels) write(out io.Writer) error {
	if k.names == nil {
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\nkernel, µs\t", k.hosts[0])
	for _, host := range k.hosts[1:] {
		fmt.Fprintf(t, "\t%s\tours/it", host)
	}
	fmt.Fprintln(t)
	means := make([]float64, len(k.hosts))
	for _, name := range append(k.names, "geometric mean") {
		fmt.Fprint(t, name)
		ours := k.least[[2]string{name, k.hosts[0]}]
		for n, host := range k.hosts {
			took, ratio := k.least[[2]string{name, host}], 0.0
			if ratio = ours / took; ours == 0 {
				ratio = math.Exp(means[n] / float64(len(k.names)))
			}
			means[n] += math.Log(ratio)
			fmt.Fprintf(t, "\t%s", figure(took/1e3))
			if n > 0 {
				fmt.Fprintf(t, "\t%s", figure(ratio))
			}
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
