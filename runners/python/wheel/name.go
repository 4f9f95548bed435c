package wheel

import (
	"fmt"
	"strings"

	"deps.dev/util/pypi"

	"coderunner/internal/lazyregexp"
)

// maxFilename bounds a wheel's file name, as file systems do.
const maxFilename = 255

// Name is a parsed file name of a wheel.
type Name struct {
	Filename string
	Project  string // normalised: lower case, "-" between words
	Version  string // as written, "-" for "_"; see SameVersion
	Build    int    // build number, 0 when there is none
	Tags     []Tag  // expanded: "py2.py3-none-any" is two
}

// Tag is a compatibility tag (PEP 425).
type Tag struct{ Python, ABI, Platform string }

func (t Tag) String() string { return t.Python + "-" + t.ABI + "-" + t.Platform }

var filenamePattern = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._]*-[A-Za-z0-9._+!]+(-[0-9][A-Za-z0-9_.]*)?-[A-Za-z0-9._]+-[A-Za-z0-9._]+-[A-Za-z0-9._]+\.whl$`)

// ParseName parses a wheel's file name. It fails with a *[RefusedError].
func ParseName(filename string) (Name, error) {
	if len(filename) > maxFilename {
		return Name{}, &RefusedError{File: filename[:40] + "…", Reason: "its file name is too long"}
	}
	refuse := func(reason string) (Name, error) {
		return Name{}, &RefusedError{File: fmt.Sprintf("%q", filename), Reason: reason}
	}
	if !filenamePattern.MatchString(filename) {
		return refuse("that is not a wheel's file name (name-version-python-abi-platform.whl)")
	}
	info, err := pypi.ParseWheelName(filename)
	if err != nil {
		return refuse(err.Error())
	}
	parts := strings.Split(filename, "-")
	n := Name{
		Filename: filename,
		Project:  Normalize(parts[0]),
		Version:  strings.ReplaceAll(parts[1], "_", "-"),
		Build:    info.BuildTag.Num,
	}
	for _, p := range info.Platforms {
		n.Tags = append(n.Tags, Tag{p.Python, p.ABI, p.Platform})
	}
	return n, nil
}

// Normalize returns a project's name as indexes write it (PEP 503).
func Normalize(name string) string { return pypi.CanonPackageName(name) }

// SameVersion compares two spellings of a version (PEP 440).
func SameVersion(a, b string) bool { return a == b || CanonVersion(a) == CanonVersion(b) }

// CanonVersion returns the one spelling of a version (PEP 440).
func CanonVersion(v string) string {
	// The wheel format writes "-" of a local version as "_".
	return pypi.CanonVersion(strings.ReplaceAll(v, "_", "-"))
}
