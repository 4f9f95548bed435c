// Package contents describes the entries of a cache: packages, runtimes, compiled code,
// downloads. It knows the kinds and keys that the runners and package fetch give their
// entries, which package cache does not.
package contents

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coderunner/cache"
	"coderunner/internal/order"
)

// Line is a package, or everything of one sort.
type Line struct {
	Name  string
	Sort  string // "runtime", "python" or "npm"; "" if it is not one package
	Count int    // of entries
	Size  int64  // bytes
	Used  time.Time
}

// sorts are the lines for entries that are not of one package, by kind.
var sorts = map[string]string{
	"snapshot": "snapshots", "library": "compiled code", "library-code": "compiled code", "wheel-code": "compiled code", "bytecode": "compiled code", "compiled": "compiled code",
	"module": "compiled code", "machine-code": "compiled code", "stdlib": "compiled code", "built": "compiled code", "built-code": "compiled code", "deno-code": "compiled code", "deno-snapshot": "snapshots",
	"sha256": "downloads", "sha512": "downloads",
}

// Sums returns the sums of entries by sort, in the order of their names. It does not
// look at the disk: the entries may be gone.
func Sums(entries []cache.Entry) (lines []*Line) {
	for _, e := range entries {
		name := cmp.Or(sorts[e.Kind], "other")
		switch {
		case e.Section == cache.Tools && e.Key == "deno":
			name = "Deno's packages"
		case e.Section == cache.Trees && runtime(e.Kind):
			name = "runtimes"
		case e.Section == cache.Trees && e.Kind == "wheel":
			name = "Python packages"
		}
		i := slices.IndexFunc(lines, func(l *Line) bool { return l.Name == name })
		if i < 0 {
			i, lines = len(lines), append(lines, &Line{Name: name})
		}
		lines[i].add(e)
	}
	slices.SortFunc(lines, func(a, b *Line) int { return strings.Compare(a.Name, b.Name) })
	return lines
}

func (l *Line) add(e cache.Entry) {
	l.Count++
	l.Size += e.Size
	if e.Used.After(l.Used) {
		l.Used = e.Used
	}
}

// runtime reports whether entries of a kind are packages that the runtimes are made of.
func runtime(kind string) bool { return kind == "npm" || kind == "deno-binary" }

// Sizes returns how much of the entries counts against the cache's limit, and how much
// does not: sessions.
func Sizes(entries []cache.Entry) (counted, sessions int64) {
	for _, e := range entries {
		if e.Counts() {
			counted += e.Size
		} else {
			sessions += e.Size
		}
	}
	return counted, sessions
}

// packageSorts are the sorts of content that are packages, in the order they are
// listed.
var packageSorts = []string{"runtime", "python", "npm"}

// Lines returns the packages among entries, by language and name, and then the sums of
// the rest.
func Lines(ctx context.Context, entries []cache.Entry) []*Line {
	found := map[string]*Line{}
	add := func(key, sort, name string, e cache.Entry) {
		if found[key] == nil {
			found[key] = &Line{Name: name, Sort: sort}
		}
		found[key].add(e)
	}
	var rest []cache.Entry
	for _, e := range entries {
		switch {
		case !e.Counts(): // has a line of its own
		case e.Section == cache.Trees && runtime(e.Kind):
			at := max(strings.LastIndexByte(e.Key, '@'), 0)
			version, _, _ := strings.Cut(e.Key[at:], "-") // the digest follows
			add(e.Key, "runtime", strings.Replace(e.Key[:at], "+", "/", 1)+strings.Replace(version, "@", " ", 1), e)
		case e.Section == cache.Trees && e.Kind == "wheel":
			key, _, _ := strings.Cut(e.Key, "-") // the download's digest
			add(key, "python", wheelName(e), e)
		case e.Section == cache.Tools && e.Key == "deno":
			for _, p := range npmPackages(e) {
				p.Size = cache.DiskUse(ctx, p.Path)
				add(p.Path, "npm", p.Key, p)
				e.Size -= p.Size
			}
			rest = append(rest, e)
		default:
			rest = append(rest, e)
		}
	}
	for _, e := range rest {
		if e.Section == cache.Blobs && found[e.Key] != nil {
			add(e.Key, "", "", e)
			continue
		}
		sort := cmp.Or(sorts[e.Kind], "other")
		add(sort, "", sort, e)
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *Line) int {
		place := func(l *Line) int { return slices.Index(append(packageSorts, ""), l.Sort) }
		return cmp.Or(place(a)-place(b), strings.Compare(a.Name, b.Name), strings.Compare(a.Sort, b.Sort))
	})
}

// Packages returns the cached packages of programs, "six 1.17.0", those that were used
// last first, for Python and npm. Nothing is measured, which would take seconds.
func Packages(ctx context.Context, c *cache.Cache) (map[string][]string, error) {
	wheels, err := c.List(ctx, "wheel")
	names := map[string][]string{}
	add := func(sort string, list []cache.Entry, name func(cache.Entry) string) {
		order.Stably(list, func(a, b cache.Entry) int { return b.Used.Compare(a.Used) })
		for _, e := range list {
			if text := Printable(name(e)); !slices.Contains(names[sort], text) {
				names[sort] = append(names[sort], text)
			}
		}
	}
	add("python", wheels, wheelName)
	add("npm", npmPackages(cache.Entry{Path: c.Path("deno")}), func(e cache.Entry) string { return e.Key })
	return names, err
}

// Compiled returns the names of the cached Python packages with machine code, those
// that were used last first.
func Compiled(ctx context.Context, c *cache.Cache) (names []string) {
	wheels, err := c.List(ctx, "wheel")
	if err != nil {
		return nil // a list for readers, and the next run tells what is wrong
	}
	order.Stably(wheels, func(a, b cache.Entry) int { return b.Used.Compare(a.Used) })
	for _, e := range wheels {
		name, _, _ := strings.Cut(Printable(wheelName(e)), " ")
		if isCompiled(e) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// isCompiled reports whether an unpacked wheel says that it has machine code.
func isCompiled(e cache.Entry) bool {
	found, _ := filepath.Glob(filepath.Join(e.Path, "data", "*.dist-info", "WHEEL"))
	if len(found) == 0 {
		return false
	}
	text, err := os.ReadFile(found[0])
	return err == nil && strings.Contains(string(text), "Root-Is-Purelib: false")
}

// wheelName returns the name and version of an unpacked wheel.
func wheelName(e cache.Entry) string {
	found, _ := fs.Glob(os.DirFS(filepath.Join(e.Path, "data")), "*.dist-info")
	if len(found) == 0 {
		return "libraries " + e.Key[:min(12, len(e.Key))]
	}
	return strings.Replace(strings.TrimSuffix(found[0], ".dist-info"), "-", " ", 1)
}

// npmPackages returns the packages in Deno's directory, with their names and
// versions as keys and without their sizes.
func npmPackages(deno cache.Entry) (list []cache.Entry) {
	for _, pattern := range []string{"npm/*/[^@]*/[0-9]*", "npm/*/@*/*/[0-9]*"} {
		found, _ := fs.Glob(os.DirFS(deno.Path), pattern)
		for _, dir := range found {
			name := strings.Split(dir, "/")[2:]
			path := filepath.Join(deno.Path, filepath.FromSlash(dir))
			last := len(name) - 1
			if info, err := os.Lstat(path); err == nil && info.IsDir() {
				list = append(list, cache.Entry{Section: cache.Tools, Path: path, Key: strings.Join(name[:last], "/") + " " + name[last], Used: info.ModTime()})
			}
		}
	}
	return list
}
