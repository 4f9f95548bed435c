package deno

import (
	"fmt"
	"strings"
	"testing"

	"coderunner/cache"
	"coderunner/runners"
	"coderunner/runners/deno/process"
)

// TestLock locks a program whose package needs another, and wants whatever the
// lock does not say to be refused, with the packages there and without.
func TestLock(t *testing.T) {
	r := open(t, "", nil)
	const code = `import isOdd from "npm:is-odd@3.0.1"; isOdd(3)`
	request := func(code string) runners.Request {
		return runners.Request{Language: runners.JavaScript, Code: code}
	}
	l, err := r.Lock(t.Context(), request(code))
	if err != nil || len(l.Packages) != 2 {
		t.Fatalf("%+v, %v", l, err)
	}
	locked := l.Text
	if again, err := r.Lock(t.Context(), request(locked)); err != nil || again.Text != locked {
		t.Errorf("locked again: %+v, %v; it was %q", again, err, locked)
	}
	for _, tt := range []struct{ name, from, to, want string }{
		{"as it is", "", "", ""},
		{"another digest", "sha512-Wu1V", "sha512-Wu2V", "is-number: the lock has another digest of it than the registry"},
		{"another version", "is-odd@3.0.1", "is-odd@3.0.0", "npm:is-odd@3.0.0: there is no package of this name and version in the program's lock"},
		{"another package", "; isOdd", "; import \"npm:zod@3.25.0\"; isOdd", "npm:zod@3.25.0: there is no package"},
		{"one is missing", `"is-number@6.0.0": {`, `"is-number@5.0.0": {`, "checksum did not match"},
		{"a specifier too many", `"npm:is-odd@3.0.1": "3.0.1"`, `"npm:is-odd@3.0.1": "3.0.1", "npm:zod@3.25.0": "3.25.0"`, "a bad lock: Could not find"},
		{"no lock", "// /// deno.lock", "//", "has no lock"},
		{"no JSON", "//   }", "//   ", "a bad lock: read lock file: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := request(strings.Replace(locked, tt.from, tt.to, 1))
			req.Locked = true
			o, err := r.Run(t.Context(), req)
			got := ""
			switch {
			case err != nil:
				got = err.Error()
			case o.Status == runners.NotInstalled:
				got = (&runners.NotInstalledError{Packages: o.Error.Packages}).Error()
			case o.Error != nil:
				got = o.Error.Message
			case o.Result == nil || o.Result.Text != "true":
				t.Errorf("it gave %+v", o.Result)
			}
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestLockElsewhere has a locked program come to a cache that has nothing of its
// packages: Deno fetches them without the registry's descriptions.
func TestLockElsewhere(t *testing.T) {
	l, err := open(t, "", nil).Lock(t.Context(), runners.Request{Language: runners.JavaScript, Code: `import isOdd from "npm:is-odd@3.0.1"; isOdd(3)`})
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, "", func(c *process.Config) {
		if c.Cache, err = cache.Open(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	})
	other := strings.Replace(l.Text, "sha512-Wu1V", "sha512-Wu2V", 1)
	for _, tt := range []struct{ code, want string }{
		{other, "checksum did not match"}, // Deno looks at what it fetches,
		{l.Text, ""},
		{other, "the lock has another digest of it than the registry"}, // and not at what is there
	} {
		o := run(t, r, runners.Request{Language: runners.JavaScript, Code: tt.code, Locked: true})
		if got := fmt.Sprintf("%+v", o.Error); tt.want == "" && o.Result == nil || !strings.Contains(got, tt.want) {
			t.Errorf("%s %s, want %q", o.Status, got, tt.want)
		}
	}
}
