package pyodide

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Source is the part of a program that its imports depend on.
type Source struct {
	Code  string
	Name  string // of the program's file
	Files []File // in its working directory; only Python's are read

	// Words asks for the words of a program that imports nothing, too: a session has
	// imported before.
	Words bool

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
	Members  []string   // "a.b:c" for imports "from a.b import c" that are sure to be reached
	Own      []string   // top-level names of its own modules
	Installs []Install  // what its calls of micropip.install and pip name
	Micropip bool       // it imports micropip
	Names    []string   // attributes and imported names that it uses, if it imports anything
	Texts    []string   // its texts that could be names of projects, likewise
	Problem  *Exception // why it does not parse; nil if it does

	compiled string // its code objects, for [Program.Analysis]; may be ""
}

// Import is a module that a program imports.
type Import struct {
	Name     string // dotted, as written
	Optional bool   // the import may not be reached, or may fail without harm
	Slip     bool   // the name is nearly one of the library's: the import tells more than that it has no package
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
	maxAnalysis = 5 << 18 // bytes of the guest's answer
)

// mayImport reports whether the program has the word "import" at all, or tests
// that want a framework.
func (s Source) mayImport() bool {
	return s.Words || strings.Contains(s.Code, "import") || strings.Contains(s.Code, "def test_") || slices.ContainsFunc(s.Files, func(f File) bool {
		return bytes.Contains(f.source(), []byte("import"))
	})
}

// digest returns a digest of all that the imports depend on.
func (s Source) digest() [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%v %q %d %s", s.Words, s.Name, len(s.Code), s.Code)
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

// readAnalysis reads the guest's answer and bounds it: the program determines
// its size.
func readAnalysis(text string) (*Analysis, error) {
	var found struct {
		Imports, Installs [][2]json.RawMessage
		Members, Own      []string
		Slips             []string
		Compiled          string
		Names, Texts      []string
		Micropip          bool
		Problem           *Exception
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return nil, err
	}
	a := &Analysis{Own: found.Own[:min(len(found.Own), maxFound)], Micropip: found.Micropip, Problem: found.Problem, compiled: found.Compiled}
	a.Names, a.Texts = found.Names, found.Texts // bounded by maxAnalysis
	for _, m := range found.Members[:min(len(found.Members), maxFound)] {
		if len(m) <= maxName {
			a.Members = append(a.Members, m)
		}
	}
	err := eachPair(found.Imports, func(name string, optional bool) {
		a.Imports = append(a.Imports, Import{name, optional, slices.Contains(found.Slips, name)})
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
