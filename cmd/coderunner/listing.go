package main

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
)

var (
	// listing matches calls that list a directory, or all below it.
	listing = regexp.MustCompile(`\b(?:listdir|scandir|iterdir|walk(?:Sync)?|[ir]?glob(?:Sync)?|expandGlob(?:Sync)?|readdir(?:Sync)?|readDir(?:Sync)?|opendir(?:Sync)?|copytree|cp(?:Sync)?)\(`)
	// listsHere matches calls that list the current directory, or the program's.
	listsHere = regexp.MustCompile(`\b(?:(?:listdir|scandir)\(\s*|(?:listdir|scandir|walk(?:Sync)?|readdir(?:Sync)?|readDir(?:Sync)?|opendir(?:Sync)?)\(\s*(?:r?["'` + "`" + `]\./?["'` + "`" + `]|(?:os\.get|process\.|Deno\.)cwd\(\)|os\.curdir|__dirname|import\.meta\.dirname)\s*)[,)]` +
		`|(?:\bPath\((?:["']\.?["'])?\)|\bcwd\(\)|\.parent)\.(?:iterdir|rglob)\(` +
		`|(?:^|[^.\w]|\bglob\.|\bfs\.|\bPath\((?:["']\.?["'])?\)\.)i?glob(?:Sync)?\(\s*["'](?:\*\*/)?\*["']`)
	// assigned matches the assignment of a name.
	assigned = regexp.MustCompile(`(?m)^[ \t]*(?:(?:export )?(?:const|let|var) )?(\w+)(?:: ?\w+)? = ([^=\n].*)$`)
	// here matches expressions of the current directory, the program's, or one above.
	here  = regexp.MustCompile(`\b__file__\b|\bcwd\(\)|\b__dirname\b|\bimport\.meta\b|\bPath\(\)|["']\.{1,2}/?["']`)
	plain = regexp.MustCompile(`["']\.{0,2}/?["']`) // strings that name nothing else
)

// listsNamed reports whether a text lists a directory by a name that it has given to the
// current one, the program's or one above.
func listsNamed(code string, args []string) bool {
	for _, m := range assigned.FindAllStringSubmatch(code, maxLookups) {
		if !here.MatchString(m[2]) || strings.ContainsAny(plain.ReplaceAllString(m[2], ""), `"'`) || strings.Contains(m[2], "argv") && len(args) > 0 {
			continue
		}
		lists := regexp.MustCompile(`\b` + m[1] + `\.(?:iterdir|rglob|walk)\(|\b` + m[1] + `\.glob\(\s*["'](?:\*\*/)?\*["']` +
			`|(?:listdir|scandir|walk|[rR]ead[dD]ir|opendir)(?:Sync)?\(\s*` + m[1] + `\s*[,)]`)
		if lists.MatchString(code) {
			return true
		}
	}
	return false
}

// maxUnlisted is how many bytes a directory may have that a text names which lists none.
const maxUnlisted = 16 << 20

// takeNamed takes the directories that the texts name, each with all that is in it or
// nothing: a program lists them, or puts names together.
func (b *beside) takeNamed() {
	b.asset = false
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
		for i := range b.files[before:] {
			f := &b.files[before+i]
			f.Asset = !b.imports[dir] && isScript(f.Path)
			b.read(*f)
		}
	}
	b.dirs = nil
}

// tellUnlisted says that the program lists a directory of which it sees a part.
func (b *beside) tellUnlisted(code string, l runners.Language, args []string) {
	if l != runners.Bash && !listsHere.MatchString(code) && !listsNamed(code, args) {
		return
	}
	if l == runners.Bash && (!shellListsHere.MatchString(code) || goesAway.MatchString(code)) {
		return
	}
	entries, _ := fs.ReadDir(b.root.FS(), ".")
	for _, e := range entries {
		name := e.Name()
		if name != b.program && !skipped(name) && !b.hasBelow(name) {
			fmt.Fprintln(b.warn, "coderunner: the program sees the files of its directory that its text names, and lists no others (--dir", printable(fromHere(b.dir)), "adds them)")
			return
		}
	}
}

// hasBelow reports whether the program has a file of this path, or below it.
func (b *beside) hasBelow(name string) bool {
	return slices.ContainsFunc(b.files, func(f runners.File) bool { return f.Path == name || strings.HasPrefix(f.Path, name+"/") })
}
