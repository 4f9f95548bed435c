package runnertest

import (
	"regexp"
	"strings"
	"testing"

	"coderunner/runners"
)

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		got, want string
		same      bool
	}{
		{`{"a":1,"b":2}`, `{"a":1}`, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1}`, `{"b":null}`, true},
		{`{"a":1}`, `{"a":null}`, false},
		{`{"a":"x"}`, `{"a":"*"}`, true},
		{`{"a":null}`, `{"a":"*"}`, false},
		{`{"a":"line 12"}`, `{"a":"/^line \\d+$/"}`, true},
		{`{"a":"line x"}`, `{"a":"/^line \\d+$/"}`, false},
		{`{"a":"/"}`, `{"a":"/"}`, true},
		{`{"a":"hello"}`, `{"a":{"contains":"ell"}}`, true},
		{`{"a":"hello"}`, `{"a":{"contains":["ell","x"]}}`, false},
		{`{"a":"hello"}`, `{"a":{"not":"ell"}}`, false},
		{`{"a":null}`, `{"a":{"not":"ell"}}`, false},
		{`[1,2]`, `[1,2]`, true},
		{`[1,2]`, `[1]`, false},
		{`{"a":null}`, `{"a":{}}`, false},
		{`{"a":{"b":1}}`, `{"a":{}}`, true},
		{`1`, `1.0`, false},
	} {
		got, err := decode(tt.got)
		if err != nil {
			t.Fatal(err)
		}
		want, err := decode(tt.want)
		if err != nil {
			t.Fatal(err)
		}
		if diffs := compare("", got, want); (len(diffs) == 0) != tt.same {
			t.Errorf("compare(%s, %s) = %q", tt.got, tt.want, diffs)
		}
	}
}

func TestMerge(t *testing.T) {
	base, _ := decode(`{"status":"failed","error":{"type":"A","message":{"contains":"x"}}}`)
	over, _ := decode(`{"error":{"message":{"not":"y"}}}`)
	if got := show(merge(base, over)); got != `{"error":{"message":{"not":"y"},"type":"A"},"status":"failed"}` {
		t.Errorf("merge = %s", got)
	}
}

func TestUnescape(t *testing.T) {
	if got := unescape("a⟦ff00⟧b\nlast⟦⟧\n"); got != "a\xff\x00b\nlast" {
		t.Errorf("unescape = %q", got)
	}
}

// Every promise is made in both families, and says something.
func TestPromises(t *testing.T) {
	cases, err := Load(promises, "testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for name, text := range c.sections {
			if !strings.HasPrefix(name, "want") {
				continue
			}
			want, err := decode(text)
			if err != nil {
				t.Errorf("%s: %s: %v", c.Name, name, err)
			}
			checkPatterns(t, c.Name, want)
		}
	}
	if len(cases) < 40 {
		t.Errorf("%d promises", len(cases))
	}
	for _, c := range cases {
		for _, l := range []runners.Language{runners.Python, runners.TypeScript, runners.JavaScript} {
			if _, ok := c.program(l); !ok {
				t.Errorf("%s: no program in %s", c.Name, l)
			}
			want, err := c.want(l)
			if o, ok := want.(map[string]any); err != nil || !ok || o["status"] == nil {
				t.Errorf("%s: wants no status in %s: %v", c.Name, l, err)
			}
		}
	}
}

// checkPatterns compiles the regular expressions in what is wanted.
func checkPatterns(t *testing.T, name string, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		for _, v := range want {
			checkPatterns(t, name, v)
		}
	case []any:
		for _, v := range want {
			checkPatterns(t, name, v)
		}
	case string:
		if strings.HasPrefix(want, "/") {
			if _, err := regexp.Compile(strings.Trim(want, "/")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
