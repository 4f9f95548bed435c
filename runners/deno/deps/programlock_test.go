package deps

import (
	"errors"
	"strings"
	"testing"
)

const someLock = "{\n  \"version\": \"5\"\n}\n"

func TestCutLock(t *testing.T) {
	for _, code := range []string{"", "1 + 1", "1 + 1\n", "a\r\n// b\r\n", "// /// script\n// ///\n"} {
		with := WithLock(code, []byte(someLock))
		text, lock, err := CutLock(with)
		if err != nil || string(lock) != someLock || strings.TrimRight(text, "\n") != strings.TrimRight(code, "\n") {
			t.Errorf("%q: %q, %q, %v", with, text, lock, err)
		}
		if again := WithLock(text, lock); again != with {
			t.Errorf("%q became %q", with, again)
		}
		if text, lock, err := CutLock(code); text != code || lock != nil || err != nil {
			t.Errorf("%q without a lock: %q, %q, %v", code, text, lock, err)
		}
	}
	for code, want := range map[string]string{
		"// /// deno.lock\n// {}\n":                                            "no end",
		"// /// deno.lock\n{}\n// ///\n":                                       "not a comment",
		"// /// deno.lock\n// ///\n// /// deno.lock\n// ///\n":                 "two",
		"// /// deno.lock\n//" + strings.Repeat("x", maxLock+1) + "\n// ///\n": "larger",
	} {
		if _, _, err := CutLock(code); !errors.Is(err, ErrLock) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", code, err, want)
		}
	}
}

// FuzzCutLock wants that a lock comes out as it was put in.
func FuzzCutLock(f *testing.F) {
	f.Add("import a from \"npm:a\";\n", someLock)
	f.Add("// /// deno.lock\n// {}\n// ///\n", "{}")
	f.Fuzz(func(t *testing.T, code, lock string) {
		text, _, err := CutLock(code)
		if err != nil {
			return
		}
		lock = "{" + strings.NewReplacer("\r", "", "\n", "").Replace(lock) + "}"
		rest, got, err := CutLock(WithLock(text, []byte(lock)))
		if err != nil || string(got) != lock+"\n" || !strings.HasPrefix(rest, text) {
			t.Errorf("%q in %q came out as %q, %v", lock, text, got, err)
		}
	})
}
