// Command bench measures coderunner beside its peers and prints one table for
// each topic. It is `just bench`; nothing imports it.
//
//	go run ./internal/bench                  everything, a quarter of an hour
//	go run ./internal/bench -only hello      what begins with hello
//	go run ./internal/bench -only cpu -n 3
//	go run ./internal/bench -only wheels     compiled packages
//
// Nothing is asserted about times. What is: that every host gives the right
// answer. A wrong one is said and counts in no mean, except where all hosts
// give the same one. The exit code is 1 when one of our own rows is wrong or
// has failed; a peer that fails, or that this machine does not have, is said in
// its row.
//
// # Method
//
// The hosts of a case run in turn, one run each (ours, peer, ours, peer, …), so
// that load hits all alike. Figures are medians of the wall clock's time as the
// caller sees it, and quotients of medians; cpu is user and system time of a
// process and its children, which a busy machine disturbs less. Each host has
// unmeasured runs first, except the programs that compute for seconds. Peers
// get a clean environment and keep their own caches, as they would for a user.
//
// Deno and Pyodide are those that coderunner itself uses, from its own cache.
// Node and CPython are measured if they are there, for orientation; eryx, with
// which Python runs on wasmtime, if there is a CPython that it has a wheel for:
// it is installed into a virtual environment in the user's cache folder. A row
// says why its host is not there.
//
// Calls in parallel are one batch of each contender, with a marker in each run
// that must come back to its own caller. Memory is what smaps calls private and
// dirty, per interpreter, of many in one process; of a process with a single
// one it is all that is resident.
//
// Compiled packages are installed into a cache that has the runtimes alone: a
// hard-linked copy of those parts of the user's, a new one for each run. Ours
// resolves, downloads, verifies and compiles there; Pyodide, which keeps
// nothing, unpacks the same wheels from files into its memory. So the peer is
// spared the network.
//
// # Limits
//
// Memory is measured on Linux only. The parts of a fresh interpreter have a
// benchmark of their own: go test -run '^$' -bench Fresh ./pyodide. What
// -budget leaves no time for is said to be not measured.
//
// # Testing
//
// The tests cover the statistics, the tables, the turns and the protocol, with
// processes made of the test binary.
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
	"strings"
	"syscall"
	"time"
)

// errBudget ends what is left when -budget is used up.
var errBudget = errors.New("the time given by -budget is used up")

// errOurs is for the exit code: the tables have said what.
var errOurs = errors.New("not all of our own rows are in order")

type options struct {
	only   *regexp.Regexp
	limits limits
	budget time.Duration
	json   string
	binary string
}

func main() {
	o, err := parseFlags(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = bench(ctx, o, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parseFlags(args []string, out io.Writer) (options, error) {
	var o options
	var only string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&only, "only", "", "measure the cases whose name (topic/case) matches this `regexp`")
	flags.IntVar(&o.limits.runs, "n", 30, "`runs` of each contender; what takes seconds has fewer unless this is given")
	flags.DurationVar(&o.limits.sample, "limit", 2*time.Minute, "what takes longer than this has failed")
	flags.DurationVar(&o.budget, "budget", 15*time.Minute, "stop measuring after this")
	flags.StringVar(&o.json, "json", "", "write every sample to this `file`")
	flags.StringVar(&o.binary, "coderunner", "", "measure this `binary` instead of building one")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	flags.Visit(func(f *flag.Flag) { o.limits.chosen = o.limits.chosen || f.Name == "n" })
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.limits.runs < 1 || o.limits.runs > 1000:
		err = fmt.Errorf("-n %d: want 1 to 1000", o.limits.runs)
	case o.limits.sample <= 0 || o.budget <= 0:
		err = errors.New("-limit and -budget must be above zero")
	default:
		o.only, err = regexp.Compile(only)
	}
	if err != nil {
		fmt.Fprintln(out, "bench:", err)
	}
	return o, err
}

// bench measures and prints.
func bench(ctx context.Context, o options, out, progress io.Writer) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.budget, errBudget)
	defer cancel()
	began, m := time.Now(), thisMachine()
	fmt.Fprintln(progress, "building coderunner, fetching what is not in the cache")
	h, err := openHosts(ctx, o.binary)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("prepare the hosts: %w", context.Cause(ctx))
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	m.Ours, m.Peers = h.versions, h.peerVersions
	if err := writeMachine(out, m); err != nil {
		return err
	}
	all, err := topics(h)
	if err != nil {
		return err
	}
	results, err := measureAll(ctx, all, o, out, progress)
	fmt.Fprintf(out, "\nload at the end: %.1f\n", loadAverage())
	if o.json != "" {
		err = errors.Join(err, newRecord(m, began, results).write(o.json))
	}
	if err != nil {
		return err
	}
	for _, res := range results {
		for _, r := range res.rows {
			if r.role == ours && (broken(r) || r.wrongAnswer(res.benchCase.want) != "") {
				return errOurs
			}
		}
	}
	return nil
}

// topic is a group of cases and the way to show them.
type topic struct {
	cases []benchCase
	// each prints a case as soon as it is measured, and all the topic's cases
	// when they are. Either may be nil.
	each func(w io.Writer, res *result) error
	all  func(w io.Writer, results []*result) error
}

func topics(h *hosts) ([]topic, error) {
	hello, err := helloCases(h)
	if err != nil {
		return nil, err
	}
	cpu, err := cpuCases(h)
	if err != nil {
		return nil, err
	}
	wheels, err := wheelCases(h)
	if err != nil {
		return nil, err
	}
	return []topic{
		{cases: hello, each: writeList},
		{cases: freshCases(h), each: writeList},
		{cases: importCases(h), all: writeImports},
		{cases: parallelCases(h), all: writeParallel},
		{cases: liveCases(h), each: writeLive},
		{cases: cpu, all: writeCPU},
		{cases: wheels, all: writeWheels},
	}, nil
}

// measureAll gives what it has measured also when there is an error.
func measureAll(ctx context.Context, all []topic, o options, out, progress io.Writer) (results []*result, err error) {
	for _, t := range all {
		var group []*result
		for i := range t.cases {
			c := &t.cases[i]
			if !o.only.MatchString(c.path()) {
				continue
			}
			fmt.Fprintf(progress, "%s measuring %s, load %.1f\n", time.Now().Format(time.TimeOnly), c.path(), loadAverage())
			res := measure(ctx, c, o.limits)
			group, results = append(group, res), append(results, res)
			if t.each != nil {
				if err := t.each(out, res); err != nil {
					return results, err
				}
			}
		}
		if t.all != nil && len(group) > 0 {
			if err := t.all(out, group); err != nil {
				return results, err
			}
		}
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("-only %s: no case has such a name", o.only)
	}
	return results, nil
}

func writeMachine(w io.Writer, m machine) error {
	text := fmt.Sprintf("%s\nours:   %s\nbeside: %s\n", m, strings.Join(m.Ours, ", "), strings.Join(m.Peers, ", "))
	if m.busy() {
		text += "The machine was busy before we began: do not trust these figures.\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
