// Command bench compares the speed of coderunner with that of another build
// of it and of Deno, in one run on one machine, and prints a table. It is
// `just bench`.
//
//	just bench                          every case, about ten minutes
//	just bench -only hello              the cases whose name has hello
//	just bench -against OLD/coderunner  before and after, alternating
//
// # Method
//
// The contenders of a case run in turn, each round another one first,
// so that whatever else the machine does hits all alike. A figure is the
// median of what the caller waits, with its quartiles, a ratio is a quotient
// of medians, and below one means that ours is better. cpu is user and system
// time of the process and its children per run, a mean, which a busy machine
// disturbs less.
//
// The builds are black boxes: they are run as processes and asked over stdio,
// each with a cache of its own that `warm` has filled. The peer is the Deno
// of our pinned version as it is published, with Pyodide for Python, and what there is of bash,
// Python, uv and eryx. Each contender must give the right answer in every run; the exit code is 1 if
// one of them fails.
//
// numpy/kernels is many programs in one: its figure is their geometric mean, and a second table
// has the least time of each. What its kernels compute is not compared.
//
// # Limits
//
// numpy/kernels is left out where NumPy's wheel for Pyodide is in no index that is reached.
// Memory and the cpu time of servers are read from /proc, so on Linux only.
// The parts of a fresh interpreter have a benchmark of their own: go test
// -run '^$' -bench Fresh ./pyodide.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"syscall"
)

func main() {
	var o options
	only := flag.String("only", "", "measure the cases whose name matches this `regexp`")
	flag.IntVar(&o.rounds, "n", 0, "`rounds` of each case instead of its usual number")
	flag.StringVar(&o.binary, "coderunner", "", "measure this `binary` instead of building one")
	flag.StringVar(&o.against, "against", "", "compare with this `binary`, another build of coderunner")
	flag.StringVar(&o.cache, "cache", "", "`directory` of the caches, instead of one in the user's cache directory")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if o.only, err = regexp.Compile(*only); err == nil {
		err = compare(ctx, o, os.Stdout, os.Stderr)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// compare measures and prints. Its error names the cases that have failed.
func compare(ctx context.Context, o options, out, progress io.Writer) error {
	dir, err := os.MkdirTemp("", "coderunner-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	h := &hosts{dir: dir}
	if err := h.open(ctx, o, progress); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s/%s, %d cores, load %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), loadAverage())
	for _, b := range h.builds {
		fmt.Fprintf(out, "%s: %s\n", b.name, b.version)
	}
	cases, err := h.cases()
	if err != nil {
		return err
	}
	table := newTable(out)
	for _, c := range cases {
		if !o.only.MatchString(c.name) {
			continue
		}
		fmt.Fprintf(progress, "%s, load %s\n", c.name, loadAverage())
		all := measure(ctx, c, o.rounds)
		if err := all[0].err; errors.Is(err, errMissing) {
			reason, _, _ := strings.Cut(err.Error(), "\n")
			fmt.Fprintf(out, "%s: %s\n", c.name, reason)
			continue
		}
		table.add(c.name, all)
	}
	return errors.Join(table.write(), h.kernels.write(out), context.Cause(ctx))
}

// loadAverage returns the load of the last minute, or "unknown".
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(data), " ")
	return first
}
