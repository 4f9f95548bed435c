package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// process measures a command by its time, or by the ELAPSED_MS line that it
// prints after what is wanted, which is "" if anything will do.
func process(name string, c command, want string, args ...string) contender {
	var used time.Duration
	return contender{name: name, open: func(context.Context) (*opened, error) {
		return &opened{cpu: func() time.Duration { return used }, sample: func(ctx context.Context) (float64, error) {
			began := time.Now()
			out, cpu, err := c.timed(ctx, args...)
			took := ms(time.Since(began))
			used += cpu
			if err != nil {
				return 0, err
			}
			return figureOf(out, took, want)
		}}, nil
	}}
}

// figureOf returns what a program that printed out took: by its ELAPSED_MS line, if it has one.
// Where want is "" anything will do.
func figureOf(out string, took float64, want string) (_ float64, err error) {
	if result, elapsed, ok := strings.Cut(strings.TrimSpace(out), "\nELAPSED_MS "); ok {
		out, want = result, strings.TrimSpace(want)
		took, err = strconv.ParseFloat(elapsed, 64)
	}
	if want != "" && out != want || err != nil || !(took > 0) {
		return 0, fmt.Errorf("%w: %.80q, want %.80q", errWrong, out, want)
	}
	return took, nil
}

// each makes a contender of each build.
func (h *hosts) each(open func(ctx context.Context, b build) (*opened, error)) []contender {
	var all []contender
	for _, b := range h.builds {
		all = append(all, contender{name: b.name, open: func(ctx context.Context) (*opened, error) { return open(ctx, b) }})
	}
	return all
}

// served measures what takes a server that is up.
func (h *hosts) served(sample func(ctx context.Context, s *server) (float64, error), env ...string) []contender {
	return h.each(func(ctx context.Context, b build) (*opened, error) {
		b.env = append(slices.Clone(b.env), env...)
		return b.command.serve(ctx, sample, "serve")
	})
}

// serve starts a server that a sample is taken of.
func (c command) serve(ctx context.Context, sample func(ctx context.Context, s *server) (float64, error), args ...string) (*opened, error) {
	s, err := serve(ctx, c, args...)
	if err != nil {
		return nil, err
	}
	return &opened{cpu: s.cpu, close: s.close, sample: func(ctx context.Context) (float64, error) { return sample(ctx, s) }}, nil
}

// processes makes a contender of a command of each build.
func (h *hosts) processes(args ...string) (all []contender) {
	for _, b := range h.builds {
		all = append(all, process(b.name, b.command, "", args...))
	}
	return all
}

// think is the time between two calls of paced.
const think = time.Second

// paced is calls of a client that thinks before each, when processes are idle again.
func (h *hosts) paced(language, code, want string) []contender {
	all := h.calls(language, code, want)
	for i := range all {
		open := all[i].open
		all[i].open = func(ctx context.Context) (*opened, error) {
			o, err := open(ctx)
			if err != nil {
				return nil, err
			}
			sample := o.sample
			o.sample = func(ctx context.Context) (float64, error) {
				time.Sleep(think)
				return sample(ctx)
			}
			return o, nil
		}
	}
	return all
}

// calls measures one call. A # in the program is the call's number.
func (h *hosts) calls(language, code, want string) []contender {
	return h.served(oneCall(language, code, want))
}

// beside is calls with a server that has one interpreter of Pyodide on Deno for
// all programs, and nothing that confines them: the least that a call can cost there.
func (h *hosts) beside(code, want string) []contender {
	return append(h.calls("python", code, want), contender{name: "one Pyodide on Deno", open: func(ctx context.Context) (*opened, error) {
		return h.deno.serve(ctx, oneCall("python", code, want), "run", "--no-config", "--no-lock", "--allow-all", h.file("shared.mjs"), h.pyodide())
	}})
}

func oneCall(language, code, want string) func(ctx context.Context, s *server) (float64, error) {
	return func(ctx context.Context, s *server) (float64, error) {
		s.calls++
		n := strconv.Itoa(s.calls)
		began := time.Now()
		err := s.runCode(ctx, language, strings.ReplaceAll(code, "#", n), strings.ReplaceAll(want, "#", n))
		return ms(time.Since(began)), err
	}
}

// first measures from the start of a server to the answer of its first call.
func (h *hosts) first(language, code, want string) []contender {
	return h.each(func(_ context.Context, b build) (*opened, error) {
		return &opened{sample: func(ctx context.Context) (float64, error) {
			began := time.Now()
			s, err := serve(ctx, b.command, "serve")
			if err != nil {
				return 0, err
			}
			defer s.close()
			err = s.runCode(ctx, language, code, want)
			return ms(time.Since(began)), err
		}}, nil
	})
}

// sideBySide measures the mean of many runs of Deno, as many at a time as there are processors.
func (h *hosts) sideBySide(file, want string) contender {
	const runs = 100
	return contender{name: "deno run", open: func(context.Context) (*opened, error) {
		return &opened{sample: func(ctx context.Context) (float64, error) {
			began := time.Now()
			group, ctx := errgroup.WithContext(ctx)
			group.SetLimit(runtime.NumCPU())
			for range runs {
				group.Go(func() error {
					out, err := h.deno.run(ctx, "run", "--no-config", "--no-lock", h.file(file))
					if err == nil && out != want {
						err = fmt.Errorf("%w: %.80q", errWrong, out)
					}
					return err
				})
			}
			err := group.Wait()
			return ms(time.Since(began)) / runs, err
		}}, nil
	}}
}

// onPython measures a program on the host's Python, if there is one.
func onPython(want, file string) []contender {
	if python() == "" {
		return nil
	}
	return []contender{process("python3", command{path: python(), env: ownEnv()}, want, file)}
}

// eryx measures the mean of as many runs as batch's by eryx, a library for Python that has CPython
// on wasmtime, if the host's Python has it.
func (h *hosts) eryx() []contender {
	c := command{path: python(), env: ownEnv()}
	if c.path == "" || exec.Command(c.path, "-c", "import eryx").Run() != nil {
		return nil
	}
	return []contender{{name: "eryx", open: func(context.Context) (*opened, error) {
		return &opened{sample: func(ctx context.Context) (float64, error) {
			out, err := c.run(ctx, h.file("fresh_eryx.py"), strconv.Itoa(runs), strconv.Itoa(callers))
			if err != nil {
				return 0, err
			}
			return strconv.ParseFloat(strings.TrimSpace(out), 64)
		}}, nil
	}}}
}

// batch makes runs calls, callers at a time.
const runs, callers = 1000, 32

// batch measures the mean of many calls at once, each with a marker that must
// come back to its own caller.
func (h *hosts) batch(language, code string) []contender {
	return h.served(func(ctx context.Context, s *server) (float64, error) {
		began := time.Now()
		var group errgroup.Group
		group.SetLimit(callers)
		for i := range runs {
			n := strconv.Itoa(i)
			group.Go(func() error {
				return s.runOnly(ctx, i, language, strings.ReplaceAll(code, "#", n), "marker "+n+`\n`)
			})
		}
		err := group.Wait()
		return ms(time.Since(began)) / runs, err
	})
}

// alive measures the memory that each of so many sleeping programs adds.
func (h *hosts) alive(programs int, language, code string) []contender {
	return h.served(func(ctx context.Context, s *server) (float64, error) {
		if err := s.runCode(ctx, language, "", ""); err != nil {
			return 0, err
		}
		before, most := s.privateBytes(), int64(0)
		group, sleeping := errgroup.WithContext(ctx)
		for range programs {
			group.Go(func() error { return s.runCode(sleeping, language, code, "") })
		}
		done := make(chan error, 1)
		go func() { done <- group.Wait() }()
		for tick := time.Tick(100 * time.Millisecond); ; {
			select {
			case err := <-done:
				return float64(most-before) / float64(programs) / (1 << 20), err
			case <-tick:
				most = max(most, s.privateBytes())
			}
		}
	}, fmt.Sprintf("CODE_RUNNER_CONCURRENCY=%d", programs))
}
