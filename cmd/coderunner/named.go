package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// named takes a file or directory that the command line names. Its path is
// relative to the program's directory if it is inside that, else what was
// written if that is relative, and leads up only where placeAbove places the program
// accordingly, else its name.
func (b *beside) named(name string) error {
	as := filepath.Clean(name)
	if inside, err := filepath.Rel(b.dir, absolute(name)); err == nil && filepath.IsLocal(inside) {
		as = inside
	} else if !filepath.IsLocal(as) && (!b.above || filepath.IsAbs(as)) {
		as = filepath.Base(absolute(name))
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		real, err := filepath.EvalSymlinks(name)
		if err != nil {
			return err
		}
		root, err := os.OpenRoot(filepath.Dir(real))
		if err != nil {
			return err
		}
		defer root.Close()
		b.known[filepath.ToSlash(as)] = true
		if err := b.copy(root, filepath.Base(real), as); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := b.directory(root, name, filepath.ToSlash(as)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// arguments takes the files and directories that arguments of the program name
// (data.csv, --in=data.csv, -idata.csv), under the same names, but not the current directory:
// a program that walks through it would silently get all.
func (b *beside) arguments(args []string, lists bool) error {
	here, err := os.OpenRoot(".")
	if err != nil {
		return err
	}
	defer here.Close()
	asked := len(b.files) > 0
	for _, arg := range args {
		arg = pathIn(arg)
		name := path.Clean(filepath.ToSlash(arg))
		info, err := here.Stat(name)
		if err != nil && strings.ContainsAny(name, "*?[") {
			b.argumentPattern(here, name, lists)
			continue
		}
		real, _ := filepath.EvalSymlinks(name)
		switch {
		case name == "." && arg != "" && !asked:
			fmt.Fprintf(b.warn, "coderunner: %s: the program does not see what is in this directory (--dir %s)\n", arg, arg)
			continue
		case err != nil || b.known[name] || hidden(name) || hidden(filepath.ToSlash(real)):
			continue
		case info.IsDir():
			err = b.argument(here, name)
		case info.Mode().IsRegular():
			b.known[name] = true
			err = b.copy(here, name, name)
		}
		if err != nil {
			fmt.Fprintf(b.warn, "coderunner: %s: %v, so the program does not see it\n", printable(name), err)
		}
	}
	return nil
}

// pathIn returns what may be a path in an argument.
func pathIn(arg string) string {
	if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
		return value
	}
	if len(arg) > 2 && arg[0] == '-' && arg[1] != '-' { // -iFILE
		if _, err := os.Lstat(arg); err != nil {
			return arg[2:]
		}
	}
	return arg
}

// argumentPattern takes the files that an argument names by a pattern. A single * may
// be a sign of multiplication: lists reports that the program lists files.
func (b *beside) argumentPattern(here *os.Root, pattern string, lists bool) {
	names := b.matches(here.FS(), pattern)
	if !isPattern(pattern) {
		if len(names) == 0 || !lists {
			return
		}
		fmt.Fprintf(b.warn, "coderunner: %s: the program does not see what is in this directory (--dir .)\n", printable(pattern))
		return
	}
	for _, name := range names {
		real, _ := filepath.EvalSymlinks(name)
		if b.known[name] || hidden(filepath.ToSlash(real)) {
			continue
		}
		b.known[name] = true
		if err := b.copy(here, name, name); err != nil {
			fmt.Fprintf(b.warn, "coderunner: %s: %v, so the program does not see it\n", printable(name), err)
			return
		}
	}
}

// argument takes a directory that an argument names, with all that is in it or
// nothing.
func (b *beside) argument(here *os.Root, name string) error {
	root, err := here.OpenRoot(name)
	if err != nil || skipped(path.Base(name)) {
		return err
	}
	defer root.Close()
	files, left := len(b.files), b.left
	if err = b.directory(root, name, name); err != nil {
		for _, f := range b.files[files:] {
			delete(b.known, f.Path)
		}
		b.files, b.left = b.files[:files], left
		err = fmt.Errorf("%w; --dir takes a part of it", err)
	}
	return err
}

// directory takes the files of a directory that the command line names.
func (b *beside) directory(root *os.Root, name, as string) error {
	return fs.WalkDir(root.FS(), ".", func(entry string, d fs.DirEntry, err error) error {
		to := path.Join(as, entry)
		switch {
		case err != nil:
			return err
		case entry != "." && skipped(d.Name()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || to == b.program || b.known[to]:
			return nil
		}
		b.known[to] = true
		info, err := root.Stat(entry)
		if err != nil || !info.Mode().IsRegular() {
			fmt.Fprintf(b.warn, "coderunner: %s: is not a regular file in %s, so the program does not see it\n", printable(to), name)
			return nil
		}
		if err := b.copy(root, entry, to); err != nil {
			return fmt.Errorf("%s %w", entry, err)
		}
		return nil
	})
}
