package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
)

// maxMissing bounds how many messages, and names in one, are looked at.
const maxMissing = 20

var (
	// missing matches lines that say that something is not there.
	missing = regexp.MustCompile(`(?im)^.*(?:\bno such file|\bcannot (?:open|find|read)\b|\b(?:could not|couldn't) (?:open|find|read)\b|\bnot (?:be )?found\b|\b(?:does not|doesn't) exist\b|\bmissing\b|\bENOENT\b|\bos error 2\b).*$`)
	// quotedOrBare matches what may be the name of a file in them.
	quotedOrBare = regexp.MustCompile(`'[^'\n]+'|"[^"\n]+"|[^\s'"]+`)
	quoted       = regexp.MustCompile(`'([^'\n]+)'|"([^"\n]+)"`)
	workPath     = regexp.MustCompile(`^(?:file://)?/\S*/coderunner-deno-[^/]+/r\d+/work/|^/home/user/`)
)

// notSeen returns the line which says that a file that an error names is there, in dir or
// where its path says, but that the program was not given it. "": there is none.
func notSeen(e *runners.Error, dir string, given []runners.File) string {
	if e == nil || e.Type != "FileNotFoundError" && e.Type != "NotFound" && !strings.Contains(e.Message, "ENOENT") {
		return ""
	}
	for _, m := range quoted.FindAllStringSubmatch(e.Message, maxMissing) {
		name := workPath.ReplaceAllString(m[1]+m[2], "")
		for _, at := range []string{filepath.Join(dir, name), name} {
			info, err := os.Stat(at)
			from := fromHere(at)
			if !filepath.IsLocal(name) {
				from = name
			}
			switch {
			case err != nil || at == "" || slices.ContainsFunc(given, func(f runners.File) bool { return f.Path == path.Clean(name) }) || filepath.Clean(at) == filepath.Clean(dir):
			case !filepath.IsLocal(name) && (filepath.IsAbs(name) || e.Type != "FileNotFoundError" || fromHere(dir) != "."):
				shown := absolute(at)
				if !info.IsDir() {
					shown = filepath.Dir(shown)
				}
				return "coderunner: a program sees nothing outside of its directory: --allow-read=" + printable(shown) + " shows it this one, under that path\n"
			case info.IsDir():
				return "coderunner: the program was not given " + printable(name) + ": --dir " + printable(from) + " adds it\n"
			default:
				return "coderunner: the program was not given " + printable(name) + ": --file " + printable(from) + " adds it\n"
			}
		}
	}
	return ""
}

// refuse says that the program does not see a file, once for a link that leads away.
func (b *beside) refuse(name string, err error) {
	at := name
	for parent := path.Dir(at); parent != "."; parent = path.Dir(parent) {
		if _, err := b.root.Stat(parent); err != nil {
			at = parent
		}
	}
	if at != name && b.known[at] || b.hasBelow(at) {
		return // said already, or given by --dir
	}
	b.known[at] = true
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		if err = cause.Err; err.Error() == "path escapes from parent" { // os has no name for it
			err = errors.New("leads out of its directory")
		}
	}
	fmt.Fprintf(b.warn, "coderunner: %s: %v, so the program does not see it%s\n", printable(at), err, b.flagFor(at))
}

// flagFor returns the flag that has the program see a file which take does not take.
func (b *beside) flagFor(name string) string {
	at := filepath.Join(b.dir, name)
	info, err := os.Stat(at)
	switch {
	case err == nil && info.IsDir():
		return " (--dir " + printable(fromHere(at)) + ")"
	case err != nil || !info.Mode().IsRegular() || info.Size() > b.left:
		return ""
	}
	return " (--file " + printable(fromHere(at)) + ")"
}

// fromHere returns a path as the command line would name it.
func fromHere(at string) string {
	at, err := filepath.Abs(at)
	if rel, relErr := filepath.Rel(absolute("."), at); err == nil && relErr == nil && filepath.IsLocal(rel) {
		return rel
	}
	return at
}
