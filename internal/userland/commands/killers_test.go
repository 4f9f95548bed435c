package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/sample"
	"coderunner/internal/sysmem"
	"coderunner/runners/runnertest"
)

// killers are lines that ended the whole process or took all its memory or time, and
// what a run of them says now: "" if only that they end.
var killers = []struct{ line, says string }{
	{"awk 'function f(n) { return " + strings.Repeat("(", 140) + "f(n+1)" + strings.Repeat(")", 140) + " } BEGIN { f(0) }'", "nested too deeply"},
	{"awk 'function f(n) { return " + strings.Repeat("!", 450) + "f(n+1) } BEGIN { f(0) }'", "nested too deeply"},
	{"awk 'function f(n) {" + strings.Repeat("if (1) {", 200) + "f(n+1)" + strings.Repeat("}", 200) + "} BEGIN { f(0) }'", "nested too deeply"},
	{"awk 'function f(a) { f(a[1]) } BEGIN { f(a) }'", "nested too deeply"},
	{"awk 'function c(i, v, j, w) { for (k in a) return 1; PROCINFO[\"sorted_in\"] = \"c\"; for (k in a) ; } BEGIN { a[1]; a[2]; c() }'", ""},
	{"awk \"BEGIN { x = $(printf '(%.0s' $(seq 1 50000))1$(printf ')%.0s' $(seq 1 50000)) }\"", "nested too deeply"},
	{"awk \"BEGIN { x = $(printf '$%.0s' $(seq 1 90000))1 }\"", "nested too deeply"},
	{"awk 'BEGIN { s = \"x\"; for (i = 0; i < 27; i++) s = s s; n = split(s, a, \"\"); print n }'", "memory exhausted"},
	{"awk 'BEGIN { s = \"x \"; for (i = 0; i < 26; i++) s = s s; $0 = s; print NF }'", "memory exhausted"},
	{"awk 'BEGIN { s = \"x\"; for (i = 0; i < 25; i++) s = s s; gsub(/x/, \"yyyyyyyyyyyyyyyy\", s) }'", "memory exhausted"},
	{"awk 'BEGIN { s = \"x\"; for (i = 0; i < 26; i++) s = s s; for (i = 0; i < 40; i++) a[i] = s \"y\" i }'", "memory exhausted"},
	{"awk 'function f(n, s) { s = sprintf(\"%1000000d\", n); return n == 0 ? 0 : f(n-1) length(s) } BEGIN { f(2000) }'", "memory exhausted"},
	{"awk 'BEGIN { printf \"" + strings.Repeat("%1000000d", 1000) + "\", 1 }'", "memory exhausted"},
	{"yes $(printf %100000d 1) | awk '{ a[NR] = substr($0, 1, 1) } NR > 50000 { exit }'", ""},
	{"awk 'BEGIN { s = \"x\"; for (i = 0; i < 24; i++) s = s s; print s ~ \"(x?){1000}(x*){1000}y\" }'", ""},
	{"jq -nc 'reduce range(300000) as $i (0; [.])' | wc -c", ""},
	{"jq -nc 'reduce range(300000) as $i (0; [.]) | [., .] | sort'", "nested too deeply"},
	{"jq -nc 'reduce range(300000) as $i (0; {a: .}) | . == (. + {b: 1})'", "nested too deeply"},
	{"jq -nc 'reduce range(300000) as $i (0; [.]) | del(.[0])'", "nested too deeply"},
	{"jq -nc 'reduce range(300000) as $i (0; [.]) | \"\\(.)\"'", "nested too deeply"},
	{"jq -nc 'reduce range(300000) as $i (0; [.]) | @json, flatten'", "nested too deeply"},
	{"jq -nc '[range(300000) | 0] as $p | setpath($p; 1)'", "nested too deeply"},
	{"jq -nc 'fromstream([[range(300000) | 0], 1])'", "nested too deeply"},
	{"jq -nc '(reduce range(1000000) as $_ (.; .a)) |= 1'", ""},
	{"jq -nc 'def f: if length > 300000 then . else .[length] | f end; def g($n): if $n == 0 then . else .a | g($n - 1) end; g(300000) |= 1'", "nested too deeply"},
	{"jq -nc 'def g($n): if $n == 0 then . else getpath([range(9000)]) | g($n - 1) end; g(300) |= 1'", "nested too deeply"},
	{"jq -nc 'reduce range(40) as $i (0; [., .]) | sort'", "too large"},
	{"jq -nc 'reduce range(40) as $i (0; {a: ., b: .}) | . * .'", "too large"},
	{"jq -n 'reduce range(40) as $i (0; [., .]) | tojson | length'", ""},
	{"jq -n 'reduce range(40) as $i (\"x\"; . + .) | length'", "memory exhausted"},
	{"jq -n 'reduce range(64) as $i (10; . * .)'", ""},
	{"jq -n '\"x\" * 900000000 | length'", "memory exhausted"},
	{"jq -n '[range(1000000000)] | length'", ""},
	{"seq 1 400000 | jq -n 'reduce inputs as $i ({}; .[$i|tostring] = 1) | length'", ""},
	{"head -c 20000000 /dev/zero | tr '\\0' x | awk 'BEGIN { RS = \"y+\" } { print length($0) }' | grep -q 20000000 || echo wrong >&2", ""},
	{"yes a | head -n 20000 > a; join a a", ""},
	{"jq -n '[limit(1000000; repeat(\"x\" * 1000000))] | add | length'", ""},
	{"jq -n '\"x\" * 100000 as $s | [range(100000)] | join($s) | length'", "memory exhausted"},
	{"jq -n '[.[400000000] = 1] | length'", "memory exhausted"},
	{"jq -n '[[range(100000)], (range(100000) | [])] | transpose | length'", "memory exhausted"},
	{"jq -n '\"x\" * 1000000 | [match(\".\"; \"g\")] | length'", "too large"},
	{"jq -n '[range(100000)] as $a | $a - ($a | map(. + 1000000))'", "too large"},
	{"jq -n \"$(printf '[%.0s' $(seq 1 30000))$(printf ']%.0s' $(seq 1 30000))\"", "nested too deeply"},
	{"jq -n \"$(printf '.|%.0s' $(seq 1 50000)).\"", "nested too deeply"},
	{"jq -n \"$(printf 'def f: %.0s' $(seq 1 20000))1; f\"", ""},
	{"jq -n \"$(printf 'try %.0s' $(seq 1 20000))1\"", ""},
	{"echo x | sed ':a;s/./&&/g;ta'", ""},
	{"echo x | sed ':a;G;h;G;G;ba'", "memory exhausted"},
	{"echo x | sed ':a;a x\nba'", "memory exhausted"},
	{"(printf '{%.0s' $(seq 1 200000); printf '}%.0s' $(seq 1 200000)) > s; echo x | sed -f s", ""},
	{"seq 1 700000 | tr '\n' '|' > p; echo 5 | grep -cEf p", "too big"},
	{"(head -c 1000000 /dev/zero | tr '\\0' '('; head -c 1000000 /dev/zero | tr '\\0' ')') > p; echo x | grep -cEf p", "too big"},
	{"head -c 1000000 /dev/zero | tr '\\0' '*' > p; echo a >> p; echo x | grep -cEf p", ""},
	{"head -c 120000 /dev/zero | tr '\\0' '(' > p; echo x | grep -cPf p", ""},
	{"(echo a; head -c 1000000 /dev/zero | tr '\\0' '*') | tr -d '\n' > p; echo x | grep -cf p", "too big"},
	{"printf '\\\\w%.0s' $(seq 1 60000) > p; echo x | grep -cEf p", "too big"},
	{"head -c 30000000 /dev/zero | tr '\\0' a | grep -c '\\(a*\\)*\\1b'", "backtracking"},
	{"head -c 300000 /dev/zero | tr '\\0' '(' | bc", "nested too deeply"},
	{"(printf '%s ' $(yes - | head -n 300000); echo 1) | bc", ""},
	{"printf 'define f(n) { return (((((f(n+1)))))) }\\nf(1)\\n' | bc", "nested too deeply"},
	{"(for i in $(seq 1 26); do printf 'x=9^60000;a[%d]=x\\n' $i; done; echo 'for (i=0;1;i++) a[i]=x+i') | bc", ""},
	{"find . $(printf '! %.0s' $(seq 1 200000)) -name x", "nested too deeply"},
	{"find . $(printf '( %.0s' $(seq 1 200000)) -name x", "nested too deeply"},
	{"expr $(printf '( %.0s' $(seq 1 200000)) 1", "nested too deeply"},
	{"expr $(printf 'length %.0s' $(seq 1 200000)) x", "nested too deeply"},
}

// TestKillers runs the killers in a process of its own, whose stacks may be no larger
// than what the recursions count.
func TestKillers(t *testing.T) {
	if os.Getenv("CODERUNNER_KILLERS") != "" {
		debug.SetMaxStack(2 * kernel.MaxStack)
		for _, k := range sample.Of(t, 4, killers) {
			killer(t, k.line, k.says)
		}
		return
	}
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKillers$")
	cmd.Env = append(os.Environ(), "CODERUNNER_KILLERS=1", "GOMEMLIMIT=1GiB")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out[:min(len(out), 20000)])
	}
}

// killer runs a line: to its end if it has something to say, else for at most some seconds,
// after which it must end with SIGKILL.
func killer(t *testing.T, line, says string) {
	m := newMachine(t)
	defer sysmem.Watch(256<<20, m.k.OverMemory)()
	var stderr bytes.Buffer
	file := func(w io.Writer) *memfs.File {
		return m.fs.NewFile(memfs.NewOutput("output", w), abi.O_WRONLY, abi.S_IFIFO|0o600)
	}
	shown := fmt.Sprintf("%.60q", line)
	patience := 15 * time.Second
	if says != "" {
		patience = 5 * time.Minute // of a busy machine
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	begun := time.Now()
	p, err := m.main.Start(kernel.Exec{Path: "sh", Args: []string{"sh", "-c", line}, Env: m.main.Env, Dir: "/w",
		Files: map[int]*memfs.File{0: file(io.Discard), 1: file(io.Discard), 2: file(&stderr)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, e := m.main.Wait(ctx, p.PID(), 0); e != abi.OK {
		killed := runnertest.ProcessorTime(t)
		for _, p := range m.k.Processes() {
			m.main.Kill(p.PID(), kernel.SIGKILL)
		}
		if _, e := m.main.Wait(t.Context(), p.PID(), 0); e != abi.OK {
			t.Errorf("%s after SIGKILL: %v", shown, e)
		}
		if took := runnertest.ProcessorTime(t) - killed; took > 5*time.Second {
			t.Errorf("%s runs for %v after SIGKILL", shown, took)
		}
		if says != "" {
			t.Errorf("%s goes on, want %q", shown, says)
		}
		return
	}
	switch {
	case errors.Is(m.k.Failure(), kernel.ErrMemory): // the run's outcome is out_of_memory, whatever its program said
	case !strings.Contains(stderr.String(), says):
		t.Errorf("%s says %.200q, want %q", shown, &stderr, says)
	}
	t.Logf("%s: %.1f s, %d MiB charged at most: %.80q", shown, time.Since(begun).Seconds(), m.fs.Peak()>>20, &stderr)
}
