package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
)

var (
	// listing matches calls that list a directory, or all below it.
	listing = regexp.MustCompile(`\b(?:listdir|scandir|iterdir|walk(?:Sync)?|[ir]?glob(?:Sync)?|expandGlob(?:Sync)?|readdir(?:Sync)?|readDir(?:Sync)?|opendir(?:Sync)?|copytree|cp(?:Sync)?)\(`)
	// listsHere matches calls that list the current directory, or the program's.
	listsHere = regexp.MustCompile(`\b(?:listdir|scandir|walk(?:Sync)?|readdir(?:Sync)?|readDir(?:Sync)?|opendir(?:Sync)?)\(\s*(?:r?["'` + "`" + `]\./?["'` + "`" + `]|(?:os\.get|process\.|Deno\.)cwd\(\)|os\.curdir|__dirname|import\.meta\.dirname)?\s*[,)]` +
		`|(?:\bPath\((?:["']\.?["'])?\)|\bcwd\(\)|\.parent)\.(?:iterdir|rglob)\(`)
)

// maxUnlisted is how many bytes a directory may have that a text names which lists none.
const maxUnlisted = 16 << 20

// takeNamed takes the directories that the texts name, each with all that is in it or
// nothing: a program lists them, or puts names together.
func (b *beside) takeNamed() {
	for _, dir := range b.dirs {
		if hidden(dir) || slices.ContainsFunc(strings.Split(dir, "/"), skipped) || hidden(b.target(dir)) {
			continue
		}
		before, left := len(b.files), b.left
		if !b.lists {
			b.left = min(left, maxUnlisted)
		}
		room := b.left
		err := b.argument(b.root, dir)
		if b.here != nil && (err == nil || errors.Is(err, fs.ErrNotExist)) {
			if err = b.argument(b.here, dir); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		b.left = left - (room - b.left)
		if err != nil && b.lists && !b.shell {
			fmt.Fprintf(b.warn, "coderunner: %s: %v, so the program does not see it\n", printable(dir), err)
		}
		for _, f := range b.files[before:] {
			b.read(f)
		}
	}
	b.dirs = nil
}

// tellUnlisted says that the program lists a directory of which it sees a part.
func (b *beside) tellUnlisted(code string, l runners.Language) {
	if l != runners.Bash && !listsHere.MatchString(code) {
		return
	}
	if l == runners.Bash && (!shellListsHere.MatchString(code) || goesAway.MatchString(code)) {
		return
	}
	entries, _ := fs.ReadDir(b.root.FS(), ".")
	for _, e := range entries {
		name := e.Name()
		below := func(f runners.File) bool { return f.Path == name || strings.HasPrefix(f.Path, name+"/") }
		if name != b.program && !skipped(path.Base(name)) && !slices.ContainsFunc(b.files, below) {
			fmt.Fprintln(b.warn, "coderunner: the program sees the files of its directory that its text names, and lists no others (--dir", printable(fromHere(b.dir)), "adds them)")
			return
		}
	}
}
