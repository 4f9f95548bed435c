package main

import (
	"bytes"
	"context"
	"fmt"
	"go/format"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// rename gives the module its owner's path: in go.mod, and in the texts of the sources that
// name packages. What another owner calls it must be done before the first release, since
// go install and go get find a module only by its own path.
func rename(ctx context.Context, root, to string) error {
	from, err := modulePath(ctx, root)
	if err != nil || from == to {
		return err
	}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".go" {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		renamed := renamedSource(text, root, from, to)
		if bytes.Equal(renamed, text) {
			return nil
		}
		if renamed, err = format.Source(renamed); err != nil { // imports are sorted
			return fmt.Errorf("%s: %w", name, err)
		}
		return os.WriteFile(name, renamed, 0o644)
	})
	if err != nil {
		return err
	}
	for dir, args := range map[string][]string{
		".":              {"-module=" + to},
		"testdata/embed": {"-droprequire=" + from, "-dropreplace=" + from, "-require=" + to + "@v0.0.0", "-replace=" + to + "=../.."},
	} {
		cmd := exec.CommandContext(ctx, "go", append([]string{"mod", "edit"}, args...)...)
		cmd.Dir = filepath.Join(root, dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %v: %w\n%s", args, err, out)
		}
	}
	return nil
}

// modulePath returns the module's path, as go.mod has it.
func modulePath(ctx context.Context, root string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// renamedSource returns a source with another path in each string that is a package's.
func renamedSource(text []byte, root, from, to string) []byte {
	var s scanner.Scanner
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(text))
	s.Init(file, text, nil, 0)
	var out []byte
	done := 0
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return append(out, text[done:]...)
		}
		value, err := strconv.Unquote(literal)
		dir, ours := strings.CutPrefix(value, from+"/")
		if kind != token.STRING || err != nil || !ours || dir == "" {
			continue
		}
		if info, err := os.Stat(filepath.Join(root, filepath.FromSlash(dir))); err != nil || !info.IsDir() {
			continue // another text that begins so
		}
		at := file.Offset(pos)
		out = append(append(out, text[done:at]...), strconv.Quote(to+"/"+dir)...)
		done = at + len(literal)
	}
}
