package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/runners"
)

// A program may put the name of a file together, or read it somewhere, so that its text
// does not show it. What it looked for and did not find is compared with what is there.

// maxTold bounds the files that a line names.
const maxTold = 3

// places returns the directories of ours that the program's working directory shows.
func places(file string, req runners.Request) (dirs []string) {
	if file == "" || file == "-" {
		return []string{"."}
	}
	at := absolute(file)
	if base, ok := strings.CutSuffix(filepath.ToSlash(at), "/"+req.Filename); ok && req.Below {
		return []string{base}
	}
	dirs = []string{filepath.Dir(at)}
	if here, err := filepath.Rel(absolute("."), dirs[0]); err == nil && here != "." && filepath.IsLocal(here) {
		dirs = append(dirs, ".")
	}
	return dirs
}

// tellMissed returns the line which says that a program was not given what it looked for
// and is there, or "".
func tellMissed(file string, req runners.Request, out *runners.Outcome) string {
	var flags, names []string
	given := append(slices.Clone(req.Files), runners.File{Path: req.Filename})
	for _, dir := range places(file, req) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			continue
		}
		for _, name := range append(out.Missed, printedMissing(req.Language, out)...) {
			if name, isDir := existing(root.FS(), name); name != "" && !knows(given, out.Files, name) && !slices.Contains(names, name) {
				at := fromHere(filepath.Join(dir, name))
				if rel, err := filepath.Rel(absolute("."), at); err == nil && filepath.IsAbs(at) && req.Dir != "" { // see placeAbove
					name, at = rel, rel
				}
				flag := map[bool]string{false: "--file ", true: "--dir "}[isDir] + printable(at)
				names, flags = append(names, name), append(flags, flag)
			}
		}
		root.Close()
	}
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return fmt.Sprintf("coderunner: the program was not given %s: %s adds it\n", printable(names[0]), flags[0])
	case n > maxTold:
		dir := fromHere(filepath.Join(places(file, req)[0], common(names)))
		return fmt.Sprintf("coderunner: the program was not given %s and %d more that it looked for: --dir %s adds them\n", printable(names[0]), n-1, printable(dir))
	}
	return fmt.Sprintf("coderunner: the program was not given %s: %s add them\n", printable(strings.Join(names, ", ")), strings.Join(flags, " "))
}

// existing returns the path of a file or directory that fsys has, or of the directory
// above it that a program would write it to, "" if there is none that is shown.
func existing(fsys fs.FS, name string) (found string, isDir bool) {
	for ; name != "." && fs.ValidPath(name); name = path.Dir(name) {
		if path.Base(name) == "__init__.py" || hidden(name) || slices.ContainsFunc(strings.Split(name, "/"), skipped) {
			return "", false
		}
		if info, err := fs.Stat(fsys, name); err == nil {
			return name, info.IsDir()
		}
	}
	return "", false
}

// knows reports whether a program was given a file or directory, or has made it.
func knows(given []runners.File, left []runners.LeftFile, name string) bool {
	is := func(p string) bool { return p == name || strings.HasPrefix(p, name+"/") }
	return slices.ContainsFunc(given, func(f runners.File) bool { return is(f.Path) }) ||
		slices.ContainsFunc(left, func(f runners.LeftFile) bool { return strings.HasPrefix(f.Path, name+"/") })
}

// common returns the directory that all of the paths are below.
func common(names []string) string {
	dir := path.Dir(names[0])
	for _, name := range names {
		for dir != "." && !strings.HasPrefix(name, dir+"/") {
			dir = path.Dir(dir)
		}
	}
	return dir
}

// printedMissing returns what may be names of files in the lines in which a program of
// JavaScript says that it does not find something.
func printedMissing(l runners.Language, out *runners.Outcome) (names []string) {
	if l == runners.Python || l == runners.Bash {
		return nil // whose misses are known
	}
	said := out.Stderr + "\n" + out.Stdout
	if out.Error != nil {
		said += "\n" + out.Error.Message
	}
	for _, line := range missing.FindAllString(said, maxMissing) {
		for _, word := range quotedOrBare.FindAllString(line, maxMissing) {
			word = strings.TrimRight(strings.Trim(word, `"'`+"`:,;()"), ".")
			names = append(names, path.Clean(workPath.ReplaceAllString(word, "")))
		}
	}
	if strings.Contains(said, "no such table") { // of a database that was made now
		for _, f := range out.Files {
			names = append(names, f.Path)
		}
	}
	return names
}
