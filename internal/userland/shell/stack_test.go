package shell_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/sample"
	"coderunner/internal/userland/commands"
)

// nest repeats what opens and what closes around a text.
func nest(n int, open, text, end string) string {
	return strings.Repeat(open, n) + text + strings.Repeat(end, n)
}

// deep are programs that nest, in themselves or by a function that calls itself, as deep as
// they can. They end with an error, and none takes the Go program's stack.
var deep = map[string]string{
	"function":                 "f() { f; }; f",
	"if":                       "f() { if f; then :; fi; }; f",
	"while":                    "f() { while f; do :; done; }; f",
	"for":                      "f() { for x in 1; do f; done; }; f",
	"case":                     "f() { case x in x) f;; esac; }; f",
	"block":                    "f() { " + nest(200, "{ ", "f", "; }") + "; }; f",
	"and":                      "f() { f && f; }; f",
	"not":                      "f() { ! f; }; f",
	"time":                     "f() { time f; }; f 2> /dev/null; f",
	"redirected":               "f() { { f; } 2>&1 3>&1; }; f",
	"assigned":                 "f() { x=1 y=2 f; }; f",
	"subshell":                 "f() { ( f ); }; f",
	"pipeline":                 "f() { : | f; }; f",
	"lastpipe":                 "shopt -s lastpipe; f() { : | f; }; f",
	"output":                   "f() { echo $(f); }; f",
	"output quoted":            "f() { echo \"$(f)\"; }; f",
	"assigned output":          "f() { x=$(f); }; f",
	"local output":             "f() { local x=$(f); }; f",
	"array output":             "f() { a=($(f)); }; f",
	"subscript output":         "f() { a[$(f)]=1; }; f",
	"here-document":            "f() { cat <<X\n$(f)\nX\n}; f",
	"here-string":              "f() { cat <<< $(f); }; f",
	"redirected output":        "f() { : > /tmp/$(f); }; f",
	"eval":                     "f() { eval f; }; f",
	"eval eval":                "f() { eval 'eval \"f\"'; }; f",
	"source":                   "echo f > g; f() { source ./g; }; f",
	"command":                  "f() { command eval f; }; f",
	"builtin":                  "f() { builtin eval f; }; f",
	"mapfile":                  "f() { mapfile -C f -c 1 <<< x; }; f",
	"handler":                  "command_not_found_handle() { nosuch; }; nosuch",
	"trace":                    "f() { PS4='$(f)'; set -x; f; }; f",
	"return trap":              "set -T; f() { eval f; }; trap f RETURN; f",
	"[[":                       "f() { [[ " + nest(150, "( ", "$(f)", " )") + " ]]; }; f",
	"[[ of 1000":               "f() { [[ " + nest(1000, "( ", "$(f)", " )") + " ]]; }; f",
	"[[ !":                     "f() { [[ " + nest(400, "( ! ", "$(f) == x", " )") + " ]]; }; f",
	"[":                        "f() { [ " + nest(300, "\\( ", "$(f) = x", " \\)") + " ]; }; f",
	"arithmetic":               "f() { echo $((" + nest(150, "(", "$(f)", ")") + ")); }; f",
	"arithmetic of 1000":       "f() { echo $((" + nest(1000, "(", "$(f)", ")") + ")); }; f",
	"arithmetic signs":         "f() { (( " + strings.Repeat("- ", 900) + "$(f) )); }; f",
	"arithmetic subscripts":    "f() { echo $((" + nest(150, "a[", "$(f)", "]") + ")); }; f",
	"arithmetic in arithmetic": "f() { echo " + nest(100, "$((1+", "$(f)", "))") + "; }; f",
	"values":                   "x=y+1 y=x+1; echo $((x))",
	"values of names":          "x=y y=x; echo $((x))",
	"default":                  "f() { echo " + nest(100, "${x:-", "$(f)", "}") + "; }; f",
	"default of 1000":          "f() { echo " + nest(1000, "${x:-", "$(f)", "}") + "; }; f",
	"quoted default":           "f() { echo " + nest(100, "\"${x:-", "$(f)", "}\"") + "; }; f",
	"pattern":                  "f() { echo " + nest(100, "${HOME#", "$(f)", "}") + "; }; f",
	"replacement":              "f() { echo " + nest(100, "${HOME/a/", "$(f)", "}") + "; }; f",
	"slice":                    "f() { echo " + nest(50, "${HOME:$((", "$(f)", "))}") + "; }; f",
	"subscripts":               "f() { echo " + nest(100, "${a[", "$(f)", "]}") + "; }; f",
	"keys":                     "declare -A m; f() { echo " + nest(100, "${m[x", "$(f)", "]}") + "; }; f",
	"operators":                "shopt -s extglob\nf() { echo " + nest(30, "@(a|", "$(f)", ")") + "; }; f",
	"all":                      "f() { [[ ( ( $(( ( ${x:-$( (eval 'f') )} ) )) ) ) ]]; }; f",
	"parentheses":              nest(300_000, "( ", ":", " )"),
	"blocks":                   nest(100_000, "{ ", ":", "; }"),
	"substitutions":            "echo " + nest(100_000, "$(", ":", ")"),
	"elif":                     "if :; then :; " + strings.Repeat("elif :; then :; ", 200_000) + "fi",
	"pipe in a subshell":       "( : " + strings.Repeat("|:", 300_000) + " )",
	"list in a subshell":       "( : " + strings.Repeat("&&:", 300_000) + " )",
	"sum":                      "echo $((1" + strings.Repeat("+1", 500_000) + "))",
	"sum of a value":           "printf -v x '+1%.0s' {1..200000}; echo $((x))",
	"conditions":               "[[ a " + strings.Repeat("&& a ", 1_000_000) + "]]",
	"braces":                   "echo " + strings.Repeat("{a,b}", 200_000),
	"nested braces":            "echo " + nest(200_000, "{a,", "b", "}"),
	"slashes":                  "echo *" + strings.Repeat("/", 4_000_000),
	"dots":                     "mkdir d; echo */" + strings.Repeat("./", 100_000),
	"patterns":                 "shopt -s extglob\n[[ a == " + nest(100_000, "@(", "a", ")") + " ]]",
	"names":                    "declare -n a=b b=a; echo $a",
	"function texts":           "f() { if :; then :; " + strings.Repeat("elif :; then :; ", 1000) + "fi; }; declare -f f > /dev/null",
}

// TestDeep runs each program in a process of its own, whose stack may be half of what the
// programs' count allows: a full one ends the process.
func TestDeep(t *testing.T) {
	if name := os.Getenv("CODERUNNER_DEEP"); name != "" {
		debug.SetMaxStack(kernel.MaxStack / 2)
		m := machine{lookup: commands.Lookup, names: commands.Names(), memory: 1 << 30, files: map[string]string{"/home/user/main.sh": deep[name]}}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		got := m.run(t, ctx, "", "main.sh")
		fmt.Printf("ended %d %.200q %v\n", got.code, got.stderr, got.failure)
		return
	}
	if testing.Short() {
		t.Skip("minutes")
	}
	for _, name := range sample.Of(t, 2, slices.Sorted(maps.Keys(deep))) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := exec.Command(os.Args[0], "-test.run=^TestDeep$")
			c.Env = append(os.Environ(), "CODERUNNER_DEEP="+name, "GOTRACEBACK=system")
			timer := time.AfterFunc(5*time.Minute, func() { _ = c.Process.Kill() })
			defer timer.Stop()
			out, err := c.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "ended ") {
				t.Errorf("%v: %.500s", err, out)
			}
			t.Logf("%.300s", out)
		})
	}
}
