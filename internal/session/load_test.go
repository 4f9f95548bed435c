package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"coderunner/internal/session"
)

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
