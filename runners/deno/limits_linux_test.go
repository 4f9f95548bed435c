package deno

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"coderunner/internal/sandbox"
	"coderunner/runners"

	"golang.org/x/sys/unix"
)

// TestInForce looks from outside at the process of a program.
func TestInForce(t *testing.T) {
	if l := sandbox.Probe(); l.Name != sandbox.Full {
		t.Skipf("this kernel cannot do all of it: %s", l)
	}
	r := openParked(t, 1)
	if err := r.Warm(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	dir := "/proc/" + strconv.Itoa(waiting(t, r)[0].Process.Pid())
	// Of the limits of this process, some may be lower than Deno's.
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	openFiles := fmt.Sprintf(`Max open files +\d+ +%d `, min(files.Max, 4096))
	for name, want := range map[string][]string{
		"status": {`NoNewPrivs:\t1\n`, `Seccomp:\t2\n`, `CapPrm:\t000000000000000[0-9a-f]\n`, `TracerPid:\t0\n`},
		"limits": {`Max core file size +0 +0 `, `Max file size +\d+ +1073741824 `, openFiles, `Max data size +\d+ +\d+ `, `Max msgqueue size +0 +0 `},
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !regexp.MustCompile(w).Match(text) {
				t.Errorf("%s does not have %q:\n%s", name, w, text)
			}
		}
	}
}

func TestOpenFiles(t *testing.T) {
	r := open(t, "", nil)
	o := run(t, r, runners.Request{Code: `let n = 0; try { for (;; n++) Deno.openSync("main.ts") } catch (e) { console.log(n < 4096, e.message) }`})
	if !strings.HasPrefix(o.Stdout, "true Too many open files") {
		t.Errorf("%+v %+v", o, o.Error)
	}
}

// TestManyReads has Deno use the threads that it has for files.
func TestManyReads(t *testing.T) {
	r := open(t, "", nil)
	o := run(t, r, runners.Request{Code: `await Promise.all(Array.from({ length: 2000 }, async (_, i) => { await Deno.writeTextFile("f" + i, "x"); await Deno.readTextFile("f" + i) })); "done"`})
	if o.Result == nil {
		t.Errorf("%s %+v", o.Status, o.Error)
	}
}
