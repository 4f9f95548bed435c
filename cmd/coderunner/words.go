package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
)

// Names of files in a bash script are seldom quoted: each word may be one. What
// follows the first slash counts where an expansion precedes it ("$DIR"/lib.sh).
var (
	shellWord    = regexp.MustCompile(`\$?[\pL\pN_./@+-]{1,255}`)
	shellPattern = regexp.MustCompile(`[\pL\pN_./@+*?\[\]!^$-]*[*?\[][\pL\pN_./@+*?\[\]!^$-]*`)
	brackets     = regexp.MustCompile(`\[[^\]]*\]?`)
	telling      = regexp.MustCompile(`[./_-][*?]*[\pL\pN]|[\pL\pN][*?]*[./_-]`)
)

// maxPatterns bounds how many patterns of a script are matched.
const maxPatterns = 100

// shellWords returns the words of a bash script that may name files, and the
// patterns outside of strings that have more than wildcards.
func shellWords(code string) (words, patterns []string) {
	for _, word := range shellWord.FindAllString(code, maxLookups) {
		words = append(words, bare(word))
	}
	for _, pattern := range shellPattern.FindAllString(literal.ReplaceAllString(code, ""), maxPatterns) {
		pattern = bare(pattern)
		if telling.MatchString(brackets.ReplaceAllString(pattern, "")) && !strings.Contains(pattern, "**") {
			patterns = append(patterns, strings.ReplaceAll(pattern, "[!", "[^"))
		}
	}
	return words, patterns
}

// bare returns what may be a path in a word.
func bare(word string) string {
	if at := strings.LastIndexByte(word, '$'); at >= 0 {
		_, word, _ = strings.Cut(word[at:], "/")
	}
	return strings.TrimRight(strings.TrimLeft(word, "-+@/"), ".")
}

// match takes the files that a pattern matches, but no hidden ones.
func (b *beside) match(pattern string) {
	if strings.ContainsAny(path.Dir(path.Dir(pattern)), "*?[") {
		return // it would read many directories
	}
	names, _ := fs.Glob(b.root.FS(), pattern)
	for _, name := range names {
		if !hidden(name) && !slices.ContainsFunc(strings.Split(name, "/"), skipped) && len(b.files) <= runners.MaxFiles {
			b.take(name)
		}
	}
}

// maxMissing bounds how many messages are searched for names.
const maxMissing = 20

var missing = regexp.MustCompile(`(?m)^.*(?:No such file or directory|cannot open file).*$`)

// unseen reports whether messages of a bash program say that there is no such file
// though it is beside the program, which was not given it.
func unseen(program, stderr string, given []runners.File) bool {
	root, err := os.OpenRoot(filepath.Dir(program))
	if err != nil {
		return false
	}
	defer root.Close()
	for _, line := range missing.FindAllString(stderr, maxMissing) {
		for _, word := range shellWord.FindAllString(line, maxMissing) {
			name := path.Clean(bare(word))
			if name == "." || hidden(name) || name == filepath.Base(program) || slices.ContainsFunc(given, func(f runners.File) bool { return f.Path == name }) {
				continue
			}
			if _, err := root.Stat(name); err == nil {
				return true
			}
		}
	}
	return false
}
