package main

import (
	"context"
	"slices"

	"coderunner/runners"
)

// The session of a repl gets copies of the files of the current directory that its
// statements name, as a program of run does, but of each once: the session may have
// changed its own.

// has returns the paths of the files that the session has already, but not of those
// that --file and --dir name.
func (p *repl) has(ctx context.Context) (map[string]bool, error) {
	given := map[string]bool{}
	if p.session != temporary {
		files, _ := p.store.Files(ctx, p.session) // there may be no such session yet
		for _, f := range files {
			given[f.Path] = true
		}
	}
	named, err := filesFor(p.named, "-", false, "", p.language, nil, p.stderr)
	for _, f := range named {
		delete(given, f.Path)
	}
	return given, err
}

// filesFor returns the files that a statement names and the session was not given.
func (p *repl) filesFor(code string) ([]runners.File, error) {
	files, err := filesFor(p.named, "-", false, code, p.language, nil, p.stderr)
	return slices.DeleteFunc(files, func(f runners.File) bool { return p.given[f.Path] }), err
}

// gave keeps the paths of the files that a statement was given, or wrote.
func (p *repl) gave(files []runners.File, left []runners.LeftFile) {
	for _, f := range files {
		p.given[f.Path] = true
	}
	for _, f := range left {
		p.given[f.Path] = true
	}
}
