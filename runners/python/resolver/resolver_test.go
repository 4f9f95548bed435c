package resolver

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coderunner/internal/versions"
	"coderunner/runners/python/index"
	"coderunner/runners/python/lockfile"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/wheel"
)

func testResolver(t *testing.T) *Resolver {
	t.Helper()
	lock, err := lockfile.Parse([]byte(`{"info": {"abi_version": "2026_0", "python": "3.14.2"}, "packages": {
	 "pure": {"name": "pure", "version": "1.0", "file_name": "pure-1.0-py3-none-any.whl", "depends": [], "package_type": "package"},
	 "needs": {"name": "needs", "version": "1.0", "file_name": "needs-1.0-py3-none-any.whl", "depends": ["pure", "fast"], "package_type": "package"},
	 "fast": {"name": "fast", "version": "1.0", "file_name": "fast-1.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl", "package_type": "package"},
	 "markupsafe": {"name": "MarkupSafe", "version": "3.0", "file_name": "markupsafe-3.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl", "package_type": "package"},
	 "orphan": {"name": "orphan", "version": "1.0", "file_name": "orphan-1.0-py3-none-any.whl", "depends": ["static"], "package_type": "package"},
	 "static": {"name": "static", "version": "1.0", "file_name": "static-1.0.tar", "package_type": "shared_library"},
	 "linked": {"name": "linked", "version": "1.0", "file_name": "linked-1.0-py3-none-any.whl", "depends": ["lib"], "package_type": "package"},
	 "lib": {"name": "lib", "version": "1.0", "file_name": "lib-1.0.zip", "package_type": "shared_library"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Config{Lock: lock})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFit(t *testing.T) {
	r := testResolver(t)
	// Of each line, the former is taken before the latter; "-" separates what
	// fits from what does not.
	for _, line := range []string{
		"a-1-py314-none-any.whl a-1-py3-none-any.whl -",
		"a-1-cp314-none-any.whl a-1-py313-none-any.whl a-1-py2.py3-none-any.whl - a-1-py2-none-any.whl a-1-py315-none-any.whl",
		"a-1-5-py3-none-any.whl a-1-py3-none-any.whl -",
		"a-1-cp314-cp314-pyemscripten_2026_0_wasm32.whl a-1-cp313-abi3-pyemscripten_2026_0_wasm32.whl a-1-cp314-none-any.whl - a-1-cp314-cp314-win_amd64.whl",
		"markupsafe-1-cp314-cp314-pyemscripten_2026_0_wasm32.whl markupsafe-1-py3-none-any.whl " +
			"markupsafe-1-cp314-cp314-manylinux_2_17_x86_64.manylinux2014_x86_64.whl markupsafe-1-cp314-cp314-win_amd64.whl - " +
			"markupsafe-1-cp313-cp313-win_amd64.whl markupsafe-1-cp314-cp314t-win_amd64.whl markupsafe-1-cp313-cp313-pyemscripten_2026_0_wasm32.whl",
		"watchdog-1-py3-none-manylinux2014_x86_64.whl watchdog-1-cp314-cp314-macosx_11_0_arm64.whl - watchdog-1-py2-none-manylinux2014_x86_64.whl a-1-py3-none-manylinux2014_x86_64.whl",
		"tornado-1-cp39-abi3-macosx_10_9_universal2.whl - tornado-1-cp315-abi3-win_amd64.whl",
	} {
		before, fits := 1<<40, true
		for _, word := range strings.Fields(line) {
			if word == "-" {
				fits = false
				continue
			}
			n, err := wheel.ParseName(word)
			if err != nil {
				t.Fatal(err)
			}
			got := r.fit(n)
			if got.ok != fits || fits && got.rank >= before || !fits && got.note == "" {
				t.Errorf("%s: %+v, want it to fit: %v, and a rank below %d", word, got, fits, before)
			}
			if want := fits && !strings.HasSuffix(word, "any.whl") && !strings.HasSuffix(word, "wasm32.whl"); got.strip != want {
				t.Errorf("%s: strip is %v", word, got.strip)
			}
			before = got.rank
		}
	}
}

func TestOffered(t *testing.T) {
	r := testResolver(t)
	s := &session{Resolver: r}
	offers, reasons := s.offered()
	want := []string{"fast", "lib", "linked", "markupsafe", "needs", "pure"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(offers))); diff != "" {
		t.Error(diff)
	}
	if len(reasons) != 0 {
		t.Errorf("reasons %v", reasons)
	}
	r.noteBase(false)
	if offers, reasons = s.offered(); len(offers) != 0 || !strings.Contains(reasons["pure"], "cannot be reached") {
		t.Errorf("offers %v, reasons %v", offers, reasons)
	}
}

func TestMissing(t *testing.T) {
	r := testResolver(t)
	r.noteBase(true)
	if got := r.Missing(t.Context()); len(got) != 0 {
		t.Errorf("%q are missing while the base can be reached", got)
	}
	r.noteBase(false)
	if got, want := r.Missing(t.Context()), []string{"fast", "markupsafe"}; !slices.Equal(got, want) {
		t.Errorf("missing %q, want %q", got, want)
	}
}

func TestDescribe(t *testing.T) {
	for _, test := range []struct {
		notes []string
		want  string
	}{
		{nil, "has only an sdist, which is not built: other versions have compiled wheels"},
		{[]string{"win", "macosx", "win"}, "has only wheels for macosx, win"},
		{[]string{"win"}, "has only wheels for win"},
		{strings.Fields("a b c d e f g h"), "has only wheels for a, b, c, d, e, f, 2 more"},
	} {
		if got := describe(test.notes, ""); got != test.want {
			t.Errorf("describe(%q) = %q, want %q", test.notes, got, test.want)
		}
	}
}

// Files of other projects on a project's page are not taken.
func TestSortFiles(t *testing.T) {
	s := &session{Resolver: testResolver(t)}
	p := &project{}
	s.sortLocked(p, "alpha", []index.File{
		{Filename: "alpha-1.0-py3-none-any.whl"},
		{Filename: "alpha-1.0-py3-none-any.whl", URL: "second"},
		{Filename: "beta-1.0-py3-none-any.whl"},
		{Filename: "alpha-2.0.tar.gz"},
		{Filename: "beta-3.0.tar.gz"},
		{Filename: "alpha-nonsense.whl"},
	})
	first, sdist := p.files["alpha-1.0-py3-none-any.whl"], p.files["alpha-2.0.tar.gz"]
	if len(p.files) != 2 || first.version != "1.0" || first.URL != "" || sdist.rank >= first.rank {
		t.Errorf("files %+v", p.files)
	}
	if len(p.others) != 0 {
		t.Error(p.others)
	}
}

func TestRegistries(t *testing.T) {
	for _, bad := range []string{"ftp://x.invalid/", "x.invalid/simple", "https://x.invalid/?a=b", "https://x.invalid/\x00", ":"} {
		_, err := New(Config{Index: bad})
		if err == nil || !strings.Contains(err.Error(), "PIP_INDEX_URL") || strings.Contains(err.Error(), "x.invalid") {
			t.Errorf("New with the index %q: %v", bad, err)
		}
	}
	r, err := New(Config{Index: "https://user:pass@x.invalid/simple"})
	if err != nil || r.index.Path != "/simple/" {
		t.Fatal(r, err)
	}
	s := &session{Resolver: r}
	for link, want := range map[string]string{
		"https://x.invalid/files/a.whl": "user", "https://files.invalid/a.whl": "", "http://x.invalid/a.whl": "",
	} {
		u, err := s.address(pin{URL: link, Source: sourcePyPI})
		if err != nil || u.User.Username() != want {
			t.Errorf("the address of %s has the user %q, want %q (%v)", link, u.User.Username(), want, err)
		}
	}
	if got := hostOf(r.index); got != "x.invalid" {
		t.Errorf("hostOf = %q", got)
	}
	if got := hostOf(&url.URL{Scheme: "file", Path: "/srv/simple/"}); got != "/srv/simple/" {
		t.Errorf("hostOf a directory = %q", got)
	}
}

func TestFreshAnswers(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		a    answer
		want bool
	}{
		{answer{When: now.Add(-time.Hour)}, true},
		{answer{When: now.Add(-25 * time.Hour)}, false},
		{answer{When: now.Add(time.Hour)}, false}, // the clock was wrong
		{answer{When: now.Add(-1000 * time.Hour), Pinned: true}, true},
	} {
		if got := test.a.fresh(now); got != test.want {
			t.Errorf("%+v is fresh: %v", test.a, got)
		}
	}
	reqs := []requirement.Requirement{{Name: "a", Specifier: "==1"}, {Name: "b", Specifier: ">=1"}}
	if !pinned(reqs, []pin{{Name: "a"}}) || pinned(reqs, []pin{{Name: "a"}, {Name: "b"}}) || pinned(reqs, nil) {
		t.Error("pinned is wrong")
	}
}

// The versions that the code names and those of the pinned release agree.
func TestPins(t *testing.T) {
	if !strings.HasPrefix(versions.CPythonVersion, "3.14.") || cpythonTag != "cp314" {
		t.Errorf("CPython %s, tag %s, minor %d", versions.CPythonVersion, cpythonTag, pythonMinor)
	}
}

// What an index lists besides versions is passed over, and the best file of a version taken.
func TestProject(t *testing.T) {
	s := &session{Resolver: testResolver(t), pages: map[string]*project{"alpha": {
		files: map[string]candidate{
			"a":   {File: index.File{Filename: "a"}, version: "1.0", rank: 1},
			"b":   {File: index.File{Filename: "b"}, version: "1.0.0", rank: 2},
			"c":   {File: index.File{Filename: "c", Yanked: true}, version: "1.1"},
			"d":   {File: index.File{Filename: "d", RequiresPython: "<3.10"}, version: "2.0"},
			"odd": {File: index.File{Filename: "odd"}, version: "of its own"},
		},
		others: map[string]string{"3.0": "has only wheels for win", "no version": "", "1": "has only an sdist"},
	}}}
	p, err := (&search{session: s}).Project(t.Context(), "alpha")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Releases) != 1 || p.Releases[0].File != "b" || len(p.Yanked) != 1 || p.Yanked[0].File != "c" {
		t.Errorf("%+v", p)
	}
	var unfit []string
	for _, u := range p.Unfit {
		unfit = append(unfit, u.Version.String()+" "+u.Why)
	}
	want := []string{"2.0 needs Python <3.10, this is 3.14.2", "3.0 has only wheels for win"}
	if diff := cmp.Diff(want, unfit); diff != "" {
		t.Error(diff)
	}
}
