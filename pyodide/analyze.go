package pyodide

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Analyze is the host's half: requests, bounds and remembered answers. The
// parsing is in guest/analyze.py.

// Source is the part of a program that its imports depend on.
type Source struct {
	Code  string
	Name  string // of the program's file
	Files []File // in its working directory; only Python's are read

	// Memory is as in Options. If the run has the same, both lease from the same
	// pool.
	Memory int64
}

// File is a file of the program's own.
type File struct {
	Path string // relative, with slashes
	Data []byte
}

// Analysis is what a program's text reveals of the packages that it needs.
type Analysis struct {
	Imports  []Import   // modules neither its own nor the standard library's
	Own      []string   // top-level names of its own modules
	Installs []Install  // what its calls of micropip.install and pip name
	Micropip bool       // it imports micropip
	Problem  *Exception // why it does not parse; nil if it does
}

// Import is a module that a program imports.
type Import struct {
	Name     string // dotted, as written
	Optional bool   // the import may not be reached, or may fail without harm
}

// Install is a requirement that a program installs by micropip or pip.
type Install struct {
	Requirement string
	Alone       bool // without its dependencies
}

// The bounds of an analysis.
const (
	maxFound    = 500     // names of each kind
	maxName     = 1000    // bytes of each
	maxAnalysis = 1 << 20 // bytes of the guest's answer
)

// Analyze parses a program, in an interpreter that is used for nothing else. It
// does not run it. The analysis of a program that is too large or nested too
// deeply is empty; running it reports that. The error is ctx's cause, or ours.
func (r *Runtime) Analyze(ctx context.Context, s Source) (*Analysis, error) {
	if !s.mayImport() {
		return &Analysis{}, nil
	}
	key := s.digest()
	if found, ok := r.analyses.Get(key); ok {
		return found, nil
	}
	found, err := r.analyze(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("analyze: %w", err)
	}
	r.analyses.Put(key, found)
	return found, nil
}

// mayImport reports whether the program has the word "import" at all.
func (s Source) mayImport() bool {
	return strings.Contains(s.Code, "import") || slices.ContainsFunc(s.Files, func(f File) bool {
		return bytes.Contains(f.source(), []byte("import"))
	})
}

// digest returns a digest of all that the imports depend on.
func (s Source) digest() [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q %d %s", s.Name, len(s.Code), s.Code)
	for _, f := range s.Files {
		fmt.Fprintf(h, " %q %d %s", f.Path, len(f.source()), f.source())
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// source returns the file's text if it is a Python source.
func (f File) source() []byte {
	if strings.HasSuffix(f.Path, ".py") {
		return f.Data
	}
	return nil // still sent: the program may import a module of its name
}

func (r *Runtime) analyze(ctx context.Context, s Source) (*Analysis, error) {
	in, err := r.New(ctx, Options{Memory: s.Memory})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	files := [][2]any{}
	for _, f := range s.Files {
		if text := f.source(); text != nil {
			files = append(files, [2]any{f.Path, string(text)})
		} else {
			files = append(files, [2]any{f.Path, nil})
		}
	}
	request, err := json.Marshal(map[string]any{"code": s.Code, "files": files, "name": s.Name})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, in.signals.stop)
	defer stop()
	text, err := in.guest(ctx).apply(in.functions.Analyze, string(request), maxAnalysis)
	switch {
	case context.Cause(ctx) != nil:
		return nil, context.Cause(ctx)
	case err != nil && !programsFault(err):
		return nil, err
	case err != nil:
		return &Analysis{}, nil
	}
	return readAnalysis(text)
}

// programsFault reports whether a program can cause the error.
func programsFault(err error) bool {
	var bad *guestError
	return errors.As(err, &bad) || trapOf(err) != "" || errors.Is(err, errNoMemory)
}

// readAnalysis reads the guest's answer and bounds it: the program determines
// its size.
func readAnalysis(text string) (*Analysis, error) {
	var found struct {
		Imports, Installs [][2]json.RawMessage
		Own               []string
		Micropip          bool
		Problem           *Exception
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return nil, err
	}
	a := &Analysis{Own: found.Own[:min(len(found.Own), maxFound)], Micropip: found.Micropip, Problem: found.Problem}
	err := eachPair(found.Imports, func(name string, optional bool) {
		a.Imports = append(a.Imports, Import{name, optional})
	})
	return a, errors.Join(err, eachPair(found.Installs, func(name string, deps bool) {
		a.Installs = append(a.Installs, Install{name, !deps})
	}))
}

// eachPair calls f for each pair [name, flag] whose name is not too long.
func eachPair(pairs [][2]json.RawMessage, f func(name string, flag bool)) error {
	for _, pair := range pairs[:min(len(pairs), maxFound)] {
		var name string
		var flag bool
		if err := errors.Join(json.Unmarshal(pair[0], &name), json.Unmarshal(pair[1], &flag)); err != nil {
			return err
		}
		if len(name) <= maxName {
			f(name, flag)
		}
	}
	return nil
}
