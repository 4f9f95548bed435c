package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"coderunner/cache"
	"coderunner/runners/python"
)

// content is a line of cache list: a package, or everything of one sort.
type content struct {
	name  string
	sort  string
	count int
	size  int64
	used  time.Time
}

// sorts are the lines for entries that are not of one package, by kind.
var sorts = map[string]string{
	"snapshot": "snapshots", "library": "compiled code", "library-code": "compiled code", "wheel-code": "compiled code",
	"module": "compiled code", "machine-code": "compiled code", "stdlib": "compiled code", "deno-code": "compiled code",
	"sha256": "downloads", "sha512": "downloads",
}

// sums returns the sums of entries by sort, without a look at the disk: the entries may
// be gone.
func sums(entries []cache.Entry) (lines []*content) {
	found := map[string]*content{}
	for _, e := range entries {
		sort := cmp.Or(sorts[e.Kind], "other")
		switch {
		case e.Section == cache.Tools && e.Key == "deno":
			sort = "Deno's packages"
		case e.Section == cache.Trees && e.Kind == "npm":
			sort = "runtimes"
		case e.Section == cache.Trees && e.Kind == "wheel":
			sort = "Python packages"
		}
		if found[sort] == nil {
			found[sort] = &content{name: sort}
			lines = append(lines, found[sort])
		}
		found[sort].count++
		found[sort].size += e.Size
	}
	slices.SortFunc(lines, func(a, b *content) int { return strings.Compare(a.name, b.name) })
	return lines
}

// packageSorts are the sorts of content that are packages, in the order they are
// listed.
var packageSorts = []string{"runtime", "python", "npm"}

// contents returns the packages in the cache, by language and name, and then the
// sums of the rest.
func contents(ctx context.Context, entries []cache.Entry) []*content {
	found := map[string]*content{}
	add := func(key, sort, name string, e cache.Entry) {
		at := found[key]
		if at == nil {
			at = &content{name: name, sort: sort}
			found[key] = at
		}
		at.count++
		at.size += e.Size
		if e.Used.After(at.used) {
			at.used = e.Used
		}
	}
	var rest []cache.Entry
	for _, e := range entries {
		switch {
		case !e.Counts(): // has a line of its own
		case e.Section == cache.Trees && e.Kind == "npm":
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
	lines := make([]*content, 0, len(found))
	for _, line := range found {
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b *content) int {
		place := func(c *content) int { return slices.Index(append(packageSorts, ""), c.sort) }
		return cmp.Or(place(a)-place(b), strings.Compare(a.name, b.name), strings.Compare(a.sort, b.sort))
	})
	return lines
}

// printContents prints the packages in the cache, the sums of the rest and of all.
func printContents(ctx context.Context, w io.Writer, c *cache.Cache, entries []cache.Entry, limit int64) error {
	packages := 0
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, line := range contents(ctx, entries) {
		text := printable(line.sort + " " + line.name)
		if line.sort == "" {
			text = fmt.Sprintf("%s (%d)", line.name, line.count)
		} else {
			packages++
		}
		fmt.Fprintf(table, "%s\t%s\t  %s\n", humanSize(line.size), humanAge(time.Since(line.used)), text)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printSum(w, c, packages, "packages", entries, limit)
}

// printSum prints what counts against the cache's limit, and below it what does not.
func printSum(w io.Writer, c *cache.Cache, n int, name string, entries []cache.Entry, limit int64) error {
	counted, apart := countedSize(entries)
	_, err := fmt.Fprintf(w, "%d %s, %s%s in %s\n", n, name, humanSize(counted), ofLimit(limit), c.Root())
	if err == nil && apart > 0 {
		_, err = fmt.Fprintf(w, "besides, sessions: %s (coderunner sessions; CODE_RUNNER_SESSION_DISK limits them)\n", humanSize(apart))
	}
	return err
}

// cachedPackages returns the cached packages of programs, "six 1.17.0", those that
// were used last first, for Python and npm. Nothing is measured, which would take
// seconds.
func cachedPackages(ctx context.Context, c *cache.Cache) (map[string][]string, error) {
	wheels, err := c.List(ctx, "wheel")
	names := map[string][]string{}
	add := func(sort string, list []cache.Entry, name func(cache.Entry) string) {
		slices.SortStableFunc(list, func(a, b cache.Entry) int { return b.Used.Compare(a.Used) })
		for _, e := range list {
			if text := printable(name(e)); !slices.Contains(names[sort], text) {
				names[sort] = append(names[sort], text)
			}
		}
	}
	add("python", wheels, wheelName)
	add("npm", npmPackages(cache.Entry{Path: c.Path("deno")}), func(e cache.Entry) string { return e.Key })
	return names, err
}

// compiledPackages returns the names of the cached Python packages with machine
// code, those that were used last first.
func compiledPackages(ctx context.Context, c *cache.Cache) (names []string) {
	wheels, err := c.List(ctx, "wheel")
	if err != nil {
		return nil // a list for readers, and the next run tells what is wrong
	}
	slices.SortStableFunc(wheels, func(a, b cache.Entry) int { return b.Used.Compare(a.Used) })
	for _, e := range wheels {
		name, _, _ := strings.Cut(printable(wheelName(e)), " ")
		if isCompiled(e) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// missingPackages returns the compiled packages that are not in the cache and cannot
// be installed.
func (b *backend) missingPackages(ctx context.Context) []string {
	p, ok := b.python.(*python.Runner)
	if !ok {
		return nil
	}
	here := compiledPackages(ctx, b.cache)
	return slices.DeleteFunc(p.Missing(ctx), func(name string) bool { return slices.Contains(here, name) })
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
