// Package wheel reads Python wheels, which are untrusted input, and unpacks
// them into a directory.
//
// It downloads nothing and does not choose wheels; package resolver does. A wheel that
// breaks a rule is refused as a whole with a *[RefusedError] that names the rule, and
// nothing outside the target directory is ever written.
//
// # Sources
//
// The binary distribution format and the file name convention:
// https://packaging.python.org/en/latest/specifications/binary-distribution-format/,
// RECORD: https://packaging.python.org/en/latest/specifications/recording-installed-packages/,
// tags: PEP 425, the zip format: APPNOTE.TXT 6.3.10. The rules against
// archives that two readers see differently are those that PyPI applies to
// uploads.
//
// # Limits
//
// Zip64 archives (over 4 GiB or 65,535 entries) are refused, and so are other
// methods than stored and deflated. Scripts, headers and data of a .data
// directory are left out. Signatures (RECORD.jws, RECORD.p7s) are not verified.
//
// # Testing
//
// FuzzOpen is seeded with wheels that the tests build.
package wheel

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// The largest sizes of the three files that describe a wheel.
const (
	maxMetadata = 8 << 20
	maxRecord   = 32 << 20
)

// Wheel is an open wheel. Its methods are safe for concurrent use as long as
// the reader it was opened with is.
type Wheel struct {
	Name     Name
	Metadata Metadata

	limits  Limits
	archive *archive
	record  map[string]recordEntry
	files   []file // files to install, by path
}

// file is an entry and its path when installed.
type file struct {
	path  string // slash-separated, below the installation directory
	entry *entry
}

// Open reads the wheel's directory and descriptions and checks everything that
// can be checked without reading the files themselves: names, sizes, headers,
// WHEEL, METADATA and the completeness of RECORD. InstallTo checks the rest.
// The reader must stay open while the wheel is used.
func Open(r io.ReaderAt, size int64, filename string, limits Limits) (*Wheel, error) {
	name, err := ParseName(filename)
	if err != nil {
		return nil, err
	}
	w := &Wheel{Name: name, limits: limits}
	if err := w.open(r, size); err != nil {
		return nil, &RefusedError{File: name.Filename, Reason: err.Error()}
	}
	return w, nil
}

func (w *Wheel) open(r io.ReaderAt, size int64) error {
	var err error
	if w.archive, err = readArchive(r, size, w.limits); err != nil {
		return err
	}
	info, err := w.distInfo()
	if err != nil {
		return err
	}
	if err := w.readWheelFile(info + "/WHEEL"); err != nil {
		return err
	}
	raw, err := w.describing(info+"/METADATA", maxMetadata)
	if err != nil {
		return err
	}
	if w.Metadata, err = parseMetadata(raw); err != nil {
		return err
	}
	if err := w.Metadata.agree(w.Name); err != nil {
		return err
	}
	raw, err = w.describing(info+"/RECORD", maxRecord)
	if err != nil {
		return err
	}
	if w.record, err = parseRecord(raw); err != nil {
		return err
	}
	if err := w.checkRecord(info); err != nil {
		return err
	}
	return w.layOut(strings.TrimSuffix(info, ".dist-info") + ".data")
}

// distInfo returns the only .dist-info directory, which must have the project and
// version of the file name.
func (w *Wheel) distInfo() (string, error) {
	found := ""
	for _, e := range w.archive.entries {
		top, _, _ := strings.Cut(e.name, "/")
		if !strings.HasSuffix(top, ".dist-info") || top == found {
			continue
		}
		if found != "" {
			return "", fmt.Errorf("it has two .dist-info directories, %q and %q", found, top)
		}
		found = top
	}
	if found == "" {
		return "", fmt.Errorf("it has no .dist-info directory")
	}
	project, version, ok := strings.Cut(strings.TrimSuffix(found, ".dist-info"), "-")
	if !ok || Normalize(project) != w.Name.Project || !SameVersion(version, w.Name.Version) {
		return "", fmt.Errorf("its directory %q is not of %s %s", found, w.Name.Project, w.Name.Version)
	}
	return found, nil
}

// describing reads a file of the .dist-info directory.
func (w *Wheel) describing(name string, limit int64) ([]byte, error) {
	e := w.archive.byName[name]
	if e == nil {
		return nil, fmt.Errorf("it has no %s", name)
	}
	var b bytes.Buffer
	if err := w.archive.inflate(&b, e, limit); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// IsNative reports whether the file is machine code for some platform: an
// extension module or a shared library.
func IsNative(path string) bool {
	base := path[strings.LastIndexByte(path, '/')+1:]
	for _, ext := range []string{".so", ".pyd", ".dylib", ".dll"} {
		if strings.HasSuffix(base, ext) {
			return true
		}
	}
	return strings.Contains(base, ".so.")
}

// schemes are the directories of .data: true if their files go to site-packages,
// false if they are left out.
var schemes = map[string]bool{
	"purelib": true, "platlib": true,
	"scripts": false, "headers": false, "data": false,
}

// readWheelFile checks the format's version and that every tag of the file
// name is one that the wheel was built for.
func (w *Wheel) readWheelFile(path string) error {
	raw, err := w.describing(path, maxMetadata)
	if err != nil {
		return err
	}
	fields, err := parseHeaders(raw)
	if err != nil {
		return fmt.Errorf("its WHEEL has %v", err)
	}
	var built []string
	version := ""
	for _, f := range fields {
		switch f.key {
		case "wheel-version":
			version = f.value
		case "tag":
			built = append(built, f.value)
		}
	}
	if major, _, _ := strings.Cut(version, "."); major != "1" {
		return fmt.Errorf("its format is version %q, only 1.x is known", version)
	}
	for _, t := range w.Name.Tags {
		if !slices.ContainsFunc(built, func(s string) bool { return tagCovers(s, t) }) {
			return fmt.Errorf("its file name says %s, its WHEEL file does not", t)
		}
	}
	return nil
}

// tagCovers reports whether t is in the possibly compressed tag set s.
func tagCovers(s string, t Tag) bool {
	parts := strings.Split(s, "-")
	if len(parts) != 3 {
		return false
	}
	return slices.Contains(strings.Split(parts[0], "."), t.Python) &&
		slices.Contains(strings.Split(parts[1], "."), t.ABI) &&
		slices.Contains(strings.Split(parts[2], "."), t.Platform)
}

// checkRecord checks that RECORD and the archive name the same files. The hashes
// are checked when the files are read.
func (w *Wheel) checkRecord(info string) error {
	unhashed := map[string]bool{
		info + "/RECORD": true, info + "/RECORD.jws": true, info + "/RECORD.p7s": true,
	}
	for _, e := range w.archive.entries {
		if e.dir {
			continue
		}
		r, ok := w.record[e.name]
		switch {
		case unhashed[e.name]:
		case !ok:
			return fmt.Errorf("its file %q is not in RECORD", e.name)
		case r.algorithm == "":
			return fmt.Errorf("RECORD has no hash for %q", e.name)
		case r.size >= 0 && r.size != e.size:
			return fmt.Errorf("its file %q has %d bytes, in RECORD %d", e.name, e.size, r.size)
		}
	}
	for path := range w.record {
		if w.archive.byName[path] == nil && !strings.HasSuffix(path, "/") {
			return fmt.Errorf("RECORD names %q, which is not in the wheel", path)
		}
	}
	return nil
}

// layOut decides where each file goes: to its own path, or from the .data
// directory, whose name must be data, to site-packages.
func (w *Wheel) layOut(data string) error {
	taken := map[string]bool{}
	dirs := map[string]bool{}
	folded := map[string]string{}
	for _, e := range w.archive.entries {
		if e.dir {
			continue
		}
		target := e.name
		if top, rest, nested := strings.Cut(e.name, "/"); nested && top == data {
			scheme, below, inside := strings.Cut(rest, "/")
			keep, known := schemes[scheme]
			if !known || !inside {
				return fmt.Errorf("its .data directory has an unknown part, %q", e.name)
			}
			if !keep {
				continue
			}
			target = below
		}
		if taken[target] {
			return fmt.Errorf("two of its files would become %q", target)
		}
		if err := checkFold(folded, target); err != nil {
			return err
		}
		taken[target] = true
		for dir := path.Dir(target); dir != "." && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
		w.files = append(w.files, file{path: target, entry: e})
	}
	for _, f := range w.files {
		if dirs[f.path] {
			return fmt.Errorf("its %q is a file and a directory", f.path)
		}
	}
	return nil
}
