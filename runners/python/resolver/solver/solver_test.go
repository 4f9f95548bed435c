package solver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coderunner/runners/python/requirement"
)

// world is a Source of lines such as "beta 1.0: alpha<2; gamma". A version behind
// which stands "win" has no wheel, and one with "yanked" was withdrawn. "@2019" is the
// year of its upload.
type world struct {
	projects map[string]*Project
	requires map[string][]string
	fetched  []string
}

func parseWorld(t *testing.T, text string) *world {
	t.Helper()
	w := &world{projects: map[string]*Project{}, requires: map[string][]string{}}
	for line := range strings.Lines(text) {
		head, requires, _ := strings.Cut(strings.TrimSpace(line), ":")
		words := strings.Fields(head)
		if len(words) == 0 {
			continue
		}
		name, text := words[0], words[1]
		v, err := requirement.ParseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		p := w.projects[name]
		if p == nil {
			p = &Project{}
			w.projects[name] = p
		}
		r := Release{Version: v, Text: text, File: name + "-" + text + ".whl"}
		for _, word := range words[2:] {
			if year, ok := strings.CutPrefix(word, "@"); ok {
				r.Day, _ = time.Parse("2006", year)
			}
		}
		switch {
		case slices.Contains(words, "win"):
			p.Unfit = append(p.Unfit, Unfit{v, "has only wheels for win", r.Day})
		case slices.Contains(words, "yanked"):
			p.Yanked = append(p.Yanked, r)
		case slices.Contains(words, "locked"):
			p.Offer = &Release{Version: v, Text: text}
		default:
			p.Releases = append(p.Releases, r)
		}
		for _, r := range strings.FieldsFunc(requires, func(c rune) bool { return c == '|' }) {
			w.requires[name+" "+text] = append(w.requires[name+" "+text], strings.TrimSpace(r))
		}
	}
	return w
}

func (w *world) Project(_ context.Context, name string) (*Project, error) {
	if p := w.projects[name]; p != nil {
		return p, nil
	}
	return &Project{Error: "there is no package of this name"}, nil
}

func (w *world) Requires(_ context.Context, name string, r Release) (out []requirement.Requirement, reason string, err error) {
	for _, text := range w.requires[name+" "+r.Text] {
		q, err := requirement.Parse(text)
		if err != nil {
			return nil, err.Error(), nil
		}
		out = append(out, q)
	}
	return out, "", nil
}

func solve(t *testing.T, w Source, request string) (string, error) {
	t.Helper()
	q := Question{Env: requirement.Environ("3.14.2", "5.0.3")}
	for _, text := range strings.Split(request, "|") {
		text, optional := strings.CutPrefix(strings.TrimSpace(text), "? ")
		text, constraint := strings.CutPrefix(text, "! ")
		r, err := requirement.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case optional:
			q.Optional = append(q.Optional, r)
		case constraint:
			q.Constraints = append(q.Constraints, r)
		default:
			q.Requirements = append(q.Requirements, r)
		}
	}
	a, err := Solve(t.Context(), w, q)
	if err != nil {
		return "", err
	}
	var list []string
	for _, c := range a.Chosen {
		list = append(list, c.Name+" "+c.Text)
	}
	for _, s := range a.Skipped {
		list = append(list, "without "+s.Requirement)
	}
	return strings.Join(list, ", "), nil
}

// small is a world of most shapes; many, lately and above have forty releases.
var small = func() string {
	text := `
	alpha 1.0
	alpha 2.0
	alpha 3.0rc1
	alpha 3.0.dev2
	alpha 2.1 yanked
	beta 1.0: alpha<2
	upper 1.0: alpha>=2
	gamma 1.0: delta>=1; extra == "Fast_Mode" | missing; python_version < "3.8" | epsilon; sys_platform == "emscripten"
	delta 1.0
	epsilon 1.0
	zeta 1.0: gamma
	circle-a 1.0: circle-b
	circle-b 1.0: circle-a
	newer 1.0: alpha<2
	newer 2.0: alpha>=2
	native 1.0 win
	numpy 2.1 locked: alpha<2
	numpy 3.0
	needs-missing 1.0: nowhere>=3
	wants-more 1.0: alpha>=9
	major 1.0
	major 2.0: native
	old 1.0 @2016
	old 2.0 @2026 win
	recent 1.1 @2025
	recent 1.2 @2026: native
	`
	for i := range 40 {
		many, lately, above, always := "alpha>=2", "native", "lately>=4.18", "native"
		if i <= 17 {
			many, lately, above = "alpha", "alpha", "lately"
		}
		text += fmt.Sprintf("many 1.%d: %s\nlately 4.%d: %s\nabove 5.%d: %s\nalways 1.%d: %s\nover 1.%d: always\n", i, many, i, lately, i, above, i, always, i)
	}
	return text
}()

func TestSolve(t *testing.T) {
	for _, test := range []struct{ what, request, want string }{
		{"newest, no pre-release", "alpha", "alpha 2.0"},
		{"pre-release asked for", "alpha>=3.0rc1", "alpha 3.0rc1"},
		{"yanked only where asked for", "alpha==2.1", "alpha 2.1"},
		{"what another wants", "alpha | beta", "alpha 1.0, beta 1.0"},
		{"in the other order", "beta | alpha", "alpha 1.0, beta 1.0"},
		{"markers", "gamma", "epsilon 1.0, gamma 1.0"},
		{"extra, spelled otherwise", "gamma[fast-mode]", "delta 1.0, epsilon 1.0, gamma 1.0"},
		{"extra asked for later", "zeta | gamma[Fast.Mode]", "delta 1.0, epsilon 1.0, gamma 1.0, zeta 1.0"},
		{"circle", "circle-a", "circle-a 1.0, circle-b 1.0"},
		{"older release of who asks too much", "newer | beta", "alpha 1.0, beta 1.0, newer 1.0"},
		{"much older release", "many | alpha<2", "alpha 1.0, many 1.17"},
		{"older release that needs nothing special", "lately", "alpha 2.0, lately 4.17"},
		{"older release of who needs it", "above", "above 5.17, alpha 2.0, lately 4.17"},
		{"the lock file's first", "numpy", "alpha 1.0, numpy 2.1"},
		{"not the lock file's", "numpy>=3", "numpy 3.0"},
		{"constraint", "alpha | ! alpha<2 | ! delta<1", "alpha 1.0"},
		{"optional", "alpha | ? delta | ? native", "alpha 2.0, delta 1.0, without native"},
		{"a year older", "recent", "recent 1.1"},
	} {
		t.Run(test.what, func(t *testing.T) {
			if got, err := solve(t, parseWorld(t, small), test.request); err != nil || got != test.want {
				t.Errorf("%s gives %s, %v, want %s", test.request, got, err, test.want)
			}
		})
	}
}

func TestImpossible(t *testing.T) {
	for _, test := range []struct {
		request, requirement string
		reasons              []string
	}{
		{"nowhere", "nowhere", []string{"no package of this name"}},
		{"needs-missing", "nowhere>=3", []string{"no package of this name", "needed by needs-missing 1.0"}},
		{"alpha>=9", "alpha>=9", []string{"no version is >=9", "newest that fits this runtime is 2.0"}},
		{"alpha>=1 | wants-more", "alpha>=1", []string{"no version is >=9 (for wants-more 1.0); the newest is 2.0"}},
		{"alpha==2.0 | beta", "alpha==2.0", []string{"conflict", "==2.0 (for the request)", "<2 (for beta 1.0)"}},
		{"beta | upper", "alpha<2", []string{"conflict", "<2 (for beta 1.0)", ">=2 (for upper 1.0)"}},
		{"native", "native", []string{"no wheel for this runtime: version 1.0 has only wheels for win"}},
		{"major", "native", []string{"win", "needed by major 2.0"}},
		{"over", "native", []string{"win", "needed by always 1.39"}},
		{"old", "old", []string{"version 2.0 of 2026", "1.0, is of 2016", "write old==1.0"}},
	} {
		t.Run(test.request, func(t *testing.T) {
			got, err := solve(t, parseWorld(t, small), test.request)
			impossible, ok := errors.AsType[*Impossible](err)
			if !ok || len(impossible.Reasons) == 0 || impossible.Reasons[0].Requirement != test.requirement {
				t.Fatalf("%s gives %q, %+v, want a reason for %s", test.request, got, err, test.requirement)
			}
			for _, want := range test.reasons {
				if !strings.Contains(impossible.Reasons[0].Why, want) {
					t.Errorf("%s: %q lacks %q", test.request, impossible.Reasons[0].Why, want)
				}
			}
		})
	}
}
