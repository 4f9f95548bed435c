package project

import (
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// pattern is a line of a .gitignore.
//
// Source: https://git-scm.com/docs/gitignore
type pattern struct {
	parts   []string // between slashes; "**" stands for any number
	include bool     // what it matches is not ignored
	dirs    bool     // it matches directories only
}

// ignoreFile is a .gitignore above the directory of a view.
type ignoreFile struct {
	to       string // path of the view's directory from the file's
	patterns []pattern
}

// maxIgnore bounds the size of a .gitignore, in bytes.
const maxIgnore = 1 << 20

// parsePatterns returns the patterns in the text of a .gitignore.
func parsePatterns(text []byte) (list []pattern) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
			line = line[:len(line)-1]
		}
		if line == "" || line[0] == '#' {
			continue
		}
		var p pattern
		if line[0] == '!' {
			p.include, line = true, line[1:]
		}
		if strings.HasSuffix(line, "/") {
			p.dirs, line = true, strings.TrimSuffix(line, "/")
		}
		if line == "" {
			continue
		}
		if !strings.Contains(line, "/") {
			line = "**/" + line
		}
		p.parts = strings.Split(strings.TrimPrefix(line, "/"), "/")
		for i, part := range p.parts {
			p.parts[i] = strings.ReplaceAll(part, "[!", "[^")
		}
		list = append(list, p)
	}
	return list
}

// match reports whether parts of a pattern match a name, which is not "".
func match(parts []string, name string) bool {
	for len(parts) > 0 {
		if parts[0] == "**" {
			if len(parts) == 1 {
				return true
			}
			for {
				if match(parts[1:], name) {
					return true
				}
				var deeper bool
				if _, name, deeper = strings.Cut(name, "/"); !deeper {
					return false
				}
			}
		}
		first, rest, more := strings.Cut(name, "/")
		if ok, err := path.Match(parts[0], first); !ok || err != nil || more != (len(parts) > 1) {
			return false
		}
		parts, name = parts[1:], rest
	}
	return true
}

// decide returns the last of the patterns that matches a name, nil if none does.
func decide(list []pattern, name string, isDir bool) *pattern {
	for i := len(list) - 1; i >= 0; i-- {
		if p := &list[i]; (isDir || !p.dirs) && match(p.parts, name) {
			return p
		}
	}
	return nil
}

// ignored reports whether version control ignores a name whose directory it does not.
func (v *View) ignored(name string, isDir bool) bool {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		rel := name
		if dir != "." {
			rel = name[len(dir)+1:]
		}
		if p := decide(v.patterns(dir), rel, isDir); p != nil {
			return !p.include
		}
		if dir == "." {
			break
		}
	}
	return ignoredBy(v.above, name, isDir)
}

// ignoredBy is ignored by the files above, the nearest first.
func ignoredBy(above []ignoreFile, name string, isDir bool) bool {
	for _, f := range above {
		if p := decide(f.patterns, path.Join(f.to, name), isDir); p != nil {
			return !p.include
		}
	}
	return false
}

// patterns returns those of the .gitignore in a directory.
func (v *View) patterns(dir string) []pattern {
	v.mu.Lock()
	defer v.mu.Unlock()
	list, known := v.ignores[dir]
	if !known {
		at := filepath.Join(filepath.FromSlash(dir), ".gitignore")
		if info, err := v.root.Lstat(at); err == nil && info.Mode().IsRegular() { // as Git follows no link
			if f, err := v.root.Open(at); err == nil {
				text, _ := io.ReadAll(io.LimitReader(f, maxIgnore))
				f.Close()
				list = parsePatterns(text)
			}
		}
		v.ignores[dir] = list
	}
	return list
}

// ignoresAbove returns the .gitignore files above a directory that is in a repository, the
// nearest first, and then the info/exclude of that. A directory that is ignored itself is seen
// nevertheless, for the user has named it.
func ignoresAbove(dir string) (list []ignoreFile) {
	for to, at := ".", dir; ; {
		if at != dir {
			list = append(list, ignoreFile{to, readPatterns(filepath.Join(at, ".gitignore"))})
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			list = append(list, ignoreFile{to, readPatterns(filepath.Join(gitDir(at), "info", "exclude"))})
			break
		}
		up := filepath.Dir(at)
		if up == at {
			return nil // it is in no repository
		}
		to, at = path.Join(filepath.Base(at), to), up
	}
	whole := list[len(list)-1].to
	for end := range len(whole) + 1 {
		if whole == "." || end < len(whole) && whole[end] != '/' {
			continue
		}
		for i, f := range list { // relative to each file that is above
			if rest, ok := strings.CutSuffix(whole, f.to); ok && f.to != "." && end > len(rest) {
				if p := decide(list[i].patterns, whole[len(rest):end], true); p != nil && !p.include {
					return nil
				}
			}
		}
	}
	return list
}

// gitDir returns the directory of a repository's own files, which work trees share.
func gitDir(at string) string {
	dir := filepath.Join(at, ".git")
	text, err := os.ReadFile(dir)
	if err != nil {
		return dir
	}
	dir = rooted(at, strings.TrimPrefix(string(text), "gitdir:"))
	if text, err = os.ReadFile(filepath.Join(dir, "commondir")); err == nil {
		dir = rooted(dir, string(text))
	}
	return dir
}

// rooted returns the path that a text names, from a directory if it is relative.
func rooted(dir, text string) string {
	if text = filepath.FromSlash(strings.TrimSpace(text)); filepath.IsAbs(text) {
		return text
	}
	return filepath.Join(dir, text)
}

func readPatterns(name string) []pattern {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxIgnore)) // as far as it can be read
	return parsePatterns(text)
}
