// Package wheel reads Python wheels, which are untrusted input, and unpacks
// them into a directory.
//
// It downloads nothing and does not choose wheels; package resolver does. A wheel that breaks a rule is refused as a whole
// with a *[RefusedError] that says which rule, and nothing outside the target
// directory is ever written.
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
	"context"
	"fmt"
	"io"
	"strings"
)

// Limits bound a wheel's contents. They are counted while inflating; sizes in the
// headers are not trusted.
type Limits struct {
	Entries    int   // entries of the archive
	TotalBytes int64 // all files together, unpacked
	NameBytes  int   // length of an entry's name
	Ratio      int64 // unpacked to packed size, for wheels past RatioFrom
	RatioFrom  int64 // bytes, unpacked
}

// DefaultLimits leave room for the largest wheels of PyPI.
var DefaultLimits = Limits{
	Entries:    60_000,
	TotalBytes: 2 << 30,
	NameBytes:  1024,
	Ratio:      100,
	RatioFrom:  64 << 20,
}

// The largest sizes of the three files that describe a wheel.
const (
	maxMetadata = 8 << 20
	maxRecord   = 32 << 20
)

// RefusedError is why a wheel is not trusted.
type RefusedError struct {
	File   string // the wheel's file name
	Reason string // one sentence without a full stop
}

func (e *RefusedError) Error() string { return "wheel " + e.File + " refused: " + e.Reason }

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
	if !ok || !w.Name.is(project, version) {
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
	if err := w.archive.copy(&b, e, limit); err != nil {
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

// InstallTo writes the wheel's files below dir, which must exist and should be
// empty, and checks each against RECORD. Files for which keep returns false are
// checked and not written; a nil keep keeps all. After an error the directory
// holds a part of the wheel; the caller removes it.
func (w *Wheel) InstallTo(ctx context.Context, dir string, keep func(path string) bool) error {
	if err := w.install(ctx, dir, keep); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("unpack %s: %w", w.Name.Filename, ctx.Err())
		}
		return err
	}
	return nil
}
