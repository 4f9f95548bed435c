package main

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
)

// Bounds of the patterns of a text and of what they are matched with.
const (
	maxPatterns = 100
	maxBraces   = 20     // patterns that one with braces stands for
	maxEntries  = 50_000 // directory entries that all patterns of a program read
)

var (
	brackets = regexp.MustCompile(`\[[^\]]*\]?`)
	telling  = regexp.MustCompile(`[./_-][*?]*[\pL\pN]|[\pL\pN][*?]*[./_-]`)
	braces   = regexp.MustCompile(`\{([^{}]*,[^{}]*)\}`)
	rglobs   = regexp.MustCompile(`\brglob\(`)
)

// isPattern reports whether a text is a pattern of files' names that has more than
// wildcards.
func isPattern(text string) bool {
	return strings.ContainsAny(text, "*?[") && telling.MatchString(strings.NewReplacer("{", "", "}", "").Replace(brackets.ReplaceAllString(text, "")))
}

// quotedPatterns returns the strings of a text that are patterns, and those that
// rglob looks for in all directories.
func quotedPatterns(code string, names []string) (patterns []string) {
	deep := rglobs.MatchString(code)
	for _, name := range names {
		if len(patterns) >= maxPatterns || !isPattern(name) {
			continue
		}
		if patterns = append(patterns, name); deep {
			patterns = append(patterns, "**/"+name)
		}
	}
	return patterns
}

// match takes the files beside the program that a pattern matches, as assets, but no
// hidden ones.
func (b *beside) match(pattern string) {
	defer func(was bool) { b.asset = was }(b.asset)
	b.asset = true
	names := b.matches(b.root.FS(), pattern)
	if b.here != nil {
		names = append(names, b.matches(b.here.FS(), pattern)...)
	}
	for _, name := range names {
		if len(b.files) <= runners.MaxFiles {
			b.take(name)
		}
	}
}

// guess takes the files that a pattern matches if there is room for each: nobody has
// named them.
func (b *beside) guess(pattern string) {
	for _, root := range []*os.Root{b.root, b.here} {
		if root == nil {
			continue
		}
		for _, name := range b.matches(root.FS(), pattern) {
			if info, err := root.Stat(name); err == nil && info.Size() <= b.left && !hidden(b.target(name)) {
				b.match(name)
			}
		}
	}
}

// matches returns the files that a pattern matches: also one with braces, and one
// with "**", which stands for any directories. What is hidden or installed is none.
func (b *beside) matches(fsys fs.FS, pattern string) (names []string) {
	all := []string{pattern}
	for i := 0; i < len(all) && len(all) < maxBraces; i++ {
		if m := braces.FindStringSubmatchIndex(all[i]); m != nil {
			for part := range strings.SplitSeq(all[i][m[2]:m[3]], ",") {
				all = append(all, all[i][:m[0]]+part+all[i][m[1]:])
			}
		}
	}
	for _, p := range all {
		p = strings.ReplaceAll(path.Clean(p), "[!", "[^")
		if fs.ValidPath(p) && !braces.MatchString(p) {
			b.below(fsys, ".", strings.Split(p, "/"), &names)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// below adds the files in dir that the parts of a pattern match. It follows no
// symlink for "**", which might lead in a circle.
func (b *beside) below(fsys fs.FS, dir string, parts []string, names *[]string) {
	part, rest := parts[0], parts[1:]
	deep := part == "**"
	if deep && len(rest) > 0 {
		b.below(fsys, dir, rest, names)
	}
	if !strings.ContainsAny(part, `*?[\`) {
		b.step(fsys, path.Join(dir, part), rest, names)
		return
	}
	if b.entries >= maxEntries {
		return
	}
	entries, _ := fs.ReadDir(fsys, dir)
	b.entries += len(entries)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch ok, _ := path.Match(part, e.Name()); {
		case skipped(e.Name()):
		case deep && e.IsDir():
			b.below(fsys, name, parts, names)
		case deep && len(rest) > 0:
		case ok:
			b.step(fsys, name, rest, names)
		}
	}
}

// step goes on with what a part of a pattern matches.
func (b *beside) step(fsys fs.FS, name string, rest []string, names *[]string) {
	if skipped(path.Base(name)) {
		return
	}
	if len(rest) > 0 {
		b.below(fsys, name, rest, names)
	} else if info, err := fs.Stat(fsys, name); err == nil && info.Mode().IsRegular() {
		*names = append(*names, name)
	}
}
