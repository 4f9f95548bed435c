package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

const (
	nameOurs     = "coderunner run"
	nameDeno     = "Pyodide on Deno"
	nameSnapshot = "Pyodide on Deno, from its own snapshot"
	nameNode     = "Pyodide on Node"
	nameCPython  = "CPython, native"
)

// asProcess measures a command from its start to its end. errs are why the
// host cannot be had, if it cannot.
func asProcess(name string, r role, c func() command, check func(stdout string, s *sample) error, errs ...error) contender {
	return contender{name: name, role: r, open: func(context.Context) (*opened, error) {
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		return &opened{sample: func(ctx context.Context) (sample, error) {
			out, s, err := c().run(ctx)
			if err == nil {
				err = check(out, &s)
			}
			return s, err
		}}, nil
	}}
}

// prints checks a process's output.
func prints(want string) func(string, *sample) error {
	return func(stdout string, _ *sample) error {
		return said{Stdout: stdout}.check(said{Stdout: want})
	}
}

// pythonProcesses are a file of Python on every host, as a process.
func (h *hosts) pythonProcesses(file string, check func(string, *sample) error) []contender {
	return []contender{
		asProcess(nameOurs, ours, func() command { return h.coderunner.with("run", "--timeout", "10m", h.file(file)) }, check),
		asProcess(nameDeno, peer, func() command { return h.onDeno("run", h.file(file)) }, check, h.denoErr, h.pyodideErr),
		asProcess(nameNode, another, func() command { return h.onNode("run", h.file(file)) }, check, h.nodeErr, h.pyodideErr),
		asProcess(nameCPython, another, func() command { return h.python.with(h.file(file)) }, check, h.pythonErr),
	}
}

// overStdio is the server, a fresh interpreter or process for each call.
func (h *hosts) overStdio(name, language, code string, want said) contender {
	return contender{name: name, role: ours, open: func(ctx context.Context) (*opened, error) {
		s, err := serve(ctx, h.coderunner)
		if err != nil {
			return nil, err
		}
		return &opened{close: s.talk.close, sample: func(ctx context.Context) (sample, error) {
			began := time.Now()
			got, err := s.runCode(ctx, language, code)
			took := sample{Wall: time.Since(began)}
			if err == nil {
				err = got.check(want)
			}
			return took, err
		}}, nil
	}}
}

// firstResult is a server from its start to the end of its first call.
func (h *hosts) firstResult(language, code string, want said) contender {
	return contender{name: "coderunner serve, to its first result", role: ours, open: func(context.Context) (*opened, error) {
		return &opened{sample: func(ctx context.Context) (sample, error) {
			began := time.Now()
			s, err := serve(ctx, h.coderunner)
			if err != nil {
				return sample{}, err
			}
			defer s.talk.close()
			got, err := s.runCode(ctx, language, code)
			took := sample{Wall: time.Since(began)}
			if err == nil {
				err = got.check(want)
			}
			return took, err
		}}, nil
	}}
}

// pyodideLoop is a process with Pyodide on Deno in it, in one of the modes of
// guest/pyodide.mjs that answer again and again.
func (h *hosts) pyodideLoop(name string, r role, c func() command, code string, want said, errs ...error) contender {
	return contender{name: name, role: r, open: func(ctx context.Context) (*opened, error) {
		if err := errors.Join(append(errs, h.denoErr, h.pyodideErr)...); err != nil {
			return nil, err
		}
		t, err := c().talk()
		if err != nil {
			return nil, err
		}
		return &opened{close: t.close, sample: func(ctx context.Context) (sample, error) {
			began := time.Now()
			got, err := evaluate(ctx, t, code)
			took := sample{Wall: time.Since(began)}
			if err == nil {
				err = got.check(want)
			}
			return took, err
		}}, nil
	}}
}

// freshFromSnapshot is the fastest fresh interpreter that Pyodide has.
func (h *hosts) freshFromSnapshot(r role, code string, want said) contender {
	return h.pyodideLoop(nameSnapshot, r, func() command { return h.onDeno("fresh", h.snapshot) }, code, want, h.snapshotErr)
}

// absent is a contender that cannot be had.
func absent(r role, name string, err error) contender {
	return contender{name: name, role: r, open: func(context.Context) (*opened, error) { return nil, err }}
}

// evaluate asks guest/pyodide.mjs.
func evaluate(ctx context.Context, t *talk, code string) (said, error) {
	var reply struct{ Stdout, Result, Error string }
	err := t.ask(ctx, code, func(line []byte) (bool, error) { return true, json.Unmarshal(line, &reply) })
	if err == nil && reply.Error != "" {
		err = errors.New("Pyodide" + lastLine(strings.TrimSpace(reply.Error)))
	}
	return said{Stdout: reply.Stdout, Result: reply.Result}, err
}
