package resolver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"coderunner/runners/python/pypi"
	"coderunner/runners/python/standins"
	"coderunner/runners/python/wheel"
)

// The Python whose wheels are wanted.
const (
	pythonMinor = 14
	cpythonTag  = "cp314"
)

// pythonOnly reports whether a project works without its extension modules: by itself, or
// with a stand-in for them.
func pythonOnly(project string) bool {
	return standins.Known()[project].Compiled || slices.Contains(pypi.Known().PythonOnly, project)
}

// fitness reports whether and how a wheel can be used.
type fitness struct {
	ok    bool
	rank  int    // among the wheels of one version, the highest is taken
	strip bool   // without its extension modules and libraries
	note  string // the wheel's platform, if not ok: "manylinux"
}

// The ranks, best first: wheels compiled for this runtime, as packaging sorts
// tags, pure wheels, wheels of which the Python part is used, and wheels that
// were compiled for an older runtime, and what has to be built.
const (
	rankNative = 2_000_000
	rankPure   = 1_000_000
	rankOther  = 100_000
	rankOlder  = 0
	rankSdist  = -1
)

// olderPlatforms are earlier ABIs of the same architecture, with few differences
// for a library. A wheel for one is better than none, if it does not depend on the
// CPython version.
var olderPlatforms = []string{"pyemscripten_2025_0_wasm32", "pyodide_2025_0_wasm32"}

// here reports whether a platform tag is this runtime's: PEP 783's, its
// predecessor, or that of the Emscripten release.
func (r *Resolver) here(platform string) bool {
	switch platform {
	case "pyemscripten_" + r.lock.ABI + "_wasm32", "pyodide_" + r.lock.ABI + "_wasm32", r.lock.Platform + "_wasm32":
		return true
	}
	return false
}

// fit returns the fitness of a wheel by its tags.
func (r *Resolver) fit(n wheel.Name) fitness {
	best := fitness{note: "no tags"}
	for _, t := range n.Tags {
		f := r.fitTag(n, t)
		if f.ok && (!best.ok || f.rank > best.rank) || !best.ok && !f.ok {
			best = f
		}
	}
	best.rank += min(n.Build, 999)
	return best
}

func (r *Resolver) fitTag(n wheel.Name, t wheel.Tag) fitness {
	switch {
	case t.Platform == "any" && t.ABI == "none":
		if level := pythonLevel(t.Python); level > 0 {
			return fitness{ok: true, rank: rankPure + 1000*level}
		}
		return fitness{note: "Python " + t.Python}
	case r.here(t.Platform) && abiFits(t):
		return native(t)
	case slices.Contains(olderPlatforms, t.Platform) && t.ABI != cpythonTag && abiFits(t):
		return fitness{ok: true, rank: rankOlder}
	case abiFits(t) && pythonOnly(n.Project):
		// The same files whatever the platform; prefer the most common, so
		// that the choice does not depend on the order of the index's page.
		rank := rankOther
		if strings.HasPrefix(t.Platform, "manylinux") && strings.HasSuffix(t.Platform, "x86_64") {
			rank += 1000
		}
		return fitness{ok: true, rank: rank, strip: true}
	}
	return fitness{note: platformName(t)}
}

// native ranks a wheel compiled for this runtime: for this CPython version first,
// then for a stable ABI.
func native(t wheel.Tag) fitness {
	rank := rankNative
	if t.ABI == cpythonTag {
		rank += 1000
	}
	return fitness{ok: true, rank: rank}
}

// pythonLevel ranks the interpreter tag of a pure wheel; 0 does not fit.
func pythonLevel(tag string) int {
	switch {
	case tag == cpythonTag:
		return 100
	case tag == "py3":
		return 20
	}
	minor, ok := strings.CutPrefix(tag, "py3")
	if v, err := strconv.Atoi(minor); ok && err == nil && v <= pythonMinor {
		return 21 + v
	}
	return 0
}

// abiFits reports whether a tag of this platform is for this Python.
func abiFits(t wheel.Tag) bool {
	switch t.ABI {
	case cpythonTag:
		return t.Python == cpythonTag
	case "none":
		return pythonLevel(t.Python) > 0
	case "abi3":
		minor, ok := strings.CutPrefix(t.Python, "cp3")
		v, err := strconv.Atoi(minor)
		return ok && err == nil && v <= pythonMinor
	}
	return false
}

// isPlatform reports whether the note of a wheel that does not fit is a platform,
// not a Python.
func isPlatform(note string) bool { return !strings.HasPrefix(note, "Python ") }

// platformName returns the platform of a wheel that does not fit.
func platformName(t wheel.Tag) string {
	for _, known := range []string{"manylinux", "musllinux", "macosx", "win", "linux", "android", "ios"} {
		if strings.HasPrefix(t.Platform, known) {
			return known
		}
	}
	if t.Platform == "any" {
		return "Python " + t.Python
	}
	return fmt.Sprintf("%s (%s)", t.Platform, t.Python)
}

// describe returns what a version has instead of a fitting wheel. unbuilt is why an
// sdist of the project cannot be built, "" if none was tried.
func describe(notes []string, unbuilt string) string {
	slices.Sort(notes)
	notes = slices.Compact(notes)
	if len(notes) > 6 {
		notes = append(notes[:6], fmt.Sprintf("%d more", len(notes)-6))
	}
	switch {
	case len(notes) == 0 && unbuilt != "":
		return "has only an sdist, and " + unbuilt
	case len(notes) == 0:
		return "has only an sdist, which is not built: other versions have compiled wheels"
	}
	return "has only wheels for " + strings.Join(notes, ", ")
}
