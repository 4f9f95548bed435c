package main

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
)

// A text may put the name of a file together, of which it has the ending:
// f"sales-{month}.csv", stem + ".csv", "%s.csv", or $stem.csv in bash. And data that it
// names, such as a configuration, may name files.

var (
	filled      = regexp.MustCompile(`\$?\{[^{}]*\}|%[-0]?\d*[sd]`)
	filledShell = regexp.MustCompile(`\$\{[^{}\s]*\}|\$\w+`)
	filledName  = regexp.MustCompile(`^(?:\./)?[\w.-]*\*[\w.*-]*\.[a-zA-Z]\w{0,4}$`)
	shellFilled = regexp.MustCompile(`(?:^|[\s"'=(<>:]|\$\{?\w+\}?"?/)((?:\./)?[\w.-]*(?:\$\{[^{}\s]*\}|\$\w+)[\w.${}-]*\.[a-zA-Z]\w{0,4})\b`)
	onlyEnding  = regexp.MustCompile(`^\.[a-zA-Z]\w{0,4}$`)
	ending      = regexp.MustCompile(`(?:[\w)\]]\s*\+\s*|\b(?:with_suffix|concat)\(\s*)["'\x60]([\w-]*\.[a-zA-Z]\w{0,4})["'\x60]`)
)

// madeNames returns patterns of the names that a text puts together.
func madeNames(code string, names []string, l runners.Language) (patterns []string) {
	add := func(pattern string) {
		if len(patterns) < maxPatterns && filledName.MatchString(pattern) {
			patterns = append(patterns, pattern)
		}
	}
	if l == runners.Bash {
		for _, m := range shellFilled.FindAllStringSubmatch(code, maxLookups) {
			add(filledShell.ReplaceAllString(m[1], "*"))
		}
		return patterns
	}
	for _, name := range names {
		if onlyEnding.MatchString(name) && runners.ParseLanguage(name[1:]) == "" {
			add("*" + name)
		}
		if pattern := filled.ReplaceAllString(name, "*"); pattern != name {
			add(pattern)
		}
	}
	for _, m := range ending.FindAllStringSubmatch(code, maxPatterns) {
		add("*" + m[1])
	}
	return patterns
}

// maxListing bounds the data that is searched for names, in bytes.
const maxListing = 64 << 10

var (
	dataName = regexp.MustCompile(`[\pL\pN_./+-]{1,255}`)
	// dataDir matches settings, whose values may be directories.
	dataDir = regexp.MustCompile(`[\pL\pN_]["']?\s*[:=]\s*["']?([\pL\pN_./-]{1,255})`)
	listed  = []string{".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".txt", ".lst", ".env"}
	// notListed are data for tools.
	notListed = regexp.MustCompile(`(?:^|/)(?:package(?:-lock)?|[tj]sconfig[\w.-]*|deno|composer)\.json$|\.lock$|(?:^|/)(?:pyproject\.toml|setup\.cfg|tox\.ini|requirements[\w.-]*\.txt)$`)
)

// listsFiles reports whether a file is data that may name others: one of many that a
// pattern matches is none.
func listsFiles(f runners.File) bool {
	return !f.Asset && len(f.Data) <= maxListing && slices.Contains(listed, path.Ext(f.Path)) && !notListed.MatchString(f.Path)
}

// searchData takes the files that data names, from its directory or one above, and the
// directories that a setting does.
func (b *beside) searchData(t text) {
	dirs := map[string]bool{}
	for _, m := range dataDir.FindAllStringSubmatch(t.code, maxLookups) {
		dirs[strings.TrimRight(m[1], "./")] = true
	}
	for _, word := range dataName.FindAllString(t.code, maxLookups) {
		name := strings.TrimRight(word, "./")
		isDir := dirs[name] || strings.Contains(name, "/")
		if path.Ext(name) == "" && !isDir {
			continue
		}
		for dir := t.dir; ; dir = path.Dir(dir) {
			at := path.Join(dir, name)
			if info, err := b.root.Stat(at); err == nil && (isDir || info.Mode().IsRegular()) && info.Size() <= b.left && !hidden(at) && !hidden(b.target(at)) {
				if found := b.take(at); found != "" {
					b.dirs = append(b.dirs, found)
				}
			}
			if dir == "." {
				break
			}
		}
	}
}
