package main

import (
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

// quotedPatterns returns the strings of a text that are patterns of files' names, and
// have more than wildcards.
func quotedPatterns(names []string) (patterns []string) {
	for _, name := range names {
		if len(patterns) < maxPatterns && strings.ContainsAny(name, "*?[") && !strings.Contains(name, "**") && telling.MatchString(brackets.ReplaceAllString(name, "")) {
			patterns = append(patterns, strings.ReplaceAll(name, "[!", "[^"))
		}
	}
	return patterns
}

// takeAll takes a directory that a text names which lists directories, with all that is
// in it or nothing.
func (b *beside) takeAll(dir string) {
	if hidden(dir) || slices.ContainsFunc(strings.Split(dir, "/"), skipped) || hidden(b.target(dir)) {
		return
	}
	if err := b.argument(b.root, dir); err != nil {
		fmt.Fprintf(b.warn, "coderunner: %s: %v, so the program does not see it\n", printable(dir), err)
	}
}

// tellUnlisted says that the program lists a directory of which it sees a part.
func (b *beside) tellUnlisted(code string, l runners.Language) {
	if l == runners.Bash || !listsHere.MatchString(code) {
		return
	}
	entries, _ := fs.ReadDir(b.root.FS(), ".")
	for _, e := range entries {
		name := e.Name()
		below := func(f runners.File) bool { return f.Path == name || strings.HasPrefix(f.Path, name+"/") }
		if name != b.program && !skipped(path.Base(name)) && !slices.ContainsFunc(b.files, below) {
			fmt.Fprintln(b.warn, "coderunner: the program sees the files of its directory that its text names, and lists no others (--dir . adds them)")
			return
		}
	}
}
