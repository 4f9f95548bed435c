package shell_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"coderunner/internal/machine/kernel"
)

// FuzzShell runs texts: no text may make the shell panic or go on after its time.
func FuzzShell(f *testing.F) {
	for _, s := range []string{
		"echo ${x:-${y#*/}} $((1+2)) $(echo a) `b` <(c) {1..3} *.[a-z]", "f() { local a=(1 [3]=x); }; f; declare -A m=([a b]=c); echo ${m[a b]} ${!m[@]}",
		"case x in @(a|!(b))) ;& *) ;; esac; [[ a =~ ^(a|b)$ ]]; ((i++ , j=3)); let k=2", "cat <<A <<'B' <<-C\n$x\nA\ny\nB\n\tz\nC\nexec 3>&1 4<&0; echo >&3; trap 'echo' ERR EXIT; set -eux",
		"printf '%*.*f|%q|%b|%(%F)T' 5 2 3 'a b' '\\x41' 0; read -r -d : -n 3 a <<< x; mapfile -t q < /dev/null; getopts ab: o -a", "echo ${x/a/b} ${x//[!a]/&} ${x^^} ${x@Q} ${x: -3:2} ${@:1} ${#x[@]} ${!x*}; x+=1; y[2]+=3; unset 'y[0]'",
	} {
		f.Add(s)
	}
	m := machine{lookup: func(string) (kernel.Program, bool) { return nil, false }, memory: 32 << 20}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\x00") {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		start := time.Now()
		got := m.run(t, ctx, "a b\n", "-c", text)
		if got.failure != nil && strings.Contains(got.failure.Error(), "panic") {
			t.Fatal(got.failure)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%q took %v", text, took)
		}
	})
}
