package main

import (
	"regexp"
	"slices"

	"coderunner/runners"
)

// A program that counts the lines of "*.py" reads 25 scripts and runs none, so what
// these import is not installed. A file that a pattern has matched is an asset, and so
// is what only assets name, unless another text names it, or one of them may run files
// that it does not name.

// runsFiles matches what may run files by names that are not in the text.
var runsFiles = regexp.MustCompile(`\b(?:import_module|__import__|run_module|run_path|runpy|spec_from_file_location|SourceFileLoader|pkgutil|subprocess|child_process|execa|zx|createRequire|pytest|unittest|doctest|vitest|jest|mocha)\b` +
	`|\bos\.(?:exec|spawn|posix_spawn|popen|system)|\bDeno\.Command\b|\b(?:Worker|fork)\(` +
	`|(?:^|[^.\w])(?:exec|eval|compile|system|popen)\(|\b(?:require|import)\(\s*(?:[^"'\s]|["'][^"'\n]*["']\s*\+)|(?m:^[ \t]*(?:!|%run\b))`)

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
