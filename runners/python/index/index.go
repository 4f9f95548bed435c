// Package index reads the pages of a Python package index: the simple
// repository API, in HTML and in JSON, whichever the index answers with.
//
// Pages are untrusted input. The package neither fetches pages nor chooses files.
//
// # Sources
//
// https://packaging.python.org/en/latest/specifications/simple-repository-api/
// (PEP 503, 592, 691, 700).
//
// # Limits
//
// Hashes other than SHA-256 are not read. Metadata files (PEP 658) are not
// used: the wheels themselves are checked.
//
// # Testing
//
// FuzzParse covers both forms.
package index

import (
	"net/url"
	"path"
	"strings"
)

// MaxPage bounds a page in bytes. The largest of PyPI have some 20 MB.
const MaxPage = 64 << 20

// maxFiles bounds the files of one project.
const maxFiles = 200_000

// Accept is the Accept header for the forms that Parse reads, JSON preferred.
const Accept = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"

// File is one file of a project.
type File struct {
	Filename       string
	URL            string // absolute
	SHA256         string // hexadecimal, "" when the index states none
	RequiresPython string
	Yanked         bool
	Day            string // of its upload, "2026-11-22", or ""
}

// PageError is the reason why a page is not an index page.
type PageError struct{ Reason string }

func (e *PageError) Error() string { return "not a page of a package index: " + e.Reason }

// resolve makes a link absolute and moves the hash from its fragment to file.
func resolve(link string, base *url.URL) (file File, ok bool) {
	if name := plain(link); name != "" && base.User == nil {
		return File{Filename: name, URL: link}, true
	}
	u, err := base.Parse(strings.TrimSpace(link))
	if err != nil || u.Opaque != "" || u.Path == "" {
		return File{}, false
	}
	switch u.Scheme {
	case "https", "http":
	case "file":
		// A page from the network must not name files of this machine.
		if base.Scheme != "file" {
			return File{}, false
		}
	default:
		return File{}, false
	}
	if sum, found := strings.CutPrefix(u.Fragment, "sha256="); found && isSHA256(sum) {
		file.SHA256 = strings.ToLower(sum)
	}
	u.Fragment, u.RawFragment = "", ""
	if u.Host == base.Host && u.User == nil {
		// As pip does: the index's credentials are for its files, too.
		u.User = base.User
	}
	file.URL = u.String()
	file.Filename = path.Base(u.Path)
	return file, true
}

const lowerDigits = "abcdefghijklmnopqrstuvwxyz0123456789.-"

// plain returns the file's name in a link that parsing would not change: a page may have
// 20,000. For other links it returns "".
func plain(link string) (name string) {
	rest, secure := strings.CutPrefix(link, "https://")
	host, file, _ := strings.Cut(rest, "/")
	if secure && host != "" && only(host, lowerDigits) && only(file, lowerDigits+"/_+ABCDEFGHIJKLMNOPQRSTUVWXYZ") && !strings.Contains("/"+file, "/.") {
		name = file[strings.LastIndexByte(file, '/')+1:]
	}
	return name
}

// only reports whether a text has no other characters.
func only(text, characters string) bool { return strings.Trim(text, characters) == "" }

func isSHA256(s string) bool {
	return len(s) == 64 && only(s, "0123456789abcdefABCDEF")
}
