package host

import (
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/runners"
)

// interpreter is how a language is run.
type interpreter struct {
	programs []string // names of its executable, the first that is there counts
	args     []string // before the program's file
	ending   string   // of that file
}

// interpreters are the languages whose interpreter runs a program in its own
// process, without starting another.
var interpreters = map[runners.Language]interpreter{
	runners.Perl: {[]string{"perl"}, nil, ".pl"},
	runners.Ruby: {[]string{"ruby"}, nil, ".rb"},
	runners.Lua:  {[]string{"lua", "lua5.4", "lua5.3", "luajit"}, nil, ".lua"},
	runners.PHP:  {[]string{"php"}, []string{"-d", "display_errors=stderr", "-d", "log_errors=0"}, ".php"},
	runners.Tcl:  {[]string{"tclsh", "tclsh8.6"}, nil, ".tcl"},
	runners.AWK:  {[]string{"gawk", "mawk", "original-awk"}, []string{"-f"}, ".awk"},
}

// Runs reports whether a language is one that the host may have.
func Runs(l runners.Language) bool {
	_, ok := interpreters[l]
	return ok
}

const starts = "it starts other programs, which a confined process may not"

// refused are languages that people name and that cannot be confined.
var refused = map[string]string{
	"go": starts, "golang": starts, "rust": starts, "c": starts, "c++": starts, "cpp": starts, "haskell": starts, "swift": starts,
	"kotlin": starts, "scala": starts, "r": "its command " + starts[3:], "elixir": starts, "erlang": starts,
}

// names lists the languages.
func names() string {
	var list []string
	for l := range interpreters {
		list = append(list, string(l))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// find returns the executable of a language: path, if it is not "", else the first
// of the names that is on PATH.
func find(l runners.Language, programs []string, path string) (string, error) {
	if path != "" {
		programs = []string{path}
	}
	for _, name := range programs {
		found, err := exec.LookPath(name)
		if err == nil {
			found, err = filepath.Abs(found)
		}
		if err == nil {
			found, err = filepath.EvalSymlinks(found)
		}
		if err != nil {
			continue
		}
		f, err := elf.Open(found)
		if err != nil {
			return "", fmt.Errorf("%s, the host's %s, is not a program but a script, which starts another one: name that as %s=PATH", found, l, l)
		}
		return found, f.Close()
	}
	return "", fmt.Errorf("the host has no %s (looked for %s)", l, strings.Join(programs, ", "))
}

// libraries are the directories that an interpreter reads beside what every
// program may.
func libraries(binary string) []string {
	prefix := filepath.Dir(filepath.Dir(binary))
	list := []string{"/usr/share", "/usr/local/share", "/etc/perl", "/etc/php", "/etc/alternatives"}
	for _, dir := range []string{"lib", "lib64", "share"} {
		list = append(list, filepath.Join(prefix, dir))
	}
	slices.Sort(list)
	return slices.Compact(list)
}
