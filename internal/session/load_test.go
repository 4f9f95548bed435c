package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/internal/session"
	"coderunner/runners"
)

// TestSpareStates has states take the files of those that the history loses, longer ones than
// themselves, with another store that takes them away, and with one that was not written to any
// more when the power failed.
func TestSpareStates(t *testing.T) {
	o := session.Options{Dir: t.TempDir(), Limits: session.Limits{History: 3}}
	a, b := open(t, o), open(t, o)
	set := func(text string) fake {
		return func(string, map[string]string) (string, runners.Status) { return text, runners.Succeeded }
	}
	state := func(n int) string { return filepath.Join(dirOf(t, a), "states", fmt.Sprintf("%08d", n)) }
	file := func(n int) os.FileInfo {
		info, err := os.Stat(state(n))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	want := func(want string) {
		t.Helper()
		for _, s := range []*session.Store{a, b, open(t, o)} {
			if got := show(t, s, "a"); got != want {
				t.Errorf("got %.50q, want %.50q", got, want)
			}
		}
	}
	call(t, a, "a", set(strings.Repeat("long", 5000)))
	first := file(1)
	for n := range 3 {
		call(t, a, "a", set(fmt.Sprint(n)))
	}
	call(t, a, "a", set("short"))
	if !os.SameFile(file(5), first) {
		t.Error("the file of the first state is not used again")
	}
	want("short") // the others have removed what was spare
	call(t, a, "a", set("6"))
	call(t, a, "a", set("7"))
	want("7")
	old, err := os.ReadFile(state(6))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(state(8), old, 0o600); err != nil { // it has its name, and not yet its contents
		t.Fatal(err)
	}
	want("7")
	call(t, a, "a", set("8"))
	want("8")
}

// TestOtherStores has two stores of one directory, as two processes have them, take turns: neither
// believes the state that it remembers once there is another in force.
func TestOtherStores(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, session.Options{Dir: dir}), open(t, session.Options{Dir: dir})
	want := func(s *session.Store, want string) {
		t.Helper()
		if got := show(t, s, "a"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	state := func(n int) string { return filepath.Join(dirOf(t, a), "states", fmt.Sprintf("%08d", n)) }
	call(t, a, "a", add("a"))
	call(t, a, "a", add("b"))
	call(t, b, "a", add("c"))
	want(a, "abc log=abc")
	call(t, a, "a", add("d"))
	want(b, "abcd log=abcd")
	if err := b.Close(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	want(a, "")
	for _, word := range []string{"1", "2", "3", "4"} {
		call(t, b, "a", add(word))
	}
	want(a, "1234 log=1234")
	call(t, a, "a", add("e"))
	if err := os.Remove(state(5)); err != nil {
		t.Fatal(err)
	}
	want(a, "1234 log=1234")
	call(t, a, "a", add("f"))
	if err := os.Chmod(state(5), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(state(5))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(state(5), text[:len(text)/2], 0o600); err != nil { // a call was killed while it wrote this
		t.Fatal(err)
	}
	want(a, "1234 log=1234")
	want(b, "1234 log=1234")
	call(t, b, "a", add("g"))
	want(a, "1234g log=1234g")
}
