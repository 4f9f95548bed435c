package runners

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Each message is one sentence that names the argument and the fix.
func TestCheck(t *testing.T) {
	big := func(n int) string { return strings.Repeat("x", n) }
	files := func(paths ...string) (r Request) {
		for _, p := range paths {
			r.Files = append(r.Files, File{Path: p})
		}
		return r
	}
	for _, tt := range []struct {
		req            Request
		argument, want string
	}{
		{Request{Code: big(MaxCode)}, "", ""},
		{Request{Code: big(MaxCode + 1)}, "code", `pass data in "files" or "stdin".`},
		{Request{Packages: make([]string, maxPackages+1)}, "packages", "at most 100"},
		{Request{Packages: []string{"six", " "}}, "packages", `"packages" has an empty string as element 1`},
		{Request{Packages: []string{"six\n--index-url x"}}, "packages", `"packages" has no package name as element 0`},
		{Request{Packages: []string{big(maxPackage + 1)}}, "packages", "at most 512 bytes on one line"},
		{Request{Args: []string{"a", "\x00"}}, "args", `"args" has a NUL character in element 1`},
		{Request{Args: []string{big(maxArgsBytes + 1)}}, "args", "is too long"},
		{Request{Args: make([]string, maxArgs+1)}, "args", "is too long"},
		{Request{Files: make([]File, MaxFiles+1)}, "files", "at most 1000"},
		{Request{Files: []File{{Path: "a", Data: make([]byte, MaxFilesBytes)}, {Path: "b", Data: []byte("1")}}}, "files", "in all"},
		{files("a", "b/c", "b/d", "b.c", "b-", "a.b/c"), "", ""},
		{files(big(maxPathPart) + "/x"), "", ""},
		{files(big(maxPathPart + 1)), "files", "each part 255"},
		{files(strings.Repeat("a/", 600) + "a"), "files", "at most 1024 bytes"},
		{files(""), "files", "must be relative"},
		{files("."), "files", "must be relative"},
		{files("/etc/x"), "files", "must be relative"},
		{files("../x"), "files", "must be relative"},
		{files("a/../../x"), "files", "must be relative"},
		{files("a//b"), "files", "must be relative"},
		{files("a\\b"), "files", "must be relative"},
		{files("a\x00b"), "files", "must be relative"},
		{files("a\xff"), "files", "must be relative"},
		{files("b", "a", "b"), "files", `"files" has "b" twice.`},
		{files("a/b/c", "a.x", "a-", "a/b"), "files", `"a/b" and "a/b/c", but one cannot be both a file and a directory`},
		{files("a", "a.x", "a!", "a/b"), "files", `"a" and "a/b"`},
	} {
		err := tt.req.Check()
		if tt.argument == "" {
			if err != nil {
				t.Errorf("Check = %v, want nil", err)
			}
			continue
		}
		bad, ok := errors.AsType[*RequestError](err)
		if !ok || bad.Argument != tt.argument || !strings.Contains(bad.Message, tt.want) || len(bad.Message) > 600 {
			t.Errorf("Check = %v, want %q", err, tt.want)
		}
	}
}

// The most files with the longest paths that all begin alike are checked as many
// times as would take minutes if each were compared with each.
func TestCheckManyFiles(t *testing.T) {
	var r Request
	for i := range MaxFiles {
		r.Files = append(r.Files, File{Path: strings.Repeat("a/", 500) + fmt.Sprint(i)})
	}
	for range 20 {
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
	}
}
