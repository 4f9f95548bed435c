package requirement

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Version is a version of a project (PEP 440).
type Version struct {
	epoch   uint64
	release []uint64
	phase   phase
	pre     uint64 // the number of the alpha, beta or release candidate
	post    uint64 // the number of the post-release plus one, 0 if it is none
	dev     uint64 // the number of the developmental release plus one, 0 if it is none
	local   []string
}

// phase orders the versions of one release.
type phase int8

const (
	developmental phase = iota - 4 // 1.0.dev1, but not 1.0a1.dev1
	alpha
	beta
	candidate
	final
)

// IsPreRelease reports whether the version is an alpha, a beta, a release candidate
// or a developmental release.
func (v Version) IsPreRelease() bool { return v.phase != final || v.dev != 0 }

// SameMajor reports whether two versions have the same epoch and first number.
func SameMajor(a, b Version) bool { return a.epoch == b.epoch && a.number(0) == b.number(0) }

// number returns a number of the release, 0 for one that is not written.
func (v Version) number(i int) uint64 {
	if i < len(v.release) {
		return v.release[i]
	}
	return 0
}

// Compare returns -1, 0 or 1 if v is before, the same as, or after w. 1.0 and 1.0.0
// are the same.
func (v Version) Compare(w Version) int {
	if c := v.compareRelease(w); c != 0 {
		return c
	}
	return cmp.Or(
		cmp.Compare(v.phase, w.phase),
		cmp.Compare(v.pre, w.pre),
		cmp.Compare(v.post, w.post),
		cmp.Compare(v.dev-1, w.dev-1), // 0 wraps around: developmental releases are before the release
		slices.CompareFunc(v.local, w.local, compareLocal),
	)
}

func (v Version) compareRelease(w Version) int {
	c := cmp.Compare(v.epoch, w.epoch)
	for i := 0; c == 0 && i < max(len(v.release), len(w.release)); i++ {
		c = cmp.Compare(v.number(i), w.number(i))
	}
	return c
}

// compareLocal compares two parts of local versions: words are before numbers.
func compareLocal(a, b string) int {
	switch number, other := isNumber(a), isNumber(b); {
	case number && other:
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	case number:
		return 1
	case other:
		return -1
	}
	return cmp.Compare(a, b)
}

// String returns the version in PEP 440's normal form.
func (v Version) String() string {
	var b []byte
	if v.epoch != 0 {
		b = fmt.Appendf(b, "%d!", v.epoch)
	}
	for i, n := range v.release {
		if i > 0 {
			b = append(b, '.')
		}
		b = strconv.AppendUint(b, n, 10)
	}
	switch v.phase {
	case alpha:
		b = fmt.Appendf(b, "a%d", v.pre)
	case beta:
		b = fmt.Appendf(b, "b%d", v.pre)
	case candidate:
		b = fmt.Appendf(b, "rc%d", v.pre)
	}
	if v.post != 0 {
		b = fmt.Appendf(b, ".post%d", v.post-1)
	}
	if v.dev != 0 {
		b = fmt.Appendf(b, ".dev%d", v.dev-1)
	}
	if v.local != nil {
		b = append(append(b, '+'), strings.Join(v.local, ".")...)
	}
	return string(b)
}
