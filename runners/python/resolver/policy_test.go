package resolver

import (
	"cmp"
	"strings"
	"testing"

	"coderunner/runners"
)

func TestRefusal(t *testing.T) {
	for _, test := range []struct {
		index, base, flags string
		allowed            bool
	}{
		{"https://x.invalid/simple/", "", "", false},
		{"https://x.invalid/simple/", "", "--allow-net", true},
		{"https://x.invalid/simple/", "", "--allow-net=y.invalid,X.invalid", true},
		{"https://x.invalid/simple/", "", "--allow-net=x.invalid:443", true},
		{"https://x.invalid/simple/", "", "--allow-net=x.invalid:80", false},
		{"http://127.0.0.1:8080/", "", "--allow-net=127.0.0.1:8080", true},
		{"http://127.0.0.1:8080/", "", "--allow-net=127.0.0.1:80", false},
		{"http://[::1]:8080/", "", "--allow-net=[::1]:8080", true},
		{"http://127.0.0.1:8080/", "", "--allow-net --deny-net=127.0.0.0/8", false},
		{"https://x.invalid/simple/", "", "--allow-net --deny-net=x.invalid", false},
		{"https://x.invalid/simple/", "", "--allow-net=*.invalid", true},
		{"http://127.0.0.1:8080/", "", "--allow-net", false}, // it must be named
		{"https://sub.x.invalid/", "", "--allow-net=x.invalid", false},
		{"file:///srv/simple/", "", "", true},
		{"file:///srv/simple/", "https://x.invalid/pyodide/", "", false},
		{"https://x.invalid/simple/", "https://y.invalid/", "--allow-net=x.invalid", false},
		{"https://x.invalid/simple/", "https://y.invalid/", "--allow-net=x.invalid,y.invalid", true},
	} {
		p, err := runners.ParsePolicy(strings.Fields(test.flags))
		if err != nil {
			t.Fatal(err)
		}
		r, err := New(Config{Index: test.index, Base: cmp.Or(test.base, "file:///srv/pyodide/")})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Refusal(p); (got == "") != test.allowed {
			t.Errorf("%s under %q: %q", test.index, test.flags, got)
		}
	}
}
