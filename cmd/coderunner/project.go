package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"coderunner/cache/contents"
	"coderunner/internal/project"
	"coderunner/internal/userland/shell/quote"
	"coderunner/runners"
)

// openProject opens the directory that a program sees: the current one if the program's file
// is below it, else that of the file. Files are those of --file and --dir that are elsewhere.
func openProject(cfg Config, o runOptions, file string, l runners.Language, isNotebook bool) (v *project.View, files []runners.File, err error) {
	dir, program := absolute("."), ""
	if file != "" && file != "-" {
		program = absolute(file)
		// A notebook of JavaScript has its working directory in the root.
		if !isBelow(program, dir) || isNotebook && l != runners.Python {
			dir = filepath.Dir(program)
		}
	}
	at, above := dir, commonAbove(dir, o, l)
	for range above {
		at = filepath.Dir(at)
	}
	if v, err = project.Open(at, cfg.CacheDir, cfg.SessionDir); err != nil {
		return nil, nil, err
	}
	if above > 0 {
		v.Dir, _ = v.Rel(dir)
	}
	switch {
	case o.isolated, at == filepath.Dir(at): // the root of a file system is nobody's project
		v.Only()
	case above > 0:
		v.Only(v.Dir)
	}
	if program != "" {
		v.Program, _ = v.Rel(program)
		if above := path.Dir(v.Program); above != "." && !v.Isolated() && !v.Shows(above, true) {
			v.Include(above) // whoever runs a program of a hidden directory means that
		}
		v.Include(v.Program)
		if isNotebook && l == runners.Python { // as Jupyter does
			v.Dir = path.Dir(v.Program)
		}
	}
	for _, name := range append(o.files, o.dirs...) {
		if _, err := os.Stat(name); err != nil {
			return v, nil, err
		}
		if rel, ok := v.Rel(name); ok {
			v.Include(rel)
		} else if files, err = copyNamed(files, name); err != nil {
			return v, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return v, files, nil
}

// commonAbove returns how far above dir the directory is that has all that --file and --dir
// name by paths that lead up. Deno has no working directory below another.
func commonAbove(dir string, o runOptions, l runners.Language) (n int) {
	if l != runners.Python && l != runners.Bash && !slices.Contains(runners.GuestLanguages, l) || dir != absolute(".") {
		return 0
	}
	for _, name := range slices.Concat(o.files, o.dirs) {
		rel, err := filepath.Rel(dir, absolute(name))
		if filepath.IsAbs(name) || err != nil {
			continue
		}
		up := 0
		for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
			if part == ".." {
				up++
			}
		}
		n = max(n, up)
	}
	return n
}

// copyNamed adds a file or a directory from elsewhere, under its own name.
func copyNamed(files []runners.File, name string) ([]runners.File, error) {
	real := absolute(name)
	root, err := os.OpenRoot(filepath.Dir(real))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	left := int64(runners.MaxFilesBytes)
	for _, f := range files {
		left -= int64(len(f.Data))
	}
	base := filepath.Base(real)
	err = fs.WalkDir(root.FS(), base, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case at != base && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "__pycache__"):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() && at == base && !d.IsDir():
			return errors.New("is not a regular file")
		case !d.Type().IsRegular():
			return nil
		case len(files) >= runners.MaxFiles:
			return fmt.Errorf("has more than %d files", runners.MaxFiles)
		}
		f, err := root.OpenFile(at, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		data, err := io.ReadAll(io.LimitReader(f, left+1))
		if left -= int64(len(data)); err != nil || left < 0 {
			return cmp.Or(err, fmt.Errorf("is too large: files from elsewhere have %s together (--allow-read=PATH shows it the original)", contents.Size(runners.MaxFilesBytes)))
		}
		to := filepath.Base(filepath.Clean(name))
		if to == ".." || to == "." {
			to = base
		}
		files = append(files, runners.File{Path: path.Join(to, strings.TrimPrefix(at, base)), Data: data, Modified: info.ModTime(), Runs: info.Mode()&0o111 != 0})
		return nil
	})
	return files, err
}

// missedLine returns the line which says that a program looked for what is there and is not
// shown to it, and what shows it, or "".
func missedLine(v *project.View) string {
	m := v.Missed()
	if m == nil {
		return ""
	}
	flag, name := "--file ", m.Host
	if info, err := os.Stat(m.Host); err == nil && info.IsDir() {
		flag = "--dir "
	}
	if m.Absolute && !isBelow(m.Host, v.Path()) {
		flag = "--allow-read="
	} else if rel, err := filepath.Rel(absolute("."), m.Host); err == nil {
		name = rel
	}
	if strings.HasPrefix(m.Why, "is beside") {
		dir := filepath.Join(v.Path(), filepath.FromSlash(path.Dir(v.Program)))
		if rel, err := filepath.Rel(dir, m.Host); err == nil {
			name = rel
		}
		if rel, err := filepath.Rel(absolute("."), dir); err == nil {
			dir = rel
		}
		return fmt.Sprintf("coderunner: the program looked for %s, which %s: cd %s && coderunner run %s\n",
			contents.Printable(name), contents.Printable(m.Why), quote.IfNeeded(dir), quote.IfNeeded(path.Base(v.Program)))
	}
	return fmt.Sprintf("coderunner: the program looked for %s, which %s: %s%s shows it\n", contents.Printable(name), contents.Printable(m.Why), flag, quote.IfNeeded(name))
}

// isBelow reports whether a path is below dir.
func isBelow(name, dir string) bool {
	return name != dir && runners.Within(dir, name)
}

// absolute returns the path without symlinks, as far as there is such a file.
func absolute(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	return name
}
