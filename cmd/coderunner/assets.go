package main

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
)

// A program that counts the lines of "*.py" reads 25 scripts and runs none, so what
// these import is not installed. A file that a pattern has matched is an asset, so is one
// of JavaScript in a directory that a string happens to name ('test'), and so
// is what only assets name, unless another text names it, or one of them may run files
// that it does not name.

// runsFiles matches what may run files by names that are not in the text.
var runsFiles = regexp.MustCompile(`\b(?:import_module|__import__|run_module|run_path|runpy|spec_from_file_location|SourceFileLoader|pkgutil|subprocess|child_process|execa|zx|createRequire|pytest|unittest|doctest|vitest|jest|mocha|vite|webpack|rollup|rolldown|parcel|esbuild|tsup|jiti|knex|umzug|typeorm|autoload)\b` +
	`|\bos\.(?:exec|spawn|posix_spawn|popen|system)|\bDeno\.Command\b|\b(?:Worker|fork)\(` +
	`|(?:^|[^.\w])(?:exec|eval|compile|system|popen)\(|\b(?:require|import)\(\s*(?:[^"'\s]|["'][^"'\n]*["']\s*\+)|(?m:^[ \t]*(?:!|%run\b))`)

// importedName matches the names of imports in JavaScript.
var importedName = regexp.MustCompile(`(?:\bfrom|\bimport|\bimport\(|\brequire\()\s*["']([^"'\n]{1,255})["']`)

// importedDirs returns the directories that a text imports, of which index.js may be
// another file by their package.json.
func importedDirs(code, dir string) []string {
	var names []string
	for _, m := range importedName.FindAllStringSubmatch(code, maxLookups) {
		if strings.HasPrefix(m[1], ".") {
			names = append(names, path.Join(dir, m[1]))
		}
	}
	return names
}

// isScript reports whether a file is one of JavaScript or TypeScript.
func isScript(name string) bool {
	l := endingLanguage(name)
	return l != "" && l != runners.Python && l != runners.Bash
}

// reconsider makes a file that was an asset one of the program's, if what names it is.
func (b *beside) reconsider(name string) {
	if b.asset {
		return
	}
	at := slices.IndexFunc(b.files, func(f runners.File) bool { return f.Asset && f.Path == name })
	if at >= 0 {
		b.files[at].Asset = false
		b.read(b.files[at]) // for what it names
	}
}

// judgeAssets makes all assets files of the program if that may run them.
func (b *beside) judgeAssets() {
	if !b.runs {
		return
	}
	for i := range b.files {
		b.files[i].Asset = false
	}
}
